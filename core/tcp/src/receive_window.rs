//! Window advertised by the receiver: RFC 9293 section 3.8.6.2.2, RFC 7323 section 2.
//!
//! The right edge of the window never moves left (RFC 9293 SHLD-14): an advertised window stays
//! advertised unless the profile lets it shrink. Receiver-side silly-window avoidance moves the
//! edge only in steps of at least one segment or half the largest window. A segment here is the
//! effective send MSS (RFC 9293 section 3.8.6.2.2, BSD `t_maxseg`). It follows from both SYNs and
//! the route, and may be far less than the MSS announced in our SYN.
//!
//! Under [`WindowPolicy::Grows`] the advertised window starts small, as in Linux
//! (`tcp_grow_window`, `rcv_ssthresh`). Each received full-sized segment adds two segments, up to
//! the whole buffer. Each growth step also requests an immediate acknowledgment. So a Linux
//! receiver acknowledges every segment until half its window of data has arrived, and only then
//! every second one. On a long fat path that lasts for seconds; it is the ACK ratio of 2007.

use alloc::boxed::Box;

use gigatcp_units::Bytes;

use crate::profile::{Profile, WindowPolicy};
use crate::space::{Length, Offset, RightEdge, Window};
use crate::truesize::ReceiveMemory;

/// Advertised window of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    /// Receive buffer in octets.
    buffer: u64,
    /// Part held in reserve: divisor as a power of two, 0 = none.
    reserve_shift: u32,
    /// Largest window to advertise now.
    offer: u64,
    /// Largest window that this buffer backs.
    clamp: u64,
    /// Largest window that the window field can express with this scale.
    max_encodable: u64,
    /// Growth in octets per full-sized segment; 0 = none.
    step: u64,
    shift: u8,
    may_shrink: bool,
    /// Whether silly-window avoidance is on.
    avoid_silly: bool,
    /// Whether only a window below a quarter of the buffer is silly.
    silly_below_quarter: bool,
    /// Largest segment the peer may send.
    mss: u64,
    /// Minimum step of the right edge. It does not apply to a window of less than two such steps.
    silly_step: u64,
    /// Octets of opening after which an unsolicited ACK advertises the window. 0: see
    /// [`ReceiveWindow::is_update_due`].
    update_step: u64,
    /// Memory of the buffer, if packets count and not octets.
    memory: Option<Box<ReceiveMemory>>,
}

impl ReceiveWindow {
    /// Creates the window of a requested or autotuned buffer. Segments have up to `mss` octets.
    pub fn new(profile: &Profile, requested: Option<Bytes>, mss: u32) -> Self {
        let granted = profile.receive_buffer_for(requested);
        let mss = u64::from(profile.whole_buffers(mss));
        let shift = shift_for(largest_window(profile, requested));
        let max_encodable = if profile.options.window_scaling {
            65_535 << shift
        } else {
            65_535
        };
        let (offer, step) = match profile.buffers.window_policy {
            WindowPolicy::FreeSpace => (u64::MAX, 0),
            WindowPolicy::Grows => (first_offer(mss), 2 * mss),
        };
        let mut window = Self {
            buffer: 0,
            reserve_shift: profile.buffers.window_reserve_shift,
            offer,
            clamp: 0,
            max_encodable,
            step,
            shift,
            may_shrink: profile.buffers.may_shrink_window,
            avoid_silly: profile.segments.silly_window_avoidance,
            silly_below_quarter: profile.segments.silly_below_quarter,
            mss,
            silly_step: mss,
            update_step: u64::from(profile.buffers.window_update_segments) * mss,
            memory: None,
        };
        window.set_buffer(profile, granted);
        if profile.buffers.truesize {
            let largest = profile.buffers.receive_buffer_max.as_u64();
            let memory = ReceiveMemory::new(granted.as_u64(), largest, mss);
            // Linux `tcp_select_initial_window`: a requested buffer bounds the window.
            let most = match requested {
                Some(_) => memory.window_of(granted.as_u64()),
                None => profile.buffers.receive_buffer_max.as_u64(),
            };
            window.shift = most.checked_ilog2().unwrap_or(0).saturating_sub(15).min(14) as u8;
            window.memory = Some(Box::new(memory));
            if profile.options.window_scaling {
                window.max_encodable = 65_535 << window.shift;
            }
            window.set_buffer(profile, granted);
        }
        window
    }

