//! Mixed traffic between the engine and the kernel for a given time.
//!
//! All connections share one path that loses, reorders and duplicates packets.
//!
//! * Short connections in sequence. Either side opens them, over IPv4 and IPv6, with random
//!   lengths, algorithms and endings, including aborts.
//! * Long connections that send continuously in one direction. Every octet is compared, and each
//!   is replaced after some time.
//! * Idle connections with a rare short exchange.
//!
//! The first failed check ends the run. At the end no connection, descriptor, thread or namespace
//! may be left, and memory may not have grown since the warm-up.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_emulate::Snapshot;
use gigatcp_live::{Listener, Options};
use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_units::{Bytes, Duration as Span, Probability, Rate};

use crate::case::{Case, Windows};
use crate::end::End;
use crate::octets::Source;
use crate::testbed::{Testbed, TestbedConfig};
use crate::transfer::{Trouble, exchange};
use crate::watch::{Held, memory};

/// Threads of short connections, of each opener and IP version.
const SHORT: usize = 8;
/// Threads of long connections, one per direction.
const LONG: usize = 2;
/// Idle connections.
const IDLE: usize = 100;
/// First port. Each thread has its own, so that its two ends match.
const FIRST_PORT: u16 = 6000;
/// Maximum number of octets of a short connection.
const SHORT_LEN: usize = 60_000;
/// Pause between two short connections of a thread.
const PAUSE: Duration = Duration::from_millis(20);
/// Octets of one message on an idle connection.
const WORDS: usize = 200;
/// Duration of a long connection.
const LONG_LASTS: Duration = Duration::from_secs(40);
/// Timeout of any operation.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time after which memory is stable. Closed connections stay in TIME-WAIT at both ends, so memory
/// grows until then.
const WARM_UP: Duration = Duration::from_secs(180);
/// Maximum growth of memory: as a fraction, and in octets.
const GROWTH: (f64, u64) = (0.1, 8 << 20);

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// Duration of the run.
    pub lasts: Duration,
    /// Seed of octets, lengths and path.
    pub seed: u64,
}

/// Progress of a run.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Time since the start.
    pub at: Duration,
    /// Opened connections.
    pub opened: u64,
    /// Correctly ended connections.
    pub ended: u64,
    /// Compared octets.
    pub compared: u64,
    /// Current connections of the engine, and those of them in TIME-WAIT.
    pub connections: (u64, u64),
    /// System resources of the process.
    pub held: Held,
}

/// Result of a run.
#[derive(Debug)]
pub struct Soaked {
    /// Progress at the end.
    pub progress: Progress,
    /// System resources before the setup.
    pub before: Held,
    /// System resources after the teardown.
    pub after: Held,
    /// Memory after the warm-up, as the median of many samples.
    pub warm: u64,
    /// Memory at the end of the traffic, as the median of many samples.
    pub last: u64,
    /// Counters of the path.
    pub path: Box<Snapshot>,
}

impl Soaked {
    /// Descriptions of leaks and memory growth.
    pub fn leaks(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        let (share, more) = GROWTH;
        if self.last as f64 > self.warm as f64 * (1.0 + share) + more as f64 {
            leaks.push(format!(
                "memory grew from {} to {} octets",
                self.warm, self.last
            ));
        }
        let counts = [
            (
                "descriptors",
                self.before.descriptors,
                self.after.descriptors,
            ),
            ("threads", self.before.threads, self.after.threads),
            ("namespaces", self.before.namespaces, self.after.namespaces),
        ];
        for (what, before, after) in counts {
            if after != before {
                leaks.push(format!("{before} {what} before, {after} after"));
            }
        }
        leaks
    }
}

/// State shared by all threads.
struct State {
    began: Instant,
    is_over: AtomicBool,
    opened: AtomicU64,
    ended: AtomicU64,
    compared: AtomicU64,
    failed: Mutex<Option<String>>,
}

