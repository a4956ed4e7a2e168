//! Reconstructs one direction of a connection as its sender experienced it.
//!
//! The capture point may be anywhere. When the sender sends, it has received the acknowledgments
//! that passed here one turnaround earlier: the time from here to the sender and back. So
//! acknowledgments are delayed for that time before they take effect. The delay is longer if the
//! timestamp that a segment echoes shows that the sender had not seen them yet (see `echoes.rs`).
//!
//! Between two events the sender is in one [`State`]; the times of all states add up to the
//! duration.

mod expected;
mod heard;
mod host_clock;
mod identification;
pub(crate) mod meter;
mod overtaken;
#[cfg(test)]
mod properties;
mod released;
pub(crate) mod scale;
mod sent;
pub(crate) mod spacing;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_flows::{Connection, Direction, Kind, PacketSummary, Scaling, Side, Verdict};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::echoes::{Echoes, is_newer};
use crate::episode::{Episodes, Expiry, Frozen, RecoveryEpisode, SequenceGap, Standing};
use crate::round::{Extremes, Round, Rounds, Stamp, State};
use crate::samples::f32_of;
use crate::segment_size::{Sizes, vote, wire_segment};
use spacing::Spacing;

/// RTT until one is measured.
const SOME_TRIP: Duration = Duration::from_millis(1);

/// Maximum number of pending acknowledgments.
const MAX_PENDING: usize = 4096;

/// Number of pending acknowledgments from which close ones are merged.
const MANY_PENDING: usize = MAX_PENDING / 2;

/// Maximum number of retransmissions that wait for their acknowledgment.
const MAX_RESENT: usize = 256;

/// Maximum capacity that is kept for another connection.
const MAX_SPARE: usize = 64;

/// ACKs within this time of each other are a burst.
pub(crate) const ACK_BURST: Duration = Duration::from_micros(20);

/// Data packets within this time of each other are a burst.
const SEND_BURST: Duration = Duration::from_micros(50);

/// Minimum time after which a longer burst is measured as several.
const LONG_BURST: Duration = Duration::from_micros(500);

/// Time within which a sender with data has probed a closed window.
const UNPROBED: Duration = Duration::from_millis(1500);

/// An acknowledgment that the sender has not received yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Instant,
    ack: u64,
    edge: u64,
    ts_val: Option<u32>,
    /// Whether it carries data: a request, or the response to one.
    asks: bool,
    /// Its window, as advertised.
    window: u16,
    /// Whether it advertises no window.
    closes: bool,
}

/// A segment that waited below TCP. It does not echo a timestamp that had passed long before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    pub packet: u64,
    pub waited: Duration,
    /// Packet number of the acknowledgment that it does not echo.
    pub unknown: u64,
    pub is_again: bool,
}

/// A reset, and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reset {
    pub at: Instant,
    pub packet: u64,
    pub place: u64,
    pub una: u64,
    pub edge: u64,
    /// Whether the peer sent anything after it.
    pub answered: bool,
}

/// Number of resets that passed, by sender.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Resets {
    /// From the sender of the data.
    pub sent: u64,
    /// From its receiver.
    pub heard: u64,
    pub first: Option<FirstReset>,
}

/// The first reset of either side, and the state of the sender then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstReset {
    pub by: Side,
    pub at: Instant,
    /// Bytes in flight, and the position acknowledged.
    pub flight: u64,
    pub acked: u64,
    /// Time since new data was acknowledged.
    pub since_ack: Duration,
    /// Whether the data in flight had not been retransmitted.
    pub is_fresh: bool,
    /// When the sender last sent new data after it: at once, that was in flight; later, another host
    /// sent the reset.
    pub latest_data: Option<Instant>,
}

/// Window updates while there was a gap; they do not count as duplicates.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Updates {
    /// Position acknowledged.
    pub ack: u64,
    pub count: u64,
    pub first_packet: u64,
    pub last_packet: u64,
    /// The first duplicate, after the window stopped changing.
    pub duplicate: Option<(u64, Instant)>,
    pub duplicates: u64,
}

