//! Which acknowledgments the sender had seen when it sent a segment, and what it
//! waited for until then.

use super::*;

impl SenderView {
    /// The acknowledgments that the sender of the packet had seen count now.
    pub(super) fn release(&mut self, (start, end): (u64, u64), shown: &Shown<'_>) {
        if !self.pending.is_empty() {
            let waiting = self.waits_unseen(start, end);
            self.let_go((start, end), shown, waiting);
        }
    }

    /// The same; `waiting` is since when and at which edge it waits unseen.
    #[inline(always)]
    pub(super) fn let_go(
        &mut self,
        (start, end): (u64, u64),
        shown: &Shown<'_>,
        mut waiting: Option<(Instant, u64)>,
    ) {
        let packet = shown.packet;
        // Packets of other sizes take a little less or more. Near the sender it is
        // its host that takes so long, now more and now less.
        let turn = self.turn.unwrap_or_default();
        let turn = if self.is_near() {
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
            self.learn(&first, shown.number);
        }
    }

    /// Whether from here to the sender and back is little of the whole round trip.
    pub(super) fn is_near(&self) -> bool {
        let turn = self.turn.unwrap_or_default();
        self.last_trip.is_some_and(|trip| turn * 8 <= trip)
    }

    /// A segment that begins at the old right edge, and goes beyond it, was sent
    /// after the window had moved; what lies between passed unseen, and until
    /// the window moved its sender had to wait. From when on, at the rate of
    /// before, and at which edge.
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

    fn note_wait(&mut self, shown: &Shown<'_>, waited: Duration) {
        if self.released.is_none_or(|(_, _, most)| most < waited) {
            self.released = Some((shown.number, shown.packet.at, waited));
        }
    }
}
