//! What can happen.

use gigatcp_units::Duration;
use gigatcp_wire::{Flags, IcmpKind};

use crate::Limit;

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
    /// The peer's FIN came; we may still send.
    CloseWait,
    /// Both FINs crossed; ours is not yet acknowledged.
    Closing,
    /// The peer closed first; our FIN is not yet acknowledged.
    LastAck,
    /// Both FINs acknowledged; waiting until old segments have died.
    TimeWait,
}

/// What loss recovery is doing, in Linux's words (`tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Phase {
    /// Nothing suspicious.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs, not yet enough to call it loss.
    Disorder,
    /// Window being reduced without loss (explicit notification).
    Cwr,
    /// Fast recovery: retransmitting what is marked lost.
    Recovery,
    /// A retransmission timeout: everything outstanding is presumed lost.
    Loss,
}

/// Why a segment left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendReason {
    /// Data (or SYN or FIN) sent for the first time.
    New,
    /// New data on the first two duplicate ACKs (RFC 3042).
    LimitedTransmit,
    /// Retransmission of what recovery marked lost.
    FastRetransmit,
    /// Retransmission in recovery of what is not yet marked lost (RFC 6675
    /// `NextSeg` rule 3) or the rescue retransmission (rule 4).
    Rescue,
    /// Retransmission after the timer expired.
    Timeout,
    /// Tail loss probe (RFC 8985 section 7.3): new data, or the last segment
    /// once more.
    TailProbe,
    /// Again, because the path dropped it as too big.
    Resegmented,
    /// Data in a segment larger than the others, to find out whether the path
    /// takes it (RFC 4821).
    PathMtuProbe,
    /// Probe of a closed window.
    WindowProbe,
    /// Acknowledgment without data.
    Ack,
    /// Reset.
    Reset,
}

/// Why the congestion window or the slow-start threshold moved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CwndCause {
    /// Start value.
    Initial,
    /// Slow start.
    SlowStart,
    /// Congestion avoidance.
    Avoidance,
    /// Entry to fast recovery.
    EnterRecovery,
    /// Inside recovery: inflation, deflation, partial acknowledgment.
    InRecovery,
    /// End of recovery.
    ExitRecovery,
    /// Retransmission timeout.
    Timeout,
    /// Restart after idle time (RFC 5681 section 4.1).
    IdleRestart,
    /// The segment size changed with the path's MTU.
    PathMtu,
    /// A window that was not in use was found too large (RFC 7661).
    Unvalidated,
    /// The network notified congestion (RFC 3168); nothing was lost.
    Notified,
    /// A reduction taken back because it proved unnecessary.
    Undo,
}

/// How a loss was found.
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
    /// A tail loss probe repaired it (RFC 8985 section 7.4).
    TailProbe,
    /// A router said that it was too big (RFC 1191).
    TooBig,
}

/// Why the estimate of the path's MTU changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathMtuCause {
    /// A router said so (RFC 1191, RFC 8201).
    Icmp,
    /// Nothing was heard for so long that more is tried (RFC 1191 section 6.3).
    Aged,
    /// A probe arrived (RFC 4821).
    Probe,
    /// Full-sized segments are silently dropped (RFC 8899 section 4.3).
    BlackHole,
}

/// Which kind of explicit congestion notification a connection uses.
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
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
        }
    }
}

/// Why a path element dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropCause {
    /// The queue was full.
    QueueFull,
    /// A loss model said so.
    LossModel,
    /// Anything else an element may declare.
    Other,
}

/// One thing that happened at a connection or on its path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// The connection moved from one state to another.
    StateChanged {
        /// Where it was.
        from: State,
        /// Where it is.
        to: State,
    },
    /// A segment was handed to the path. `len` counts payload octets.
    SegmentSent {
        /// Stream offset of the first octet.
        seq: u64,
        /// Payload octets.
        len: u32,
        /// How many wire segments these are.
        segments: u32,
        /// Control bits.
        flags: Flags,
        /// Why it left.
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
        /// Whether it arrived beyond a hole.
        out_of_order: bool,
        /// Octets of it that had been received before.
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
        /// Send window it announces, in octets.
        wnd: u64,
        /// Whether it is a duplicate in the sense of RFC 5681 section 2.
        duplicate: bool,
    },
    /// cwnd or ssthresh moved.
    CwndMoved {
        /// Congestion window in octets.
        cwnd: u64,
        /// Slow-start threshold in octets; `u64::MAX` while unset.
        ssthresh: u64,
        /// Why.
        cause: CwndCause,
    },
    /// Loss recovery changed phase.
    PhaseChanged {
        /// Where it was.
        from: Phase,
        /// Where it is.
        to: Phase,
    },
    /// Both sides agreed on explicit congestion notification.
    EcnAgreed {
        /// Of which kind.
        feedback: EcnFeedback,
    },
    /// The peer reported packets of ours that arrived with a congestion mark.
    MarksReported {
        /// Their octets; with classic feedback all that were acknowledged with
        /// the echo.
        octets: u64,
        /// How many wire segments they were.
        segments: u32,
    },
    /// Octets were marked lost.
    Lost {
        /// Stream offset of the first octet.
        seq: u64,
        /// Octets marked.
        len: u64,
        /// How it was found.
        verdict: LossVerdict,
    },
    /// A retransmission timeout fired.
    TimeoutFired {
        /// The timeout that ran out.
        rto: Duration,
        /// How many in a row, 1 for the first.
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
        /// What it says.
        kind: IcmpKind,
        /// Whether it meant anything: not if what it quotes is not in flight,
        /// or if it says what cannot be.
        believed: bool,
    },
    /// The peer announced urgent data (RFC 9293 section 3.8.5).
    UrgentArrived {
        /// Stream offset of the octet after it.
        mark: u64,
    },
    /// The estimate of the path's MTU changed.
    PathMtuChanged {
        /// Largest packet that is thought to pass.
        mtu: u32,
        /// Payload octets of a full-sized segment from now on.
        smss: u32,
        /// Why.
        cause: PathMtuCause,
    },
    /// The send buffer follows the congestion window.
    SendBufferGrew {
        /// What it holds from now on, in octets.
        octets: u64,
    },
    /// The receive buffer follows the path.
    ReceiveBufferGrew {
        /// What it holds from now on, in octets.
        octets: u64,
    },
    /// What keeps the sender from sending more changed.
    LimitChanged {
        /// The limit from now on.
        limit: Limit,
    },
    /// A path element dropped a packet of this connection.
    PacketDropped {
        /// Index of the element in the world.
        hop: u32,
        /// Why.
        cause: DropCause,
        /// Stream offset of its first octet.
        seq: u64,
        /// Payload octets.
        len: u32,
    },
}
