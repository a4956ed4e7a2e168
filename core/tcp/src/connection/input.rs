//! SEGMENT ARRIVES: RFC 9293 section 3.10.7, and header prediction.
//!
//! The order of checks is the RFC's: sequence number, RST, SYN, ACK, text,
//! FIN. RST and SYN in a synchronized state follow RFC 5961 sections 3 and 4,
//! as RFC 9293 section 3.10.7.4 recommends: see `challenge`.

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::{Connection, Failure, Received, Reset};
use crate::events::{Event, EventMask, State};

impl<P: Payload> Connection<P> {
    /// Processes a segment for this connection. `now` is the time of processing, `received.at`
    /// that of arrival.
    pub fn handle_segment(&mut self, now: Instant, mut received: Received<P>) {
        self.counters.segments_received += received.segment.wire_segments() as u64;
        if self.authentication.is_some() && !self.is_authentic(&received.segment) {
            return;
        }
        if self.predict(now, &mut received) {
            self.counters.predicted += 1;
            self.assert_invariants();
            return;
        }
        let syn_fin = Flags::SYN | Flags::FIN;
        match self.state {
            _ if received.segment.flags.contains(syn_fin)
                && self.transport.profile.defense.drop_syn_fin => {}
            State::Closed => self.handle_in_closed(&received.segment),
            State::Listen => {}
            State::SynSent => self.handle_in_syn_sent(now, &received),
            State::TimeWait if self.ignores_in_time_wait(&received.segment) => {}
            _ => self.handle_in_window(now, &mut received),
        }
        self.assert_invariants();
    }

    /// Header prediction (Van Jacobson 1990; RFC 1185 era code): returns whether it processed the
    /// segment. In ESTABLISHED, with nothing unusual in flags, options or recovery, a segment is
    /// either the next data or a plain acknowledgment.
    #[inline]
    fn predict(&mut self, now: Instant, received: &mut Received<P>) -> bool {
        let segment = &mut received.segment;
        let expected = self.transport.profile.segments.header_prediction
            && self.state == State::Established
            && segment.flags.without(Flags::PSH) == Flags::ACK | self.ecn.quiet_flags()
            && segment.seq == self.rcv.on_wire(self.rcv.nxt)
            && segment.options.sack.is_empty()
            && segment.options.user_timeout().is_none()
            && self.closing.peer_fin.is_none()
            && self.has_expected_timestamps(now, segment);
        if !expected {
            return false;
        }
        let Some(ack) = self.snd.offset_of(segment.ack) else {
            return false;
        };
        if segment.payload.is_empty() {
            if ack <= self.snd.una || ack > self.snd.nxt || !self.recovery.is_quiet() {
                return false;
            }
            self.remember_timestamp_at(now, self.rcv.nxt, segment);
            self.handle_ack(now, received.at, ack, segment);
            self.note_network(now, segment);
            return true;
        }
        let len = segment.payload.len() as u64;
        let wnd = u64::from(segment.wnd.0) << self.snd.shift;
        // Prediction requires a window that was not retracted.
        let fits = len <= self.rcv.advertised_edge.saturating_sub(self.rcv.nxt)
            || (len <= self.rcv.wnd() && !self.window.may_shrink());
        if ack != self.snd.una
            || wnd != self.snd.wnd
            || !fits
            || !self.window.has_room()
            || !self.receive_buffer.is_contiguous()
        {
            return false;
        }
        self.remember_timestamp_at(now, self.rcv.nxt, segment);
        self.note_network(now, segment);
        self.take_expected_data(now, segment);
        true
    }

    /// Whether the timestamps option is as negotiated, and not old.
    #[inline]
    fn has_expected_timestamps(&self, now: Instant, segment: &Segment<P>) -> bool {
        match (&self.timestamps, segment.options.timestamps) {
            (None, _) => true,
            (Some(clock), Some(stamps)) => !clock.is_old(now, stamps.val),
            (Some(_), None) => false,
        }
    }

