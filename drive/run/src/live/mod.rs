//! Runs a series in real time: the machine's clock, an emulated path, and at each end the engine or
//! the kernel.
//!
//! ```text
//! writer -> engine | kernel -> path (drive/emulate) -> engine | kernel -> reader
//! ```
//!
//! The thread that runs the series samples all senders at the plan's interval, and checks whether
//! everything is over. One series runs at a time: two would compete for the CPUs. With several CPUs
//! the path has one to itself: it runs before all other threads, and an engine's thread on the same
//! CPU would stall for milliseconds.
//!
//! | file | what |
//! |---|---|
//! | `testbed.rs` | namespaces, the path, the stacks at its ends |
//! | `end.rs` | an end of a flow, of either stack |
//! | `flow.rs` | the two applications of a flow |
//! | `pattern.rs` | the data they exchange |
//! | `account.rs` | time attribution of each sender |
//! | `outcome.rs` | conversion of results to a record |
//! | `kernel_negotiation.rs` | options of a kernel's sockets: requested, granted, in effect |
//! | `bpf.rs` | congestion controls that the kernel loads for the run |
//! | `settings.rs` | settings of the plan that a kernel has too |
//! | `unsupported.rs` | parts of a plan that real time does not support |
//! | `capture.rs` | captures packets at one end of the path into a file |
//! | `sender_tap.rs` | analyzes packets at one end of the path in memory |
//!
//! Sources of lateness: the path, which measures it (`drive/emulate`); a sample, as the record
//! states; the tester's clock, which starts when a thread of the receiver is notified of the
//! connection, tens of microseconds after the kernel.

mod account;
mod bpf;
pub mod capture;
mod end;
mod flow;
mod kernel_negotiation;
mod outcome;
mod pattern;
pub(crate) mod sender_tap;
mod settings;
mod testbed;
pub(crate) mod unsupported;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use gigatcp_emulate::{EmulatorError, Side, Watch};
use gigatcp_linux::steal_time::ProcessorTicks;
use gigatcp_linux::{IsolatedCpu, SetupError, clock};
use gigatcp_meter::MeterError;
use gigatcp_plan::record::SeriesRecord;
use gigatcp_plan::{Scenario, Series};
use gigatcp_sim::account::Attribution;
use gigatcp_sim::observe::Sample;
use gigatcp_units::{Duration, Instant};

use account::{FlowView, LiveAccount, RunState};
use end::EndState;
use flow::{Running, ThreadResults};
use outcome::{Outcome, Queues};
use testbed::Testbed;

/// Interval at which the end of the run is checked.
const STEP: Duration = Duration::from_millis(10);

/// Failure of a run in real time.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Namespaces or devices could not be created.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The path could not be created, or stopped.
    #[error(transparent)]
    Path(#[from] EmulatorError),
    /// A congestion control could not be loaded.
    #[error("the congestion control {0}")]
    Bpf(String),
    /// The kernel refused an option of a socket.
    #[error(transparent)]
    Socket(#[from] MeterError),
    /// The engine could not open a connection, or lost it.
    #[error("the engine: {0}")]
    Engine(#[source] io::Error),
    /// No thread could be started for a flow, or for the analysis of its packets.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The numbers of bytes written and read differ.
    #[error("flow `{name}`: {written} bytes were written and {read} read: a fault")]
    Lost {
        /// The flow.
        name: String,
        /// By the sender.
        written: u64,
        /// By the receiver.
        read: u64,
    },
    /// The bytes read differ from those written.
    #[error("flow `{name}`: other bytes were read than written, from byte {at} on: a fault")]
    Harmed {
        /// The flow.
        name: String,
        /// Offset in the stream.
        at: u64,
    },
}

impl LiveError {
    /// A command that helps, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Setup(error) | Self::Path(EmulatorError::Setup(error)) => error.hint(),
            _ => None,
        }
    }
}

/// Time of the machine's monotonic clock.
fn now() -> Instant {
    Instant::from_nanos(clock::monotonic().unsigned_abs())
}

