//! Packets of the sender: new data, retransmissions, FIN, resets.

use crate::echoes::Tick;
use crate::measures::loss_burst::LossBurst;

use super::overtaken::ReorderResult;
use super::scale::ScaleFit;
use super::*;

/// Maximum time of an immediate response of a host.
const HOST: Duration = Duration::from_micros(20);

/// Minimum time between segments for a pause.
const LEAST_PAUSE: Duration = Duration::from_millis(2);

impl SenderView {
    /// Processes a packet of the sender: data, or its FIN.
    #[inline(always)]
    pub fn on_sent(&mut self, shown: &AnalyzedPacket<'_>) {
        if self.is_expected(shown) {
            self.on_expected(shown);
        } else {
            self.on_any(shown);
        }
    }

    #[inline(never)]
    fn on_any(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        if packet.flags.contains(Flags::RST) {
            return self.on_reset(shown);
        }
        if shown.verdict.kinds.contains(Kind::ZeroWindowProbe) {
            self.on_probe(shown);
        }
        if packet.seq_len() == 0 || packet.flags.contains(Flags::SYN) {
            self.note_ident(shown);
            return self.count_others_again(shown);
        }
        self.steady = 0;
        let data = shown.connection.direction(self.side);
        let start = data.position_of(packet.seq);
        let end = start + u64::from(packet.seq_len());
        let kinds = shown.verdict.kinds;
        if kinds.contains(Kind::CapturedTwice) || kinds.contains(Kind::KeepAlive) {
            return;
        }
        self.note_echo(shown);
        if !self.has_data {
            self.begin(shown, start);
        }
        self.release((start, end), shown);
        self.note_hole(shown, start);
        self.note_spacing(shown, start);
        let is_expiry = kinds.contains(Kind::TimeoutRetransmission);
        let silence = packet.at.saturating_since(self.last);
        self.pass(packet.at, if is_expiry { End::Expiry } else { End::Event });
        self.note_ident(shown);
        if kinds.is_retransmission() || kinds.contains(Kind::OutOfOrder) {
            self.data_spacing.skip();
        }
        if kinds.is_retransmission() {
            self.on_old(shown, (start, end), silence);
        } else {
            self.on_new(shown, start, end);
        }
        if kinds.contains(Kind::OutOfOrder) {
            self.overtaken.on_late((start, end), packet);
            self.note_late();
        }
        if kinds.contains(Kind::CongestionExperienced) {
            self.round.marks += 1;
            self.round.ce += 1;
        }
        if kinds.contains(Kind::CongestionWindowReduced) {
            self.round.cwr += 1;
        }
        self.last_data = self.last_data.max(packet.at);
    }

    /// Records packets that the sender made and that did not pass here.
    fn note_ident(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        let is_none = shown.verdict.kinds.contains(Kind::CapturedTwice);
        if is_none || packet.flags.contains(Flags::SYN) {
            return;
        }
        let size = wire_segment(shown.connection, self.side, packet).max(self.mss);
        let segments = u64::from(packet.payload_len).div_ceil(size.max(1));
        let missing = self.idents.on_packet(packet.ident, segments as u16);
        self.count_missing(missing, packet.payload_len);
    }

    /// Counts packets that are missing before one with `payload_len` bytes of data.
    #[inline(always)]
    pub(super) fn count_missing(&mut self, missing: u64, payload_len: u32) {
        self.round.missing += missing;
        if self.nxt == self.una && payload_len > 0 {
            self.round.hidden += missing;
        }
    }

    /// Processes a zero-window probe.
    #[cold]
    fn on_probe(&mut self, shown: &AnalyzedPacket<'_>) {
        if self.has_data {
            let place = shown.connection.position(self.side, shown.packet.seq);
            self.release((place, place), shown);
            self.pass(shown.packet.at, End::Event);
        }
        self.is_probed = true;
    }

