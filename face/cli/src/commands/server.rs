//! `gigatcp server`: the server for `gigatcp test` and for stock iperf3 and nuttcp clients.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use gigatcp_linux::identity::Identity;
use gigatcp_meter::tester::auth::{self, Padding};
use gigatcp_meter::tester::transactions::ServedTransactions;
use gigatcp_meter::tester::{
    Admission, Authorize, BindError, MAX_DURATION, Network, Notify, NuttcpConfig,
    Outcome as Measured, Role, Server, ServerConfig, ServerNotice, default_memory,
};
use gigatcp_protocol::iperf3::Limits;
use gigatcp_report::escape::terminal;
use gigatcp_report::number;
use gigatcp_units::{Bytes, Rate};

use super::Outcome;
use super::test::iperf3_text;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{output, values};

/// Ports below this one require privileges.
#[cfg(target_os = "linux")]
const PRIVILEGED_PORTS: u16 = 1024;

/// Maximum number of streams in a test.
#[cfg(target_os = "linux")]
const MAX_STREAMS: u32 = 128;

/// Descriptors of a server in addition to those of streams: idle clients, and its own.
#[cfg(target_os = "linux")]
const OTHER_DESCRIPTORS: u64 = 1200;

/// Command-line arguments of `server`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Serve throughput tests: gigatcp, stock iperf3 and nuttcp clients",
    long_about = "\
Serve throughput tests of `gigatcp test`, of stock iperf3 clients (3.1 and later) and of stock \
nuttcp clients, TCP and UDP, many at the same time. A client above the limits is queued; if the \
queue is full, it is refused as busy. A silent client is dropped after 10 s.

One line on stdout for each test. Ctrl-C ends all tests: their clients keep what they measured.",
    after_help = "\
Examples:
  gigatcp server                                 serve until Ctrl-C
  gigatcp server --max-tests 1                   one test at a time, the others wait
  gigatcp server --allow 192.0.2.0/24            only clients of this network
  gigatcp server -1                              one test, then end
  sudo gigatcp server -D --user nobody           in the background, without privileges"
)]
pub(crate) struct Arguments {
    /// Port
    #[arg(short, long, value_name = "PORT", default_value_t = 5201, value_parser = values::port)]
    port: u16,

    /// Port for nuttcp clients; 0: none [default: 5000, if it is free]
    #[arg(long, value_name = "PORT")]
    nuttcp_port: Option<u16>,

    /// First port that nuttcp clients may choose for their data
    #[arg(long, value_name = "PORT", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1024..))]
    nuttcp_data_port: u16,

    /// Accept Multipath TCP as well (RFC 8684), not for nuttcp clients
    #[arg(short = 'm', long)]
    mptcp: bool,

    /// Reflect test packets of STAMP (RFC 8762) and TWAMP Light, at this port or 862: 200 a second
    /// of an address
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "862", value_parser = values::port)]
    stamp: Option<u16>,

    /// Address to listen at [default: all]
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,

    /// End after one test
    #[arg(short = '1', long)]
    one_off: bool,

    /// Run in the background, detached from the terminal; the process ID is printed
    #[arg(short = 'D', long)]
    daemon: bool,

    /// Write diagnostics and tests to this file instead of stdout and stderr
    #[arg(long, value_name = "FILE", requires = "daemon")]
    logfile: Option<PathBuf>,

    /// User, and group if it is not the user's, to switch to after the ports are open; drops all
    /// privileges
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "NAME|UID[:GID]", value_parser = Identity::parse)]
    user: Option<Identity>,

    /// Maximum number of simultaneous tests
    #[arg(long, value_name = "N", default_value_t = 16)]
    max_tests: usize,

    /// Maximum number of queued clients; 0: they are refused
    #[arg(long, value_name = "N", default_value_t = 16)]
    queue: usize,

    /// Maximum number of tests and queued clients of one address, or one /64 of IPv6; half as many
    /// again of one /48
    #[arg(long, value_name = "N", default_value_t = 8)]
    per_address: usize,

    /// Rate of all tests together, both directions, UDP with its headers; a test must then request
    /// a rate (-b), and is held to it
    #[arg(long, visible_alias = "server-bitrate-limit", value_name = "RATE", value_parser = values::rate)]
    total_rate: Option<Rate>,

    /// Maximum duration of a test, in seconds; 0: unlimited. A longer one is refused, one without a
    /// time is ended
    #[arg(
        long,
        visible_alias = "server-max-duration",
        value_name = "SECONDS",
        value_parser = values::seconds,
        default_value_t = MAX_DURATION
    )]
    max_duration: u32,

    /// Memory of all tests together: their blocks, and the kernel's largest buffers for their
    /// streams [default: half of what the host or the control group has]
    #[arg(long, value_name = "SIZE", value_parser = values::octets)]
    max_memory: Option<Bytes>,

    /// Network whose clients are served, in CIDR notation; may be repeated [default: all]
    #[arg(long, value_name = "NETWORK", value_parser = Network::parse)]
    allow: Vec<Network>,

    /// RSA private key that decrypts names and passwords: clients without one are refused
    #[arg(long, value_name = "FILE", requires = "authorized_users_path")]
    rsa_private_key_path: Option<PathBuf>,

    /// Users, a line `name,digest` for each: SHA-256 of `{name}password`, in hexadecimal
    #[arg(long, value_name = "FILE", requires = "rsa_private_key_path")]
    authorized_users_path: Option<PathBuf>,

    /// Maximum difference between a client's clock and this one, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = auth::TIME_SKEW)]
    time_skew_threshold: u64,

    /// Accept names and passwords of iperf3 up to 3.16 only (PKCS #1 v1.5) instead of those of 3.17
    /// and later (OAEP)
    #[arg(long)]
    use_pkcs1_padding: bool,
}

