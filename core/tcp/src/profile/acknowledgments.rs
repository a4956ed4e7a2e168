//! When a receiver acknowledges.

use gigatcp_units::Duration;

/// When a receiver acknowledges.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Acknowledgments {
    /// Delayed acknowledgments, RFC 9293 section 3.8.6.3.
    pub delayed_ack: bool,
    /// Longest delay of an acknowledgment (RFC 9293 MUST-40: below 0.5 s).
    pub delayed_ack_timeout: Duration,
    /// Segments per acknowledgment once acknowledgments are delayed.
    pub ack_every: u32,
    /// A declared, fitted input, off by default: from this moment after
    /// establishment on, `ack_every_later` replaces `ack_every`. It exists to
    /// reproduce a change of the ACK ratio whose cause is not known.
    pub ack_every_switch: Option<Duration>,
    /// See `ack_every_switch`.
    pub ack_every_later: u32,
    /// Acknowledge at once while the connection is young (quick-ACK).
    pub quick_ack: bool,
    /// Most acknowledgments sent at once at the start (quick-ACK).
    pub quick_acks: u32,
    /// An acknowledgment of full segments that would have to announce a
    /// smaller window than the last one waits until the application has read
    /// (Linux `__tcp_ack_snd_check`). RFC 5681 section 4.2 asks for one at
    /// least every second full segment whatever the reader does.
    pub ack_waits_for_reader: bool,
}
