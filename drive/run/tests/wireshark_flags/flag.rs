//! tshark's `tcp.analysis.*` flags.

use std::collections::BTreeSet;

/// A flag of tshark.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WiresharkFlag {
    Retransmission,
    FastRetransmission,
    SpuriousRetransmission,
    OutOfOrder,
    LostSegment,
    AckLostSegment,
    DuplicateAck,
    WindowUpdate,
    WindowFull,
    ZeroWindow,
    ZeroWindowProbe,
    ZeroWindowProbeAck,
    KeepAlive,
    KeepAliveAck,
    ReusedPorts,
}

/// The flags of a packet.
pub type WiresharkFlags = BTreeSet<WiresharkFlag>;

/// Every flag with the name that follows `tcp.analysis.`.
pub const NAMES: [(WiresharkFlag, &str); 15] = [
    (WiresharkFlag::Retransmission, "retransmission"),
    (WiresharkFlag::FastRetransmission, "fast_retransmission"),
    (
        WiresharkFlag::SpuriousRetransmission,
        "spurious_retransmission",
    ),
    (WiresharkFlag::OutOfOrder, "out_of_order"),
    (WiresharkFlag::LostSegment, "lost_segment"),
    (WiresharkFlag::AckLostSegment, "ack_lost_segment"),
    (WiresharkFlag::DuplicateAck, "duplicate_ack"),
    (WiresharkFlag::WindowUpdate, "window_update"),
    (WiresharkFlag::WindowFull, "window_full"),
    (WiresharkFlag::ZeroWindow, "zero_window"),
    (WiresharkFlag::ZeroWindowProbe, "zero_window_probe"),
    (WiresharkFlag::ZeroWindowProbeAck, "zero_window_probe_ack"),
    (WiresharkFlag::KeepAlive, "keep_alive"),
    (WiresharkFlag::KeepAliveAck, "keep_alive_ack"),
    (WiresharkFlag::ReusedPorts, "reused_ports"),
];
