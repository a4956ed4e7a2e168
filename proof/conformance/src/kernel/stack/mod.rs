//! The running kernel as a stack for packet scripts ([`crate::stack::Stack`]).
//!
//! | file | what |
//! |---|---|
//! | `arguments.rs` | arguments of scripts as numbers and addresses |
//! | `calls/` | calls, by name |
//! | `workers.rs` | blocking calls |
//! | `shell/` | the commands of scripts |
//!
//! Time is real: script time zero is the middle of a kernel tick, at the first event, after the
//! setup commands of the script.

mod arguments;
mod calls;
mod shell;
mod workers;

use std::net::SocketAddr;
use std::path::Path;

use crate::ast::{Script, Value};
use crate::packet::{Packet, PacketError};
use crate::stack::{Addresses, CallId, Progress, Request, Returned, Sent, Stack, Unsupported};
use gigatcp_units::Instant;

use crate::kernel::sys::socket;
use crate::kernel::sys::socket::Buffer;
use crate::kernel::test_netns::TestNetns;
use arguments::Names;
use calls::{Arguments, Blocks, SyscallContext, Table};
use gigatcp_linux::{SetupError, Step};
use gigatcp_linux::{clock, process};
use gigatcp_linux::{settings, tcp_info};
use shell::{Shell, ShellResult};
use workers::{Begun, Done, Underway, Workers};

/// Default tolerance of times, in nanoseconds: packetdrill's four milliseconds.
const TOLERANCE: i64 = 4_000_000;

/// `SO_MEMINFO` of `asm-generic/socket.h`, which libc lacks.
const SO_MEMINFO: i32 = 55;

/// Settings of the engine, with the kernel's equivalent settings.
const SETTINGS: [(&str, &str); 4] = [
    ("timestamps", "net.ipv4.tcp_timestamps"),
    ("window_scaling", "net.ipv4.tcp_window_scaling"),
    ("sack", "net.ipv4.tcp_sack"),
    ("dsack", "net.ipv4.tcp_dsack"),
];

/// A blocked call and its arguments.
#[derive(Debug)]
struct Pending {
    id: CallId,
    name: String,
    values: Vec<Value>,
    /// Descriptor that the script expects, if the call creates one.
    wanted: Option<i64>,
    underway: Underway,
}

/// The kernel in a test network namespace, as the stack of one script.
#[derive(Debug)]
pub struct KernelStack<'a> {
    lab: &'a mut TestNetns,
    shell: Shell,
    names: Names,
    /// Dropped before the table: calls in progress end before their descriptors close.
    pending: Vec<Pending>,
    workers: Workers,
    table: Table,
    /// Memory that the kernel may still read; see [`calls::Prepared::keep`].
    kept: Vec<Buffer>,
    local: SocketAddr,
    remote: SocketAddr,
    is_mapped: bool,
    tolerance: i64,
    /// Payload of the segments that arriving packets are joined of, from `--mss`. Zero: packets are
    /// not joined.
    segment_size: u16,
    next_call: u32,
    has_begun: bool,
    /// Output of the last command, if it failed.
    failed_command: Option<String>,
}

impl<'a> KernelStack<'a> {
    /// A stack for one script in `directory`.
    ///
    /// # Errors
    /// [`SetupError`], if no thread can be started.
    pub fn new(lab: &'a mut TestNetns, directory: &Path) -> Result<Self, SetupError> {
        let workers = Workers::start().map_err(|cause| SetupError::new(Step::Thread, cause))?;
        let nowhere = SocketAddr::new(arguments::any(libc::AF_INET), 0);
        Ok(Self {
            lab,
            shell: Shell::new(directory),
            names: Names::default(),
            pending: Vec::new(),
            workers,
            table: Table::default(),
            kept: Vec::new(),
            local: nowhere,
            remote: nowhere,
            is_mapped: false,
            tolerance: TOLERANCE,
            segment_size: 0,
            next_call: 0,
            has_begun: false,
            failed_command: None,
        })
    }

    /// Selects IPv6 sockets that reach IPv4 by mapped addresses.
    #[must_use]
    pub fn mapped(mut self, is_mapped: bool) -> Self {
        self.is_mapped = is_mapped;
        self
    }