    /// Begins with the first data.
    fn begin(&mut self, shown: &AnalyzedPacket<'_>, start: u64) {
        let data = shown.connection.direction(self.side);
        self.pass(shown.packet.at, End::Event);
        self.has_data = true;
        // Its own retransmissions are counted later, those of SYNs never.
        let own = if shown.verdict.kinds.is_retransmission() {
            let size = shown.connection.segment_size(self.side, shown.packet);
            u64::from(shown.packet.payload_len.div_ceil(size.max(1)))
        } else {
            0
        };
        self.counted_again = data.retransmitted_segments().saturating_sub(own);
        self.first_data = Some(shown.packet.at);
        self.first_place = start;
        // The first data may be a retransmission of acknowledged data.
        self.una = acked_to(data).max(start);
        self.nxt = self.una;
        self.recover = self.una;
        self.knows_edge = shown.connection.scaling() != Scaling::Unknown;
        self.scale = (!self.knows_edge).then(ScaleFit::new);
        if data.offered_to() > data.first_position() {
            self.edge = self.edge.max(data.offered_to());
        }
        self.close_round(shown.packet.at, shown.number);
    }

    #[inline(always)]
    pub(super) fn note_echo(&mut self, shown: &AnalyzedPacket<'_>) {
        let Some(stamps) = shown.packet.timestamps else {
            return;
        };
        if let Some(stamp) = self.fresh(0, stamps.val, shown.packet.at) {
            self.round.data_stamp.get_or_insert(stamp);
            if let Some(late) = self.host_clock.on_fresh(stamp) {
                Extremes::widen(&mut self.round.data_late, late);
            }
        }
        let (turn, unknown) = self.echoes.on_echo(stamps.ecr, shown.packet.at);
        if let Some(turn) = turn {
            // A timer releases a retransmission, and an application what follows a silence: the
            // time since the ACK is not that of the path.
            if !shown.verdict.kinds.is_retransmission() {
                self.round.turn.add(turn);
                if self.nxt > self.una {
                    self.last_turn = Some(turn);
                }
            }
            // If packets are missing, the echoed timestamp may have passed before.
            if !self.had_handshake {
                self.turn = Some(self.turn.map_or(turn, |known| known.min(turn)));
                self.note_round_trip();
            }
        }
        if let Some(unknown) = unknown {
            self.note_lag(shown, &unknown);
        }
    }

    /// Records that the segment does not echo an acknowledgment that had passed.
    #[cold]
    fn note_lag(&mut self, shown: &AnalyzedPacket<'_>, unknown: &Tick) {
        let since = shown.packet.at.saturating_since(unknown.at);
        let waited = since.saturating_sub(self.turn.unwrap_or_default());
        let is_again = shown.verdict.kinds.is_retransmission();
        let lag = Lag {
            packet: shown.number,
            waited,
            unknown: unknown.packet,
            is_again,
        };
        if self.lag.is_none_or(|most| most.waited < waited) {
            self.lag = Some(lag);
        }
        if is_again && self.lag_again.is_none_or(|most| most.waited < waited) {
            self.lag_again = Some(lag);
        }
    }

    fn note_hole(&mut self, shown: &AnalyzedPacket<'_>, start: u64) {
        if shown.verdict.kinds.contains(Kind::AfterGap) && start > self.nxt {
            self.round.gaps += 1;
            self.meter.on_hole(start - self.nxt);
            self.hole.get_or_insert((start, shown.packet.at));
            self.episodes.on_hole(SequenceGap {
                at: shown.packet.at,
                packet: shown.number,
                start: self.nxt,
                end: start,
                frozen: self.stillness(),
                after: self.last_data,
            });
        }
    }

    /// Records distances between full segments, and across gaps.
    fn note_spacing(&mut self, shown: &AnalyzedPacket<'_>, start: u64) {
        let octets = u64::from(shown.packet.payload_len);
        let gap = shown.packet.at.saturating_since(self.last_data);
        if octets < self.mss.max(1) || self.first_data == Some(shown.packet.at) {
            return;
        }
        if start == self.nxt {
            self.data_spacing.add(octets, gap);
        } else if start > self.nxt
            && shown.verdict.kinds.contains(Kind::AfterGap)
            && self.gaps.len() < MAX_GAPS
        {
            self.gaps.push(Gap {
                start: self.nxt,
                end: start,
                octets,
                wait: gap,
                train: self.data_spacing.train,
            });
            // Another train begins after it, unless the gap took time.
            if !self.data_spacing.is_close(octets, gap) {
                self.data_spacing.begin_train(octets);
            }
        }
    }