impl Updates {
    #[inline]
    const fn is_nothing(&self) -> bool {
        self.count | self.duplicates == 0
    }

    /// Begins with another acknowledged position.
    #[inline]
    fn begin(&mut self, ack: u64) {
        if !self.is_nothing() {
            *self = Self::default();
        }
        self.ack = ack;
    }
}

/// A packet for a sender view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnalyzedPacket<'a> {
    pub packet: &'a PacketSummary,
    pub verdict: &'a Verdict,
    pub connection: &'a Connection,
    pub number: u64,
}

/// Pauses in which nothing was sent although acknowledgments allowed it. Acknowledgments end the
/// pauses of a sender that waits for room in its send buffer, but not of one that has no data.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Pauses {
    count: u64,
    /// Pauses that ended at most [`Pauses::SOON`] after an acknowledgment.
    woken: u64,
    /// Total time between acknowledgments, and the part of it that is that soon after one.
    time: Duration,
    soon: Duration,
}

impl Pauses {
    /// Fraction of pauses that an ACK ended, less that of chance. `None` if there are few.
    pub fn woken_above_chance(&self) -> Option<f64> {
        let woken = self.woken as f64 / self.count.max(1) as f64;
        let chance = self.soon.as_secs_f64() / self.time.as_secs_f64().max(1e-9);
        (self.count >= Self::LEAST).then_some(woken - chance)
    }

    /// Maximum time until a thread runs after it is woken.
    const SOON: Duration = Duration::from_micros(250);
    /// Minimum number for a verdict.
    const LEAST: u64 = 8;

    /// That time with the uncertainty of the turnaround added.
    fn soon(turn: Option<Duration>) -> Duration {
        Self::SOON + turn.unwrap_or_default() / 32
    }

    #[inline]
    fn on_acknowledgment(&mut self, gap: Duration, turn: Option<Duration>) {
        self.time += gap;
        self.soon += gap.min(Self::soon(turn));
    }

    /// Records the end of a pause. A sender that waits for room has data in flight, except in its
    /// last wait.
    fn on_end(&mut self, is_under_way: bool, since_ack: Duration, turn: Option<Duration>) {
        self.count += 1;
        self.woken += u64::from(is_under_way && since_ack <= Self::soon(turn));
    }
}

/// A gap in the sequence space, and the distance of its neighbors. A segment lost behind the
/// bottleneck leaves a gap in time; one tail-dropped before it does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub start: u64,
    pub end: u64,
    /// Size of the segment after it, and the time since the segment before it.
    pub octets: u64,
    pub wait: Duration,
    /// Bytes back to back up to the gap.
    pub train: u64,
}

/// Maximum number of gaps kept.
const MAX_GAPS: usize = 1024;

/// Minimum silence of a path that holds or loses all that is in flight: longer than ACKs are delayed.
const MIN_SILENCE: Duration = Duration::from_millis(250);

/// Event at the end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Event,
    /// A retransmission due to a timer.
    Expiry,
}

/// Position up to which a direction was acknowledged.
pub(crate) fn acked_to(data: &Direction) -> u64 {
    data.acked_position().unwrap_or(data.first_position())
}

