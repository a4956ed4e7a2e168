//! [`Net`]: hosts, links, and a run in virtual time.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration as StdDuration;

use gigatcp_units::Duration;
use tokio::task::LocalSet;

use crate::clock::Clock;
use crate::driver::{self, Driver, Shared, Stop};
use crate::host::{SocketEntry, addresses_of};
use crate::matrix;
use crate::packet::Passing;
use crate::report::Report;
use crate::scope::{self, HostScope};
use crate::words::{Words, WordsError};
use crate::world::{Filter, TopologyError, World};

/// Name of the host that the body of a test runs on.
pub const DEFAULT_HOST: &str = "test";

/// Time limit of a run, in virtual time.
const TIME_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Environment variable whose value replaces the seed of every [`Net`].
pub const SEED_VARIABLE: &str = "GIGATCP_SEED";

/// Error of a program.
type BoxError = Box<dyn StdError + Send + Sync>;

/// A program as a future.
type Program = Pin<Box<dyn Future<Output = Result<(), BoxError>>>>;

/// The program of a host.
pub(crate) struct Software {
    program: Start,
    /// Whether the run ends when all of this kind have ended.
    is_client: bool,
}

enum Start {
    /// Starts anew after a crash.
    Again(Rc<dyn Fn(Host) -> Program>),
    Once(Option<Box<dyn FnOnce(Host) -> Program>>),
}

/// How a program ended.
pub(crate) enum End {
    Done,
    Failed(BoxError),
    Panicked(Box<dyn Any + Send>),
}

impl End {
    /// The failure: an error, or the payload of a panic.
    pub(crate) fn into_failure(self) -> Option<Result<BoxError, Box<dyn Any + Send>>> {
        match self {
            Self::Failed(error) => Some(Ok(error)),
            Self::Panicked(panic) => Some(Err(panic)),
            Self::Done => None,
        }
    }
}

thread_local! {
    /// Programs of networks that do not run yet, by the number of the network.
    static PROGRAMS: RefCell<HashMap<u64, HashMap<u32, Software>>> = RefCell::default();
}

static NEXT_NET: AtomicU64 = AtomicU64::new(0);

/// Result of a host's program: nothing, or a `Result`.
pub trait Outcome {
    /// Error, if the program failed.
    ///
    /// # Errors
    /// The program's.
    fn into_result(self) -> Result<(), Box<dyn StdError + Send + Sync>>;
}

impl Outcome for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<T, E: Into<BoxError>> Outcome for Result<T, E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map(drop).map_err(Into::into)
    }
}

/// Hosts, links between them, and a run in virtual time.
///
/// Clones are the same network: programs use them to change it while it runs.
///
/// ```
/// use gigatcp_net::{Net, TcpListener, TcpStream};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// let net = Net::new(1);
/// net.host("server", |_| async {
///     let listener = TcpListener::bind("0.0.0.0:80").await?;
///     let (mut stream, _) = listener.accept().await?;
///     stream.write_all(b"hello").await
/// });
/// net.client("client", |_| async {
///     let mut stream = TcpStream::connect("server:80").await?;
///     let mut text = String::new();
///     stream.read_to_string(&mut text).await?;
///     assert_eq!(text, "hello");
///     std::io::Result::Ok(())
/// });
/// net.link("client", "server", "rate=100Mbit/s rtt=125ms queue=1bdp");
/// let report = net.run().unwrap();
/// assert_eq!(report.connections.len(), 1);
/// println!("{}", report.why());
/// ```
#[derive(Clone)]
pub struct Net {
    id: u64,
    shared: Arc<Shared>,
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("id", &self.id).finish()
    }
}

/// A host, as its program sees it.
#[derive(Clone, Debug)]
pub struct Host {
    net: Net,
    node: u32,
}

/// What happens to the connections of a host that crashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crash {
    /// The program ends and the kernel resets its connections. The host stays reachable.
    Reset,
    /// The power fails: connections vanish, and packets to the host too until it is restarted.
    Vanish,
}

/// Error of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The program of a host returned an error.
    Host {
        /// Name of the host.
        name: String,
        /// Its error.
        error: Box<dyn StdError + Send + Sync>,
    },
    /// A host was configured, and has no program.
    NoProgram {
        /// Name of the host.
        name: String,
        /// The host with a program whose name is nearest.
        nearest: Option<String>,
    },
    /// The time limit came first. If tasks wait for what will not come, the text says what.
    TimeLimit(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { name, error } => write!(f, "the program of `{name}` failed: {error}"),
            Self::NoProgram { name, nearest } => {
                write!(
                    f,
                    "`{name}` was configured, and no host of that name has a program "
                )?;
                match nearest {
                    Some(nearest) => write!(f, "(hint: `{nearest}`?)"),
                    None => write!(f, "(hint: net.host(\"{name}\", ..), or net.client)"),
                }
            }
            Self::TimeLimit(text) => f.write_str(text),
        }
    }
}

