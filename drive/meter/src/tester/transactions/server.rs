//! One test of a server, on its own thread: answers requests on all connections of a client.
//!
//! Bounded: connections ([`Transactions::connections`]), bytes of each connection's buffers
//! (`memory.rs`), the work between two looks at the control connection ([`TURNS`]), and, with a
//! total rate, the cost of all messages ([`cost_of`], [`CONNECTION`]).

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{
    Cpu, ErrorCode, Mode, Output, Responses, Results, ServerEnd, ServerEvent, Transactions,
};
use mio::{Events, Interest, Poll, Token};
use socket2::SockRef;

use super::super::memory::MIN_BUFFER;
use super::super::options;
use super::super::session::{Ended, STREAMS_TIMEOUT, Served};
use super::super::socket::Socket;
use super::super::wire::{Arrival, STEP};
use super::flow::{Flow, Messages, Stream};
use super::outcome::ServedTransactions;
use super::{CONNECTION, CONTROL, EVENTS, SEGMENT, add_reader, cost_of, cpu_shares, wait};
use crate::system::clock;

/// Token of the connections that have arrived.
const ARRIVALS: Token = Token(usize::MAX - 1);

/// Maximum number of turns of connections before the control connection has its own.
pub(in super::super) const TURNS: usize = 1024;

/// Time of debt above which connections wait, under a total rate.
const SLACK: Duration = Duration::from_millis(1);

/// Runs a test to its end. `opened` is called once no more connections may arrive.
pub(in super::super) fn serve(
    mut served: Served,
    transactions: Transactions,
    stops: &dyn Fn() -> bool,
    opened: impl FnOnce(),
) -> Ended {
    let mut responder = match Responder::new(&served, transactions) {
        Ok(responder) => responder,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(0);
            served.session.refuse(ErrorCode::INIT_STREAM, errno);
            flush(&mut served);
            return Ended::without_data(error.to_string());
        }
    };
    let mut opened = Some(opened);
    served.session.create_streams(served.wire.now());
    let end = loop {
        if responder.started.is_none() && responder.is_complete() {
            if transactions.mode != Mode::TcpCrr
                && let Some(opened) = opened.take()
            {
                opened();
            }
            // It begins once the exchange of clocks is over as well.
            served.session.start(served.wire.now());
        }
        if let Some(end) = responder.handle_outputs(&mut served) {
            break end;
        }
        if stops() {
            served.session.terminate();
            continue;
        }
        if let Some(code) = responder.exceeded(&served) {
            served.session.refuse(code, 0);
            continue;
        }
        if let Err(error) = responder.step(&mut served) {
            let errno = error.raw_os_error().unwrap_or(0);
            served.session.refuse(ErrorCode::STREAM_ACCEPT, errno);
        }
    };
    Ended {
        transactions: responder.started.map(|_| responder.outcome(&served)),
        ..Ended::without_data(end.to_string())
    }
}

/// Sends what the protocol has left to send.
fn flush(served: &mut Served) {
    while let Some(output) = served.session.poll_output() {
        if let Output::Send(bytes) = output {
            // A client that is gone needs no reason.
            let _ = served.wire.send(&bytes);
        }
    }
}

/// All connections of a test.
struct Responder {
    transactions: Transactions,
    poll: Poll,
    events: Events,
    messages: Messages,
    flows: Vec<Option<Flow>>,
    /// Unused places of `flows`.
    free: Vec<usize>,
    /// Places of connections whose turn has come.
    queue: VecDeque<usize>,
    /// Time before which no connection has its turn, under a total rate.
    paused_until: Option<Instant>,
    /// Time of the last byte, or of the last connection before the test.
    moved: Instant,
    /// Start of the data, with the CPU time then.
    started: Option<(Instant, [Duration; 2])>,
    measured: Duration,
    cpu: Cpu,
    responses: u64,
}

impl Responder {
    fn new(served: &Served, transactions: Transactions) -> io::Result<Self> {
        let poll = Poll::new()?;
        add_reader(&poll, served.wire.stream(), CONTROL)?;
        add_reader(&poll, &served.mailbox.event_fd, ARRIVALS)?;
        Ok(Self {
            messages: Messages::new(&served.cookie, &transactions),
            transactions,
            poll,
            events: Events::with_capacity(EVENTS),
            flows: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            paused_until: None,
            moved: Instant::now(),
            started: None,
            measured: Duration::ZERO,
            cpu: Cpu::default(),
            responses: 0,
        })
    }

