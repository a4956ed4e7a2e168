//! Segmentation on sending, and delivery of octets on receiving.

use gigatcp_units::Duration;

/// Segmentation on sending, and delivery of octets on receiving.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Segments {
    /// Nagle's algorithm, RFC 9293 section 3.7.4.
    pub nagle: bool,
    /// A small segment waits only while another small one is unacknowledged. Nagle's algorithm
    /// modified by draft-minshall-nagle-01 (Linux since 2.2): the end of a large write does not
    /// wait for a delayed ACK.
    pub nagle_minshall: bool,
    /// Silly-window avoidance at sender and receiver, RFC 9293 section 3.8.6.2.
    pub silly_window_avoidance: bool,
    /// The receiver avoids only windows of less than a segment and a quarter of the buffer (BSD
    /// `tcp_output`). RFC 9293 section 3.8.6.2.2 has the right edge move by a segment or half of
    /// the buffer.
    pub silly_below_quarter: bool,
    /// Probes of a closed window are ACKs with a sequence number just before it (Linux). RFC 9293
    /// section 3.8.6.1 has them carry an octet.
    pub bare_window_probes: bool,
    /// Half of the largest window is sent immediately, like a full segment (BSD `tcp_output`).
    /// Nagle's algorithm in RFC 9293 section 3.7.4 holds it back while other data are
    /// outstanding.
    pub half_window_leaves: bool,
    /// Multiple to which larger SMSS are rounded down; 0: never. Segments then fill whole
    /// buffers: BSD `tcp_mss`, `MCLBYTES`.
    pub smss_multiple: u32,
    /// Super-segments: up to 64 KiB handed to the network device in one piece.
    pub segmentation_offload: bool,
    /// Super-segments of several segments carry PSH, at which receive offload ends (Linux
    /// `__tcp_transmit_skb`). RFC 9293 section 3.9.1.2 has it at the end of a write.
    pub push_super_segments: bool,
    /// Segments that one interrupt of the network device delivers are joined (Linux generic
    /// receive offload). A simulated host joins them; a live device does so anyway.
    pub receive_offload: bool,
    /// Minimum time between two interrupts of a simulated network device, unless the host sets
    /// its own (`coalesce`).
    pub interrupt_interval: Duration,
    /// Data waits until it is the n-th part of the window or a whole super-segment. It waits only
    /// while acknowledgments are near (Linux `tcp_tso_win_divisor`, 3 there); 0: never.
    pub tso_win_divisor: u32,
    /// Minimum segments of a super-segment, if that many may leave. A single one would make the
    /// receiver wait for a second (Linux `tcp_min_tso_segs`, 2 there).
    pub tso_min_segments: u32,
    /// Header prediction on the receive path (Van Jacobson 1990).
    pub header_prediction: bool,
    /// Urgent octets stay in the stream (RFC 6093 section 5). Without, the last one is read
    /// separately, as with the sockets of 4.2BSD (Linux: `SO_OOBINLINE` off).
    pub urgent_inline: bool,
}
