//! Memory accounting of Linux 6: buffers count the memory of packets, not their octets.
//!
//! * Sending: a queued packet costs its octets and [`SEND_OVERHEAD`]. A write continues while less
//!   than the buffer is used; a blocked write continues when a third of the buffer is free
//!   (`sk_stream_is_writeable`). Packets are filled up to min(64 KiB, half the largest window), in
//!   whole segments (`tcp_xmit_size_goal`). A part sent earlier is split off as a separate packet.
//!   Neighbors that were both SACKed become one again (`tcp_shift_skb_data`; `TcpExtTCPSackMerged`
//!   in snmp_counter.rst): a long recovery frees memory, and more new data may follow.
//! * Receiving: [`received`] of each arrival counts until it is read. The window is ratio·(buffer
//!   − used)/256. The ratio is 256·octets/occupied of the last arrival with larger segments than
//!   before, 128 at first (`tcp_measure_rcv_mss`). The window does not exceed `ssthresh`, which
//!   grows by twice what arrives (`tcp_grow_window`); with packets that occupy more than the ratio
//!   says, up to a part of the largest window. Small packets inside the window may exceed the
//!   buffer: one of requested size then drops them, another grows (`tcp_clamp_window`).
//!
//! An arrival that continues the one before is copied behind it if the allocation has room there,
//! and then occupies nothing (`tcp_try_coalesce`; `TcpExtTCPRcvCoalesce` in snmp_counter.rst).
//! Measured with segments of 52 octets beyond a gap: half the memory of the same packets one by
//! one. Full-sized segments leave no room.
//!
//! Sizes are those of a 64-bit kernel 6.3 or later without Wi-Fi, for arrivals those of its TUN
//! device; a driver's own buffers may be larger. Measured with `ss -m` on Linux 6.18: 77 packets to
//! send had 64,064 octets of overhead, small arrivals 832 each. A kernel with support for Wi-Fi
//! reserves 64 more octets for headers. Out of scope: sharing pages between arrivals, and discarding
//! data beyond a gap (`tcp_prune_queue`).

use alloc::collections::VecDeque;
use core::ops::Range;

use crate::space::{Length, Offset};

/// Memory of a packet to send in addition to its octets: the control block and an allocation for
/// headers.
pub const SEND_OVERHEAD: u64 = CONTROL_BLOCK + SMALL_HEAD;

/// Maximum octets of a packet to send: 64 KiB minus the space for headers.
const MOST_OCTETS: u64 = 65_215;

/// Largest window whose half does not bound packets (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;

/// Minimum send buffer (`SOCK_MIN_SNDBUF`).
pub const LEAST_SEND_BUFFER: u64 = 4608;

/// Minimum receive buffer (`SOCK_MIN_RCVBUF`).
pub const LEAST_RECEIVE_BUFFER: u64 = 2304;

/// Denominator of the ratio of octets to occupied memory.
const WHOLE: u64 = 256;

const PAGE: u64 = 4096;
/// Allocation for small packets: all headers and the shared information.
const SMALL_HEAD: u64 = SEND_HEADERS + SHARED_INFO;
/// Space before headers, the shared information behind the octets, the control block.
const HEADROOM: u64 = 64;
const SHARED_INFO: u64 = 320;
const CONTROL_BLOCK: u64 = 256;
/// Space for all headers of a packet to send (`MAX_TCP_HEADER`).
const SEND_HEADERS: u64 = 256;
/// Headers of IP and TCP without options.
const HEADERS: u64 = 40;

/// Allocation for an arrival of `octets`: used and in all. `None` if it needs more than a page.
fn head_of(octets: u64) -> Option<(u64, u64)> {
    let packet = octets + HEADERS;
    let used = HEADROOM + packet + SHARED_INFO;
    let is_small = HEADROOM + packet < PAGE;
    is_small.then(|| match used {
        ..=SMALL_HEAD => (used, SMALL_HEAD),
        _ => (used, used.next_power_of_two()),
    })
}

