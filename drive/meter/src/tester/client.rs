//! Runs a whole test as client.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::clock::{self, ClockOffset, Clocks};
use gigatcp_protocol::iperf3::datagram::{CONNECT, is_reply};
use gigatcp_protocol::iperf3::{
    Client, ClientEvent, Cookie, Direction, Output, Results, Transport, stream_id,
};
use serde_json::{Value, json};
use socket2::{Domain, SockRef, Socket as RawSocket, Type};

use super::capacity::{self, CapacityProbe, TrainRates};
use super::counters::Role;
#[cfg(target_os = "linux")]
use super::engine::Engine;
use super::latency::{self, Latency, Pings};
use super::ndt7;
use super::nuttcp;
use super::options;
use super::outcome::{Outcome, TestError};
use super::request::Offload;
use super::request::{self, Protocol, Request, Stack};
use super::samples;
use super::socket::Socket;
use super::stream::Stream;
use super::traffic::{Ends, Progress, Traffic};
use super::wire::{Arrival, QUEUED_AFTER, STEP, Wire};
use crate::View;
use crate::system::any_address;

/// Wait for the server's reason for resetting a stream: it arrives on another connection.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Maximum wait for the answer to the first UDP message, and time between tries.
const UDP_ANSWER: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(500));

/// Runs a test. `report` receives its progress; `stops` returns whether the user ends it.
///
/// A test that ends early keeps its measurements: [`Outcome::cut_short`] has the reason.
///
/// # Errors
/// [`TestError`] if no data flowed.
pub fn run(
    request: &Request,
    stops: &dyn Fn() -> bool,
    report: &mut dyn FnMut(Progress<'_>),
) -> Result<Outcome, TestError> {
    #[cfg(target_os = "linux")]
    if let (Stack::Engine(_), Some((option, reason))) = (&request.stack, Engine::lacks(request)) {
        return Err(TestError::Lacks { option, reason });
    }
    check_congestion(request)?;
    check_mss(request)?;
    match request.protocol {
        Protocol::Iperf3 => {}
        Protocol::Nuttcp => return nuttcp::client::run(request, stops, report),
        Protocol::Ndt7 => return ndt7::run(request, stops, report),
    }
    let mut test = Test::connect(request, stops)?;
    loop {
        while let Some(output) = test.client.poll_output() {
            if let Some(end) = test.handle_output(output, stops, report)? {
                return Ok(end);
            }
        }
        if stops() {
            return test.stop(report);
        }
        test.step(report)?;
    }
}

/// A test in progress.
struct Test<'a> {
    request: &'a Request,
    client: Client,
    cookie: Cookie,
    wire: Wire,
    server: SocketAddr,
    control_mss: u32,
    traffic: Traffic,
    peer: Option<Results>,
    /// Time of the last byte received, or of the connection, and bytes received until then.
    last_data: (Instant, u64),
    is_running: bool,
    has_reported_queue: bool,
    /// First stream that failed, with the time of detection.
    failed: Option<(Instant, (u64, io::Error))>,
    /// Offsets of the server's clock before and after the data.
    clocks: Vec<ClockOffset>,
    /// Minimum RTT of the control connection before data flowed.
    base_rtt: Option<gigatcp_units::Duration>,
    /// Measurement of the path's capacity, and its result.
    probe: Option<CapacityProbe>,
    trains: TrainRates,
    pings: Option<Pings>,
    latency: Vec<Latency>,
}

