//! The path that the user describes.

use gigatcp_theory::bdp;
use gigatcp_units::{Bytes, Duration, Probability, Rate};

/// The end of a transfer that the host is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The host sends data.
    Send,
    /// The host receives data.
    Receive,
    /// Either.
    Both,
}

impl Direction {
    /// Whether a finding for `other` concerns this direction.
    pub fn overlaps(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }

    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Both => "both",
        }
    }
}

/// A path, and the rate that a connection over it should reach.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Path {
    /// RTT of the empty path.
    pub rtt: Duration,
    /// Rate that one connection should reach.
    pub rate: Rate,
    /// The probability that a packet is lost for reasons other than congestion, if known.
    pub loss: Option<Probability>,
    /// The end of the transfer that the host is.
    pub direction: Direction,
    /// Bytes of payload in a segment.
    pub mss: Bytes,
}

impl Path {
    /// Bandwidth-delay product.
    pub fn bdp(&self) -> Bytes {
        bdp::bandwidth_delay_product(self.rate, self.rtt)
    }

    /// Bandwidth-delay product in segments.
    pub fn segments(&self) -> f64 {
        bdp::window_in_segments(self.rate, self.rtt, self.mss)
    }

    /// Rate that `window` bytes in flight allow, if below the path's rate.
    pub fn limit_of_window(&self, window: Bytes) -> Option<Rate> {
        let is_limited = !self.rtt.is_zero() && window < self.bdp();
        is_limited.then(|| bdp::window_limited_rate(window, self.rtt))
    }

    /// `ceiling`, if it is below the rate of the path.
    pub fn limit(&self, ceiling: Rate) -> Option<Rate> {
        (ceiling < self.rate).then_some(ceiling)
    }
}
