//! One test of a server, on its own thread.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{
    Cookie, Direction, ErrorCode, Output, Parameters, Results, ServerEnd, ServerEvent,
    ServerOutput, Session, stream_id,
};
use socket2::SockRef;

use super::counters::Role;
use super::options;
use super::outcome::Outcome;
use super::presence::Presence;
use super::rate_limit::StreamLimit;
use super::request::Offload;
use super::request::{self, Protocol};
use super::socket::Socket;
use super::stream::Stream;
use super::traffic::{Ends, Progress, Traffic};
use super::transactions::ServedTransactions;
use super::wire::{Arrival, Wire};
use crate::system::fd::AsFd;
use crate::system::lock;
use crate::system::poll::EventFd;

/// Maximum wait for the data connections.
pub(super) const STREAMS_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which a client may still read its streams after the server has ended the test.
pub(super) const RESET_AFTER: Duration = Duration::from_secs(1);

/// Data connections of a test, from the thread that accepts them.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Sockets with their position in the order of acceptance.
    sockets: Mutex<Vec<(u64, Socket)>>,
    pub(super) event_fd: EventFd,
}

impl Mailbox {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            sockets: Mutex::new(Vec::new()),
            event_fd: EventFd::new()?,
        })
    }

    /// Adds a connection; closes it if `limit` are waiting already.
    pub(super) fn push(&self, place: u64, socket: Socket, limit: usize) {
        let mut sockets = lock(&self.sockets);
        if sockets.len() < limit {
            sockets.push((place, socket));
            self.event_fd.wake();
        }
    }

    /// Takes up to `count` connections.
    pub(super) fn drain(&self, count: usize) -> Vec<Socket> {
        let mut sockets = lock(&self.sockets);
        let most = count.min(sockets.len());
        sockets.drain(..most).map(|(_, socket)| socket).collect()
    }

    /// Takes the connections if there are `count`.
    pub(super) fn take(&self, count: usize) -> Option<Vec<Socket>> {
        self.event_fd.clear();
        let mut sockets = lock(&self.sockets);
        if sockets.len() < count {
            return None;
        }
        sockets.sort_by_key(|(place, _)| *place);
        Some(sockets.drain(..).map(|(_, socket)| socket).collect())
    }
}

/// Limits of a test at a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowance {
    /// Rate.
    pub(super) limit: StreamLimit,
    /// Maximum duration of the data, with the omitted time; `None`: unlimited.
    pub(super) longest: Option<Duration>,
    /// Maximum time without data.
    pub(super) idle: Duration,
    pub(super) presence: Presence,
}

/// Excess over the maximum duration before a test is ended: the client ends it first.
const LATE: Duration = Duration::from_secs(2);

/// Maximum number of intervals of streams that a server keeps of a test: 1 h of four streams.
pub(super) const MAX_INTERVALS: usize = 4 * 3600;

impl Allowance {
    /// Sets the limits of a test's streams.
    pub(super) fn apply(&self, traffic: &mut Traffic) {
        traffic.shared.limit = self.limit.clone();
        traffic.kept = Some(MAX_INTERVALS);
    }

    /// Whether a test whose data began at `start` has exceeded the maximum duration.
    pub(super) fn is_late(&self, start: Instant) -> bool {
        let elapsed = start.elapsed();
        self.longest.is_some_and(|longest| elapsed > longest + LATE)
    }

    /// Why a test with this control connection must end now.
    pub(super) fn exceeded(
        &mut self,
        control: &TcpStream,
        traffic: &mut Traffic,
    ) -> Option<ErrorCode> {
        let now = Instant::now();
        let (start, _) = traffic.started_at.filter(|_| traffic.is_flowing())?;
        if self.presence.is_gone(control, traffic, now) {
            return Some(ErrorCode::CONTROL_CLOSED);
        }
        if self.is_late(start) {
            return Some(ErrorCode::DURATION_EXPIRED);
        }
        if traffic.idle(now) > self.idle {
            return Some(ErrorCode::NO_DATA);
        }
        self.limit.is_exceeded().then_some(ErrorCode::TOTAL_RATE)
    }
}