/// Runs the series once; packets also go to `watches`.
///
/// Ends early when `stop` becomes true, and writes the elapsed nanoseconds to `progress`.
///
/// # Errors
/// [`LiveError`]: the resource that could not be created, or a fault that was found.
pub(crate) fn run(
    series: &Series,
    (repeat, seed): (u32, u64),
    watches: Vec<Box<dyn Watch>>,
    stop: &AtomicBool,
    progress: &AtomicU64,
) -> Result<SeriesRecord, LiveError> {
    let started = series.with_starts(seed);
    // Anything other than one path was refused before.
    let mut scenario = started
        .scenario
        .as_path()
        .unwrap_or_else(|| started.scenario.clone());
    let _loaded = bpf::load(&mut scenario)?;
    let series = &Series {
        scenario,
        ..started.into_owned()
    };
    let scenario = &series.scenario;
    // Set before any thread starts, so that all threads keep off this CPU.
    let isolated = IsolatedCpu::set();
    let processor = isolated.as_ref().map(IsolatedCpu::processor);
    let testbed = Testbed::build(scenario, seed, watches, processor)?;
    let goes_on = AtomicBool::new(true);
    let running = (0..scenario.flows.len())
        .map(|number| Running::new(scenario, number, &testbed, &goes_on))
        .collect::<Result<Vec<_>, _>>()?;
    let watch = |watched: &mut Watched| watched.watch(&running, &testbed, scenario, stop, progress);
    let ticks = ProcessorTicks::now();
    let (watched, results) = run_flows(&running, &goes_on, watch)?;
    let stolen = ProcessorTicks::now()
        .zip(ticks)
        .and_then(|(after, before)| after.stolen_since(before));
    let began = testbed.emulator.began();
    let end = Instant::ZERO + watched.end.saturating_since(began);
    let flows = running
        .iter()
        .zip(watched.samples.into_iter().zip(watched.attributions))
        .zip(watched.last)
        .zip(&results)
        .map(|(((flow, observed), last), results)| {
            outcome::flow_record((&testbed, scenario, flow), observed, last, results, end)
        })
        .collect();
    drop(running);
    let outcome = Outcome {
        end,
        was_stopped: watched.was_stopped,
        samples_late: watched.late,
        queues: watched.queues,
        processor,
        stolen,
        flows,
        testbed_result: testbed.stop()?,
    };
    Ok(outcome.into_record(series, repeat, seed))
}

