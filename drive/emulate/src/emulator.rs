//! Two namespaces, a device in each, and the thread that carries packets between them.
//!
//! All addresses are inside the namespaces, which are not connected to the machine's network. When
//! the value is dropped, or the process ends in whatever way, devices and namespaces are gone.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use gigatcp_linux::device::Offloads;
use gigatcp_linux::poll::EventFd;
use gigatcp_linux::tun::{self, TunSettings};
use gigatcp_linux::{Namespace, SetupError, Step, clock, host_route, packets, process, settings};
use gigatcp_path::{ConfigError, Histogram, HopConfig, Network, NetworkConfig, Release};
use gigatcp_units::{Duration, Instant};

use crate::change::{Changed, Changes, HopChange, OrderError, Scheduled};
use crate::contention::Contention;
use crate::counters::Snapshot;
use crate::device::{Device, NAME};
use crate::engine::{AWAKE, EARLY, Engine, Shared, Watch, takes_time};
use crate::outbox::Outbox;
use crate::realtime_budget::RealtimeBudget;
use crate::side::Side;

/// Maximum time that wire packets of a super-segment wait for those behind them. At 1 Gbit/s five
/// packets of 1500 bytes leave together, above 10 Gbit/s whole super-segments, below 240 Mbit/s
/// each alone and at its instant. Half as much would cost twice the system calls.
const TOGETHER: Duration = Duration::from_micros(50);

/// Maximum bytes of packets that wait in a wire. That is a hundred super-segments, and the kernel's
/// overhead.
const WIRE: usize = 16 << 20;

/// Addresses of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// IPv4 address.
    pub v4: Ipv4Addr,
    /// IPv6 address.
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Addresses of `side`.
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

/// Settings of an emulated path.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// Hops from client to server; their `release` is overridden.
    pub forward: Vec<HopConfig>,
    /// Hops from server to client.
    pub reverse: Vec<HopConfig>,
    /// Seed of all random streams.
    pub seed: u64,
    /// MTU of client and server, in bytes.
    pub mtu: [u16; 2],
    /// Whether the kernels at both ends may send super-segments and incomplete checksums.
    pub offloads: bool,
    /// Queue limit of each device for packets to be read.
    pub queue: u32,
    /// Maximum bytes of packets in each direction.
    pub memory: usize,
    /// Settings under `/proc/sys/net` of both namespaces.
    pub settings: Vec<(String, String)>,
    /// Congestion control of the route to the other end; `None`: each namespace's default.
    pub control: Option<String>,
    /// Kind of end, at the client and at the server.
    pub ends: [End; 2],
    /// CPU that carries packets, if restricted to one. The caller ensures that it has no other work
    /// ([`gigatcp_linux::IsolatedCpu`]).
    pub processor: Option<usize>,
}

impl Default for EmulatorConfig {
    /// A path without delay.
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

/// Kind of an end of the path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum End {
    /// A device in the namespace of that end, used by the kernel.
    #[default]
    Kernel,
    /// A wire without a kernel; [`Emulator::take_wire`] returns its other end. The namespace exists
    /// without a device.
    Wire,
}

