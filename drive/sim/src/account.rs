//! Attributes each instant of a sender to one cause: what would have to change for it to
//! be faster.
//!
//! The engine's [`LimitClock`](gigatcp_tcp::events::LimitClock) says exactly which mechanism
//! stopped the output, and for how long. A mechanism is no cause: a receive window that is
//! full of data queued at a busy link costs nothing. So the time under each mechanism is
//! collected for a *round* (one RTT, at least [`MIN_ROUND`]) and attributed at its end:
//!
//! 1. A server that was busy for the whole round is the cause, whatever stopped the output:
//!    the sender's interface, a link of the path, the sender's CPU, the receiver's CPU, a
//!    link of the reverse path. Busy means idle for less than 1/[`SLACK`] of the time in
//!    which the application had data to send. Lifting any other limit gains no more.
//! 2. Otherwise the mechanism is mapped: the congestion window to what last reduced it, as
//!    long as it has not recovered to its size before; pacing to the limit that was reached
//!    within the same round, as it only spread that one; a receive window to the reader if
//!    that did not read.
//!
//! Time without data to send stays the application's. The time from the last ACK to a
//! retransmission timeout is `rto-backoff`. The times of all causes add up exactly to the
//! time since the connection was opened.
//!
//! Cost: a few comparisons per event of the sender; the rest once per round.

use gigatcp_path::DropCause;
use gigatcp_tcp::events::{Cause, Limit, Phase};
use gigatcp_units::{Bytes, Duration, Instant};

/// Cause that drops for `dropped` limit a connection by: [`DropCause::limits`].
pub fn cause_of(dropped: DropCause) -> Cause {
    Cause::find(dropped.limits()).unwrap_or(Cause::RandomLoss)
}

/// Maximum number of reductions of cwnd whose times are kept.
const MAX_TIMES: usize = 1000;

/// Shortest round: occupancy over a shorter time reflects single bursts.
pub const MIN_ROUND: Duration = Duration::from_millis(1);

/// A server that idles for less than one part in this many counts as saturated.
pub const SLACK: u64 = 32;

/// Time by [`Limit`], in the order of [`Limit::ALL`].
pub type ByLimit = [Duration; Limit::ALL.len()];

/// Time by [`Cause`], in the order of [`Cause::ALL`].
pub type ByCause = [Duration; Cause::COUNT];

/// The congestion window at an event of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Window {
    /// Recovery phase.
    pub phase: Phase,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
}

/// A server of the path during a round: a link or a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Use {
    /// Time in which it had work.
    pub busy: Duration,
    /// Waiting time of a packet that arrives at the end of the round.
    pub wait: Duration,
}

/// State of path and hosts during a round, as the driver measured it.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// The busiest link between the hosts.
    pub path: Use,
    /// The sender's interface.
    pub local: Use,
    /// The busiest link of the reverse path.
    pub reverse: Use,
    /// CPU time of the sending host that its stack could not use for more.
    pub sender_cpu: Duration,
    /// CPU time of the receiving host that its stack could not use for more.
    pub receiver_cpu: Duration,
    /// Time in which the receiving application chose to leave data unread.
    pub unread: Duration,
    /// This flow's share of what the path carried, 0 to 1.
    pub own_share: f64,
    /// Whether the application has closed: all that it will send is written.
    pub is_closing: bool,
    /// Whether the window is limited to 64 KiB and would exceed that with window scaling.
    pub lacks_scaling: bool,
}

impl Default for Environment {
    /// An idle path of a single flow.
    fn default() -> Self {
        Self {
            path: Use::default(),
            local: Use::default(),
            reverse: Use::default(),
            sender_cpu: Duration::ZERO,
            receiver_cpu: Duration::ZERO,
            unread: Duration::ZERO,
            own_share: 1.0,
            is_closing: false,
            lacks_scaling: false,
        }
    }
}

/// An interval attributed to one cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Start.
    pub start: Instant,
    /// End.
    pub end: Instant,
    /// The cause with the most time in it.
    pub cause: Cause,
}

/// Attribution of a sender's whole time.
#[derive(Clone, Default, Debug)]
pub struct Attribution {
    /// Time by cause; adds up to the time since the connection was opened.
    pub spent: ByCause,
    /// Cause over time, at the resolution of the samples or of rounds.
    pub spans: Vec<Span>,
    /// Times at which losses, marks or a timeout reduced cwnd: the first 1000.
    pub reductions: Vec<Instant>,
    /// Number of later reductions.
    pub reductions_left_out: u64,
}

impl Attribution {
    /// Makes all spans at least `step` long.
    pub fn coarsen(&mut self, step: Duration) {
        if let Some(last) = self.spans.last() {
            let end = last.end;
            self.spans = SpanBuilder::joined(&self.spans, end, step).finish(end);
        }
    }
}

