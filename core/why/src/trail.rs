//! One direction of a connection, lived through as its sender did.
//!
//! The place of capture may be anywhere. What the sender knows when it sends is
//! what had been acknowledged one turnaround earlier, as it passes here: the
//! time from here to the sender and back. So acknowledgments wait for that long
//! before they count, and longer where the timestamp that a segment echoes
//! shows that the sender had not seen them yet (see `echoes.rs`).
//!
//! Between two events the sender waits for one thing, its [`State`]; the times
//! of all states add up to the run.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use gigatcp_flows::{Connection, Kind, Observed, Scaling, Side, Verdict};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Flags;

use crate::case::acked_to;
use crate::echoes::{Echoes, is_newer};
use crate::episode::{Episode, Episodes, Expiry, Frozen, Hole};
use crate::round::{Round, Rounds, Stamp, State};

/// Acknowledgments that wait at most.
const MAX_PENDING: usize = 4096;

/// An acknowledgment on its way to the sender.
#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Instant,
    ack: u64,
    edge: u64,
    ts_val: Option<u32>,
}

/// A segment that waited below TCP: it does not echo what had long passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lag {
    pub packet: u64,
    pub waited: Duration,
    /// The acknowledgment that it does not know of.
    pub unknown: u64,
    pub is_again: bool,
}

/// A reset, and where it stood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reset {
    pub at: Instant,
    pub packet: u64,
    pub place: u64,
    pub una: u64,
    pub edge: u64,
    /// Whether the peer said anything after it.
    pub answered: bool,
}

/// Window updates while a hole waited, which are no duplicates.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Updates {
    /// Place acknowledged.
    pub ack: u64,
    pub count: u64,
    pub first_packet: u64,
    pub last_packet: u64,
    /// The first that is a duplicate, once the window stood still.
    pub duplicate: Option<(u64, Instant)>,
    pub duplicates: u64,
}

/// A packet shown to a trail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub packet: &'a Observed,
    pub verdict: &'a Verdict,
    pub connection: &'a Connection,
    pub number: u64,
}

/// What ends an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Event,
    /// A retransmission that a timer made.
    Expiry,
}

/// The direction from `side`.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub side: Side,
    pub rounds: Rounds,
    pub episodes: Episodes,
    pub round: Round,
    /// The place whose acknowledgment ends the round.
    round_end: u64,
    /// Up to here the account is complete.
    pub last: Instant,
    /// What the sender knows.
    pub nxt: u64,
    pub una: u64,
    pub edge: u64,
    knows_edge: bool,
    /// From here to the sender and back.
    pub turn: Option<Duration>,
    pub had_handshake: bool,
    pending: VecDeque<Pending>,
    echoes: Echoes,
    /// The most in flight in the last rounds.
    full: [u64; 2],
    pub mss: u64,
    /// The sender's repair.
    recover: u64,
    open: Option<Episode>,
    row: (u64, u64),
    last_data: Instant,
    last_ack: Instant,
    last_trip: Option<Duration>,
    last_turn: Option<Duration>,
    frozen: Option<Frozen>,
    last_frozen: Option<Frozen>,
    pub has_data: bool,
    pub fin: bool,
    pub first_data: Option<Instant>,
    first_place: u64,
    /// The first hole that is not filled, and since when: its end.
    hole: Option<(u64, Instant)>,
    pub last_acked: Instant,
    pub lag: Option<Lag>,
    pub lag_again: Option<Lag>,
    pub reset: Option<Reset>,
    pub updates: Updates,
    pub best_updates: Updates,
    /// A segment that began exactly at the edge and was released by a window
    /// update: packet, its time, how long the sender had waited.
    pub released: Option<(u64, Instant, Duration)>,
    /// Octets of the capture that the window update's wait began with.
    pub lone_waits: (u64, Duration),
    pub largest: u64,
    pub total_sent: u64,
    /// The usual distance between segments.
    spacing: Duration,
    /// The size that most single segments have, and by how many more.
    pub usual: (u64, u64),
    /// The largest segment whose acknowledgment came.
    pub largest_acked: u64,
    pub unseen_acked: u64,
    /// The newest timestamps of both hosts.
    newest: [Option<u32>; 2],
    /// When the last acknowledgment of something new passed here.
    ack_passed: Instant,
}

