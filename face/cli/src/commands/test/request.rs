//! Turns options into a request, and errors into hints.

use gigatcp_meter::tester::auth;
use gigatcp_meter::tester::{Ndt7Url, PingSet, Protocol, Request, TestError};
use gigatcp_protocol::iperf3::{
    ClientFailure, Direction, ErrorCode, MAX_FLOWS, Mode, Parameters, Transport,
};
use gigatcp_theory::responsiveness::MAX_CONNECTIONS;
use gigatcp_units::{Bytes, Duration, Rate};

use super::settings::Settings;
use super::{Arguments, Format};
use crate::failure::Failure;
use crate::values;

/// Rate of a stream, and blocks sent per burst (`-b 100M/10`). `None`: unlimited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bitrate {
    rate: Option<Rate>,
    burst: Option<u32>,
}

/// iperf3's default UDP rate, in bit/s.
const UDP_DEFAULT: u64 = 1 << 20;

/// Maximum number of streams in each direction.
const MAX_STREAMS: u32 = 128;

/// Streams in each direction of flent's rrul.
const RRUL_STREAMS: u32 = 4;

/// Streams in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Streams {
    /// That many.
    Count(u32),
    /// As many as saturate the path.
    Auto,
}

/// Reads `8` or `auto`.
pub(crate) fn streams(text: &str) -> Result<Streams, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Streams::Auto),
        (_, Ok(count @ 1..=MAX_FLOWS)) => Ok(Streams::Count(count)),
        _ => Err(format!(
            "a number from 1 to {MAX_STREAMS} (flows of --mode: {MAX_FLOWS}), or auto"
        )),
    }
}

/// Reads a rate; a bare number is bit/s, as for iperf3.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    match text.trim().parse() {
        Ok(bits) => Ok(Rate::from_bps(bits)),
        Err(_) => values::rate(text),
    }
}

/// Reads an amount of data; a bare number is bytes, as for iperf3.
pub(crate) fn amount(text: &str) -> Result<Bytes, String> {
    match text.trim().parse() {
        Ok(bytes) => Ok(Bytes::new(bytes)),
        Err(_) => values::amount(text),
    }
}

/// CPUs of both ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affinity {
    client: usize,
    server: Option<u32>,
}

/// Reads `2` or `2,5`.
pub(crate) fn affinity(text: &str) -> Result<Affinity, String> {
    let (client, server) = match text.split_once([',', '/']) {
        Some((client, server)) => (client, Some(server)),
        None => (text, None),
    };
    let number = |text: &str| match text.trim().parse::<u32>() {
        Ok(number @ 0..=1023) => Ok(number),
        _ => Err(format!(
            "`{text}` is not a processor from 0 to 1023, as in `2` or `2,5`"
        )),
    };
    Ok(Affinity {
        client: number(client)? as usize,
        server: server.map(number).transpose()?,
    })
}

/// Reads `100M`, `100M/10` or `0`.
pub(crate) fn bitrate(text: &str) -> Result<Bitrate, String> {
    let (rate, burst) = match text.split_once('/') {
        Some((rate, burst)) if !burst.trim_start().starts_with('s') => (rate, Some(burst)),
        _ => (text, None),
    };
    let blocks = |text: &str| match text.trim().parse() {
        Ok(burst @ 1..=1000) => Ok(burst),
        _ => Err(format!("`{text}` is not a number of blocks from 1 to 1000")),
    };
    Ok(Bitrate {
        rate: match rate.trim() {
            "0" => None,
            text => Some(self::rate(text)?),
        },
        burst: burst.map(blocks).transpose()?,
    })
}

/// Reads an interval: `0.5`, `500 ms`; 0 is none.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let length = seconds(text)?;
    let (shortest, longest) = (Duration::from_millis(1), Duration::from_secs(3600));
    if length.is_zero() || (shortest..=longest).contains(&length) {
        return Ok(length);
    }
    Err("an interval is 0, or from 1 ms to 1 h".into())
}

/// Reads a time that is not zero.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    let length = seconds(text)?;
    match length.is_zero() {
        true => Err("a timeout is longer than 0 s".into()),
        false => Ok(length),
    }
}

/// A time; a bare number counts seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => values::time(text),
    }
}