impl Soak {
    /// Runs the traffic, and reports progress every ten seconds.
    ///
    /// # Errors
    /// First failed check, or missing requirement.
    pub fn run(&self, mut on_progress: impl FnMut(&Progress)) -> Result<Soaked, Trouble> {
        let before = Held::now();
        let testbed = Testbed::new(&path(self.seed))?;
        let state = State {
            began: Instant::now(),
            is_over: AtomicBool::new(false),
            opened: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            compared: AtomicU64::new(0),
            failed: Mutex::new(None),
        };
        let memories = thread::scope(|scope| {
            let (testbed, state) = (&testbed, &state);
            for n in 0..SHORT + LONG + 1 {
                let worker = Worker {
                    testbed,
                    state,
                    n,
                    seed: self.seed.wrapping_add(n as u64 * 1_000_000_007),
                };
                scope.spawn(move || worker.work());
            }
            watch(testbed, state, self.lasts, &mut on_progress)
        });
        let failed = state
            .failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(what) = failed {
            return Err(Trouble::Failed(what));
        }
        match testbed.stack.settle(PATIENCE) {
            Ok(true) => {}
            Ok(false) => {
                let counters = testbed.stack.counters();
                return Err(Trouble::Failed(format!("it does not end: {counters:?}")));
            }
            Err(error) => return Err(Trouble::Failed(error.to_string())),
        }
        let progress = state.progress(&testbed);
        let path = Box::new(testbed.finish().map_err(Trouble::Failed)?);
        let [warm, last] = memories;
        Ok(Soaked {
            progress,
            before,
            after: Held::now(),
            warm,
            last,
            path,
        })
    }
}

/// Path with all impairments, slow enough for a busy machine.
fn path(seed: u64) -> TestbedConfig {
    let chance = Probability::try_new;
    let hop = |name: &str| HopConfig {
        name: name.into(),
        rate: Some(Rate::from_bps(30_000_000)),
        limit_bytes: Some(Bytes::new(300_000)),
        one_way_delay: Span::from_millis(5),
        loss: chance(0.002)
            .map(LossModel::Bernoulli)
            .into_iter()
            .collect(),
        reorder: chance(0.01).map(|probability| Reorder {
            probability,
            extra_delay: Span::from_millis(2),
        }),
        duplicate: chance(0.003),
        ..HopConfig::default()
    };
    TestbedConfig {
        forward: vec![hop("forward")],
        reverse: vec![hop("reverse")],
        seed,
        mtu: 1500,
        offloads: true,
        settings: Vec::new(),
        processor: None,
    }
}

