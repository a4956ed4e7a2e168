//! State and counts of one direction of a connection.
//!
//! Positions are sequence numbers extended to 64 bits, so that they do not wrap at 4 GiB. What few
//! connections need (loss recovery, odd packets) is in a separate box that the others lack.

use alloc::boxed::Box;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::SeqNumber;

use crate::gaps::Opener;
use crate::packet_summary::PacketSummary;
use crate::retransmission::LossRecovery;
use crate::sent::InFlight;
use crate::{Kind, Kinds, Observed, RoundTrips};

/// First position: far enough from zero that no position lies below it.
const ORIGIN: u64 = 1 << 33;

/// Flags of what was seen of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Seen(u16);

impl Seen {
    /// Positions have an origin.
    pub const STARTED: u16 = 1;
    pub const SYN: u16 = 2;
    pub const FIN: u16 = 4;
    pub const RST: u16 = 8;
    /// SND.UNA is known from an acknowledgment or the SYN.
    pub const UNA: u16 = 16;
    pub const SACK_PERMITTED: u16 = 32;
    pub const TIMESTAMPS: u16 = 64;
    pub const WINDOW_SCALE: u16 = 128;
    /// The previous packet was a keep-alive.
    pub const KEEP_ALIVE: u16 = 256;
    /// The previous packet was a zero-window probe.
    pub const PROBE: u16 = 512;
    pub const MSS: u16 = 1024;
    /// A packet other than a SYN advertised a window.
    pub const WINDOW: u16 = 2048;
    pub const SUPER: u16 = 4096;
    /// See `predicted.rs`.
    pub const QUIET: u16 = 8192;
    /// See `predicted.rs`.
    pub const STEADY: u16 = 16_384;
    /// Options of the SYN were cut off, and a window scale may be among them.
    pub const CUT: u16 = 32_768;

    pub const fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    pub const fn set(&mut self, bit: u16, to: bool) {
        if to {
            self.0 |= bit;
        } else {
            self.0 &= !bit;
        }
    }
}

/// State that few connections need.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rare {
    /// Packets of each kind; for retransmissions, wire segments.
    pub counts: [u64; Kind::ALL.len()],
    pub retransmitted_packets: u64,
    pub retransmitted_octets: u64,
    /// Payload bytes that had passed before.
    pub repeated: u64,
    /// Bytes acknowledged that never passed here.
    pub unseen: u64,
    pub spurious_segments: u64,
    pub repair: LossRecovery,
    /// Window scale that the first window after a SYN shows, if its own was cut off.
    pub scale_after_syn: Option<u8>,
}

/// Maximum difference of identifications of packets of one burst.
const MAX_PASSED: u16 = 31;

/// Options that one side offered in its SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub window_scale: Option<u8>,
    /// SACK.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: bool,
}

/// Minimum, maximum and mean of windows or of bytes in flight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MinMaxMean {
    /// Minimum.
    pub least: u64,
    /// Maximum.
    pub most: u64,
    /// Mean.
    pub mean: f64,
}

/// State of a direction before a packet that may change it in several places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    payload: u64,
    owin: u64,
}

