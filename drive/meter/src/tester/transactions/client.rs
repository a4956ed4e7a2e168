//! A whole test of transactions as client.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{
    Client, ClientEvent, Cookie, Cpu, Mode, Output, Parameters, Responses, Results, Transactions,
    clock as times,
};
use mio::{Events, Interest, Poll, Token};
use serde_json::json;

use super::super::client::{control_connection, random};
use super::super::outcome::TestError;
use super::super::rate_limit::TokenBucket;
use super::super::request::Request;
use super::super::samples;
use super::super::wire::{Arrival, QUEUED_AFTER, STEP, Wire};
use super::connection::{Connection, Messages, Progress};
use super::outcome::{TransactionInterval, TransactionOutcome};
use super::{CONTROL, EVENTS, add_reader, cpu_shares, wait};
use crate::system::{clock, process};

/// Maximum number of connections that are being established before a test of `tcp_rr`, and of
/// transactions that begin before events are handled.
const MAX_OPENING: usize = 256;

/// Descriptors of this process in addition to the connections.
const OTHER_DESCRIPTORS: u64 = 32;

/// Time after which a request over UDP is lost, and time between two first messages of a flow.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// Pause after a connection failed.
const RETRY: Duration = Duration::from_millis(10);

/// Progress of a test.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// The server lets this client wait for its turn, or has not answered for some time.
    Queued {
        /// Whether it has answered, so that it does queue.
        has_answered: bool,
    },
    /// An interval has ended.
    Interval(&'a TransactionInterval),
}

/// Runs a test. `report` receives its progress; `stops` returns whether the user ends it.
///
/// A test that ends early keeps its measurements: [`TransactionOutcome::cut_short`] has the reason.
///
/// # Errors
/// [`TestError`] if the transactions could not begin.
pub fn run(
    request: &Request,
    transactions: Transactions,
    stops: &dyn Fn() -> bool,
    report: &mut dyn FnMut(Notice<'_>),
) -> Result<TransactionOutcome, TestError> {
    let mut test = Test::connect(request, transactions, stops)?;
    loop {
        while let Some(output) = test.client.poll_output() {
            if let ControlFlow::Break(cut_short) = test.handle_output(output, report)? {
                return Ok(test.outcome(cut_short));
            }
        }
        if stops() {
            test.abort(report);
            return match test.started {
                Some(_) => Ok(test.outcome(Some("interrupted".into()))),
                None => Err(TestError::Stopped),
            };
        }
        test.step(report)?;
        if test.cut_short.is_some() {
            let cut_short = test.cut_short.take();
            return Ok(test.outcome(cut_short));
        }
    }
}

/// A test in progress.
struct Test<'a> {
    request: &'a Request,
    transactions: Transactions,
    /// Parameters of the connections.
    parameters: Parameters,
    client: Client,
    wire: Wire,
    server: SocketAddr,
    poll: Poll,
    events: Events,
    messages: Messages,
    connections: Vec<Option<Connection>>,
    /// Places without a transaction, and the time before which none begins: a connection failed, or
    /// the rate is used up.
    vacant: VecDeque<usize>,
    resume_at: Option<Instant>,
    /// The rate of all transactions, with headers.
    limit: Option<TokenBucket>,
    /// Number of connections before the test: open, and being opened.
    opened: usize,
    opening: usize,
    begun: Instant,
    opened_in: Duration,
    is_ours: bool,
    has_reported_queue: bool,
    /// Start of the transactions, with the CPU time then.
    started: Option<(Instant, [Duration; 2])>,
    is_over: bool,
    /// Why it must end although the server may answer.
    cut_short: Option<String>,
    last_response: Instant,
    last_error: Option<io::Error>,
    current: TransactionInterval,
    total: TransactionInterval,
    cpu: Cpu,
    peer: Option<Results>,
    /// Time of the next look for lost requests.
    look_at: Instant,
}