/// A client with its test.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) session: Session,
    pub(super) wire: Wire,
    pub(super) peer: SocketAddr,
    pub(super) cookie: Cookie,
    pub(super) parameters: Parameters,
    pub(super) allowance: Allowance,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) port: u16,
}

/// Result of a server's test.
#[derive(Debug)]
pub struct Ended {
    /// Measurements; `None`: no data flowed.
    pub outcome: Option<Outcome>,
    /// Measurements of a test of transactions.
    pub transactions: Option<ServedTransactions>,
    /// Reason of the end.
    pub end: String,
}

impl Ended {
    /// Result of a test that ended before data flowed.
    pub(super) fn without_data(end: String) -> Self {
        Self {
            outcome: None,
            transactions: None,
            end,
        }
    }
}

/// Function that formats a server's output of a test, for clients that request it.
pub type Render = dyn Fn(&Outcome) -> String + Send + Sync;

/// Traffic that a client requests.
fn traffic_of(wanted: &Parameters, control_mss: u32, interval: Option<Duration>) -> Traffic {
    let block = request::block_size(wanted, control_mss);
    let mut traffic = Traffic::new(wanted.clone(), block, (interval, request::SAMPLING));
    let private = wanted.private.as_ref();
    let offload = private.and_then(|private| private["udp_offload"].as_str());
    traffic.shared.offload = Offload::from_name(offload);
    traffic.shared.processor = wanted.server_affinity.map(|number| number as usize);
    traffic
}

/// Runs a test to its end. `opened` is called once the data connections exist.
///
/// `render` formats the output that a client may request.
pub(super) fn serve(
    mut served: Served,
    interval: Option<Duration>,
    render: Option<&Render>,
    stops: &dyn Fn() -> bool,
    opened: impl FnOnce(),
    report: &mut dyn FnMut(Progress<'_>),
) -> Ended {
    let control_mss = options::mss(&SockRef::from(served.wire.stream())).unwrap_or(0);
    let mut traffic = traffic_of(&served.parameters, control_mss, interval);
    served.allowance.apply(&mut traffic);
    let mut peer: Option<Results> = None;
    let mut opened = Some(opened);
    let streams_by = Instant::now() + STREAMS_TIMEOUT;
    served.session.create_streams(served.wire.now());
    let end = 'test: loop {
        while let Some(output) = served.session.poll_output() {
            let now = served.wire.now();
            match output {
                Output::Send(bytes) => {
                    // The next read shows whether the client still exists.
                    let _ = served.wire.send(&bytes);
                }
                Output::Event(ServerEvent::Parameters(_)) => {}
                Output::Event(ServerEvent::Run) => {
                    traffic.start();
                    let begun = outcome(&served, &traffic, control_mss, None, None);
                    report(Progress::Started(&begun));
                }
                Output::Event(ServerEvent::EndTest) => {
                    traffic.stop(report);
                    // The client reads the end of its streams before it continues with the
                    // protocol.
                    traffic.close();
                    served.session.exchange_results(now);
                }
                Output::Event(ServerEvent::PeerResults(results)) => {
                    peer = Some(results);
                    let own = outcome(&served, &traffic, control_mss, None, None);
                    served.session.send_results(now, &results_of(&own, render));
                }
                Output::Event(ServerEvent::Ended(end)) => break 'test end,
            }
        }
        if stops() {
            served.session.terminate();
            continue;
        }
        if let Some(streams) = arrived_streams(&served)
            && let Some(opened) = opened.take()
        {
            opened();
            start(&mut served, &mut traffic, streams);
            continue;
        }
        if opened.is_some() && Instant::now() > streams_by {
            served.session.refuse(ErrorCode::STREAM_ACCEPT, 0);
            continue;
        }
        if let Some(code) = (served.allowance).exceeded(served.wire.stream(), &mut traffic) {
            served.session.refuse(code, 0);
            continue;
        }
        step(&mut served, &mut traffic, report);
    };
    if traffic.started_at.is_some() && traffic.measured.is_zero() {
        traffic.stop(report);
    }
    traffic.drain(time_to_read(&end), stops);
    let cut_short = (end != ServerEnd::Done).then(|| end.to_string());
    let has_data = traffic.started_at.is_some();
    Ended {
        outcome: has_data.then(|| outcome(&served, &traffic, control_mss, peer, cut_short)),
        ..Ended::without_data(end.to_string())
    }
}

