//! Fast path for expected data: the next bytes, with the same size as before, while no other state
//! is affected.
//!
//! Nearly all data of a long connection is expected. Such a segment changes only sums, and the
//! state that its released acknowledgments change. Everything that decides this is known since the
//! previous segment ([`SenderView::look_ahead`]) and does not change until another kind of segment
//! passes. All other segments go through `sent.rs`, which produces the same result for these too: a
//! test compares both on random conversations ([`crate::Watcher::without_prediction`]).

use super::*;

impl SenderView {
    /// Disables the fast path.
    pub fn never_expect(&mut self) {
        self.expects = false;
    }

    /// Notes the size of segments that change only sums. The segment before them had this size in
    /// octets.
    pub(super) fn look_ahead(&mut self, octets: u64) {
        let is_undisturbed = self.open.is_none()
            && self.hole.is_none()
            && self.over.is_none()
            && !self.fin
            && self.una >= self.recover;
        // Full segments of the usual size, which PSH does not end.
        let is_usual = octets == self.usual.0
            && octets <= self.largest
            && self.mss > 64
            && octets > 0
            && octets.is_multiple_of(self.mss);
        let is_later = self.first_data.is_some_and(|first| first < self.last);
        self.steady_segments = (octets / self.mss.max(1)) as u16;
        self.steady = if self.expects && is_undisturbed && is_usual && is_later {
            octets
        } else {
            0
        };
    }

    /// Whether it is expected data.
    #[inline(always)]
    pub(super) fn is_expected(&self, shown: &AnalyzedPacket<'_>) -> bool {
        let packet = shown.packet;
        let data = shown.connection.direction(self.side);
        let octets = u64::from(packet.payload_len);
        octets == self.steady
            && octets > 0
            && shown.verdict.kinds.is_empty()
            && packet.flags.without(Flags::PSH) == Flags::ACK
            && packet.seq.as_u32() == self.nxt as u32
            && data.next_position() == self.nxt + octets
            && u64::from(data.largest_segment()) <= self.mss
            && packet.at >= self.last
    }

    /// Processes expected data.
    #[inline(always)]
    pub(super) fn on_expected(&mut self, shown: &AnalyzedPacket<'_>) {
        let packet = shown.packet;
        let octets = self.steady;
        let (start, end) = (self.nxt, self.nxt + octets);
        self.note_echo(shown);
        if !self.pending.is_empty() {
            self.let_go((start, end), shown, None);
        }
        if start == self.nxt {
            let gap = packet.at.saturating_since(self.last_data);
            self.data_spacing.add(octets, gap);
        }
        if packet.at > self.last {
            let span = packet.at.saturating_since(self.last);
            let state = self.open_state(span);
            self.book(packet.at, state);
        }
        let missing = self.idents.on_packet(packet.ident, self.steady_segments);
        self.count_missing(missing, packet.payload_len);
        self.usual.1 += 1;
        self.count_new(packet.at, octets, (start, end));
        self.is_all = false;
        self.last_data = self.last_data.max(packet.at);
    }
}
