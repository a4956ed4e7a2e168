//! Two namespaces, a device in each, and the thread that carries packets
//! between them.
//!
//! All addresses live inside the namespaces; the machine's own network cannot be reached from
//! there, nor reaches it. When the value is dropped,
//! or the process ends however it ends, devices and namespaces are gone.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use gigatcp_linux::poll::EventFd;
use gigatcp_linux::{Namespace, SetupError, Step, clock, host_route, packets, process, settings};
use gigatcp_path::{ConfigError, Histogram, HopConfig, Network, NetworkConfig, Release};
use gigatcp_units::{Duration, Instant};

use crate::change::{Changed, Changes, HopChange, OrderError, Scheduled};
use crate::contention::Contention;
use crate::counters::Snapshot;
use crate::device::{Device, DeviceConfig, NAME};
use crate::engine::{AWAKE, EARLY, Engine, Shared, Watch, takes_time};
use crate::outbox::Outbox;
use crate::rest::RealtimeBudget;
use crate::side::Side;

/// How long wire packets of a super-segment wait for those behind them at most:
/// at 1 Gbit/s five packets of 1500 octets leave together, above 10 Gbit/s whole
/// super-segments, below 240 Mbit/s each alone and at its own instant. Half as
/// much would cost twice the system calls.
const TOGETHER: Duration = Duration::from_micros(50);

/// Octets of packets that wait in a wire: a hundred super-segments, and what the
/// kernel adds.
const WIRE: i32 = 16 << 20;

/// The addresses of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// IPv4 of an end.
    pub v4: Ipv4Addr,
    /// IPv6 of an end.
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Those of `side`.
    #[must_use]
    pub const fn of(side: Side) -> Self {
        let host = match side {
            Side::Client => 1,
            Side::Server => 2,
        };
        Self {
            v4: Ipv4Addr::new(10, 83, 0, host),
            v6: Ipv6Addr::new(0xfd83, 0, 0, 0, 0, 0, 0, host as u16),
        }
    }
}

/// What to emulate.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// Hops from client to server; how super-segments leave is not theirs to
    /// say.
    pub forward: Vec<HopConfig>,
    /// Hops from server to client.
    pub reverse: Vec<HopConfig>,
    /// Root of all random streams.
    pub seed: u64,
    /// Largest packets of client and server, in octets.
    pub mtu: [u16; 2],
    /// Whether the kernels at both ends may send super-segments and leave
    /// checksums undone.
    pub offloads: bool,
    /// Packets that wait in a device to be read before it drops.
    pub queue: u32,
    /// Octets of packets that each direction may hold.
    pub memory: usize,
    /// Settings under `/proc/sys/net` of both namespaces.
    pub settings: Vec<(String, String)>,
    /// The congestion control of the route to the other end; `None`: each namespace's default.
    pub control: Option<String>,
    /// What the path ends in, at the client and at the server.
    pub ends: [End; 2],
    /// The CPU that carries packets, if only one may. The caller ensures that it has no other work
    /// ([`gigatcp_linux::IsolatedCpu`]).
    pub processor: Option<usize>,
}

impl Default for EmulatorConfig {
    /// A wire of no length.
    fn default() -> Self {
        Self {
            forward: Vec::new(),
            reverse: Vec::new(),
            seed: 1,
            mtu: [1500; 2],
            offloads: true,
            queue: 10_000,
            memory: 2 << 30,
            settings: Vec::new(),
            control: None,
            ends: [End::Kernel; 2],
            processor: None,
        }
    }
}

/// What the path ends in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum End {
    /// A device in the namespace of that end: the kernel's.
    #[default]
    Kernel,
    /// A wire that no kernel sees; [`Emulator::take_wire`] returns its other end. The namespace is
    /// there and has no device.
    Wire,
}

/// Why there is no emulator.
#[derive(Debug)]
pub enum EmulatorError {
    /// Namespaces or devices could not be made.
    Setup(SetupError),
    /// A hop cannot be.
    Hop(ConfigError),
    /// The path stopped: a device is gone.
    Stopped(io::Error),
}

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(error) => error.fmt(f),
            Self::Hop(error) => write!(f, "a hop cannot be: {error}"),
            Self::Stopped(error) => write!(f, "the path stopped: {error}"),
        }
    }
}

impl std::error::Error for EmulatorError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setup(error) => Some(error),
            Self::Hop(error) => Some(error),
            Self::Stopped(error) => Some(error),
        }
    }
}

