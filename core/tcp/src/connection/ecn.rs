//! ECN fields of segments: RFC 3168 section 6.1, RFC 9768 section 3, RFC 8257 section 3.2.
//!
//! [`crate::ecn`] holds negotiation, counters and sanity checks; this file sets and reads the
//! fields of segments. Without ECN a segment costs one comparison here.
//!
//! AccECN options go on acknowledgments without data, and on data segments with enough space: full
//! segments are not made smaller for them. If both sides send in bulk, the octet counters travel
//! on the acknowledgments in between, and the ACE field of every segment carries the rest.

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::{Ecn, Flags, MAX_OPTIONS_LEN, Options, Payload, Segment};

use super::{Connection, Failure, Reset, authenticate};
use crate::ecn::{
    ACE_MODULUS, ALL_FIELDS, AckReport, Arrived, EcnOption, EcnReceiver, Feedback, Marked,
    OptionSeen,
};
use crate::events::{CwndCause, EcnFeedback, Event, EventMask, Phase};
use crate::scoreboard::Revealed;
use crate::space::{Length, Offset};

/// SACK blocks that take precedence over an AccECN option (RFC 9768 section 3.2.3.3).
const SACK_BLOCKS_KEPT: usize = 2;

/// Octets of the longest AccECN option.
pub(super) const OPTION_ROOM: u64 = 12;

/// ECN state of a connection, partly in the terms of Linux's `tcp_info`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EcnInfo {
    /// Feedback that both sides agreed on (`TCPI_OPT_ECN`).
    pub feedback: EcnFeedback,
    /// Whether our new data leaves as ECT(0).
    pub sends_ect: bool,
    /// Whether feedback is trusted (`tcpi_accecn_fail_mode`).
    pub heeds: bool,
    /// Whether any packet arrived with ECT or CE (`TCPI_OPT_ECN_SEEN`).
    pub seen: bool,
    /// Packets that arrived with CE (`tcpi_received_ce`).
    pub received_ce: u64,
    /// Packets we sent that were reported with CE (`tcpi_delivered_ce`). With classic feedback:
    /// all that an acknowledgment with ECN-Echo covers, as in Linux.
    pub delivered_ce: u64,
    /// Octets that arrived with ECT(1), ECT(0), CE, with accurate feedback. In Linux:
    /// `tcpi_received_e1_bytes`, `_e0_bytes`, `_ce_bytes`.
    pub received_octets: [u64; 3],
    /// Octets reported as arrived with ECT(1), ECT(0), CE. Requires accurate feedback with its
    /// options. In Linux: `tcpi_delivered_e1_bytes`, `_e0_bytes`, `_ce_bytes`.
    pub delivered_octets: [u64; 3],
    /// Whether AccECN options arrive (`tcpi_accecn_opt_seen`).
    pub option_seen: OptionSeen,
    /// Whether AccECN options are sent.
    pub sends_options: bool,
}

/// Congestion report of an acknowledgment.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct CongestionReport {
    /// The window is to be reduced, unless it was for this window of data.
    pub(super) is_notified: bool,
    /// Newly reported as marked.
    pub(super) marked: Marked,
}

/// Reaction to a [`CongestionReport`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReportEffect {
    /// None: there was no report, or this window of data was already reduced.
    Nothing,
    /// The window was reduced.
    Reduced,
    /// The window is at its minimum. Acknowledged data does not open it, and new data waits.
    Held,
}

