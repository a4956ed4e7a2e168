//! Whether an Ethernet before the capture point is full.
//!
//! A capture at the sender is taken behind its queue, so no round trip grows while its
//! own interface is what is slow, and from there that looks like a host that makes
//! segments no faster; so it does elsewhere without timestamps. What tells them apart is
//! the speed: an Ethernet takes bits at one of a few rates (IEEE 802.3), and each frame
//! takes 38 octets next to its packet: preamble, addresses and type, check sequence, gap.
//! Segments that come without any pause at just such a rate fill one; a processor is as
//! fast as it happens to be.
//!
//! Out of scope: interfaces of other speeds, as virtual ones have, and shapers
//! in the host. What they hold back looks like a slow host, which is what is said.

use alloc::vec::Vec;

use super::Measures;
use crate::round::Round;

/// Bits per second that Ethernets have (IEEE 802.3).
const SPEEDS: [f64; 13] = [
    10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9,
];

/// Packets that are looked at together: one more or less at their ends is less than what
/// is tolerated.
const PACKETS: u64 = 512;

/// How much of the time segments that are back to back must take.
const BUSY: f64 = 0.85;

/// Of an Ethernet's speed. A VLAN tag is not known of: four octets of 1538. No frame is
/// faster, but clocks differ.
const SAME: core::ops::Range<f64> = 0.995..1.003;

/// An Ethernet that was full.
#[derive(Clone, Debug)]
pub(crate) struct Ethernet {
    /// Of each round its speed, bits per second of frames; zero where none was full.
    speeds: Vec<f64>,
}

impl Ethernet {
    /// Octets of a frame that are not its packet.
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
            let nominal = |rate: f64| SPEEDS.into_iter().find(|one| SAME.contains(&(rate / one)));
            // Of few packets in a round trip pauses do not show.
            let has_pauses = (time(near) / packets as f64) * 4.0 < m.base.as_secs_f64()
                && (from..=index).any(|index| m.busy(index) < BUSY);
            let rate = rate(near) * 8.0 * share;
            if let Some(speed) = nominal(rate).filter(|_| !has_pauses) {
                let found = found.get_or_insert_with(|| Self {
                    speeds: alloc::vec![0.0; m.rounds.len()],
                });
                found.speeds[from..=index].fill(speed);
            }
            (from, packets) = (index + 1, 0);
        }
        found
    }

    /// Its speed if it was full in that round, bits per second of frames.
    pub fn full(&self, index: usize) -> Option<f64> {
        self.speeds.get(index).copied().filter(|speed| *speed > 0.0)
    }
}

/// Octets per second that left in these.
fn rate(rounds: &[Round]) -> f64 {
    let sent: u64 = rounds.iter().map(|round| round.sent).sum();
    sent as f64 / time(rounds).max(1e-9)
}

/// Seconds that they took.
fn time(rounds: &[Round]) -> f64 {
    rounds.iter().map(|one| one.length().as_secs_f64()).sum()
}
