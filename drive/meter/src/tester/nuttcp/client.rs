//! Runs a whole test as nuttcp's client.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{Cookie, Direction, Results, Transport};
use gigatcp_protocol::nuttcp::client::Event;
use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_protocol::nuttcp::output::brief::Brief;
use gigatcp_protocol::nuttcp::{ACCEPT_TIMEOUT, CONNECT_PAUSE, Client, Output};
use socket2::{Domain, SockRef};

use super::super::client::{control_connection, is_timeout, random, stream_socket};
use super::super::counters::Role;
use super::super::options;
use super::super::outcome::{Outcome, TestError};
use super::super::request::{self, Request};
use super::super::socket::Socket;
use super::super::traffic::{Ends, Progress, Traffic};
use super::super::wire::{Arrival, QUEUED_AFTER, READ, STEP, Wire, next_wake};
use super::figures;
use super::link::Link;
use super::requested;
use super::transfer::{Transfer, TransferChange, port_of};
use crate::system::any_address;
use crate::system::fd::AsFd;
use crate::system::poll;

/// Maximum wait for the first datagram of a sending server.
const FIRST_DATAGRAM: Duration = Duration::from_secs(10);

/// Maximum of bytes kept of a server's text.
const MAX_SERVER_TEXT: usize = 64 << 10;

