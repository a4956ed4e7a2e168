//! A test with a server of M-Lab's ndt7, as client.
//!
//! | file | what |
//! |---|---|
//! | `url.rs` | where the server is |
//! | `transport.rs` | TCP or TLS below the WebSocket, with bounded waits |
//! | `stream.rs` | the WebSocket as the stream of a test |
//!
//! A measurement of the server has the words of its `tcp_info`. They become the readings of the
//! peer, as those that a server of this project sends, so the same account explains the test.
//!
//! Bounds on what a server can do: the handshakes end with the timeout of a connection, the test
//! after 15 s; messages of data have at most 16 MiB, measurements 64 KiB, and 1024 of them are kept.
//! Redirects are not followed.

mod stream;
mod transport;
mod url;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{Cookie, Direction, Results, StreamResults, Transport as Carrier};
use gigatcp_protocol::ndt7::{self, Measurement};
use gigatcp_why::counters::Reading;
use socket2::SockRef;
use tungstenite::client::{ClientRequestBuilder, client_with_config};
use tungstenite::handshake::HandshakeError;
use tungstenite::http::Uri;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, WebSocket};

use self::stream::Reported;
pub(super) use self::stream::WebSocketStream;
use self::transport::{Bounded, Transport};
pub use self::url::Ndt7Url;
use super::client::{first_address, random, stream_socket, unless_stopped};
use super::counters::Role;
use super::latency::{self, Latency, Pings};
use super::options;
use super::outcome::{Outcome, TestError};
use super::request::{self, PingSet, Protocol, Request, Stack};
use super::samples::Samples;
use super::socket::Socket;
use super::stream::Stream;
use super::traffic::{Ends, Progress, Traffic};
use super::wire::next_wake;
use crate::system::lock;

/// Number of the stream.
const STREAM: u64 = 1;

/// An option that the protocol does not have, and the reason.
pub(super) fn lacks(request: &Request) -> Option<(&'static str, String)> {
    let parameters = &request.parameters;
    let has_amount = parameters.num > 0 || parameters.blockcount > 0;
    let longest = ndt7::RUNTIME.as_secs_f64();
    let is_unlimited = parameters.time == 0 && !has_amount;
    let is_long = is_unlimited || f64::from(parameters.time) > longest;
    let lacked = [
        (
            parameters.transport != Carrier::Tcp,
            "--udp",
            "carries TCP only",
        ),
        (
            parameters.direction == Direction::Bidirectional,
            "--bidir and --rrul",
            "tests one direction at a time",
        ),
        (parameters.parallel > 1, "--parallel", "has one stream"),
        (
            has_amount,
            "--bytes and --blockcount",
            "ends a test by time",
        ),
        (is_long, "--time", "ends a test after 10 s"),
        (parameters.bandwidth.is_some(), "--bitrate", "has no rate"),
        (parameters.omit > 0, "--omit", "ends a test after 10 s"),
        (parameters.zerocopy, "--zerocopy", "masks its data"),
        (parameters.authtoken.is_some(), "username", "has no logins"),
        (
            !matches!(request.stack, Stack::Kernel),
            "--stack engine",
            "is spoken over the kernel's sockets only",
        ),
        (
            request.latency == PingSet::All,
            "--rrul",
            "has no pings of UDP",
        ),
    ];
    let (_, option, reason) = lacked.into_iter().find(|(is_lacked, ..)| *is_lacked)?;
    Some((option, format!("ndt7 {reason}")))
}

pub(super) fn run(
    request: &Request,
    stops: &dyn Fn() -> bool,
    report: &mut dyn FnMut(Progress<'_>),
) -> Result<Outcome, TestError> {
    if let Some((option, reason)) = lacks(request) {
        return Err(TestError::Lacks { option, reason });
    }
    let mut test = Test::connect(request, stops)?;
    test.start(report);
    let cut_short = test.flow(stops, report);
    test.end(report);
    if test.traffic.bytes() == 0 {
        return Err(match cut_short {
            Some(EarlyEnd::Stopped) => TestError::Stopped,
            Some(EarlyEnd::Failed(cause)) => TestError::Stream { id: STREAM, cause },
            None => TestError::Silent {
                timeout: test.traffic.measured,
            },
        });
    }
    Ok(test.outcome(cut_short.map(|end| end.to_string())))
}

/// Why a test has ended early.
#[derive(Debug, thiserror::Error)]
enum EarlyEnd {
    #[error("interrupted")]
    Stopped,
    #[error("{0}")]
    Failed(io::Error),
}

/// A test in progress.
struct Test<'a> {
    request: &'a Request,
    role: Role,
    control_mss: u32,
    traffic: Traffic,
    reported: Arc<Mutex<Reported>>,
    pings: Option<Pings>,
    latency: Vec<Latency>,
}