    /// Sets the buffer to `granted` octets.
    pub fn set_buffer(&mut self, profile: &Profile, granted: Bytes) {
        let whole = profile.window_of(granted).as_u64();
        let most = match profile.buffers.window_policy {
            WindowPolicy::FreeSpace => whole,
            // One segment is reserved (Linux `tcp_init_buffer_space`).
            WindowPolicy::Grows => whole.saturating_sub(self.mss).max(whole.min(2 * self.mss)),
        };
        let offers_all = self.step == 0;
        self.buffer = granted.as_u64();
        if let Some(memory) = &mut self.memory {
            memory.on_buffer(self.buffer);
        }
        self.clamp = most.min(self.max_encodable);
        self.offer = if offers_all {
            self.clamp
        } else {
            self.offer.min(self.clamp)
        };
        self.assert_invariants();
    }

    /// Asserts the invariants: offer <= clamp <= what the window field can express.
    fn assert_invariants(&self) {
        debug_assert!(
            self.shift <= 14,
            "window scale {} (RFC 7323 section 2.3: at most 14)",
            self.shift
        );
        debug_assert!(
            self.clamp <= self.max_encodable && self.max_encodable <= 65_535 << 14,
            "a window of {} octets, where its field can say {}",
            self.clamp,
            self.max_encodable
        );
        debug_assert!(
            self.offer <= self.clamp,
            "an offer of {} octets, where at most {} are to be offered",
            self.offer,
            self.clamp
        );
        debug_assert!(
            self.silly_step <= self.mss,
            "the window moves in steps of {} octets, segments have up to {}",
            self.silly_step,
            self.mss
        );
    }

    /// Drops window scaling, which the peer does not support: 16 bits must suffice.
    pub fn forgo_scaling(&mut self) {
        self.shift = 0;
        self.max_encodable = self.max_encodable.min(65_535);
        self.clamp = self.clamp.min(self.max_encodable);
        self.offer = self.offer.min(self.clamp);
        self.assert_invariants();
    }

    /// Sets the segment size of silly-window avoidance and updates to `mss` bytes, options
    /// included. It is that of both SYNs and the route.
    pub fn on_effective_mss(&mut self, profile: &Profile, mss: u32) {
        self.silly_step = u64::from(profile.whole_buffers(mss)).min(self.mss);
        self.update_step = u64::from(profile.buffers.window_update_segments) * self.silly_step;
    }

    /// Window scale to announce, Rcv.Wind.Shift.
    pub fn shift(&self) -> u8 {
        self.shift
    }

    /// Receive buffer in octets.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Largest window of this buffer size.
    pub fn clamp(&self) -> u64 {
        self.memory
            .as_ref()
            .map_or(self.clamp, |memory| memory.clamp())
    }

    /// Notes the arrival of `len` octets in segments of `segment`, up to the offset `end`. Returns
    /// whether the window grew. Only if packets count.
    #[inline]
    pub fn on_arrival(&mut self, end: Offset, len: Length, segment: u64) -> bool {
        let buffer = self.buffer;
        let memory = self.memory.as_mut();
        memory.is_some_and(|memory| memory.on_arrival(buffer, end, len, segment))
    }

    /// Notes that everything below the offset `read` was read.
    #[inline]
    pub fn on_read(&mut self, read: u64) {
        if let Some(memory) = &mut self.memory {
            memory.on_read(read);
        }
    }

    /// Notes that a window of `wnd` octets was advertised.
    #[inline]
    pub fn on_said(&mut self, wnd: u64) {
        if let Some(memory) = &mut self.memory {
            memory.on_said(wnd);
        }
    }

    /// Largest segment received so far, if packets count.
    pub fn rcv_mss(&self) -> Option<u64> {
        self.memory.as_ref().map(|memory| memory.rcv_mss())
    }

    /// Whether packets count; then arrivals are kept or dropped whole.
    #[inline]
    pub fn counts_packets(&self) -> bool {
        self.memory.is_some()
    }