impl<P: Payload> Connection<P> {
    /// ECN state.
    pub(super) fn ecn_info(&self) -> EcnInfo {
        use crate::ecn::EcnCounters;
        let (received_ce, delivered_ce) = self.ecn.ce_packets();
        let octets = |counters: &EcnCounters| {
            let start = EcnCounters::INITIAL;
            [Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| counters.octets(ecn) - start.octets(ecn))
        };
        EcnInfo {
            feedback: self.ecn.feedback(),
            sends_ect: self.ecn.sends_ect(),
            heeds: self.ecn.heeds(),
            seen: self.ecn.has_seen(),
            received_ce,
            delivered_ce,
            received_octets: octets(self.ecn.accurate.receiver.counters()),
            delivered_octets: octets(self.ecn.accurate.sender.counters()),
            option_seen: self.ecn.accurate.sender.option_seen(),
            sends_options: self.ecn.accurate.receiver.sends_options(),
        }
    }

    // The handshake.

    /// Sets the ECN fields of our SYN or SYN-ACK.
    pub(super) fn dress_syn(&mut self, syn: &mut Segment<P>) {
        if !self.handshake.syn_answers {
            syn.flags |= self.ecn.flags_of_syn(self.timers.timeouts_in_a_row);
            return;
        }
        let (flags, may_have_option) = self.ecn.flags_of_syn_ack(self.timers.timeouts_in_a_row);
        syn.flags |= flags;
        if may_have_option {
            syn.options.accecn = self.ecn.accurate.receiver.option();
            // Section 3.2.3.2.1: it may be omitted for lack of space.
            if syn.options.wire_len() > self.option_room() {
                syn.options.accecn = None;
            }
        }
        if self.ecn.feedback() == EcnFeedback::Accurate {
            let with_option = syn.options.accecn.is_some();
            self.ecn.accurate.receiver.on_sent(with_option);
        }
    }

    /// Processes the peer's first valid SYN or SYN-ACK.
    pub(super) fn settle_ecn(&mut self, now: Instant, syn: &Segment<P>) {
        // The SYN-ACK reports a SYN, which is not counted (RFC 9768 section 3.2).
        let counted = u32::from(syn.flags.contains(Flags::ACK));
        self.ecn.count(syn.ecn, counted);
        if !syn.flags.contains(Flags::ACK) {
            self.ecn.on_syn(syn.flags, syn.ecn);
        }
        let mark = syn.flags.contains(Flags::ACK) && self.ecn.on_syn_ack(syn.flags, syn.ecn);
        if self.ecn.feedback() == EcnFeedback::Accurate && syn.flags.contains(Flags::ACK) {
            // RFC 9768 sections 3.2.3.2.3 and 3.2.3.2.4, the client's side.
            self.ecn
                .accurate
                .sender
                .on_first_option(syn.options.accecn.as_ref());
            self.follow_option_room(now);
            // Section 3.2.2.1: a pure acknowledgment reports how it arrived.
            self.ack.demand_alone();
        }
        if mark {
            self.begin_with_one_segment(now);
        }
        if self.ecn.is_on() {
            let feedback = self.ecn.feedback();
            self.outbox
                .put(EventMask::CHANGES, now, Event::EcnAgreed { feedback });
        }
    }

    /// Sets the window to one segment after our SYN or SYN-ACK met congestion. RFC 9768 section
    /// 3.2.2.2 requires a response and leaves it open; this is that of
    /// draft-ietf-tcpm-generalized-ecn sections 3.2.1 and 3.2.2.
    fn begin_with_one_segment(&mut self, now: Instant) {
        let one_segment = Bytes::new(u64::from(self.smss));
        self.congestion.on_idle_restart(now, one_segment);
        self.put_cwnd(now, CwndCause::Initial);
    }

    /// Processes a repeated SYN before our SYN-ACK is acknowledged. Returns whether the handshake
    /// may continue: RFC 9768 section 3.1.5 requires a reset if the peer requests two kinds of
    /// feedback.
    pub(super) fn process_repeated_syn(&mut self, now: Instant, syn: &Segment<P>) -> bool {
        let must_reset = self.ecn.on_syn_again(syn.flags, syn.ecn);
        if must_reset {
            self.closing.reset_due = Some(Reset {
                seq: self.snd.on_wire(self.snd.acceptable()),
                ack: Some(self.rcv.on_wire(self.rcv.nxt)),
            });
            self.fail(now, Failure::Aborted);
        }
        !must_reset
    }

