//! Virtual time: tokio's paused clock and the network's events in one order.
//!
//! Packets need nanoseconds, tokio's timers fire at whole milliseconds. A current-thread runtime
//! calls its park hook when no task can run ([`Driver::on_idle`]). The hook then
//!
//! 1. processes network events due within the present millisecond, one instant after the other,
//!    until one wakes a task. No timer of the program can be due before: they all lie on the next
//!    whole millisecond or later. tokio's clock moves to that instant before tasks run.
//! 2. If there are none, it moves the clock to the next whole millisecond, and sets a timer for the
//!    millisecond of the next event. tokio advances to it or to an earlier timer of the program. It
//!    does that in whole ticks, so the clock must be at one.
//!
//! Tasks that never wait, but yield until something has happened, would stop time. So after
//! [`scope::MAX_BUSY`] polls and calls at one instant time passes anyway: to the next event, or to
//! the next whole millisecond ([`Driver::on_busy`]).
//!
//! At one instant timers of the program come before packets. Nothing waits in real time, except for
//! `spawn_blocking`, while which tokio does not advance its clock.
//!
//! A timer at the time limit of the run ends it ([`Stop`]). If nothing else happens before, tasks
//! wait for something that will not come, and the error says what.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration as StdDuration;

use gigatcp_units::{Duration, Instant};
use tokio::task::LocalSet;
use tokio::time::Sleep;

use crate::hosts::LOST_WAKEUP;
use crate::net::{End, Software};
use crate::scope::{self, HostScope};
use crate::world::World;

/// Nanoseconds of a tick of tokio's timers.
const TICK: u64 = 1_000_000;

/// Silence before the time limit from which on a run is stuck rather than long.
const SILENCE: Duration = Duration::from_secs(3600);

/// The world, shared by the driver and all sockets.
#[derive(Debug)]
pub(crate) struct Shared {
    world: Mutex<World>,
    /// tokio's time at the beginning of the run; `None` outside of a run.
    epoch: Mutex<Option<tokio::time::Instant>>,
}

impl Shared {
    pub(crate) fn new(world: World) -> Self {
        Self {
            world: Mutex::new(world),
            epoch: Mutex::new(None),
        }
    }

    /// Calls `act` at the present time, and then wakes tasks. They are woken without the lock: a
    /// task may end with its waker, and drop a socket.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut World) -> R) -> R {
        let now = self.time();
        let mut world = lock(&self.world);
        world.now = world.now.max(now);
        let result = act(&mut world);
        let wakers = std::mem::take(&mut world.wakers);
        drop(world);
        wakers.into_iter().for_each(Waker::wake);
        result
    }

    /// Time since the beginning of the run; zero outside of it.
    fn time(&self) -> Instant {
        let Some(epoch) = *lock(&self.epoch) else {
            return Instant::ZERO;
        };
        if tokio::runtime::Handle::try_current().is_err() {
            return Instant::ZERO;
        }
        let since = tokio::time::Instant::now().saturating_duration_since(epoch);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reason why a run ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The time limit came first. The list has what waits, a line each; `silent_since` is the time
    /// of the last event before, if that was long ago.
    TimeLimit {
        limit: Duration,
        silent_since: Option<Instant>,
        waiting: Vec<String>,
    },
    /// A host's program failed.
    Host {
        name: String,
        error: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, silent_since, waiting) = match self {
            Self::Host { name, error } => return write!(f, "the program of `{name}`: {error}"),
            Self::TimeLimit {
                limit,
                silent_since,
                waiting,
            } => (limit, silent_since, waiting),
        };
        match silent_since {
            Some(since) => {
                write!(
                    f,
                    "deadlock: nothing has happened since {}, and tasks wait for what will not come",
                    since.saturating_since(Instant::ZERO)
                )?;
            }
            None => write!(f, "the run did not end within {limit} of virtual time")?,
        }
        for line in waiting {
            write!(f, "\n  {line}")?;
        }
        if waiting.is_empty() {
            f.write_str("\n  no socket has a waiting task: look at channels, locks and timers")?;
        }
        f.write_str("\n  hint: a timeout where a peer may be silent, or `Net::time_limit`")
    }
}

thread_local! {
    /// The run on this thread.
    static DRIVER: RefCell<Option<Rc<Driver>>> = const { RefCell::new(None) };
}