impl<'a> Test<'a> {
    fn connect(request: &'a Request, stops: &dyn Fn() -> bool) -> Result<Self, TestError> {
        let (wire, server) = control_connection(request, stops)?;
        let control_mss = options::mss(&SockRef::from(wire.stream())).unwrap_or(0);
        let mut parameters = request.parameters.clone();
        let block = request::block_size(&parameters, control_mss);
        parameters.len = Some(block as u32);
        parameters.private = Some(private(parameters.transport, request.offload));
        let mut sent = parameters.clone();
        if !matches!(request.stack, Stack::Kernel) && sent.direction == Direction::Forward {
            // A server's kernel need not have the engine's congestion controls.
            sent.congestion = None;
        }
        let cookie = Cookie::from_random(random());
        let sends_tcp =
            parameters.transport == Transport::Tcp && parameters.direction != Direction::Reverse;
        let probe = sends_tcp.then(|| CapacityProbe::start(request, server, control_mss));
        let pings = latency::start(server, request.latency)?;
        latency::wait_idle(request.latency, stops)?;
        let mut traffic = Traffic::new(parameters, block, (request.interval, request.sampling));
        traffic.shared.processor = request.processor;
        traffic.shared.offload = request.offload;
        if request.adds_streams {
            traffic.add_streams();
        }
        Ok(Self {
            request,
            client: Client::new(cookie, sent),
            cookie,
            wire,
            server,
            control_mss,
            traffic,
            peer: None,
            last_data: (Instant::now(), 0),
            is_running: false,
            has_reported_queue: false,
            failed: None,
            base_rtt: None,
            probe: probe.flatten(),
            trains: TrainRates::default(),
            pings: Some(pings),
            latency: Vec::new(),
            clocks: Vec::new(),
        })
    }