    #[inline]
    fn remember_timestamp(&mut self, now: Instant, segment: &Segment<P>) {
        if let Some(seq) = self.rcv.offset_of(segment.seq) {
            self.remember_timestamp_at(now, seq, segment);
        }
    }

    /// Updates TS.Recent if the segment's offset is already known.
    #[inline]
    fn remember_timestamp_at(&mut self, now: Instant, seq: u64, segment: &Segment<P>) {
        if let (Some(clock), Some(stamps)) = (&mut self.timestamps, segment.options.timestamps) {
            clock.on_segment(now, stamps.val, seq, self.rcv.last_ack_sent);
        }
    }

    /// Answers anything but a reset with a reset (section 3.10.7.1).
    fn handle_in_closed(&mut self, segment: &Segment<P>) {
        if !segment.flags.contains(Flags::RST) {
            self.closing.reset_due = Some(Reset::answering(segment));
        }
    }

    /// Handles a segment in SYN-RECEIVED or a synchronized state (section 3.10.7.4).
    fn handle_in_window(&mut self, now: Instant, received: &mut Received<P>) {
        let segment = &received.segment;
        let len = segment.seq_len();
        let Some(seq) = self.rcv.offset_of(segment.seq) else {
            self.refuse(now, 0, segment);
            return;
        };
        // First, sequence number; before it, PAWS (RFC 7323 section 5.3 R1).
        if self.is_old_duplicate(now, segment) {
            self.counters.paws_dropped += 1;
            self.refuse(now, seq, segment);
            return;
        }
        if self.state == State::SynReceived && seq == 0 && is_syn(segment) {
            self.handle_syn_again(now, received);
            return;
        }
        let is_taken = self.rcv.accepts(seq, len)
            || self.is_ack_at_the_edge(seq, segment)
            || self.is_in_free_space(seq, segment)
            || self.is_fin_at_the_edge(seq, segment);
        if !is_taken {
            self.handle_unacceptable(now, seq, received);
            return;
        }
        if segment.flags.contains(Flags::RST) {
            self.handle_reset(now, seq);
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.handle_syn_in_window(now, segment);
            return;
        }
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        let ack = self.snd.offset_of(segment.ack);
        if self.state == State::SynReceived && !self.complete_open(now, received.at, ack, segment) {
            return;
        }
        let Some(ack) = ack else {
            self.challenge(now);
            return;
        };
        if !self.handle_ack(now, received.at, ack, segment) {
            return;
        }
        // Only now: a forged segment must not change the echoed timestamp.
        self.remember_timestamp(now, segment);
        self.note_network(now, segment);
        self.take_user_timeout(&segment.options);
        if segment.flags.contains(Flags::URG) {
            self.handle_urgent(now, seq, segment);
        }
        self.handle_text(now, seq, &mut received.segment);
    }