impl Trail {
    pub fn new(side: Side, at: Instant, number: u64) -> Box<Self> {
        Box::new(Self {
            side,
            rounds: Rounds::default(),
            episodes: Episodes::default(),
            round: Round::new(at, number),
            round_end: 0,
            last: at,
            nxt: 0,
            una: 0,
            edge: 0,
            knows_edge: false,
            turn: None,
            had_handshake: false,
            pending: VecDeque::new(),
            echoes: Echoes::default(),
            full: [0; 2],
            mss: 0,
            recover: 0,
            open: None,
            row: (0, 0),
            last_data: at,
            last_ack: at,
            last_trip: None,
            last_turn: None,
            frozen: None,
            last_frozen: None,
            has_data: false,
            fin: false,
            first_data: None,
            first_place: 0,
            hole: None,
            last_acked: at,
            lag: None,
            lag_again: None,
            reset: None,
            updates: Updates::default(),
            best_updates: Updates::default(),
            released: None,
            lone_waits: (0, Duration::ZERO),
            largest: 0,
            total_sent: 0,
            spacing: Duration::ZERO,
            usual: (0, 0),
            largest_acked: 0,
            unseen_acked: 0,
            newest: [None; 2],
            ack_passed: at,
        })
    }

    /// The turnaround of the handshake.
    pub fn set_turn(&mut self, turn: Duration) {
        self.turn = Some(turn);
        self.had_handshake = true;
    }

    fn flight(&self) -> u64 {
        self.nxt.saturating_sub(self.una)
    }

    fn trip(&self) -> Option<Duration> {
        self.last_trip
            .map(|trip| trip + self.turn.unwrap_or_default())
    }

    /// What the sender waits for.
    fn state(&self, end: End, span: Duration) -> State {
        if end == End::Expiry && self.trip().is_none_or(|trip| span > trip) {
            return State::Timeout;
        }
        if !self.has_data {
            return State::Opening;
        }
        let room = self.edge.saturating_sub(self.nxt);
        let is_closed = self.knows_edge && room < self.mss.max(1);
        if self.flight() == 0 {
            return match (self.fin, is_closed) {
                (true, _) => State::Closing,
                (false, true) => State::Window,
                (false, false) => State::Idle,
            };
        }
        // A hole that stays is a loss, whether or not its repair passes here.
        let is_hole_old = self.hole.is_some_and(|(_, since)| {
            self.last.saturating_since(since) + span > self.trip().unwrap_or_default()
        });
        if self.una < self.recover || is_hole_old {
            State::Recovery
        } else if self.fin {
            State::Closing
        } else if is_closed {
            State::Window
        } else {
            let full = self.full[0].max(self.full[1]);
            let tolerance = (2 * self.mss).max(self.largest).max(full / 8);
            if self.flight() + tolerance >= full {
                State::Full
            } else {
                State::Slack
            }
        }
    }

    /// Time goes on to `to`.
    fn pass(&mut self, to: Instant, end: End) {
        if to <= self.last {
            return;
        }
        let span = to.saturating_since(self.last);
        let state = self.state(end, span);
        self.book(to, state);
    }

    fn book(&mut self, to: Instant, state: State) {
        let span = to.saturating_since(self.last);
        self.round.spent[state as usize] += span;
        self.last = self.last.max(to);
    }

    /// The sender sends: data, or its end.
    pub fn on_sent(&mut self, shown: &Shown<'_>) {
        let packet = shown.packet;
        if packet.flags.contains(Flags::RST) {
            return self.on_reset(shown);
        }
        if packet.seq_len() == 0 || packet.flags.contains(Flags::SYN) {
            return;
        }
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
        self.release(packet, (start, end), shown);
        self.note_hole(shown, start);
        let is_expiry = kinds.contains(Kind::TimeoutRetransmission);
        let silence = packet.at.saturating_since(self.last);
        self.pass(packet.at, if is_expiry { End::Expiry } else { End::Event });
        if kinds.is_retransmission() {
            self.on_again(shown, start, end, silence);
        } else {
            self.on_new(shown, start, end);
        }
        if kinds.contains(Kind::OutOfOrder) {
            self.round.late += 1;
            if let Some(open) = &mut self.open {
                open.late += 1;
            }
        }
        if kinds.contains(Kind::CongestionExperienced) {
            self.round.marks += 1;
        }
        self.last_data = self.last_data.max(packet.at);
    }