/// The direction of the data from `side`.
#[derive(Clone, Default, Debug)]
pub(crate) struct SenderView {
    pub side: Side,
    pub rounds: Rounds,
    pub episodes: Episodes,
    pub round: Round,
    /// Position whose acknowledgment ends the round.
    round_end: u64,
    /// Time up to which states are attributed.
    pub last: Instant,
    /// State of the sender, as far as it has received acknowledgments.
    pub nxt: u64,
    pub una: u64,
    pub edge: u64,
    knows_edge: bool,
    /// The window scale that the flight shows, where it is unknown.
    scale: Option<Box<scale::ScaleFit>>,
    /// Time from here to the sender and back.
    pub turn: Option<Duration>,
    pub had_handshake: bool,
    /// Time of the last SYN or SYN-ACK: later than the first if one was lost.
    pub last_syn: Option<Instant>,
    pending: VecDeque<Pending>,
    echoes: Echoes,
    /// Maximum in flight in the last rounds.
    full: [u64; 2],
    pub mss: u64,
    /// Size of data that changes only sums; zero if there is none. See `expected.rs`.
    steady: u64,
    /// Wire segments of such a packet.
    steady_segments: u16,
    expects: bool,
    /// Loss recovery of the sender.
    recover: u64,
    open: Option<RecoveryEpisode>,
    row: (u64, u64),
    last_data: Instant,
    last_ack: Instant,
    last_trip: Option<Duration>,
    /// Last RTT sample from an acknowledgment that reported no gap.
    punctual_trip: Duration,
    /// Latest RTT between sender and receiver; [`SOME_TRIP`] until it is measured.
    round_trip: Duration,
    last_turn: Option<Duration>,
    standing: Option<Standing>,
    last_frozen: Option<Frozen>,
    pub has_data: bool,
    pub fin: bool,
    pub first_data: Option<Instant>,
    first_place: u64,
    /// End of the first gap that is not filled, and when it showed.
    hole: Option<(u64, Instant)>,
    pub lag: Option<Lag>,
    pub lag_again: Option<Lag>,
    pub reset: Option<Reset>,
    pub resets: Resets,
    /// Time of the first reset of either side; `None` if there was none.
    pub over: Option<Instant>,
    pub updates: Updates,
    pub best_updates: Updates,
    /// A segment that began exactly at the edge and was released by a window update. Packet, its
    /// time, how long the sender had waited.
    pub released: Option<(u64, Instant, Duration)>,
    pub largest: u64,
    /// Usual distance between segments, and between acknowledgments.
    spacing: Duration,
    ack_every: Duration,
    /// Size of most single segments, and their number in excess of others.
    pub usual: (u64, u64),
    /// Largest segment that was acknowledged.
    pub largest_acked: u64,
    /// Whether a timeout retransmitted less than a full segment: the sender looks for a size that fits.
    pub has_resent_part: bool,
    /// Start and end of a full segment that is not acknowledged, nor retransmitted in smaller ones;
    /// kept until one of that size was acknowledged.
    unacked_full: Option<(u64, u64)>,
    pub unseen_acked: u64,
    /// Newest timestamps of both hosts.
    newest: [Option<u32>; 2],
    /// Time when the last acknowledgment of new data passed here.
    ack_passed: Instant,
    /// Whether all written data seems to be sent. The newest data was no full segment, although the
    /// window had room for one. PSH is no evidence: hosts set it at the end of a write, of a
    /// buffer, or always.
    is_all: bool,
    /// Time when the sender first received an acknowledgment of new data since.
    first_learned: Option<Instant>,
    /// Distances of data here, and those that acknowledgments show.
    pub data_spacing: Spacing,
    pub ack_spacing: Spacing,
    pub pauses: Pauses,
    pub gaps: Vec<Gap>,
    overtaken: overtaken::Overtaken,
    /// Retransmissions that are not acknowledged yet: their end, time, and segments.
    resent: VecDeque<(u64, Instant, u64)>,
    pub meter: meter::Meter,
    /// Start of the current burst of data, and its bytes.
    burst: (Instant, u64),
    /// Usual number of bytes of a burst. The flight varies by this, whether a packet of the capture
    /// is one segment of a burst or all of them.
    usual_burst: u64,
    /// Time of the receiver's last packet.
    last_heard: Option<Instant>,
    /// Whether the closed window was probed since it closed.
    is_probed: bool,
    /// Retransmitted wire segments that `flows` counted so far.
    counted_again: u64,
    /// Time since when the advertised window is zero.
    zero_since: Option<Instant>,
    /// Whether the last window that the sender has received is zero.
    has_no_window: bool,
    /// The timestamp clock of the sender.
    host_clock: host_clock::HostClock,
    /// Idle time that is not attributed to a side yet.
    idle: Duration,
    /// Whether the peer has sent data since this side did.
    is_asked: bool,
    /// Whether the last acknowledgment came with data.
    is_answer: bool,
    /// Pauses with data in flight of which the last acknowledgment came with data.
    pub answering_starts: u64,
    /// The IPv4 identifications of the sender's packets.
    pub idents: identification::Identifications,
}

