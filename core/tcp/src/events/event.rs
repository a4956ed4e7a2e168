//! Events at a connection.

use gigatcp_units::Duration;
use gigatcp_wire::{Flags, IcmpKind};

use crate::events::Limit;

/// Connection states, RFC 9293 section 3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent, waiting for a matching one.
    SynSent,
    /// SYN received and sent, waiting for its acknowledgment.
    SynReceived,
    /// Open: data flows both ways.
    Established,
    /// Our FIN is sent and not yet acknowledged.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer's FIN arrived; we may still send.
    CloseWait,
    /// Both FINs crossed; ours is not yet acknowledged.
    Closing,
    /// The peer closed first; our FIN is not yet acknowledged.
    LastAck,
    /// Both FINs acknowledged; waiting until old segments have expired.
    TimeWait,
}

/// Phase of loss recovery, named as in Linux (`tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Phase {
    /// No loss or reordering detected.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs, not yet enough to detect a loss.
    Disorder,
    /// Window being reduced without loss (explicit notification).
    Cwr,
    /// Fast recovery: retransmitting what is marked lost.
    Recovery,
    /// A retransmission timeout: everything outstanding is presumed lost.
    Loss,
}

/// Reason why a segment was sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendReason {
    /// Data (or SYN or FIN) sent for the first time.
    New,
    /// New data on the first two duplicate ACKs (RFC 3042).
    LimitedTransmit,
    /// Retransmission of data marked lost by recovery.
    FastRetransmit,
    /// Retransmission in recovery of data not yet marked lost (RFC 6675 `NextSeg` rule 3). Also the
    /// rescue retransmission (rule 4).
    Rescue,
    /// Retransmission after the timer expired.
    Timeout,
    /// Tail loss probe (RFC 8985 section 7.3): new data, or the last segment retransmitted.
    TailProbe,
    /// Retransmission in smaller segments, because the path dropped it as too big.
    Resegmented,
    /// Path MTU probe: a larger segment with data (RFC 4821).
    PathMtuProbe,
    /// Probe of a closed window.
    WindowProbe,
    /// Acknowledgment without data.
    Ack,
    /// Reset.
    Reset,
}

/// Reason why the congestion window or the slow-start threshold changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CwndCause {
    /// Initial value.
    Initial,
    /// Slow start.
    SlowStart,
    /// Congestion avoidance.
    Avoidance,
    /// Entry to fast recovery.
    EnterRecovery,
    /// During recovery: inflation, deflation, partial acknowledgment.
    InRecovery,
    /// End of recovery.
    ExitRecovery,
    /// Retransmission timeout.
    Timeout,
    /// Restart after idle time (RFC 5681 section 4.1).
    IdleRestart,
    /// The segment size changed with the path's MTU.
    PathMtu,
    /// An unused window was found too large (RFC 7661), or one from an earlier connection is tried
    /// (RFC 9959).
    Unvalidated,
    /// The network signaled congestion (RFC 3168); nothing was lost.
    Notified,
    /// Undo of a reduction that proved unnecessary.
    Undo,
}

/// Method by which a loss was detected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LossVerdict {
    /// Three duplicate acknowledgments (RFC 5681).
    DuplicateAcks,
    /// `IsLost` of RFC 6675 section 4.
    Sack,
    /// Retransmission timeout.
    Timeout,
    /// Partial acknowledgment (RFC 6582).
    PartialAck,
    /// Overdue by time (RFC 8985 section 6.2, RACK).
    Time,
    /// Repaired by a tail loss probe (RFC 8985 section 7.4).
    TailProbe,
    /// A router reported that it was too big (RFC 1191).
    TooBig,
}

/// Reason why the estimate of the path MTU changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathMtuCause {
    /// A router reported it (RFC 1191, RFC 8201).
    Icmp,
    /// No report came for some time: a larger size is tried (RFC 1191 section 6.3).
    Aged,
    /// A path MTU probe was acknowledged (RFC 4821).
    Probe,
    /// Full-sized segments are silently dropped (RFC 8899 section 4.3).
    BlackHole,
}

/// Kind of ECN feedback that a connection uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum EcnFeedback {
    /// None.
    #[default]
    None,
    /// One echo per window: RFC 3168.
    Classic,
    /// Counters of packets and octets: RFC 9768.
    Accurate,
}

impl EcnFeedback {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
        }
    }
}