    /// The first data.
    fn begin(&mut self, shown: &Shown<'_>, start: u64) {
        let data = shown.connection.direction(self.side);
        self.pass(shown.packet.at, End::Event);
        self.has_data = true;
        self.first_data = Some(shown.packet.at);
        self.first_place = start;
        self.nxt = start;
        self.una = start.min(acked_to(data).max(start.saturating_sub(1 << 30)));
        if acked_to(data) <= start {
            self.una = start;
        }
        self.recover = self.una;
        self.knows_edge = shown.connection.scaling() != Scaling::Unknown;
        if data.offered_to() > data.first_position() {
            self.edge = self.edge.max(data.offered_to());
        }
        self.close_round(shown.packet.at, shown.number);
    }

    fn note_echo(&mut self, shown: &Shown<'_>) {
        let Some(stamps) = shown.packet.timestamps else {
            return;
        };
        if let Some(stamp) = self.fresh(0, stamps.val, shown.packet.at) {
            self.round.data_stamp.get_or_insert(stamp);
        }
        let (turn, unknown) = self.echoes.on_echo(stamps.ecr, shown.packet.at);
        if let Some(turn) = turn {
            self.round.turn.add(turn);
            self.last_turn = Some(turn);
            // With packets missing, what is echoed may have passed before.
            if !self.had_handshake {
                self.turn = Some(self.turn.map_or(turn, |known| known.min(turn)));
            }
        }
        let Some(unknown) = unknown else { return };
        let waited = shown.packet.at.saturating_since(unknown.at);
        let waited = waited.saturating_sub(self.turn.unwrap_or_default());
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

    fn note_hole(&mut self, shown: &Shown<'_>, start: u64) {
        if shown.verdict.kinds.contains(Kind::AfterGap) && start > self.nxt {
            self.round.gaps += 1;
            self.hole.get_or_insert((start, shown.packet.at));
            self.episodes.on_hole(Hole {
                at: shown.packet.at,
                packet: shown.number,
                start: self.nxt,
                end: start,
                frozen: self.stillness(),
                after: self.last_data,
            });
        }
    }

    /// The acknowledgments that the sender of `packet` had seen count now.
    fn release(&mut self, packet: &Observed, (start, end): (u64, u64), shown: &Shown<'_>) {
        // Packets of other sizes take a little less or more.
        let turn = self.turn.unwrap_or_default();
        let turn = turn.saturating_sub(turn / 400 + Duration::from_micros(10));
        let patience = turn.saturating_mul(4) + Duration::from_millis(200);
        let echo = packet.timestamps.map(|stamps| stamps.ecr);
        let mut waiting = self.waits_unseen(start, end);
        while let Some(first) = self.pending.front().copied() {
            let due = first.at + turn;
            let is_unknown = matches!((first.ts_val, echo), (Some(val), Some(ecr))
                if is_newer(val, ecr) && packet.at < due + patience);
            let is_known = matches!((first.ts_val, echo), (Some(val), Some(ecr))
                if is_newer(ecr, val));
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

    /// A segment that begins at the old right edge, and goes beyond it, was sent
    /// after the window had moved; what lies between passed unseen, and until
    /// the window moved its sender had to wait. From when on, at the rate of
    /// before, and at which edge.
    fn waits_unseen(&self, start: u64, end: u64) -> Option<(Instant, u64)> {
        // The edge before the acknowledgment that allowed it.
        let mut edge = self.edge;
        for one in &self.pending {
            if one.edge >= end {
                break;
            }
            edge = edge.max(one.edge);
        }
        let at_edge = start + self.mss >= edge && end > edge;
        if !self.knows_edge || start <= self.nxt || !at_edge {
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

    /// The sender learns of an acknowledgment.
    fn learn(&mut self, known: &Pending, number: u64) {
        if known.ack > self.una {
            let acked = known.ack - self.una;
            let gap = known.at.saturating_since(self.ack_passed);
            let trip = self.trip().unwrap_or(Duration::from_millis(1));
            if self.round.acked > 0 && gap < trip / 4 {
                self.round.ack_train_octets += acked;
                self.round.ack_train_time += gap;
            }
            self.ack_passed = known.at;
            self.una = known.ack;
            if acked >= self.mss {
                self.largest_acked = self.mss;
            } else {
                self.largest_acked = self.largest_acked.max(acked);
            }
            self.round.acked += acked;
            self.last_acked = self.last;
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
        self.edge = self.edge.max(known.edge);
        self.last_ack = self.last;
        if self.una >= self.round_end && self.has_data {
            self.close_round(self.last, number);
        }
    }

    fn close_round(&mut self, at: Instant, number: u64) {
        self.round.end = at.max(self.last);
        let next = Round::new(self.round.end, number);
        let done = core::mem::replace(&mut self.round, next);
        if done.length() > Duration::ZERO || done.segments > 0 {
            self.rounds.push(done);
        }
        self.full = [self.full[1], self.flight()];
        self.round_end = self.nxt.max(self.una + 1);
        self.round.flight = self.flight();
    }

    fn end_episode(&mut self) {
        if let Some(mut open) = self.open.take() {
            open.until = self.last;
            self.episodes.push(open);
            // The window is another one now.
            self.full = [0, self.flight()];
        }
    }

    fn on_new(&mut self, shown: &Shown<'_>, start: u64, end: u64) {
        let packet = shown.packet;
        let octets = u64::from(packet.payload_len);
        let is_first = self.round.segments == 0 && self.flight() == 0;
        let data = shown.connection.direction(self.side);
        self.mss = self.mss.max(u64::from(data.largest_segment()));
        if !shown.verdict.kinds.contains(Kind::OutOfOrder) {
            self.largest = self.largest.max(octets).min(65_536);
        }
        if is_first && end > self.nxt {
            self.round_end = end;
        }
        if start > self.nxt && self.flight() == 0 {
            self.round_end = end;
        }
        self.nxt = self.nxt.max(end);
        let flight = self.flight();
        self.round.flight = self.round.flight.max(flight);
        self.full[1] = self.full[1].max(flight);
        self.round.sent += octets;
        self.total_sent += octets;
        self.round.segments += 1;
        if octets < self.mss && octets > 0 {
            self.round.small += 1;
        }
        // The majority vote of Boyer and Moore.
        self.usual = match self.usual {
            (_, 0) => (octets, 1),
            (size, lead) if size == octets => (size, lead + 1),
            (size, lead) => (size, lead - 1),
        };
        if let Some(open) = &mut self.open {
            open.sent += octets;
        }
        let trip = self.trip().unwrap_or(Duration::from_millis(1));
        let gap = packet.at.saturating_since(self.last_data);
        if self.round.segments > 1 && gap < trip / 4 {
            self.round.train_octets += octets;
            self.round.train_time += gap;
        }
        self.note_clock(packet.at, octets, gap, trip);
        if packet.flags.contains(Flags::FIN) {
            self.fin = true;
        }
    }

    /// Does an acknowledgment release what is sent, or something else?
    fn note_clock(&mut self, at: Instant, octets: u64, gap: Duration, trip: Duration) {
        /// What a host takes to answer at once.
        const HOST: Duration = Duration::from_micros(20);
        let since_ack = at.saturating_since(self.last_ack);
        // Where segments follow closely anyway, any of them follows closely on
        // some acknowledgment. Away from the sender the turnaround is known
        // less exactly.
        let at_once = (trip / 100).min(self.spacing / 8);
        let at_once = at_once.max(self.turn.unwrap_or_default() / 150).max(HOST);
        let is_clocked = since_ack <= at_once;
        if is_clocked {
            self.round.clocked += octets;
        }
        let pause = (self.spacing * 4)
            .max(trip / 10)
            .max(Duration::from_millis(2));
        if gap > pause && self.flight() > octets {
            if is_clocked {
                self.round.clocked_starts += 1;
            } else {
                self.round.free_starts += 1;
            }
        }
        if gap < trip {
            self.spacing = self.spacing - self.spacing / 8 + gap / 8;
        }
    }

    fn on_again(&mut self, shown: &Shown<'_>, start: u64, end: u64, silence: Duration) {
        let kinds = shown.verdict.kinds;
        let segments = u64::from(shown.packet.payload_len)
            .div_ceil(self.mss.max(1))
            .max(1);
        self.round.again += segments;
        self.nxt = self.nxt.max(end);
        if kinds.contains(Kind::TailProbe) && self.open.is_none() {
            return;
        }
        let is_expiry = kinds.contains(Kind::TimeoutRetransmission)
            && self.trip().is_none_or(|trip| silence > trip);
        if self.open.is_none() {
            self.row = (start, start);
            self.open = Some(Episode {
                at: shown.packet.at,
                until: shown.packet.at,
                packet: shown.number,
                start,
                flight: self.flight(),
                again: 0,
                spurious: 0,
                row: 0,
                row_end: start,
                timeouts: 0,
                trip: self.last_trip,
                turn: self.last_turn,
                late: 0,
                frozen: self.stillness(),
                full_sized: true,
                sent: 0,
            });
            self.recover = self.nxt;
        }
        let Some(open) = &mut self.open else { return };
        open.again += segments;
        open.full_sized &= end - start >= self.mss;
        if is_expiry {
            open.timeouts += 1;
        }
        self.row = if start == self.row.1 {
            (self.row.0, end)
        } else {
            (start, end)
        };
        if self.row.1 - self.row.0 > open.row {
            open.row = self.row.1 - self.row.0;
            open.row_end = self.row.1;
        }
        if is_expiry {
            let waited = silence.max(shown.packet.at.saturating_since(self.last_data));
            self.episodes.expire(Expiry {
                at: shown.packet.at,
                packet: shown.number,
                start,
                waited,
            });
        }
        if self.una >= self.recover {
            self.recover = self.nxt;
        }
    }

    fn on_reset(&mut self, shown: &Shown<'_>) {
        self.pass(shown.packet.at, End::Event);
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

    /// The receiver speaks.
    pub fn on_heard(&mut self, shown: &Shown<'_>) {
        let packet = shown.packet;
        if let Some(reset) = &mut self.reset {
            reset.answered = true;
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
        self.note_window(shown, ack);
        self.freeze(shown, ack, edge);
        if self.pending.len() == MAX_PENDING
            && let Some(first) = self.pending.pop_front()
        {
            let due = (first.at + self.turn.unwrap_or_default()).min(packet.at);
            self.pass(due, End::Event);
            self.learn(&first, shown.number);
        }
        self.pending.push_back(Pending {
            at: packet.at,
            ack,
            edge,
            ts_val: packet.timestamps.map(|stamps| stamps.val),
        });
    }

    fn note_trip(&mut self, shown: &Shown<'_>) {
        let kinds = shown.verdict.kinds;
        self.round.acks += 1;
        if let Some(trip) = shown.verdict.round_trip
            && self.has_data
        {
            self.round.trip.add(trip);
            self.last_trip = Some(trip);
            if self.round.segments <= 2 && self.flight() <= 2 * self.mss {
                self.lone_waits.0 += 1;
                self.lone_waits.1 += trip;
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
        }
    }

    fn note_window(&mut self, shown: &Shown<'_>, ack: u64) {
        let kinds = shown.verdict.kinds;
        let data = shown.connection.direction(self.side);
        let window = data.offered_to().saturating_sub(ack);
        if !shown.packet.flags.contains(Flags::SYN) {
            self.round.offer(window);
        }
        if self.updates.ack != ack {
            self.updates = Updates {
                ack,
                ..Updates::default()
            };
        }
        let has_more = data.next_position() > ack;
        if kinds.contains(Kind::WindowUpdate) {
            self.round.updates += 1;
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

    /// Does the right edge stand still while data is acknowledged?
    fn freeze(&mut self, shown: &Shown<'_>, ack: u64, edge: u64) {
        let at = shown.packet.at;
        match &mut self.frozen {
            Some(frozen) if frozen.edge == edge => {
                frozen.until = at;
                frozen.acked = ack.saturating_sub(frozen.first_ack);
                if frozen.acked >= 2 * self.mss.max(1) {
                    let stood = at.saturating_since(frozen.since);
                    self.round.still = self.round.still.max(stood);
                }
                frozen.last_packet = shown.number;
            }
            other => {
                if let Some(done) = other.filter(|done| done.acked >= 2 * self.mss.max(1)) {
                    self.last_frozen = Some(done);
                }
                *other = Some(Frozen {
                    edge,
                    since: at,
                    until: at,
                    first_ack: ack,
                    acked: 0,
                    packet: shown.number,
                    last_packet: shown.number,
                });
            }
        }
    }

    /// The edge that stands still, or the last one that did.
    fn stillness(&self) -> Option<Frozen> {
        self.frozen
            .filter(|now| now.acked >= 2 * self.mss.max(1))
            .or(self.last_frozen)
    }

    /// A timestamp that is newer than all before, of the sender or the receiver.
    fn fresh(&mut self, whose: usize, val: u32, at: Instant) -> Option<Stamp> {
        let newest = self.newest[whose].replace(val);
        if newest.is_some_and(|newest| !is_newer(val, newest)) {
            self.newest[whose] = newest;
            return None;
        }
        newest.map(|_| Stamp { val, at })
    }

    /// The capture ends at `at`.
    pub fn finish(&mut self, at: Instant, number: u64) {
        let turn = self.turn.unwrap_or_default();
        while let Some(first) = self.pending.pop_front() {
            let due = (first.at + turn).min(at);
            self.pass(due, End::Event);
            self.learn(&first, number);
        }
        self.pass(at, End::Event);
        if self.open.is_some() {
            self.end_episode();
        }
        self.close_round(self.last, number);
    }
}