impl SenderView {
    pub fn new(side: Side, at: Instant, number: u64) -> Box<Self> {
        Box::new(Self::beginning(side, at, number))
    }

    /// Discards its contents, and keeps a little memory for reuse.
    pub fn clear(&mut self) {
        self.rounds.clear();
        self.pending.clear();
        self.pending.shrink_to(MAX_SPARE);
        self.episodes = Episodes::default();
        self.gaps = Vec::new();
        self.overtaken = overtaken::Overtaken::default();
        self.resent = VecDeque::new();
        self.meter = meter::Meter::default();
        self.echoes = Echoes::default();
    }

    /// Begins another one, in the memory of a [cleared](Self::clear) one.
    pub fn renew(&mut self, side: Side, at: Instant, number: u64) {
        *self = Self {
            rounds: core::mem::take(&mut self.rounds),
            pending: core::mem::take(&mut self.pending),
            ..Self::beginning(side, at, number)
        };
    }

    #[inline(always)]
    fn beginning(side: Side, at: Instant, number: u64) -> Self {
        Self {
            side,
            round: Round::new(at, number),
            last: at,
            steady_segments: 1,
            expects: true,
            last_data: at,
            last_ack: at,
            round_trip: SOME_TRIP,
            ack_passed: at,
            burst: (at, 0),
            ..Self::default()
        }
    }

    /// Sets the turnaround from the handshake.
    pub fn set_turn(&mut self, turn: Duration) {
        self.turn = Some(turn);
        self.had_handshake = true;
        self.note_round_trip();
    }

    /// The scale of the receiver's windows, if it is unknown and the flight shows it.
    pub fn shown_scale(&self) -> Option<u8> {
        self.scale.as_ref()?.scale(self.mss)
    }

    /// Observed segment sizes.
    pub fn sizes(&self) -> Sizes {
        let rounds = self.rounds.as_slice().iter();
        Sizes {
            mss: self.mss,
            usual: self.usual,
            segments: rounds.map(|round| round.segments).sum(),
            has_stamps: self.newest[0].is_some(),
        }
    }

    fn note_reset(&mut self, by: Side, shown: &AnalyzedPacket<'_>) {
        /// A host sends data for less than this after a reset that it accepts.
        const IGNORED: Duration = Duration::from_secs(1);
        let packet = shown.packet;
        let went_on = |first: &FirstReset| first.latest_data > Some(first.at + IGNORED);
        let is_next = self.resets.first.as_ref().is_none_or(went_on);
        if shown.verdict.kinds.contains(Kind::ResetOutOfWindow) || !is_next {
            return;
        }
        // ACKs that passed count, whether they have reached the sender or not, and that of the reset.
        let data = shown.connection.direction(self.side);
        let own = (by != self.side && packet.flags.contains(Flags::ACK))
            .then(|| data.position_of(packet.ack))
            .filter(|acked| *acked <= self.nxt);
        let acked = acked_to(data).max(own.unwrap_or(0));
        self.resets.first = Some(FirstReset {
            by,
            at: packet.at,
            flight: self.nxt.saturating_sub(acked),
            acked,
            since_ack: packet.at.saturating_since(self.ack_passed),
            is_fresh: self.open.is_none(),
            latest_data: None,
        });
    }

    /// Largest segment of the data that an ACK acknowledges, at least: an ACK of a full segment's
    /// size may be of several smaller ones.
    fn largest_of(&mut self, acked: u64, until: u64) -> u64 {
        if self.unacked_full.is_some_and(|(_, end)| until >= end) {
            self.unacked_full = None;
            return self.mss;
        }
        acked.min(self.usual.0).min(self.mss.saturating_sub(1))
    }

    fn flight(&self) -> u64 {
        self.nxt.saturating_sub(self.una)
    }

    fn trip(&self) -> Option<Duration> {
        self.last_trip
            .map(|trip| trip + self.turn.unwrap_or_default())
    }

    fn note_round_trip(&mut self) {
        self.round_trip = self.trip().unwrap_or(SOME_TRIP);
    }

