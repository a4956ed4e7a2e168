//! Buffer autotuning.
//!
//! [`crate::receive_autotuning`] sizes the receive buffer. The send buffer holds two congestion
//! windows, with BBR three (Linux `tcp_sndbuf_expand`). A buffer whose size
//! was requested keeps exactly that size, as with `SO_RCVBUF` and `SO_SNDBUF`.

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Payload, Segment};

use super::Connection;
use crate::events::{Event, EventMask};
use crate::lazy::{Lazy, Untouched};
use crate::profile::Profile;
use crate::receive_autotuning::{Amounts, Counting, ReceiveAutotuning};
use crate::receive_window::ReceiveWindow;
use crate::space::{Offset, RightEdge};
use crate::truesize::{self, SendMemory, SendQueue};

/// Minimum window in segments that the send buffer holds (Linux `TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;

/// Buffer sizes that the application requested.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Requested {
    pub(super) send: Option<Bytes>,
    pub(super) receive: Option<Bytes>,
}

impl Untouched for Requested {
    const UNTOUCHED: &'static Self = &Self {
        send: None,
        receive: None,
    };
}

/// Sizes and autotuning of a connection's buffers.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Requested by the application.
    pub(super) requested: Lazy<Requested>,
    /// Whether the send buffer follows the congestion window.
    tunes_send: bool,
    pub(super) receive: Option<ReceiveAutotuning>,
    /// Memory that the send queue occupies, if the profile counts it.
    pub(super) send_memory: Option<Box<SendMemory>>,
}

impl Buffers {
    /// State of a connection with these requested sizes. `window` is that of the receive buffer,
    /// for segments of up to `mss` octets.
    pub(super) fn new(
        now: Instant,
        profile: &Profile,
        requested: (Option<Bytes>, Option<Bytes>),
        window: &ReceiveWindow,
        mss: u32,
    ) -> Self {
        let (send_requested, receive_requested) = requested;
        let mut requested = Lazy::<Requested>::default();
        if send_requested.is_some() || receive_requested.is_some() {
            requested.send = send_requested;
            requested.receive = receive_requested;
        }
        let grows = profile.buffers.send_autotuning && send_requested.is_none();
        let tunes_send = grows && profile.buffers.send_buffer_max > Bytes::new(0);
        let tunes_receive = profile.buffers.receive_autotuning && receive_requested.is_none();
        Self {
            requested,
            tunes_send,
            receive: tunes_receive
                .then(|| ReceiveAutotuning::new(now, window.first_measure(), u64::from(mss))),
            send_memory: profile.buffers.truesize.then(Box::default),
        }
    }

    /// Whether the send buffer follows the congestion window.
    pub(super) fn tunes_send(&self) -> bool {
        self.tunes_send
    }
}

impl<P: Payload> Connection<P> {
    /// Applies route buffer sizes and rounds to whole segments, once SMSS is known (BSD
    /// `tcp_mss`). Other autotuned buffers are unaffected. The window scale was fixed by the SYN, and a
    /// window advertised on the SYN stays advertised.
    pub(super) fn settle_buffers(&mut self) {
        let profile = &self.transport.profile;
        let most = profile.granted_buffer(Bytes::MAX).as_u64();
        let settle = |held: u64, of_route: Option<Bytes>, smss: u32| {
            let octets = match of_route.map(Bytes::as_u64) {
                Some(asked) if profile.buffers.route_buffers_override => asked,
                Some(asked) => held.max(asked),
                None => held,
            };
            let smss = u64::from(smss);
            if profile.buffers.buffers_in_segments && octets > smss {
                octets.next_multiple_of(smss).min(most)
            } else {
                octets.min(most)
            }
        };
        let is_rounded = profile.buffers.buffers_in_segments;
        let held = self.send_buffer.capacity();
        let octets = settle(held, profile.buffers.route_send_buffer, self.smss);
        if octets != held && (is_rounded || !self.buffers.tunes_send()) {
            self.send_buffer.set_capacity(octets);
        }
        let held = self.window.buffer();
        let octets = settle(held, profile.buffers.route_receive_buffer, self.smss);
        if octets != held && (is_rounded || self.buffers.receive.is_none()) {
            self.window.set_buffer(profile, Bytes::new(octets));
            if !self.handshake.active_open {
                self.offer_first_window();
            }
        }
    }

    /// Starts autotuning from the RTT of the handshake, measured unless its SYN was lost.
    pub(super) fn begin_autotuning(&mut self, now: Instant) {
        if let (Some(tuning), Some(rtt)) = (&mut self.buffers.receive, self.min_rtt.value()) {
            tuning.on_handshake(now, rtt);
        }
        self.expand_send_buffer(now);
    }