/// Memory that an arrival of `octets` occupies.
pub fn received(octets: u64) -> u64 {
    if let Some((_, allocated)) = head_of(octets) {
        return CONTROL_BLOCK + allocated;
    }
    let packet = octets + HEADERS;
    let in_head = PAGE - HEADROOM - SHARED_INFO;
    let pages = (packet - in_head.min(packet)).div_ceil(PAGE);
    CONTROL_BLOCK + PAGE + pages * PAGE
}

/// Memory that send buffer autotuning grants per segment of `smss` octets (Linux
/// `tcp_sndbuf_expand`). Each counts as a packet with headers, in a power of two of octets.
pub fn send_memory_of_segment(smss: u64) -> u64 {
    (smss + SEND_HEADERS + SHARED_INFO).next_power_of_two() + CONTROL_BLOCK
}

/// A packet in the send queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    /// Offset after its last octet.
    end: u64,
    /// Whether it was joined with the next.
    is_joined: bool,
}

impl Queued {
    const fn to(end: u64) -> Self {
        Self {
            end,
            is_joined: false,
        }
    }
}

/// Memory of the packets in a send queue.
#[derive(Clone, Debug, Default)]
pub struct SendMemory {
    packets: VecDeque<Queued>,
    /// Packets that are part of the next one.
    joined: u64,
    /// Whether the last write was blocked.
    is_blocked: bool,
}

impl SendMemory {
    /// Memory of the queue with `octets` in it.
    pub fn used(&self, octets: u64) -> u64 {
        octets + SEND_OVERHEAD * (self.packets.len() as u64 - self.joined)
    }

    /// Octets that may be written now: to the end of one packet. Bounds are checked before a packet
    /// is begun, so its last octets may exceed them.
    pub fn room(&self, queued: &SendQueue, buffer: u64) -> u64 {
        let used = self.used(queued.end - queued.start);
        if self.is_blocked && (used + used / 2 > buffer || !queued.has_few_unsent(2)) {
            return 0;
        }
        let tail = self.tail_start(queued);
        if queued.is_open && tail >= queued.unsent && tail < queued.end {
            let left = queued.goal.saturating_sub(queued.end - tail);
            if left > 0 {
                return left;
            }
        }
        if used < buffer && queued.has_few_unsent(1) {
            queued.goal
        } else {
            0
        }
    }

    /// Notes that `accepted` octets were written after `queued.end`.
    pub fn on_written(&mut self, queued: &SendQueue, accepted: u64) {
        if accepted == 0 {
            return;
        }
        let tail = self.tail_start(queued);
        let joins = queued.is_open
            && tail >= queued.unsent
            && tail < queued.end
            && queued.end - tail < queued.goal;
        if joins {
            self.packets.pop_back();
        }
        self.is_blocked = false;
        debug_assert!(
            self.packets
                .back()
                .is_none_or(|last| last.end <= queued.end && !last.is_joined),
            "the last packet is {:?}, what was written ends at {}",
            self.packets.back(),
            queued.end
        );
        self.packets.push_back(Queued::to(queued.end + accepted));
    }

    /// Notes that a write was blocked.
    pub fn on_blocked(&mut self) {
        self.is_blocked = true;
    }

    /// Notes that everything up to `nxt` has left. A packet that reaches beyond is split there.
    pub fn on_sent(&mut self, nxt: u64) {
        let packets = &mut self.packets;
        let index = packets.partition_point(|packet| packet.end < nxt);
        let is_cut = packets.get(index).is_some_and(|packet| packet.end > nxt);
        let before = index.checked_sub(1).map(|before| packets[before].end);
        if is_cut && before.is_none_or(|before| before < nxt) {
            packets.insert(index, Queued::to(nxt));
        }
        let (before, cut, after) = (index.checked_sub(1), index, index + 1);
        let ends = [before, Some(cut), Some(after)].map(|at| Some(packets.get(at?)?.end));
        debug_assert!(
            ends.iter().flatten().is_sorted(),
            "packets of the send queue end at {ends:?} around {nxt}"
        );
    }

