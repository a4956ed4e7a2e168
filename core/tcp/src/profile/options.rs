//! Options that a SYN offers, RFC 7323.

use gigatcp_units::Duration;
use gigatcp_wire::OptionLayout;

/// Options that a SYN offers, RFC 7323.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Timestamps and PAWS, RFC 7323 sections 3 to 5.
    pub timestamps: bool,
    /// Step of the timestamp clock (RFC 7323 section 5.4: 1 ms to 1 s).
    pub timestamp_tick: Duration,
    /// Age relative to TS.Recent up to which a segment is accepted as late. Older ones are old
    /// duplicates. Zero is RFC 7323 section 5.3 (R1) to the letter, which drops originals that
    /// retransmissions have overtaken.
    pub paws_tolerance: Duration,
    /// Window scaling, RFC 7323 section 2.
    pub window_scaling: bool,
    /// A SYN-ACK whose timestamp echoes none of our SYNs is reset (Linux
    /// `tcp_rcv_synsent_state_process`, `TcpExtPAWSActive`): it answers an earlier connection. RFC
    /// 7323 section 3.2 says nothing about such an echo.
    pub syn_echo_checked: bool,
    /// Order and padding of the options of a SYN. No RFC demands one; systems differ.
    pub option_layout: OptionLayout,
}