/// One direction of a connection.
#[derive(Clone, Default, Debug)]
pub struct Direction {
    /// Position of the first byte seen.
    pub(crate) base: u64,
    /// SND.NXT as far as seen.
    pub(crate) next: u64,
    /// SND.UNA as far as seen.
    pub(crate) una: u64,
    /// The highest right edge advertised to this direction.
    pub(crate) edge: u64,
    /// Position below which data gives no RTT sample. That data left or arrived twice, or out of
    /// order.
    pub(crate) first_sample_position: u64,
    pub(crate) last_at: Instant,
    pub(crate) idle_max: Duration,
    pub(crate) data_packets: u64,
    /// Packets without payload.
    pub(crate) bare_packets: u64,
    /// Maximum in flight before the latest change.
    pub(crate) owin_max: u64,
    /// Whether the last packet changed the amount in flight, which has not lasted yet.
    pub(crate) is_fresh: bool,
    /// Sum over changes in flight: each change times its time, with inverted sign. Adding the
    /// amount now in flight times the time now gives byte-nanoseconds. A packet without a change
    /// costs nothing.
    pub(crate) owin_changes: i128,
    /// The latest TSval.
    pub(crate) ts_val: u32,
    pub(crate) last_seq: u32,
    /// The largest payload of a single wire segment.
    pub(crate) largest: u32,
    /// The latest window, scaled.
    pub(crate) offered: u32,
    /// The longest certain single wire segment, its options included.
    pub(crate) single: u32,
    /// Duplicate acknowledgments since SND.UNA moved.
    pub(crate) duplicates: u32,
    pub(crate) wnd: u16,
    /// The latest identification, and those before it that were seen: bit 1 is the one before.
    pub(crate) ident: u16,
    seen_idents: u32,
    pub(crate) seen: Seen,
    /// Shift of its windows.
    pub(crate) shift: u8,
    scale: u8,
    /// Evidence for or against packets larger than an Ethernet segment being several segments. See
    /// [`Self::weigh`].
    gathered: i8,
    mss: u16,
    wnd_max: u32,
    wnd_min: u32,
    /// Sum and number of the windows before the latest change.
    wnd_sum: u64,
    wnd_count: u64,
    /// Number of packets before the latest window; packets since then advertise it.
    wnd_since: u64,
    /// Wire segments in excess of packets.
    pub(crate) extra_segments: u64,
    /// Length of the stream up to SND.NXT minus its payload bytes here, modulo 2^64. So SND.NXT
    /// yields the payload without a separate sum.
    non_payload: u64,
    /// Duplicate acknowledgments that it sent: frequent, so not in `rare`.
    pub(crate) duplicate_acks: u64,
    pub(crate) rtt: RoundTrips,
    pub(crate) in_flight: Option<Box<InFlight>>,
    pub(crate) rare: Option<Box<Rare>>,
}

impl Direction {
    #[inline]
    pub(crate) const fn is_started(&self) -> bool {
        self.seen.has(Seen::STARTED)
    }

    /// Sets the origin of positions to this sequence number.
    pub(crate) fn start(&mut self, seq: SeqNumber) {
        let at = ORIGIN + u64::from(seq.as_u32());
        (self.base, self.next, self.una) = (at, at, at);
        (self.edge, self.first_sample_position) = (at, at);
        self.seen.set(Seen::STARTED, true);
    }