    fn on_new(&mut self, shown: &AnalyzedPacket<'_>, start: u64, end: u64) {
        let packet = shown.packet;
        let octets = u64::from(packet.payload_len);
        // The connection continues: the reset came from neither of the two hosts.
        self.over = None;
        if let Some(first) = &mut self.resets.first {
            first.latest_data = Some(packet.at);
        }
        let segment = wire_segment(shown.connection, self.side, packet);
        if segment > self.mss {
            // What was full before is not.
            (self.mss, self.unacked_full) = (segment, None);
        }
        // After a smaller one was tried, several of that size may be in one packet.
        let is_full =
            octets >= self.mss && (!self.has_resent_part || octets.is_multiple_of(self.mss.max(1)));
        if self.largest_acked < self.mss && is_full {
            self.unacked_full.get_or_insert((start, end));
        }
        if !shown.verdict.kinds.contains(Kind::OutOfOrder) {
            self.largest = self.largest.max(octets).min(65_536);
        }
        // A packet of several segments ends with a short one if the application wrote no more.
        if octets > 0 && !octets.is_multiple_of(self.mss.max(1)) {
            self.round.small += 1;
        }
        self.usual = vote(self.usual, octets);
        if let Some(open) = &mut self.open {
            open.sent += octets;
        }
        self.count_new(packet.at, octets, (start, end));
        self.is_all = !self.is_whole(shown, octets) && !self.is_closed();
        if packet.flags.contains(Flags::FIN) {
            self.fin = true;
        }
        self.look_ahead(octets);
    }

    /// Counts a segment of new data.
    #[inline(always)]
    pub(super) fn count_new(&mut self, at: Instant, octets: u64, (start, end): (u64, u64)) {
        if self.nxt == self.una {
            self.round.idle_free += core::mem::take(&mut self.idle);
        }
        self.is_asked = false;
        let is_first = self.round.segments == 0 && end > self.nxt || start > self.nxt;
        if is_first && self.flight() == 0 {
            self.round_end = end;
        }
        self.nxt = self.nxt.max(end);
        let flight = self.flight();
        self.round.flight = self.round.flight.max(flight);
        self.full[1] = self.full[1].max(flight);
        self.meter.on_sent(at, octets, end);
        self.round.sent += octets;
        self.round.segments += 1;
        let trip = self.round_trip;
        let gap = at.saturating_since(self.last_data);
        if self.round.segments > 1 && gap < trip / 4 {
            self.round.train_octets += octets;
            self.round.train_time += gap;
            let gap_per_byte = f32_of(gap.as_nanos()) / f32_of(octets.max(1));
            self.round.send_gaps.add(gap_per_byte);
        }
        self.note_burst(at, octets, gap, trip);
        self.note_clock(at, octets, gap, trip);
        self.first_learned = None;
    }

    /// Records the rate from burst to burst. A long burst is measured in parts of an eighth of the
    /// RTT.
    #[inline]
    fn note_burst(&mut self, at: Instant, octets: u64, gap: Duration, trip: Duration) {
        let (start, bytes) = self.burst;
        let lasted = at.saturating_since(start);
        if gap < SEND_BURST && (lasted < LONG_BURST || lasted < trip / 8) {
            self.burst.1 += octets;
            return;
        }
        if gap < trip && bytes > 0 && !lasted.is_zero() {
            let rate = f32_of(bytes) * 1e9 / f32_of(lasted.as_nanos());
            self.round.burst_rate.add(rate);
        }
        self.usual_burst = self.usual_burst - self.usual_burst / 8 + bytes.min(65_536) / 8;
        self.burst = (at, octets);
    }

    /// Time within which data is an immediate response to an ACK. It applies even if
    /// acknowledgments are close together, and depends on the accuracy of the turnaround.
    pub fn at_once(turn: Option<Duration>) -> Duration {
        (turn.unwrap_or_default() / 150).max(HOST)
    }

    /// Whether `octets` are full segments without a remainder.
    fn is_whole(&self, shown: &AnalyzedPacket<'_>, octets: u64) -> bool {
        if self.mss > 64 && octets.is_multiple_of(self.mss) {
            return true;
        }
        let options = |side| shown.connection.direction(side).options();
        let here = options(self.side);
        let there = options(self.side.other());
        // A capture on the host has several segments in one packet.
        let offered = here.zip(there).and_then(|(mine, theirs)| {
            let stamps = if mine.timestamps && theirs.timestamps {
                12
            } else {
                0
            };
            Some(u64::from(mine.mss?.min(theirs.mss?)).saturating_sub(stamps))
        });
        let (usual, lead) = self.usual;
        let is_of = |size: u64| size > 64 && octets.is_multiple_of(size);
        octets == 0 || offered.is_some_and(is_of) || lead >= 20 && is_of(usual)
    }