/// Event at a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// The connection moved from one state to another.
    StateChanged {
        /// Previous state.
        from: State,
        /// New state.
        to: State,
    },
    /// A segment was passed to the path. `len` counts payload octets.
    SegmentSent {
        /// Stream offset of the first octet.
        seq: u64,
        /// Payload octets.
        len: u32,
        /// Number of wire segments.
        segments: u32,
        /// Control bits.
        flags: Flags,
        /// Reason for sending.
        reason: SendReason,
    },
    /// An acknowledgment was sent, alone or with data.
    AckSent {
        /// Stream offset acknowledged (of the peer's stream).
        ack: u64,
        /// Window advertised, in octets.
        wnd: u64,
        /// Number of SACK blocks carried.
        sack_blocks: u32,
    },
    /// A segment with data arrived and was accepted.
    SegmentReceived {
        /// Stream offset of its first octet.
        seq: u64,
        /// Payload octets.
        len: u32,
        /// Whether it arrived after a gap.
        out_of_order: bool,
        /// Number of its octets that had been received before.
        duplicate: u32,
    },
    /// A segment arrived and was not acceptable (RFC 9293 section 3.10.7.4).
    SegmentUnacceptable {
        /// Stream offset it claimed.
        seq: u64,
        /// Its length in sequence space.
        len: u32,
    },
    /// An acknowledgment arrived.
    AckReceived {
        /// Stream offset acknowledged.
        ack: u64,
        /// Octets newly acknowledged.
        acked: u64,
        /// Octets newly selectively acknowledged.
        sacked: u64,
        /// Send window it advertises, in octets.
        wnd: u64,
        /// Whether it is a duplicate as defined in RFC 5681 section 2.
        duplicate: bool,
    },
    /// cwnd or ssthresh changed.
    CwndMoved {
        /// Congestion window in octets.
        cwnd: u64,
        /// Slow-start threshold in octets; `u64::MAX` while unset.
        ssthresh: u64,
        /// Reason.
        cause: CwndCause,
    },
    /// Loss recovery changed phase.
    PhaseChanged {
        /// Previous phase.
        from: Phase,
        /// New phase.
        to: Phase,
    },
    /// Both sides agreed on Explicit Congestion Notification.
    EcnAgreed {
        /// Kind of feedback.
        feedback: EcnFeedback,
    },
    /// The peer reported packets of ours that arrived with a CE mark.
    MarksReported {
        /// Their octets; with classic feedback all octets acknowledged with the echo.
        octets: u64,
        /// Number of wire segments.
        segments: u32,
    },
    /// Octets were marked lost.
    Lost {
        /// Stream offset of the first octet.
        seq: u64,
        /// Octets marked.
        len: u64,
        /// Detection method.
        verdict: LossVerdict,
    },
    /// The retransmission timer expired.
    TimeoutFired {
        /// The timeout that expired.
        rto: Duration,
        /// Number of timeouts in a row, 1 for the first.
        backoff: u32,
    },
    /// A round-trip time was measured.
    RttSampled {
        /// The sample.
        rtt: Duration,
        /// Smoothed estimate after it.
        srtt: Duration,
        /// Mean deviation after it.
        rttvar: Duration,
        /// Timeout after it.
        rto: Duration,
    },
    /// An ICMP error that quotes a segment of this connection arrived.
    IcmpArrived {
        /// Its type.
        kind: IcmpKind,
        /// Whether it was accepted. It is not if the quoted data is not in flight, or if its
        /// contents are impossible.
        believed: bool,
    },
    /// The peer announced urgent data (RFC 9293 section 3.8.5).
    UrgentArrived {
        /// Stream offset of the octet after it.
        mark: u64,
    },
    /// The estimate of the path's MTU changed.
    PathMtuChanged {
        /// Largest packet that is believed to pass.
        mtu: u32,
        /// Payload octets of a full-sized segment from now on.
        smss: u32,
        /// Reason.
        cause: PathMtuCause,
    },
    /// The send buffer grew with the congestion window.
    SendBufferGrew {
        /// New size, in octets.
        octets: u64,
    },
    /// The receive buffer grew by autotuning.
    ReceiveBufferGrew {
        /// New size, in octets.
        octets: u64,
    },
    /// The limit that stops the sender's output changed.
    LimitChanged {
        /// New limit.
        limit: Limit,
    },
}
