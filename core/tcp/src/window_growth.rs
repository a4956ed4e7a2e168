//! Settings of window growth, chosen by a profile or a plan for any congestion control.
//!
//! The variants are implemented in `congestion/slow_start/`.

/// Slow-start variant: growth of the window below ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowStart {
    /// Variant of the control or, if it has none, of the profile.
    #[default]
    Usual,
    /// RFC 5681 section 3.1: until ssthresh or congestion.
    Standard,
    /// Limited slow start, RFC 3742, with `max_ssthresh` in segments.
    Limited {
        /// Window above which growth is limited; the RFC proposes 100.
        max_ssthresh: u32,
    },
    /// `HyStart` as in Linux 6: ends by ACK train length or by delay.
    HyStart,
    /// `HyStart++`, RFC 9406: delay leads into five slower rounds first.
    HyStartPlusPlus,
    /// SEARCH, draft-chung-ccwg-search-09: ends when less is delivered than was sent an RTT
    /// before. It then lowers the window.
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

    /// Name in plans.
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

    /// Variant with this name; `max_ssthresh` applies to the limited one.
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

/// Counting of acknowledgments when the window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// One step per acknowledgment, whatever it covers. Before RFC 3465; Linux 2.6.20 with
    /// `tcp_abc = 0`.
    PerAck,
    /// Appropriate byte counting, RFC 3465, with the limit L in segments per acknowledgment. After
    /// a timeout L is 1.
    Bytes {
        /// L of RFC 3465 section 2.2, at most 2 there.
        limit: u32,
    },
    /// All that is acknowledged, after a timeout too, as in Linux since 3.x.
    All,
}
