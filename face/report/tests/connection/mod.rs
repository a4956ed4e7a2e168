//! A connection defined packet by packet, and its graph.
#![allow(
    dead_code,
    reason = "shared by test crates, none of which uses all of it"
)]

use std::net::Ipv4Addr;

use gigatcp_flows::{FlowTable, Observed};
use gigatcp_report::graph::{Watch, Watched};
use gigatcp_units::Instant;
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber};

const CLIENT: Endpoints = Endpoints::V4 {
    src: Ipv4Addr::new(192, 0, 2, 1),
    dst: Ipv4Addr::new(192, 0, 2, 2),
};

pub const ISS: u32 = u32::MAX - 3_000;
pub const SIZE: u32 = 1_448;

/// Packets in order.
#[derive(Default)]
pub struct Told {
    pub packets: Vec<Observed>,
}

impl Told {
    /// A handshake of 10 ms with a scale of 7 on both sides.
    pub fn open() -> Self {
        let mut told = Self::default();
        told.client(0, 0, 0, Flags::SYN);
        told.server(10_000, 0, 500, &[], Flags::SYN | Flags::ACK);
        told
    }

    fn push(&mut self, us: u64, is_client: bool, seq: u32, ack: u32) -> &mut Observed {
        let is_syn = self.packets.len() < 2;
        let (src_port, dst_port) = if is_client {
            (40_000, 5_201)
        } else {
            (5_201, 40_000)
        };
        self.packets.push(Observed {
            at: Instant::from_nanos(1_000_000_000 + us * 1_000),
            endpoints: if is_client { CLIENT } else { CLIENT.reversed() },
            src_port,
            dst_port,
            seq: SeqNumber::new(seq),
            ack: SeqNumber::new(ack),
            flags: Flags::ACK,
            wnd: 500,
            urgent: 0,
            payload_len: 0,
            options_len: 0,
            ecn: Ecn::NotEct,
            ident: 0,
            timestamps: None,
            sack: SackBlocks::default(),
            mss: is_syn.then_some(1_460),
            window_scale: is_syn.then_some(7),
            sack_permitted: is_syn,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        });
        self.packets.last_mut().expect("just pushed")
    }

    /// Adds `len` bytes from the client at `offset`, its SYN at 0.
    pub fn client(&mut self, us: u64, offset: u32, len: u32, flags: Flags) {
        let packet = self.push(us, true, ISS.wrapping_add(offset), 7_001);
        packet.payload_len = len;
        packet.flags = flags;
    }

    /// Adds data, counted from the first byte.
    pub fn data(&mut self, us: u64, offset: u32) {
        self.client(us, offset + 1, SIZE, Flags::ACK);
    }

    /// Adds an ACK from the server.
    pub fn server(&mut self, us: u64, ack: u32, wnd: u16, sack: &[(u32, u32)], flags: Flags) {
        let seq = if flags.contains(Flags::SYN) {
            7_000
        } else {
            7_001
        };
        let place = |offset: u32| SeqNumber::new(ISS.wrapping_add(1 + offset));
        let mut blocks = SackBlocks::default();
        for (left, right) in sack {
            let _ = blocks.try_push(SackBlock {
                left: place(*left),
                right: place(*right),
            });
        }
        let packet = self.push(us, false, seq, place(ack).as_u32());
        packet.wnd = wnd;
        packet.flags = flags;
        packet.sack = blocks;
    }

    /// Adds the ACK of everything up to an offset.
    pub fn ack(&mut self, us: u64, ack: u32) {
        self.server(us, ack, 500, &[], Flags::ACK);
    }

    /// Its graphs.
    pub fn watched(&self) -> Vec<Watched> {
        let mut first = FlowTable::new(1);
        for packet in &self.packets {
            first.handle_packet(packet);
        }
        let mut watch = Watch::new(first.connection(0).expect("one"), 1_000);
        let mut again = FlowTable::new(2);
        for (frame, packet) in (1..).zip(&self.packets) {
            let verdict = again.handle_packet(packet);
            let connection = again.connection(0).expect("one");
            watch.handle(frame, packet, &verdict, connection);
        }
        watch.finish()
    }
}

/// 40 segments, of which one is lost, reported and retransmitted; a closed window; the end.
pub fn eventful() -> Told {
    let mut told = Told::open();
    for index in 0..40 {
        told.data(11_000 + u64::from(index) * 100, index * SIZE);
    }
    for index in 0..10 {
        told.ack(21_000 + u64::from(index) * 100, (index + 1) * SIZE);
    }
    for index in 12..20 {
        let block = (11 * SIZE, index * SIZE);
        told.server(
            22_000 + u64::from(index) * 100,
            10 * SIZE,
            500,
            &[block],
            Flags::ACK,
        );
    }
    told.data(24_100, 10 * SIZE);
    told.server(34_200, 40 * SIZE, 0, &[], Flags::ACK);
    told.server(60_000, 40 * SIZE, 500, &[], Flags::ACK);
    told.client(61_000, 40 * SIZE + 1, 0, Flags::FIN | Flags::ACK);
    told.ack(71_000, 40 * SIZE + 1);
    told
}
