//! Detects a saturated Ethernet before the capture point.
//!
//! A capture at the sender is taken after its queue, so no RTT grows while its own interface is the
//! bottleneck. From there this looks like a host that makes segments slowly; so it does elsewhere
//! without timestamps. The speed distinguishes them: an Ethernet has one of a few rates (IEEE
//! 802.3), and each frame has 38 bytes in addition to its packet: preamble, addresses and type,
//! check sequence, gap. Segments without any pause at exactly such a rate saturate one; a CPU's
//! rate is arbitrary.
//!
//! Out of scope: interfaces of other speeds, such as virtual ones, and shapers in the host. Their
//! delay looks like a slow host, and is reported as such.

use alloc::vec::Vec;

use super::Measures;
use crate::round::Round;

/// Rates of Ethernets, in bits per second (IEEE 802.3).
const SPEEDS: [f64; 13] = [
    10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9,
];

/// Number of packets considered together. One more or less at their ends is less than the
/// tolerance.
const PACKETS: u64 = 512;

/// Minimum fraction of the time with segments that are back to back.
const BUSY: f64 = 0.85;

/// Tolerance as a factor of an Ethernet's speed. A VLAN tag is not considered: four bytes of 1538.
/// No frame is faster, but clocks differ.
const SAME: core::ops::Range<f64> = 0.995..1.003;

/// Whether segments of this size at this payload rate fill an Ethernet. The rate is in bytes
/// per second, the headers are those of IPv4 or IPv6 with timestamps.
pub(crate) fn is_ethernet_rate(rate: f64, smss: u64) -> bool {
    [52, 72].into_iter().any(|headers| {
        let share = (smss + headers + Ethernet::FRAME) as f64 / smss.max(1) as f64;
        let frames = rate * 8.0 * share;
        SPEEDS
            .into_iter()
            .any(|speed| SAME.contains(&(frames / speed)))
    })
}

/// A saturated Ethernet.
#[derive(Clone, Debug)]
pub(crate) struct Ethernet {
    /// Speed of each round, in bits per second of frames; zero if none was saturated.
    speeds: Vec<f64>,
}

impl Ethernet {
    /// Bytes of a frame in addition to its packet.
    pub const FRAME: u64 = 38;

    pub fn of(m: &Measures<'_>) -> Option<Self> {
        let mss = m.mss();
        let share = (mss + m.headers() + Self::FRAME) as f64 / mss as f64;
        let mut found: Option<Self> = None;
        let (mut from, mut packets) = (0, 0);
        for (index, round) in m.rounds.iter().enumerate() {
            if round.again > 0 {
                (from, packets) = (index + 1, 0);
                continue;
            }
            packets += round.segments;
            if packets < PACKETS {
                continue;
            }
            let near = &m.rounds[from..=index];
            let nominal = |rate: f64| {
                SPEEDS
                    .into_iter()
                    .find(|speed| SAME.contains(&(rate / speed)))
            };
            // With few packets in an RTT, pauses do not show.
            let has_pauses = (time(near) / packets as f64) * 4.0 < m.base.as_secs_f64()
                && (from..=index).any(|index| m.busy(index) < BUSY);
            let rate = rate(near) * 8.0 * share;
            if let Some(speed) = nominal(rate).filter(|_| !has_pauses) {
                let ethernet = found.get_or_insert_with(|| Self {
                    speeds: alloc::vec![0.0; m.rounds.len()],
                });
                ethernet.speeds[from..=index].fill(speed);
            }
            (from, packets) = (index + 1, 0);
        }
        found
    }

    /// Its speed in bits per second of frames, if saturated in that round.
    pub fn full(&self, index: usize) -> Option<f64> {
        self.speeds.get(index).copied().filter(|speed| *speed > 0.0)
    }
}

/// Bytes per second sent in these rounds.
fn rate(rounds: &[Round]) -> f64 {
    let sent: u64 = rounds.iter().map(|round| round.sent).sum();
    sent as f64 / time(rounds).max(1e-9)
}

/// Duration of these rounds in seconds.
fn time(rounds: &[Round]) -> f64 {
    rounds
        .iter()
        .map(|round| round.length().as_secs_f64())
        .sum()
}
