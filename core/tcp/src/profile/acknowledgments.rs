//! Timing of a receiver's acknowledgments.

use gigatcp_units::Duration;

/// Timing of a receiver's acknowledgments.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Acknowledgments {
    /// Delayed acknowledgments, RFC 9293 section 3.8.6.3.
    pub delayed_ack: bool,
    /// Maximum delay of an acknowledgment (RFC 9293 MUST-40: below 0.5 s).
    pub delayed_ack_timeout: Duration,
    /// Segments per acknowledgment once acknowledgments are delayed.
    pub ack_every: u32,
    /// Time after establishment at which `ack_every_later` replaces `ack_every`. A declared,
    /// fitted input, off by default. It reproduces a change of the ACK ratio whose cause is
    /// unknown.
    pub ack_every_switch: Option<Duration>,
    /// Segments per acknowledgment after `ack_every_switch`.
    pub ack_every_later: u32,
    /// Every segment is acknowledged immediately while the connection is young (quick ACK).
    pub quick_ack: bool,
    /// Maximum number of immediate acknowledgments at the start (quick ACK).
    pub quick_acks: u32,
    /// Quick ACKs begin again with data after a pause of more than the RTO, and with data received
    /// before (Linux `tcp_event_data_recv`, `tcp_enter_quickack_mode`): the sender's window is small
    /// then.
    pub quick_ack_again: bool,
    /// An ACK that would advertise a smaller window waits for a read. This holds for ACKs of full
    /// segments (Linux `__tcp_ack_snd_check`). RFC 5681 section 4.2 requires one at least every
    /// second full segment whatever the reader does.
    pub ack_waits_for_reader: bool,
    /// A segment with PSH, or a small one, is acknowledged once everything is read (Linux
    /// `tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`): the end of a write is likely, for which the
    /// sender may wait. RFC 9293 section 3.8.6.3 would have it wait for a second one.
    pub ack_of_push: bool,
    /// Maximum of consecutive arrivals beyond a gap without an ACK (Linux `tcp_comp_sack_nr`). The
    /// first three are acknowledged. 0: each is (RFC 5681 section 4.2). Needs `sack`.
    pub compressed_acks: u32,
    /// Maximum wait of the ACK for such arrivals (Linux `tcp_comp_sack_delay_ns`). A twentieth of
    /// the RTT also bounds it.
    pub compressed_ack_delay: Duration,
}