    /// Notes that the peer holds all of `octets`: packets that end inside become part of the next.
    pub fn on_sacked(&mut self, octets: Range<u64>) {
        let first = self
            .packets
            .partition_point(|packet| packet.end <= octets.start);
        let packets = self.packets.range_mut(first..);
        for packet in packets.take_while(|packet| packet.end < octets.end) {
            self.joined += u64::from(!packet.is_joined);
            packet.is_joined = true;
        }
    }

    /// Releases packets below the acknowledged `una`.
    pub fn release(&mut self, una: u64) {
        while let Some(first) = self.packets.front()
            && first.end <= una
        {
            self.joined -= u64::from(first.is_joined);
            self.packets.pop_front();
        }
    }

    fn tail_start(&self, queued: &SendQueue) -> u64 {
        let before = self.packets.len().checked_sub(2);
        before.map_or(queued.start, |index| {
            self.packets[index].end.max(queued.start)
        })
    }
}

/// State of the send queue at a write, in stream offsets.
#[derive(Clone, Copy, Debug)]
pub struct SendQueue {
    /// Oldest octet kept.
    pub start: u64,
    /// Next octet to send.
    pub unsent: u64,
    /// Offset after the newest octet.
    pub end: u64,
    /// Whether the last packet may grow: it does not end a record.
    pub is_open: bool,
    /// Octets of a full packet.
    pub goal: u64,
    /// Unsent octets below which a packet may be begun (`TCP_NOTSENT_LOWAT`).
    pub unsent_lowat: Option<u64>,
}

impl SendQueue {
    /// Whether a multiple of the unsent octets is below their bound (`tcp_stream_memory_free`).
    fn has_few_unsent(&self, multiple: u64) -> bool {
        let unsent = self.end.saturating_sub(self.unsent);
        self.unsent_lowat
            .is_none_or(|lowat| multiple * unsent < lowat)
    }
}

/// Octets of a full packet. Segments have `smss` octets, and windows up to `max_wnd`.
pub fn size_goal(smss: u32, max_wnd: u64) -> u64 {
    let smss = u64::from(smss.max(1));
    let most = if max_wnd > SMALL_WINDOW {
        MOST_OCTETS.min(max_wnd / 2)
    } else {
        MOST_OCTETS
    };
    (most / smss).max(1) * smss
}

/// Arrivals in one allocation.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Offset after the last octet.
    end: u64,
    occupied: u64,
    /// Octets that may be copied behind.
    room: u64,
}

/// Memory of a receive buffer, and the resulting window.
#[derive(Clone, Debug)]
pub struct ReceiveMemory {
    /// Unread arrivals, by their end.
    waiting: VecDeque<Arrival>,
    used: u64,
    /// Octets per 256 octets of occupied memory.
    ratio: u64,
    /// Largest segment received so far, and the limit our SYN set.
    rcv_mss: u64,
    advertised_mss: u64,
    /// Largest size that autotuning gives the buffer.
    largest_buffer: u64,
    /// Largest window to advertise now.
    ssthresh: u64,
    clamp: u64,
    /// Last advertised RCV.WND; for the SYN unclipped, though its field may express less.
    said: u64,
    has_said: bool,
}

impl ReceiveMemory {
    /// An empty buffer of `buffer` octets that grows to `largest_buffer`, for segments of up to
    /// `mss`.
    pub fn new(buffer: u64, largest_buffer: u64, mss: u64) -> Self {
        let mut memory = Self {
            waiting: VecDeque::new(),
            used: 0,
            ratio: WHOLE / 2,
            rcv_mss: SMALL_WINDOW.min(mss),
            advertised_mss: mss,
            largest_buffer,
            ssthresh: 0,
            clamp: 0,
            said: 0,
            has_said: false,
        };
        let space = memory.window_of(buffer);
        let first = if space > mss {
            space - space % mss
        } else {
            space
        };
        // One segment is reserved (`tcp_init_buffer_space`).
        memory.clamp = space.saturating_sub(mss).max(space.min(2 * mss));
        memory.ssthresh = first.min(memory.clamp);
        memory.said = first;
        memory
    }

