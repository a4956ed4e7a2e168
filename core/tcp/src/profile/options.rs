//! Options that a SYN offers, RFC 7323.

use gigatcp_units::Duration;

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
}
