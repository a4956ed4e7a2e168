//! How a window grows: what a profile or a plan chooses for any congestion control.
//!
//! The ways themselves are `congestion/slow_start/`.

/// How the window opens while it is below ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowStart {
    /// As the control has it or, where it has no way of its own, the profile.
    #[default]
    Usual,
    /// RFC 5681 section 3.1: until ssthresh or congestion.
    Standard,
    /// Limited slow start, RFC 3742, with `max_ssthresh` in segments.
    Limited {
        /// Window above which growth is limited; the RFC proposes 100.
        max_ssthresh: u32,
    },
    /// `HyStart` as in Linux 6: ends by the length of ACK trains or by delay.
    HyStart,
    /// `HyStart++`, RFC 9406: delay leads into five slower rounds first.
    HyStartPlusPlus,
    /// SEARCH, draft-chung-ccwg-search-09: ends where less is delivered than was
    /// sent a round-trip time before, and leads the window down.
    Search,
}

impl SlowStart {
    /// Names in plans, in the order of the variants.
    pub const NAMES: [&'static str; 6] = [
        "usual",
        "standard",
        "limited",
        "hystart",
        "hystart++",
        "search",
    ];

    /// Its name in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[match self {
            Self::Usual => 0,
            Self::Standard => 1,
            Self::Limited { .. } => 2,
            Self::HyStart => 3,
            Self::HyStartPlusPlus => 4,
            Self::Search => 5,
        }]
    }

    /// The way of that name; `max_ssthresh` is for the limited one.
    #[must_use]
    pub fn find(name: &str, max_ssthresh: u32) -> Option<Self> {
        let ways = [
            Self::Usual,
            Self::Standard,
            Self::Limited { max_ssthresh },
            Self::HyStart,
            Self::HyStartPlusPlus,
            Self::Search,
        ];
        ways.into_iter().find(|way| way.name() == name)
    }
}

/// How acknowledgments are counted when the window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// One step per acknowledgment, however much it covers (before RFC 3465;
    /// Linux 2.6.20 with `tcp_abc = 0`).
    PerAck,
    /// Appropriate byte counting, RFC 3465, with the limit L in segments per
    /// acknowledgment; after a timeout L is 1.
    Bytes {
        /// L of RFC 3465 section 2.2: at most 2 there; larger values mean
        /// "as many as were acknowledged", as Linux does since 3.x.
        limit: u32,
    },
}