    /// Lets the send buffer follow a changed cwnd, upwards only.
    #[inline]
    pub(super) fn expand_send_buffer(&mut self, now: Instant) {
        if !self.buffers.tunes_send() {
            return;
        }
        let smss = u64::from(self.smss.max(1));
        let window = self.congestion.cwnd().as_u64().max(LEAST_SEGMENTS * smss);
        let kept = if self.buffers.send_memory.is_some() {
            window.div_ceil(smss) * truesize::send_memory_of_segment(smss)
        } else {
            window
        };
        // One window in flight and one for what the next round trip may add. A control that paces by a
        // model may grow as in slow start during recovery too (Linux `bbr_sndbuf_expand`).
        let is_model =
            self.congestion.reduces_by_itself() && self.congestion.pacing_rate().is_some();
        let windows = if is_model { 3 } else { 2 };
        let wanted = kept
            .saturating_mul(windows)
            .min(self.transport.profile.buffers.send_buffer_max.as_u64());
        if wanted > self.send_buffer.capacity() {
            self.send_buffer.set_capacity(wanted);
            self.outbox.put(
                EventMask::CWND,
                now,
                Event::SendBufferGrew { octets: wanted },
            );
        }
    }

    /// Takes a receiver-side RTT measurement from in-order data.
    #[inline]
    pub(super) fn measure_as_receiver(&mut self, now: Instant, segment: &Segment<P>) {
        let Some(tuning) = &mut self.buffers.receive else {
            return;
        };
        match (&self.timestamps, segment.options.timestamps) {
            (Some(clock), Some(stamps)) => {
                if tuning.is_new_echo(stamps.ecr)
                    && let Some(age) = clock.rtt_by_echo(now, stamps.ecr)
                {
                    tuning.on_echo(age, self.transport.profile.options.timestamp_tick);
                }
            }
            _ => tuning.on_arrival(now, Offset(self.rcv.nxt), RightEdge(self.rcv.edge)),
        }
    }

    /// Grows the receive buffer after a read if required.
    #[inline]
    pub(super) fn adjust_receive_buffer(&mut self, now: Instant) {
        let Some(tuning) = &mut self.buffers.receive else {
            return;
        };
        let nxt = self.rcv.nxt;
        let end = self.receive_buffer.held_end();
        let amounts = Amounts {
            in_order: nxt,
            held: self.receive_buffer.held(),
            span: end.map_or(0, |end| end.saturating_sub(nxt)),
            unread: self.receive_buffer.readable(),
        };
        let counting = if self.transport.profile.buffers.autotuning_counts_reads {
            Counting::Read
        } else {
            Counting::Arrived
        };
        let mss = u64::from(self.rmss);
        if let Some(window) = tuning.on_read(now, counting, amounts, mss) {
            self.grow_receive_buffer(now, window);
        }
    }

    /// Grows the buffer for data beyond a gap, if it counts packets. Call it once the application
    /// has the connection (Linux `tcp_data_queue_ofo`, not before `accept`).
    #[doc(hidden)]
    pub fn grow_for_gap(&mut self, now: Instant) {
        if let Some(tuning) = &self.buffers.receive
            && self.window.counts_packets()
            && let Some(end) = self.receive_buffer.held_end()
        {
            let span = end.saturating_sub(self.rcv.nxt);
            self.grow_receive_buffer(now, 2 * tuning.space() + span);
        }
    }

    /// Whether there is memory for an arrival, if packets count. A buffer that may grow and is
    /// exceeded grows to what is used, up to its maximum (the first half of Linux `tcp_clamp_window`;
    /// the second, which lowers the window of a buffer that is still exceeded, is left out).
    pub(super) fn has_memory(&mut self, now: Instant) -> bool {
        let most = self.transport.profile.buffers.receive_buffer_max;
        if self.buffers.receive.is_some() && self.window.grow_to_used(most) {
            let octets = self.window.buffer();
            self.outbox
                .put(EventMask::CHANGES, now, Event::ReceiveBufferGrew { octets });
        }
        self.window.has_room()
    }

    fn grow_receive_buffer(&mut self, now: Instant, window: u64) {
        let octets = self.window.buffer_backing(&self.transport.profile, window);
        let octets = octets.min(self.transport.profile.buffers.receive_buffer_max.as_u64());
        if octets > self.window.buffer() {
            self.window
                .set_buffer(&self.transport.profile, Bytes::new(octets));
            self.outbox
                .put(EventMask::CHANGES, now, Event::ReceiveBufferGrew { octets });
        }
    }

    pub(super) fn request_send_buffer(&mut self, requested: Bytes) {
        self.buffers.requested.send = Some(requested);
        self.buffers.tunes_send = false;
        let granted = self.transport.profile.send_buffer_for(Some(requested));
        self.send_buffer.set_capacity(granted.as_u64());
    }