impl StdError for RunError {}

impl From<Stop> for RunError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Host { name, error } => Self::Host { name, error },
            Stop::TimeLimit { .. } => Self::TimeLimit(stop.to_string()),
        }
    }
}

/// Error of a call that describes or changes a network.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetError {
    /// The words for a link or a host are wrong.
    Words(WordsError),
    /// A link cannot be built.
    Link(String),
    /// There is no such host or link.
    Unknown(String),
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(error) => error.fmt(f),
            Self::Link(text) | Self::Unknown(text) => f.write_str(text),
        }
    }
}

impl StdError for NetError {}

impl From<TopologyError> for NetError {
    fn from(error: TopologyError) -> Self {
        match error {
            TopologyError::Words(error) => Self::Words(error),
            TopologyError::Config(error) => Self::Link(error.to_string()),
            TopologyError::NoNode(name, nearest) => Self::Unknown(format!(
                "no host is called `{name}` (hint: {})",
                nearest.map_or_else(
                    || "net.host, net.client or net.link first".to_owned(),
                    |nearest| format!("`{nearest}`?")
                )
            )),
            TopologyError::NoHost(name) => Self::Unknown(format!("`{name}` is a router")),
            TopologyError::NoLink(a, b) => Self::Unknown(format!(
                "no link between `{a}` and `{b}` (hint: net.link(\"{a}\", \"{b}\", \"rtt=20ms\"))"
            )),
            TopologyError::SameNode(name) => Self::Link(format!(
                "a link from `{name}` to itself (hint: net.loopback)"
            )),
        }
    }
}

/// Panics with the error: descriptions of a network are constants of a test.
fn expect<T>(result: Result<T, TopologyError>) -> T {
    result.unwrap_or_else(|error| panic!("{}", NetError::from(error)))
}

impl Net {
    /// A network with the host [`DEFAULT_HOST`] and no links. All that is random depends on `seed`;
    /// the environment variable `GIGATCP_SEED` replaces it.
    pub fn new(seed: u64) -> Self {
        let named = std::env::var(SEED_VARIABLE).ok();
        let replaced = named.map(|text| {
            text.parse()
                .unwrap_or_else(|_| panic!("{SEED_VARIABLE}={text} is not a whole number"))
        });
        Self::with_seed(replaced.unwrap_or(seed))
    }

    pub(crate) fn with_seed(seed: u64) -> Self {
        let mut world = World::new(seed);
        world.add_host(DEFAULT_HOST);
        Self {
            id: NEXT_NET.fetch_add(1, Ordering::Relaxed),
            shared: Arc::new(Shared::new(world)),
        }
    }

    /// Seed in use.
    pub fn seed(&self) -> u64 {
        self.shared.with(|world| world.seed)
    }

    /// Adds a host whose program runs in the background. It starts again after
    /// [`Net::restart`]; its end ends nothing, its error or panic ends the run.
    ///
    /// In a run it starts at once.
    pub fn host<F, P>(&self, name: &str, program: F)
    where
        F: Fn(Host) -> P + 'static,
        P: Future + 'static,
        P::Output: Outcome,
    {
        let start = move |host| -> Program {
            let program = program(host);
            Box::pin(async move { program.await.into_result() })
        };
        self.add(name, Start::Again(Rc::new(start)), false);
    }

    /// Adds a host whose program the run waits for: [`Net::run`] ends when those of all clients
    /// have ended.
    pub fn client<F, P>(&self, name: &str, program: F)
    where
        F: FnOnce(Host) -> P + 'static,
        P: Future + 'static,
        P::Output: Outcome,
    {
        let start = move |host| -> Program {
            let program = program(host);
            Box::pin(async move { program.await.into_result() })
        };
        self.add(name, Start::Once(Some(Box::new(start))), true);
    }

    fn add(&self, name: &str, program: Start, is_client: bool) {
        let node = self.shared.with(|world| {
            let node = world.add_host(name);
            if let Some(host) = world.host_mut(node) {
                host.has_program = true;
            }
            node
        });
        let software = Software { program, is_client };
        let running = driver::current().filter(|driver| Arc::ptr_eq(&driver.shared, &self.shared));
        if let Some(driver) = running {
            driver.software.borrow_mut().insert(node, software);
            return driver.start(node);
        }
        PROGRAMS.with(|programs| {
            let mut of_networks = programs.borrow_mut();
            let programs = of_networks.entry(self.id).or_default();
            programs.insert(node, software);
        });
    }