impl<'a> Test<'a> {
    fn connect(request: &'a Request, stops: &dyn Fn() -> bool) -> Result<Self, TestError> {
        let role = match request.parameters.direction {
            Direction::Reverse => Role::Receiver,
            _ => Role::Sender,
        };
        let (socket, server) = first_address(request, stops, connect)?;
        let pings = latency::start(server, request.latency)?;
        // Data flows once the WebSocket is open.
        latency::wait_idle(request.latency, stops)?;
        let (wanted, cloned) = (request.clone(), socket.try_clone());
        let web_socket = unless_stopped(stops, move || {
            let below = cloned.map_err(|error| error.to_string());
            let opened = below.and_then(|below| handshake(&wanted, role, below));
            opened.map_err(|reason| TestError::Handshake { to: server, reason })
        })?;
        let control_mss = options::mss(&SockRef::from(&socket)).unwrap_or(0);
        let parameters = request.parameters.clone();
        let block = request::block_size(&parameters, control_mss).min(ndt7::MAX_MESSAGE);
        let mut traffic = Traffic::new(parameters, block, (request.interval, request.sampling));
        traffic.shared.processor = request.processor;
        let reported = Arc::new(Mutex::new(Reported::default()));
        let stream = WebSocketStream::new(socket, role, web_socket, reported.clone());
        let socket = Socket::Ndt7(Box::new(stream));
        let stream = Stream::spawn((STREAM, role), socket, &traffic.shared, None);
        traffic
            .streams
            .push(stream.map_err(|cause| TestError::Stream { id: STREAM, cause })?);
        Ok(Self {
            request,
            role,
            control_mss,
            traffic,
            reported,
            pings: Some(pings),
            latency: Vec::new(),
        })
    }

