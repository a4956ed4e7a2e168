//! Facts of this host, and tests from it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use gigatcp_linux::sock_diag::SockDiag;
use gigatcp_linux::{owners, privilege, process, terminal};
use gigatcp_meter::doctor::{Direction, HostFacts};
use gigatcp_meter::host;
use gigatcp_meter::tester::{self, Outcome, Role};
use gigatcp_protocol::iperf3;
use gigatcp_run::whatif::Transfer;
use gigatcp_run::whatif::model::Estimate;
use gigatcp_units::{Duration, Rate};

use super::Arguments;
use super::observed::Observed;
use super::test::{Test, TestAnswer};
use crate::commands::test::request;
use crate::commands::test::whatif::{self, Headers};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Reads the facts that concern connections to `name`.
pub(super) fn read(name: Option<&str>) -> Result<HostFacts, Failure> {
    let address = name.map(resolve).transpose()?;
    Ok(host::read(address))
}

fn resolve(name: &str) -> Result<IpAddr, Failure> {
    let found = (name, 0).to_socket_addrs().map(|mut all| all.next());
    let cause = match found {
        Ok(Some(address)) => return Ok(address.ip()),
        Ok(None) => "it has no address".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Failure::new(format!("cannot resolve {name}: {cause}"))
        .effect("nothing was examined")
        .hint("give an address, or omit HOST to examine the default route"))
}

/// RTT to `name` before a test. `None`: it answers no echo request, or this user may send none.
pub(super) fn quiet_rtt(name: &str) -> Option<Duration> {
    host::quiet_rtt(resolve(name).ok()?)
}

/// Identity of the network namespace.
pub(super) fn namespace() -> String {
    let link = fs::read_link("/proc/thread-self/ns/net");
    link.map_or_else(|_| String::new(), |link| link.display().to_string())
}

/// Identity of this boot of the machine.
pub(super) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// Setting of a network namespace that only those can open who may change its settings.
const NAMESPACE_LOCK: &str = "/proc/sys/net/ipv4/route/flush";

/// Lock of the settings of the whole machine, in a directory of root.
const MACHINE_LOCK: &str = "/run/gigatcp-doctor.lock";

/// Whether settings cannot be written here, as in most containers.
pub(super) fn are_settings_read_only() -> bool {
    let opened = gigatcp_linux::file::open_to_lock(Path::new(NAMESPACE_LOCK));
    opened.is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

/// Makes this the only process that changes settings of this network namespace, while the value
/// lives.
pub(super) fn claim_changes() -> Result<File, Failure> {
    let place = Path::new(NAMESPACE_LOCK);
    claim(gigatcp_linux::file::open_to_lock(place), place)
        .map_err(|failure| failure.effect("nothing was tested or changed"))
}

/// Makes this the only process that changes settings of the whole machine, while the value lives.
pub(super) fn claim_machine() -> Result<File, Failure> {
    let place = Path::new(MACHINE_LOCK);
    claim(gigatcp_linux::file::create_private_to_lock(place), place)
}

fn claim(opened: io::Result<File>, place: &Path) -> Result<File, Failure> {
    let failed = |error: &io::Error| Failure::at("lock", place, error);
    let file = opened.map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::new(
            "another `gigatcp doctor --try` or `--undo` runs on this host",
        )
        .hint("wait until it ends")),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// Opens a file, and not what a symbolic link leads to.
pub(super) fn open(place: &Path) -> io::Result<File> {
    gigatcp_linux::file::open_no_link(place)
}

/// Forgets what was typed before a question.
pub(super) fn discard_input() {
    terminal::discard_input(&io::stdin());
}

/// Number of the user that this process acts as.
pub(super) fn user() -> Option<u32> {
    Some(process::user())
}

/// Whether this process may change the network's settings.
pub(super) fn may_change() -> bool {
    privilege::has_net_admin()
}

/// The program that has the connection with this address of this host open, if it still is.
pub(super) fn program(local: SocketAddr) -> Option<String> {
    const ALL_STATES: u32 = u32::MAX;
    let mut inode = None;
    let mut sockets = SockDiag::open().ok()?;
    let is_it = |address: SocketAddr| {
        address.port() == local.port() && address.ip().to_canonical() == local.ip().to_canonical()
    };
    sockets
        .list(ALL_STATES, |socket| {
            if is_it(socket.local()) {
                inode = Some(socket.inode());
            }
        })
        .ok()?;
    let owner = owners::of_sockets().remove(&inode?)?;
    Some(format!("{} (process {})", owner.name, owner.id))
}

/// Runs a test with the server in one direction. Headers of its connection are captured
/// if that is permitted: they show more than counters do.
pub(super) fn test(
    arguments: &Arguments,
    direction: Direction,
    interrupt: &Interrupt,
) -> Result<Observed, Failure> {
    let name = arguments.host.as_deref().unwrap_or_default();
    let role = if direction == Direction::Receive {
        Role::Receiver
    } else {
        Role::Sender
    };
    let mut wanted = tester::Request::new(name);
    wanted.port = arguments.port;
    wanted.interval = None;
    wanted.measures_capacity = true;
    wanted.parameters.time = arguments.time;
    if role == Role::Receiver {
        wanted.parameters.direction = iperf3::Direction::Reverse;
    }
    let interface = resolve(name).ok().and_then(host::interface_towards);
    let headers = interface.and_then(|interface| Headers::begin(&interface, arguments.port).ok());
    let stops = || interrupt.signal().is_some();
    let measured = tester::run(&wanted, &stops, &mut |_| {})
        .map_err(|error| request::failure(&wanted, &error))?;
    if let Some(reason) = &measured.cut_short {
        let failure = Failure::new(format!("the test ended early: {reason}"));
        return Err(failure.effect("nothing was compared"));
    }
    let packets = headers.and_then(|headers| whatif::transfer(headers).ok());
    Ok(summary(&measured, direction, role, packets))
}

/// Causes that are pauses of a program. The programs of a test make none: a small window or a
/// busy host looks the same.
const PAUSES: [&str; 4] = [
    "application-limited",
    "slow-reader",
    "client-think-time",
    "server-think-time",
];

fn first_cause(transfer: &Transfer) -> Option<&'static str> {
    let first = transfer.diagnosis.verdicts.first();
    first.map(|verdict| verdict.cause.id)
}

