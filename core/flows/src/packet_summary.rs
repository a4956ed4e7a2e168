//! The few words that decide nearly everything about a packet.
//!
//! An expected packet needs only these: they are passed by value and stay in registers. An
//! unexpected packet is read completely ([`Observed`]).

use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, Flags, SeqNumber, Timestamps};

use crate::Observed;
use crate::key::Pair;

/// The fields of a packet that decide nearly everything about it.
#[derive(Clone, Copy, Debug)]
pub struct PacketSummary {
    /// Time of capture.
    pub at: Instant,
    /// SEG.SEQ.
    pub seq: SeqNumber,
    /// SEG.ACK, valid when ACK is set.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire.
    pub wnd: u16,
    /// IPv4 identification; zero if it has none.
    pub ident: u16,
    /// Octets of options.
    pub options_len: u8,
    /// Whether it has SACK blocks, or is marked (CE).
    pub has_sack_or_ce: bool,
    /// Octets of payload on the wire.
    pub payload_len: u32,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
}

impl PacketSummary {
    /// SEG.LEN: payload octets plus one for SYN and one for FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.payload_len.saturating_add(self.flags.seq_len())
    }
}

/// A packet in any form from which its fields can be read.
pub trait Packet {
    /// Its endpoints.
    fn pair(&self) -> Pair;

    /// Fields that decide nearly everything about it.
    fn summary(&self) -> PacketSummary;

    /// All its fields.
    fn observed(&self) -> Observed;
}

impl Packet for Observed {
    #[inline]
    fn pair(&self) -> Pair {
        Pair::of(self.endpoints, self.src_port, self.dst_port)
    }

    #[inline]
    fn summary(&self) -> PacketSummary {
        PacketSummary {
            at: self.at,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            wnd: self.wnd,
            ident: self.ident,
            options_len: self.options_len,
            has_sack_or_ce: !self.sack.is_empty() || self.ecn == Ecn::Ce,
            payload_len: self.payload_len,
            timestamps: self.timestamps,
        }
    }

    #[inline]
    fn observed(&self) -> Observed {
        *self
    }
}
