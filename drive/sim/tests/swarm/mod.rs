//! The swarm: random simulations with invariant checks.
//!
//! A seed stands for four simulations:
//!
//! * one with one path ([`dumbbell`]);
//! * one with many paths ([`network`]), half of them with applications ([`traffic`]);
//! * one of two directly connected engines that exchange real packets ([`pair`]);
//! * one in which a host loses its state and restarts ([`restart`]).
//!
//! Each is run twice, at different times, on any free thread while others run. Both runs must give
//! the same hash of events. A failure reports its seed, and the seed alone repeats it.
//!
//! Checked: every byte arrives once and in order; connections close; limit times add up to the time
//! since establishment; hops conserve packets and bytes; and, from outside, the rules of [`audit`].
//! Limits for survival are listed in [`hosts`] and [`dumbbell`].
//!
//! [`injected_bug`] holds bugs whose injection the swarm must detect.
#![allow(dead_code)]

pub mod application;
pub mod audit;
pub mod direction;
pub mod draw;
pub mod dumbbell;
pub mod hosts;
pub mod injected_bug;
pub mod links;
pub mod long;
pub mod marking;
pub mod marks;
pub mod middlebox;
pub mod network;
pub mod packet_corruptor;
pub mod pair;
pub mod passive_end;
pub mod restart;
pub mod sender_bug;
pub mod signing;
pub mod traffic;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use injected_bug::InjectedBug;

/// Simulations of a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One path.
    Dumbbell,
    /// Many paths.
    Network,
    /// Two directly connected engines.
    Pair,
    /// Two engines, one of which restarts.
    Restart,
}

impl Kind {
    /// All kinds of simulations.
    pub const ALL: [Self; 4] = [Self::Dumbbell, Self::Network, Self::Pair, Self::Restart];
}

/// One run of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// Seed of the simulation.
    pub seed: u64,
    /// Kind of simulation.
    pub kind: Kind,
}

/// A simulation that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed and kind.
    pub task: Task,
    /// The finding, and the state of the simulation at that time.
    pub what: String,
}

impl Failure {
    /// Finding without the state.
    pub fn finding(&self) -> &str {
        self.what.lines().next().unwrap_or_default()
    }
}

/// Result of one run: the hash of its events, or the finding.
pub type Verdict = Result<u64, String>;

/// Runs one simulation once.
pub fn run(task: Task, bug: Option<InjectedBug>) -> Verdict {
    quiet_panics();
    IN_WORLD.with_borrow_mut(|place| *place = Some(String::new()));
    let verdict = catch_unwind(AssertUnwindSafe(|| match task.kind {
        Kind::Dumbbell => dumbbell::run(task.seed, bug),
        Kind::Network if traffic::is_drawn(task.seed) => traffic::run(task.seed, bug),
        Kind::Network => dumbbell::run_world(&network::world(task.seed, bug), bug),
        Kind::Pair => pair::run(task.seed, bug),
        Kind::Restart => restart::run(task.seed, bug),
    }));
    let panic = IN_WORLD.with_borrow_mut(Option::take).unwrap_or_default();
    verdict.unwrap_or_else(|_| Err(format!("panic: {panic}")))
}

/// Runs the simulations of every seed from `first` on, each twice.
///
/// It uses one thread per entry of `running`, which holds the current simulation of each thread,
/// for a watchdog.
pub fn check_seeds(
    first: u64,
    count: u64,
    bug: Option<InjectedBug>,
    running: &[Mutex<Option<(Task, Instant)>>],
) -> Vec<Failure> {
    let tasks: Vec<Task> = (first..first.saturating_add(count))
        .flat_map(|seed| Kind::ALL.map(|kind| Task { seed, kind }))
        .collect();
    // The second run of a simulation comes at another time, while others run.
    let order: Vec<usize> = (0..tasks.len()).chain((0..tasks.len()).rev()).collect();
    let verdicts: Vec<Mutex<Vec<Verdict>>> = tasks.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for place in running {
            scope.spawn(|| {
                while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    *place.lock().expect("set by one thread") =
                        Some((tasks[index], Instant::now()));
                    let verdict = run(tasks[index], bug);
                    verdicts[index]
                        .lock()
                        .expect("worlds catch panics")
                        .push(verdict);
                }
                *place.lock().expect("set by one thread") = None;
            });
        }
    });
    let judged = tasks.into_iter().zip(verdicts);
    judged
        .filter_map(|(task, verdicts)| {
            let verdicts = verdicts.into_inner().expect("worlds catch panics");
            judge(&verdicts).map(|what| Failure { task, what })
        })
        .collect()
}

/// Finding in the runs of one simulation, if any.
pub fn judge(verdicts: &[Verdict]) -> Option<String> {
    for verdict in verdicts {
        if let Err(what) = verdict {
            return Some(what.clone());
        }
    }
    let same = verdicts.windows(2).all(|pair| pair[0] == pair[1]);
    (!same).then(|| format!("the same seed gave different events: {verdicts:x?}"))
}

/// Entries for `threads` threads to record their current simulation.
pub fn places(threads: usize) -> Vec<Mutex<Option<(Task, Instant)>>> {
    (0..threads).map(|_| Mutex::new(None)).collect()
}

/// Simulation that has been running for longer than `patience`, if any.
pub fn stuck(running: &[Mutex<Option<(Task, Instant)>>], patience: Duration) -> Option<Task> {
    running.iter().find_map(|place| {
        let (task, since) = (*place.lock().ok()?)?;
        (since.elapsed() > patience).then_some(task)
    })
}

thread_local! {
    /// Message of the panic of the simulation that runs on this thread.
    static IN_WORLD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Suppresses the default panic report on stderr. Panics are caught and reported with their seed.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let caught = IN_WORLD.with_borrow_mut(|place| match place {
                Some(message) => {
                    *message = panic.to_string().replace('\n', " ");
                    true
                }
                None => false,
            });
            if !caught {
                usual(panic);
            }
        }));
    });
}