    /// State of the sender.
    fn state(&self, end: End, span: Duration) -> State {
        if end == End::Expiry && self.flight() > 0 && self.trip().is_none_or(|trip| span > trip) {
            return State::Timeout;
        }
        if !self.has_data {
            return State::Opening;
        }
        if self.over.is_some() {
            return State::Closing;
        }
        if self.flight() > 0 && self.is_recovering(span) {
            State::Recovery
        } else if self.fin {
            State::Closing
        } else {
            self.open_state(span)
        }
    }

    /// Whether data was lost. A gap that stays is a loss, whether or not its retransmission passes
    /// here.
    fn is_recovering(&self, span: Duration) -> bool {
        self.una < self.recover
            || self.hole.is_some_and(|(_, since)| {
                self.last.saturating_since(since) + span > self.trip().unwrap_or_default()
            })
    }

    /// State of a sender in progress without loss recovery.
    #[inline]
    fn open_state(&self, span: Duration) -> State {
        if self.flight() == 0 {
            return self.empty_state(span);
        }
        if self.is_closed() {
            return State::Window;
        }
        let full = self.full[0].max(self.full[1]);
        let tolerance = (2 * self.mss).max(self.usual_burst).max(full / 8);
        if self.flight() + tolerance >= full {
            State::Full
        } else {
            State::Slack
        }
    }

    /// Whether the window has no room for a full segment.
    fn is_closed(&self) -> bool {
        let room = self.edge.saturating_sub(self.nxt);
        self.knows_edge && room < self.mss.max(1) || self.has_no_window
    }

    /// State while nothing is outstanding. Data waits only if the sender had filled the window, and
    /// probes it if that lasts (RFC 9293 section 3.8.6.1).
    #[cold]
    fn empty_state(&self, span: Duration) -> State {
        let is_short = span <= UNPROBED + self.round_trip * 2;
        if self.is_closed() && (is_short || self.is_probed) {
            State::Window
        } else {
            State::Idle
        }
    }

    /// Advances time to `to`.
    fn pass(&mut self, to: Instant, end: End) {
        if to <= self.last {
            return;
        }
        let span = to.saturating_since(self.last);
        let state = self.state(end, span);
        self.book(to, state);
    }

    /// Records a silence while data was in flight that nothing had reported lost. The last RTT,
    /// of the ACK that ended it, includes it: the rest of that is what the path takes otherwise.
    #[cold]
    fn note_silence(&mut self, state: State, span: Duration) {
        if state == State::Recovery {
            self.round.quiet = self.round.quiet.max(span);
        }
        let is_sending = matches!(state, State::Full | State::Slack | State::Window);
        let is_long = |trip: Duration| trip > span && span >= (trip - span) * 4;
        if is_sending && self.trip().is_some_and(is_long) && self.flight() > 2 * self.mss {
            self.round.held += span;
        }
    }

    fn book(&mut self, to: Instant, state: State) {
        let span = to.saturating_since(self.last);
        self.round.spent[state as usize] += span;
        if span >= MIN_SILENCE {
            self.note_silence(state, span);
        }
        if state == State::Idle {
            if self.is_asked {
                self.round.idle_own += span;
            } else {
                self.idle += span;
            }
        }
        self.round.flight_time += f32_of(self.flight()) * f32_of(span.as_nanos()) * 1e-9;
        self.last = self.last.max(to);
    }