    /// Window that a SYN advertises: whole segments.
    pub fn first(&self) -> u64 {
        self.said
    }

    /// Notes that the buffer was changed to `buffer` octets.
    pub fn on_buffer(&mut self, buffer: u64) {
        self.clamp = self.window_of(buffer);
    }

    /// Window backed by `octets` of buffer.
    pub fn window_of(&self, octets: u64) -> u64 {
        octets.saturating_mul(self.ratio) / WHOLE
    }

    /// Buffer that backs a window of `window` octets.
    pub fn buffer_backing(&self, window: u64) -> u64 {
        window.saturating_mul(WHOLE) / self.ratio
    }

    /// Memory in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Whether an arrival is kept: if the used memory does not exceed the buffer.
    pub fn has_room(&self, buffer: u64) -> bool {
        self.used <= buffer
    }

    /// Notes the arrival of `octets` in segments of `segment`, up to `end`. Returns whether the
    /// window grew.
    pub fn on_arrival(
        &mut self,
        buffer: u64,
        Offset(end): Offset,
        Length(octets): Length,
        segment: u64,
    ) -> bool {
        let occupied = received(octets);
        if segment > self.rcv_mss {
            let ratio = (octets * WHOLE / occupied).max(1);
            if ratio != self.ratio {
                self.ratio = ratio;
                self.clamp = self.window_of(buffer);
            }
            self.rcv_mss = segment.min(self.advertised_mss);
        }
        let room = self.clamp.min(self.free(buffer));
        let step = if octets >= 128 && room > self.ssthresh {
            self.step(octets, occupied)
        } else {
            0
        };
        let grows = step > 0;
        if grows {
            self.ssthresh = (self.ssthresh + step.max(2 * octets)).min(room);
        }
        self.keep(end, octets, occupied);
        self.assert_invariants();
        grows
    }

    /// Keeps an arrival: behind the one that it continues, or in an allocation of its own.
    fn keep(&mut self, end: u64, octets: u64, occupied: u64) {
        let at = self.waiting.partition_point(|other| other.end <= end);
        let before = at.checked_sub(1).map(|before| &mut self.waiting[before]);
        if let Some(before) = before
            && before.end == end.saturating_sub(octets)
            && before.room >= octets
        {
            before.end = end;
            before.room -= octets;
            return;
        }
        let room = head_of(octets).map_or(0, |(used, allocated)| allocated - used);
        let arrival = Arrival {
            end,
            occupied,
            room,
        };
        self.waiting.insert(at, arrival);
        self.used += occupied;
    }

    /// Growth of the window by an arrival: two segments, if the window of what it occupies is no
    /// larger than its octets. If that is at most 2^n times as large, the window still grows up to a
    /// 2^n-th of the largest (`__tcp_grow_window`).
    fn step(&self, octets: u64, occupied: u64) -> u64 {
        let mut window = self.window_of(occupied);
        if window <= octets {
            return 2 * self.advertised_mss;
        }
        let mut most = self.window_of(self.largest_buffer);
        while window > octets {
            window /= 2;
            most /= 2;
        }
        if self.ssthresh <= most {
            2 * self.rcv_mss
        } else {
            0
        }
    }

    fn assert_invariants(&self) {
        debug_assert!(
            self.waiting.is_empty() == (self.used == 0),
            "{} arrivals occupy {} octets",
            self.waiting.len(),
            self.used
        );
        debug_assert!(
            (1..=WHOLE).contains(&self.ratio),
            "{} octets of {WHOLE} occupied",
            self.ratio
        );
        debug_assert!(
            self.rcv_mss <= self.advertised_mss,
            "the peer's segments have {} octets, our SYN allows {}",
            self.rcv_mss,
            self.advertised_mss
        );
    }

    /// Whether less than half of the window is free.
    pub fn is_tight(&self, buffer: u64) -> bool {
        self.free(buffer) < self.clamp.min(self.window_of(buffer)) / 2
    }