    /// Sets the time of day of a host, which [`system_time`](crate::system_time) reads there: that many
    /// seconds ahead of the network's clock now (behind it if negative), and `drift_ppm` parts of a
    /// million faster from now on. Timers do not follow it. The name is checked as that of
    /// [`Net::configure`].
    ///
    /// # Panics
    /// If one is not a finite number.
    pub fn set_clock(&self, host: &str, ahead_seconds: f64, drift_ppm: f64) {
        assert!(
            ahead_seconds.is_finite() && drift_ppm.is_finite(),
            "the clock of `{host}`: {ahead_seconds} s ahead, {drift_ppm} ppm"
        );
        self.shared.with(|world| {
            let (now, node) = (world.now, world.add_host(host));
            if let Some(host) = world.host_mut(node) {
                host.is_configured = true;
                host.clock = Clock::new(now, ahead_seconds, drift_ppm);
            }
        });
    }

    /// Configures the TCP of a host by words of plans, as `profile=freebsd
    /// congestion_control=bbr`. Connections that exist keep theirs. A run is an error
    /// ([`RunError::NoProgram`]) if a host was configured before it and has no program then, or was
    /// configured in it and has none at its end: its name is most likely a typo.
    ///
    /// # Panics
    /// If the words are wrong.
    pub fn configure(&self, host: &str, words: &str) {
        let read = Words::read(words).and_then(|words| words.host());
        let (config, backlog) = read.unwrap_or_else(|error| panic!("{error}"));
        self.shared.with(|world| {
            let node = world.add_host(host);
            if let Some(host) = world.host_mut(node) {
                host.is_configured = true;
                host.config = config.into();
                host.max_backlog = backlog;
            }
        });
    }

    /// Joins two nodes, alike in both directions unless a word begins with `forward.` or
    /// `reverse.`: `rate=100Mbit/s rtt=125ms loss=0.1% queue=1bdp`. The words are the keys of plans
    /// (`gigatcp list keys`); files, as of `rate_trace=up.trace`, are relative to the working
    /// directory. A name without a host is a router.
    ///
    /// # Panics
    /// If the words are wrong.
    pub fn link(&self, a: &str, b: &str, words: &str) {
        expect(self.shared.with(|world| world.link(a, b, words)));
    }

    /// Sets the words of a link for any two hosts that have no route to each other.
    ///
    /// # Panics
    /// If the words are wrong.
    pub fn default_link(&self, words: &str) {
        expect(self.shared.with(|world| world.set_default_link(words)));
    }

    /// Changes the loopback of all hosts; without this it has an RTT of 20 us.
    ///
    /// # Panics
    /// If the words are wrong.
    pub fn loopback(&self, words: &str) {
        expect(self.shared.with(|world| world.set_loopback(words)));
    }

    /// Changes all links and loopbacks from now on: `loss=5%`. Other words keep their values, except
    /// that words for both directions replace those for one, and `rtt` replaces `delay`. No packet is
    /// lost by the change itself. Words that do nothing without a rate, as `queue=codel`, do not
    /// concern a loopback without one.
    ///
    /// If the words are wrong on one link, none has changed.
    ///
    /// # Panics
    /// If the words are wrong.
    pub fn set(&self, words: &str) {
        expect(self.shared.with(|world| world.set(None, words)));
    }

    /// Changes one link.
    ///
    /// # Panics
    /// If there is no such link, or the words are wrong.
    pub fn set_link(&self, a: &str, b: &str, words: &str) {
        expect(self.shared.with(|world| world.set(Some((a, b)), words)));
    }

    /// Changes one direction of a link.
    ///
    /// # Panics
    /// If there is no such link, or the words are wrong.
    pub fn set_one_way(&self, from: &str, to: &str, words: &str) {
        expect(self.shared.with(|world| world.set_one_way(from, to, words)));
    }