/// Name and password, encrypted for the server; `None` if none are requested.
fn token(arguments: &Arguments, settings: &Settings) -> Result<Option<String>, Failure> {
    let (user, path) = match (&settings.username, &settings.rsa_public_key) {
        (Some(user), Some(path)) => (user, path),
        (None, None) => return Ok(None),
        _ => {
            return Err(Failure::not_measured(
                "username and rsa_public_key require each other",
            ));
        }
    };
    let password = std::env::var("IPERF3_PASSWORD").map_err(|_| {
        Failure::not_measured("username without a password: $IPERF3_PASSWORD is unset").hint(
            format!("IPERF3_PASSWORD=... gigatcp test {}", arguments.host),
        )
    })?;
    let pem = std::fs::read_to_string(path).map_err(|error| Failure::at("read", path, &error))?;
    let token = auth::token(user, &password, &pem, settings.padding);
    token.map(Some).map_err(Failure::new)
}

/// Port of the server, as typed or the protocol's default.
pub(super) fn port(arguments: &Arguments) -> u16 {
    arguments.port.unwrap_or(match protocol(arguments) {
        _ if arguments.mode == super::Mode::Stamp => gigatcp_protocol::stamp::PORT,
        Protocol::Nuttcp => gigatcp_protocol::nuttcp::CONTROL_PORT,
        _ => gigatcp_protocol::iperf3::PORT,
    })
}

/// Mode of a test of transactions.
pub(super) fn transactions(arguments: &Arguments) -> Option<Mode> {
    match arguments.mode {
        super::Mode::Stream | super::Mode::Stamp => None,
        super::Mode::TcpRr => Some(Mode::TcpRr),
        super::Mode::TcpCrr => Some(Mode::TcpCrr),
        super::Mode::UdpRr => Some(Mode::UdpRr),
    }
}

fn protocol(arguments: &Arguments) -> Protocol {
    match arguments.protocol {
        _ if arguments.ndt7 => Protocol::Ndt7,
        super::Protocol::Iperf3 => Protocol::Iperf3,
        super::Protocol::Nuttcp => Protocol::Nuttcp,
    }
}

/// Sets the server to that of an ndt7 URL.
fn set_url(request: &mut Request) -> Result<(), Failure> {
    let url = Ndt7Url::parse(&request.host).map_err(|error| {
        Failure::not_measured(error).hint("as in `gigatcp test --ndt7 wss://ndt.example`")
    })?;
    if url.is_download() {
        request.parameters.direction = Direction::Reverse;
    }
    request.host.clone_from(&url.host);
    request.port = url.port;
    request.ndt7 = Some(url);
    Ok(())
}

/// The mode as it is typed.
fn name(arguments: &Arguments) -> String {
    use clap::ValueEnum;
    let value = arguments.mode.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Refuses options that the mode does not have.
fn check_mode(arguments: &Arguments, settings: &Settings) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::not_measured(text));
    let is_stamp = arguments.mode == super::Mode::Stamp;
    let has_transactions = transactions(arguments).is_some();
    if settings.response_size.is_some() && !has_transactions {
        return refused("response_size requires --mode tcp_rr, tcp_crr or udp_rr".to_owned());
    }
    if !is_stamp && !has_transactions {
        return match arguments.parallel {
            Streams::Count(count) if count > MAX_STREAMS => {
                refused(format!("-P {count}: at most {MAX_STREAMS} streams"))
            }
            _ => Ok(()),
        };
    }
    let Some(option) = lacking(arguments, settings) else {
        return Ok(());
    };
    let text = format!("--mode {} does not have {option}", name(arguments));
    let failure = Failure::not_measured(text);
    Err(match option {
        "--report" | "--save" => {
            failure.hint("`--format json > FILE` keeps the percentiles, those of intervals too")
        }
        _ => failure,
    })
}