    /// Starts script time, once.
    fn begin_time(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.lab.begin();
        }
    }

    /// Defines the names of the kernel's self-test runners. The control data of errors are of IPv4
    /// or IPv6.
    fn define_usual_names(&mut self) {
        let is_v6 = self.local.is_ipv6() || self.is_mapped;
        let (level, kind) = if is_v6 {
            ("SOL_IPV6", "IPV6_RECVERR")
        } else {
            ("SOL_IP", "IP_RECVERR")
        };
        self.names.define("CMSG_LEVEL_IP", level);
        self.names.define("CMSG_TYPE_RECVERR", kind);
    }

    /// Applies settings of the engine that the kernel has too. Shared scripts name them in their
    /// `// profile:` line.
    fn take_settings(&mut self, script: &Script) -> Result<(), Unsupported> {
        let line = script.header("profile");
        let words = line.map_or("", |line| line.value.as_str());
        for word in words.split_whitespace().skip(1) {
            let (name, value) = word.split_once('=').unwrap_or((word, "true"));
            let Some((_, setting)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
                continue;
            };
            let value = if value == "true" { "1" } else { "0" };
            settings::write(setting, value).map_err(|error| {
                Unsupported::new("setting", format!("{setting} = {value}: {error}"))
            })?;
        }
        Ok(())
    }

    fn instant(&self, monotonic: i64) -> Instant {
        instant(self.lab.since_zero_ns(monotonic))
    }

    /// Converts an answer to the form of the script and registers its descriptors.
    fn finish(&mut self, request: &Request<'_>, (at, answer): Done) -> (Instant, Returned) {
        let around = syscall_context(self);
        let call = Arguments {
            name: request.name,
            values: request.args,
            around: &around,
        };
        let finished = calls::finish(&call, answer);
        let mut returned = finished.returned;
        let opened = finished
            .change
            .and_then(|change| self.table.apply(change, request.wanted));
        match opened.as_deref() {
            Some([fd]) => returned.result = *fd,
            Some(ends) => {
                let numbers = ends.iter().map(|fd| Value::Integer(*fd)).collect();
                returned = returned.output(0, Value::List(numbers));
            }
            None => {}
        }
        (self.instant(at), returned)
    }

    /// Whether this call can be made immediately, on this thread.
    fn returns_at_once(&self, blocks: Blocks) -> bool {
        match blocks {
            Blocks::Never => true,
            Blocks::UnlessReady(fd, events) => {
                is_nonblocking(fd) || socket::poll(&[(fd, events)], 0).is_ok_and(|(n, _)| n > 0)
            }
            Blocks::UnlessNonblocking(fd) => is_nonblocking(fd),
            Blocks::Perhaps => false,
        }
    }
}

fn syscall_context<'s>(stack: &'s KernelStack<'_>) -> SyscallContext<'s> {
    SyscallContext {
        names: &stack.names,
        table: &stack.table,
        local: stack.local,
        remote: stack.remote,
        is_mapped: stack.is_mapped,
        congestion: stack.shell.congestion(),
        real_zero: clock::realtime() - stack.lab.now_ns(),
        tolerance: stack.tolerance,
    }
}

/// Whether a descriptor is non-blocking or invalid.
fn is_nonblocking(fd: i32) -> bool {
    match socket::control(fd, libc::F_GETFL, 0) {
        Ok(flags) => flags & libc::O_NONBLOCK != 0,
        Err(_) => true,
    }
}

/// Converts to script time; earlier times become zero.
fn instant(nanoseconds: i64) -> Instant {
    Instant::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

fn nanos(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX / 2)
}