impl From<SetupError> for EmulatorError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

/// A running path between two network namespaces.
#[derive(Debug)]
pub struct Emulator {
    sites: Sites,
    began: Instant,
    wires: [Option<OwnedFd>; 2],
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Both namespaces, by [`Side`].
#[derive(Debug)]
pub struct Sites([Namespace; 2]);

impl Emulator {
    /// Makes the namespaces and begins to carry packets, which `watch` sees.
    ///
    /// # Errors
    /// [`EmulatorError`]: what failed, and what is missing.
    pub fn start(
        config: &EmulatorConfig,
        mut watch: Option<Box<dyn Watch>>,
    ) -> Result<Self, EmulatorError> {
        let network = Network::new(network(config), config.seed).map_err(EmulatorError::Hop)?;
        let sites = Sites([Namespace::new()?, Namespace::new()?]);
        let [client, server] = Side::ALL.map(|side| sites.of(side).run(|| open(side, config))?);
        let ((client, client_wire), (server, server_wire)) = (client?, server?);
        let event_fd = EventFd::new().map_err(|cause| SetupError::new(Step::Thread, cause))?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            event_fd,
            snapshot: Mutex::default(),
            changes: Changes::default(),
        });
        let there = &network.routes()[Side::Client.index()].links;
        let links = network.links().iter().enumerate();
        let scheduled = links.map(|(number, link)| {
            let from = match there.contains(&number) {
                true => Side::Client,
                false => Side::Server,
            };
            Scheduled::new(from, link.config())
        });
        let scheduled = scheduled.collect();
        let zero = clock::monotonic();
        let began = Instant::from_nanos(zero.unsigned_abs());
        if let Some(watch) = &mut watch {
            watch.on_start(began);
        }
        let early = early(config.processor);
        let engine = Engine {
            // What comes from the client is for the server.
            outboxes: [Outbox::new(server.batch()), Outbox::new(client.batch())],
            devices: [client, server],
            network,
            lateness: [Histogram::default(), Histogram::default()],
            scheduled,
            listed: Instant::ZERO,
            has_times: config.forward.iter().chain(&config.reverse).any(takes_time),
            watch,
            shared: Arc::clone(&shared),
            zero,
            early,
            is_first: false,
            rest: RealtimeBudget::new(),
            contention: Contention::default(),
            idle_inhibitor: None,
            awake_until: Instant::ZERO + AWAKE,
            reads: 0,
            stalls: 0,
            stalled: Duration::ZERO,
        };
        let processor = config.processor;
        let run = move || {
            if let Some(processor) = processor {
                let _ = process::pin_to_processor(processor);
            }
            engine.run()
        };
        let named = thread::Builder::new().name("path".into());
        let thread = named
            .spawn(run)
            .map_err(|cause| SetupError::new(Step::Thread, cause))?;
        Ok(Self {
            sites,
            began,
            wires: [client_wire, server_wire],
            shared,
            thread: Some(thread),
        })
    }

    /// When the path began, by the machine's monotonic clock.
    #[must_use]
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// The other end of the wire of a side, once, where there is one. When it is
    /// closed the path stops.
    pub fn take_wire(&mut self, side: Side) -> Option<OwnedFd> {
        self.wires[side.index()].take()
    }

    /// The namespace of an end.
    #[must_use]
    pub fn namespace(&self, side: Side) -> &Namespace {
        self.sites.of(side)
    }

    /// The counters, as of a twentieth of a second ago at most.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let snapshot = self.shared.snapshot.lock();
        snapshot.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes hops while packets are inside, all at one instant, and waits until that
    /// is done; returns what differs. See [`Hop::reconfigure`](gigatcp_path::Hop::reconfigure)
    /// for what becomes of the packets.
    ///
    /// # Errors
    /// [`OrderError`]. Where a hop cannot be so, none has changed.
    pub fn change(&self, hops: Vec<HopChange>) -> Result<Vec<Changed>, OrderError> {
        if !self.is_running() {
            return Err(OrderError::Stopped);
        }
        let event_fd = &self.shared.event_fd;
        self.shared.changes.order(hops, || event_fd.wake())
    }

    /// All that has changed so far, by order or by schedule.
    #[must_use]
    pub fn changed(&self) -> Vec<Changed> {
        self.shared.changes.so_far()
    }

    /// Whether packets are still being carried.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Packets that the device of an end has dropped because the path did not
    /// read them in time: the machine was too slow, or memory was full.
    #[must_use]
    pub fn dropped_by_device(&self, side: Side) -> Option<u64> {
        self.count_of_device(side, SENT_AND_DROPPED)
    }

    /// Packets handed to the kernel of an end that it has dropped: it would not
    /// take them, or its processors had no time for them.
    #[must_use]
    pub fn dropped_by_kernel(&self, side: Side) -> Option<u64> {
        self.count_of_device(side, RECEIVED_AND_DROPPED)
    }

    fn count_of_device(&self, side: Side, column: usize) -> Option<u64> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let table = self.sites.of(side).run(read).ok()?.ok()?;
        count_in(&table, column)
    }

    /// Stops carrying; the counters as they ended.
    ///
    /// # Errors
    /// Why it had stopped before.
    ///
    /// # Panics
    /// When the thread has.
    pub fn stop(mut self) -> Result<Snapshot, EmulatorError> {
        self.end()
            .unwrap_or(Ok(()))
            .map_err(EmulatorError::Stopped)?;
        Ok(self.snapshot())
    }

    fn end(&mut self) -> Option<io::Result<()>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.event_fd.wake();
        let joined = self.thread.take()?.join();
        Some(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = self.end();
        }
    }
}

