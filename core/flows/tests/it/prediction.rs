//! The fast path for expected packets and the slow path agree (`src/predicted.rs`), for
//! conversations in which most packets are expected.

use std::net::Ipv4Addr;

use gigatcp_flows::{FlowTable, Observed, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber, Timestamps};
use proptest::prelude::*;

/// The next action: mostly data and its acknowledgment, occasionally anything.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Action, of 32; see [`Talk::say`].
    what: u8,
    back: bool,
    segments: u32,
    gap: u64,
    wild: u32,
}

fn step() -> impl Strategy<Value = Step> {
    (
        0_u8..32,
        any::<bool>(),
        1_u32..4,
        0_u64..3_000_000,
        any::<u32>(),
    )
        .prop_map(|(what, back, segments, gap, wild)| Step {
            what,
            back,
            segments,
            gap,
            wild,
        })
}

/// Two hosts with a connection, and the packets that a capture sees.
struct Talk {
    at: Instant,
    /// SND.NXT of each host.
    next: [u32; 2],
    /// Data of the other that each has acknowledged.
    acked: [u32; 2],
    ident: u16,
}

impl Talk {
    fn packet(&mut self, side: usize, step: &Step) -> Observed {
        self.at += Duration::from_nanos(step.gap);
        self.ident = self.ident.wrapping_add(1);
        let client = Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(192, 0, 2, 2),
        };
        let (src_port, dst_port) = if side == 0 { (4000, 80) } else { (80, 4000) };
        let clock = (self.at.as_nanos() / 1_000_000) as u32;
        Observed {
            at: self.at,
            endpoints: if side == 0 { client } else { client.reversed() },
            src_port,
            dst_port,
            seq: SeqNumber::new(self.next[side]),
            ack: SeqNumber::new(self.acked[side]),
            flags: Flags::ACK,
            wnd: 500,
            urgent: 0,
            payload_len: 0,
            options_len: 12,
            ecn: Ecn::NotEct,
            ident: self.ident,
            timestamps: Some(Timestamps {
                val: clock,
                ecr: clock,
            }),
            sack: SackBlocks::default(),
            mss: None,
            window_scale: None,
            sack_permitted: false,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        }
    }

    fn open(&mut self, says_scale: bool) -> Vec<Observed> {
        let first = Step {
            what: 0,
            back: false,
            segments: 1,
            gap: 1000,
            wild: 0,
        };
        let offer = |mut packet: Observed, flags: Flags| {
            packet.flags = flags;
            packet.seq = packet.seq - 1;
            packet.mss = Some(1000);
            packet.window_scale = says_scale.then_some(6);
            packet
        };
        let mut syn = offer(self.packet(0, &first), Flags::SYN);
        syn.ack = SeqNumber::new(0);
        let answer = offer(self.packet(1, &first), Flags::SYN | Flags::ACK);
        vec![syn, answer, self.packet(0, &first)]
    }

    fn say(&mut self, step: &Step) -> Vec<Observed> {
        let side = usize::from(step.back);
        match step.what {
            0..=13 => (0..step.segments).map(|_| self.data(side, step)).collect(),
            14..=24 => {
                // Of all that the other side sent, or of a part.
                let other = self.next[1 - side];
                let waits = other.wrapping_sub(self.acked[side]);
                let less = if step.wild & 1 == 0 { 0 } else { waits / 2 };
                self.acked[side] = other.wrapping_sub(less);
                let packet = self.packet(side, step);
                let copies = 1 + usize::from(step.wild.is_multiple_of(8));
                vec![packet; copies]
            }
            25 => {
                // Lost before the capture.
                let _ = self.data(side, step);
                Vec::new()
            }
            26 => {
                let mut again = self.data(side, step);
                again.seq = again.seq - 500 * (1 + step.wild % 5);
                vec![again]
            }
            27 => {
                let packet = self.data(side, step);
                vec![packet, packet]
            }
            28 => {
                let mut report = self.packet(side, step);
                let left = SeqNumber::new(self.acked[side].wrapping_add(step.wild % 3000));
                report.sack.try_push(SackBlock {
                    left,
                    right: left + 500,
                });
                vec![report]
            }
            29 => {
                let mut packet = self.packet(side, step);
                packet.wnd = (step.wild % 90) as u16;
                vec![packet]
            }
            30 => {
                // The clock steps back.
                let back = u64::from(step.wild % 5_000_000);
                self.at = Instant::ZERO + self.at.saturating_since(Instant::from_nanos(back));
                vec![self.data(side, step)]
            }
            _ => {
                let mut packet = self.data(side, step);
                let odd = [Flags::FIN, Flags::RST, Flags::SYN, Flags::CWR, Flags::URG];
                packet.flags |= odd[step.wild as usize % odd.len()];
                packet.ack = packet.ack - step.wild % 7 * 100;
                vec![packet]
            }
        }
    }

    fn data(&mut self, side: usize, step: &Step) -> Observed {
        let mut packet = self.packet(side, step);
        packet.payload_len = if step.wild.is_multiple_of(9) {
            1
        } else {
            500 * (1 + step.wild % 4)
        };
        if step.wild.is_multiple_of(3) {
            packet.flags |= Flags::PSH;
        }
        self.next[side] = self.next[side].wrapping_add(packet.payload_len);
        packet
    }
}

proptest! {
    #[test]
    fn an_expected_packet_is_counted_as_the_long_way_counts_it(
        steps in prop::collection::vec(step(), 1..200),
        (opens, says_scale) in (any::<bool>(), any::<bool>()),
        first in prop_oneof![Just(0_u32.wrapping_sub(5_000)), any::<u32>()],
    ) {
        let mut talk = Talk {
            at: Instant::ZERO + Duration::from_secs(5),
            next: [first, 77],
            acked: [77, first],
            ident: 0,
        };
        let mut packets = if opens { talk.open(says_scale) } else { Vec::new() };
        packets.extend(steps.iter().flat_map(|step| talk.say(step)));
        let mut short = FlowTable::new(1);
        let mut long = FlowTable::without_prediction(1);
        for packet in &packets {
            let verdict = short.handle_packet(packet);
            prop_assert_eq!(verdict, long.handle_packet(packet));
            let tables = [&short, &long];
            let [one, other] = tables.map(|table| table.connection(verdict.connection).unwrap());
            for side in Side::BOTH {
                // Everything that a direction remembers.
                let both = [one, other].map(|connection| format!("{:?}", connection.direction(side)));
                prop_assert_eq!(&both[0], &both[1]);
                // And what the connection makes of it.
                let most = [one, other].map(|connection| connection.most_outstanding(side));
                prop_assert_eq!(most[0], most[1]);
                let mean = [one, other].map(|connection| connection.mean_outstanding(side));
                prop_assert_eq!(mean[0], mean[1]);
                prop_assert!(mean[0].is_none_or(|mean| mean >= 0.0));
            }
            prop_assert_eq!(one.last_at(), other.last_at());
            prop_assert_eq!(one.handshake_round_trip(), other.handshake_round_trip());
        }
    }
}