    pub(super) fn request_receive_buffer(&mut self, requested: Bytes) {
        self.buffers.requested.receive = Some(requested);
        self.buffers.receive = None;
        let granted = self.transport.profile.granted_buffer(requested);
        self.window.set_buffer(&self.transport.profile, granted);
    }

    /// Octets in the send buffer, sent or not.
    #[inline]
    #[doc(hidden)]
    pub fn send_queue(&self) -> u64 {
        self.send_buffer.queued()
    }

    /// Octets in the receive buffer, in order or not.
    #[inline]
    #[doc(hidden)]
    pub fn receive_queue(&self) -> u64 {
        self.receive_buffer.readable() + self.receive_buffer.held()
    }

    /// Octets that may be written now: the free space of the send buffer. With `not_sent_lowat`
    /// set, only while less than that is unsent (Linux `TCP_NOTSENT_LOWAT`). A remainder below one
    /// segment is rounded up to a segment: less could not leave while Nagle's algorithm waits for
    /// the rest. If packets count, the space ends with a packet. 0 if the connection accepts no
    /// more data.
    #[inline]
    #[doc(hidden)]
    pub fn send_space(&self) -> u64 {
        if !self.may_write() {
            return 0;
        }
        match &self.buffers.send_memory {
            Some(memory) => {
                let queue = self.send_queue_state();
                memory.room(&queue, self.send_buffer.capacity())
            }
            None => self.below_lowat(self.send_buffer.space(), self.unsent()),
        }
    }

    /// Part of `space` that `not_sent_lowat` allows while `unsent` octets wait.
    #[inline]
    fn below_lowat(&self, space: u64, unsent: u64) -> u64 {
        let Some(lowat) = self.transport.profile.buffers.not_sent_lowat else {
            return space;
        };
        let left = lowat.as_u64().saturating_sub(unsent);
        if left == 0 {
            return 0;
        }
        space.min(left.max(u64::from(self.smss)))
    }

    /// Space for up to `offered` octets, which are written next. If packets count, one is filled
    /// after the other until no other fits.
    #[inline]
    pub(super) fn take_send_space(&mut self, offered: u64) -> u64 {
        let Some(mut memory) = self.buffers.send_memory.take() else {
            return self.send_space();
        };
        let mut queue = self.send_queue_state();
        let mut taken = 0;
        while taken < offered {
            let room = memory.room(&queue, self.send_buffer.capacity());
            if room == 0 {
                break;
            }
            let part = room.min(offered - taken);
            memory.on_written(&queue, part);
            queue.end += part;
            queue.is_open = true;
            taken += part;
        }
        self.buffers.send_memory = Some(memory);
        taken
    }

    /// Send queue in terms of packets.
    pub(super) fn send_queue_state(&self) -> SendQueue {
        let end = self.send_buffer.end();
        SendQueue {
            start: end - self.send_buffer.queued(),
            unsent: self.snd.nxt.max(1),
            end,
            is_open: self.send_buffer.records().end_after(end - 1) != Some(end),
            goal: truesize::size_goal(self.smss, self.snd.max_wnd),
            unsent_lowat: self
                .transport
                .profile
                .buffers
                .not_sent_lowat
                .map(Bytes::as_u64),
        }
    }

    /// Free space at which an application waiting to write is woken. It is the profile's low-water
    /// mark, or a third of the send buffer, or half of `not_sent_lowat`, as in Linux
    /// (`sk_stream_is_writeable`).
    #[doc(hidden)]
    pub fn send_wake_space(&self) -> u64 {
        if self.buffers.send_memory.is_some() {
            // A third of the buffer must be free before there is any space again.
            return 1;
        }
        let capacity = self.send_buffer.capacity();
        let mark = self.transport.profile.buffers.write_low_water;
        let room = mark.map_or(capacity / 3, |mark| mark.as_u64().min(capacity));
        match self.transport.profile.buffers.not_sent_lowat {
            None => room,
            Some(lowat) => room.min(lowat.as_u64() / 2),
        }
    }

    /// Sets whether more of the same application call follows the next write. Until then less than
    /// a segment waits (BSD `PRUS_MORETOCOME`, Linux `MSG_MORE`), unless it is half of the largest
    /// window.
    #[inline]
    #[doc(hidden)]
    pub fn set_more_to_come(&mut self, more: bool) {
        self.limiting.more_to_come = more;
    }

    /// Most octets the application read in a round trip so far.
    pub(super) fn receive_space(&self) -> Option<Bytes> {
        self.buffers
            .receive
            .as_ref()
            .map(|tuning| Bytes::new(tuning.space()))
    }

    /// RTT as the receiver measures it for its buffer.
    pub(super) fn receiver_rtt(&self) -> Option<Duration> {
        self.buffers.receive.as_ref()?.rtt()
    }
}