impl Sites {
    fn of(&self, side: Side) -> &Namespace {
        &self.0[side.index()]
    }
}

/// The path as a network. At one instant what leaves makes room for what comes.
fn network(config: &EmulatorConfig) -> NetworkConfig {
    let [forward, reverse] = [&config.forward, &config.reverse].map(|hops| {
        let together = hops.iter().cloned().map(|hop| HopConfig {
            release: Release::Within(TOGETHER),
            ..hop
        });
        let mut links: Vec<_> = together.collect();
        if links.is_empty() {
            // A wire of no length, so that it has counters.
            links.push(HopConfig {
                release: Release::Whole,
                ..HopConfig::default()
            });
        }
        links
    });
    NetworkConfig::path(forward, reverse).last_link_first()
}

/// A single processor has better things to do than wait for the path; one that is
/// the path's alone has not, and is none of those that the caller may use.
fn early(own: Option<usize>) -> Duration {
    let others = thread::available_parallelism().map_or(1, usize::from);
    match (own, others) {
        (None, 1) => Duration::ZERO,
        _ => EARLY,
    }
}

/// Settings and device of an end, in the namespace of the calling thread; the
/// other end, where the device is a wire.
fn open(side: Side, config: &EmulatorConfig) -> Result<(Device, Option<OwnedFd>), SetupError> {
    for (name, value) in &config.settings {
        let failed = |cause| SetupError::about(Step::Setting, format!("{name} = {value}"), cause);
        settings::write(name, value).map_err(failed)?;
    }
    if config.ends[side.index()] == End::Wire {
        let made = packets::pair().map_err(|cause| SetupError::new(Step::Device, cause))?;
        made.iter().for_each(|end| packets::widen(end, WIRE));
        let [near, far] = made;
        return Ok((Device::on_wire(near, config.memory), Some(far)));
    }
    let Addresses { v4, v6 } = Addresses::of(side);
    let device = Device::open_here(&DeviceConfig {
        mtu: config.mtu[side.index()],
        offloads: config.offloads,
        queue: config.queue,
        addresses: vec![(IpAddr::V4(v4), 24), (IpAddr::V6(v6), 64)],
        memory: config.memory,
    })?;
    if let Some(control) = &config.control {
        set_control(side, control)?;
    }
    Ok((device, None))
}

/// Lets connections from `side` to the other use `control`.
fn set_control(side: Side, control: &str) -> Result<(), SetupError> {
    let Addresses { v4, v6 } = Addresses::of(side.other());
    for address in [IpAddr::V4(v4), IpAddr::V6(v6)] {
        match host_route::set_control(NAME, address, control) {
            // IPv6 may be switched off.
            Err(cause) if address.is_ipv4() || cause.kind() == io::ErrorKind::InvalidInput => {
                return Err(SetupError::about(Step::Control, control, cause));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Columns of the kernel's table of devices (`proc_pid_net(5)`), behind the name.
const RECEIVED_AND_DROPPED: usize = 3;
const SENT_AND_DROPPED: usize = 11;

/// A count of the device in the kernel's table.
fn count_in(table: &str, column: usize) -> Option<u64> {
    let line = table.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == NAME).then_some(numbers)
    })?;
    line.split_whitespace().nth(column)?.parse().ok()
}
