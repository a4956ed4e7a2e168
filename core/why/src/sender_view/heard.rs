//! Packets of the receiver: acknowledgments, windows, RTT samples.

use gigatcp_flows::Kinds;

use super::*;

/// Whether it is no new data: retransmitted, or a probe.
const fn is_old(kinds: Kinds) -> bool {
    kinds.is_retransmission()
        || kinds.contains(Kind::KeepAlive)
        || kinds.contains(Kind::ZeroWindowProbe)
}

impl SenderView {
    /// Processes a packet of the receiver.
    pub fn on_heard(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        if shown.verdict.kinds.contains(Kind::CapturedTwice) {
            return;
        }
        if let Some(reset) = &mut self.reset {
            reset.answered = true;
        }
        if packet.flags.intersects(Flags::RST) {
            self.pass(packet.at, End::Event);
            self.over.get_or_insert(packet.at);
            self.resets.heard += 1;
            self.note_reset(self.side.other(), shown);
            self.steady = 0;
        }
        if packet.flags.intersects(Flags::RST) || !packet.flags.contains(Flags::ACK) {
            return;
        }
        let data = shown.connection.direction(self.side);
        if let Some(stamps) = packet.timestamps {
            self.echoes.on_val(stamps.val, packet.at, shown.number);
            if let Some(stamp) = self.fresh(1, stamps.val, packet.at) {
                self.round.ack_stamp.get_or_insert(stamp);
            }
        }
        let ack = acked_to(data);
        let edge = data.offered_to();
        self.note_trip(shown);
        if !self.resent.is_empty() {
            self.note_early(ack, packet.at, data.round_trips().min());
        }
        // What waited behind a gap is acknowledged at once: no application has read it yet, and the
        // window is small for a moment.
        let fills_gap = ack > self.updates.ack && !self.updates.is_nothing();
        self.note_window(shown, ack, fills_gap);
        self.freeze(shown, ack, edge, fills_gap);
        self.keep(
            Pending {
                at: packet.at,
                ack,
                edge,
                ts_val: packet.timestamps.map(|stamps| stamps.val),
                asks: packet.payload_len > 0 && !is_old(shown.verdict.kinds),
                window: packet.wnd,
                closes: shown.verdict.kinds.contains(Kind::ZeroWindow),
            },
            shown.number,
        );
    }

    /// Counts retransmissions that an ACK covers sooner than the receiver can have answered them:
    /// within three quarters of the minimum RTT from here to the receiver. Next to the receiver that is
    /// no more than what hosts vary by.
    #[cold]
    fn note_early(&mut self, ack: u64, at: Instant, trip: Option<Duration>) {
        const HOSTS: Duration = Duration::from_millis(1);
        let least = if self.is_near() {
            Duration::ZERO
        } else {
            HOSTS
        };
        let soon = trip.filter(|trip| *trip >= least).unwrap_or_default() * 3 / 4;
        let mut early = 0;
        self.resent.retain(|(end, sent, segments)| {
            let is_covered = *end <= ack;
            if is_covered && at.saturating_since(*sent) < soon {
                early += segments;
            }
            !is_covered
        });
        let episode = match &mut self.open {
            Some(open) => Some(open),
            None => self.episodes.list.last_mut(),
        };
        if let Some(episode) = episode {
            episode.early += early;
        }
    }

    /// Keeps an acknowledgment until the sender has received it. If very many are pending, those
    /// that are closer than a fraction of the turnaround are merged into the last of them, which
    /// includes the others.
    #[inline]
    fn keep(&mut self, known: Pending, number: u64) {
        if self.pending.len() >= MANY_PENDING {
            let turn = self.turn.unwrap_or_default();
            let before = self.pending.iter().nth_back(1);
            let is_close = |before: &Pending| {
                known.at.saturating_since(before.at) < turn / (MANY_PENDING as u64 / 2)
            };
            if before.is_some_and(is_close) {
                self.pending.pop_back();
            } else if self.pending.len() == MAX_PENDING
                && let Some(first) = self.pending.pop_front()
            {
                let due = (first.at + turn).min(known.at);
                self.pass(due, End::Event);
                self.apply_ack(&first, number);
            }
        }
        self.pending.push_back(known);
    }