/// The first option that STAMP or transactions do not have.
fn lacking(arguments: &Arguments, settings: &Settings) -> Option<&'static str> {
    let is_stamp = arguments.mode == super::Mode::Stamp;
    let mut lacks = [
        (
            is_stamp && arguments.parallel != Streams::Count(1),
            "--parallel",
        ),
        (is_stamp && arguments.bitrate.is_some(), "--bitrate"),
        (is_stamp && arguments.no_delay, "--no-delay"),
        (is_stamp && settings.username.is_some(), "username"),
        (is_stamp && arguments.blockcount.is_some(), "--blockcount"),
        (is_stamp && arguments.omit > 0, "--omit"),
        (is_stamp && arguments.congestion.is_some(), "--congestion"),
        (
            is_stamp && arguments.format() == Format::JsonLines,
            "this --format",
        ),
        (arguments.ndt7, "--ndt7"),
        (
            arguments.protocol == super::Protocol::Nuttcp,
            "--protocol nuttcp",
        ),
        (arguments.bytes.is_some(), "--bytes"),
        (arguments.udp, "--udp"),
        (arguments.reverse, "--reverse"),
        (arguments.bidir, "--bidir"),
        (arguments.parallel == Streams::Auto, "--parallel auto"),
        (arguments.window.is_some(), "--window"),
        (arguments.set_mss.is_some(), "--set-mss"),
        (arguments.stack != super::StackChoice::Kernel, "--stack"),
        (arguments.zerocopy, "--zerocopy"),
        (arguments.mptcp, "--mptcp"),
        (arguments.affinity.is_some(), "--affinity"),
        (arguments.latency, "--latency"),
        (arguments.rrul, "--rrul"),
        (arguments.steady, "--steady"),
        (arguments.until.is_some(), "--until"),
        (arguments.repeat.is_some(), "--repeat"),
        (!arguments.whatif.is_empty(), "--whatif"),
        (arguments.report.is_some(), "--report"),
        (arguments.save.is_some(), "--save"),
        (arguments.json, "--json"),
        (arguments.json_stream, "--json-stream"),
        (settings.readings.is_some(), "readings"),
        (settings.client_port.is_some(), "cport"),
        (settings.fq_rate.is_some(), "fq_rate"),
        (settings.gets_server_output, "server_output"),
        (settings.title.is_some(), "title"),
        (
            settings.gsro != gigatcp_meter::tester::Offload::Automatic,
            "gsro",
        ),
        (settings.skips_rx_copy, "skip_rx_copy"),
        (
            !matches!(
                arguments.format(),
                Format::Native | Format::Json | Format::JsonLines
            ),
            "this --format",
        ),
    ]
    .into_iter();
    lacks.find_map(|(is_given, option)| is_given.then_some(option))
}

/// Refuses options that the protocol does not have.
fn check(arguments: &Arguments, settings: &Settings) -> Result<(), Failure> {
    let is_endless =
        arguments.time == 0 || arguments.bytes.is_some() || arguments.blockcount.is_some();
    if arguments.parallel == Streams::Auto && (is_endless || arguments.udp) {
        return Err(
            Failure::not_measured("-P auto requires TCP and a time").hint("as in -P auto -t 20")
        );
    }
    if settings.is_instantaneous && arguments.bitrate.is_none() {
        return Err(Failure::not_measured("instantaneous requires a rate").hint("as in -b 100M"));
    }
    let without: &[(bool, &str)] = match protocol(arguments) {
        Protocol::Iperf3 | Protocol::Ndt7 => &[(settings.is_instantaneous, "instantaneous")],
        Protocol::Nuttcp => &[
            (arguments.bidir, "--bidir"),
            (arguments.mptcp, "--mptcp"),
            (arguments.latency, "--latency"),
            (arguments.rrul, "--rrul"),
            (arguments.parallel == Streams::Auto, "--parallel auto"),
            (arguments.omit > 0, "--omit"),
            (settings.username.is_some(), "username"),
            (arguments.json, "--json"),
            (arguments.json_stream, "--json-stream"),
            (
                arguments.udp && arguments.parallel != Streams::Count(1),
                "--parallel with --udp",
            ),
        ],
    };
    let Some((_, option)) = without.iter().find(|(is_given, _)| *is_given) else {
        return Ok(());
    };
    let (name, other) = match protocol(arguments) {
        Protocol::Nuttcp => ("nuttcp", "iperf3"),
        _ => ("iperf3", "nuttcp"),
    };
    Err(
        Failure::not_measured(format!("{option}: {name}'s protocol does not have it"))
            .hint(format!("--protocol {other}, if the host serves it")),
    )
}

