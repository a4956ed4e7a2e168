//! Time attribution of a sender in real time: the same causes as in a simulation, sampled.
//!
//! The times by mechanism are the engine's own, or a kernel's counts. The state of the path is read
//! from the emulator's counters, which it publishes every 50 ms. A round of the account ends when
//! they are new, and loss events closer than that are one. Drops are counted per hop and not per
//! flow, so with several flows the cause of a loss is that of most drops on the path. Of CPU time
//! only that of an engine's thread is known. A kernel's CPU time does not belong to its
//! connections, so its CPU limit shows as one of the window or cwnd.

use gigatcp_emulate::{Direction, HopCounters, Snapshot};
use gigatcp_sim::account::{Account, Attribution, Environment, Use, Window, cause_of};
use gigatcp_tcp::events::{Cause, Phase};
use gigatcp_units::{Bytes, Duration, Instant};

use super::end::{Detail, EndState};

/// Maximum time from a drop to its retransmission.
const REPAIR: Duration = Duration::from_secs(1);

/// Maximum tenths of cwnd left after a loss: CUBIC's factor, Reno's is smaller.
const MAX_BETA: u64 = 7;

/// State shared by all flows, at one time.
#[derive(Clone, Default)]
pub(super) struct RunState {
    pub(super) path: Snapshot,
    /// CPU time of the engines at both ends.
    pub(super) engines: [Duration; 2],
    /// Bytes that all receiving applications have read.
    pub(super) delivered: u64,
}

/// State of a flow at one time.
pub(super) struct FlowView<'a> {
    pub(super) state: &'a EndState,
    /// `state.at` from the start of the run.
    pub(super) at: Instant,
    /// Bytes that its receiving application has read.
    pub(super) delivered: u64,
    /// Time for which that application has paused.
    pub(super) paused: Duration,
    pub(super) is_closing: bool,
}

/// Clocks at the start of a round.
#[derive(Default)]
struct RoundStart {
    at: Instant,
    run_state: RunState,
    delivered: u64,
    paused: Duration,
}

/// Account of a flow, kept by the observer.
pub(super) struct LiveAccount {
    account: Account,
    began: RoundStart,
    /// Whether the first hop is the sender's interface.
    has_link: bool,
    /// Time of the path's last report.
    path_reported_at: Duration,
    retransmitted: u64,
    marked: u64,
    /// Drops by cause at the last reduction.
    blamed: [u64; Cause::COUNT],
    /// Cause blamed last, and when.
    last_blame: Option<(Cause, Instant)>,
    /// Whether a retransmission was seen without its drop.
    has_deferred_retransmission: bool,
}

impl LiveAccount {
    /// Account of a connection opened at `opened` and established at `established`.
    pub(super) fn new(
        opened: Instant,
        established: Instant,
        step: Duration,
        view: &FlowView<'_>,
        (run_state, has_link): (&RunState, bool),
    ) -> Self {
        let mut account = Account::new(opened.min(established), step);
        let start = Window {
            timeouts: 0,
            ..window(view.state, Phase::Open)
        };
        account.on_established(established, start);
        Self {
            account,
            began: RoundStart {
                at: established,
                run_state: run_state.clone(),
                ..RoundStart::default()
            },
            has_link,
            path_reported_at: run_state.path.at,
            retransmitted: 0,
            marked: 0,
            blamed: drops(&run_state.path.directions[0]),
            last_blame: None,
            has_deferred_retransmission: false,
        }
    }

    /// Samples the flow. Nothing is attributed before the path has new counters.
    pub(super) fn sample(&mut self, view: &FlowView<'_>, run_state: &RunState) {
        if run_state.path.at <= self.path_reported_at {
            return;
        }
        self.path_reported_at = run_state.path.at;
        let (state, at) = (view.state, view.at);
        let has_arrived = view.delivered > self.began.delivered;
        let window = window(state, self.phase(state, run_state));
        if !self.account.observe(at, has_arrived, window) {
            return;
        }
        let drops = drops(&run_state.path.directions[0]);
        let (blamed, last_blame) = (&mut self.blamed, &mut self.last_blame);
        let (began, has_link) = (&self.began, self.has_link);
        let is_over = self.account.update(
            (at, has_arrived),
            window,
            &state.limits,
            state.srtt,
            || {
                let dropped = blame(std::mem::replace(blamed, drops), &drops);
                // Losses repaired for longer were dropped before.
                let last = last_blame.filter(|(_, when)| *when + REPAIR > at);
                let cause = dropped.or(last.map(|(cause, _)| cause));
                *last_blame = dropped.map(|cause| (cause, at)).or(*last_blame);
                cause
            },
            || began.until(view, run_state, has_link),
        );
        if window.phase == Phase::Recovery
            && let Some(ssthresh) = state.ssthresh
        {
            let before = ssthresh.as_u64().saturating_mul(10) / MAX_BETA;
            self.account.raise_before(Bytes::new(before));
        }
        if is_over {
            self.began = RoundStart {
                at,
                run_state: run_state.clone(),
                delivered: view.delivered,
                paused: view.paused,
            };
        }
    }