/// Runs all flows under observation until all is over. Returns the observations and results.
fn run_flows(
    running: &[Running<'_>],
    goes_on: &AtomicBool,
    watch: impl FnOnce(&mut Watched),
) -> Result<(Watched, Vec<ThreadResults>), LiveError> {
    let mut watched = Watched::new(running.len());
    let results = thread::scope(|scope| {
        let threads: io::Result<Vec<_>> = running
            .iter()
            .map(|flow| {
                let named = thread::Builder::new().name("flow".into());
                named.spawn_scoped(scope, || flow.run())
            })
            .collect();
        if threads.is_ok() {
            watch(&mut watched);
        }
        goes_on.store(false, Ordering::SeqCst);
        running.iter().for_each(Running::abort);
        let started = threads.map_err(LiveError::Thread)?.into_iter();
        let results = started.map(|thread| {
            let joined = thread.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.collect::<Result<Vec<_>, _>>()
    })?;
    Ok((watched, results))
}

/// Observations of all senders during the run.
struct Watched {
    samples: Vec<Vec<Sample>>,
    queues: Queues,
    /// Time attribution of each sender, once there is a connection.
    accounts: Vec<Option<LiveAccount>>,
    /// Last state of each sender.
    last: Vec<Option<EndState>>,
    /// The finished accounts.
    attributions: Vec<Option<Attribution>>,
    end: Instant,
    was_stopped: bool,
    late: Duration,
}

impl Watched {
    /// An empty observer of `flows` flows.
    fn new(flows: usize) -> Self {
        Self {
            samples: vec![Vec::new(); flows],
            queues: Queues::default(),
            accounts: (0..flows).map(|_| None).collect(),
            last: vec![None; flows],
            attributions: vec![None; flows],
            end: Instant::ZERO,
            was_stopped: false,
            late: Duration::ZERO,
        }
    }

    /// Samples everything until the run is over.
    fn watch(
        &mut self,
        running: &[Running<'_>],
        testbed: &Testbed,
        scenario: &Scenario,
        stop: &AtomicBool,
        progress: &AtomicU64,
    ) {
        // Best effort: without it, samples are as late as an ordinary thread's.
        let _ = clock::minimize_timer_slack();
        let began = testbed.emulator.began();
        let last = began + scenario.duration;
        let step = scenario.record.sample.max(Duration::from_nanos(1));
        let mut next = began + step;
        loop {
            let at = now();
            progress.store(at.saturating_since(began).as_nanos(), Ordering::Relaxed);
            if at >= next {
                self.sample(running, testbed, scenario);
                self.late = self.late.max(at.saturating_since(next));
                // Missed samples are not made up for.
                let missed = at.saturating_since(next).as_nanos() / step.as_nanos();
                next += step * (missed + 1);
            }
            self.was_stopped = stop.load(Ordering::Relaxed);
            let is_over = running.iter().all(Running::is_over);
            if self.was_stopped || is_over || at >= last || !testbed.emulator.is_running() {
                break;
            }
            let wake = next.min(last).min(at + STEP);
            clock::sleep_until(wake.as_nanos().cast_signed());
        }
        for (last, flow) in self.last.iter_mut().zip(running) {
            *last = flow.state_at_end().or_else(|| flow.sample());
        }
        self.finish_accounts(running, testbed, scenario);
        self.end = now();
    }

    /// Ends the accounts at the ends of their flows.
    fn finish_accounts(&mut self, running: &[Running<'_>], testbed: &Testbed, scenario: &Scenario) {
        let began = testbed.emulator.began();
        let run_state = run_state(running, testbed);
        for (number, flow) in running.iter().enumerate() {
            let Some(state) = &self.last[number] else {
                continue;
            };
            let view = view(flow, state, began);
            // A flow that ended before the first sample has no account yet.
            let account = self.accounts[number]
                .take()
                .or_else(|| begin_account(flow, &view, &run_state, scenario, began));
            self.attributions[number] = account.map(|account| account.finish(&view, &run_state));
        }
    }

    /// Samples every existing sender.
    fn sample(&mut self, running: &[Running<'_>], testbed: &Testbed, scenario: &Scenario) {
        let began = testbed.emulator.began();
        let run_state = run_state(running, testbed);
        self.queues.sample(&run_state.path);
        for (number, flow) in running.iter().enumerate() {
            if flow.state_at_end().is_some() {
                continue;
            }
            let Some(state) = flow.sample() else { continue };
            let view = view(flow, &state, began);
            let account = &mut self.accounts[number];
            if account.is_none() {
                *account = begin_account(flow, &view, &run_state, scenario, began);
            }
            if let Some(account) = account {
                account.sample(&view, &run_state);
            }
            self.samples[number].push(Sample {
                at: view.at,
                cwnd: state.cwnd,
                ssthresh: state.ssthresh,
                rwnd: state.rwnd,
                flight: state.flight,
                srtt: state.srtt,
                pacing_rate: None,
                retransmitted: state.counts.retransmitted,
                delivered: view.delivered,
            });
        }
    }
}

/// Current state common to all flows.
fn run_state(running: &[Running<'_>], testbed: &Testbed) -> RunState {
    let delivered = running
        .iter()
        .map(|flow| flow.delivered.load(Ordering::Relaxed));
    RunState {
        path: testbed.emulator.snapshot(),
        engines: Side::ALL.map(|side| testbed.engine_busy(side)),
        delivered: delivered.sum(),
    }
}

fn view<'a>(flow: &Running<'_>, state: &'a EndState, began: Instant) -> FlowView<'a> {
    FlowView {
        state,
        at: Instant::ZERO + state.at.saturating_since(began),
        delivered: flow.delivered.load(Ordering::Relaxed),
        paused: flow.paused(),
        is_closing: flow.is_written.load(Ordering::Relaxed),
    }
}

/// Account of an established flow.
fn begin_account(
    flow: &Running<'_>,
    view: &FlowView<'_>,
    run_state: &RunState,
    scenario: &Scenario,
    began: Instant,
) -> Option<LiveAccount> {
    let since_start = |at: Instant| Instant::ZERO + at.saturating_since(began);
    let established = since_start(flow.sender.get()?.at);
    let opened = flow.opened.get().copied().map_or(established, since_start);
    let has_link = scenario.sender.link.is_some();
    let step = scenario.record.sample;
    Some(LiveAccount::new(
        opened,
        established,
        step,
        view,
        (run_state, has_link),
    ))
}