impl<'a> Test<'a> {
    fn connect(
        request: &'a Request,
        transactions: Transactions,
        stops: &dyn Fn() -> bool,
    ) -> Result<Self, TestError> {
        allow_descriptors(transactions.flows)?;
        let (wire, server) = control_connection(request, stops)?;
        let failed = |cause| TestError::Socket {
            action: "wait for many connections".into(),
            cause,
        };
        let poll = Poll::new().map_err(failed)?;
        add_reader(&poll, wire.stream(), CONTROL).map_err(failed)?;
        let mut parameters = request.parameters.clone();
        let (key, version) = times::announcement();
        let mut private = json!({"version": samples::VERSION, key: version});
        transactions.write(&mut private);
        parameters.private = Some(private);
        parameters.parallel = 1;
        parameters.blockcount = 0;
        parameters.transport = transactions.mode.transport();
        let cookie = Cookie::from_random(random());
        let now = Instant::now();
        Ok(Self {
            request,
            messages: Messages::new(&cookie, &transactions),
            transactions,
            client: Client::new(cookie, parameters.clone()),
            parameters,
            wire,
            server,
            poll,
            events: Events::with_capacity(EVENTS),
            connections: Vec::new(),
            vacant: VecDeque::new(),
            resume_at: None,
            limit: request.parameters.bandwidth.map(TokenBucket::new),
            opened: 0,
            opening: 0,
            begun: now,
            opened_in: Duration::ZERO,
            is_ours: false,
            has_reported_queue: false,
            started: None,
            is_over: false,
            cut_short: None,
            last_response: now,
            last_error: None,
            current: TransactionInterval::default(),
            total: TransactionInterval::default(),
            cpu: Cpu::default(),
            peer: None,
            look_at: now,
        })
    }

