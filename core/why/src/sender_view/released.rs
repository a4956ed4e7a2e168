//! Acknowledgments that the sender had received when it sent a segment, and its wait until then.

use super::*;

/// Maximum turnaround that may be a host's delay and no path's.
const OF_HOST: Duration = Duration::from_millis(2);

impl SenderView {
    /// Applies the acknowledgments that the sender of the packet had received.
    pub(super) fn release(&mut self, (start, end): (u64, u64), shown: &AnalyzedPacket<'_>) {
        if !self.pending.is_empty() {
            let waiting = self.waits_unseen(start, end);
            self.let_go((start, end), shown, waiting);
        }
    }

    /// Applies them; `waiting` is the beginning and the edge of an unseen wait.
    #[inline(always)]
    pub(super) fn let_go(
        &mut self,
        (start, end): (u64, u64),
        shown: &AnalyzedPacket<'_>,
        mut waiting: Option<(Instant, u64)>,
    ) {
        let packet = shown.packet;
        // Packets of other sizes take a little less or more time. A short turnaround is the host's,
        // and varies.
        let turn = self.turn.unwrap_or_default();
        let is_near = self.is_near();
        let turn = if is_near && turn <= OF_HOST {
            Duration::ZERO
        } else {
            turn.saturating_sub(turn / 400 + Duration::from_micros(10))
        };
        let patience = turn.saturating_mul(4) + Duration::from_millis(200);
        let echo = packet.timestamps.map(|stamps| stamps.ecr);
        while let Some(first) = self.pending.front().copied() {
            let due = first.at + turn;
            let is_unknown = matches!((first.ts_val, echo), (Some(val), Some(ecr))
                if is_newer(val, ecr) && packet.at < due + patience);
            let is_known = matches!((first.ts_val, echo), (Some(val), Some(ecr))
                if is_newer(ecr, val) || first.asks && ecr == val);
            let had_to = first.ack <= start && end > self.edge && first.edge >= end;
            if is_unknown && !had_to || due > packet.at && !is_known && !had_to {
                break;
            }
            self.pending.pop_front();
            if due > packet.at && is_near {
                self.bound_turn(packet.at.saturating_since(first.at));
            }
            let at = due.min(packet.at);
            match &mut waiting {
                Some(wait) => {
                    let (from, edge) = *wait;
                    self.pass(from.min(at), End::Event);
                    self.book(at.max(self.last), State::Window);
                    if first.edge > edge {
                        self.note_wait(shown, at.saturating_since(from));
                        waiting = None;
                    }
                }
                None => self.pass(at, End::Event),
            }
            self.apply_ack(&first, shown.number);
        }
    }

    /// Bounds the turnaround: the sender had an acknowledgment `within` this time of its passing. The
    /// handshake's may have been longer, where a host was slow to answer it.
    #[cold]
    fn bound_turn(&mut self, within: Duration) {
        self.turn = self.turn.map(|turn| turn.min(within));
    }

    /// Whether the turnaround is small compared to the RTT.
    pub(super) fn is_near(&self) -> bool {
        let turn = self.turn.unwrap_or_default();
        self.last_trip.is_some_and(|trip| turn * 8 <= trip)
    }

    /// Detects a wait for the window before a segment at the old right edge. A segment that begins
    /// there and exceeds it was sent after the window had moved. The data between passed unseen,
    /// and until the window moved the sender had to wait. Returns the beginning of the wait, at the
    /// rate before, and the edge.
    fn waits_unseen(&self, start: u64, end: u64) -> Option<(Instant, u64)> {
        if start <= self.nxt {
            return None;
        }
        // The edge before the acknowledgment that allowed it.
        let mut edge = self.edge;
        for one in &self.pending {
            if one.edge >= end {
                break;
            }
            edge = edge.max(one.edge);
        }
        let at_edge = start + self.mss >= edge && end > edge;
        if !self.knows_edge || !at_edge {
            return None;
        }
        let unseen = start - self.nxt;
        let before = self.first_data.unwrap_or(self.last);
        let passed = self.last_data.saturating_since(before).as_nanos();
        let octets = self.nxt.saturating_sub(self.first_place).max(1);
        let sending = u128::from(unseen) * u128::from(passed) / u128::from(octets);
        let sending = Duration::from_nanos(u64::try_from(sending).unwrap_or(u64::MAX));
        Some((self.last_data + sending, edge))
    }

    fn note_wait(&mut self, shown: &AnalyzedPacket<'_>, waited: Duration) {
        if self.released.is_none_or(|(_, _, most)| most < waited) {
            self.released = Some((shown.number, shown.packet.at, waited));
        }
    }
}