/// Request for the options.
pub(super) fn of(arguments: &Arguments, settings: &Settings) -> Result<Request, Failure> {
    check_mode(arguments, settings)?;
    check(arguments, settings)?;
    let mut request = Request::new(arguments.host.clone());
    // As for iperf3, 0 is the default.
    let is_set = |bytes: &Bytes| bytes.as_u64() > 0;
    let small = |bytes: Bytes| u32::try_from(bytes.as_u64()).unwrap_or(u32::MAX);
    let has_amount = arguments.bytes.is_some() || arguments.blockcount.is_some();
    let udp_default = arguments.udp.then_some(Bitrate {
        rate: Some(Rate::from_bps(UDP_DEFAULT)),
        burst: None,
    });
    let bitrate = arguments.bitrate.or(udp_default);
    request.parameters = Parameters {
        transport: if arguments.udp {
            Transport::Udp
        } else {
            Transport::Tcp
        },
        direction: match (arguments.bidir || arguments.rrul, arguments.reverse) {
            (true, _) => Direction::Bidirectional,
            (_, true) => Direction::Reverse,
            _ => Direction::Forward,
        },
        omit: arguments.omit,
        time: if has_amount { 0 } else { arguments.time },
        num: arguments.bytes.map_or(0, Bytes::as_u64),
        blockcount: arguments.blockcount.unwrap_or(0),
        parallel: match arguments.parallel {
            Streams::Count(1) if arguments.rrul => RRUL_STREAMS,
            Streams::Count(count) => count,
            Streams::Auto => MAX_CONNECTIONS as u32,
        },
        len: arguments.length.filter(is_set).map(small),
        window: arguments.window.filter(is_set).map(Bytes::as_u64),
        mptcp: arguments.mptcp,
        mss: arguments.set_mss.filter(is_set).map(small),
        nodelay: arguments.no_delay,
        bandwidth: bitrate.and_then(|bitrate| bitrate.rate).map(Rate::as_bps),
        burst: bitrate.and_then(|bitrate| bitrate.burst),
        fqrate: settings.fq_rate.map(Rate::as_bps),
        tos: arguments.tos,
        title: settings.title.clone(),
        congestion: arguments.congestion.clone(),
        get_server_output: settings.gets_server_output,
        skip_rx_copy: settings.skips_rx_copy,
        zerocopy: arguments.zerocopy,
        server_affinity: arguments.affinity.and_then(|affinity| affinity.server),
        udp_counters_64bit: arguments.udp,
        authtoken: token(arguments, settings)?,
        ..request.parameters
    };
    request.port = port(arguments);
    request.protocol = protocol(arguments);
    request.data_port = settings.data_port;
    request.instantaneous = settings.is_instantaneous;
    request.interval = (!arguments.interval.is_zero()).then(|| arguments.interval.into());
    request.connect_timeout = settings.connect_timeout.into();
    request.receive_timeout = settings.receive_timeout.into();
    request.offload = settings.gsro;
    request.adds_streams = arguments.parallel == Streams::Auto;
    request.latency = match (arguments.rrul || request.adds_streams, arguments.latency) {
        (true, _) => PingSet::All,
        (_, true) => PingSet::Icmp,
        _ => PingSet::None,
    };
    request.measures_capacity = !arguments.no_probe;
    set_own_end(&mut request, arguments, settings);
    if arguments.ndt7 {
        set_url(&mut request)?;
    }
    Ok(request)
}

/// Where the client's own sockets and threads are.
fn set_own_end(request: &mut Request, arguments: &Arguments, settings: &Settings) {
    request.processor = arguments.affinity.map(|affinity| affinity.client);
    request.bind = arguments.bind;
    request.bind_dev.clone_from(&settings.bind_dev);
    request.client_port = settings.client_port;
    request.only_v4 = match (arguments.version4, arguments.version6) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
}