    /// Whether this is an acknowledgment without data from exactly our window's right edge. The
    /// peer has filled the window and we miss some of that. The table of section 3.4 refuses it:
    /// then two sides that both miss data would refuse each other's acknowledgments and answer
    /// them, indefinitely. Every kernel accepts it.
    fn is_ack_at_the_edge(&self, seq: u64, segment: &Segment<P>) -> bool {
        seq == self.rcv.edge
            && segment.seq_len() == 0
            && segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::RST)
    }

    /// Whether a segment without data begins in the free space of the receive buffer
    /// (`accepts_free_space`).
    fn is_in_free_space(&self, seq: u64, segment: &Segment<P>) -> bool {
        let unread = self.receive_buffer.readable();
        let space = self.window.buffer().saturating_sub(unread);
        // Neither the queue of half-open connections nor that of TIME-WAIT knows the buffer.
        let has_buffer = self.state != State::TimeWait && !self.is_half_open();
        self.transport.profile.buffers.accepts_free_space
            && has_buffer
            && segment.payload.is_empty()
            && (self.rcv.nxt..self.rcv.nxt + space).contains(&seq)
    }

    /// Whether this is a FIN without data at our window's right edge. Linux accepts it, so that a
    /// peer does not repeat a FIN into a closed window indefinitely.
    fn is_fin_at_the_edge(&self, seq: u64, segment: &Segment<P>) -> bool {
        self.window.counts_packets()
            && seq == self.rcv.nxt
            && segment.payload.is_empty()
            && segment.flags.contains(Flags::FIN)
    }

    /// Whether PAWS classifies a segment as old. A RST is exempt. So is a segment of a peer that
    /// stopped sending the option, which kernels also tolerate.
    fn is_old_duplicate(&self, now: Instant, segment: &Segment<P>) -> bool {
        match (&self.timestamps, segment.options.timestamps) {
            (Some(clock), Some(stamps)) => {
                !segment.flags.contains(Flags::RST) && clock.is_old(now, stamps.val)
            }
            _ => false,
        }
    }

    /// Drops an unacceptable segment and acknowledges it, unless it is a reset (MUST in 3.10.7.4).
    fn refuse(&mut self, now: Instant, seq: u64, segment: &Segment<P>) {
        self.outbox.put(
            EventMask::SEGMENTS,
            now,
            Event::SegmentUnacceptable {
                seq,
                len: segment.seq_len(),
            },
        );
        if !segment.flags.contains(Flags::RST) {
            self.answer_unacceptable(now, segment);
        }
    }

    /// Handles a segment outside the window. Three kinds require more than an ACK: data received
    /// before (D-SACK), valid acknowledgments while the receive window is closed, and the FIN
    /// again in TIME-WAIT. The second is RFC 9293 MUST-66.
    fn handle_unacceptable(&mut self, now: Instant, seq: u64, received: &Received<P>) {
        let segment = &received.segment;
        let len = segment.payload.len() as u64;
        if len > 0 && seq + len <= self.rcv.nxt {
            self.note_duplicate(seq..seq + len);
            self.note_repetition(segment);
            let wnd = self.rcv.wnd();
            self.ack.on_repeated(&self.transport.profile, wnd);
        }
        if seq > self.rcv.edge {
            self.counters.beyond_window += 1;
        }
        self.process_repeated_syn_ack(segment);
        let ends_with_the_fin = seq + u64::from(segment.seq_len()) == self.rcv.nxt;
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) && ends_with_the_fin
        {
            self.timers.time_wait_until = now + self.transport.profile.closing.time_wait;
        }
        let at_closed_window = self.rcv.wnd() == 0 && seq == self.rcv.nxt;
        if at_closed_window && segment.flags.contains(Flags::RST) {
            self.handle_reset(now, seq);
            return;
        }
        if at_closed_window && segment.flags.contains(Flags::URG) {
            self.handle_urgent(now, seq, segment);
        }
        let told = self.take_valid_ack(now, seq, received);
        if told && len == 0 {
            return;
        }
        self.refuse(now, seq, &received.segment);
    }

    /// Processes the acknowledgment of an otherwise unacceptable segment. It must be at our closed
    /// window (RFC 9293 section 3.10.7.4), or be new and from just before our window. A peer that
    /// has exhausted its view of our window acknowledges from its edge, and may be wrong about
    /// what we accepted. If both sides are in this state, no acknowledgment would be acceptable
    /// any more. 4.4BSD and Linux do this too. Returns whether SND.UNA advanced.
    fn take_valid_ack(&mut self, now: Instant, seq: u64, received: &Received<P>) -> bool {
        let segment = &received.segment;
        let una = self.snd.una;
        let at_closed_window = self.rcv.wnd() == 0 && seq == self.rcv.nxt;
        let reach = self.window.buffer().max(65_535);
        let is_recent = seq < self.rcv.nxt && self.rcv.nxt - seq <= reach;
        let is_plain = segment.flags.contains(Flags::ACK)
            && !segment.flags.intersects(Flags::SYN | Flags::RST);
        if is_plain
            && self.is_synchronized()
            && let Some(ack) = self.snd.offset_of(segment.ack)
            && (at_closed_window || (is_recent && ack > una))
        {
            self.handle_ack(now, received.at, ack, segment);
        }
        self.snd.una > una
    }

    /// Handles a reset: RFC 5961 section 3.2, over RFC 9293 section 3.10.7.4 second.
    fn handle_reset(&mut self, now: Instant, seq: u64) {
        if seq != self.rcv.nxt && self.transport.profile.defense.challenge_ack {
            self.challenge(now);
            return;
        }
        if self.state == State::TimeWait && self.transport.profile.closing.time_wait_ignores_reset {
            return;
        }
        let failure = match self.state {
            State::SynReceived if self.handshake.active_open => Failure::Refused,
            _ => Failure::Reset,
        };
        let is_over = match self.state {
            // Everything was delivered and acknowledged: not a failure.
            State::TimeWait => true,
            State::Closing | State::LastAck => !self.transport.profile.closing.late_reset_fails,
            _ => false,
        };
        if is_over {
            self.set_state(now, State::Closed);
        } else {
            self.fail(now, failure);
        }
    }

    /// Handles a repeated SYN while ours is not acknowledged. The peer has not seen our SYN-ACK,
    /// which is retransmitted. Or it is the SYN-ACK of a simultaneous open, which completes it
    /// (RFC 9293 figure 7).
    fn handle_syn_again(&mut self, now: Instant, received: &Received<P>) {
        let segment = &received.segment;
        if segment.flags.contains(Flags::ACK) {
            let ack = self.snd.offset_of(segment.ack);
            let completed = self.complete_open(now, received.at, ack, segment);
            if completed && self.transport.profile.recovery.dsack_of_syn {
                self.note_duplicate(0..1);
                self.ack.demand();
            }
        } else if self.process_repeated_syn(now, segment) {
            self.handshake.syn_due = true;
        }
    }

    /// Completes the open on the acknowledgment of our SYN (section 3.10.7.4 fifth, SYN-RECEIVED).
    /// Anything else is answered with a reset.
    fn complete_open(
        &mut self,
        now: Instant,
        received_at: Instant,
        ack: Option<u64>,
        segment: &Segment<P>,
    ) -> bool {
        let Some(ack) = ack.filter(|ack| (1..=self.snd.nxt).contains(ack)) else {
            self.closing.reset_due = Some(Reset {
                seq: segment.ack,
                ack: None,
            });
            return false;
        };
        // An active open may have sent data in its SYN when two SYNs crossed.
        let ack = if self.handshake.active_open { ack } else { 1 };
        self.note_fast_open_answer(ack, segment);
        self.acknowledge_syn(now, received_at, ack);
        self.process_handshake_ack(now, segment);
        // The window of a SYN-ACK is not scaled (RFC 7323 section 2.2).
        let scaled = !segment.flags.contains(Flags::SYN);
        let shift = if scaled { self.snd.shift } else { 0 };
        self.snd.wnd = u64::from(segment.wnd.0) << shift;
        self.snd.max_wnd = self.snd.max_wnd.max(self.snd.wnd);
        self.snd.wl1 = self.rcv.nxt;
        self.handshake.syn_due = false;
        self.set_state(now, State::Established);
        if self.closing.fin_wanted {
            self.set_state(now, State::FinWait1);
        }
        if self.transport.profile.opening.update_after_open {
            self.demand_window_update();
        }
        self.take_syn_text(now);
        true
    }
}

/// Whether a segment has SYN and not RST.
fn is_syn<P>(segment: &Segment<P>) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::RST)
}

impl Reset {
    /// Reset that answers `segment` in CLOSED (RFC 9293 section 3.10.7.1).
    pub(super) fn answering<P: Payload>(segment: &Segment<P>) -> Self {
        if segment.flags.contains(Flags::ACK) {
            Self {
                seq: segment.ack,
                ack: None,
            }
        } else {
            Self {
                seq: gigatcp_wire::SeqNumber::new(0),
                ack: Some(segment.seq_end()),
            }
        }
    }
}
