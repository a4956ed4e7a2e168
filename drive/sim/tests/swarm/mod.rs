//! The swarm: random worlds, and what must hold in each of them.
//!
//! A seed stands for four worlds: one of the simulator with one path ([`dumbbell`]), one
//! of many paths ([`network`], half of them with applications: [`traffic`]), one of two engines face to face over real packets
//! ([`pair`]), and one in which a host loses its memory and comes back ([`restart`]). Each is run twice,
//! at different times, on whichever thread is free while other worlds run on
//! the others; both runs must give the same hash of events. A world that fails
//! names its seed, and the seed alone replays it.
//!
//! What is checked: every octet arrives once and in order; connections close;
//! limit times add up to the time since establishment; hops conserve packets
//! and bytes; and, from outside, the rules of [`audit`]. What is kept
//! survivable is said in [`hosts`] and [`dumbbell`].
//!
//! [`plant`] holds the bugs that show that the swarm would notice.
#![allow(dead_code)]

pub mod application;
pub mod audit;
pub mod door;
pub mod draw;
pub mod dumbbell;
pub mod hosts;
pub mod liar;
pub mod links;
pub mod long;
pub mod marking;
pub mod marks;
pub mod meddler;
pub mod middlebox;
pub mod network;
pub mod pair;
pub mod plant;
pub mod restart;
pub mod signing;
pub mod traffic;
pub mod way;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use plant::Plant;

/// The worlds of a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A world of the simulator with one path.
    Dumbbell,
    /// A world of the simulator with many paths.
    Network,
    /// Two engines face to face.
    Pair,
    /// Two engines, one of which restarts.
    Restart,
}

impl Kind {
    /// Every kind of world.
    pub const ALL: [Self; 4] = [Self::Dumbbell, Self::Network, Self::Pair, Self::Restart];
}

/// One run of one world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// Seed of the world.
    pub seed: u64,
    /// Which of its worlds.
    pub kind: Kind,
}

/// A world that failed.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Which.
    pub task: Task,
    /// What was found, and the state of the world in which it was.
    pub what: String,
}

impl Trouble {
    /// What was found, alone.
    pub fn finding(&self) -> &str {
        self.what.lines().next().unwrap_or_default()
    }
}

/// What came out of one run: the hash of its events, or what was found.
pub type Verdict = Result<u64, String>;

/// Runs one world once.
pub fn run(task: Task, plant: Option<Plant>) -> Verdict {
    quiet_panics();
    IN_WORLD.with_borrow_mut(|place| *place = Some(String::new()));
    let verdict = catch_unwind(AssertUnwindSafe(|| match task.kind {
        Kind::Dumbbell => dumbbell::run(task.seed, plant),
        Kind::Network if traffic::is_drawn(task.seed) => traffic::run(task.seed, plant),
        Kind::Network => dumbbell::run_world(&network::world(task.seed, plant), plant),
        Kind::Pair => pair::run(task.seed, plant),
        Kind::Restart => restart::run(task.seed, plant),
    }));
    let panic = IN_WORLD.with_borrow_mut(Option::take).unwrap_or_default();
    verdict.unwrap_or_else(|_| Err(format!("panic: {panic}")))
}

/// Runs the worlds of every seed from `first` on, each twice, on `threads`
/// threads. `running` says which world each thread is at, for a watchdog.
pub fn check_seeds(
    first: u64,
    count: u64,
    plant: Option<Plant>,
    running: &[Mutex<Option<(Task, Instant)>>],
) -> Vec<Trouble> {
    let tasks: Vec<Task> = (first..first.saturating_add(count))
        .flat_map(|seed| Kind::ALL.map(|kind| Task { seed, kind }))
        .collect();
    // The second run of a world comes at another time among other worlds.
    let order: Vec<usize> = (0..tasks.len()).chain((0..tasks.len()).rev()).collect();
    let verdicts: Vec<Mutex<Vec<Verdict>>> = tasks.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for place in running {
            scope.spawn(|| {
                while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    *place.lock().expect("set by one thread") =
                        Some((tasks[index], Instant::now()));
                    let verdict = run(tasks[index], plant);
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
            judge(&verdicts).map(|what| Trouble { task, what })
        })
        .collect()
}

/// What is wrong with the runs of one world, if anything.
pub fn judge(verdicts: &[Verdict]) -> Option<String> {
    for verdict in verdicts {
        if let Err(what) = verdict {
            return Some(what.clone());
        }
    }
    let same = verdicts.windows(2).all(|pair| pair[0] == pair[1]);
    (!same).then(|| format!("the same seed gave different events: {verdicts:x?}"))
}

/// Places for `threads` threads to say what they are at.
pub fn places(threads: usize) -> Vec<Mutex<Option<(Task, Instant)>>> {
    (0..threads).map(|_| Mutex::new(None)).collect()
}

/// The world that has been running for longer than `patience`, if any.
pub fn stuck(running: &[Mutex<Option<(Task, Instant)>>], patience: Duration) -> Option<Task> {
    running.iter().find_map(|place| {
        let (task, since) = (*place.lock().ok()?)?;
        (since.elapsed() > patience).then_some(task)
    })
}

thread_local! {
    /// The message of the panic of the world that runs on this thread.
    static IN_WORLD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of worlds are caught and reported with their seed; the usual report
/// on stderr would only repeat them.
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
