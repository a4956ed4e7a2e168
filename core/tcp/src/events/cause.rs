//! Causes that limit a connection's throughput: the ids of `gigatcp why`.
//!
//! A [`Limit`] is the mechanism that stopped the engine's output. A [`Cause`] is the reason behind
//! it, as far as it is known to the driver, which sees path and hosts as well. The time attribution
//! of a run, simulated or live, and the verdicts on a capture use the same ids.

use crate::events::Limit;
use crate::events::table::table_of;

table_of! {
    /// Cause that limits a connection's throughput.
    Cause,
    /// Id in records, reports and `gigatcp explain`.
    id {
        /// The handshake is not complete.
        ConnectionSetup = "connection-setup";
        /// A link of the path was busy for a whole RTT. This is checked first, for every limit.
        PathSaturated = "path-saturated";
        /// The path was saturated, and less than half of its traffic was this flow's.
        CrossTraffic = "cross-traffic";
        /// The sender's own link was busy for a whole RTT, or its queue is full.
        LocalQueue = "local-queue";
        /// For a whole RTT only the pacing rate held segments back. If pacing only spreads the
        /// output of another limit, that limit counts.
        PacingLimited = "pacing-limited";
        /// The advertised window is full.
        ReceiveWindow = "receive-window-limited";
        /// The advertised window is full, and missing window scaling keeps it below 64 KiB. The
        /// receive buffer is larger.
        NoWindowScaling = "no-window-scaling";
        /// The advertised window is full, and the receiving application paused.
        SlowReader = "slow-reader";
        /// The CPU of the receiving host was busy, or taken away, for a whole RTT.
        ReceiverCpu = "receiver-cpu-limited";
        /// The send buffer is full of unacknowledged data.
        SendBuffer = "send-buffer-limited";
        /// The sender has no data to send.
        ApplicationLimited = "application-limited";
        /// cwnd is below what the path carries, and not because of a loss.
        CwndGrowth = "cwnd-growth-limited";
        /// The CPU of the sending host was busy, or taken away, for a whole RTT. Or the sender
        /// waits for it.
        SenderCpu = "sender-cpu-limited";
        /// cwnd was reduced after random losses, and has not yet regained its size. Random losses
        /// are those that no queue explains.
        RandomLoss = "random-loss";
        /// cwnd was reduced after a queue overflowed, and the link has been idle since.
        QueueOverflow = "queue-overflow";
        /// cwnd was reduced after drops by active queue management. The queue was not full, and the
        /// link has been idle since.
        AqmDrops = "aqm-drops";
        /// cwnd was reduced after a policer dropped packets above its rate.
        Policer = "policer";
        /// cwnd was reduced by ECN marks.
        EcnMarks = "ecn-marks";
        /// cwnd was reduced for segments that were not lost.
        Reordering = "reordering-mistaken-for-loss";
        /// The sender waits for its retransmission timer: from the last ACK to the timeout.
        RtoBackoff = "rto-backoff";
        /// cwnd was reduced after the receiving host dropped packets because it had no buffers.
        RxRingOverrun = "rx-ring-overrun";
        /// Packets above a link's MTU were dropped, and the sender was not notified.
        PmtuBlackHole = "pmtu-black-hole";
        /// A link of the reverse path was busy for a whole RTT, or dropped ACKs.
        AckPath = "ack-path";
    }
}

impl Cause {
    /// Cause with that id.
    pub fn find(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.id() == id)
    }

    /// Cause of a limit if nothing else is known. `loss` is the cause of the last cwnd reduction.
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
}

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