/// Check of names and passwords, if requested.
fn authorize(arguments: &Arguments) -> Result<Option<Arc<Authorize>>, Failure> {
    let key = arguments.rsa_private_key_path.as_ref();
    let Some((key, users)) = key.zip(arguments.authorized_users_path.as_ref()) else {
        return Ok(None);
    };
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| Failure::at("read", path, &error))
    };
    let padding = if arguments.use_pkcs1_padding {
        Padding::Pkcs1
    } else {
        Padding::Oaep
    };
    let skew = arguments.time_skew_threshold;
    let checks = auth::authorizer(&read(key)?, read(users)?, padding, skew);
    checks.map(Some).map_err(Failure::new)
}

/// Settings for nuttcp clients.
fn nuttcp(arguments: &Arguments) -> Option<NuttcpConfig> {
    let port = arguments.nuttcp_port;
    (port != Some(0)).then(|| NuttcpConfig {
        port: port.unwrap_or(NuttcpConfig::default().port),
        is_required: port.is_some(),
        first_data_port: arguments.nuttcp_data_port,
    })
}

/// Runs this command again in the background, in its own process group and without -D.
fn detach(arguments: &Arguments) -> Result<Outcome, Failure> {
    let failed = |error| Failure::io("start in the background", &error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut rest: Vec<OsString> = std::env::args_os().skip(1).collect();
    rest.retain(|argument| argument != "-D" && argument != "--daemon");
    rest.retain(|argument| !argument.to_string_lossy().starts_with("--logfile="));
    if let Some(place) = rest.iter().position(|argument| argument == "--logfile") {
        rest.drain(place..(place + 2).min(rest.len()));
    }
    let log = || match &arguments.logfile {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map(Stdio::from)
        }
        None => Ok(Stdio::null()),
    };
    let mut command = Command::new(program);
    command
        .args(rest)
        .stdin(Stdio::null())
        .stdout(log().map_err(failed)?)
        .stderr(log().map_err(failed)?);
    set_apart(&mut command);
    let child = command.spawn().map_err(failed)?;
    output::print(&child.id().to_string())?;
    Ok(Outcome::Done)
}

/// Moves a command to its own process group, so that Ctrl-C does not reach it.
fn set_apart(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        const DETACHED_PROCESS: u32 = 8;
        std::os::windows::process::CommandExt::creation_flags(command, DETACHED_PROCESS);
    }
}

/// Raises the limit of descriptors to the maximum, and admits as many connections of transactions as
/// it leaves. Warns if it is too low for streams.
#[cfg(target_os = "linux")]
fn allow_connections(admission: &mut Admission) {
    let needed = admission.tests as u64 * u64::from(MAX_STREAMS) + OTHER_DESCRIPTORS;
    // A missing descriptor is reported when a connection is accepted.
    let Ok(limit) = gigatcp_linux::process::allow_all_descriptors() else {
        return;
    };
    let left = u32::try_from(limit.saturating_sub(needed)).unwrap_or(u32::MAX);
    admission.connections = admission.connections.min(left);
    if limit < needed {
        output::say(&format!(
            "the limit of open descriptors is {limit}, {needed} are needed for {} tests of \
             {MAX_STREAMS} streams: connections above it wait (`ulimit -Hn`, LimitNOFILE=)",
            admission.tests
        ));
    }
}