    /// Records whether an acknowledgment released the data, or something else.
    #[inline]
    fn note_clock(&mut self, at: Instant, octets: u64, gap: Duration, trip: Duration) {
        let since_ack = at.saturating_since(self.last_ack);
        // Nearly always a segment is a response to an acknowledgment, and the limits for other
        // causes need not be calculated.
        let may_be_dry = match self.first_learned {
            None => self.is_all && gap > HOST * 2,
            Some(first) => {
                at.saturating_since(first) > HOST * 2 && (gap > HOST * 2 || !self.is_all)
            }
        };
        if since_ack <= HOST && !may_be_dry && gap <= LEAST_PAUSE {
            self.round.clocked += octets;
        } else {
            self.note_other_clock(at, octets, gap, trip);
        }
        if gap < trip {
            self.spacing = self.spacing - self.spacing / 8 + gap / 8;
        }
    }

    #[inline(never)]
    fn note_other_clock(&mut self, at: Instant, octets: u64, gap: Duration, trip: Duration) {
        let since_ack = at.saturating_since(self.last_ack);
        // If acknowledgments are close together, any segment closely follows one of them; a kernel
        // responds in 10 to 120 us. Away from the sender the turnaround is known less exactly.
        let share = if self.is_near() { 4 } else { 8 };
        let at_once = (trip / 100)
            .min(self.ack_every / share)
            .max(Self::at_once(self.turn));
        let is_clocked = since_ack <= at_once;
        if is_clocked {
            self.round.clocked += octets;
        }
        self.note_dry(at, octets, gap, (at_once, trip));
        self.round.bunched += u64::from(gap * 2 < self.spacing);
        let pause = (self.spacing * 4).max(trip / 10).max(LEAST_PAUSE);
        if gap > pause && self.flight() > octets {
            self.answering_starts += u64::from(self.is_answer);
            if is_clocked {
                self.round.clocked_starts += 1;
            } else {
                self.round.free_starts += 1;
            }
        }
    }

    /// Detects time in which the sender had nothing to send. Acknowledgments arrived and the window
    /// was open, or all written data had been sent, as a segment that is not full shows; yet
    /// nothing was sent until now. After full segments only a long silence after an acknowledgment
    /// counts.
    fn note_dry(
        &mut self,
        at: Instant,
        octets: u64,
        gap: Duration,
        (at_once, trip): (Duration, Duration),
    ) {
        let answer = self.first_learned.map(|first| at.saturating_since(first));
        let late = (at_once * 2).max(trip / 20);
        let is_late = |since: Duration| since > late;
        let pause = (self.spacing * 4).max(trip / 10);
        // Elsewhere acknowledgments may have been delayed after the capture point.
        let is_near = self.is_near();
        let is_dry = if self.is_all {
            answer.is_none_or(is_late) && gap > late
        } else {
            is_near && answer.is_some_and(|since| since > late.max(pause))
        };
        if is_dry && self.open.is_none() {
            self.round.dry += gap;
            // Nagle's algorithm holds back less than a full segment.
            if octets >= self.mss {
                let since_ack = at.saturating_since(self.last_ack);
                let is_under_way = self.flight() > octets;
                self.pauses.on_end(is_under_way, since_ack, self.turn);
            }
        }
    }

    fn note_late(&mut self) {
        self.round.late += 1;
        if let Some(open) = &mut self.open {
            open.late += 1;
        }
    }

    /// Processes a segment that was retransmitted, or overtaken by its own retransmission.
    fn on_old(&mut self, shown: &AnalyzedPacket<'_>, (start, end): (u64, u64), silence: Duration) {
        let kinds = shown.verdict.kinds;
        let turned = self.overtaken.on_again((start, end), shown.packet, kinds);
        if turned == ReorderResult::Overtaken {
            self.count_again(shown);
            self.note_late();
        } else {
            self.on_again(shown, start, end, silence);
        }
        let episode = match &mut self.open {
            Some(open) => Some(open),
            None => self.episodes.list.last_mut(),
        };
        let Some(episode) = episode else { return };
        // Data acknowledged when its copy passed had arrived.
        let was_there =
            turned != ReorderResult::AsItSeems || kinds.contains(Kind::SpuriousRetransmission);
        episode.overtaken += u64::from(turned != ReorderResult::AsItSeems);
        episode.needless += u64::from(was_there);
    }