/// Last reduction of cwnd.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    cause: Cause,
    /// cwnd before it; at this size cwnd has recovered.
    before: Bytes,
}

/// Time attribution of one sender.
#[derive(Clone, Debug)]
pub struct Account {
    spent: ByCause,
    spans: SpanBuilder,
    /// Time of this round by the cause its mechanism maps to.
    round: ByCause,
    /// Time by mechanism that is already part of a round.
    counted: ByLimit,
    reductions: Vec<Instant>,
    reductions_left_out: u64,
    round_began: Instant,
    // What `observe` reads at each event stands together.
    round_ends: Instant,
    window: Window,
    /// cwnd at the last event outside recovery and CWR.
    open_cwnd: Bytes,
    reduction: Option<Reduction>,
    /// Time of the last segment that arrived at the sender.
    last_arrival: Instant,
    is_established: bool,
}

impl Account {
    /// Attribution of a connection opened at `now`; spans are at least `step` long.
    pub fn new(now: Instant, step: Duration) -> Self {
        Self {
            spent: [Duration::ZERO; Cause::COUNT],
            spans: SpanBuilder::new(now, step),
            is_established: false,
            round_began: now,
            round_ends: now,
            round: [Duration::ZERO; Cause::COUNT],
            counted: [Duration::ZERO; Limit::ALL.len()],
            window: Window::default(),
            open_cwnd: Bytes::ZERO,
            reduction: None,
            reductions: Vec::new(),
            reductions_left_out: 0,
            last_arrival: now,
        }
    }

    /// Whether the handshake is complete.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// Ends the handshake at `now`, the time at which the clock of limits began.
    pub fn on_established(&mut self, now: Instant, window: Window) {
        let mut setup = [Duration::ZERO; Cause::COUNT];
        setup[Cause::ConnectionSetup.index()] = now.saturating_since(self.round_began);
        self.add_round(now, &setup);
        self.is_established = true;
        self.window = window;
        self.open_cwnd = window.cwnd;
        self.last_arrival = now;
        self.round_ends = now + MIN_ROUND;
    }

    /// Records an event of the sender; `has_arrived` if a segment arrived. Returns whether
    /// [`Account::update`] is due.
    #[inline]
    pub fn observe(&mut self, now: Instant, has_arrived: bool, window: Window) -> bool {
        if self.is_reduced(window) || self.is_recovered(window) {
            return true;
        }
        self.remember(now, has_arrived, window);
        has_arrived && now >= self.round_ends
    }

    #[inline]
    fn remember(&mut self, now: Instant, has_arrived: bool, window: Window) {
        if has_arrived {
            self.last_arrival = now;
        }
        if is_open(window.phase) {
            self.open_cwnd = window.cwnd;
        }
        self.window = window;
    }

    /// Whether cwnd was reduced since the last event.
    #[inline]
    fn is_reduced(&self, window: Window) -> bool {
        window.timeouts != self.window.timeouts
            || (is_open(self.window.phase) && !is_open(window.phase))
    }

    /// Whether cwnd is as large as before the last reduction.
    #[inline]
    fn is_recovered(&self, window: Window) -> bool {
        self.reduction
            .is_some_and(|reduction| window.phase == Phase::Open && window.cwnd >= reduction.before)
    }

    /// Updates the attribution when [`Account::observe`] requests it.
    ///
    /// `limits` are the times by mechanism up to `now`. `blame` returns the cause of the missing
    /// segments, `look` the state of path and hosts since the round began. Returns whether a round
    /// ended; the next one lasts `srtt`.
    pub fn update(
        &mut self,
        (now, has_arrived): (Instant, bool),
        window: Window,
        limits: &ByLimit,
        srtt: Option<Duration>,
        blame: impl FnOnce() -> Option<Cause>,
        look: impl FnOnce() -> Environment,
    ) -> bool {
        self.count(limits);
        let has_timed_out = window.timeouts != self.window.timeouts;
        if has_timed_out {
            self.take_wait(now.saturating_since(self.last_arrival));
            self.last_arrival = now;
        }
        if self.is_reduced(window) {
            self.reduce(now, window, has_timed_out, blame);
        } else if self.is_recovered(window) {
            self.reduction = None;
        }
        self.remember(now, has_arrived, window);
        let is_over = has_arrived && now >= self.round_ends;
        if is_over {
            self.end_round(now, &look());
            self.round_ends = now + srtt.unwrap_or(MIN_ROUND).max(MIN_ROUND);
        }
        is_over
    }

    /// Raises cwnd before the last reduction to at least `least`. A driver that only samples misses
    /// the largest value.
    pub fn raise_before(&mut self, least: Bytes) {
        if let Some(reduction) = &mut self.reduction {
            reduction.before = reduction.before.max(least);
        }
    }