    /// Applies an acknowledgment that the sender has received.
    fn apply_ack(&mut self, known: &Pending, number: u64) {
        if let Some(scale) = &mut self.scale {
            scale.on_ack(self.nxt, known.ack, known.window, self.mss);
        }
        if known.ack > self.una {
            let acked = known.ack - self.una;
            let gap = known.at.saturating_since(self.ack_passed);
            let trip = self.round_trip;
            if self.round.acked > 0 && gap < trip / 4 {
                self.round.ack_train_octets += acked;
                self.round.ack_train_time += gap;
                self.round.ack_gaps.add(f32_of(gap.as_nanos()));
                self.round.ack_sizes.add(f32_of(acked));
                if acked >= self.mss && self.open.is_none() {
                    self.ack_spacing.add(acked, gap);
                }
            }
            if gap < trip * 2 && self.has_data {
                self.pauses.on_acknowledgment(gap, self.turn);
            }
            if gap < trip {
                let usual = self.ack_every;
                self.ack_every = usual - usual / 8 + gap / 8;
            }
            self.ack_passed = known.at;
            if known.edge >= self.nxt + self.mss || !self.knows_edge {
                self.first_learned.get_or_insert(self.last);
            }
            self.una = known.ack;
            let largest = self.largest_of(acked, known.ack);
            self.largest_acked = self.largest_acked.max(largest);
            self.round.acked += acked;
            self.round.acked_per_ack_max = self.round.acked_per_ack_max.max(acked);
            if self.nxt < self.una {
                self.unseen_acked += self.una - self.nxt;
                self.nxt = self.una;
            }
            if self.una >= self.recover {
                self.end_episode();
            }
            if self.hole.is_some_and(|(end, _)| self.una >= end) {
                self.hole = None;
            }
        }
        debug_assert!(
            self.una <= self.nxt,
            "SND.UNA {} is at most SND.NXT {}",
            self.una,
            self.nxt
        );
        self.is_answer = known.asks;
        if known.asks {
            self.round.idle_peer += core::mem::take(&mut self.idle);
            self.is_asked = true;
        }
        // The window of an old acknowledgment does not count (RFC 9293 section 3.10.7.4, SND.WL2).
        if known.ack >= self.una
            && core::mem::replace(&mut self.has_no_window, known.closes)
            && !known.closes
        {
            self.is_probed = false;
        }
        if known.edge > self.edge {
            self.edge = known.edge;
            self.is_probed = false;
        }
        self.last_ack = self.last;
        if self.has_data {
            let flight = self.flight();
            let low = self.round.flight_low.unwrap_or(flight);
            self.round.flight_low = Some(low.min(flight));
        }
        if self.una >= self.round_end && self.has_data {
            self.close_round(self.last, number);
        }
    }

    fn close_round(&mut self, at: Instant, number: u64) {
        self.round.end = at.max(self.last);
        if let Some(since) = &mut self.zero_since {
            self.round.zero_time += self.round.end.saturating_since(*since);
            *since = (*since).max(self.round.end);
        }
        debug_assert!(
            self.round.start <= self.round.end,
            "a round ends after its beginning: {:?}",
            self.round
        );
        let has_packets = self.round.segments > 0 || self.round.again > 0;
        if self.round.length() > Duration::ZERO || has_packets {
            self.round.round_off();
            self.rounds.push(&self.round);
        }
        self.round = Round::new(self.round.end, number);
        self.full = [self.full[1], self.flight()];
        self.round_end = self.nxt.max(self.una + 1);
        self.round.flight = self.flight();
    }

    fn end_episode(&mut self) {
        if let Some(mut open) = self.open.take() {
            open.until = self.last;
            self.meter.on_repaired();
            self.episodes.push(open);
            // The window has changed.
            self.full = [0, self.flight()];
        }
    }

    /// Handles a timestamp newer than all before, of the sender or the receiver.
    #[inline]
    fn fresh(&mut self, whose: usize, val: u32, at: Instant) -> Option<Stamp> {
        let newest = &mut self.newest[whose];
        let is_first = newest.is_none();
        if newest.is_some_and(|newest| !is_newer(val, newest)) {
            return None;
        }
        *newest = Some(val);
        (!is_first).then_some(Stamp { val, at })
    }

    /// Finishes at the end of the capture, at `at`.
    pub fn finish(&mut self, at: Instant, number: u64) {
        let turn = self.turn.unwrap_or_default();
        while let Some(first) = self.pending.pop_front() {
            let due = (first.at + turn).min(at);
            self.pass(due, End::Event);
            self.apply_ack(&first, number);
        }
        self.pass(at, End::Event);
        if self.open.is_some() {
            self.end_episode();
        }
        self.close_round(self.last, number);
        self.meter.forget_recent();
        self.rounds.finish();
    }
}