    /// Maximum octets per round trip from which autotuning measures growth. The first windows exceed
    /// it, otherwise no round trip would: where packets count, the window grows beyond it by
    /// itself (Linux `tcp_init_buffer_space`); elsewhere it is half of the window.
    pub fn first_measure(&self) -> u64 {
        match &self.memory {
            Some(memory) => memory.ssthresh(),
            None => self.clamp / 2,
        }
    }

    /// Whether the buffer accepts an arrival of any size.
    pub fn has_room(&self) -> bool {
        let memory = self.memory.as_ref();
        memory.is_none_or(|memory| memory.has_room(self.buffer))
    }

    /// Grows the buffer to the memory in use, up to `most`. Returns whether it grew.
    pub fn grow_to_used(&mut self, most: Bytes) -> bool {
        let used = self.memory.as_ref().map_or(0, |memory| memory.used());
        let grown = used.min(most.as_u64());
        let grows = grown > self.buffer;
        if grows {
            self.buffer = grown;
        }
        grows
    }

    /// Whether more than half of the buffer is used. Then quick-ACKs end (Linux
    /// `__tcp_select_window`).
    pub fn is_tight(&self) -> bool {
        let memory = self.memory.as_ref();
        memory.is_some_and(|memory| memory.is_tight(self.buffer))
    }

    /// Buffer that backs a window of `window` octets.
    pub fn buffer_backing(&self, profile: &Profile, window: u64) -> u64 {
        match &self.memory {
            Some(memory) => memory.buffer_backing(window),
            None => profile.buffer_backing(window),
        }
    }

    /// Grows the window for `len` octets of full-sized segments that arrived together, in order.
    /// Returns whether it grew.
    #[inline]
    pub fn on_full_segments(&mut self, len: u64, unread: u64) -> bool {
        if self.step == 0 || self.offer >= self.clamp || self.offer >= self.free(unread) {
            return false;
        }
        self.offer = (self.offer + self.step.max(2 * len)).min(self.clamp);
        self.assert_invariants();
        true
    }

    /// Right edge to advertise. Inputs are RCV.NXT, the last advertised edge and the unread octets.
    #[inline]
    pub fn edge(&self, nxt: Offset, old_edge: RightEdge, unread: Length) -> u64 {
        if let Some(memory) = &self.memory {
            return self.edge_by_packets(memory, nxt, old_edge);
        }
        let (Offset(nxt), RightEdge(old_edge), Length(unread)) = (nxt, old_edge, unread);
        let wnd = self.free(unread).min(self.offer);
        if self.may_shrink && nxt + wnd < old_edge {
            return nxt + wnd;
        }
        let edge = (nxt + wnd).max(old_edge);
        if edge == old_edge {
            return edge;
        }
        // RFC 9293 section 3.8.6.2.2, applied to the current window: one that grows may be below a
        // segment while its clamp is far above.
        let is_silly = if self.silly_below_quarter {
            wnd < self.silly_step && wnd < self.buffer.min(self.offer) / 4
        } else {
            edge - old_edge < self.silly_step.min(self.offer / 2)
        };
        if self.avoid_silly && is_silly {
            old_edge
        } else {
            edge
        }
    }

    fn edge_by_packets(
        &self,
        memory: &ReceiveMemory,
        Offset(nxt): Offset,
        RightEdge(old_edge): RightEdge,
    ) -> u64 {
        if old_edge == 0 {
            return nxt + memory.first().min(self.max_encodable);
        }
        let wnd = memory.window(self.buffer, self.shift, self.may_shrink);
        if self.may_shrink && self.shift > 0 {
            return nxt + wnd.min(self.max_encodable);
        }
        // The advertised window is repeated in whole units, rounded up (`tcp_select_window`).
        let offered = old_edge.saturating_sub(nxt);
        let wnd = if wnd < offered {
            offered.next_multiple_of(1 << self.shift)
        } else {
            wnd
        };
        (nxt + wnd.min(self.max_encodable)).max(old_edge)
    }