/// Samples memory until the end. Returns the medians after the warm-up and at the end.
fn watch(
    testbed: &Testbed,
    state: &State,
    lasts: Duration,
    on_progress: &mut impl FnMut(&Progress),
) -> [u64; 2] {
    let warm_up = WARM_UP.min(lasts / 2);
    let mut memories: Vec<(Duration, u64)> = Vec::new();
    let mut shown = 0;
    loop {
        let at = state.began.elapsed();
        memories.push((at, memory()));
        if at.as_secs() / 10 > shown {
            shown = at.as_secs() / 10;
            on_progress(&state.progress(testbed));
        }
        if at >= lasts || state.is_over.load(Ordering::Relaxed) {
            state.is_over.store(true, Ordering::Relaxed);
            break;
        }
        thread::sleep(Duration::from_millis(250).min(lasts - at));
    }
    let window = lasts / 10;
    let middle = |from: Duration, to: Duration| {
        let in_window = memories.iter().filter(|(at, _)| (from..=to).contains(at));
        let mut values: Vec<u64> = in_window.map(|(_, memory)| *memory).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    [
        middle(warm_up, warm_up + window),
        middle(lasts.saturating_sub(window), Duration::MAX),
    ]
}

impl State {
    fn progress(&self, testbed: &Testbed) -> Progress {
        let counters = testbed.stack.counters().unwrap_or_default();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            at: self.began.elapsed(),
            opened: count(&self.opened),
            ended: count(&self.ended),
            compared: count(&self.compared),
            connections: (counters.connections, counters.time_wait),
            held: Held::now(),
        }
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// Listener that accepts the connections of a thread.
enum Door {
    Engine(Listener, SocketAddr),
    Kernel(TcpListener, SocketAddr),
}

struct Worker<'a> {
    testbed: &'a Testbed,
    state: &'a State,
    n: usize,
    seed: u64,
}

impl Worker<'_> {
    fn work(&self) {
        let done = match self.n {
            n if n < SHORT => self.short(),
            n if n < SHORT + LONG => self.long(),
            _ => self.idle(),
        };
        if let Err(what) = done {
            let mut failed = self
                .state
                .failed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(format!("thread {}: {what}", self.n));
            self.state.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Runs short connections in sequence.
    fn short(&self) -> Result<(), String> {
        let door = self.door(self.n, self.n & 1 == 0, self.n & 2 == 0)?;
        let mut seed = self.seed;
        while self.state.goes_on() {
            seed = seed.wrapping_add(1);
            let random = Case::random(seed);
            let sizes = random.sizes.map(|size| size % SHORT_LEN);
            let case = Case {
                windows: Windows::Usual,
                sizes,
                ..random
            };
            let ends = self.open(&door, case.engine_control, case.kernel_control)?;
            let done = exchange(&case, ends);
            self.count(done.map_err(|what| format!("{what}\n  {case}"))?);
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Runs long connections in one direction.
    fn long(&self) -> Result<(), String> {
        let from_engine = self.n.is_multiple_of(2);
        let door = self.door(self.n, from_engine, true)?;
        let mut seed = self.seed;
        while self.state.goes_on() {
            seed = seed.wrapping_add(1);
            let [engine, kernel] = self.open(&door, "cubic", "cubic")?;
            let (writer, reader) = if from_engine {
                (engine, kernel)
            } else {
                (kernel, engine)
            };
            let began = Instant::now();
            let wants_more = || began.elapsed() < LONG_LASTS && self.state.goes_on();
            thread::scope(|scope| {
                let writing = scope.spawn(|| write_while(&writer, seed, wants_more));
                let read = self.compare_long(&reader, seed);
                let wrote = writing
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    .map_err(|error| format!("{} writes: {error}", writer.name()))?;
                if read.as_ref().is_ok_and(|read| *read != wrote) {
                    return Err(format!("{read:?} of {wrote} octets came"));
                }
                read
            })?;
            reader.close_write().map_err(|error| error.to_string())?;
            let last = (&writer).read(&mut [0; 9]);
            if !matches!(last, Ok(0)) {
                return Err(format!("{} reads at the end: {last:?}", writer.name()));
            }
            self.state.ended.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads to the end and compares every octet. Returns their number.
    fn compare_long(&self, mut reader: &End, seed: u64) -> Result<u64, String> {
        let mut source = Source::new(seed);
        let (mut wanted, mut got) = (vec![0; BLOCK], vec![0; BLOCK]);
        let mut all = 0_u64;
        let mut at = BLOCK;
        loop {
            if at == BLOCK {
                source.fill(&mut wanted);
                at = 0;
            }
            let read = reader
                .read(&mut got[at..])
                .map_err(|error| format!("{} reads: {error}", reader.name()))?;
            if read == 0 {
                return Ok(all);
            }
            if got[at..at + read] != wanted[at..at + read] {
                return Err(format!("{} reads other octets after {all}", reader.name()));
            }
            at += read;
            all += read as u64;
            self.state
                .compared
                .fetch_add(read as u64, Ordering::Relaxed);
        }
    }

    /// Runs idle connections with a rare exchange, and replaces one each time.
    fn idle(&self) -> Result<(), String> {
        let doors = [
            self.door(self.n, true, false)?,
            self.door(self.n + 1, false, false)?,
        ];
        let open = |n: usize| self.open(&doors[n % 2], "cubic", "cubic");
        let mut all: Vec<[End; 2]> = (0..IDLE).map(open).collect::<Result<_, _>>()?;
        let mut turn = 0;
        while self.state.goes_on() {
            turn += 1;
            let place = turn * 37 % IDLE;
            self.say(&all[place], self.seed.wrapping_add(turn as u64))?;
            // After the reset or the close, no data is left to read.
            let [engine, kernel] = std::mem::replace(&mut all[place], open(turn)?);
            let (first, other) = if turn % 4 < 2 {
                (engine, kernel)
            } else {
                (kernel, engine)
            };
            if turn % 2 == 0 {
                first.close_write().map_err(|error| error.to_string())?;
                let read = (&other).read(&mut [0; 9]);
                if !matches!(read, Ok(0)) {
                    return Err(format!("{} reads at the end: {read:?}", other.name()));
                }
            }
            self.state.ended.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// Exchanges a message in both directions.
    fn say(&self, ends: &[End; 2], seed: u64) -> Result<(), String> {
        for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
            let words = Source::first(seed, WORDS);
            let mut heard = vec![0; WORDS];
            let said = from.write_all_octets(&words);
            let mut reader = to;
            let done = said.and_then(|()| reader.read_exact(&mut heard));
            done.map_err(|error| format!("{} says something: {error}", from.name()))?;
            if heard != words {
                return Err(format!("{} hears something else", to.name()));
            }
            self.state
                .compared
                .fetch_add(WORDS as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    fn count(&self, compared: u64) {
        self.state.compared.fetch_add(compared, Ordering::Relaxed);
        self.state.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn door(&self, n: usize, engine_opens: bool, is_v6: bool) -> Result<Door, String> {
        let port = FIRST_PORT + n as u16;
        let door = if engine_opens {
            let at = SocketAddr::from((Testbed::kernel_address(is_v6), port));
            let listener = self.testbed.kernel_listens(at, "cubic");
            listener.map(|listener| Door::Kernel(listener, at))
        } else {
            let at = SocketAddr::from((Testbed::engine_address(is_v6), port));
            let listener = self.testbed.stack.listen(at, &Options::default());
            listener.map(|listener| Door::Engine(listener, at))
        };
        door.map_err(|error| format!("listening: {error}"))
    }

    /// Opens a connection, and returns the ends of engine and kernel.
    fn open(&self, door: &Door, engine: &str, kernel: &str) -> Result<[End; 2], String> {
        let open = || -> io::Result<[End; 2]> {
            let ends = match door {
                Door::Kernel(listener, at) => {
                    let options = Options::default().with_congestion(engine)?;
                    let ours = self
                        .testbed
                        .stack
                        .connect_timeout(*at, &options, PATIENCE)?;
                    [End::Engine(ours), End::Kernel(listener.accept()?.0)]
                }
                Door::Engine(listener, at) => {
                    let theirs = self.testbed.kernel_connects(*at, kernel, PATIENCE)?;
                    [
                        End::Engine(listener.accept_timeout(PATIENCE)?.0),
                        End::Kernel(theirs),
                    ]
                }
            };
            ends.iter().try_for_each(|end| end.set_patience(PATIENCE))?;
            Ok(ends)
        };
        let ends = open().map_err(|error| format!("opening: {error}"))?;
        self.state.opened.fetch_add(1, Ordering::Relaxed);
        Ok(ends)
    }
}

/// Octets generated and compared per step.
const BLOCK: usize = 64 * 1024;

/// Writes blocks while `wants_more` holds, then closes. Returns the number of octets.
fn write_while(writer: &End, seed: u64, wants_more: impl Fn() -> bool) -> io::Result<u64> {
    let mut source = Source::new(seed);
    let mut block = vec![0; BLOCK];
    let mut all = 0;
    while wants_more() {
        source.fill(&mut block);
        writer.write_all_octets(&block)?;
        all += BLOCK as u64;
    }
    writer.close_write()?;
    Ok(all)
}