    /// Performs an output of the protocol. Breaks once the test is over, with the reason if it was
    /// cut short.
    fn handle_output(
        &mut self,
        output: Output<ClientEvent>,
        report: &mut dyn FnMut(Notice<'_>),
    ) -> Result<ControlFlow<Option<String>>, TestError> {
        match output {
            // A server that closed has sent the reason, or its closing is the next event.
            Output::Send(bytes) => drop(self.wire.send(&bytes)),
            Output::Event(ClientEvent::Clock(_)) => self.is_ours = true,
            Output::Event(ClientEvent::OpenStreams) => {
                if !self.is_ours {
                    self.abort(report);
                    let option = self.transactions.mode.name();
                    let reason = "the server is not `gigatcp server`".to_owned();
                    return Err(TestError::Lacks { option, reason });
                }
                self.begun = Instant::now();
                self.fill()?;
            }
            Output::Event(ClientEvent::Start) => {}
            Output::Event(ClientEvent::Run) => {
                let is_early = self.opened < self.transactions.flows as usize;
                // A flow of UDP exists at the server before its answer has come.
                if self.transactions.mode == Mode::TcpRr && is_early {
                    self.abort(report);
                    let option = self.transactions.mode.name();
                    let reason = "the server began before all connections existed".to_owned();
                    return Err(TestError::Lacks { option, reason });
                }
                self.start()?;
            }
            Output::Event(ClientEvent::ExchangeResults) => {
                let results = Results {
                    cpu: self.cpu,
                    ..Results::default()
                };
                self.client.send_results(self.wire.now(), &results);
            }
            Output::Event(ClientEvent::PeerResults(results)) => self.peer = Some(results),
            Output::Event(ClientEvent::Done) => {
                let is_short = !self.has_ended() || self.total.count == 0;
                let cut_short = self.last_error.take().filter(|_| is_short);
                return Ok(ControlFlow::Break(cut_short.map(|error| error.to_string())));
            }
            Output::Event(ClientEvent::Failed(failure)) => {
                if self.started.is_none() {
                    return Err(TestError::Protocol(failure));
                }
                self.stop(report);
                return Ok(ControlFlow::Break(Some(failure.to_string())));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the time, or the number of transactions, that was requested is over.
    fn has_ended(&self) -> bool {
        let parameters = &self.request.parameters;
        let length = Duration::from_secs((parameters.omit + parameters.time).into());
        let amount = parameters.blockcount;
        let is_time_over = parameters.time > 0
            && (self.started).is_some_and(|(start, _)| start.elapsed() >= length);
        is_time_over || (amount > 0 && self.total.count >= amount)
    }

    /// Opens connections before a test of `tcp_rr` or `udp_rr`, [`MAX_OPENING`] at a time.
    fn fill(&mut self) -> Result<(), TestError> {
        let flows = self.transactions.flows as usize;
        while self.transactions.mode != Mode::TcpCrr
            && self.opening < MAX_OPENING
            && self.connections.len() < flows
        {
            let place = self.connections.len();
            self.connections.push(None);
            self.open(place).map_err(|cause| TestError::Connect {
                to: self.server,
                cause,
            })?;
            self.opening += 1;
        }
        Ok(())
    }

    /// Starts a connection at a place.
    fn open(&mut self, place: usize) -> io::Result<()> {
        let mut connection = Connection::open(
            self.request,
            &self.parameters,
            self.server,
            &self.messages,
            self.transactions.mode,
        )?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        registry.register(connection.source(), Token(place), interest)?;
        self.connections[place] = Some(connection);
        Ok(())
    }

    /// Begins the transactions.
    fn start(&mut self) -> Result<(), TestError> {
        let (user, system) = clock::thread_split();
        let now = Instant::now();
        self.started = Some((now, [user, system]));
        self.last_response = now;
        self.begin_interval(Duration::ZERO);
        match self.transactions.mode {
            Mode::TcpRr | Mode::UdpRr => {
                self.opened_in = self.begun.elapsed();
                self.opened = self.connections.len();
            }
            Mode::TcpCrr => {
                let flows = self.transactions.flows as usize;
                self.connections.resize_with(flows, || None);
            }
        }
        self.vacant = (0..self.connections.len()).collect();
        self.resume();
        Ok(())
    }

    /// Begins transactions at vacant places, as far as the rate allows, and at most [`MAX_OPENING`], so
    /// that answers and the user do not wait.
    fn resume(&mut self) {
        for _ in 0..MAX_OPENING.min(self.vacant.len()) {
            let now = Instant::now();
            let is_early = |at: &Instant| now < *at;
            if self.resume_at.filter(is_early).is_some() {
                return;
            }
            self.resume_at = None;
            if let Some(limit) = &self.limit {
                let debt = limit.debt(now);
                if !debt.is_zero() {
                    self.resume_at = Some(now + debt);
                    return;
                }
                limit.pay(super::cost(&self.transactions), now);
            }
            let Some(place) = self.vacant.pop_front() else {
                return;
            };
            if let Err(error) = self.begin(place, now) {
                self.lose(place, error);
            }
        }
    }

    /// Begins a transaction at a place.
    fn begin(&mut self, place: usize, now: Instant) -> io::Result<()> {
        match (self.transactions.mode, &mut self.connections[place]) {
            (Mode::TcpCrr, _) => self.open(place),
            (_, Some(connection)) => connection.begin(&mut self.messages, now),
            (_, None) => Ok(()),
        }
    }

    /// Counts a connection that failed.
    fn fail(&mut self, error: io::Error) {
        self.current.failed += 1;
        self.total.failed += 1;
        self.last_error = Some(error);
        // One of tcp_rr is not opened again, and the others go on.
        if self.transactions.mode == Mode::TcpCrr {
            self.resume_at = Some(Instant::now() + RETRY);
        }
    }

    /// Waits for events, and handles them.
    fn step(&mut self, report: &mut dyn FnMut(Notice<'_>)) -> Result<(), TestError> {
        let now = Instant::now();
        let protocol = self.client.poll_timeout().map(|at| self.wire.instant(at));
        let interval = self.interval_end();
        let resume = (!self.vacant.is_empty()).then(|| self.resume_at.unwrap_or(now));
        let due = [protocol, interval, resume].into_iter().flatten().min();
        let longest = due.map_or(STEP, |due| due.saturating_duration_since(now).min(STEP));
        wait(&mut self.poll, &mut self.events, longest).map_err(|cause| TestError::Socket {
            action: "wait for many connections".into(),
            cause,
        })?;
        let events: Vec<Token> = self.events.iter().map(mio::event::Event::token).collect();
        for token in events {
            match token {
                CONTROL => self.read_control(),
                Token(place) => self.advance(place)?,
            }
        }
        self.client.handle_timeout(self.wire.now());
        self.check_answer(report)?;
        if self.transactions.mode == Mode::UdpRr && !self.is_over && self.look_at <= now {
            self.look_at = now + STEP;
            self.handle_lost();
        }
        match self.started {
            None if !self.connections.is_empty() => self.fill(),
            None => Ok(()),
            Some(_) if self.is_over => Ok(()),
            Some(_) => {
                self.resume();
                self.handle_time(report)
            }
        }
    }

    fn read_control(&mut self) {
        loop {
            match self.wire.receive(Some(Instant::now()), None) {
                Arrival::Bytes(bytes) => self.client.handle_bytes(self.wire.now(), &bytes),
                Arrival::Nothing => return,
                Arrival::Closed => return self.client.handle_closed(),
            }
        }
    }

    /// Reports that this client waits, or that the server is silent.
    fn check_answer(&mut self, report: &mut dyn FnMut(Notice<'_>)) -> Result<(), TestError> {
        let waited = self.begun.elapsed();
        if self.client.is_queued() && waited > QUEUED_AFTER && !self.has_reported_queue {
            self.has_reported_queue = true;
            let has_answered = !self.client.is_unanswered();
            report(Notice::Queued { has_answered });
        }
        let timeout = self.request.connect_timeout;
        if self.client.is_unanswered() && waited > timeout {
            let to = self.server;
            return Err(TestError::NoAnswer { to, timeout });
        }
        Ok(())
    }

    /// Handles an event of a connection.
    fn advance(&mut self, place: usize) -> Result<(), TestError> {
        let Some(Some(connection)) = self.connections.get_mut(place) else {
            return Ok(());
        };
        match connection.advance(&mut self.messages) {
            Ok(Progress::Nothing) => {}
            Ok(Progress::Opened) => {
                self.opened += 1;
                self.opening -= 1;
            }
            Ok(Progress::Completed) => {
                let now = Instant::now();
                let latency = connection.age(now);
                if self.transactions.mode == Mode::TcpCrr {
                    self.connections[place] = None;
                }
                self.vacant.push_back(place);
                self.resume();
                self.count(latency, now);
            }
            Err(cause) if self.started.is_none() => {
                let to = self.server;
                self.client.terminate();
                return Err(TestError::Connect { to, cause });
            }
            Err(error) => self.lose(place, error),
        }
        Ok(())
    }

    /// Counts requests over UDP without a response as lost, and repeats first messages of flows.
    fn handle_lost(&mut self) {
        let now = Instant::now();
        if self.started.is_none() {
            let flows = self.connections.iter_mut().flatten();
            flows.for_each(|flow| flow.repeat(LOST_AFTER, now));
        }
        for (place, flow) in self.connections.iter_mut().enumerate() {
            let is_lost = (flow.as_mut()).is_some_and(|flow| flow.gives_up(LOST_AFTER, now));
            if is_lost {
                self.vacant.push_back(place);
                self.current.lost += 1;
                self.total.lost += u64::from(!self.current.omitted);
            }
        }
    }

    /// Removes a connection that failed.
    fn lose(&mut self, place: usize, error: io::Error) {
        self.connections[place] = None;
        if self.transactions.mode == Mode::TcpCrr {
            self.vacant.push_back(place);
        } else {
            self.opened = self.opened.saturating_sub(1);
        }
        self.fail(error);
    }

    fn count(&mut self, latency: Duration, now: Instant) {
        self.last_response = now;
        let time = gigatcp_units::Duration::from(latency);
        self.current.count += 1;
        self.current.latencies.count(time);
        if !self.current.omitted {
            self.total.count += 1;
            self.total.latencies.count(time);
        }
    }

    /// Ends intervals and the test.
    fn handle_time(&mut self, report: &mut dyn FnMut(Notice<'_>)) -> Result<(), TestError> {
        let now = Instant::now();
        if self.interval_end().is_some_and(|end| end <= now) {
            self.end_interval(report);
        }
        let has_none = self.transactions.mode != Mode::TcpCrr && self.opened == 0;
        let timeout = self.request.receive_timeout;
        let is_silent = now > self.last_response + timeout;
        if self.has_ended() || has_none {
            self.stop(report);
            self.client.end_test(self.wire.now());
        } else if is_silent {
            self.abort(report);
            let silent = TestError::Silent { timeout };
            if self.total.count == 0 {
                return Err(silent);
            }
            self.cut_short = Some(silent.to_string());
        }
        Ok(())
    }

    fn begin_interval(&mut self, start: Duration) {
        let omit = Duration::from_secs(self.request.parameters.omit.into());
        if self.current.omitted {
            self.total.start = start;
        }
        self.current = TransactionInterval {
            start,
            omitted: start < omit,
            ..TransactionInterval::default()
        };
    }

    /// The end of the current interval: a report, the end of the omitted time, or of the test.
    fn interval_end(&self) -> Option<Instant> {
        let (start, _) = self.started.filter(|_| !self.is_over)?;
        let parameters = &self.request.parameters;
        let omit = Duration::from_secs(parameters.omit.into());
        let last = omit + Duration::from_secs(parameters.time.into());
        let ends = [
            self.request
                .interval
                .map(|length| self.current.start + length),
            self.current.omitted.then_some(omit),
            (parameters.time > 0).then_some(last),
        ];
        Some(start + ends.into_iter().flatten().min()?)
    }

    fn end_interval(&mut self, report: &mut dyn FnMut(Notice<'_>)) {
        let Some((start, _)) = self.started else {
            return;
        };
        let end = start.elapsed();
        self.current.end = end;
        report(Notice::Interval(&self.current));
        self.begin_interval(end);
    }

    /// Ends the transactions.
    fn stop(&mut self, report: &mut dyn FnMut(Notice<'_>)) {
        let Some((start, before)) = self.started.filter(|_| !self.is_over) else {
            return;
        };
        let elapsed = start.elapsed();
        self.total.end = elapsed;
        if self.current.count > 0 {
            self.end_interval(report);
        }
        self.is_over = true;
        self.cpu = cpu_shares(elapsed, before);
        self.connections.clear();
        self.vacant.clear();
        self.resume_at = None;
    }

    /// Ends the test, and notifies the server.
    fn abort(&mut self, report: &mut dyn FnMut(Notice<'_>)) {
        self.stop(report);
        self.client.terminate();
        while let Some(output) = self.client.poll_output() {
            if let Output::Send(bytes) = output {
                let _ = self.wire.send(&bytes);
            }
        }
    }

    fn outcome(self, cut_short: Option<String>) -> TransactionOutcome {
        let peer = self.peer.as_ref();
        let private = peer.and_then(|peer| peer.private.as_ref());
        TransactionOutcome {
            host: self.request.host.clone(),
            port: self.request.port,
            transactions: self.transactions,
            total: self.total,
            opened_in: self.opened_in,
            cpu: self.cpu,
            server_cpu: peer.map(|peer| peer.cpu),
            responses: private
                .and_then(Responses::from_json)
                .map(|responses| responses.0),
            cut_short,
        }
    }
}

/// Raises the limit of descriptors to the maximum, which must suffice.
fn allow_descriptors(flows: u32) -> Result<(), TestError> {
    let needed = u64::from(flows) + OTHER_DESCRIPTORS;
    match process::allow_all_descriptors() {
        Ok(limit) if limit < needed => Err(TestError::Socket {
            action: format!("open {flows} connections (`ulimit -Hn`, LimitNOFILE=)"),
            cause: io::Error::other(format!("{limit} descriptors allowed, {needed} needed")),
        }),
        // A missing descriptor is reported by the connection that lacks it.
        _ => Ok(()),
    }
}