    /// Whether the window would be smaller than `last`, the one last advertised. The buffer has
    /// `unread` octets. `last` was rounded to units of the scale, so the new one is rounded up too
    /// (Linux `__tcp_select_window`).
    #[inline]
    pub fn would_shrink(&self, Length(unread): Length, Window(last): Window) -> bool {
        if let Some(memory) = &self.memory {
            return memory.window(self.buffer, self.shift, self.may_shrink) < last;
        }
        let wnd = self.free(unread).min(self.offer);
        let unit = 1_u64 << self.shift;
        wnd.next_multiple_of(unit) < last
    }

    /// Whether an advertised window may be retracted.
    #[inline]
    pub fn may_shrink(&self) -> bool {
        self.may_shrink
    }

    /// Whether reading has opened the window enough for an unsolicited ACK. It at least doubles,
    /// or opens by a segment from zero (Linux `tcp_cleanup_rbuf`). If the profile counts segments:
    /// by that number or by half of the largest window (BSD `tcp_output`). A window more than half
    /// open is not computed for the former.
    #[inline]
    pub fn is_update_due(&self, now_open: u64, would_open: impl FnOnce() -> u64) -> bool {
        let memory = self.memory.as_ref();
        let in_syn = memory.and_then(|memory| memory.said_in_syn());
        let now_open = in_syn.map_or(now_open, |said| said.max(now_open));
        if self.update_step > 0 {
            let opening = would_open().saturating_sub(now_open);
            return opening > 0 && opening >= self.update_step.min(self.clamp / 2);
        }
        2 * now_open <= self.clamp() && {
            let would_open = would_open();
            would_open >= 2 * now_open && would_open > now_open
        }
    }

    /// Window that the unread octets leave free.
    fn free(&self, unread: u64) -> u64 {
        let free = self.buffer.saturating_sub(unread);
        match self.reserve_shift {
            0 => free,
            shift => free - (free >> shift),
        }
    }
}

/// Largest window ever possible, which decides the scale. The scale bounds the window permanently
/// (RFC 7323 section 2.3). Linux uses the largest buffer the host grants or grows to, whatever was
/// requested. Others use the current buffer or, if it grows, its maximum.
fn largest_window(profile: &Profile, requested: Option<Bytes>) -> u64 {
    let grown = if profile.buffers.receive_autotuning {
        profile.buffers.receive_buffer_max
    } else {
        profile.buffers.receive_buffer_start
    };
    match (profile.buffers.window_policy, requested) {
        (WindowPolicy::Grows, _) => profile.buffers.buffer_limit.max(grown).as_u64(),
        (WindowPolicy::FreeSpace, Some(octets)) => {
            profile.window_of(profile.granted_buffer(octets)).as_u64()
        }
        (WindowPolicy::FreeSpace, None) => {
            let most = grown.max(profile.buffers.receive_buffer_start);
            profile.window_of(most).as_u64()
        }
    }
}

/// Smallest shift with which 16 bits express `wnd` (RFC 7323 section 2.3: at most 14).
fn shift_for(wnd: u64) -> u8 {
    (0..14).find(|shift| wnd >> shift <= 65_535).unwrap_or(14)
}

