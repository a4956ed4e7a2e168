//! A packet as the analysis sees it: its relevant header fields, read once.

use gigatcp_units::Instant;
use gigatcp_wire::link::{Captured, Fragmentation};
use gigatcp_wire::{
    Ecn, Endpoints, Flags, Payload, SackBlocks, Segment, SeqNumber, Timestamps, option_kind,
};

/// One captured packet.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Time of capture.
    pub at: Instant,
    /// Addresses.
    pub endpoints: Endpoints,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// SEG.SEQ.
    pub seq: SeqNumber,
    /// SEG.ACK, valid when ACK is set.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire.
    pub wnd: u16,
    /// SEG.UP, valid when URG is set.
    pub urgent: u16,
    /// Octets of payload on the wire.
    pub payload_len: u32,
    /// Bytes of options and payload that were not captured. It exceeds the payload if options were
    /// cut off.
    pub uncaptured_len: u32,
    /// Octets of options.
    pub options_len: u8,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// IPv4 identification; zero if it has none.
    pub ident: u16,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// MSS, of a SYN.
    pub mss: Option<u16>,
    /// Window scale, of a SYN.
    pub window_scale: Option<u8>,
    /// SACK-permitted, of a SYN.
    pub sack_permitted: bool,
    /// Whether a window scale may be among the options of a SYN that were not captured.
    pub scale_is_cut: bool,
    /// Whether the packet came in fragments.
    pub fragmentation: Fragmentation,
}

impl Observed {
    /// Reads the fields of a captured segment.
    #[inline]
    pub fn new(at: Instant, segment: &Captured<'_>) -> Self {
        let mut observed = Self {
            at,
            endpoints: segment.ip.endpoints,
            src_port: segment.src_port,
            dst_port: segment.dst_port,
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            wnd: segment.wnd.0,
            urgent: segment.urgent,
            payload_len: segment.payload_len,
            uncaptured_len: {
                let options = segment.options_len() - segment.option_octets.len();
                segment.uncaptured_len() + options as u32
            },
            options_len: segment.options_len() as u8,
            ecn: segment.ecn,
            ident: segment.ip.ident,
            timestamps: None,
            sack: SackBlocks::default(),
            mss: None,
            window_scale: None,
            sack_permitted: false,
            scale_is_cut: false,
            fragmentation: segment.fragmentation,
        };
        match segment.option_octets {
            [] if segment.options_len() == 0 => {}
            // Nearly every segment: timestamps in the layout of every common kernel, and no other
            // options.
            [1, 1, option_kind::TIMESTAMPS, 10, _, _, _, _, _, _, _, _] => {
                observed.timestamps = segment.timestamps();
            }
            _ => observed.read_options(segment),
        }
        observed
    }

    /// Reads the fields of a segment handed over by a simulator or an engine.
    pub fn of_segment<P: Payload>(
        at: Instant,
        endpoints: Endpoints,
        ident: u16,
        segment: &Segment<P>,
    ) -> Self {
        let options = &segment.options;
        Self {
            at,
            endpoints,
            src_port: segment.src_port,
            dst_port: segment.dst_port,
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            wnd: segment.wnd.0,
            urgent: segment.urgent,
            payload_len: segment.payload.len() as u32,
            uncaptured_len: 0,
            options_len: options.wire_len() as u8,
            ecn: segment.ecn,
            ident,
            timestamps: options.timestamps,
            sack: options.sack,
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            scale_is_cut: false,
            fragmentation: Fragmentation::Whole,
        }
    }

    #[inline(never)]
    fn read_options(&mut self, segment: &Captured<'_>) {
        let options = segment.options();
        self.timestamps = options.timestamps;
        self.sack = options.sack;
        if self.flags.contains(Flags::SYN) {
            self.mss = options.mss;
            self.window_scale = options.window_scale;
            self.sack_permitted = options.sack_permitted;
            self.scale_is_cut = options.window_scale.is_none() && has_room_for_scale(segment);
        }
    }

    /// SEG.LEN: payload octets plus one for SYN and one for FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.payload_len.saturating_add(self.flags.seq_len())
    }
}

/// Whether a window scale may be among the options that were not captured: those that were, with the one
/// that the cut is in, leave room for it (RFC 7323 section 2.2: 3 octets).
fn has_room_for_scale(segment: &Captured<'_>) -> bool {
    const SCALE: usize = 3;
    let captured = segment.option_octets;
    let mut at = 0;
    while let Some(kind) = captured.get(at) {
        at += match *kind {
            option_kind::END => return false,
            option_kind::NO_OPERATION => 1,
            option_kind::WINDOW_SCALE => return true,
            _ => match captured.get(at + 1) {
                // Of all but a window scale, only the kind was captured.
                None => 2,
                Some(len) => usize::from(*len).max(2),
            },
        };
    }
    segment.options_len() > captured.len() && at + SCALE <= segment.options_len()
}
