//! Slots: packets come out together at moments, as in the slots of netem (`tc-netem(8)`).
//!
//! A link that serves in slots (a cable modem's grants, a satellite's frames) holds what arrives at
//! its end until the next slot:
//!
//! ```text
//! begin = t + d       for a packet due at t, if the last slot began before t        (1)
//! begin = begin + d   if this slot has had its packets or bytes                     (2)
//! out   = begin                                                                     (3)
//! ```
//!
//! Each d is drawn anew, as a delay is. So a packet that finds no slot ahead opens one, which takes
//! all that is due by then, and the next after it opens another. A slot takes the packet that exceeds
//! its bytes. These are the rules of Linux (`sch_netem.c`) for a netem without delay and rate.
//!
//! Behind slots of limited size packets wait as behind a lower rate, out of the queue. A hop with such
//! slots therefore holds 1000 packets at most, as a netem does, unless
//! [`HopConfig::hold_limit`](crate::HopConfig::hold_limit) says otherwise.
//!
//! Not as in Linux:
//!
//! * a slot opens d after a packet is due. Linux counts d from its look at the first packet that waits:
//!   when it or a later one arrives, or its timer runs. With a delay of 10 ms and slots of 20 ms, a packet
//!   that arrives at 1 ms comes out at 31 ms, and of Linux at 21 ms;
//! * packets keep the order in which they left the link, so jitter that overtakes and reordering are
//!   refused;
//! * bytes are those of IP;
//! * each packet of a super-segment counts.
//!
//! This machine's kernel has no netem: the tests below follow the rules by hand.

use gigatcp_units::Instant;
use gigatcp_units::random::Stream;

use crate::config::{HopConfig, Slot};
use crate::jitter;
use crate::random::{Purpose, stream};
use crate::tally::Tally;

/// Running state of the slots of a link.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    config: Slot,
    random: Stream,
    /// When the current slot begins or began.
    begin: Instant,
    /// What has been put into it.
    taken: Tally,
}

impl Slots {
    /// The slots of a configuration, if it has any.
    pub(crate) fn new(config: &HopConfig, seed: u64) -> Option<Self> {
        Some(Self {
            config: config.slot?,
            random: stream(seed, &config.name, Purpose::Slot),
            begin: Instant::ZERO,
            taken: Tally::default(),
        })
    }

    /// When a packet comes out that would be due at `due`, no earlier than those before it.
    pub(crate) fn place(&mut self, due: Instant, packet: Tally) -> Instant {
        if self.begin < due {
            self.open(due);
        }
        let out = self.begin;
        self.taken.add(packet);
        let Slot { packets, bytes, .. } = self.config;
        let is_full = packets.is_some_and(|most| self.taken.packets >= most)
            || bytes.is_some_and(|most| self.taken.bytes >= most);
        if is_full {
            self.open(out);
        }
        out
    }

    /// Opens the slot after `from`.
    fn open(&mut self, from: Instant) {
        let Slot {
            delay, spread, law, ..
        } = self.config;
        self.begin = from + jitter::draw_about(delay, spread, law, &mut self.random);
        self.taken = Tally::default();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use gigatcp_units::{Bytes, Duration};

    use super::*;
    use crate::JitterLaw;

    const SLOT: Slot = Slot {
        delay: Duration::from_millis(10),
        spread: Duration::ZERO,
        law: JitterLaw::Uniform,
        packets: None,
        bytes: None,
    };

    /// Milliseconds at which packets of 1000 bytes come out that are due at these.
    fn out(slot: Slot, due: &[u64]) -> Vec<u64> {
        let config = HopConfig {
            slot: Some(slot),
            ..HopConfig::default()
        };
        let mut slots = Slots::new(&config, 1).unwrap();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let place = |due: &u64| slots.place(at(*due), Tally::new(1, 1000));
        due.iter()
            .map(place)
            .map(|out| out.saturating_since(Instant::ZERO).as_millis())
            .collect()
    }

    /// The packet at 1 opens a slot at 11, which takes that at 11 too; the one at 12 opens another.
    #[test]
    fn slot_takes_what_is_due_when_it_begins_and_the_next_packet_opens_another() {
        assert_eq!(out(SLOT, &[1, 2, 11, 12, 13, 50]), [11, 11, 11, 22, 22, 60]);
    }

    /// With a delay of 10 ms the packet that arrives at 1 is due at 11.
    #[test]
    fn slot_opens_after_a_packet_is_due_and_not_after_its_arrival() {
        let slot = Slot {
            delay: Duration::from_millis(20),
            ..SLOT
        };
        assert_eq!(out(slot, &[11]), [31]);
    }

    #[test]
    fn full_slot_is_followed_by_the_next() {
        let two = Slot {
            packets: Some(2),
            ..SLOT
        };
        assert_eq!(out(two, &[1, 1, 1, 1, 1, 40]), [11, 11, 21, 21, 31, 50]);
        // The third packet exceeds the bytes.
        let bytes = Slot {
            bytes: Some(Bytes::new(2500)),
            ..SLOT
        };
        assert_eq!(out(bytes, &[1, 1, 1, 1]), [11, 11, 11, 21]);
    }

    #[test]
    fn delays_of_slots_are_drawn_between_their_bounds() {
        let one = Slot {
            spread: Duration::from_millis(5),
            packets: Some(1),
            ..SLOT
        };
        let times = out(one, &[1; 2000]);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Of milliseconds rounded down.
        assert!(gaps.iter().all(|gap| (4..=16).contains(gap)));
        assert!(gaps.iter().any(|gap| *gap <= 6) && gaps.iter().any(|gap| *gap >= 14));
        let mean = (times[1999] - times[0]) as f64 / 1999.0;
        assert!((mean - 10.0).abs() < 0.2, "{mean}");
    }
}
