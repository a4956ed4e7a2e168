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

mod heard;
mod released;
mod sent;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

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

/// The time that a number of octets takes at the closest: what the slowest link
/// needs for them, where enough of them follow one another.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spacing {
    /// Nanoseconds for [`Spacing::UNIT`] octets.
    least: u64,
    often: u64,
}

impl Spacing {
    const UNIT: u64 = 1 << 20;
    /// So often it must have been seen.
    const LEAST_OFTEN: u64 = 4;

    fn add(&mut self, octets: u64, gap: Duration) {
        let each = gap.as_nanos().saturating_mul(Self::UNIT) / octets.max(1);
        if each == 0 {
            return;
        }
        if self.often == 0 || each < self.least - self.least / 8 {
            (self.least, self.often) = (each, 1);
        } else if each <= self.least + self.least / 8 {
            self.often += 1;
        }
    }

    /// Octets per second.
    pub fn rate(&self) -> Option<f64> {
        (self.often >= Self::LEAST_OFTEN)
            .then(|| Self::UNIT as f64 * 1e9 / self.least.max(1) as f64)
    }

    /// Whether that many octets took hardly longer than at the closest.
    fn is_close(&self, octets: u64, gap: Duration) -> bool {
        let each = gap.as_nanos().saturating_mul(Self::UNIT) / octets.max(1);
        each <= self.least + self.least / 2
    }
}

/// A hole in what passes, and whether its neighbours follow closely on one
/// another: what is lost behind the slowest link leaves its place in time, what
/// found no room in the queue before it does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub start: u64,
    pub end: u64,
    pub is_tight: bool,
}

/// Holes kept at most.
const MAX_GAPS: usize = 1024;

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
    /// When a reset of either side ended it; nothing where it went on.
    pub over: Option<Instant>,
    pub updates: Updates,
    pub best_updates: Updates,
    /// A segment that began exactly at the edge and was released by a window
    /// update: packet, its time, how long the sender had waited.
    pub released: Option<(u64, Instant, Duration)>,
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
    /// Whether the newest data had PSH: all that was written has left (RFC 9293
    /// section 3.9.1.2).
    is_pushed: bool,
    /// When the sender first learned of something new since.
    first_learned: Option<Instant>,
    /// How close data follows here, and what acknowledgments tell of it.
    pub data_spacing: Spacing,
    pub ack_spacing: Spacing,
    pub gaps: Vec<Gap>,
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
            over: None,
            updates: Updates::default(),
            best_updates: Updates::default(),
            released: None,
            largest: 0,
            total_sent: 0,
            spacing: Duration::ZERO,
            usual: (0, 0),
            largest_acked: 0,
            unseen_acked: 0,
            newest: [None; 2],
            ack_passed: at,
            is_pushed: false,
            first_learned: None,
            data_spacing: Spacing::default(),
            ack_spacing: Spacing::default(),
            gaps: Vec::new(),
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
        if self.over.is_some() {
            return State::Closing;
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

    /// The sender learns of an acknowledgment.
    fn learn(&mut self, known: &Pending, number: u64) {
        if known.ack > self.una {
            let acked = known.ack - self.una;
            let gap = known.at.saturating_since(self.ack_passed);
            let trip = self.trip().unwrap_or(Duration::from_millis(1));
            if self.round.acked > 0 && gap < trip / 4 {
                self.round.ack_train_octets += acked;
                self.round.ack_train_time += gap;
                self.round.ack_gaps.add(gap.as_nanos() as f64);
                self.round.ack_sizes.add(acked as f64);
                if acked >= self.mss && self.open.is_none() {
                    self.ack_spacing.add(acked, gap);
                }
            }
            self.ack_passed = known.at;
            if known.edge >= self.nxt + self.mss || !self.knows_edge {
                self.first_learned.get_or_insert(self.last);
            }
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
