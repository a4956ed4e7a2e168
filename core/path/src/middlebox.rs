//! A middlebox that changes what the ends of a connection may agree on: it clears or
//! clamps options of segments with SYN (Honda et al., "Is it Still Possible to Extend
//! TCP?", IMC 2011).
//!
//! A receiver acts on what it reads, so each end falls back as RFCs say:
//!
//! * without Window Scale neither end scales (RFC 7323 section 2.2): windows of 65,535
//!   bytes at most;
//! * without SACK-permitted no SACK blocks are sent (RFC 2018 section 2), without
//!   Timestamps no timestamps (RFC 7323 section 3.2);
//! * with a smaller MSS the peer sends smaller segments (RFC 9293 section 3.7.1);
//! * without ECE, CWR and AE on the SYN there is no ECN (RFC 3168 section 6.1.1).
//!
//! A *clamped* Window Scale breaks the agreement: the sender of the SYN goes on shifting by
//! what it offered, and its peer reads the window as smaller by a power of two. The
//! connection works, with a window that is too small; some firewalls did that.
//!
//! The path reads no packets: [`Parcel::try_rewrite`](crate::Parcel::try_rewrite) does what
//! is said here. ECN fields of IP are another matter
//! ([`HopConfig::ecn_bleach`](crate::HopConfig::ecn_bleach)).
//!
//! Out of scope: boxes that renumber sequences, split or join segments, or take options off
//! segments without SYN, which the swarm of `drive/sim` has.

/// What a middlebox does to segments with SYN.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Middlebox {
    /// The largest MSS that passes, in bytes; a SYN without the option stays without.
    pub mss: Option<u16>,
    /// What happens to Window Scale.
    pub window_scale: WindowScale,
    /// Whether SACK-permitted is removed.
    pub clears_sack: bool,
    /// Whether Timestamps are removed.
    pub clears_timestamps: bool,
    /// Whether the flags ECE, CWR and AE are cleared.
    pub clears_ecn: bool,
}

/// What a middlebox does to the Window Scale option.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WindowScale {
    /// It passes.
    #[default]
    Pass,
    /// A larger shift is replaced by this one.
    Clamp(u8),
    /// It is removed.
    Clear,
}

impl WindowScale {
    /// What is left of an option with this shift; `None` if it is removed.
    #[must_use]
    pub fn of(self, shift: u8) -> Option<u8> {
        match self {
            Self::Pass => Some(shift),
            Self::Clamp(most) => Some(shift.min(most)),
            Self::Clear => None,
        }
    }
}