    /// Retransmitted wire segments that `flows` counted since the last call. It has their size
    /// within super-segments.
    fn count_again(&mut self, shown: &AnalyzedPacket<'_>) -> u64 {
        let data = shown.connection.direction(self.side);
        let before = core::mem::replace(&mut self.counted_again, data.retransmitted_segments());
        self.counted_again.saturating_sub(before)
    }

    /// Excludes retransmissions without data here from the next count.
    #[cold]
    fn count_others_again(&mut self, shown: &AnalyzedPacket<'_>) {
        if shown.verdict.kinds.is_retransmission() {
            self.count_again(shown);
        }
    }

    /// Begins a recovery episode at position `start`.
    fn begin_episode(&mut self, shown: &AnalyzedPacket<'_>, start: u64) {
        self.row = (start, start);
        self.open = Some(RecoveryEpisode {
            at: shown.packet.at,
            until: shown.packet.at,
            packet: shown.number,
            start,
            flight: self.flight(),
            loss_burst: LossBurst::new(start, self.nxt),
            trip: self.last_trip,
            punctual_trip: self.punctual_trip,
            turn: self.last_turn,
            frozen: self.stillness(),
            full_sized: true,
            is_reported: self.updates.duplicates > 0 || self.round.sack_acks > 0,
            ..RecoveryEpisode::default()
        });
        self.recover = self.nxt;
    }

    fn on_again(&mut self, shown: &AnalyzedPacket<'_>, start: u64, end: u64, silence: Duration) {
        let kinds = shown.verdict.kinds;
        let segments = self.count_again(shown);
        self.round.again += segments;
        // Data beyond is new.
        let old_end = end.min(self.nxt).max(start);
        if self.nxt == self.una && end <= self.una {
            self.round.idle_again += core::mem::take(&mut self.idle);
        }
        self.nxt = self.nxt.max(end);
        if kinds.contains(Kind::TailProbe) && self.open.is_none() {
            return;
        }
        let is_expiry = kinds.contains(Kind::TimeoutRetransmission)
            && self.trip().is_none_or(|trip| silence > trip);
        if self.open.is_none() {
            self.begin_episode(shown, start);
        }
        self.meter.on_lost(start, old_end - start);
        self.meter.on_sent(shown.packet.at, end - start, end);
        if self.resent.len() == MAX_RESENT {
            self.resent.pop_front();
        }
        self.resent.push_back((end, shown.packet.at, segments));
        let Some(open) = &mut self.open else { return };
        open.loss_burst.on_lost(start, end, self.mss);
        let is_part = end - start < self.mss;
        self.has_resent_part |= is_part && open.timeouts > 0;
        self.unacked_full = self
            .unacked_full
            .filter(|full| !is_part || end <= full.0 || start >= full.1);
        if open.again == 0 {
            open.full_sized = end - start >= self.mss;
        }
        open.again += segments;
        if start < open.furthest {
            open.copies += segments;
        }
        open.furthest = open.furthest.max(end);
        if is_expiry {
            open.timeouts += 1;
        }
        self.row = if start == self.row.1 {
            (self.row.0, end)
        } else {
            (start, end)
        };
        debug_assert!(
            self.row.0 <= start && start <= self.row.1,
            "a run of retransmissions {:?} ends with the one from {start}",
            self.row
        );
        open.row = open.row.max(self.row.1 - self.row.0);
        if is_expiry {
            let waited = silence.max(shown.packet.at.saturating_since(self.last_data));
            self.episodes.expire(Expiry {
                at: shown.packet.at,
                packet: shown.number,
                start,
                waited,
                ident: shown.packet.ident,
                sent: shown.connection.direction(self.side).packets(),
            });
        }
        if self.una >= self.recover {
            self.recover = self.nxt;
        }
        // Data that was acknowledged completely needs no recovery.
        if self.una >= self.nxt {
            self.end_episode();
        }
    }

    fn on_reset(&mut self, shown: &AnalyzedPacket<'_>) {
        self.steady = 0;
        self.pass(shown.packet.at, End::Event);
        self.over.get_or_insert(shown.packet.at);
        self.resets.sent += 1;
        self.note_reset(self.side, shown);
        let data = shown.connection.direction(self.side);
        self.reset.get_or_insert(Reset {
            at: shown.packet.at,
            packet: shown.number,
            place: data.position_of(shown.packet.seq),
            una: acked_to(data),
            edge: data.offered_to(),
            answered: false,
        });
    }
}