    /// Processes a repeated SYN-ACK after we acknowledged the first. The pure acknowledgment sent
    /// in answer reports how this one arrived (RFC 9768 section 3.2.2.1).
    pub(super) fn process_repeated_syn_ack(&mut self, syn_ack: &Segment<P>) {
        let is_one = syn_ack.flags.contains(Flags::SYN | Flags::ACK);
        if self.ecn.is_on() && is_one && self.handshake.active_open {
            self.ecn.on_syn_ack_again(syn_ack.ecn);
        }
    }

    /// Processes the segment that completes our passive open. A pure acknowledgment without SACK
    /// reports how our SYN-ACK arrived; any other carries the counter (RFC 9768 section 3.2.2.1).
    pub(super) fn process_handshake_ack(&mut self, now: Instant, segment: &Segment<P>) {
        if self.ecn.feedback() != EcnFeedback::Accurate {
            return;
        }
        let option = segment.options.accecn.as_ref();
        // Sections 3.2.3.2.3 and 3.2.3.2.4, the server's side.
        self.ecn.accurate.sender.on_first_option(option);
        self.follow_option_room(now);
        let stamp = segment.options.timestamps.map(|stamps| stamps.val);
        let _first = self.ecn.is_newer(stamp);
        let is_handshake = !segment.flags.contains(Flags::SYN)
            && segment.seq_len() == 0
            && segment.options.sack.is_empty();
        if is_handshake && self.ecn.on_handshake_ack(segment.flags) {
            self.begin_with_one_segment(now);
        }
    }

    // Receiving.

    /// Reads ECN marks and router options of an acceptable segment.
    #[inline]
    pub(super) fn note_network(&mut self, now: Instant, segment: &Segment<P>) {
        if self.ecn.is_on() {
            self.receive_ecn(now, segment);
        }
        if segment.options.has_rare() {
            self.process_router_options(now, segment);
        }
    }

    fn receive_ecn(&mut self, now: Instant, segment: &Segment<P>) {
        let packets = segment.wire_segments() as u32;
        self.ecn.count(segment.ecn, packets);
        self.ecn.end_handshake();
        if self.ecn.feedback() == EcnFeedback::Accurate {
            self.receive_accurately(segment, packets);
            return;
        }
        // RFC 3168 section 6.1.3 covers only data; acknowledgments cannot be ECT.
        if segment.payload.is_empty() {
            return;
        }
        if self.ecn.would_change_state(segment.ecn) && self.ack.is_held_back() {
            self.ack.demand();
            self.ecn.early_ack = self.poll_ack(now).map(Box::new);
        }
        if self.ecn.on_data(segment.flags, segment.ecn) {
            self.ack.demand();
        }
    }

    fn receive_accurately(&mut self, segment: &Segment<P>, packets: u32) {
        // The acknowledgment of the handshake has no counter in it.
        if !segment.flags.contains(Flags::SYN) {
            self.ecn.test_first(segment.flags);
        }
        let octets = segment.payload.len() as u64;
        let unacked = self.rcv.nxt > self.rcv.last_ack_sent;
        let nothing_else = !self.ack.is_due() && !unacked && octets == 0;
        let arrived = Arrived {
            ecn: segment.ecn,
            octets,
            packets,
            unacked,
        };
        if self.ecn.accurate.receiver.on_arrival(&arrived) {
            self.ack.demand();
            // Section 3.2.2.5.1: acknowledgments of acknowledgments must not
            // be taken for duplicates.
            self.ecn.set_without_sack(nothing_else);
        }
        if octets > 0 {
            self.ecn.set_without_sack(false);
            let end = self.rcv.offset_of(segment.seq).map(|seq| seq + octets);
            let repeated = end.is_some_and(|end| end <= self.rcv.nxt);
            self.ecn.accurate.receiver.on_data(repeated);
        }
    }

