//! Middlebox that interferes with option negotiation: it clears or clamps options of segments with
//! SYN (Honda et al., "Is it Still Possible to Extend TCP?", IMC 2011).
//!
//! Each end falls back according to the options it receives:
//!
//! * without Window Scale neither end scales (RFC 7323 section 2.2): windows of 65,535
//!   bytes at most;
//! * without SACK-permitted no SACK blocks are sent (RFC 2018 section 2), without
//!   Timestamps no timestamps (RFC 7323 section 3.2);
//! * with a smaller MSS the peer sends smaller segments (RFC 9293 section 3.7.1);
//! * without ECE, CWR and AE on the SYN there is no ECN (RFC 3168 section 6.1.1).
//!
//! A *clamped* Window Scale makes the ends disagree: the sender of the SYN continues to use the
//! shift it offered. Its peer reads the window as smaller by a power of two. The connection works,
//! with a window that is too small; some firewalls did that.
//!
//! The path does not parse packets: [`Parcel::try_rewrite`](crate::Parcel::try_rewrite) implements
//! the changes. The ECN field of IP is separate
//! ([`HopConfig::ecn_bleach`](crate::HopConfig::ecn_bleach)).
//!
//! Out of scope: middleboxes that renumber sequences, split or join segments, or remove options
//! from segments without SYN. The swarm of `drive/sim` has these.

/// Changes that a middlebox makes to segments with SYN.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Middlebox {
    /// Maximum MSS that passes, in bytes; a SYN without the option stays without.
    pub mss: Option<u16>,
    /// Handling of Window Scale.
    pub window_scale: WindowScale,
    /// Whether SACK-permitted is removed.
    pub clears_sack: bool,
    /// Whether Timestamps are removed.
    pub clears_timestamps: bool,
    /// Whether the flags ECE, CWR and AE are cleared.
    pub clears_ecn: bool,
}

/// Handling of the Window Scale option by a middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WindowScale {
    /// The option passes.
    #[default]
    Pass,
    /// A larger shift is replaced by this one.
    Clamp(u8),
    /// The option is removed.
    Clear,
}

impl WindowScale {
    /// Resulting shift; `None` if the option is removed.
    pub fn of(self, shift: u8) -> Option<u8> {
        match self {
            Self::Pass => Some(shift),
            Self::Clamp(most) => Some(shift.min(most)),
            Self::Clear => None,
        }
    }
}