/// The run on this thread.
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tasks: LocalSet,
    pub(crate) software: RefCell<HashMap<u32, Software>>,
    /// Hosts whose programs have ended.
    pub(crate) ended: RefCell<BTreeSet<u32>>,
    /// How they ended, since the main program was polled last.
    pub(crate) ends: RefCell<VecDeque<(u32, End)>>,
    pub(crate) main: RefCell<Option<Waker>>,
    epoch: tokio::time::Instant,
    limit: Duration,
    timer: RefCell<Option<Pin<Box<Sleep>>>>,
    /// Time when tasks last ran.
    last_active: Cell<Instant>,
    /// [`scope::activity`] at that time.
    activity: Cell<u64>,
    /// A task that has [`Driver::on_idle`] called again, or lets time pass.
    nudge: RefCell<Option<Waker>>,
    is_busy: Cell<bool>,
    is_over: Cell<bool>,
    is_stopped: Cell<bool>,
}

/// Run on this thread.
pub(crate) fn current() -> Option<Rc<Driver>> {
    DRIVER.with(|driver| driver.borrow().clone())
}

/// Removes the run from this thread, also after a panic.
struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        let driver = DRIVER.with(|driver| driver.borrow_mut().take());
        if let Some(driver) = driver {
            *lock(&driver.shared.epoch) = None;
            driver.timer.borrow_mut().take();
        }
    }
}

/// Runs `body` as the program of host `node` until it ends, in virtual time.
///
/// # Panics
/// If there is a run on this thread.
pub(crate) fn run<F: Future>(
    shared: &Arc<Shared>,
    software: HashMap<u32, Software>,
    limit: Duration,
    node: u32,
    body: impl FnOnce() -> F,
) -> Result<F::Output, Stop> {
    assert!(current().is_none(), "a run inside a run");
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).on_thread_park(|| {
        if let Some(driver) = current() {
            driver.on_idle();
        }
    });
    #[cfg(tokio_unstable)]
    builder
        .rng_seed(tokio::runtime::RngSeed::from_bytes(
            &shared.with(|world| world.seed).to_le_bytes(),
        ))
        .on_task_spawn(|task| scope::inherit(task.id()));
    let runtime = builder.build().expect(
        "a current-thread runtime without input and output makes no system calls that fail",
    );
    // Declared before what it must outlive: tasks may use sockets when they are dropped.
    let entered = Entered;
    let epoch = {
        let _guard = runtime.enter();
        tokio::time::Instant::now()
    };
    *lock(&shared.epoch) = Some(epoch);
    let driver = Rc::new(Driver {
        shared: Arc::clone(shared),
        tasks: LocalSet::new(),
        software: RefCell::new(software),
        ended: RefCell::default(),
        ends: RefCell::default(),
        main: RefCell::new(None),
        epoch,
        limit,
        timer: RefCell::new(None),
        last_active: Cell::new(Instant::ZERO),
        activity: Cell::new(0),
        nudge: RefCell::new(None),
        is_busy: Cell::new(false),
        is_over: Cell::new(false),
        is_stopped: Cell::new(false),
    });
    DRIVER.with(|place| *place.borrow_mut() = Some(Rc::clone(&driver)));
    let output = runtime.block_on(driver.tasks.run_until(async {
        tokio::task::spawn_local(nudge());
        driver.begin();
        let body = HostScope::new(node, body());
        driver.supervise(body).await
    }));
    // Tasks of hosts end before the runtime.
    driver.is_over.set(true);
    drop(driver);
    drop(entered);
    drop(runtime);
    output
}

/// A task that waits to be woken: for nothing else, or because others have not waited for long.
async fn nudge() {
    poll_fn(|context| {
        if let Some(driver) = current() {
            *driver.nudge.borrow_mut() = Some(context.waker().clone());
            if driver.is_busy.take() {
                driver.on_busy();
            }
        }
        Poll::<()>::Pending
    })
    .await;
}

impl Driver {
    /// Starts the programs of all hosts.
    fn begin(self: &Rc<Self>) {
        let mut nodes: Vec<u32> = self.software.borrow().keys().copied().collect();
        nodes.sort_unstable();
        nodes.into_iter().for_each(|node| self.start(node));
    }

    /// Polls the main program; ends it if the run is stopped.
    async fn supervise<F: Future>(&self, body: F) -> Result<F::Output, Stop> {
        let mut body = pin!(body);
        let output = poll_fn(|context| {
            *self.main.borrow_mut() = Some(context.waker().clone());
            if let Some(stop) = self.stop() {
                return Poll::Ready(Err(stop));
            }
            body.as_mut().poll(context).map(Ok)
        })
        .await;
        self.is_over.set(true);
        output
    }