    /// Makes all spans at least `step` long.
    pub fn coarsen(&mut self, step: Duration) {
        let spans = std::mem::take(&mut self.spans.spans);
        let recent = self.spans.open;
        self.spans = SpanBuilder::joined(&spans, self.spans.since, step);
        add_times(&mut self.spans.open, &recent);
    }

    /// Ends the attribution at `now`: the connection ends, or no more samples are taken.
    pub fn finish(mut self, now: Instant, limits: &ByLimit, look: &Environment) -> Attribution {
        if self.is_established {
            self.count(limits);
            self.end_round(now, look);
        } else {
            self.on_established(now, Window::default());
        }
        Attribution {
            spent: self.spent,
            spans: self.spans.finish(now),
            reductions: self.reductions,
            reductions_left_out: self.reductions_left_out,
        }
    }

    /// Adds the time since the last count to the round, by cause.
    fn count(&mut self, limits: &ByLimit) {
        let loss = self.reduction.map(|reduction| reduction.cause);
        for limit in Limit::ALL {
            let passed = limits[limit.index()].saturating_sub(self.counted[limit.index()]);
            self.round[Cause::of_limit(limit, loss).index()] += passed;
        }
        self.counted = *limits;
    }

    /// Attributes the last `wait` of this round to `rto-backoff`.
    fn take_wait(&mut self, wait: Duration) {
        let mut left = wait;
        while let Some(most) = largest(&self.round, |cause| cause != Cause::RtoBackoff)
            && !left.is_zero()
        {
            let taken = left.min(self.round[most.index()]);
            shift(&mut self.round, most, Cause::RtoBackoff, taken);
            left = left.saturating_sub(taken);
        }
    }

    fn reduce(
        &mut self,
        now: Instant,
        window: Window,
        has_timed_out: bool,
        blame: impl FnOnce() -> Option<Cause>,
    ) {
        let cause = match (window.phase, blame()) {
            (Phase::Cwr, _) => Cause::EcnMarks,
            (_, Some(cause)) => cause,
            (_, None) if has_timed_out => Cause::RtoBackoff,
            // Retransmitted in other sizes, without a reduction.
            (Phase::Loss, None) => return,
            (_, None) => Cause::Reordering,
        };
        let before = self
            .reduction
            .map_or(self.open_cwnd, |last| last.before.max(self.open_cwnd));
        self.reduction = Some(Reduction { cause, before });
        match self.reductions.len() < MAX_TIMES {
            true => self.reductions.push(now),
            false => self.reductions_left_out += 1,
        }
    }

    fn end_round(&mut self, now: Instant, look: &Environment) {
        let mut round = std::mem::replace(&mut self.round, [Duration::ZERO; Cause::COUNT]);
        attribute(&mut round, look);
        self.add_round(now, &round);
    }

    fn add_round(&mut self, now: Instant, round: &ByCause) {
        add_times(&mut self.spent, round);
        self.spans.add(now, round);
        self.round_began = now;
    }
}

/// Whether the phase is neither loss recovery nor CWR.
#[inline]
fn is_open(phase: Phase) -> bool {
    matches!(phase, Phase::Open | Phase::Disorder)
}

/// Adds the times of `more` to those of `sum`.
fn add_times(sum: &mut ByCause, more: &ByCause) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += *more;
    }
}

/// Moves `amount` from one cause to another.
fn shift(round: &mut ByCause, from: Cause, to: Cause, amount: Duration) {
    round[from.index()] = round[from.index()].saturating_sub(amount);
    round[to.index()] += amount;
}

/// Cause with most time among those that `counts` selects. `None` if all are zero.
fn largest(round: &ByCause, counts: impl Fn(Cause) -> bool) -> Option<Cause> {
    let candidates = Cause::ALL.into_iter().rev();
    candidates
        .filter(|cause| counts(*cause) && !round[cause.index()].is_zero())
        .max_by_key(|cause| round[cause.index()])
}

/// Attributes a round in the steps of the module header.
fn attribute(round: &mut ByCause, look: &Environment) {
    let is_idle = |cause: Cause| match cause {
        // Data written last is still in flight.
        Cause::ApplicationLimited => !look.is_closing,
        Cause::RtoBackoff | Cause::ConnectionSetup => true,
        _ => false,
    };
    let active = sum(round, |cause| !is_idle(cause));
    if let Some(server) = saturated(active, look) {
        for cause in Cause::ALL {
            if !is_idle(cause) && cause != server {
                shift(round, cause, server, round[cause.index()]);
            }
        }
        return;
    }
    attribute_pacing(round);
    let window = round[Cause::ReceiveWindow.index()];
    if look.unread * 2 >= window {
        shift(round, Cause::ReceiveWindow, Cause::SlowReader, window);
    } else if look.lacks_scaling {
        shift(round, Cause::ReceiveWindow, Cause::NoWindowScaling, window);
    }
}

