//! What is counted and remembered of one direction of a connection.
//!
//! Positions are sequence numbers extended to 64 bits, so that connections past
//! 4 GiB count on. What few connections need (repairs, odd packets) is in a box
//! of its own that the others do not have.

use alloc::boxed::Box;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::SeqNumber;

use crate::retransmission::Repair;
use crate::sent::InFlight;
use crate::{Kind, Kinds, Observed, RoundTrips};

/// Where positions begin: far enough from zero that nothing lies below it.
const ORIGIN: u64 = 1 << 33;

/// What has been seen of a direction so far, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Seen(u16);

impl Seen {
    /// There is an origin of positions.
    pub const STARTED: u16 = 1;
    pub const SYN: u16 = 2;
    pub const FIN: u16 = 4;
    pub const RST: u16 = 8;
    /// SND.UNA is known from an acknowledgment or the SYN.
    pub const UNA: u16 = 16;
    pub const SACK_PERMITTED: u16 = 32;
    pub const TIMESTAMPS: u16 = 64;
    pub const WINDOW_SCALE: u16 = 128;
    /// The packet before was a keep-alive.
    pub const KEEP_ALIVE: u16 = 256;
    /// The packet before was a probe of a closed window.
    pub const PROBE: u16 = 512;
    pub const MSS: u16 = 1024;
    /// There was a window that is not of a SYN.
    pub const WINDOW: u16 = 2048;
    pub const SUPER: u16 = 4096;

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

/// What few connections need.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rare {
    /// Packets of each kind; of retransmissions, wire segments.
    pub counts: [u64; Kind::ALL.len()],
    pub retransmitted_packets: u64,
    pub retransmitted_octets: u64,
    /// Octets acknowledged that never passed here.
    pub unseen: u64,
    pub spurious_segments: u64,
    pub repair: Repair,
}

/// What one side offered in its SYN.
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

/// Least, most and mean of what was offered or in flight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
    /// The mean.
    pub mean: f64,
}

/// One direction of a connection.
#[derive(Clone, Default, Debug)]
pub struct Direction {
    /// Position of the first octet seen.
    pub(crate) base: u64,
    /// SND.NXT as far as seen.
    pub(crate) next: u64,
    /// SND.UNA as far as seen.
    pub(crate) una: u64,
    /// The highest right edge offered to this direction.
    pub(crate) edge: u64,
    /// Nothing below is a sample of a round trip: it left, or arrived, twice or
    /// out of turn.
    pub(crate) karn: u64,
    packets: u64,
    data_packets: u64,
    wire_segments: u64,
    payload: u64,
    pub(crate) repeated: u64,
    pub(crate) last_at: Instant,
    idle_max: Duration,
    pub(crate) rtt: RoundTrips,
    owin_max: u64,
    /// Octets in flight times nanoseconds.
    owin_time: f64,
    wnd_sum: u64,
    /// How many windows that is the sum of.
    wnd_count: u64,
    wnd_max: u32,
    wnd_min: u32,
    /// The latest TSval.
    pub(crate) ts_val: u32,
    pub(crate) last_seq: u32,
    /// The largest payload of a segment that is one on the wire.
    largest: u32,
    pub(crate) wnd: u16,
    pub(crate) ident: u16,
    mss: u16,
    scale: u8,
    pub(crate) seen: Seen,
    pub(crate) in_flight: Option<Box<InFlight>>,
    pub(crate) rare: Option<Box<Rare>>,
}

impl Direction {
    #[inline]
    pub(crate) const fn is_started(&self) -> bool {
        self.seen.has(Seen::STARTED)
    }

    /// Positions begin with this sequence number.
    pub(crate) fn start(&mut self, seq: SeqNumber) {
        let at = ORIGIN + u64::from(seq.as_u32());
        (self.base, self.next, self.una) = (at, at, at);
        (self.edge, self.karn) = (at, at);
        self.seen.set(Seen::STARTED, true);
    }

