//! SEGMENT ARRIVES: RFC 9293 section 3.10.7, and header prediction.
//!
//! The order of checks is the RFC's: sequence number, RST, SYN, ACK, text,
//! FIN. RST and SYN in a synchronized state follow RFC 5961 sections 3 and 4,
//! as RFC 9293 section 3.10.7.4 recommends: see `challenge`.

use gigatcp_events::{Event, EventMask, State};
use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::{Connection, Failure, Received, Reset};

impl<P: Payload> Connection<P> {
    /// A segment for this connection arrived; `now` is the moment of
    /// processing, `received.at` that of arrival.
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
        match self.state {
            State::Closed => self.handle_in_closed(&received.segment),
            State::Listen => {}
            State::SynSent => self.handle_in_syn_sent(now, &received),
            State::TimeWait if self.ignores_in_time_wait(&received.segment) => {}
            _ => self.handle_in_window(now, &mut received),
        }
        self.assert_invariants();
    }

    /// Header prediction (Van Jacobson 1990; RFC 1185 era code): in
    /// ESTABLISHED, with nothing unusual in flags, options or recovery, a
    /// segment is either the next data or a plain acknowledgment. Says whether
    /// it was, and has been taken.
    #[inline]
    fn predict(&mut self, now: Instant, received: &mut Received<P>) -> bool {
        let segment = &mut received.segment;
        let expected = self.profile.segments.header_prediction
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
        // A window that was taken back is not predicted.
        let fits = len <= self.rcv.told.saturating_sub(self.rcv.nxt)
            || (len <= self.rcv.wnd() && !self.window.may_shrink());
        if ack != self.snd.una
            || wnd != self.snd.wnd
            || !fits
            || !self.receive_buffer.is_contiguous()
        {
            return false;
        }
        self.remember_timestamp_at(now, self.rcv.nxt, segment);
        self.note_network(now, segment);
        self.take_expected_data(now, segment);
        true
    }

    /// Whether the timestamps option is as agreed, and not of the past.
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

    /// The same where the offset of the segment is known.
    #[inline]
    fn remember_timestamp_at(&mut self, now: Instant, seq: u64, segment: &Segment<P>) {
        if let (Some(clock), Some(stamps)) = (&mut self.timestamps, segment.options.timestamps) {
            clock.on_segment(now, stamps.val, seq, self.rcv.last_ack_sent);
        }
    }

    /// Section 3.10.7.1: anything but a reset is answered by one.
    fn handle_in_closed(&mut self, segment: &Segment<P>) {
        if !segment.flags.contains(Flags::RST) {
            self.closing.reset_due = Some(Reset::answering(segment));
        }
    }

    /// Section 3.10.7.4: SYN-RECEIVED and all synchronized states.
    fn handle_in_window(&mut self, now: Instant, received: &mut Received<P>) {
        let segment = &received.segment;
        let len = segment.seq_len();
        let Some(seq) = self.rcv.offset_of(segment.seq) else {
            self.refuse(now, 0, segment);
            return;
        };
        // First, sequence number; before it, PAWS (RFC 7323 section 5.3 R1).
        if self.is_ghost(now, segment) {
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
        // Only now: what a forger could send must not change what is echoed.
        self.remember_timestamp(now, segment);
        self.note_network(now, segment);
        self.take_user_timeout(&segment.options);
        if segment.flags.contains(Flags::URG) {
            self.handle_urgent(now, seq, segment);
        }
        self.handle_text(now, seq, &mut received.segment);
    }

    /// An acknowledgment without data from the very edge of our window: the
    /// peer has filled it and we miss some of that. Section 3.4's table refuses
    /// it; then two sides that both miss data would each refuse the other's
    /// news and answer it, indefinitely. Every kernel takes it.
    fn is_ack_at_the_edge(&self, seq: u64, segment: &Segment<P>) -> bool {
        seq == self.rcv.edge
            && segment.seq_len() == 0
            && segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::RST)
    }

    /// A FIN without data where our window ends: Linux takes it, so that a peer which sends
    /// it into a closed window does not send it indefinitely.
    fn is_fin_at_the_edge(&self, seq: u64, segment: &Segment<P>) -> bool {
        self.window.counts_packets()
            && seq == self.rcv.nxt
            && segment.payload.is_empty()
            && segment.flags.contains(Flags::FIN)
    }

    /// A segment that PAWS calls old. A RST is exempt, and so is a segment of
    /// a peer that stopped sending the option (tolerated, as kernels do).
    fn is_ghost(&self, now: Instant, segment: &Segment<P>) -> bool {
        match (&self.timestamps, segment.options.timestamps) {
            (Some(clock), Some(stamps)) => {
                !segment.flags.contains(Flags::RST) && clock.is_old(now, stamps.val)
            }
            _ => false,
        }
    }

    /// Not acceptable: answered with an ACK (MUST in 3.10.7.4) unless it is a
    /// reset, and dropped.
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

    /// Outside the window. Three kinds need more than an ACK: what was received
    /// before (D-SACK), valid acknowledgments while our window is closed (RFC
    /// 9293 MUST-66), and the FIN again in TIME-WAIT.
    fn handle_unacceptable(&mut self, now: Instant, seq: u64, received: &Received<P>) {
        let segment = &received.segment;
        let len = segment.payload.len() as u64;
        if len > 0 && seq + len <= self.rcv.nxt {
            self.note_duplicate(seq..seq + len);
            self.note_repetition(segment);
        }
        if seq > self.rcv.edge {
            self.counters.beyond_window += 1;
        }
        self.hear_syn_ack_again(segment);
        let ends_with_the_fin = seq + u64::from(segment.seq_len()) == self.rcv.nxt;
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) && ends_with_the_fin
        {
            self.timers.time_wait_until = now + self.profile.closing.time_wait;
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

    /// The acknowledgment of a segment that is not acceptable otherwise: at
    /// our closed window (RFC 9293 section 3.10.7.4), or new from just before
    /// our window. A peer whose view of our window is exhausted acknowledges
    /// from its edge, and may be wrong about what we took; where both sides
    /// are, no acknowledgment would be acceptable any more. So do 4.4BSD and
    /// Linux. Returns whether it told anything new.
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

    /// RFC 5961 section 3.2, over RFC 9293 section 3.10.7.4 second.
    fn handle_reset(&mut self, now: Instant, seq: u64) {
        if seq != self.rcv.nxt && self.profile.defense.challenge_ack {
            self.challenge(now);
            return;
        }
        if self.state == State::TimeWait && self.profile.closing.time_wait_ignores_reset {
            return;
        }
        let failure = match self.state {
            State::SynReceived if self.handshake.active_open => Failure::Refused,
            _ => Failure::Reset,
        };
        match self.state {
            // Everything was delivered and acknowledged: no failure.
            State::Closing | State::LastAck | State::TimeWait => {
                self.set_state(now, State::Closed);
            }
            _ => self.fail(now, failure),
        }
    }

    /// The peer's SYN once more while ours is not acknowledged: the peer has
    /// not seen our SYN-ACK, and gets it again; or this is the SYN-ACK of a
    /// simultaneous open, which completes it (RFC 9293 figure 7).
    fn handle_syn_again(&mut self, now: Instant, received: &Received<P>) {
        let segment = &received.segment;
        if segment.flags.contains(Flags::ACK) {
            let ack = self.snd.offset_of(segment.ack);
            self.complete_open(now, received.at, ack, segment);
        } else if self.hear_syn_again(now, segment) {
            self.handshake.syn_due = true;
        }
    }

    /// Section 3.10.7.4 fifth, SYN-RECEIVED: the acknowledgment of our SYN
    /// opens the connection; anything else is answered with a reset.
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
        // What lies beyond an active open's SYN left on it, when two SYNs crossed.
        let ack = if self.handshake.active_open { ack } else { 1 };
        self.note_fast_open_answer(ack, segment);
        self.acknowledge_syn(now, received_at, ack);
        self.hear_handshake_ack(now, segment);
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
        if self.profile.opening.update_after_open {
            self.demand_window_update();
        }
        self.take_syn_text(now);
        true
    }
}

/// A SYN that is no reset.
fn is_syn<P>(segment: &Segment<P>) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::RST)
}

impl Reset {
    /// The reset that answers `segment` where no connection is (RFC 9293
    /// section 3.10.7.1).
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