/// Does nothing on other systems.
#[cfg(not(target_os = "linux"))]
fn allow_connections(_: &mut Admission) {}

/// Gives up privileges, if requested. Must be called before threads are created.
#[cfg(target_os = "linux")]
fn give_up_privileges(arguments: &Arguments, server: &Server) -> Result<(), Failure> {
    let Some(identity) = arguments.user else {
        if gigatcp_linux::process::is_root() {
            output::say("serving as root: `--user nobody` gives up its privileges");
        }
        return Ok(());
    };
    identity.assume().map_err(|error| {
        let Identity { user, group } = identity;
        Failure::io(&format!("go on as user {user} and group {group}"), &error)
            .effect("no test can be served")
            .hint("start it as root, or without --user")
    })?;
    let port = server.address().port();
    if port < PRIVILEGED_PORTS {
        output::say(&format!(
            "port {port} requires privileges: TCP is served, streams of UDP are not"
        ));
    }
    Ok(())
}

/// Does nothing on other systems, which have no `--user`.
#[cfg(not(target_os = "linux"))]
fn give_up_privileges(_: &Arguments, _: &Server) -> Result<(), Failure> {
    Ok(())
}

/// Runs the server.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.daemon {
        return detach(arguments);
    }
    let memory = arguments
        .max_memory
        .map(Bytes::as_u64)
        .unwrap_or_else(default_memory);
    let mut config = ServerConfig {
        bind: arguments.bind,
        port: arguments.port,
        one_off: arguments.one_off,
        admission: Admission {
            tests: arguments.max_tests.max(1),
            queue: arguments.queue,
            per_address: arguments.per_address.max(1),
            allow: arguments.allow.clone(),
            limits: Limits {
                time: arguments.max_duration,
                total_rate: arguments.total_rate.map_or(0, Rate::as_bps),
                ..Limits::default()
            },
            memory: Some(memory),
            ..Admission::default()
        },
        authorize: authorize(arguments)?,
        interval: Some(Duration::from_secs(1)),
        render: Some(Arc::new(iperf3_text::whole)),
        nuttcp: nuttcp(arguments),
        mptcp: arguments.mptcp,
        stamp: arguments.stamp,
    };
    allow_connections(&mut config.admission);
    let server = Server::bind(config).map_err(|BindError { port, cause }| {
        let failure = Failure::io(&format!("listen at port {port}"), &cause);
        match cause.kind() {
            std::io::ErrorKind::AddrInUse => failure.effect("no test can be served").hint(format!(
                "`ss -tlnp sport = :{port}` shows who listens; or choose another --{}",
                match port {
                    _ if port == arguments.port => "port",
                    _ if Some(port) == arguments.stamp => "stamp",
                    _ => "nuttcp-port",
                }
            )),
            std::io::ErrorKind::PermissionDenied => failure.effect("no test can be served").hint(
                "ports below net.ipv4.ip_unprivileged_port_start require root (with --user NAME, \
                 privileges are given up afterwards) or the capability CAP_NET_BIND_SERVICE; 5201 \
                 requires neither",
            ),
            _ => failure,
        }
    })?;
    output::say(&format!("listening at {} (TCP and UDP)", server.address()));
    give_up_privileges(arguments, &server)?;
    let interrupt = Interrupt::listen()?;
    if let Some(at) = server.stamp_address() {
        output::say(&format!("reflecting at {at} (STAMP)"));
    }
    match server.nuttcp_address() {
        Some(at) => output::say(&format!("listening at {at} (nuttcp)")),
        None if arguments.nuttcp_port != Some(0) => {
            output::say("nuttcp clients are not served: port 5000 is in use");
        }
        None => {}
    }
    let lines = Mutex::new(Lines::default());
    let notify: Arc<Notify> = Arc::new(move |notice: ServerNotice<'_>| show(&notice, &lines));
    let stops = || interrupt.signal().is_some();
    let served = server.run(&stops, &notify);
    served.map_err(|error| Failure::io("serve", &error))?;
    Ok(Outcome::of(&interrupt, false))
}