    /// Cuts a link: packets that enter it are lost. Those that are on it arrive.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn cut(&self, a: &str, b: &str) {
        expect(
            self.shared
                .with(|world| world.set_cut(a, b, true, [true, true])),
        );
    }

    /// Cuts one direction of a link.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn cut_one_way(&self, from: &str, to: &str) {
        expect(
            self.shared
                .with(|world| world.set_cut(from, to, true, [true, false])),
        );
    }

    /// Heals a link in both directions.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn heal(&self, a: &str, b: &str) {
        expect(
            self.shared
                .with(|world| world.set_cut(a, b, false, [true, true])),
        );
    }

    /// Cuts all links of a host or router.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn isolate(&self, name: &str) {
        expect(self.shared.with(|world| world.set_isolated(name, true)));
    }

    /// Heals all links of a host or router.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn rejoin(&self, name: &str) {
        expect(self.shared.with(|world| world.set_isolated(name, false)));
    }

    /// Drops packets of hosts for which `filter` is false, from now on. It sees each wire packet as it
    /// leaves its host, and is called with a lock held: it may not call sockets or this network.
    ///
    /// For losses that words of links do not describe, such as that of the first SYN.
    pub fn filter(&self, filter: impl FnMut(&Passing) -> bool + Send + 'static) {
        self.shared
            .with(|world| world.filter = Some(Filter(Box::new(filter))));
    }

    /// Ends the program of a host: its tasks are dropped, except those of `tokio::spawn`, whose
    /// sockets fail.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn crash(&self, host: &str, crash: Crash) {
        expect(
            self.shared
                .with(|world| world.crash(host, crash == Crash::Vanish)),
        );
    }

    /// Starts a host of [`Net::host`] again, with its program from the beginning. The program of a
    /// client starts once; its host becomes reachable again.
    ///
    /// # Panics
    /// Outside of a run, or if there is no such host.
    pub fn restart(&self, host: &str) {
        let node = expect(self.shared.with(|world| world.restart(host)));
        let driver = driver::current().expect("Net::restart in a run, on its thread");
        driver.start(node);
    }

    /// Addresses of a host; also `host:port` in `connect` and `lookup_host`.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn addresses(&self, host: &str) -> [IpAddr; 2] {
        addresses_of(expect(self.shared.with(|world| world.known(host))))
    }

    /// The sockets that programs of a host hold at present: listeners, connections, UDP.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn sockets(&self, host: &str) -> Vec<SocketEntry> {
        let found = |world: &mut World| world.host_named(host).map(|host| host.sockets());
        expect(self.shared.with(found))
    }

    /// Sets the virtual time after which a run is an error; 24 h without this.
    pub fn time_limit(&self, limit: StdDuration) {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.shared
            .with(|world| world.time_limit = Some(Duration::from_nanos(limit)));
    }

    /// Does not analyze connections: [`Report::why`] has no answers, and ended connections leave
    /// no trace in memory.
    pub fn without_analysis(&self) {
        self.shared.with(|world| world.observers.stop_analysis());
    }

    /// Virtual time since the beginning of the run.
    pub fn elapsed(&self) -> StdDuration {
        let now = self.shared.with(|world| world.now);
        StdDuration::from_nanos(now.as_nanos())
    }

    /// Runs the programs of all hosts until those of all clients have ended; without clients, until
    /// all have.
    ///
    /// Not async: it has a runtime of its own, whose clock it drives. In the body of a
    /// `#[gigatcp_net::test]` hosts run already. If it fails, its seed, how to repeat the test, and
    /// what limited each connection are printed; `GIGATCP_PCAP=DIRECTORY` keeps a capture of it.
    ///
    /// # Errors
    /// The first error of a program, the time limit, or a configured host without a program.
    ///
    /// # Panics
    /// With the panic of a program; in a run.
    pub fn run(&self) -> Result<Report, RunError> {
        let until_over = || {
            poll_fn(|_| {
                let driver = driver::current();
                let is_over = driver.is_none_or(|driver| driver.have_clients_ended());
                if is_over {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
        };
        matrix::run_told(self, || {
            let (done, report) = self.run_with(until_over);
            done.map(|()| report)
        })
    }

    /// Runs `body` on the host [`DEFAULT_HOST`], and the programs of all hosts, until it
    /// ends. The report comes with an error too.
    ///
    /// # Panics
    /// With the panic of a program; in a run.
    pub fn run_with<F: Future>(
        &self,
        body: impl FnOnce() -> F,
    ) -> (Result<F::Output, RunError>, Report) {
        let software = PROGRAMS
            .with(|programs| programs.borrow_mut().remove(&self.id))
            .unwrap_or_default();
        let limit = self
            .shared
            .with(|world| world.time_limit)
            .unwrap_or(TIME_LIMIT);
        scope::reset();
        let node = self.shared.with(|world| world.add_host(DEFAULT_HOST));
        let output = self.check_programs().and_then(|()| {
            let output = driver::run(&self.shared, software, limit, node, body)?;
            self.check_programs().map(|()| output)
        });
        (output, self.report())
    }

    /// Rejects a configured host without a program.
    fn check_programs(&self) -> Result<(), RunError> {
        let found = |world: &mut World| world.configured_in_vain(DEFAULT_HOST);
        match self.shared.with(found) {
            Some((name, nearest)) => Err(RunError::NoProgram { name, nearest }),
            None => Ok(()),
        }
    }

    /// What has happened so far.
    pub fn report(&self) -> Report {
        self.shared.with(|world| Report::of(world))
    }

    pub(crate) fn is_capturing(&self) -> bool {
        self.shared.with(|world| world.observers.is_capturing())
    }

    /// Writes a capture of all hosts to a file, an interface for each, until
    /// [`Net::finish_capture`]. It has whole segments and datagrams: no fragments, ICMP errors or
    /// corrupted packets.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn capture_to(&self, path: &Path, comment: &str) {
        self.shared.with(|world| {
            let begun = world.observers.capture(path, comment);
            begun.unwrap_or_else(|error| panic!("no capture: {error}"));
        });
    }

    /// Ends the capture; returns the path of its file, or why it is incomplete. `None` without a
    /// capture.
    pub fn finish_capture(&self) -> Option<Result<PathBuf, String>> {
        self.shared.with(|world| world.observers.finish_capture())
    }
}

impl Host {
    /// The host of the present task, for futures that will run in another: a connector, say.
    ///
    /// # Panics
    /// Outside of a run, or if the present task belongs to no host.
    pub fn current() -> Self {
        let (shared, node) = scope::here().unwrap_or_else(|error| panic!("{error}"));
        Self::new(shared, node)
    }

    /// A running host.
    fn new(shared: Arc<Shared>, node: u32) -> Self {
        let id = u64::MAX;
        let net = Net { id, shared };
        Self { net, node }
    }

    /// Its name.
    pub fn name(&self) -> String {
        let node = self.node;
        self.net.shared.with(|world| world.name_of(node).to_owned())
    }

    /// Its IPv4 address.
    pub fn ip(&self) -> IpAddr {
        addresses_of(self.node)[0]
    }

    /// Its IPv6 address.
    pub fn ipv6(&self) -> IpAddr {
        addresses_of(self.node)[1]
    }

    /// The network, to change it from inside.
    pub fn net(&self) -> Net {
        self.net.clone()
    }

    /// Puts a future on this host, for `tokio::spawn` and the like.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        HostScope::new(self.node, future)
    }
}