    /// Position of a sequence number: the one nearest to SND.NXT.
    #[inline]
    pub(crate) const fn position(&self, seq: SeqNumber) -> u64 {
        let distance = seq.distance_from(SeqNumber::new(self.next as u32));
        self.next.wrapping_add_signed(distance as i64)
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(crate) fn read_syn(&mut self, packet: &Observed) {
        self.seen.set(Seen::SYN, true);
        self.seen.set(Seen::MSS, packet.mss.is_some());
        self.seen.set(Seen::SACK_PERMITTED, packet.sack_permitted);
        self.seen.set(Seen::TIMESTAMPS, packet.timestamps.is_some());
        self.mss = packet.mss.unwrap_or_default();
        let is_cut = packet.scale_is_cut;
        self.seen.set(Seen::CUT, is_cut);
        // A scale that the windows show stays.
        if packet.window_scale.is_some() || !is_cut {
            let has_scale = packet.window_scale.is_some();
            self.seen.set(Seen::WINDOW_SCALE, has_scale);
            self.scale = packet.window_scale.unwrap_or_default().min(14);
        }
    }

    /// Compares the first window after a SYN whose options were cut off with that of the SYN, which is
    /// not scaled (RFC 7323 section 2.2). Linux offers the same again, rounded up to its unit; after the
    /// first data less by what arrived, the same, or more by twice that. Others offer another window,
    /// which equals none of these but by chance.
    #[cold]
    pub(crate) fn note_window_after_syn(&mut self, syn: u16, wnd: u16, arrived: u64) {
        let (syn, wnd) = (u64::from(syn), u64::from(wnd));
        if wnd == 0 || arrived.saturating_mul(6) > syn {
            return;
        }
        let offered = [syn - arrived, syn, syn + 2 * arrived];
        let is_same = |scale: &u8| offered.iter().any(|one| one.div_ceil(1 << scale) == wnd);
        let mut scales = (0..=14).filter(is_same);
        let found = scales.next().filter(|_| scales.next().is_none());
        if found.is_some() {
            self.rare().scale_after_syn = found;
        }
    }

    /// Window scale that the first window after a SYN shows, if its own was cut off.
    pub fn scale_after_syn(&self) -> Option<u8> {
        self.rare.as_ref()?.scale_after_syn
    }

    /// Whether a window scale may be among the options of its SYN that were cut off.
    pub(crate) const fn may_have_scale(&self) -> bool {
        self.seen.has(Seen::CUT)
    }

    pub(crate) fn set_window_scale(&mut self, scale: u8) {
        self.seen.set(Seen::WINDOW_SCALE, true);
        self.scale = scale.min(14);
    }

    /// Maximum payload of a wire segment if nothing is known of it: a jumbo frame's.
    pub(crate) const JUMBO: u32 = 9_216;

    /// The MSS of Ethernet, over IPv4 and over IPv6.
    pub(crate) const ETHERNET: u32 = 1_460;
    const ETHERNET_V6: u32 = 1_440;

    /// Whether it is a whole number of segments of that size.
    fn is_whole(packet: &PacketSummary, mss: u32) -> bool {
        let size = mss - u32::from(packet.options_len);
        packet.payload_len.is_multiple_of(size)
    }

    /// MSS of its own SYN if the peer's is larger. A host on a link with a smaller MTU than the
    /// peer's sends segments of its own link's size.
    fn smaller_mss(&self, peer_mss: u16) -> Option<u32> {
        let own = self.mss()?;
        (Self::LEAST_MSS..peer_mss)
            .contains(&own)
            .then(|| own.into())
    }

    /// The minimum MSS that every host accepts (RFC 9293 section 3.7.1).
    const LEAST_MSS: u16 = 536;

    /// Longest certain single wire segment, options included, if the peer's MSS is `peer_mss`.
    pub(crate) fn single_with(&self, peer_mss: u16) -> u32 {
        self.smaller_mss(peer_mss)
            .unwrap_or_else(|| u32::from(peer_mss.max(64)))
    }

    /// Weighs whether packets larger than a segment are several of them.
    ///
    /// Without the handshake the size of a wire segment is unknown, and a host may hand several
    /// over as one packet. Such packets are mostly whole multiples of Ethernet's segment, jumbo
    /// frames hardly ever: the latest packets larger than an Ethernet segment decide. With the
    /// handshake, the same applies to a sender whose own MSS is smaller than it may send.
    pub(crate) fn weigh(&mut self, packet: &PacketSummary, peer: &Self) {
        const MOST: i8 = 8;
        let (mss, other) = match peer.mss() {
            None => (Self::ETHERNET, Self::ETHERNET_V6),
            Some(peer_mss) => match self.smaller_mss(peer_mss) {
                Some(own) => (own, own),
                None => return,
            },
        };
        let full = mss - u32::from(packet.options_len);
        if packet.payload_len <= full {
            return;
        }
        let was_gathered = self.gathered > 0;
        let is_whole = Self::is_whole(packet, mss) || Self::is_whole(packet, other);
        let step = if is_whole { 1 } else { -1 };
        self.gathered = (self.gathered + step).clamp(-MOST, MOST);
        if self.gathered > 0 && !was_gathered {
            self.largest = self.largest.min(full);
        }
    }

    /// Payload bytes per wire segment with this packet's options. `mss` is the peer's MSS. Without
    /// a known MSS, a packet larger than a jumbo frame is assumed to consist of Ethernet segments.
    /// Other packets, and those of a sender whose own MSS is smaller, are decided as
    /// [weighed](Self::weigh).
    fn segment_size(&self, packet: &PacketSummary, mss: Option<u16>) -> u32 {
        let mss = match mss {
            Some(mss) if self.gathered > 0 => self.single_with(mss),
            Some(mss) => u32::from(mss.max(64)),
            None if self.gathered > 0 && Self::is_whole(packet, Self::ETHERNET_V6) => {
                Self::ETHERNET_V6
            }
            None if self.gathered > 0 || packet.payload_len > Self::JUMBO => Self::ETHERNET,
            None => u32::MAX,
        };
        // RFC 6691: the MSS does not count options, the segment size must.
        mss.saturating_sub(u32::from(packet.options_len)).max(8)
    }

    /// Number of wire segments of a packet, and their size.
    #[inline]
    pub(crate) fn segments_of(&self, packet: &PacketSummary, peer: &Self) -> (u64, u32) {
        if packet.payload_len <= 536 {
            return (1, 536);
        }
        let size = self.segment_size(packet, peer.mss());
        if packet.payload_len <= size {
            return (1, size);
        }
        (u64::from(packet.payload_len.div_ceil(size)).max(1), size)
    }

    /// Its state before a packet of either side.
    pub(crate) fn standing(&self) -> Standing {
        Standing {
            payload: self.bytes(),
            owin: self.owin(),
        }
    }

    /// Updates the derived state after a packet at `time`.
    pub(crate) fn settle(&mut self, before: Standing, time: u64) {
        debug_assert!(
            !self.is_started() || self.base <= self.next,
            "positions from {} to {}",
            self.base,
            self.next
        );
        self.non_payload = self.next.wrapping_sub(before.payload);
        let owin = self.owin();
        self.is_fresh = owin != before.owin;
        if self.is_fresh {
            self.owin_max = self.owin_max.max(before.owin);
            let change = i128::from(before.owin) - i128::from(owin);
            self.owin_changes += change * i128::from(time);
        }
    }

    /// Records the identification of a packet, and its sequence number if it is the latest one. Hosts
    /// count their packets up, though RFC 6864 does not ask for that.
    #[inline(always)]
    pub(crate) fn note_ident(&mut self, ident: u16, seq: u32) {
        let ahead = ident.wrapping_sub(self.ident);
        if ahead == 1 {
            self.seen_idents = self.seen_idents << 1 | 1;
        } else if let passed @ 1..=MAX_PASSED = self.ident.wrapping_sub(ident)
            && ident != 0
            && self.ident != 0
        {
            self.seen_idents |= 1 << passed;
            return;
        } else {
            let kept = self.seen_idents.checked_shl(ahead.into()).unwrap_or(0);
            self.seen_idents = kept | 1;
        }
        (self.ident, self.last_seq) = (ident, seq);
    }

    /// Whether a packet with this identification passed shortly before the latest one.
    pub(crate) const fn has_seen_ident(&self, ident: u16) -> bool {
        let passed = self.ident.wrapping_sub(ident);
        let is_near = ident != 0 && passed >= 1 && passed <= MAX_PASSED;
        is_near && self.seen_idents >> passed & 1 == 1
    }

    /// Counts what every packet counts for; its payload is not in SND.NXT yet.
    pub(crate) fn count(&mut self, packet: &PacketSummary, wire_segments: u64) {
        if self.packets() > 0 {
            let idle = packet.at.saturating_since(self.last_at);
            self.idle_max = self.idle_max.max(idle);
        }
        self.last_at = packet.at;
        self.extra_segments += wire_segments - 1;
        self.note_ident(packet.ident, packet.seq.as_u32());
        self.non_payload = self.non_payload.wrapping_sub(packet.payload_len.into());
        if packet.payload_len == 0 {
            self.bare_packets += 1;
            return;
        }
        self.data_packets += 1;
        if wire_segments == 1 {
            self.largest = self.largest.max(packet.payload_len);
        } else {
            self.seen.set(Seen::SUPER, true);
        }
    }

    /// Counts kinds other than retransmissions, which count wire segments.
    pub(crate) fn count_kinds(&mut self, kinds: Kinds) {
        self.duplicate_acks += u64::from(kinds.contains(Kind::DuplicateAck));
        let mut left = kinds.rare().bits();
        if left == 0 {
            return;
        }
        let counts = &mut self.rare().counts;
        while left != 0 {
            counts[left.trailing_zeros() as usize] += 1;
            left &= left - 1;
        }
    }

    /// Whether a packet other than a SYN advertised a window.
    pub(crate) const fn has_window(&self) -> bool {
        self.seen.has(Seen::WINDOW)
    }

    /// Records the window of a packet that is not counted yet.
    pub(crate) fn count_window(&mut self, wnd: u32) {
        if !self.seen.has(Seen::WINDOW) {
            self.seen.set(Seen::WINDOW, true);
            (self.wnd_min, self.wnd_max) = (wnd, wnd);
        }
        if wnd != self.offered {
            self.change_window(wnd);
        }
    }

    /// Records that the packet, not counted yet, advertises no window.
    pub(crate) const fn count_no_window(&mut self) {
        self.wnd_since += 1;
    }

    /// Changes the window from this packet on, which is not counted yet.
    pub(crate) fn change_window(&mut self, wnd: u32) {
        let (count, sum) = self.latest_windows();
        self.wnd_count += count;
        self.wnd_sum += sum;
        self.wnd_since = self.packets();
        self.offered = wnd;
        self.wnd_min = self.wnd_min.min(wnd);
        self.wnd_max = self.wnd_max.max(wnd);
    }

    /// Number of packets with the latest window, and the sum of these windows.
    const fn latest_windows(&self) -> (u64, u64) {
        let count = self.packets() - self.wnd_since;
        (count, count * self.offered as u64)
    }

    /// Bytes in flight as seen here; zero before the first acknowledgment.
    #[inline]
    pub(crate) fn owin(&self) -> u64 {
        if self.seen.has(Seen::UNA) {
            self.next.saturating_sub(self.una)
        } else {
            0
        }
    }

    /// Whether some of the data between two positions was never seen.
    pub(crate) fn has_gap(&self, start: u64, end: u64) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|in_flight| in_flight.gaps.overlap(start, end))
    }

    /// Fills gaps between two positions. Returns the bytes filled, and the packet that showed the
    /// first of these gaps.
    pub(crate) fn fill_gaps(&mut self, start: u64, end: u64) -> (u64, Option<Opener>) {
        match &mut self.in_flight {
            Some(in_flight) if start < end => in_flight.gaps.fill(start, end),
            _ => (0, None),
        }
    }

    /// Window scale of its SYN.
    pub(crate) const fn own_scale(&self) -> u8 {
        self.scale
    }

    /// Options of its SYN; `None` if no SYN was seen.
    pub fn options(&self) -> Option<Options> {
        self.seen.has(Seen::SYN).then(|| Options {
            mss: self.mss(),
            window_scale: self.seen.has(Seen::WINDOW_SCALE).then_some(self.scale),
            sack_permitted: self.seen.has(Seen::SACK_PERMITTED),
            timestamps: self.seen.has(Seen::TIMESTAMPS),
        })
    }

    /// Whether its SYN certainly offered no window scale.
    pub(crate) const fn is_unscaled(&self) -> bool {
        self.has_syn() && !self.seen.has(Seen::WINDOW_SCALE) && !self.seen.has(Seen::CUT)
    }

    pub(crate) fn mss(&self) -> Option<u16> {
        self.seen.has(Seen::MSS).then_some(self.mss)
    }

    /// Number of packets in the capture.
    pub const fn packets(&self) -> u64 {
        self.data_packets + self.bare_packets
    }

    /// Number of packets with payload.
    pub const fn data_packets(&self) -> u64 {
        self.data_packets
    }

    /// Number of wire segments. It exceeds that of packets if the capture has super-segments.
    pub const fn wire_segments(&self) -> u64 {
        self.packets() + self.extra_segments
    }

    /// Whether the capture has super-segments.
    pub const fn has_super_segments(&self) -> bool {
        self.seen.has(Seen::SUPER)
    }

    /// Number of payload bytes; every transmission counts.
    pub const fn bytes(&self) -> u64 {
        self.next.wrapping_sub(self.non_payload)
    }

    /// Number of unique payload bytes.
    pub fn unique_bytes(&self) -> u64 {
        let repeated = self.rare.as_ref().map_or(0, |rare| rare.repeated);
        self.bytes().saturating_sub(repeated)
    }

    /// Length of the sequence space from the first byte seen to the last.
    pub const fn stream_length(&self) -> u64 {
        self.next.saturating_sub(self.base)
    }

    /// Bytes that never passed here and were never acknowledged, by the sequence number of a later packet.
    /// More than 1 MiB is taken for a damaged sequence number, and is none.
    pub fn missing_bytes(&self) -> u64 {
        const MAX: u64 = 1 << 20;
        let controls = u64::from(self.has_syn()) + u64::from(self.has_fin());
        let seen = self.unique_bytes() + controls;
        let missing = self.stream_length().saturating_sub(seen);
        if self.acked_unseen_bytes() == 0 && missing <= MAX {
            missing
        } else {
            0
        }
    }

    /// Position of the beginning: the SYN, or the first byte seen.
    pub const fn first_position(&self) -> u64 {
        self.base
    }

    /// Position after the last byte seen: SND.NXT.
    pub const fn next_position(&self) -> u64 {
        self.next
    }

    /// Position after the last byte acknowledged: SND.UNA. `None` before the first acknowledgment.
    pub fn acked_position(&self) -> Option<u64> {
        self.seen.has(Seen::UNA).then_some(self.una)
    }

    /// Position of the highest right window edge advertised to this direction.
    #[inline]
    pub const fn offered_to(&self) -> u64 {
        self.edge
    }

    /// Position of a sequence number: the one nearest to SND.NXT.
    #[inline]
    pub const fn position_of(&self, seq: SeqNumber) -> u64 {
        self.position(seq)
    }

    /// Largest payload of a wire segment.
    pub const fn largest_segment(&self) -> u32 {
        self.largest
    }

    /// Longest time between two packets.
    pub const fn longest_idle(&self) -> Duration {
        self.idle_max
    }

    /// Number of duplicate ACKs of its data since SND.UNA moved.
    pub const fn duplicates_at_edge(&self) -> u32 {
        self.duplicates
    }

    /// RTTs of the data of this direction.
    pub const fn round_trips(&self) -> &RoundTrips {
        &self.rtt
    }

    /// Windows that this side advertised, scaled if the scale is known.
    pub fn windows(&self) -> Option<MinMaxMean> {
        let (count, sum) = self.latest_windows();
        let count = (self.wnd_count + count).max(1) as f64;
        self.seen.has(Seen::WINDOW).then(|| MinMaxMean {
            least: self.wnd_min.into(),
            most: self.wnd_max.into(),
            mean: (self.wnd_sum + sum) as f64 / count,
        })
    }

    /// Count of a kind: packets, or wire segments for retransmissions.
    pub fn count_of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::DuplicateAck => self.duplicate_acks,
            _ => {
                let rare = self.rare.as_ref();
                rare.map_or(0, |rare| rare.counts[kind as usize])
            }
        }
    }

    /// Number of retransmitted wire segments, whatever their reason.
    pub fn retransmitted_segments(&self) -> u64 {
        Kind::RETRANSMISSIONS
            .into_iter()
            .map(|kind| self.count_of(kind))
            .sum()
    }

    /// Number of packets with retransmitted data.
    pub fn retransmitted_packets(&self) -> u64 {
        self.rare
            .as_ref()
            .map_or(0, |rare| rare.retransmitted_packets)
    }

    /// Number of retransmitted bytes. The first transmission need not have passed here.
    pub fn retransmitted_bytes(&self) -> u64 {
        self.rare
            .as_ref()
            .map_or(0, |rare| rare.retransmitted_octets)
    }

    /// Number of retransmitted wire segments proven spurious. The proof is D-SACK or timestamps.
    pub fn spurious_segments(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.spurious_segments)
    }

    /// Whether SACK reports data beyond what is acknowledged. A D-SACK alone reports none.
    pub fn has_sacked_beyond(&self) -> bool {
        let rare = self.rare.as_ref();
        rare.is_some_and(|rare| rare.repair.high_sacked > self.una)
    }

    /// Number of bytes that the peer acknowledged and that never passed here. The capture missed
    /// them, or they took another path.
    pub fn acked_unseen_bytes(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.unseen)
    }

    /// Whether a SYN was seen.
    pub const fn has_syn(&self) -> bool {
        self.seen.has(Seen::SYN)
    }

    /// Whether a FIN was seen.
    pub const fn has_fin(&self) -> bool {
        self.seen.has(Seen::FIN)
    }

    /// Whether a reset was seen.
    pub const fn has_reset(&self) -> bool {
        self.seen.has(Seen::RST)
    }
}