    /// Number of connections.
    fn count(&self) -> usize {
        self.flows.len() - self.free.len()
    }

    /// Whether the connections exist that must exist before the test.
    fn is_complete(&self) -> bool {
        match self.transactions.mode {
            Mode::TcpRr | Mode::UdpRr => self.count() == self.transactions.flows as usize,
            Mode::TcpCrr => true,
        }
    }

    /// Performs the outputs of the protocol. Returns the end of the test.
    fn handle_outputs(&mut self, served: &mut Served) -> Option<ServerEnd> {
        while let Some(output) = served.session.poll_output() {
            let now = served.wire.now();
            match output {
                // The next read shows whether the client still exists.
                Output::Send(bytes) => drop(served.wire.send(&bytes)),
                Output::Event(ServerEvent::Parameters(_)) => {}
                Output::Event(ServerEvent::Run) => {
                    let (user, system) = clock::thread_split();
                    self.moved = Instant::now();
                    self.started = Some((self.moved, [user, system]));
                }
                Output::Event(ServerEvent::EndTest) => {
                    self.stop();
                    served.session.exchange_results(now);
                }
                Output::Event(ServerEvent::PeerResults(_)) => {
                    let results = Results {
                        cpu: self.cpu,
                        private: Some(Responses(self.responses).to_json()),
                        ..Results::default()
                    };
                    served.session.send_results(now, &results);
                }
                Output::Event(ServerEvent::Ended(end)) => {
                    self.stop();
                    return Some(end);
                }
            }
        }
        None
    }

    /// Closes all connections.
    fn stop(&mut self) {
        self.flows.clear();
        self.free.clear();
        self.queue.clear();
        let Some((start, before)) = self.started.filter(|_| self.measured.is_zero()) else {
            return;
        };
        self.measured = start.elapsed();
        self.cpu = cpu_shares(self.measured, before);
    }

    /// Why the test must end now.
    fn exceeded(&self, served: &Served) -> Option<ErrorCode> {
        let idle = self.moved.elapsed();
        let Some((start, _)) = self.started else {
            return (idle > STREAMS_TIMEOUT).then_some(ErrorCode::STREAM_ACCEPT);
        };
        if !self.measured.is_zero() {
            return None;
        }
        if served.allowance.is_late(start) {
            return Some(ErrorCode::DURATION_EXPIRED);
        }
        (idle > served.allowance.idle).then_some(ErrorCode::NO_DATA)
    }

    /// Waits for events, and handles them.
    fn step(&mut self, served: &mut Served) -> io::Result<()> {
        let now = Instant::now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let due = served
            .session
            .poll_timeout()
            .map(|at| served.wire.instant(at).saturating_duration_since(now));
        let idle = match self.paused_until {
            Some(until) => until - now,
            None if self.queue.is_empty() => STEP,
            None => Duration::ZERO,
        };
        let longest = idle.min(STEP).min(due.unwrap_or(STEP));
        wait(&mut self.poll, &mut self.events, longest)?;
        let mut has_control = false;
        for event in &self.events {
            match event.token() {
                CONTROL => has_control = true,
                ARRIVALS => served.mailbox.event_fd.clear(),
                Token(place) => enqueue(&mut self.flows, &mut self.queue, place),
            }
        }
        if has_control {
            read_control(served);
        }
        served.session.handle_timeout(served.wire.now());
        // First: a connection that ends makes room for one that waits, whose event is past.
        self.take_turns(served);
        self.adopt(served)
    }