    /// Releases everything read, below `read`.
    pub fn on_read(&mut self, read: u64) {
        while let Some(first) = self.waiting.front()
            && first.end <= read
        {
            self.used -= first.occupied;
            self.waiting.pop_front();
        }
        self.assert_invariants();
    }

    /// Notes that a window of `wnd` octets was advertised.
    pub fn on_said(&mut self, wnd: u64) {
        self.said = wnd;
        self.has_said = true;
    }

    /// Window that counts as advertised in the SYN, until another was advertised.
    pub fn said_in_syn(&self) -> Option<u64> {
        (!self.has_said).then_some(self.said)
    }

    /// Largest window that the buffer backs.
    pub fn clamp(&self) -> u64 {
        self.clamp
    }

    /// Bound of the window that grows with arrivals.
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Largest segment received so far.
    pub fn rcv_mss(&self) -> u64 {
        self.rcv_mss
    }

    /// `__tcp_select_window`: window to advertise, in units of 2^`shift`.
    pub fn window(&self, buffer: u64, shift: u8, may_shrink: bool) -> u64 {
        let unit = 1 << shift;
        let whole = self.window_of(buffer);
        let full = self.clamp.min(whole);
        let mss = self.rcv_mss.min(full);
        let mut free = self.free(buffer);
        let rounds_down = may_shrink && shift > 0;
        if rounds_down {
            free -= free % unit;
        }
        if free < full / 2 {
            free -= free % unit;
            if free < whole / 16 || free < mss || (rounds_down && free < unit) {
                return 0;
            }
        }
        free = free.min(self.ssthresh);
        if shift > 0 {
            return free.next_multiple_of(unit);
        }
        if self.said + mss <= free || self.said > free {
            free - free % mss.max(1)
        } else if mss == full && free > self.said + full / 2 {
            free
        } else {
            self.said
        }
    }