fn sum(round: &ByCause, counts: impl Fn(Cause) -> bool) -> Duration {
    let all = Cause::ALL.into_iter().filter(|cause| counts(*cause));
    all.fold(Duration::ZERO, |sum, cause| sum + round[cause.index()])
}

/// Server that was busy for all of `active`. That is the time with data to send.
fn saturated(active: Duration, look: &Environment) -> Option<Cause> {
    if active.is_zero() {
        return None;
    }
    let least = active.saturating_sub(active / SLACK);
    let is_full = |busy: Duration| busy >= least;
    let path = match look.own_share < 0.5 {
        true => Cause::CrossTraffic,
        false => Cause::PathSaturated,
    };
    if is_full(look.local.busy) && !(is_full(look.path.busy) && look.path.wait > look.local.wait) {
        Some(Cause::LocalQueue)
    } else if is_full(look.path.busy) {
        Some(path)
    } else if is_full(look.sender_cpu) {
        Some(Cause::SenderCpu)
    } else if is_full(look.receiver_cpu) {
        Some(Cause::ReceiverCpu)
    } else if is_full(look.reverse.busy) {
        Some(Cause::AckPath)
    } else {
        None
    }
}

/// Attributes pacing to the limit reached in the same round: pacing only spread it.
fn attribute_pacing(round: &mut ByCause) {
    let paced = round[Cause::PacingLimited.index()];
    let counts = |cause: Cause| {
        !matches!(
            cause,
            Cause::PacingLimited | Cause::RtoBackoff | Cause::ConnectionSetup
        )
    };
    let others = sum(round, counts);
    if others < (paced + others) / SLACK {
        return;
    }
    if let Some(other) = largest(round, counts) {
        shift(round, Cause::PacingLimited, other, paced);
    }
}

/// Spans of causes over time.
#[derive(Clone, Debug)]
struct SpanBuilder {
    step: Duration,
    since: Instant,
    open: ByCause,
    spans: Vec<Span>,
}

impl SpanBuilder {
    fn new(now: Instant, step: Duration) -> Self {
        Self {
            step,
            since: now,
            open: [Duration::ZERO; Cause::COUNT],
            spans: Vec::new(),
        }
    }

    /// `spans`, which end at `now`, joined to spans of at least `step`. A shorter rest stays open.
    fn joined(spans: &[Span], now: Instant, step: Duration) -> Self {
        let begin = spans.first().map_or(now, |span| span.start);
        let mut joined = Self::new(begin, step);
        for span in spans {
            let mut round = [Duration::ZERO; Cause::COUNT];
            round[span.cause.index()] = span.end.saturating_since(span.start);
            joined.add(span.end, &round);
        }
        joined
    }

    fn add(&mut self, now: Instant, round: &ByCause) {
        add_times(&mut self.open, round);
        if now.saturating_since(self.since) >= self.step {
            self.close(now);
        }
    }

    /// Ends the open span at `now`. A span of the same cause extends the last one.
    fn close(&mut self, now: Instant) {
        let Some(cause) = largest(&self.open, |_| true) else {
            return;
        };
        match self.spans.last_mut() {
            Some(last) if last.cause == cause => last.end = now,
            _ => self.spans.push(Span {
                start: self.since,
                end: now,
                cause,
            }),
        }
        self.since = now;
        self.open = [Duration::ZERO; Cause::COUNT];
    }

    fn finish(mut self, now: Instant) -> Vec<Span> {
        self.close(now);
        self.spans
    }
}

/// Lost segments of one sender, with their causes.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Offset after the last byte, and the cause, in order of loss.
    missing: Vec<(u64, Cause)>,
}

impl Losses {
    /// Maximum number of losses kept; beyond it the older half is dropped.
    const MAX_LOSSES: usize = 1 << 16;

    /// Records the loss of a segment that ends before the stream offset `end`.
    pub fn on_lost(&mut self, end: u64, cause: Cause) {
        if self.missing.len() >= Self::MAX_LOSSES {
            self.missing.drain(..Self::MAX_LOSSES / 2);
        }
        self.missing.push((end, cause));
    }

    /// Most frequent cause of losses from offset `una` on. Of a tie, the last.
    pub fn blame(&mut self, una: u64) -> Option<Cause> {
        self.missing.retain(|(end, _)| *end > una);
        let mut counts = [0_usize; Cause::COUNT];
        for (_, cause) in &self.missing {
            counts[cause.index()] += 1;
        }
        let causes = self.missing.iter().map(|(_, cause)| *cause);
        causes.max_by_key(|cause| counts[cause.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cause_of_drops_limits_by_is_a_cause_that_is_known() {
        for dropped in DropCause::ALL {
            assert!(Cause::find(dropped.limits()).is_some(), "{dropped:?}");
        }
    }
}