impl Stack for KernelStack<'_> {
    fn name(&self) -> String {
        process::kernel_name()
    }

    fn begin(&mut self, script: &Script, addresses: &Addresses) -> Result<(), Unsupported> {
        self.local = SocketAddr::new(addresses.local, addresses.local_port);
        self.remote = SocketAddr::new(addresses.remote, addresses.remote_port);
        let tolerance = script.option("tolerance_usecs");
        if let Some(micros) = tolerance.and_then(|option| option.value.parse::<i64>().ok()) {
            self.tolerance = micros.saturating_mul(1000);
        }
        let mss = script.option("mss");
        self.segment_size = mss
            .and_then(|option| option.value.parse().ok())
            .unwrap_or(0);
        self.define_usual_names();
        for option in script.options.iter().filter(|option| option.name == "D") {
            if let Some((name, value)) = option.value.split_once('=') {
                self.names.define(name, value);
            }
        }
        self.take_settings(script)?;
        let furnished =
            self.lab
                .furnish(addresses.local, addresses.remote, u32::from(addresses.mtu));
        furnished.map_err(|error| Unsupported::new("setting", format!("addresses: {error}")))
    }

    fn wait_until(&mut self, at: Instant) {
        self.begin_time();
        self.lab.sleep_until_ns(nanos(at));
    }

    fn now(&self) -> Instant {
        if self.has_begun {
            instant(self.lab.now_ns())
        } else {
            Instant::from_nanos(0)
        }
    }

    fn call(&mut self, request: &Request<'_>) -> Result<Progress, Unsupported> {
        self.begin_time();
        let around = syscall_context(self);
        let call = Arguments {
            name: request.name,
            values: request.args,
            around: &around,
        };
        let prepared = calls::prepare(&call)?;
        if request.name == "close"
            && let Some(fd) = request.args.first().and_then(Value::integer)
        {
            self.table.give_up(fd);
        }
        let broken = |error: std::io::Error| Unsupported::new("call", error.to_string());
        self.kept.extend(prepared.keep);
        let begun = if self.returns_at_once(prepared.blocks) {
            let answer = (prepared.task)();
            Begun::Done((clock::monotonic(), answer))
        } else {
            self.workers.begin(prepared.task).map_err(broken)?
        };
        match begun {
            Begun::Done(done) => {
                let (_, returned) = self.finish(request, done);
                Ok(Progress::Returned(returned))
            }
            Begun::Blocked(underway) => {
                let id = CallId(self.next_call);
                self.next_call += 1;
                self.pending.push(Pending {
                    id,
                    name: request.name.to_string(),
                    values: request.args.to_vec(),
                    wanted: request.wanted,
                    underway,
                });
                Ok(Progress::Blocked(id))
            }
        }
    }

    fn poll_call(&mut self, call: CallId) -> Option<(Instant, Returned)> {
        let index = self.pending.iter().position(|one| one.id == call)?;
        let pending = self.pending.remove(index);
        match self.workers.poll(pending.underway) {
            Ok(done) => {
                let request = Request {
                    name: &pending.name,
                    args: &pending.values,
                    wanted: pending.wanted,
                };
                Some(self.finish(&request, done))
            }
            Err(underway) => {
                self.pending.insert(
                    index,
                    Pending {
                        underway,
                        ..pending
                    },
                );
                None
            }
        }
    }

    fn inject(&mut self, packet: &Packet) -> Result<(), Unsupported> {
        self.begin_time();
        let segment_size = packet.tcp().map_or(0, |_| self.segment_size);
        let injected = self.lab.inject_joined(&packet.octets(), segment_size);
        injected.map_err(|error| Unsupported::new("packet", error.to_string()))
    }

    fn next_sent(&mut self, latest: Instant) -> Option<Sent> {
        self.begin_time();
        loop {
            // A failed packet socket returns no more packets; the runner then reports which packet
            // is missing.
            let sent = self.lab.receive(nanos(latest)).ok().flatten()?;
            match Packet::read(&sent.octets) {
                Ok(packet) if packet.ip.endpoints.dst().is_multicast() => {}
                // Neither TCP, UDP nor ICMP: group membership and the like.
                Err(PacketError::Protocol(_)) => {}
                Ok(packet) => {
                    return Some(Sent {
                        at: instant(sent.at_ns),
                        packet,
                    });
                }
                Err(_) => {}
            }
        }
    }

    fn command(&mut self, text: &str) -> Result<(), Unsupported> {
        self.failed_command = match self.shell.run(text)? {
            ShellResult::Success => None,
            ShellResult::Failure(said) => Some(said),
        };
        Ok(())
    }

    fn command_failed(&mut self) -> Option<String> {
        self.failed_command.take()
    }

    fn info(&mut self, fd: i64) -> Result<Vec<(&'static str, i64)>, Unsupported> {
        let live = self.table.live(fd);
        let octets = socket::option(live, libc::SOL_TCP, libc::TCP_INFO, tcp_info::ROOM);
        match octets {
            Ok(octets) => {
                let mut words = tcp_info::words(&octets);
                // Kernels before 4.12 have no such option, so no such words.
                let memory = socket::option(live, libc::SOL_SOCKET, SO_MEMINFO, tcp_info::ROOM);
                words.extend(tcp_info::memory_words(&memory.unwrap_or_default()));
                Ok(words)
            }
            Err(error) => Err(Unsupported::new("tcp_info", format!("of {fd}: {error}"))),
        }
    }
}