impl Driver {
    /// Starts the program of a host, if it has one.
    pub(crate) fn start(&self, node: u32) {
        let host = Host::new(Arc::clone(&self.shared), node);
        let program = match self.software.borrow_mut().get_mut(&node) {
            Some(Software { program, .. }) => match program {
                Start::Again(start) => Some(Rc::clone(start)).map(|start| {
                    Box::new(move |host| start(host)) as Box<dyn FnOnce(Host) -> Program>
                }),
                Start::Once(start) => start.take(),
            },
            None => None,
        };
        let Some(program) = program else {
            return;
        };
        self.ended.borrow_mut().remove(&node);
        // The closure itself may bind and panic, so it runs on the host.
        let program = async move {
            let tasks = LocalSet::new();
            tasks.run_until(async move { program(host).await }).await
        };
        let mut program = Box::pin(HostScope::new(node, program));
        let task = self.tasks.spawn_local(async move {
            let end = poll_fn(|context| {
                let polled = catch_unwind(AssertUnwindSafe(|| program.as_mut().poll(context)));
                match polled {
                    Ok(Poll::Pending) => Poll::Pending,
                    Ok(Poll::Ready(Ok(()))) => Poll::Ready(End::Done),
                    Ok(Poll::Ready(Err(error))) => Poll::Ready(End::Failed(error)),
                    Err(panic) => Poll::Ready(End::Panicked(panic)),
                }
            })
            .await;
            if let Some(driver) = driver::current() {
                driver.ended.borrow_mut().insert(node);
                driver.ends.borrow_mut().push_back((node, end));
                driver.wake_main();
            }
        });
        self.shared
            .with(|world| world.add_task(node, task.abort_handle()));
    }

    /// Whether all clients have ended; without clients, all programs.
    fn have_clients_ended(&self) -> bool {
        let software = self.software.borrow();
        let ended = self.ended.borrow();
        let has_clients = software.values().any(|software| software.is_client);
        software
            .iter()
            .filter(|(_, software)| software.is_client || !has_clients)
            .all(|(node, _)| ended.contains(node))
    }
}
