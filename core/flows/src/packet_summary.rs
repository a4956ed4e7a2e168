//! What nearly everything about a packet is decided by, in a few words.
//!
//! A packet that was expected is never more than this: it goes by value and
//! stays in registers. Of what is odd the rest is read too ([`Observed`]).

use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, Flags, SeqNumber, Timestamps};

use crate::Observed;
use crate::key::Pair;

/// A packet at a glance.
#[derive(Clone, Copy, Debug)]
pub struct PacketSummary {
    /// When it was captured.
    pub at: Instant,
    /// SEG.SEQ.
    pub seq: SeqNumber,
    /// SEG.ACK, valid when ACK is set.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire.
    pub wnd: u16,
    /// IPv4 identification; zero where there is none.
    pub ident: u16,
    /// Octets of options.
    pub options_len: u8,
    /// Whether it has SACK blocks, or is marked (CE).
    pub says_more: bool,
    /// Octets of payload on the wire.
    pub payload_len: u32,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
}

impl PacketSummary {
    /// SEG.LEN: payload octets plus one for SYN and one for FIN.
    #[inline]
    #[must_use]
    pub const fn seq_len(&self) -> u32 {
        self.payload_len.saturating_add(self.flags.seq_len())
    }
}

/// A packet, of whatever form it is in: what it takes to say what it is.
pub trait Packet {
    /// Which endpoints it is of.
    fn pair(&self) -> Pair;

    /// What nearly everything is decided by.
    fn glance(&self) -> PacketSummary;

    /// All that is to be known of it.
    fn observed(&self) -> Observed;
}

impl Packet for Observed {
    #[inline]
    fn pair(&self) -> Pair {
        Pair::of(self.endpoints, self.src_port, self.dst_port)
    }

    #[inline]
    fn glance(&self) -> PacketSummary {
        PacketSummary {
            at: self.at,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            wnd: self.wnd,
            ident: self.ident,
            options_len: self.options_len,
            says_more: !self.sack.is_empty() || self.ecn == Ecn::Ce,
            payload_len: self.payload_len,
            timestamps: self.timestamps,
        }
    }

    #[inline]
    fn observed(&self) -> Observed {
        *self
    }
}