    fn start(&mut self, report: &mut dyn FnMut(Progress<'_>)) {
        self.traffic.start();
        if let Some(pings) = &self.pings {
            pings.begun();
            pings.loaded();
        }
        report(Progress::Started(&self.outcome(None)));
    }

    /// Lets data flow until the server, the time or the user ends it; returns the reason if that is
    /// early.
    fn flow(
        &mut self,
        stops: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Option<EarlyEnd> {
        let requested = Duration::from_secs(self.request.parameters.time.into());
        let runtime = Duration::from(ndt7::RUNTIME);
        // The server ends a test of full length; its end says that all has arrived.
        let longest = if requested >= runtime {
            ndt7::MAX_RUNTIME.into()
        } else {
            requested
        };
        let deadline = Instant::now() + longest;
        loop {
            let now = Instant::now();
            self.traffic.handle_time(now, report);
            if stops() {
                return Some(EarlyEnd::Stopped);
            }
            if self.traffic.is_ended() {
                let is_closed = lock(&self.reported).is_closed;
                let failure = self.traffic.failure().filter(|_| !is_closed);
                return failure.map(|(_, cause)| EarlyEnd::Failed(cause));
            }
            if now >= deadline {
                return None;
            }
            let due = self
                .traffic
                .poll_timeout()
                .into_iter()
                .chain([deadline])
                .min();
            std::thread::sleep(next_wake(due).saturating_duration_since(now));
        }
    }

    fn end(&mut self, report: &mut dyn FnMut(Progress<'_>)) {
        self.latency = self.pings.take().map_or_else(Vec::new, Pings::finish);
        self.traffic.stop(report);
    }

    fn outcome(&self, cut_short: Option<String>) -> Outcome {
        let ends = Ends {
            protocol: Protocol::Ndt7,
            peer: (&self.request.host, self.request.port),
            cookie: Cookie::from_random(random()),
            control_mss: self.control_mss,
        };
        Outcome {
            latency: self.latency.clone(),
            peer: results(&lock(&self.reported).measurements, self.role),
            cut_short,
            ..self.traffic.outcome(&ends)
        }
    }
}

/// Connects to an address of the server, with the options of a stream.
fn connect(request: &Request, to: SocketAddr) -> Result<TcpStream, TestError> {
    let failed = |cause| TestError::Connect { to, cause };
    let socket = stream_socket(request, to, 0).map_err(failed)?;
    socket
        .connect_timeout(&to.into(), request.connect_timeout)
        .map_err(failed)?;
    Ok(socket.into())
}

/// Performs the handshakes of TLS and of the WebSocket within the timeout of a connection.
fn handshake(
    request: &Request,
    role: Role,
    connection: TcpStream,
) -> Result<WebSocket<Transport>, String> {
    let url = request.ndt7.as_ref();
    let is_secure = url.is_some_and(|url| url.is_secure);
    let text = |error: &dyn std::error::Error| error.to_string();
    // Small messages, as requests, must not wait for others.
    connection.set_nodelay(true).map_err(|error| text(&error))?;
    let connection = Bounded::new(connection, Instant::now() + request.connect_timeout);
    let transport = match is_secure {
        true => Transport::secure(connection, &request.host)?,
        false => Transport::Plain(connection),
    };
    let resource = url
        .and_then(|url| url.resource.as_deref())
        .unwrap_or(match role {
            Role::Sender => ndt7::UPLOAD,
            Role::Receiver => ndt7::DOWNLOAD,
        });
    let host = match request.host.contains(':') {
        true => format!("[{}]", request.host),
        false => request.host.clone(),
    };
    let scheme = if is_secure { "wss" } else { "ws" };
    let uri: Uri = format!("{scheme}://{host}:{}{resource}", request.port)
        .parse()
        .map_err(|error| text(&error))?;
    let upgrade = ClientRequestBuilder::new(uri)
        .with_sub_protocol(ndt7::SUBPROTOCOL)
        .with_header("User-Agent", concat!("gigatcp/", env!("CARGO_PKG_VERSION")));
    let config = WebSocketConfig::default()
        .write_buffer_size(0)
        .max_message_size(Some(ndt7::MAX_MESSAGE))
        .max_frame_size(Some(ndt7::MAX_MESSAGE));
    match client_with_config(upgrade, transport, Some(config)) {
        Ok((mut web_socket, _)) => {
            let begun = web_socket.get_mut().begin();
            begun.map_err(|error| text(&error))?;
            Ok(web_socket)
        }
        Err(HandshakeError::Failure(error)) => Err(refusal(&error)),
        Err(HandshakeError::Interrupted(_)) => Err("the handshake was interrupted".to_owned()),
    }
}

/// Describes why a server is none of ndt7, or does not serve this client.
fn refusal(error: &Error) -> String {
    match error {
        Error::Http(response) if response.status().is_redirection() => {
            format!("HTTP {}: redirects are not followed", response.status())
        }
        Error::Http(response) => format!("HTTP {}", response.status()),
        Error::Io(error) if error.kind() == ErrorKind::TimedOut => {
            "no answer to the WebSocket handshake in time".to_owned()
        }
        error => error.to_string(),
    }
}

/// A server's measurements as the results of a peer; `None` without any.
fn results(measurements: &[Measurement], role: Role) -> Option<Results> {
    let last = measurements.last()?;
    let of_kernel = match role {
        Role::Sender => last.word("tcpi_bytes_received"),
        Role::Receiver => last.word("tcpi_bytes_acked"),
    };
    let congestion = measurements
        .iter()
        .any(|sample| sample.is_bbr)
        .then(|| "bbr".to_owned());
    let readings = measurements
        .iter()
        .map(|sample| Reading::of_words(sample.at, sample.words.iter().copied()));
    let samples = Samples {
        streams: vec![(STREAM, readings.collect())],
        congestion: congestion.clone(),
        ..Samples::default()
    };
    let stream = StreamResults {
        id: STREAM,
        bytes: last.app_bytes.or(of_kernel)?,
        retransmits: last.word("tcpi_total_retrans"),
        start_time: Some(0.0),
        end_time: Some(last.at.as_secs_f64()),
        ..StreamResults::default()
    };
    Some(Results {
        congestion_used: congestion,
        streams: vec![stream],
        private: Some(samples.to_json()),
        ..Results::default()
    })
}