fn summary(
    measured: &Outcome,
    direction: Direction,
    role: Role,
    packets: Option<Transfer>,
) -> Observed {
    let bytes = measured.received(role).or_else(|| measured.sent(role));
    let mean = bytes.unwrap_or(0) as f64 * 8.0 / measured.measured.as_secs_f64().max(1e-9);
    let rate = tester::steady(measured, role).map_or(mean, |steady| steady.rate);
    let explained = tester::explain(measured);
    let diagnosis = explained.first().map(|stream| &stream.diagnosis);
    // The queue that the load of the test builds is not part of the path's RTT.
    let rtts = [
        measured.base_rtt,
        diagnosis.map(|diagnosis| diagnosis.min_rtt),
    ];
    let min_rtt = rtts
        .into_iter()
        .flatten()
        .filter(|rtt| !rtt.is_zero())
        .min();
    let answer = diagnosis.map(|diagnosis| diagnosis.answer());
    let counters = diagnosis.map(|diagnosis| Transfer {
        ends: String::new(),
        sets_buffers: None,
        diagnosis: diagnosis.clone(),
    });
    // Predictions are compared with the goodput of tests, without connection setup and closing.
    let transfer = packets.or_else(|| counters.clone()).map(|mut transfer| {
        if let Some(counters) = counters.filter(|_| role == Role::Receiver)
            && first_cause(&counters) == Some("send-buffer-limited")
        {
            // The far kernel counts how long its buffer was full; packets at this end only show pauses.
            transfer.diagnosis.verdicts = counters.diagnosis.verdicts;
            transfer.diagnosis.alternative = counters.diagnosis.alternative;
        }
        transfer.diagnosis.throughput = Rate::from_bps(mean as u64);
        transfer.diagnosis.min_rtt = min_rtt.unwrap_or_default();
        transfer.sets_buffers = Some(false);
        let is_of_test = |id: &str| !PAUSES.contains(&id);
        transfer
            .diagnosis
            .verdicts
            .retain(|verdict| is_of_test(verdict.cause.id));
        transfer
    });
    let bps = |rate: Rate| rate.as_bps() as f64;
    Observed {
        direction: Some(direction),
        test: Some(Test {
            is_sending: role == Role::Sender,
            rate_bps: rate as u64,
            goodput_bps: mean as u64,
            duration_ns: u64::try_from(measured.measured.as_nanos()).unwrap_or(u64::MAX),
            min_rtt_ns: min_rtt.map(|rtt| rtt.as_nanos()),
            answer: answer.map(|answer| TestAnswer {
                cause: answer.cause.map(|cause| cause.id.into()),
                sentence: answer.sentence,
            }),
        }),
        program: None,
        transfer,
        capacity: measured.capacity.map(|path| Estimate {
            low: bps(path.low),
            mid: bps(path.rate),
            high: bps(path.high),
        }),
        within_burst: measured.first_train.map(bps),
    }
}
