//! Attributes each instant of a sender to one cause: what would have to change for it to
//! be faster.
//!
//! The engine's [`LimitClock`](gigatcp_events::LimitClock) says exactly which mechanism
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

use gigatcp_events::{Cause, Limit, Phase};
use gigatcp_path::DropCause;
use gigatcp_units::{Bytes, Duration, Instant};

/// Returns what drops of that cause make a connection limited by: [`DropCause::limits`].
#[must_use]
pub fn cause_of(dropped: DropCause) -> Cause {
    Cause::find(dropped.limits()).unwrap_or(Cause::RandomLoss)
}

/// Reductions of cwnd whose times are kept.
const MAX_TIMES: usize = 1000;

/// Shortest round: occupancy over less is that of single bursts.
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
    /// How long a packet that arrives at the end of the round waits.
    pub wait: Duration,
}

/// What the driver saw of the path and the hosts during a round.
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
    /// The same of the receiving host.
    pub receiver_cpu: Duration,
    /// Time in which the receiving application left data unread by its own choice.
    pub unread: Duration,
    /// This flow's share of what the path carried, 0 to 1.
    pub own_share: f64,
    /// The application has closed: all it will send is written.
    pub is_closing: bool,
    /// The window cannot exceed 64 KiB, and would without that.
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
    /// The cause that took most of it.
    pub cause: Cause,
}

/// A finished account.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Time by cause; adds up to the time since the connection was opened.
    pub spent: ByCause,
    /// The same over time, at the resolution of the samples or of rounds.
    pub spans: Vec<Span>,
    /// When cwnd was reduced for losses, marks or a timeout: the first thousand times.
    pub reductions: Vec<Instant>,
    /// Reductions after these.
    pub reductions_left_out: u64,
}

/// What last reduced cwnd.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    cause: Cause,
    /// cwnd before it; recovered when it is this large again.
    before: Bytes,
}

/// The account of one sender.
#[derive(Clone, Debug)]
pub struct Account {
    spent: ByCause,
    strip: Strip,
    is_established: bool,
    round_began: Instant,
    round_ends: Instant,
    /// Time of this round by the cause of its mechanism.
    round: ByCause,
    /// Time by mechanism that has been counted into a round.
    counted: ByLimit,
    window: Window,
    /// cwnd when nothing was lost last.
    open_cwnd: Bytes,
    reduction: Option<Reduction>,
    reductions: Vec<Instant>,
    reductions_left_out: u64,
    /// When the sender last learned anything.
    heard: Instant,
}

impl Account {
    /// The account of a connection opened at `now`; spans are at least `step` long.
    #[must_use]
    pub fn new(now: Instant, step: Duration) -> Self {
        Self {
            spent: [Duration::ZERO; Cause::COUNT],
            strip: Strip::new(now, step),
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
            heard: now,
        }
    }

    /// Whether the handshake is over.
    #[inline]
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// The handshake ended at `now`, when the clock of limits began.
    pub fn on_established(&mut self, now: Instant, window: Window) {
        let mut setup = [Duration::ZERO; Cause::COUNT];
        setup[Cause::ConnectionSetup.index()] = now.saturating_since(self.round_began);
        self.settle(now, &setup);
        self.is_established = true;
        self.window = window;
        self.open_cwnd = window.cwnd;
        self.heard = now;
        self.round_ends = now + MIN_ROUND;
    }

    /// An event of the sender; `heard` if something arrived. Returns whether
    /// [`Account::turn`] is due.
    #[inline]
    pub fn observe(&mut self, now: Instant, heard: bool, window: Window) -> bool {
        if self.is_reduced(window) || self.is_recovered(window) {
            return true;
        }
        self.remember(now, heard, window);
        heard && now >= self.round_ends
    }