    /// Counts a segment whose data had all arrived before: our acknowledgments may be lost. What
    /// crossed the path counts unless it is older than our last acknowledgment (as in Linux): an
    /// old duplicate is indistinguishable from a retransmission there.
    pub(super) fn note_repetition(&mut self, segment: &Segment<P>) {
        if self.ecn.feedback() != EcnFeedback::Accurate {
            return;
        }
        let octets = segment.payload.len() as u64;
        let end = self.rcv.offset_of(segment.seq).map(|seq| seq + octets);
        if end.is_some_and(|end| end >= self.rcv.last_ack_sent) {
            let packets = segment.wire_segments() as u32;
            self.ecn.count(segment.ecn, packets);
            self.ecn.accurate.receiver.on_arrival(&Arrived {
                ecn: segment.ecn,
                octets,
                packets,
                unacked: false,
            });
        }
        self.ecn.accurate.receiver.on_data(true);
    }

    // Sending.

    /// Whether sent segments get any ECN or router fields.
    #[inline]
    pub(super) fn is_dressed(&self) -> bool {
        self.ecn.feedback() == EcnFeedback::Accurate
            || self.routers.is_on()
            || self.quick_start.is_due()
    }

    /// Adds router options, the AccECN option and the ACE counter to a non-SYN segment. `has_room`
    /// states whether the AccECN option fits next to its payload.
    pub(super) fn dress(&mut self, segment: &mut Segment<P>, has_room: bool) {
        if self.routers.is_on() || self.quick_start.is_due() {
            self.dress_for_routers(segment);
        }
        if self.ecn.feedback() != EcnFeedback::Accurate {
            return;
        }
        segment.ace = true;
        if self.ecn.take_without_sack() {
            segment.options.sack.truncate(0);
        }
        let room = self.option_room();
        if self.ecn.accurate.receiver.is_always() {
            if self.ecn.makes_room() {
                fit_always(segment, room, &self.ecn.accurate.receiver);
                // In a small MSS it may not fit next to a router option.
                if segment.options.router_request().is_some() && !self.fits(segment) {
                    segment.options.accecn = None;
                }
            }
        } else if has_room && let Some(option) = self.ecn.accurate.receiver.option() {
            segment.options.accecn = Some(option);
            fit_options(segment, room);
        }
        let with_option = segment.options.accecn.is_some();
        self.ecn.accurate.receiver.on_sent(with_option);
    }

    /// Adapts the segment size when options begin or stop appearing on every segment.
    fn follow_option_room(&mut self, now: Instant) {
        if self.ecn.accurate.receiver.is_always() {
            self.follow_segment_size(now);
        }
    }

    pub(super) fn set_ecn_option(&mut self, now: Instant, option: EcnOption) {
        self.ecn.accurate.receiver.set_option(option);
        if self.is_synchronized() {
            self.follow_segment_size(now);
        }
    }

    /// Octets of the authentication option in each segment.
    pub(super) fn authentication_room(&self) -> usize {
        usize::from(self.authentication.is_some()) * authenticate::OPTION_LEN
    }

    /// Octets of options that a segment may have before it is signed.
    pub(super) fn option_room(&self) -> usize {
        MAX_OPTIONS_LEN - self.authentication_room()
    }

    /// Whether a segment with `len` octets of data has space for an AccECN option. With accurate
    /// feedback the first data carries one (RFC 9768 section 3.2.3.2.1); retransmissions do not
    /// (3.2.3.2.2).
    pub(super) fn has_room_for_accecn(
        &mut self,
        Offset(seq): Offset,
        Length(len): Length,
        fresh: bool,
    ) -> bool {
        if self.ecn.feedback() != EcnFeedback::Accurate {
            return false;
        }
        // A lone FIN carries no data.
        let has_room = (fresh || len == 0) && len + OPTION_ROOM <= u64::from(self.smss);
        if has_room && seq == 1 && fresh {
            self.ecn.accurate.receiver.repeat_option();
        }
        has_room
    }

