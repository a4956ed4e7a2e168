//! Captures described packet by packet.

use std::net::Ipv4Addr;

use gigatcp_flows::{Connection, Detail, Details, FlowTable, Kind, Kinds, Observed, Side};
use gigatcp_units::Instant;
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber, Timestamps};

pub const CLIENT: Endpoints = Endpoints::V4 {
    src: Ipv4Addr::new(192, 0, 2, 1),
    dst: Ipv4Addr::new(192, 0, 2, 2),
};

/// A capture under construction: microseconds, sender, content.
pub struct Capture {
    pub table: FlowTable,
    pub details: Details,
    pub client_iss: u32,
    pub server_iss: u32,
}

/// A packet described by its relevant fields.
#[derive(Clone, Copy)]
pub struct Said {
    pub from: Side,
    /// Relative to the SYNs.
    pub seq: u32,
    pub ack: u32,
    pub len: u32,
    pub wnd: u16,
    pub urgent: u16,
    pub flags: Flags,
    pub sack: Option<(u32, u32)>,
    pub ts: Option<(u32, u32)>,
    pub ident: u16,
}

pub const DATA: Said = Said {
    from: Side::Client,
    seq: 1,
    ack: 1,
    len: 1000,
    wnd: 100,
    urgent: 0,
    flags: Flags::ACK,
    sack: None,
    ts: None,
    ident: 0,
};

pub const ACK: Said = Said {
    from: Side::Server,
    len: 0,
    ..DATA
};

impl Capture {
    /// Only in the middle of a connection.
    pub fn new(client_iss: u32) -> Self {
        Self {
            table: FlowTable::new(7),
            details: Details::new(),
            client_iss,
            server_iss: client_iss.wrapping_mul(77),
        }
    }

    /// Opens a connection: handshake of 1 ms, MSS 1460, scale 7, SACK.
    pub fn open(client_iss: u32) -> Self {
        Self::open_with(client_iss, 65_000)
    }

    /// Opens a connection whose SYNs advertise the window `wnd`.
    pub fn open_with(client_iss: u32, wnd: u16) -> Self {
        let mut capture = Self::new(client_iss);
        let syn = Said {
            wnd,
            seq: 0,
            len: 0,
            flags: Flags::SYN,
            ..DATA
        };
        capture.say(0, syn);
        capture.say(
            1000,
            Said {
                from: Side::Server,
                flags: Flags::SYN | Flags::ACK,
                ..syn
            },
        );
        capture.say(1001, Said { len: 0, ..DATA });
        capture
    }

    pub fn packet(&self, us: u64, said: Said) -> Observed {
        let is_client = said.from == Side::Client;
        let (own, other) = if is_client {
            (self.client_iss, self.server_iss)
        } else {
            (self.server_iss, self.client_iss)
        };
        let is_syn = said.flags.contains(Flags::SYN);
        let at = |iss: u32, place: u32| SeqNumber::new(iss.wrapping_add(place));
        let mut sack = SackBlocks::default();
        if let Some((left, right)) = said.sack {
            let (left, right) = (at(other, left), at(other, right));
            assert!(sack.try_push(SackBlock { left, right }));
        }
        let (endpoints, src_port, dst_port) = if is_client {
            (CLIENT, 40_000, 80)
        } else {
            (CLIENT.reversed(), 80, 40_000)
        };
        Observed {
            at: Instant::from_nanos(us * 1000),
            endpoints,
            src_port,
            dst_port,
            seq: at(own, said.seq),
            ack: at(other, said.ack),
            flags: said.flags,
            wnd: said.wnd,
            urgent: said.urgent,
            payload_len: said.len,
            options_len: 0,
            ecn: Ecn::NotEct,
            ident: said.ident,
            timestamps: said.ts.map(|(val, ecr)| Timestamps { val, ecr }),
            sack,
            mss: is_syn.then_some(1460),
            window_scale: is_syn.then_some(7),
            sack_permitted: is_syn,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        }
    }

    pub fn say(&mut self, us: u64, said: Said) -> Vec<Kind> {
        let packet = self.packet(us, said);
        let verdict = self.table.handle_packet(&packet);
        self.details.handle_packet(&self.table, &verdict, &packet);
        kinds(verdict.kinds)
    }

    pub fn detail(&self, side: Side) -> &Detail {
        self.details.of(self.table.len() - 1, side).unwrap()
    }

    pub fn connection(&self) -> &Connection {
        self.table.connections().last().unwrap()
    }
}

pub fn kinds(kinds: Kinds) -> Vec<Kind> {
    kinds.iter().collect()
}

pub fn data(place: u32) -> Said {
    Said {
        seq: 1 + 1000 * place,
        ..DATA
    }
}

pub fn ack(place: u32) -> Said {
    Said {
        ack: 1 + 1000 * place,
        ..ACK
    }
}