    /// The position of a sequence number: the one nearest to SND.NXT.
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
        self.seen
            .set(Seen::WINDOW_SCALE, packet.window_scale.is_some());
        self.seen.set(Seen::TIMESTAMPS, packet.timestamps.is_some());
        self.mss = packet.mss.unwrap_or_default();
        self.scale = packet.window_scale.unwrap_or_default().min(14);
    }

    /// Payload octets of a wire segment of this direction with so many octets
    /// of options, where the peer's MSS is `mss`. Without a known MSS a segment
    /// larger than a jumbo frame holds is taken for one of Ethernet's.
    fn segment_size(packet: &Observed, mss: Option<u16>) -> u32 {
        const JUMBO: u32 = 9_216;
        const ETHERNET: u32 = 1_460;
        let mss = match mss {
            Some(mss) => u32::from(mss.max(64)),
            None if packet.payload_len > JUMBO => ETHERNET,
            None => u32::MAX,
        };
        // RFC 6691: the MSS does not count options, what is sent must.
        mss.saturating_sub(u32::from(packet.options_len)).max(8)
    }

    /// How many segments a packet is on the wire, and how large they are.
    #[inline]
    pub(crate) fn segments_of(packet: &Observed, peer: &Self) -> (u64, u32) {
        if packet.payload_len <= 536 {
            return (1, 536);
        }
        let size = Self::segment_size(packet, peer.mss());
        (u64::from(packet.payload_len.div_ceil(size)).max(1), size)
    }

    /// Counts what any packet counts for.
    #[inline]
    pub(crate) fn count(&mut self, packet: &Observed, wire_segments: u64) {
        if self.packets > 0 {
            let idle = packet.at.saturating_since(self.last_at);
            self.idle_max = self.idle_max.max(idle);
        }
        self.last_at = packet.at;
        self.packets += 1;
        self.wire_segments += wire_segments;
        self.ident = packet.ident;
        self.last_seq = packet.seq.as_u32();
        if packet.payload_len > 0 {
            self.data_packets += 1;
            self.payload += u64::from(packet.payload_len);
            if wire_segments == 1 {
                self.largest = self.largest.max(packet.payload_len);
            } else {
                self.seen.set(Seen::SUPER, true);
            }
        }
    }

    /// Counts kinds other than retransmissions, which count wire segments.
    pub(crate) fn count_kinds(&mut self, kinds: Kinds) {
        if kinds.is_empty() {
            return;
        }
        let counts = &mut self.rare().counts;
        let mut left = kinds.without_retransmissions().bits();
        while left != 0 {
            counts[left.trailing_zeros() as usize] += 1;
            left &= left - 1;
        }
    }

    /// A window that is not of a SYN.
    #[inline]
    pub(crate) fn count_window(&mut self, wnd: u32) {
        if self.seen.has(Seen::WINDOW) {
            self.wnd_min = self.wnd_min.min(wnd);
        } else {
            self.seen.set(Seen::WINDOW, true);
            self.wnd_min = wnd;
        }
        self.wnd_max = self.wnd_max.max(wnd);
        self.wnd_sum += u64::from(wnd);
        self.wnd_count += 1;
    }

    /// What is in flight was so for so long.
    #[inline]
    pub(crate) fn spend(&mut self, time: Duration) {
        let owin = self.owin();
        if owin > 0 {
            self.owin_max = self.owin_max.max(owin);
            self.owin_time += owin as f64 * time.as_nanos() as f64;
        }
    }

    /// Octets sent and not acknowledged, as seen here; zero where nobody
    /// acknowledged yet.
    #[inline]
    pub(crate) fn owin(&self) -> u64 {
        if self.seen.has(Seen::UNA) {
            self.next.saturating_sub(self.una)
        } else {
            0
        }
    }

    #[inline]
    pub(crate) const fn shift(&self) -> u8 {
        self.scale
    }

    /// What was offered in the SYN; nothing where none was seen.
    #[must_use]
    pub fn options(&self) -> Option<Options> {
        self.seen.has(Seen::SYN).then(|| Options {
            mss: self.mss(),
            window_scale: self.seen.has(Seen::WINDOW_SCALE).then_some(self.scale),
            sack_permitted: self.seen.has(Seen::SACK_PERMITTED),
            timestamps: self.seen.has(Seen::TIMESTAMPS),
        })
    }

    fn mss(&self) -> Option<u16> {
        self.seen.has(Seen::MSS).then_some(self.mss)
    }

    /// Packets in the capture.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets with payload.
    #[must_use]
    pub const fn data_packets(&self) -> u64 {
        self.data_packets
    }

    /// Segments on the wire: more than packets where the capture has
    /// super-segments.
    #[must_use]
    pub const fn wire_segments(&self) -> u64 {
        self.wire_segments
    }

    /// Whether there were super-segments.
    #[must_use]
    pub const fn has_super_segments(&self) -> bool {
        self.seen.has(Seen::SUPER)
    }

    /// Octets of payload, every transmission of them.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.payload
    }

    /// Octets of payload, each once.
    #[must_use]
    pub const fn unique_bytes(&self) -> u64 {
        self.payload.saturating_sub(self.repeated)
    }

    /// Octets of the sequence space from the first seen to the last.
    #[must_use]
    pub const fn stream_length(&self) -> u64 {
        self.next.saturating_sub(self.base)
    }

    /// Where the stream begins: its SYN, or the first octet seen.
    #[must_use]
    pub const fn first_position(&self) -> u64 {
        self.base
    }

    /// Behind the last octet seen: SND.NXT.
    #[must_use]
    pub const fn next_position(&self) -> u64 {
        self.next
    }

    /// Behind the last octet acknowledged, SND.UNA; nothing before the first
    /// acknowledgment.
    #[must_use]
    pub fn acked_position(&self) -> Option<u64> {
        self.seen.has(Seen::UNA).then_some(self.una)
    }

    /// The highest right edge of a window that was offered to this direction,
    /// a position.
    #[inline]
    #[must_use]
    pub const fn offered_to(&self) -> u64 {
        self.edge
    }

    /// The position of a sequence number: the one nearest to SND.NXT.
    #[inline]
    #[must_use]
    pub const fn position_of(&self, seq: SeqNumber) -> u64 {
        self.position(seq)
    }

    /// The largest payload on the wire.
    #[must_use]
    pub const fn largest_segment(&self) -> u32 {
        self.largest
    }

    /// The longest time between two packets.
    #[must_use]
    pub const fn longest_idle(&self) -> Duration {
        self.idle_max
    }

    /// Round-trip times of what this direction sent.
    #[must_use]
    pub const fn round_trips(&self) -> &RoundTrips {
        &self.rtt
    }

    /// The most octets sent and not acknowledged.
    #[must_use]
    pub const fn most_outstanding(&self) -> u64 {
        self.owin_max
    }

    /// Octets sent and not acknowledged, weighted by time over `elapsed`.
    #[must_use]
    pub fn mean_outstanding(&self, elapsed: Duration) -> Option<f64> {
        (!elapsed.is_zero()).then(|| self.owin_time / elapsed.as_nanos() as f64)
    }

    /// Windows that this side offered, scaled where the scale is known.
    #[must_use]
    pub fn windows(&self) -> Option<Shares> {
        let count = self.wnd_count.max(1) as f64;
        self.seen.has(Seen::WINDOW).then(|| Shares {
            least: self.wnd_min.into(),
            most: self.wnd_max.into(),
            mean: self.wnd_sum as f64 / count,
        })
    }

    /// How often this kind was met: packets; of retransmissions, wire segments.
    #[must_use]
    pub fn count_of(&self, kind: Kind) -> u64 {
        self.rare
            .as_ref()
            .map_or(0, |rare| rare.counts[kind as usize])
    }

    /// Wire segments sent again, for whatever reason.
    #[must_use]
    pub fn retransmitted_segments(&self) -> u64 {
        Kind::RETRANSMISSIONS
            .into_iter()
            .map(|kind| self.count_of(kind))
            .sum()
    }

    /// Packets with something sent again.
    #[must_use]
    pub fn retransmitted_packets(&self) -> u64 {
        self.rare
            .as_ref()
            .map_or(0, |rare| rare.retransmitted_packets)
    }

    /// Octets sent again, whether or not the first transmission passed here.
    #[must_use]
    pub fn retransmitted_bytes(&self) -> u64 {
        self.rare
            .as_ref()
            .map_or(0, |rare| rare.retransmitted_octets)
    }

    /// Wire segments of these that were not needed, as D-SACK or timestamps
    /// prove.
    #[must_use]
    pub fn spurious_segments(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.spurious_segments)
    }

    /// Octets that the peer acknowledged and that never passed here: lost by
    /// the capture, or gone another way.
    #[must_use]
    pub fn acked_unseen_bytes(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.unseen)
    }

    /// Whether a SYN was seen.
    #[must_use]
    pub const fn has_syn(&self) -> bool {
        self.seen.has(Seen::SYN)
    }

    /// Whether a FIN was seen.
    #[must_use]
    pub const fn has_fin(&self) -> bool {
        self.seen.has(Seen::FIN)
    }

    /// Whether a reset was seen.
    #[must_use]
    pub const fn has_reset(&self) -> bool {
        self.seen.has(Seen::RST)
    }
}