    // Sender side.

    /// Congestion report of an acceptable acknowledgment.
    #[inline]
    pub(super) fn process_ecn_feedback(
        &mut self,
        now: Instant,
        segment: &Segment<P>,
        revealed: &Revealed,
    ) -> CongestionReport {
        match self.ecn.feedback() {
            EcnFeedback::None => CongestionReport::default(),
            EcnFeedback::Classic => self.process_ece(segment, revealed),
            EcnFeedback::Accurate => self.process_accecn(now, segment, revealed),
        }
    }

    /// Classic feedback: RFC 3168 section 6.1.2.
    fn process_ece(&mut self, segment: &Segment<P>, revealed: &Revealed) -> CongestionReport {
        if !segment.flags.contains(Flags::ECE) || segment.flags.contains(Flags::SYN) {
            return CongestionReport::default();
        }
        let octets = newly_delivered(revealed);
        let marked = Marked {
            octets,
            packets: self.packets_of(octets, revealed),
        };
        CongestionReport {
            is_notified: true,
            marked: self.ecn.note_delivered(marked),
        }
    }

    /// Accurate feedback: RFC 9768 section 3.2.2.2. An acknowledgment that another superseded is
    /// skipped (appendix A.1); octets show it, otherwise timestamps.
    fn process_accecn(
        &mut self,
        now: Instant,
        segment: &Segment<P>,
        revealed: &Revealed,
    ) -> CongestionReport {
        let stamp = segment.options.timestamps.map(|stamps| stamps.val);
        let is_newer = self.ecn.is_newer(stamp);
        let octets = newly_delivered(revealed);
        let is_superseded = octets == 0 && !is_newer;
        let is_syn = segment.flags.contains(Flags::SYN);
        if is_superseded || is_syn || self.is_handshake_ack(segment) {
            return CongestionReport::default();
        }
        // Each transmission ends in at most one segment that is not full.
        let at_most = revealed.acked / u64::from(self.smss) + u64::from(revealed.transmissions) + 1;
        let packets = self.packets_of(octets, revealed);
        let made_room = self.ecn.makes_room();
        let marked = self.ecn.on_feedback(&Feedback {
            ace: segment.flags.ace(),
            option: segment.options.accecn,
            octets,
            packets,
            packets_at_most: (revealed.sacked == 0).then_some(at_most),
            smss: self.smss,
        });
        if self.ecn.makes_room() != made_room {
            // The peer's first option came late: from now on we send them too.
            self.follow_segment_size(now);
        }
        let told = AckReport {
            from: self.snd.una - revealed.acked,
            una: self.snd.una,
            nxt: self.snd.nxt,
            delivered: packets,
            marked: marked.packets,
            may_hide_marks: segment.options.accecn.is_none()
                && packets >= marked.packets + ACE_MODULUS,
        };
        if self.ecn.fails_sanity_check(&told) {
            return CongestionReport::default();
        }
        CongestionReport {
            is_notified: marked.packets > 0,
            marked,
        }
    }

    /// Whether the ACE field reports how our SYN-ACK arrived. It does on the segment that
    /// completes our passive open. It also does on a pure acknowledgment without SACK that
    /// acknowledges no more than the SYN-ACK and repeats that report. Our SYN-ACK may have arrived
    /// again, and the client reports each (RFC 9768 section 3.2.2.1); section 3.2.2.2 lets a
    /// server check. If it was a counter after all, the next acknowledgment repeats its value.
    fn is_handshake_ack(&self, segment: &Segment<P>) -> bool {
        let is_pure = segment.seq_len() == 0 && segment.options.sack.is_empty();
        let again = self.ecn.is_answer_again(segment.flags);
        self.ecn.is_handshake() || (self.snd.una <= 1 && is_pure && again)
    }