    fn note_trip(&mut self, shown: &AnalyzedPacket<'_>) {
        let kinds = shown.verdict.kinds;
        let at = shown.packet.at;
        let last_heard = self.last_heard.replace(at);
        self.round.acks += 1;
        let is_close = |last: Instant| at.saturating_since(last) <= ACK_BURST;
        self.round.ack_bursts += u64::from(last_heard.is_some_and(is_close));
        let data = || shown.connection.direction(self.side);
        let is_sack = shown.packet.has_sack_or_ce && data().has_sacked_beyond();
        self.round.sack_acks += u64::from(is_sack);
        // ACKs delayed behind a gap do not show the path's RTT.
        if let Some(trip) = shown.verdict.round_trip()
            && self.has_data
            && self.open.is_none()
        {
            self.last_trip = Some(trip);
            self.note_round_trip();
            // The ACK that reports the gap may have been delayed until then (RFC 5681 section 4.2).
            if !shown.packet.has_sack_or_ce {
                self.round.trip.add(trip);
                self.punctual_trip = trip;
            }
        }
        if kinds.contains(Kind::ShowsSpurious) {
            self.round.spurious += 1;
            if let Some(open) = &mut self.open {
                open.spurious += 1;
            } else if let Some(last) = self.episodes.list.last_mut() {
                last.spurious += 1;
            }
        }
        if kinds.contains(Kind::EcnEcho) {
            self.round.marks += 1;
            self.round.ece += 1;
        }
    }

    fn note_window(&mut self, shown: &AnalyzedPacket<'_>, ack: u64, fills_gap: bool) {
        let kinds = shown.verdict.kinds;
        let data = shown.connection.direction(self.side);
        if !shown.packet.flags.contains(Flags::SYN) && !fills_gap {
            self.round.offer(if self.knows_edge {
                // Less than up to the right edge where the receiver has taken back what it offered.
                let unit = shown.connection.window_unit(self.side.other());
                let advertised = u64::from(shown.packet.wnd) * unit;
                advertised.min(data.offered_to().saturating_sub(ack))
            } else {
                shown.packet.wnd.into()
            });
        }
        self.note_zero(kinds.contains(Kind::ZeroWindow), shown.packet.at);
        if self.updates.ack != ack {
            self.updates.begin(ack);
        }
        if kinds.is_empty() && self.updates.is_nothing() && ack != self.best_updates.ack {
            return;
        }
        let has_more = data.next_position() > ack;
        if kinds.contains(Kind::WindowUpdate) {
            if self.updates.count == 0 {
                self.updates.first_packet = shown.number;
            }
            self.updates.count += 1;
            self.updates.last_packet = shown.number;
        } else if kinds.contains(Kind::DuplicateAck) {
            self.round.duplicates += 1;
            self.updates.duplicates += 1;
            self.updates
                .duplicate
                .get_or_insert((shown.number, shown.packet.at));
        }
        if has_more && self.updates.count > self.best_updates.count
            || self.updates.ack == self.best_updates.ack
        {
            self.best_updates = self.updates;
        }
    }

    #[inline]
    fn note_zero(&mut self, is_zero: bool, at: Instant) {
        if is_zero {
            self.round.zero_windows += 1;
            self.zero_since.get_or_insert(at);
        } else if let Some(since) = self.zero_since.take() {
            self.round.zero_time += at.saturating_since(since);
        }
    }

    /// Detects a right edge that does not advance while data is acknowledged. A scaled window is
    /// advertised in units, so the edge seems to move by less than one of them.
    fn freeze(&mut self, shown: &AnalyzedPacket<'_>, ack: u64, edge: u64, fills_gap: bool) {
        if !self.knows_edge {
            return;
        }
        let at = shown.packet.at;
        if let Some(now) = &mut self.standing
            && edge < now.first_edge + now.unit + now.drift(ack, edge)
        {
            let frozen = &mut now.frozen;
            frozen.edge = edge;
            frozen.until = at;
            frozen.acked = ack.saturating_sub(frozen.first_ack);
            if let Some(frozen) = now.if_long(self.mss).filter(|_| !fills_gap) {
                let stood = at.saturating_since(frozen.since);
                self.round.still = self.round.still.max(stood);
            }
            return;
        }
        let done = self.standing.and_then(|done| done.if_long(self.mss));
        self.last_frozen = longest(done, self.last_frozen.filter(|last| last.edge > ack));
        self.standing = Some(Standing {
            frozen: Frozen {
                edge,
                since: at,
                until: at,
                first_ack: ack,
                acked: 0,
                packet: shown.number,
            },
            first_edge: edge,
            unit: shown.connection.window_unit(self.side.other()),
        });
    }

    /// The longest stall of an edge that is not acknowledged yet.
    pub(super) fn stillness(&self) -> Option<Frozen> {
        let now = self.standing.and_then(|now| now.if_long(self.mss));
        longest(now, self.last_frozen)
    }
}

/// The stall that lasted longer.
fn longest(now: Option<Frozen>, last: Option<Frozen>) -> Option<Frozen> {
    let stood = |frozen: &Frozen| frozen.until.saturating_since(frozen.since);
    match (now, last) {
        (Some(now), Some(last)) if stood(&last) > stood(&now) => Some(last),
        (now, last) => now.or(last),
    }
}
