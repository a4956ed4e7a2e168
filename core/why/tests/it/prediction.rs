//! The fast path for expected data and the slow path agree, for transfers in which most data is
//! expected; and outlines alone yield the same capture context.

use std::net::Ipv4Addr;

use gigatcp_flows::{Observed, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_why::{Outlines, Watcher};
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlocks, SeqNumber, Timestamps};
use proptest::prelude::*;

/// Octets of a full segment.
const FULL: u32 = 1000;

/// A random transfer, and the packets that a capture sees.
struct Transfer {
    at: Instant,
    next: u32,
    acked: u32,
    ticks: bool,
    packets: Vec<Observed>,
}

impl Transfer {
    fn say(&mut self, is_data: bool, gap: u64, flags: Flags, len: u32) {
        self.at += Duration::from_nanos(gap);
        let client = Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(192, 0, 2, 2),
        };
        let (src_port, dst_port) = if is_data { (4000, 80) } else { (80, 4000) };
        let clock = (self.at.as_nanos() / 1_000_000) as u32;
        let is_syn = flags.contains(Flags::SYN);
        self.packets.push(Observed {
            at: self.at,
            endpoints: if is_data { client } else { client.reversed() },
            src_port,
            dst_port,
            seq: SeqNumber::new(if is_data { self.next } else { 900 }),
            ack: SeqNumber::new(if is_data { 900 } else { self.acked }),
            flags,
            wnd: 300,
            urgent: 0,
            payload_len: len,
            options_len: 12,
            ecn: Ecn::NotEct,
            ident: self.packets.len() as u16,
            timestamps: self.ticks.then_some(Timestamps {
                val: clock,
                ecr: clock.wrapping_sub(u32::from(gap.is_multiple_of(3))),
            }),
            sack: SackBlocks::default(),
            mss: is_syn.then_some(FULL as u16),
            window_scale: is_syn.then_some(7),
            sack_permitted: false,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        });
        if is_data {
            self.next = self.next.wrapping_add(len + u32::from(is_syn));
        }
    }

    fn step(&mut self, what: u8, segments: u32, gap: u64) {
        let push = Flags::ACK | Flags::PSH;
        match what {
            0..=15 => {
                for index in 0..segments {
                    // A train: one pause before it, if any.
                    let gap = if index == 0 { gap } else { gap % 3 * 500 };
                    let flags = if what == 0 { push } else { Flags::ACK };
                    self.say(true, gap, flags, FULL);
                }
            }
            16..=25 => {
                let all = self.next.wrapping_sub(self.acked);
                let some = if what < 18 { all / 2 } else { all };
                self.acked = self.acked.wrapping_add(some);
                self.say(false, gap, Flags::ACK, 0);
            }
            26 => self.say(true, gap, push, 300 + segments),
            27 => self.say(true, gap, Flags::ACK, 2 * FULL),
            28 => {
                // Retransmitted.
                let next = self.next;
                self.next = self.acked;
                self.say(true, gap, Flags::ACK, FULL);
                self.next = next.max(self.next);
            }
            // Lost before the capture.
            29 => self.next = self.next.wrapping_add(FULL),
            // A duplicate ACK, and a zero window.
            30 => self.say(false, gap, Flags::ACK, 0),
            _ => {
                self.say(false, gap * 400, Flags::ACK, 0);
                // A clock that steps back.
                let back = Duration::from_nanos(gap * u64::from(segments));
                self.at = Instant::ZERO + self.at.saturating_since(Instant::ZERO + back);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn expected_data_comes_to_what_it_comes_to_on_the_long_way(
        steps in prop::collection::vec((0_u8..32, 1_u32..5, 0_u64..3_000_000), 1..300),
        first in prop_oneof![Just(5000_u32), Just(u32::MAX - 20_000)],
        ticks in any::<bool>(),
        begins in any::<bool>(),
        ends in 0_u8..3,
    ) {
        let mut transfer = Transfer {
            at: Instant::ZERO + Duration::from_secs(10),
            next: first,
            acked: first.wrapping_add(1),
            ticks,
            packets: Vec::new(),
        };
        if begins {
            transfer.say(true, 0, Flags::SYN, 0);
            transfer.say(false, 900_000, Flags::SYN | Flags::ACK, 0);
            transfer.say(true, 5000, Flags::ACK, 0);
        }
        for (what, segments, gap) in steps {
            transfer.step(what, segments, gap);
        }
        match ends {
            0 => transfer.say(true, 1000, Flags::ACK | Flags::FIN, 0),
            1 => transfer.say(false, 1000, Flags::RST, 0),
            _ => {}
        }
        let mut short = Watcher::new(1);
        let mut long = Watcher::without_prediction(1);
        let mut outlines = Outlines::new();
        for (number, packet) in (1..).zip(&transfer.packets) {
            let verdict = short.handle_packet(number, packet);
            outlines.handle_packet(short.table(), &verdict, packet);
            long.handle_packet(number, packet);
            if number.is_multiple_of(64) {
                for side in Side::BOTH {
                    let outlined = outlines.of(short.table(), 0, side);
                    prop_assert_eq!(outlined, short.capture_context(0, side));
                }
                let both = [&short, &long].map(|watcher| format!("{:?}", watcher.diagnose(0)));
                prop_assert_eq!(&both[0], &both[1]);
            }
        }
        let both = [&short, &long].map(|watcher| format!("{:?}", watcher.diagnose(0)));
        prop_assert_eq!(&both[0], &both[1]);
        for side in Side::BOTH {
            prop_assert_eq!(outlines.of(short.table(), 0, side), short.capture_context(0, side));
        }
        let both = [&mut short, &mut long].map(|watcher| format!("{:?}", watcher.conclude(0)));
        prop_assert_eq!(&both[0], &both[1]);
    }
}
