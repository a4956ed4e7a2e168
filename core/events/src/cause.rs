//! What would have to change for a connection to be faster: the ids of `gigatcp why`.
//!
//! A [`Limit`] is the mechanism that stopped the engine's output. A [`Cause`] is what is
//! behind it, as far as the driver, which sees path and hosts as well, knows it. The account of a
//! run, simulated or live, and the verdicts on a capture use the same ids.

use crate::Limit;

/// What keeps a connection from being faster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Cause {
    /// The handshake is not over.
    ConnectionSetup,
    /// A link of the path was busy for a whole RTT, whatever stopped the output; asked first.
    PathSaturated,
    /// The same, and less than half of what the path carried was this flow's.
    CrossTraffic,
    /// The sender's own link was busy for a whole RTT, or its queue takes no more.
    LocalQueue,
    /// The pacing rate, and for a whole RTT nothing else, held segments back; pacing that only
    /// spreads another limit is that limit.
    PacingLimited,
    /// The window that the receiver advertises is full.
    ReceiveWindow,
    /// The same, and the window cannot exceed 64 KiB because scaling is missing, while the
    /// buffer could.
    NoWindowScaling,
    /// The window is full, and the receiving application paused.
    SlowReader,
    /// The CPU of the receiving host was busy, or taken away, for a whole RTT.
    ReceiverCpu,
    /// The send buffer is full of unacknowledged data.
    SendBuffer,
    /// The sender has no data to send.
    ApplicationLimited,
    /// cwnd is below what the path carries, and no loss is to blame.
    CwndGrowth,
    /// The CPU of the sending host was busy, or taken away, for a whole RTT, or the sender
    /// waits for it.
    SenderCpu,
    /// cwnd was reduced after losses that no queue explains; until it is as large as before.
    RandomLoss,
    /// cwnd was reduced after a queue overflowed, and the link idles since.
    QueueOverflow,
    /// cwnd was reduced after active queue management dropped packets before a queue was full,
    /// and the link idles since.
    AqmDrops,
    /// cwnd was reduced after a policer dropped what was above its rate.
    Policer,
    /// cwnd was reduced by ECN marks.
    EcnMarks,
    /// cwnd was reduced for segments that were not lost.
    Reordering,
    /// The sender waits for its retransmission timer: from the last ACK to the timeout.
    RtoBackoff,
    /// cwnd was reduced after the receiving host dropped packets for want of buffers.
    RxRingOverrun,
    /// Packets larger than a link takes were dropped, and the sender not told.
    PmtuBlackHole,
    /// A link of the reverse path was busy for a whole RTT, or ACKs were dropped there.
    AckPath,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 23;

    /// Every cause, in the order reports show them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::ConnectionSetup,
        Self::PathSaturated,
        Self::CrossTraffic,
        Self::LocalQueue,
        Self::PacingLimited,
        Self::ReceiveWindow,
        Self::NoWindowScaling,
        Self::SlowReader,
        Self::ReceiverCpu,
        Self::SendBuffer,
        Self::ApplicationLimited,
        Self::CwndGrowth,
        Self::SenderCpu,
        Self::RandomLoss,
        Self::QueueOverflow,
        Self::AqmDrops,
        Self::Policer,
        Self::EcnMarks,
        Self::Reordering,
        Self::RtoBackoff,
        Self::RxRingOverrun,
        Self::PmtuBlackHole,
        Self::AckPath,
    ];

    /// The id in records, reports and `gigatcp explain`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::ConnectionSetup => "connection-setup",
            Self::PathSaturated => "path-saturated",
            Self::CrossTraffic => "cross-traffic",
            Self::LocalQueue => "local-queue",
            Self::PacingLimited => "pacing-limited",
            Self::ReceiveWindow => "receive-window-limited",
            Self::NoWindowScaling => "no-window-scaling",
            Self::SlowReader => "slow-reader",
            Self::ReceiverCpu => "receiver-cpu-limited",
            Self::SendBuffer => "send-buffer-limited",
            Self::ApplicationLimited => "application-limited",
            Self::CwndGrowth => "cwnd-growth-limited",
            Self::SenderCpu => "sender-cpu-limited",
            Self::RandomLoss => "random-loss",
            Self::QueueOverflow => "queue-overflow",
            Self::AqmDrops => "aqm-drops",
            Self::Policer => "policer",
            Self::EcnMarks => "ecn-marks",
            Self::Reordering => "reordering-mistaken-for-loss",
            Self::RtoBackoff => "rto-backoff",
            Self::RxRingOverrun => "rx-ring-overrun",
            Self::PmtuBlackHole => "pmtu-black-hole",
            Self::AckPath => "ack-path",
        }
    }

    /// The cause with that id.
    #[must_use]
    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.id() == id)
    }

    /// The cause of a mechanism if nothing else is known; `loss` is what last reduced cwnd.
    #[must_use]
    pub const fn of_limit(limit: Limit, loss: Option<Self>) -> Self {
        match (limit, loss) {
            (Limit::Application, _) => Self::ApplicationLimited,
            (Limit::SendBuffer, _) => Self::SendBuffer,
            (Limit::ReceiveWindow, _) => Self::ReceiveWindow,
            (Limit::SlowStart | Limit::Avoidance | Limit::Recovery, Some(loss)) => loss,
            (Limit::SlowStart | Limit::Avoidance | Limit::Recovery, None) => Self::CwndGrowth,
            (Limit::Pacing, _) => Self::PacingLimited,
            (Limit::HostCpu, _) => Self::SenderCpu,
            (Limit::Path, _) => Self::LocalQueue,
        }
    }

    /// Position in [`Cause::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

const _: () = {
    let mut place = 0;
    while place < Cause::ALL.len() {
        assert!(
            Cause::ALL[place] as usize == place,
            "times of causes are found by their place"
        );
        place += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_place_in_the_list_of_all_and_ids_are_found_again() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), place);
            assert_eq!(Cause::find(cause.id()), Some(cause));
        }
    }

    #[test]
    fn a_congestion_window_is_limited_by_the_loss_that_set_it() {
        for limit in [Limit::SlowStart, Limit::Avoidance, Limit::Recovery] {
            assert_eq!(Cause::of_limit(limit, None), Cause::CwndGrowth);
            let policed = Cause::of_limit(limit, Some(Cause::Policer));
            assert_eq!(policed, Cause::Policer);
        }
        let full = Cause::of_limit(Limit::ReceiveWindow, Some(Cause::Policer));
        assert_eq!(full, Cause::ReceiveWindow);
    }
}
