//! How octets become segments, and segments octets.

/// How octets become segments, and segments octets.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Segments {
    /// Nagle's algorithm, RFC 9293 section 3.7.4.
    pub nagle: bool,
    /// A small segment waits only while another small one is unacknowledged,
    /// and not behind full ones (draft-minshall-nagle-01; Linux since 2.2): the
    /// end of a large write does not wait for a delayed acknowledgment.
    pub nagle_minshall: bool,
    /// Silly-window avoidance, RFC 9293 section 3.8.6.2, both sides.
    pub silly_window_avoidance: bool,
    /// Probes of a closed window are acknowledgments from just before it
    /// (Linux); RFC 9293 section 3.8.6.1 has them carry an octet.
    pub bare_window_probes: bool,
    /// Half of the largest window leaves at once, like a full segment (BSD
    /// `tcp_output`). Nagle's algorithm in RFC 9293 section 3.7.4 holds it back
    /// while other data are outstanding.
    pub half_window_leaves: bool,
    /// SMSS above this is rounded down to a multiple of it, so that segments
    /// fill whole buffers (BSD `tcp_mss`, `MCLBYTES`); 0: never.
    pub smss_multiple: u32,
    /// Super-segments: hand up to 64 KiB to the network device at once.
    pub segmentation_offload: bool,
    /// What may leave waits until it is the n-th part of the window or a whole
    /// super-segment, while acknowledgments are near (Linux
    /// `tcp_tso_win_divisor`, 3 there); 0: it does not wait.
    pub tso_win_divisor: u32,
    /// Header prediction on the receive path (Van Jacobson 1990).
    pub header_prediction: bool,
    /// Urgent octets stay in line (RFC 6093 section 5); without, the last one is
    /// read apart, as with the sockets of 4.2BSD (Linux: `SO_OOBINLINE` off).
    pub urgent_inline: bool,
}