    /// Performs an output of the protocol; returns the outcome if the test is over.
    fn handle_output(
        &mut self,
        output: Output<ClientEvent>,
        stops: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Outcome>, TestError> {
        match output {
            Output::Send(bytes) => {
                // A server that closed has sent the reason, or its closing is the next event.
                let _ = self.wire.send(&bytes);
            }
            Output::Event(ClientEvent::OpenStreams) => self.open_streams(stops)?,
            Output::Event(ClientEvent::Start) => {}
            Output::Event(ClientEvent::Clock(offset)) => self.clocks.push(offset),
            Output::Event(ClientEvent::Run) => {
                self.traffic.start();
                if let Some(pings) = &self.pings {
                    pings.begun();
                }
                self.is_running = true;
                self.last_data.0 = Instant::now();
                report(Progress::Started(&self.outcome(None)));
            }
            Output::Event(ClientEvent::ExchangeResults) => {
                // A server explains nothing: readings are not sent to it.
                let results = self.outcome(None).to_results();
                self.client.send_results(self.wire.now(), &results);
            }
            Output::Event(ClientEvent::PeerResults(results)) => self.peer = Some(results),
            Output::Event(ClientEvent::Done) => return Ok(Some(self.outcome(None))),
            Output::Event(ClientEvent::Failed(failure)) => {
                if self.traffic.started_at.is_none() {
                    return Err(TestError::Protocol(failure));
                }
                self.end_traffic(report);
                return Ok(Some(self.outcome(Some(failure.to_string()))));
            }
        }
        Ok(None)
    }

    /// Waits for the next event: data from the server, or a timeout.
    fn step(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> Result<(), TestError> {
        let now = Instant::now();
        let protocol = self.client.poll_timeout().map(|at| self.wire.instant(at));
        let due = [
            protocol,
            self.traffic.poll_timeout(),
            self.traffic.deadline(),
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min();
        match self.wire.receive(due, None) {
            Arrival::Bytes(bytes) => self.client.handle_bytes(self.wire.now(), &bytes),
            Arrival::Nothing => {}
            Arrival::Closed => self.client.handle_closed(),
        }
        self.client.handle_timeout(self.wire.now());
        let is_queued = self.client.is_queued() && self.last_data.0.elapsed() > QUEUED_AFTER;
        if is_queued && !self.has_reported_queue {
            self.has_reported_queue = true;
            let has_answered = !self.client.is_unanswered();
            report(Progress::Queued { has_answered });
        }
        let waited = self.last_data.0.elapsed();
        if self.client.is_unanswered() && waited > self.request.connect_timeout {
            let (to, timeout) = (self.server, self.request.connect_timeout);
            return Err(TestError::NoAnswer { to, timeout });
        }
        if self.is_running {
            self.sample(report)?;
        }
        Ok(())
    }

    /// Samples the streams while data flows.
    fn sample(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> Result<(), TestError> {
        let now = Instant::now();
        self.traffic.handle_time(now, report);
        if let Some(pings) = self.pings.as_ref().filter(|_| self.traffic.is_loaded()) {
            pings.loaded();
        }
        let bytes = self.traffic.bytes();
        if bytes > self.last_data.1 {
            self.last_data = (now, bytes);
        }
        if self.failed.is_none() {
            self.failed = self.traffic.failure().map(|failure| (now, failure));
        }
        let is_over = self.traffic.is_time_over(now) || self.traffic.is_amount_done();
        if is_over {
            self.end_traffic(report);
            self.client.end_test(self.wire.now());
        } else if let Some((_, (id, cause))) =
            self.failed.take_if(|(since, _)| now > *since + LAST_WORDS)
        {
            self.end_traffic(report);
            self.client.terminate();
            return Err(TestError::Stream { id, cause });
        } else if now > self.last_data.0 + self.request.receive_timeout {
            let timeout = self.request.receive_timeout;
            self.end_traffic(report);
            self.client.terminate();
            return Err(TestError::Silent { timeout });
        }
        Ok(())
    }

    fn end_traffic(&mut self, report: &mut dyn FnMut(Progress<'_>)) {
        if self.is_running {
            self.is_running = false;
            self.latency = self.pings.take().map_or_else(Vec::new, Pings::finish);
            self.traffic.stop(report);
            if let Some(probe) = self.probe.take() {
                self.trains = probe.finish();
            }
        }
    }

    /// Ends the test for the user; measurements are kept.
    fn stop(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> Result<Outcome, TestError> {
        self.end_traffic(report);
        self.client.terminate();
        while let Some(output) = self.client.poll_output() {
            if let Output::Send(bytes) = output {
                let _ = self.wire.send(&bytes);
            }
        }
        match self.traffic.started_at {
            Some(_) => Ok(self.outcome(Some("interrupted".into()))),
            None => Err(TestError::Stopped),
        }
    }

    fn outcome(&self, cut_short: Option<String>) -> Outcome {
        let ends = Ends {
            protocol: Protocol::Iperf3,
            peer: (&self.request.host, self.request.port),
            cookie: self.cookie,
            control_mss: self.control_mss,
        };
        Outcome {
            clocks: match self.clocks[..] {
                [start, end] => Some(Clocks { start, end }),
                _ => None,
            },
            latency: self.latency.clone(),
            base_rtt: self.base_rtt,
            capacity: self.trains.capacity,
            first_train: self.trains.first_train,
            peer: self.peer.clone(),
            cut_short,
            ..self.traffic.outcome(&ends)
        }
    }

    /// Connects the streams, those that this end sends on first.
    fn open_streams(&mut self, stops: &dyn Fn() -> bool) -> Result<(), TestError> {
        let parameters = self.traffic.parameters().clone();
        let control = View::of(self.wire.stream()).ok();
        self.base_rtt = control.and_then(|view| view.min_rtt);
        let is_tcp = parameters.transport == Transport::Tcp;
        if is_tcp && parameters.direction == Direction::Reverse {
            let rtt = control.and_then(|view| view.srtt).unwrap_or_default();
            let rtt = Duration::from(rtt);
            let test = (self.server, self.control_mss, self.cookie);
            self.trains = capacity::from_server(self.request, test, rtt);
        }
        let directions = match parameters.direction {
            Direction::Forward => &[Role::Sender][..],
            Direction::Reverse => &[Role::Receiver],
            Direction::Bidirectional => &[Role::Sender, Role::Receiver],
        };
        let mut place = 0;
        for role in directions {
            for _ in 0..parameters.parallel.max(1) {
                let opened = match parameters.transport {
                    Transport::Udp => self.open_udp(place, stops).map(Socket::Udp),
                    _ => self.open_tcp(place),
                };
                if stops() {
                    return Err(TestError::Stopped);
                }
                let to = self.server;
                let socket = opened.map_err(|cause| match self.request.stack {
                    Stack::Kernel => TestError::Connect { to, cause },
                    #[cfg(target_os = "linux")]
                    Stack::Engine(_) => TestError::EngineConnect { to, cause },
                })?;
                let (id, shared) = (stream_id(place), &self.traffic.shared);
                let stream = Stream::spawn((id, *role), socket, shared, None)
                    .map_err(|cause| TestError::Stream { id, cause })?;
                self.traffic.streams.push(stream);
                place += 1;
            }
        }
        Ok(())
    }

    fn open_tcp(&self, place: usize) -> io::Result<Socket> {
        #[cfg(target_os = "linux")]
        if let Stack::Engine(engine) = &self.request.stack {
            let stream =
                engine.connect(self.server, self.request, local_port(self.request, place))?;
            stream.write_all(self.cookie.as_bytes())?;
            return Ok(Socket::Engine(Box::new(stream)));
        }
        let socket = stream_socket(self.request, self.server, place)?;
        socket.connect_timeout(&self.server.into(), self.request.connect_timeout)?;
        let mut stream = TcpStream::from(socket);
        stream.write_all(self.cookie.as_bytes())?;
        Ok(Socket::Tcp(stream))
    }

    /// Connects a UDP stream: four bytes in each direction, repeated if they are lost.
    fn open_udp(&self, place: usize, stops: &dyn Fn() -> bool) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(stream_socket(self.request, self.server, place)?);
        socket.connect(self.server)?;
        let (longest, between) = UDP_ANSWER;
        socket.set_read_timeout(Some(between))?;
        let deadline = Instant::now() + longest;
        let mut answer = [0; 65_536];
        while Instant::now() < deadline && !stops() {
            socket.send(&CONNECT)?;
            // In a reverse test the first datagrams may overtake the answer.
            for _ in 0..16 {
                match socket.recv(&mut answer) {
                    Ok(4) if is_reply(&answer[..4]) => {
                        socket.set_read_timeout(None)?;
                        return Ok(socket);
                    }
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        let text = "no answer to the first datagram: is UDP of this port filtered?";
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    }
}

/// Whether a read timed out: systems have two error codes for that.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// Private parameters for a server of this project.
fn private(transport: Transport, offload: Offload) -> Value {
    let mut private = json!({"version": samples::VERSION});
    if transport == Transport::Udp {
        let (key, version) = clock::announcement();
        private[key] = version;
        private["udp_offload"] = offload.name().into();
    }
    private
}

/// Checks that streams may have the requested congestion control. Later, a server would already wait
/// for them, and the refusal would look like one of the connection.
fn check_congestion(request: &Request) -> Result<(), TestError> {
    let Some(name) = &request.parameters.congestion else {
        return Ok(());
    };
    let is_of_kernel = matches!(request.stack, Stack::Kernel);
    if !is_of_kernel || request.parameters.transport != Transport::Tcp {
        return Ok(());
    }
    let domain = match request.only_v4 {
        Some(false) => Domain::IPV6,
        _ => Domain::IPV4,
    };
    let failed = |cause| TestError::Controller {
        name: name.clone(),
        cause,
    };
    options::try_congestion(domain, &request.parameters).map_err(failed)
}

/// Requests the maximum segment size for a socket that is not used further.
fn check_mss(request: &Request) -> Result<(), TestError> {
    let Some(mss) = request.parameters.mss else {
        return Ok(());
    };
    options::try_mss(mss).map_err(|cause| TestError::Socket {
        action: format!("set a maximum segment size of {mss} bytes (-M)"),
        cause,
    })
}

/// Resolves the server and connects to the first address that answers.
pub(super) fn control_connection(
    request: &Request,
    stops: &dyn Fn() -> bool,
) -> Result<(Wire, SocketAddr), TestError> {
    first_address(request, stops, |request, to| {
        let stream = connect_control(request, to)?;
        let failed = |cause| TestError::Socket {
            action: "set up the control connection".into(),
            cause,
        };
        options::apply_to_control(SockRef::from(&stream)).map_err(failed)?;
        Wire::new(stream).map_err(failed)
    })
}

/// Resolves the server, and tries its addresses in turn until one connects.
pub(super) fn first_address<T: Send + 'static>(
    request: &Request,
    stops: &dyn Fn() -> bool,
    connect: impl Fn(&Request, SocketAddr) -> Result<T, TestError> + Send + 'static,
) -> Result<(T, SocketAddr), TestError> {
    let request = request.clone();
    unless_stopped(stops, move || {
        let unresolved = |cause| TestError::Unresolved {
            host: request.host.clone(),
            cause,
        };
        let addresses = (request.host.as_str(), request.port)
            .to_socket_addrs()
            .map_err(|cause| unresolved(Some(cause)))?;
        let mut last = unresolved(None);
        for to in addresses.filter(|address| request.allows(address)) {
            match connect(&request, to) {
                Ok(connection) => return Ok((connection, to)),
                Err(error) => last = error,
            }
        }
        Err(last)
    })
}

/// Does work that waits for the server in a thread of its own, which is left alone if the user ends
/// the test.
pub(super) fn unless_stopped<T: Send + 'static>(
    stops: &dyn Fn() -> bool,
    work: impl FnOnce() -> Result<T, TestError> + Send + 'static,
) -> Result<T, TestError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("connect".into());
    // The test may have ended before the result.
    let started = thread.spawn(move || drop(sender.send(work())));
    started.map_err(|cause| TestError::Socket {
        action: "start a thread".into(),
        cause,
    })?;
    loop {
        match receiver.recv_timeout(STEP) {
            Ok(result) => return result,
            Err(_) if stops() => return Err(TestError::Stopped),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("the thread sends its result, unless it panics")
            }
        }
    }
}

fn connect_control(request: &Request, to: SocketAddr) -> Result<TcpStream, TestError> {
    let failed = |cause| TestError::Connect { to, cause };
    let socket = RawSocket::new(Domain::for_address(to), Type::STREAM, None).map_err(failed)?;
    bind(&socket, request, to, None).map_err(|cause| TestError::Socket {
        action: match (&request.bind_dev, request.bind) {
            (Some(device), None) => format!("send through the interface {device} (bind_dev)"),
            (None, Some(address)) => format!("send from {address} (-B) to {}", to.ip()),
            (device, address) => format!("send from {address:?} (-B) through {device:?}"),
        },
        cause,
    })?;
    socket
        .connect_timeout(&to.into(), request.connect_timeout)
        .map_err(failed)?;
    Ok(socket.into())
}

/// A socket for the stream with number `place`, bound as the user requested.
pub(super) fn stream_socket(
    request: &Request,
    to: SocketAddr,
    place: usize,
) -> io::Result<RawSocket> {
    let socket = options::socket(Domain::for_address(to), &request.parameters)?;
    bind(&socket, request, to, local_port(request, place))?;
    Ok(socket)
}

/// Local port that the user requested for a stream.
fn local_port(request: &Request, place: usize) -> Option<u16> {
    request.client_port.map(|port| port + place as u16)
}

/// Binds a socket to the address, port and interface that the user requested, if any.
pub(super) fn bind(
    socket: &RawSocket,
    request: &Request,
    to: SocketAddr,
    port: Option<u16>,
) -> io::Result<()> {
    if let Some(device) = &request.bind_dev {
        options::bind_device(socket, device)?;
    }
    if request.bind.is_none() && port.is_none() {
        return Ok(());
    }
    let from = request.bind.unwrap_or_else(|| any_address(to));
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::new(from, port.unwrap_or(0)).into())
}

/// Random bytes for a cookie, from the system's random source.
pub(super) fn random() -> [u8; 36] {
    let mut bytes = [0; 36];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        // Two tests must not share a cookie; nothing else depends on it.
        let seed = std::process::id() as u64 ^ crate::system::clock::realtime().unsigned_abs();
        let mut state = seed;
        for byte in &mut bytes {
            state = gigatcp_units::random::mix(state.wrapping_add(1));
            *byte = state as u8;
        }
    }
    bytes
}