/// Error for a test without data, with hints.
pub(in crate::commands) fn failure(request: &Request, error: &TestError) -> Failure {
    let (host, port) = (&request.host, request.port);
    let failure = Failure::not_measured(error.to_string());
    if request.protocol == Protocol::Ndt7 {
        return match error {
            TestError::Lacks { option, .. } => failure.hint(format!("leave out {option}")),
            TestError::Handshake { reason, .. } if reason.contains("certificate") => {
                failure.hint("SSL_CERT_FILE=FILE names other certificate authorities")
            }
            _ => failure,
        };
    }
    if let Some(hints) = super::stack::hints(error) {
        return hints.into_iter().fold(failure, Failure::hint);
    }
    match error {
        #[cfg(target_os = "linux")]
        TestError::Controller { name, cause } => refused_control(failure, name, cause),
        TestError::Connect { cause, .. } => match cause.kind() {
            std::io::ErrorKind::ConnectionRefused => {
                let stock = match request.protocol {
                    Protocol::Nuttcp => format!("nuttcp -S -P {port}"),
                    _ => format!("iperf3 -s -p {port}"),
                };
                failure.hint(format!(
                    "start `gigatcp server` (or `{stock}`) on {host}, or name its port with --port"
                ))
            }
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => failure.hint(format!(
                "is port {port} of {host} open in its firewall? `gigatcp trace {host}` shows how \
                 far packets get"
            )),
            _ => failure,
        },
        TestError::Socket { action, .. } if action.starts_with("ping") => failure
            .hint("sysctl -w net.ipv4.ping_group_range='0 2147483647' allows all users to ping"),
        TestError::Socket { action, .. } if action.contains("(-M)") => {
            failure.hint("Linux takes 88 to 32767 bytes; the path MTU bounds it anyway")
        }
        TestError::Socket { action, .. } if action.contains("(-B)") => {
            failure.hint("`ip address` lists the addresses of this host")
        }
        TestError::Socket { action, .. } if action.contains("(bind_dev)") => {
            failure.hint("`ip link` lists the interfaces")
        }
        TestError::NoAnswer { .. } => failure.hint(format!(
            "wait for its test to end; does port {port} of {host} belong to an iperf3 server?"
        )),
        TestError::Unresolved { cause: Some(_), .. } => {
            failure.hint("check the name, or give an address")
        }
        TestError::Unresolved { cause: None, .. } => failure.hint("leave out -4 and -6"),
        TestError::Protocol(ClientFailure::Busy) => failure.hint(
            "wait for its test to end; `gigatcp server` takes many clients, and lets the others \
             wait",
        ),
        // EPERM or ENOENT.
        TestError::Protocol(ClientFailure::ServerError {
            errno: Some(1 | 2), ..
        }) if request.parameters.congestion.is_some() => failure.hint(format!(
            "the server sets -C too: on {host}, `sysctl net.ipv4.tcp_allowed_congestion_control` \
             lists what it may set without root"
        )),
        TestError::Protocol(ClientFailure::ServerError {
            code: ErrorCode::TOTAL_RATE,
            ..
        }) => failure.hint("the server limits the rate of its tests: request one, as in -b 10M"),
        TestError::Protocol(ClientFailure::Violation(_)) => failure.hint(format!(
            "does port {port} of {host} belong to an iperf3 server?"
        )),
        _ => failure,
    }
}

/// Adds hints about a congestion control that the kernel refused.
#[cfg(target_os = "linux")]
fn refused_control(failure: Failure, name: &str, cause: &std::io::Error) -> Failure {
    use crate::commands::congestion;
    match cause.kind() {
        std::io::ErrorKind::PermissionDenied => {
            let allowed = congestion::allowed();
            failure
                .hint(format!(
                    "without root, -C takes one of {}: {}",
                    congestion::ALLOWED,
                    allowed.join(" ")
                ))
                .hint(congestion::allow(name, &allowed))
        }
        std::io::ErrorKind::NotFound => {
            let hints = congestion::unavailable(name);
            hints.into_iter().fold(failure, Failure::hint)
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_the_congestion_control_is_named_with_the_list_to_look_at() {
        let mut request = Request::new("far.example");
        request.parameters.congestion = Some("cubic".into());
        let error = ClientFailure::ServerError {
            code: ErrorCode(201),
            errno: Some(1),
        };
        let text = failure(&request, &TestError::Protocol(error)).text();
        assert!(
            text.contains("on far.example, `sysctl net.ipv4.tcp_allowed"),
            "{text}"
        );
    }

    #[test]
    fn rates_with_bursts_are_read_and_zero_is_unlimited() {
        let read = bitrate("100 Mbit/s/20").unwrap_or_else(|_| bitrate("0/20").unwrap());
        assert_eq!(read.burst, Some(20));
        assert_eq!(bitrate("0").unwrap().rate, None);
        assert_eq!(
            bitrate("8 Mbit/s").unwrap().rate,
            Some(Rate::from_bps(8_000_000))
        );
        assert!(bitrate("0/5000").is_err());
    }

    #[test]
    fn a_bare_number_is_seconds() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("250 ms"), Ok(Duration::from_millis(250)));
        assert!(interval("0.0001").is_err() && timeout("0").is_err());
    }
}