    /// Why the run ends early, if it does.
    ///
    /// # Panics
    /// With the panic of a host's program.
    fn stop(&self) -> Option<Stop> {
        let ends: Vec<_> = self.ends.borrow_mut().drain(..).collect();
        let failed = ends
            .into_iter()
            .find_map(|(node, end)| Some((node, end.into_failure()?)));
        if let Some((node, failure)) = failed {
            let name = self.shared.with(|world| world.name_of(node).to_owned());
            match failure {
                Ok(error) => return Some(Stop::Host { name, error }),
                Err(panic) => resume_unwind(panic),
            }
        }
        if !self.is_stopped.get() {
            return None;
        }
        let last = self.last_active.get();
        let is_silent = Instant::ZERO + self.limit >= last + SILENCE;
        let waiting = self.shared.with(|world| world.waiting());
        debug_assert!(
            !waiting.iter().any(|line| line.contains(LOST_WAKEUP)),
            "{waiting:#?}"
        );
        Some(Stop::TimeLimit {
            limit: self.limit,
            silent_since: is_silent.then_some(last),
            waiting,
        })
    }

    pub(crate) fn wake_main(&self) {
        let main = self.main.borrow().clone();
        main.into_iter().for_each(Waker::wake);
    }

    /// Handles the network when no task can run.
    fn on_idle(&self) {
        if self.is_over.get() || self.is_stopped.get() {
            return;
        }
        scope::rest();
        let mut world = lock(&self.shared.world);
        let clock = self.shared.time();
        let mut now = clock;
        let next = loop {
            if !world.wakers.is_empty() {
                break None;
            }
            let due = world.due();
            if due.as_nanos() / TICK > now.as_nanos() / TICK {
                break Some(due);
            }
            now = now.max(due);
            world.act();
        };
        let wakers = std::mem::take(&mut world.wakers);
        drop(world);
        if next.is_none() {
            self.advance(clock, now);
            wakers.into_iter().for_each(Waker::wake);
            return;
        }
        self.wait(clock, now, next.unwrap_or(Instant::FAR_FUTURE));
    }

    /// Has [`Self::on_busy`] called once the present task waits or yields.
    pub(crate) fn interrupt(&self) {
        self.is_busy.set(true);
        if let Some(nudge) = &*self.nudge.borrow() {
            nudge.wake_by_ref();
        }
    }

    /// Lets time pass while tasks can run.
    fn on_busy(&self) {
        if self.is_over.get() || self.is_stopped.get() {
            return;
        }
        let now = self.shared.time();
        if self.is_at_limit(now) {
            return;
        }
        self.last_active.set(now);
        let mut world = lock(&self.shared.world);
        let tick = Instant::from_nanos((now.as_nanos() / TICK + 1) * TICK);
        let to = world.due().max(now).min(tick);
        while to < tick && world.due() <= to {
            world.act();
        }
        let wakers = std::mem::take(&mut world.wakers);
        drop(world);
        self.advance(now, to);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether the time limit is reached; ends the run then.
    fn is_at_limit(&self, now: Instant) -> bool {
        let is_at_limit = now >= Instant::ZERO + self.limit;
        if is_at_limit {
            self.is_stopped.set(true);
            self.wake_main();
        }
        is_at_limit
    }

    /// Lets tokio advance to the millisecond of the next event.
    fn wait(&self, clock: Instant, now: Instant, due: Instant) {
        if self.is_at_limit(now) {
            return;
        }
        let end = Instant::ZERO + self.limit;
        let activity = scope::activity();
        if self.activity.replace(activity) != activity {
            self.last_active.set(clock);
        }
        let tick = Instant::from_nanos(now.as_nanos().next_multiple_of(TICK));
        self.advance(clock, tick);
        let target = (due.min(end).as_nanos() / TICK * TICK).max(tick.as_nanos());
        let deadline = self.epoch + StdDuration::from_nanos(target);
        let mut sleep = Box::pin(tokio::time::sleep_until(deadline));
        // Its waker does nothing: this hook runs after the timer.
        let fired = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if fired.is_ready() {
            // Timers of the program at this tick come first, then this hook again.
            if let Some(nudge) = &*self.nudge.borrow() {
                nudge.wake_by_ref();
            }
            return;
        }
        *self.timer.borrow_mut() = Some(sleep);
    }

    /// Moves tokio's clock.
    fn advance(&self, from: Instant, to: Instant) {
        if to <= from {
            return;
        }
        let by = StdDuration::from_nanos(to.saturating_since(from).as_nanos());
        let mut advance = pin!(tokio::time::advance(by));
        // The first poll moves the clock; the rest would yield.
        let _ = advance
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        debug_assert_eq!(self.shared.time(), to, "tokio's clock and the network's");
    }
}