/// Runs a test.
pub(in super::super) fn run(
    request: &Request,
    stops: &dyn Fn() -> bool,
    report: &mut dyn FnMut(Progress<'_>),
) -> Result<Outcome, TestError> {
    let mut test = Test::connect(request, stops)?;
    loop {
        while let Some(output) = test.client.poll_output() {
            if let Some(outcome) = test.handle_output(output, stops, report)? {
                return Ok(outcome);
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
    wire: Wire,
    server: SocketAddr,
    control_mss: u32,
    block: usize,
    transfer: Option<Transfer>,
    server_text: Vec<u8>,
    peer: Option<Results>,
    brief: Option<Box<Brief>>,
    is_closed: bool,
    has_reported_queue: bool,
    has_finished: bool,
    begun_at: Instant,
    received_at: Instant,
}

impl<'a> Test<'a> {
    fn connect(request: &'a Request, stops: &dyn Fn() -> bool) -> Result<Self, TestError> {
        let (wire, server) = connect(request, stops)?;
        let control_mss = options::mss(&SockRef::from(wire.stream())).unwrap_or(0);
        let block = request::block_size(&request.parameters, control_mss);
        let begun_at = Instant::now();
        Ok(Self {
            request,
            client: Client::new(requested(request, block)),
            wire,
            server,
            control_mss,
            block,
            transfer: None,
            server_text: Vec::new(),
            peer: None,
            brief: None,
            is_closed: false,
            has_reported_queue: false,
            has_finished: false,
            begun_at,
            received_at: begun_at,
        })
    }

    /// Performs an output of the protocol; returns the outcome if the test is over.
    fn handle_output(
        &mut self,
        output: Output<Event>,
        stops: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Outcome>, TestError> {
        match output {
            Output::Send(bytes) => {
                // A server that closed has sent the reason, or its closing is the next event.
                let _ = self.wire.send(&bytes);
            }
            Output::ShutdownWrite => {
                let _ = self.wire.stream().shutdown(Shutdown::Write);
            }
            Output::SendUrgent(_) | Output::Close => {}
            Output::Event(event) => return self.handle_event(event, stops, report),
        }
        Ok(None)
    }

    fn handle_event(
        &mut self,
        event: Event,
        stops: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Outcome>, TestError> {
        match event {
            Event::Accepted(agreed) => self.open(agreed, stops)?,
            Event::Interval(interval) => report(Progress::PeerInterval(&interval)),
            Event::Done => {}
            Event::Abort => {
                self.end_transfer(report);
                report(Progress::Note("the server receives no data".into()));
            }
            Event::Finished(brief, reported) => {
                if let Some(transfer) = &self.transfer {
                    let wants = self.request.parameters.get_server_output;
                    let text = String::from_utf8_lossy(&self.server_text);
                    let is_line = |line: &&str| line.starts_with("nuttcp-");
                    let text: String = text.lines().filter(is_line).collect::<Vec<_>>().join("\n");
                    let text = wants.then_some(text);
                    let results =
                        figures::results(transfer, &brief, reported, text, self.client.private());
                    self.peer = Some(results);
                }
                self.brief = Some(brief);
                return Ok(Some(self.outcome(None)));
            }
            Event::Failed(error) => {
                if !self.has_begun() {
                    return Err(TestError::Nuttcp(error));
                }
                self.end_transfer(report);
                return Ok(Some(self.outcome(Some(error.to_string()))));
            }
        }
        Ok(None)
    }

    fn has_begun(&self) -> bool {
        self.transfer
            .as_ref()
            .is_some_and(|transfer| transfer.traffic.started_at.is_some())
    }

    fn end_transfer(&mut self, report: &mut dyn FnMut(Progress<'_>)) {
        if let Some(transfer) = &mut self.transfer {
            transfer.end(report);
        }
    }

    /// Waits for the next event: data from the server, or a timeout.
    fn step(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> Result<(), TestError> {
        let due = self.transfer.as_ref().and_then(Transfer::poll_timeout);
        let link = self.transfer.as_ref().map(|transfer| transfer.link.clone());
        self.receive(due, link.as_deref());
        if let Some(link) = &link {
            link.event_fd.clear();
        }
        let now = Instant::now();
        let has_answered = self.received_at > self.begun_at;
        let is_waiting = self.transfer.is_none() && now > self.begun_at + QUEUED_AFTER;
        if is_waiting && !self.has_reported_queue {
            self.has_reported_queue = true;
            report(Progress::Queued { has_answered });
        }
        let timeout = self.request.connect_timeout;
        if is_waiting && !has_answered && now > self.begun_at + timeout {
            let to = self.server;
            return Err(TestError::NoAnswer { to, timeout });
        }
        if self.transfer.is_some() {
            self.sample(report)?;
        }
        Ok(())
    }

    fn receive(&mut self, due: Option<Instant>, link: Option<&Link>) {
        let waker = link.map(|link| link.event_fd.as_fd());
        if self.is_closed {
            let wait = next_wake(due).saturating_duration_since(Instant::now());
            match waker {
                Some(waker) => drop(poll::wait([(waker, READ)], Some(wait))),
                None => std::thread::sleep(wait),
            }
            return;
        }
        match self.wire.receive(due, waker) {
            Arrival::Bytes(bytes) => {
                self.received_at = Instant::now();
                let room = MAX_SERVER_TEXT
                    .saturating_sub(self.server_text.len())
                    .min(bytes.len());
                self.server_text.extend(&bytes[..room]);
                self.client.handle_bytes(&bytes);
            }
            Arrival::Nothing => {}
            Arrival::Closed => {
                self.is_closed = true;
                self.client.handle_closed();
            }
        }
    }

    /// Samples the streams.
    fn sample(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> Result<(), TestError> {
        let Some(transfer) = &mut self.transfer else {
            return Ok(());
        };
        let now = Instant::now();
        while let Some(found) = transfer.poll_change(now, report) {
            if found == TransferChange::Begun {
                let begun = outcome(self.request, transfer, self.control_mss);
                report(Progress::Started(&begun));
            }
        }
        if let Some((id, cause)) = transfer.traffic.failure() {
            transfer.end(report);
            return Err(TestError::Stream { id, cause });
        }
        // A server of datagrams that has closed sends no more.
        if self.is_closed && transfer.link.parameters.udp && transfer.role == Role::Receiver {
            transfer.end(report);
        }
        let timeout = match self.has_begun() {
            true => self.request.receive_timeout,
            false => FIRST_DATAGRAM,
        };
        let Some(transfer) = &mut self.transfer else {
            return Ok(());
        };
        if transfer
            .idle(now)
            .min(now.saturating_duration_since(self.received_at))
            > timeout
        {
            transfer.end(report);
            return Err(TestError::Silent { timeout });
        }
        if transfer.is_peer_notified() && !self.has_finished {
            self.has_finished = true;
            self.client.finished(figures::totals(transfer));
        }
        Ok(())
    }

    /// Ends the test for the user; measurements are kept.
    fn stop(&mut self, report: &mut dyn FnMut(Progress<'_>)) -> Result<Outcome, TestError> {
        self.end_transfer(report);
        match self.has_begun() {
            true => Ok(self.outcome(Some("interrupted".into()))),
            false => Err(TestError::Stopped),
        }
    }

    fn outcome(&self, cut_short: Option<String>) -> Outcome {
        let mut outcome = match &self.transfer {
            Some(transfer) => outcome(self.request, transfer, self.control_mss),
            None => unreachable!("a test without streams has no outcome"),
        };
        outcome.peer.clone_from(&self.peer);
        outcome.brief.clone_from(&self.brief);
        outcome.cut_short = cut_short;
        outcome
    }

    /// Opens the data streams.
    fn open(&mut self, agreed: Agreed, stops: &dyn Fn() -> bool) -> Result<(), TestError> {
        let wanted = self.client.parameters().clone();
        let mut parameters = self.request.parameters.clone();
        parameters.len = Some(self.block as u32);
        let limit = match parameters.num {
            bytes @ 1.. if !wanted.udp => Some(bytes),
            _ => wanted
                .buffers
                .map(|buffers| buffers.saturating_mul(self.block as u64)),
        };
        let role = match parameters.direction {
            Direction::Reverse => Role::Receiver,
            _ => Role::Sender,
        };
        let to = port_of(self.server, wanted.port, 0);
        let failed = |cause| TestError::Connect { to, cause };
        let streams = wanted.streams;
        let link = Link::new(wanted, agreed, limit).map_err(failed)?;
        let spans = (self.request.interval, self.request.sampling);
        let traffic = Traffic::new(parameters, self.block, spans);
        let mut transfer = Transfer::new(traffic, Arc::new(link), role);
        let mut sockets = Vec::new();
        let mut rtt = None;
        for place in 0..usize::from(streams) {
            let to = port_of(self.server, to.port(), place);
            let failed = |cause| TestError::Connect { to, cause };
            let socket = match (self.request.parameters.transport, role) {
                (Transport::Udp, Role::Sender) => self.udp_to(to).map(Socket::Udp),
                (Transport::Udp, Role::Receiver) => self.udp_from(to, stops).map(Socket::Udp),
                _ => self.tcp(to, place).map(|(socket, after)| {
                    rtt = rtt.or(Some(after));
                    Socket::Tcp(socket)
                }),
            };
            sockets.push(socket.map_err(failed)?);
        }
        transfer.open(sockets).map_err(failed)?;
        self.client.streams_connected(rtt.map(Into::into));
        self.transfer = Some(transfer);
        Ok(())
    }

    /// Connects a stream and returns the time that took.
    ///
    /// A server may begin to listen at its port after it has consented.
    fn tcp(&self, to: SocketAddr, place: usize) -> io::Result<(TcpStream, Duration)> {
        let deadline = Instant::now() + Duration::from(ACCEPT_TIMEOUT);
        loop {
            let socket = stream_socket(self.request, to, place)?;
            let start = Instant::now();
            match socket.connect_timeout(&to.into(), self.request.connect_timeout) {
                Ok(()) => return Ok((socket.into(), start.elapsed())),
                Err(error) => {
                    let is_early = error.kind() == ErrorKind::ConnectionRefused;
                    if !is_early || Instant::now() > deadline {
                        return Err(error);
                    }
                }
            }
            std::thread::sleep(CONNECT_PAUSE.into());
        }
    }

    fn udp_to(&self, to: SocketAddr) -> io::Result<UdpSocket> {
        let socket = UdpSocket::from(stream_socket(self.request, to, 0)?);
        socket.connect(to)?;
        Ok(socket)
    }

    /// Waits for the first datagram of a sending server, whose source port is unknown.
    fn udp_from(&self, server: SocketAddr, stops: &dyn Fn() -> bool) -> io::Result<UdpSocket> {
        let from = self.request.bind.unwrap_or_else(|| any_address(server));
        let at = SocketAddr::new(from, server.port());
        let domain = Domain::for_address(server);
        let socket = options::socket(domain, &self.request.parameters)?;
        if let Some(device) = &self.request.bind_dev {
            options::bind_device(&socket, device)?;
        }
        socket.bind(&at.into())?;
        let socket = UdpSocket::from(socket);
        socket.set_read_timeout(Some(STEP))?;
        let deadline = Instant::now() + FIRST_DATAGRAM;
        while Instant::now() < deadline && !stops() {
            match socket.peek_from(&mut [0; 4]) {
                Ok((_, from)) if from.ip() == server.ip() => {
                    socket.connect(from)?;
                    return Ok(socket);
                }
                Ok(_) => drop(socket.recv_from(&mut [0; 4])?),
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let text = "no datagram came: is UDP of this port filtered?";
        Err(io::Error::new(ErrorKind::TimedOut, text))
    }
}

/// Connects to the server.
fn connect(request: &Request, stops: &dyn Fn() -> bool) -> Result<(Wire, SocketAddr), TestError> {
    let (wire, server) = control_connection(request, stops)?;
    // A byte of urgent data ends the data; it stays in line.
    let inline = SockRef::from(wire.stream()).set_out_of_band_inline(true);
    inline.map_err(|cause| TestError::Socket {
        action: "set up the control connection".into(),
        cause,
    })?;
    Ok((wire, server))
}

fn outcome(request: &Request, transfer: &Transfer, control_mss: u32) -> Outcome {
    transfer.traffic.outcome(&Ends {
        protocol: request::Protocol::Nuttcp,
        peer: (&request.host, request.port),
        cookie: Cookie::from_random(random()),
        control_mss,
    })
}