    /// Phase since the last sample, even if it is over by now.
    ///
    /// A retransmission whose drop the path has not reported yet is deferred to the next sample.
    fn phase(&mut self, state: &EndState, run_state: &RunState) -> Phase {
        let counts = &state.counts;
        let has_repaired = counts.retransmitted > self.retransmitted;
        let is_marked = counts.marked > self.marked;
        (self.retransmitted, self.marked) = (counts.retransmitted, counts.marked);
        let is_told = drops(&run_state.path.directions[0]) != self.blamed;
        let was_deferred = std::mem::take(&mut self.has_deferred_retransmission);
        if has_repaired && !is_told && !was_deferred {
            self.has_deferred_retransmission = true;
        } else if has_repaired || was_deferred {
            return Phase::Recovery;
        }
        if is_marked { Phase::Cwr } else { Phase::Open }
    }

    /// Ends the account with the flow.
    pub(super) fn finish(self, view: &FlowView<'_>, run_state: &RunState) -> Attribution {
        let environment = self.began.until(view, run_state, self.has_link);
        self.account
            .finish(view.at, &view.state.limits, &environment)
    }
}

impl RoundStart {
    /// State of path and hosts since then.
    ///
    /// The path's counters are slightly older than the sample, so they are scaled to the time
    /// between samples.
    fn until(&self, view: &FlowView<'_>, run_state: &RunState, has_link: bool) -> Environment {
        let passed = view.at.saturating_since(self.at);
        let counted = run_state.path.at.saturating_sub(self.run_state.path.at);
        let stretched = |busy: Duration| match counted.as_nanos() {
            0 => Duration::ZERO,
            nanos => {
                let share = busy.as_nanos() as f64 / nanos as f64;
                Duration::from_nanos((passed.as_nanos() as f64 * share) as u64)
            }
        };
        let [data, acks] = [0, 1].map(|way| {
            let (now, before) = (
                &run_state.path.directions[way].hops,
                &self.run_state.path.directions[way].hops,
            );
            let uses = now.iter().enumerate().map(|(index, hop)| {
                let busy_before = before.get(index).map_or(Duration::ZERO, |hop| hop.busy);
                Use {
                    busy: stretched(hop.busy.saturating_sub(busy_before)),
                    wait: hop.queueing_delay,
                }
            });
            uses.collect::<Vec<Use>>()
        });
        let (local, path) = data.split_at(usize::from(has_link).min(data.len()));
        let busiest = |uses: &[Use]| {
            uses.iter()
                .copied()
                .max_by_key(|used| (used.busy, used.wait))
                .unwrap_or_default()
        };
        let own = view.delivered.saturating_sub(self.delivered);
        let all = run_state.delivered.saturating_sub(self.run_state.delivered);
        let [sender_cpu, receiver_cpu] =
            [0, 1].map(|end| run_state.engines[end].saturating_sub(self.run_state.engines[end]));
        Environment {
            path: busiest(path),
            local: busiest(local),
            reverse: busiest(&acks),
            sender_cpu,
            receiver_cpu,
            unread: view.paused.saturating_sub(self.paused),
            own_share: if all == 0 {
                1.0
            } else {
                own as f64 / all as f64
            },
            is_closing: view.is_closing,
            lacks_scaling: lacks_scaling(view.state),
        }
    }
}

fn window(state: &EndState, phase: Phase) -> Window {
    Window {
        phase,
        cwnd: state.cwnd,
        timeouts: state.counts.timeouts,
    }
}

/// Whether an engine's window is at 64 KiB because scaling is missing. Unknown for a kernel.
fn lacks_scaling(state: &EndState) -> bool {
    match &state.detail {
        Detail::Engine(info) => !info.scaling && state.rwnd.as_u64() > 60_000,
        Detail::Kernel(..) => false,
    }
}

/// Drops of data by cause, so far.
fn drops(way: &Direction) -> [u64; Cause::COUNT] {
    let mut drops = [0; Cause::COUNT];
    for HopCounters { counters, .. } in &way.hops {
        for (cause, dropped) in counters.drops.iter() {
            drops[cause_of(cause).index()] += dropped.packets;
        }
    }
    drops
}

/// Cause of most drops since `before`.
fn blame(before: [u64; Cause::COUNT], now: &[u64; Cause::COUNT]) -> Option<Cause> {
    let grown = |cause: &Cause| now[cause.index()].saturating_sub(before[cause.index()]);
    let most = Cause::ALL.into_iter().max_by_key(grown)?;
    (grown(&most) > 0).then_some(most)
}