    fn free(&self, buffer: u64) -> u64 {
        self.window_of(buffer.saturating_sub(self.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_occupies_the_size_its_allocation_is_rounded_to() {
        // 256 plus: the small head; 2048; a page, and a page or two for the rest.
        for (octets, occupied) in [
            (1, 256 + 576),
            (1023, 256 + 2048),
            (4000, 256 + 2 * 4096),
            (9000, 256 + 3 * 4096),
        ] {
            assert_eq!(received(octets), occupied, "{octets}");
        }
    }

    #[test]
    fn three_small_packets_fill_the_smallest_send_buffer() {
        let mut memory = SendMemory::default();
        let mut queued = SendQueue {
            start: 1,
            unsent: 1,
            end: 1,
            is_open: true,
            goal: 988,
            unsent_lowat: None,
        };
        let mut written = 0;
        while memory.room(&queued, LEAST_SEND_BUFFER) > 0 {
            let room = memory.room(&queued, LEAST_SEND_BUFFER);
            memory.on_written(&queued, room);
            written += room;
            queued.end += room;
        }
        // 2·(988 + 832) < 4608 <= 3·(988 + 832).
        assert_eq!(written, 3 * 988);
        memory.on_blocked();
        // A third of the buffer has to be free before the writer continues.
        queued.start = 1 + 988;
        memory.release(queued.start);
        assert_eq!(memory.room(&queued, LEAST_SEND_BUFFER), 0);
        queued.start = 1 + 2 * 988;
        memory.release(queued.start);
        assert_eq!(memory.room(&queued, LEAST_SEND_BUFFER), 988);
    }

    #[test]
    fn what_left_of_a_packet_makes_room_for_as_much_behind_it() {
        let mut memory = SendMemory::default();
        let mut queued = SendQueue {
            start: 1,
            unsent: 1,
            end: 1,
            is_open: true,
            goal: 25_000,
            unsent_lowat: None,
        };
        memory.on_written(&queued, 25_000);
        (queued.end, queued.unsent) = (25_001, 10_001);
        memory.on_sent(10_001);
        assert_eq!(memory.room(&queued, 42_000), 10_000);
        memory.on_written(&queued, 10_000);
        queued.end = 35_001;
        assert_eq!(memory.used(35_000), 35_000 + 2 * SEND_OVERHEAD);
        assert_eq!(memory.room(&queued, 42_000), 25_000);
    }

    #[test]
    fn sacked_neighbors_share_their_overhead() {
        let mut memory = SendMemory::default();
        let queued = SendQueue {
            start: 1,
            unsent: 1,
            end: 1,
            is_open: true,
            goal: 5000,
            unsent_lowat: None,
        };
        memory.on_written(&queued, 5000);
        (1..5).for_each(|n| memory.on_sent(1 + 1000 * n));
        assert_eq!(memory.used(5000), 5000 + 5 * SEND_OVERHEAD);
        // The second to the fourth of five, in two steps.
        memory.on_sacked(1001..3001);
        memory.on_sacked(3000..4001);
        assert_eq!(memory.used(5000), 5000 + 3 * SEND_OVERHEAD);
        memory.release(3001);
        assert_eq!(memory.used(2000), 2000 + 2 * SEND_OVERHEAD);
    }

    #[test]
    fn the_window_follows_what_arrivals_occupy() {
        // Half of the buffer at first, minus a segment to grow from.
        let mut memory = ReceiveMemory::new(40_000, 1 << 20, 1460);
        assert_eq!(memory.first(), 13 * 1460);
        let mut memory_of_20_000 = ReceiveMemory::new(20_000, 1 << 20, 1460);
        assert!(memory_of_20_000.on_arrival(20_000, Offset(4001), Length(4000), 1000));
        // ratio 4000·256/8448 = 121; (20,000 − 8448)·121/256 = 5460, in whole segments.
        assert_eq!(memory_of_20_000.window(20_000, 0, false), 5000);
        memory_of_20_000.on_read(4001);
        assert!(memory_of_20_000.window(20_000, 0, false) > 5000);
        // No space is left: the window is closed, and the next arrival is dropped.
        memory.on_arrival(40_000, Offset(60_001), Length(60_000), 1000);
        assert_eq!(memory.window(40_000, 0, false), 0);
        assert!(!memory.has_room(40_000));
    }

    #[test]
    fn small_arrivals_in_sequence_share_an_allocation() {
        let mut memory = ReceiveMemory::new(131_072, 1 << 20, 1460);
        let mut arrive = |end| {
            memory.on_arrival(131_072, Offset(end), Length(52), 52);
            memory.used
        };
        // 64 + 40 + 52 + 320 of 576 octets are used: room for one more.
        let used: [u64; 4] = core::array::from_fn(|n| arrive(1000 + 52 * n as u64));
        assert_eq!(used, [832, 832, 2 * 832, 2 * 832]);
        assert_eq!(arrive(2000), 3 * 832, "beyond a gap");
        memory.on_read(2000);
        assert_eq!(memory.used, 0);
    }

    #[test]
    fn the_window_grows_with_small_packets_up_to_a_part_of_the_largest() {
        // 524 octets occupy 1280, whose window is 640 at first: more than they are.
        let (buffer, largest) = (4 << 20, 1 << 20);
        let mut memory = ReceiveMemory::new(131_072, largest, 536);
        memory.on_buffer(buffer);
        let mut end = 1;
        for _ in 0..1000 {
            end += 524;
            memory.on_arrival(buffer, Offset(end), Length(524), 524);
            memory.on_read(end);
        }
        // Half of the window of 1 MiB, in steps of two segments.
        let most = largest / 4;
        assert!((most..=most + 2 * 536).contains(&memory.ssthresh()));
    }

    #[test]
    fn a_packet_to_send_is_at_most_half_the_largest_window() {
        assert_eq!(size_goal(1000, 50_000), 25_000);
        assert_eq!(size_goal(988, 2000), 988);
        assert_eq!(size_goal(988, 1 << 20), 66 * 988);
    }
}