/// Formats an address; IPv4-mapped IPv6 addresses as IPv4.
fn canonical(peer: &SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

/// Lines about tests in the current window: clients that begin and end many tests must not fill a
/// disk.
#[derive(Default)]
struct Lines {
    since: Option<Instant>,
    count: u64,
}

impl Lines {
    /// Maximum number of lines in a [`Self::WINDOW`].
    const MAX: u64 = 200;
    const WINDOW: Duration = Duration::from_secs(10);

    /// Counts a line; returns whether it is printed, and how many were not in the window before.
    fn count(&mut self, now: Instant) -> (bool, u64) {
        let is_over = |since| now.saturating_duration_since(since) >= Self::WINDOW;
        let mut left_out = 0;
        if self.since.is_none_or(is_over) {
            left_out = self.count.saturating_sub(Self::MAX);
            (self.since, self.count) = (Some(now), 0);
        }
        self.count += 1;
        (self.count <= Self::MAX, left_out)
    }
}

/// Prints a notice: ended tests on stdout, the rest as diagnostics.
fn show(notice: &ServerNotice<'_>, lines: &Mutex<Lines>) {
    if let ServerNotice::Queued { .. }
    | ServerNotice::Accepted { .. }
    | ServerNotice::Ended { .. } = notice
    {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_printed, left_out) = lines.count(Instant::now());
        if left_out > 0 {
            output::say(&format!("{left_out} more lines about tests in 10 s"));
        }
        if !is_printed {
            return;
        }
    }
    match notice {
        ServerNotice::Refused { peer, reason } => {
            // It may repeat what the client has sent.
            output::say(&format!(
                "{} refused: {}",
                canonical(peer),
                terminal(reason)
            ));
        }
        ServerNotice::Unlisted { refusals } => {
            output::say(&format!("{refusals} more clients refused in 10 s"));
        }
        ServerNotice::Short { cause } => {
            output::say(&format!(
                "connections wait unaccepted: {cause}; `ulimit -n` or LimitNOFILE= raises that limit"
            ));
        }
        ServerNotice::Queued { peer } => {
            output::say(&format!("{} waits for its turn", canonical(peer)));
        }
        ServerNotice::Accepted { test, peer, .. } => {
            output::say(&format!("test {test}: {}", canonical(peer)));
        }
        ServerNotice::Interval { .. } => {}
        ServerNotice::Ended {
            test,
            outcome,
            transactions,
            end,
        } => {
            let what = match (outcome, transactions) {
                (Some(outcome), _) => summary(outcome),
                (_, Some(served)) => answered(served),
                (None, None) => "no data".to_owned(),
            };
            let line = format!("test {test}: {what} ({})", terminal(end));
            // The server continues if stdout is closed.
            let _ = output::print(&line);
        }
    }
}

/// Client and the rate of a test of transactions.
fn answered(served: &ServedTransactions) -> String {
    let seconds = served.measured.as_secs_f64();
    format!(
        "{} {}, {seconds:.1} s, {}, {} responses/s",
        served.transactions.mode.name(),
        served.host,
        number::counted(served.transactions.flows.into(), "flow"),
        number::grouped((served.responses as f64 / seconds.max(1e-9)).round() as u64)
    )
}

/// Client and the rates of a test.
fn summary(outcome: &Measured) -> String {
    let mut parts = vec![format!(
        "{} {}, {:.1} s",
        outcome.parameters.transport.key().to_uppercase(),
        outcome.host,
        outcome.measured.as_secs_f64()
    )];
    for (role, word) in [(Role::Receiver, "received"), (Role::Sender, "sent")] {
        let streams = outcome.streams.iter().filter(|stream| stream.role == role);
        let bytes: Vec<u64> = streams.map(|stream| stream.total.bytes).collect();
        if !bytes.is_empty() {
            let bits = 8.0 * bytes.iter().sum::<u64>() as f64;
            let rate = bits / outcome.measured.as_secs_f64().max(1e-9);
            parts.push(format!("{} {word}", number::rate(rate)));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_tests_are_bounded_and_those_left_out_are_counted() {
        let mut lines = Lines::default();
        let now = Instant::now();
        let printed = (0..1000).filter(|_| lines.count(now).0).count() as u64;
        assert_eq!(printed, Lines::MAX);
        assert_eq!(lines.count(now + Lines::WINDOW), (true, 1000 - Lines::MAX));
        assert_eq!(lines.count(now + Lines::WINDOW), (true, 0));
    }
}