    /// Takes over connections that have arrived, as many as the test may have.
    fn adopt(&mut self, served: &Served) -> io::Result<()> {
        let is_over = !self.measured.is_zero();
        let room = match is_over {
            true => 0,
            false => self.transactions.flows as usize - self.count(),
        };
        for socket in served.mailbox.drain(room) {
            let place = self.free.pop().unwrap_or(self.flows.len());
            let Ok(mut flow) = prepare(socket, &self.transactions) else {
                // The client has closed it already.
                if place < self.flows.len() {
                    self.free.push(place);
                }
                continue;
            };
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registry = self.poll.registry();
            registry.register(flow.source(), Token(place), interest)?;
            match self.flows.get_mut(place) {
                Some(free) => *free = Some(flow),
                None => self.flows.push(Some(flow)),
            }
            enqueue(&mut self.flows, &mut self.queue, place);
            self.pay(served, CONNECTION);
            self.note_progress();
        }
        Ok(())
    }

    /// Serves connections whose turn has come.
    fn take_turns(&mut self, served: &Served) {
        for _ in 0..TURNS.min(self.queue.len()) {
            if self.paused_until.is_some() {
                return;
            }
            let Some(place) = self.queue.pop_front() else {
                return;
            };
            let Some(flow) = self.flows[place].as_mut() else {
                continue;
            };
            flow.is_queued = false;
            let step = flow.advance(&mut self.messages);
            let Ok(step) = step else {
                self.flows[place] = None;
                self.free.push(place);
                continue;
            };
            if step.has_more {
                enqueue(&mut self.flows, &mut self.queue, place);
            }
            if step.bytes > 0 {
                self.note_progress();
                self.responses += step.responses;
                let segment = self.flows[place].as_ref().map_or(1, |flow| flow.segment);
                self.pay(served, cost_of((step.bytes, step.responses), segment));
            }
        }
    }

    /// Before the test only its beginning counts: connections that come one by one prolong nothing.
    fn note_progress(&mut self) {
        if self.started.is_some() {
            self.moved = Instant::now();
        }
    }

    /// Pays under a total rate, and pauses all connections while too much is owed.
    fn pay(&mut self, served: &Served, bytes: u64) {
        let now = Instant::now();
        let debt = served.allowance.limit.pay_for(bytes, now);
        if debt > SLACK {
            self.paused_until = Some(now + debt);
        }
    }

    fn outcome(&self, served: &Served) -> ServedTransactions {
        ServedTransactions {
            host: served.peer.ip().to_canonical(),
            transactions: self.transactions,
            measured: self.measured,
            responses: self.responses,
        }
    }
}

/// Adds a connection to those whose turn has come, once.
fn enqueue(flows: &mut [Option<Flow>], queue: &mut VecDeque<usize>, place: usize) {
    if let Some(Some(flow)) = flows.get_mut(place)
        && !std::mem::replace(&mut flow.is_queued, true)
    {
        queue.push_back(place);
    }
}

/// Reads the control connection until it is empty.
fn read_control(served: &mut Served) {
    loop {
        match served.wire.receive(Some(Instant::now()), None) {
            Arrival::Bytes(bytes) => served.session.handle_bytes(served.wire.now(), &bytes),
            Arrival::Nothing => return,
            Arrival::Closed => return served.session.handle_closed(),
        }
    }
}

/// Sets up a connection whose cookie was read, or a flow of UDP.
fn prepare(socket: Socket, transactions: &Transactions) -> io::Result<Flow> {
    let buffer = |size: u32| size.max(MIN_BUFFER) as usize;
    let set_buffers = |socket: &SockRef<'_>| {
        socket.set_recv_buffer_size(buffer(transactions.request))?;
        socket.set_send_buffer_size(buffer(transactions.response))
    };
    let stream = match socket {
        Socket::Udp(socket) => {
            set_buffers(&SockRef::from(&socket))?;
            socket.set_nonblocking(true)?;
            let socket = mio::net::UdpSocket::from_std(socket);
            return Ok(Flow::new(Stream::Udp(socket), SEGMENT));
        }
        Socket::Tcp(stream) => stream,
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    let socket = SockRef::from(&stream);
    set_buffers(&socket)?;
    // What a client does not read ends with the test, and not minutes later.
    socket.set_linger(Some(Duration::ZERO))?;
    // The client chooses it, and headers are most of what small segments cost.
    let segment = options::mss(&socket).map_or(SEGMENT, u64::from);
    let stream = mio::net::TcpStream::from_std(stream);
    Ok(Flow::new(Stream::Tcp(stream), segment))
}