    #[inline]
    fn remember(&mut self, now: Instant, heard: bool, window: Window) {
        if heard {
            self.heard = now;
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

    /// Whether cwnd is what it was before the last reduction.
    #[inline]
    fn is_recovered(&self, window: Window) -> bool {
        self.reduction
            .is_some_and(|reduction| window.phase == Phase::Open && window.cwnd >= reduction.before)
    }

    /// The answer to [`Account::observe`]: `limits` are the times by mechanism up to `now`,
    /// `blame` says what lost the segments that are missing, `look` what the path and the
    /// hosts did since the round began. Returns whether a round ended; the next takes `srtt`.
    pub fn turn(
        &mut self,
        (now, heard): (Instant, bool),
        window: Window,
        limits: &ByLimit,
        srtt: Option<Duration>,
        blame: impl FnOnce() -> Option<Cause>,
        look: impl FnOnce() -> Environment,
    ) -> bool {
        self.count(limits);
        let has_timed_out = window.timeouts != self.window.timeouts;
        if has_timed_out {
            self.take_wait(now.saturating_since(self.heard));
            self.heard = now;
        }
        if self.is_reduced(window) {
            self.reduce(now, window, has_timed_out, blame);
        } else if self.is_recovered(window) {
            self.reduction = None;
        }
        self.remember(now, heard, window);
        let is_over = heard && now >= self.round_ends;
        if is_over {
            self.end_round(now, &look());
            self.round_ends = now + srtt.unwrap_or(MIN_ROUND).max(MIN_ROUND);
        }
        is_over
    }

    /// Before the last reduction cwnd was `least` or more: a driver that only samples misses the
    /// largest.
    pub fn raise_before(&mut self, least: Bytes) {
        if let Some(reduction) = &mut self.reduction {
            reduction.before = reduction.before.max(least);
        }
    }

    /// The connection ends at `now`, or no more samples are taken.
    #[must_use]
    pub fn finish(mut self, now: Instant, limits: &ByLimit, look: &Environment) -> Settled {
        if self.is_established {
            self.count(limits);
            self.end_round(now, look);
        } else {
            self.on_established(now, Window::default());
        }
        Settled {
            spent: self.spent,
            spans: self.strip.finish(now),
            reductions: self.reductions,
            reductions_left_out: self.reductions_left_out,
        }
    }

    /// Counts what has passed since the last count by the cause of each mechanism.
    fn count(&mut self, limits: &ByLimit) {
        let loss = self.reduction.map(|reduction| reduction.cause);
        for limit in Limit::ALL {
            let passed = limits[limit.index()].saturating_sub(self.counted[limit.index()]);
            self.round[Cause::of_limit(limit, loss).index()] += passed;
        }
        self.counted = *limits;
    }

    /// Of this round, the last `wait` was spent waiting for the timer.
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
        self.settle(now, &round);
    }

    fn settle(&mut self, now: Instant, round: &ByCause) {
        for (spent, more) in self.spent.iter_mut().zip(round) {
            *spent += *more;
        }
        self.strip.add(now, round);
        self.round_began = now;
    }
}

/// Whether nothing is being repaired nor reduced.
#[inline]
fn is_open(phase: Phase) -> bool {
    matches!(phase, Phase::Open | Phase::Disorder)
}

/// Moves `amount` from one cause to another.
fn shift(round: &mut ByCause, from: Cause, to: Cause, amount: Duration) {
    round[from.index()] = round[from.index()].saturating_sub(amount);
    round[to.index()] += amount;
}

/// The cause with most time among those that `counts`; `None` if none has any.
fn largest(round: &ByCause, counts: impl Fn(Cause) -> bool) -> Option<Cause> {
    let candidates = Cause::ALL.into_iter().rev();
    candidates
        .filter(|cause| counts(*cause) && !round[cause.index()].is_zero())
        .max_by_key(|cause| round[cause.index()])
}

/// Attributes a round, see the steps of this file's header.
fn attribute(round: &mut ByCause, look: &Environment) {
    let is_idle = |cause: Cause| match cause {
        // What was written last is still on its way.
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

/// The server that had work for all of the time `active` in which there was data to send.
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

/// Pacing that reached another limit within the round only spread that one.
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

/// Spans over time.
#[derive(Clone, Debug)]
struct Strip {
    step: Duration,
    since: Instant,
    open: ByCause,
    spans: Vec<Span>,
}

impl Strip {
    fn new(now: Instant, step: Duration) -> Self {
        Self {
            step,
            since: now,
            open: [Duration::ZERO; Cause::COUNT],
            spans: Vec::new(),
        }
    }

    fn add(&mut self, now: Instant, round: &ByCause) {
        for (open, more) in self.open.iter_mut().zip(round) {
            *open += *more;
        }
        if now.saturating_since(self.since) >= self.step {
            self.close(now);
        }
    }

    /// Ends the open span at `now`; one of the same cause as the last prolongs it.
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

/// Segments of one sender that were lost, and why.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// Offset after the last octet, and the cause; in the order of their loss.
    missing: Vec<(u64, Cause)>,
}

impl Losses {
    /// Losses kept at most; beyond, the older half is forgotten.
    const MOST: usize = 1 << 16;

    /// A segment that ends before the stream offset `end` was lost.
    pub fn on_lost(&mut self, end: u64, cause: Cause) {
        if self.missing.len() >= Self::MOST {
            self.missing.drain(..Self::MOST / 2);
        }
        self.missing.push((end, cause));
    }

    /// The cause of most losses from offset `una` on; of several the last.
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