    /// Number of packets in `octets`: full ones, or one per transmission. If some had been SACKed,
    /// and counted then, full ones.
    fn packets_of(&self, octets: u64, revealed: &Revealed) -> u32 {
        let full = octets.div_ceil(u64::from(self.smss));
        let full = u32::try_from(full).unwrap_or(u32::MAX);
        if revealed.acked_after_sack > 0 {
            full
        } else {
            full.max(revealed.transmissions)
        }
    }

    /// Reduces the window once per window of data after a congestion report. See RFC 3168 section
    /// 6.1.2. A window of one segment cannot be reduced: then no new data leaves before one
    /// timeout has passed.
    pub(super) fn apply_congestion_report(
        &mut self,
        now: Instant,
        report: &CongestionReport,
        revealed: &Revealed,
    ) -> ReportEffect {
        if !report.is_notified {
            return ReportEffect::Nothing;
        }
        if self.outbox.wants(EventMask::SEGMENTS) {
            let event = Event::MarksReported {
                octets: report.marked.octets,
                segments: report.marked.packets,
            };
            self.outbox.put(EventMask::SEGMENTS, now, event);
        }
        let at_least = self.congestion.cwnd().as_u64() <= u64::from(self.smss);
        if at_least && self.recovery.phase() != Phase::Recovery {
            self.ecn.hold_until = now + self.rtt.rto();
            self.restart_retransmit_timer(now);
            return ReportEffect::Held;
        }
        if !self.enter_cwr(now, revealed) {
            return ReportEffect::Nothing;
        }
        self.counters.ecn_reductions += 1;
        ReportEffect::Reduced
    }

    /// Whether new data waits because the window cannot shrink further.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.ecn.hold_until != Instant::FAR_FUTURE
    }
}

/// Octets that an acknowledgment newly reports as delivered.
fn newly_delivered(revealed: &Revealed) -> u64 {
    revealed.acked - revealed.acked_after_sack + revealed.sacked
}

/// Fits the options into `room` octets. SACK keeps two blocks and yields the others; if that is
/// not enough, the AccECN option is removed (RFC 9768 section 3.2.3.3).
fn fit_options<P>(segment: &mut Segment<P>, room: usize) {
    let options = &mut segment.options;
    let whole = options.sack;
    while options.wire_len() > room {
        let blocks = options.sack.len();
        if blocks <= SACK_BLOCKS_KEPT {
            options.sack = whole;
            options.accecn = None;
            return;
        }
        options.sack.truncate(blocks - 1);
    }
}

/// Fits the options if every segment carries an AccECN option. It has all three counters if they
/// fit, or only those required, or those with fewer SACK blocks, down to two. If even that does
/// not fit, SACK takes precedence (as in Linux).
fn fit_always<P>(segment: &mut Segment<P>, room: usize, receiver: &EcnReceiver) {
    let options = &mut segment.options;
    let whole = options.sack;
    let least = receiver.needed_fields();
    loop {
        for fields in (least..=ALL_FIELDS).rev() {
            options.accecn = Some(receiver.option_of(fields));
            if aligned_len(options) <= room {
                return;
            }
        }
        let blocks = options.sack.len();
        if blocks <= SACK_BLOCKS_KEPT {
            options.sack = whole;
            options.accecn = None;
            return;
        }
        options.sack.truncate(blocks - 1);
    }
}

/// Octets of the options of an acknowledgment, each kind aligned to four as in Linux.
fn aligned_len(options: &Options) -> usize {
    let stamps = if options.timestamps.is_some() { 12 } else { 0 };
    let blocks = match options.sack.len() {
        0 => 0,
        blocks => 4 + 8 * blocks,
    };
    let counters = options.accecn.map_or(0, |option| option.wire_len());
    // Any other option makes the packed length the longer one.
    (stamps + blocks + counters.next_multiple_of(4)).max(options.wire_len())
}