/// Why an emulator cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// Namespaces or devices could not be created.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// The configuration of a hop is invalid.
    #[error("a hop cannot be: {0}")]
    Hop(#[source] ConfigError),
    /// The path stopped: a device is gone.
    #[error("the path stopped: {0}")]
    Stopped(#[source] io::Error),
}

/// A running path between two network namespaces.
#[derive(Debug)]
pub struct Emulator {
    /// Both namespaces, by [`Side`].
    namespaces: [Namespace; 2],
    began: Instant,
    wires: [Option<OwnedFd>; 2],
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Emulator {
    /// Creates the namespaces and begins to carry packets, which are shown to `watches`.
    ///
    /// # Errors
    /// [`EmulatorError`]: the step that failed, and what is missing.
    pub fn start(
        config: &EmulatorConfig,
        watches: impl IntoIterator<Item = Box<dyn Watch>>,
    ) -> Result<Self, EmulatorError> {
        let network = Network::new(network(config), config.seed).map_err(EmulatorError::Hop)?;
        let namespaces = [Namespace::new()?, Namespace::new()?];
        let [client, server] =
            Side::ALL.map(|side| namespaces[side.index()].run(|| open(side, config))?);
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
        let scheduled = links
            .map(|(number, link)| {
                let from = match there.contains(&number) {
                    true => Side::Client,
                    false => Side::Server,
                };
                Scheduled::new(from, link.config())
            })
            .collect();
        let zero = clock::monotonic();
        let began = Instant::from_nanos(zero.unsigned_abs());
        let mut watches: Vec<_> = watches.into_iter().collect();
        for watch in &mut watches {
            watch.on_start(began);
        }
        let early = early(config.processor);
        let engine = Engine {
            // Packets from the client go to the server.
            outboxes: [Outbox::new(server.batch()), Outbox::new(client.batch())],
            devices: [client, server],
            network,
            lateness: [Histogram::default(), Histogram::default()],
            scheduled,
            listed: Instant::ZERO,
            has_times: config.forward.iter().chain(&config.reverse).any(takes_time),
            watches,
            shared: Arc::clone(&shared),
            zero,
            early,
            is_first: false,
            budget: RealtimeBudget::new(),
            contention: Contention::default(),
            idle_inhibitor: None,
            inhibits_idle: false,
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
            namespaces,
            began,
            wires: [client_wire, server_wire],
            shared,
            thread: Some(thread),
        })
    }

    /// When the path began, by the machine's monotonic clock.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Other end of the wire of a side, once, if it has one. Closing it stops the path.
    pub fn take_wire(&mut self, side: Side) -> Option<OwnedFd> {
        self.wires[side.index()].take()
    }

    /// Namespace of an end.
    pub fn namespace(&self, side: Side) -> &Namespace {
        &self.namespaces[side.index()]
    }

    /// Counters, at most a twentieth of a second old.
    pub fn snapshot(&self) -> Snapshot {
        let snapshot = self.shared.snapshot.lock();
        snapshot.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes hops at one instant while packets are inside, and waits for completion. Returns the
    /// differences. See [`Hop::reconfigure`](gigatcp_path::Hop::reconfigure) for the effect on
    /// packets inside.
    ///
    /// # Errors
    /// [`OrderError`]. If a configuration is invalid, no hop has changed.
    pub fn change(&self, hops: Vec<HopChange>) -> Result<Vec<Changed>, OrderError> {
        if !self.is_running() {
            return Err(OrderError::Stopped);
        }
        let event_fd = &self.shared.event_fd;
        self.shared.changes.order(hops, || event_fd.wake())
    }

    /// All changes so far, requested or scheduled.
    pub fn changed(&self) -> Vec<Changed> {
        self.shared.changes.so_far()
    }

    /// Whether packets are still being carried.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Packets that the device of an end has dropped. The path did not read them in time: the
    /// machine was too slow, or memory was full.
    pub fn dropped_by_device(&self, side: Side) -> Option<u64> {
        self.count_of_device(side, SENT_AND_DROPPED)
    }

    /// Packets that the kernel of an end has dropped on arrival. It rejected them, or its CPUs had
    /// no time for them.
    pub fn dropped_by_kernel(&self, side: Side) -> Option<u64> {
        self.count_of_device(side, RECEIVED_AND_DROPPED)
    }

    fn count_of_device(&self, side: Side, column: usize) -> Option<u64> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let table = self.namespace(side).run(read).ok()?.ok()?;
        count_in(&table, column)
    }

    /// Stops the path; returns the final counters.
    ///
    /// # Errors
    /// Why it had stopped before.
    ///
    /// # Panics
    /// If the path's thread panicked.
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

/// Path as a network. At one instant departures come before arrivals.
fn network(config: &EmulatorConfig) -> NetworkConfig {
    let [forward, reverse] = [&config.forward, &config.reverse].map(|hops| {
        let together = hops.iter().cloned().map(|hop| HopConfig {
            release: Release::Within(TOGETHER),
            ..hop
        });
        let mut links: Vec<_> = together.collect();
        if links.is_empty() {
            // A hop without delay, so that the direction has counters.
            links.push(HopConfig {
                release: Release::Whole,
                ..HopConfig::default()
            });
        }
        links
    });
    NetworkConfig::path(forward, reverse).last_link_first()
}

/// Time before each delivery at which polling begins. It is zero on a single CPU shared with other
/// work. A CPU isolated for the path is not among those available to the caller.
fn early(own: Option<usize>) -> Duration {
    let others = thread::available_parallelism().map_or(1, usize::from);
    match (own, others) {
        (None, 1) => Duration::ZERO,
        _ => EARLY,
    }
}

/// Applies settings and opens the device of an end, in the calling thread's namespace. Also returns
/// the other end, if the device is a wire.
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
    let tun = tun::open(&TunSettings {
        name: NAME,
        mtu: config.mtu[side.index()],
        offloads: match config.offloads {
            true => Offloads::ALL,
            false => Offloads::NONE,
        },
        queue: config.queue,
        addresses: &[(IpAddr::V4(v4), 24), (IpAddr::V6(v6), 64)],
        routed: &[],
    })?;
    let device = Device::on_tun(tun, config.offloads, config.memory);
    if let Some(control) = &config.control {
        set_control(side, control)?;
    }
    Ok((device, None))
}

/// Sets the congestion control of connections from `side` to the other side.
fn set_control(side: Side, control: &str) -> Result<(), SetupError> {
    let Addresses { v4, v6 } = Addresses::of(side.other());
    for address in [IpAddr::V4(v4), IpAddr::V6(v6)] {
        match host_route::set_control(NAME, address, control) {
            // IPv6 may be disabled.
            Err(cause) if address.is_ipv4() || cause.kind() == io::ErrorKind::InvalidInput => {
                return Err(SetupError::about(Step::Control, control, cause));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Columns after the name in the kernel's table of devices (`proc_pid_net(5)`).
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