/// Time for a client to read its streams: one that reads an error first should not find them reset.
const fn time_to_read(end: &ServerEnd) -> Duration {
    match end {
        ServerEnd::Refused(_) | ServerEnd::Terminated => RESET_AFTER,
        _ => Duration::ZERO,
    }
}

/// The data connections once they are requested and complete. Those that come before wait.
fn arrived_streams(served: &Served) -> Option<Vec<Socket>> {
    if !served.session.awaits_streams() {
        served.mailbox.event_fd.clear();
        return None;
    }
    served.mailbox.take(served.parameters.streams() as usize)
}

/// Results for the client, with this end's output if requested.
fn results_of(own: &Outcome, render: Option<&Render>) -> Results {
    let mut results = own.to_results();
    // A stock client does not request it, and its parser need not accept it.
    results.private = own.parameters.private.as_ref().map(|_| own.private());
    let wanted = render.filter(|_| own.parameters.get_server_output);
    let text = wanted.map(|render| render(own));
    results.server_output = text.map(ServerOutput::Text);
    results
}

/// Starts a test whose data connections exist.
fn start(served: &mut Served, traffic: &mut Traffic, streams: Vec<Socket>) {
    match spawn(traffic, streams) {
        Ok(()) => served.session.start(served.wire.now()),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(0);
            served.session.refuse(ErrorCode::INIT_STREAM, errno);
        }
    }
}

/// Waits for the next event.
fn step(served: &mut Served, traffic: &mut Traffic, report: &mut dyn FnMut(Progress<'_>)) {
    let protocol = served
        .session
        .poll_timeout()
        .map(|at| served.wire.instant(at));
    let due = protocol.into_iter().chain(traffic.poll_timeout()).min();
    let waker = Some(served.mailbox.event_fd.as_fd());
    match served.wire.receive(due, waker) {
        Arrival::Bytes(bytes) => served.session.handle_bytes(served.wire.now(), &bytes),
        Arrival::Nothing => {}
        Arrival::Closed => served.session.handle_closed(),
    }
    served.session.handle_timeout(served.wire.now());
    if traffic.is_flowing() {
        traffic.handle_time(Instant::now(), report);
    }
}

/// Starts the streams: those that the client sends on come first.
fn spawn(traffic: &mut Traffic, sockets: Vec<Socket>) -> io::Result<()> {
    let parameters = traffic.parameters();
    let forward = match parameters.direction {
        Direction::Reverse => 0,
        _ => parameters.parallel.max(1) as usize,
    };
    for (place, socket) in sockets.into_iter().enumerate() {
        let role = if place < forward {
            Role::Receiver
        } else {
            Role::Sender
        };
        let stream = Stream::spawn((stream_id(place), role), socket, &traffic.shared, None)?;
        traffic.streams.push(stream);
    }
    Ok(())
}

fn outcome(
    served: &Served,
    traffic: &Traffic,
    control_mss: u32,
    peer: Option<Results>,
    cut_short: Option<String>,
) -> Outcome {
    let ends = Ends {
        protocol: Protocol::Iperf3,
        peer: (&served.peer.ip().to_canonical().to_string(), served.port),
        cookie: served.cookie,
        control_mss,
    };
    Outcome {
        peer,
        cut_short,
        ..traffic.outcome(&ends)
    }
}