/// First window that Linux 2.6.20 advertises and lets grow. It suffices for the initial window of
/// any sender of its time (`tcp_select_initial_window`). Later kernels advertise 64 KiB
/// immediately.
fn first_offer(mss: u64) -> u64 {
    match mss {
        0..=1460 => 4 * mss,
        1461..=4380 => 3 * mss,
        _ => 2 * mss,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge_of(window: &ReceiveWindow, nxt: u64, old_edge: u64, unread: u64) -> u64 {
        window.edge(Offset(nxt), RightEdge(old_edge), Length(unread))
    }

    #[test]
    fn the_right_edge_never_moves_left() {
        let window = ReceiveWindow::new(&Profile::MODERN, Some(Bytes::new(10_000)), 1000);
        let edge = edge_of(&window, 0, 0, 0);
        assert_eq!(edge, 10_000);
        assert_eq!(edge_of(&window, 4000, edge, 9000), 10_000);
    }

    #[test]
    fn the_edge_moves_in_steps_of_a_segment_and_not_by_crumbs() {
        let window = ReceiveWindow::new(&Profile::MODERN, Some(Bytes::new(10_000)), 1000);
        assert_eq!(edge_of(&window, 10_000, 10_000, 9_001), 10_000);
        assert_eq!(edge_of(&window, 10_000, 10_000, 9_000), 11_000);
    }

    #[test]
    fn an_offer_below_a_segment_opens_again_however_far_the_buffer_has_grown() {
        let profile = Profile::LINUX_2_6_20.with(|profile| {
            profile.buffers.receive_autotuning = true;
            profile.buffers.receive_buffer_start = Bytes::new(4000);
        });
        let mut window = ReceiveWindow::new(&profile, None, 8960);
        let first = edge_of(&window, 0, 0, 0);
        assert!((1..8960).contains(&first), "{first}");
        window.set_buffer(&profile, Bytes::new(400_000));
        // All of it has arrived and is read.
        assert!(edge_of(&window, first, first, 0) > first);
    }

    /// The buffer of a route replaces a tiny one after the first offer.
    #[test]
    fn an_offer_below_a_segment_is_not_silly_where_a_quarter_of_the_buffer_decides() {
        let profile = Profile::LINUX_2_6_20.with(|profile| {
            profile.segments.silly_below_quarter = true;
            profile.buffers.buffer_doubling = false;
        });
        let mut window = ReceiveWindow::new(&profile, Some(Bytes::new(10)), 1220);
        window.set_buffer(&profile, Bytes::new(22_952));
        assert!(edge_of(&window, 1, 1, 0) > 1);
    }

    #[test]
    fn a_growing_window_opens_by_two_segments_for_each_that_arrives() {
        let profile = Profile::LINUX_2_6_20.with(|profile| {
            profile.buffers.buffer_limit = Bytes::new(100 << 20);
        });
        let mut window = ReceiveWindow::new(&profile, Some(Bytes::new(60 << 20)), 8960);
        assert_eq!(edge_of(&window, 0, 0, 0), 2 * 8960);
        let mut segments = 0_u64;
        while window.on_full_segments(8960, 0) {
            segments += 1;
        }
        // (90 MiB - one segment - two segments) / two segments per arrival.
        assert_eq!(segments, ((90_u64 << 20) - 3 * 8960).div_ceil(2 * 8960));
        assert_eq!(edge_of(&window, 0, 0, 0), (90 << 20) - 8960);
    }

    #[test]
    fn linux_cuts_the_window_to_what_the_scale_of_its_largest_buffer_expresses() {
        let profile = Profile::LINUX_2_6_20.with(|profile| {
            profile.buffers.buffer_limit = Bytes::new(100 << 20);
        });
        let window = ReceiveWindow::new(&profile, Some(Bytes::new(100 << 20)), 8960);
        assert_eq!(window.shift(), 11);
        assert_eq!(window.clamp(), 65_535 << 11);
    }

    #[test]
    fn a_window_smaller_by_less_than_a_unit_of_the_scale_is_said_alike() {
        let profile = Profile::MODERN.with(|profile| {
            profile.buffers.buffer_limit = Bytes::new(4 << 20);
            profile.buffers.window_policy = WindowPolicy::Grows;
        });
        let mut window = ReceiveWindow::new(&profile, Some(Bytes::new(100_000)), 1000);
        while window.on_full_segments(1000, 0) {}
        let unit = 1 << window.shift();
        // 99 000 octets (one segment is reserved) are advertised as the next multiple.
        let said = 99_000_u64.next_multiple_of(unit);
        assert!(said > 99_000);
        assert!(!window.would_shrink(Length(0), Window(said)));
        assert!(window.would_shrink(Length(0), Window(said + 1)));
        assert!(window.would_shrink(Length(1000 + unit), Window(said)));
    }

    #[test]
    fn the_window_scale_is_the_smallest_that_expresses_the_buffer() {
        let shift =
            |bytes| ReceiveWindow::new(&Profile::MODERN, Some(Bytes::new(bytes)), 1460).shift();
        assert_eq!(shift(65_535), 0);
        assert_eq!(shift(65_536), 1);
        assert_eq!(shift(1 << 30), 14);
    }
}
