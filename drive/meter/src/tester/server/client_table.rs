//! State of all clients of a server, owned by the thread that accepts.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{
    COOKIE_LENGTH, Cookie, ErrorCode, Output, Parameters, Session, Transactions, Transport,
};
use socket2::SockRef;

use super::logins::Logins;
use super::pending::{MAX_ARRIVALS, Pending, PendingState, PendingTable};
use super::reflector::Reflector;
use super::refusals::Refusals;
use super::requested::Requested;
use super::trains::Trains;
use super::{Notify, Server, ServerNotice};
use crate::system::fd::{AsFd, BorrowedFd};
use crate::system::lock;
use crate::system::poll::{self, EventFd};
use crate::tester::admission::{Decision, Demand, Load, Network};
use crate::tester::client::random;
use crate::tester::memory::KernelBuffers;
use crate::tester::nuttcp::ports::{DataPorts, Port};
use crate::tester::nuttcp::{served as nuttcp_served, session as nuttcp_session};
use crate::tester::options;
use crate::tester::presence::Presence;
use crate::tester::rate_limit::{RateLimit, StreamLimit, TokenBucket};
use crate::tester::request::Protocol;
use crate::tester::session::{self, Allowance, Ended, Mailbox, Render, Served};
use crate::tester::traffic::Progress;
use crate::tester::transactions;
use crate::tester::wire::Wire;

/// Maximum wait for a cookie and for parameters.
pub(super) const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Minimum time between two notices of a resource shortage.
const SHORT_PAUSE: Duration = Duration::from_secs(10);

/// Maximum wait of the loop.
const STEP: Duration = Duration::from_millis(100);

/// A client that waits for its turn.
pub(super) struct Waiting {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) client: Client,
    pub(super) parameters: Parameters,
    pub(super) demand: Demand,
}

impl Waiting {
    /// Returns iperf3's identifier of the test; `None`: nuttcp's client has none.
    fn cookie(&self) -> Option<Cookie> {
        match &self.client {
            Client::Iperf3 { cookie, .. } => Some(*cookie),
            Client::Nuttcp(_) => None,
        }
    }

    /// Transactions that iperf3's client requests in place of streams.
    fn transactions(&self) -> Option<Transactions> {
        match &self.client {
            Client::Iperf3 { .. } => Transactions::read(&self.parameters).ok()?,
            Client::Nuttcp(_) => None,
        }
    }
}

/// Protocol of a client, with its state.
pub(super) enum Client {
    Iperf3 { cookie: Cookie, session: Session },
    Nuttcp(Box<Requested>),
}

/// A running test.
pub(super) struct Running {
    /// iperf3's identifier; `None`: nuttcp's client has none.
    cookie: Option<Cookie>,
    protocol: Protocol,
    pub(super) address: IpAddr,
    demand: Demand,
    pub(super) is_udp: bool,
    /// Number of data connections that may wait to be taken over.
    pub(super) streams: usize,
    pub(super) has_transactions: bool,
    pub(super) mailbox: Arc<Mailbox>,
    /// Number of iperf3's UDP streams passed to it.
    pub(super) handed: usize,
    /// nuttcp's data ports where its streams are awaited, and those whose stream has arrived.
    pub(super) ports: Option<(bool, Range<u16>)>,
    pub(super) taken: Vec<u16>,
    /// Whether it waits for data connections.
    pub(super) is_opening: Arc<AtomicBool>,
    /// Whether trains are sent to its client.
    pub(super) has_trains: bool,
    /// Whether it changed the listener for its data connections.
    pub(super) has_changed_listener: bool,
    thread: JoinHandle<Ended>,
}

impl Running {
    /// Whether a UDP stream of a client at `address` belongs to this test.
    pub(super) fn awaits_datagram(&self, address: IpAddr) -> bool {
        self.protocol == Protocol::Iperf3
            && self.is_udp
            && self.address == address
            && self.handed < self.streams
    }

    /// Whether a client that has its cookie may request trains, at the address of the test.
    pub(super) fn awaits_trains(&self, cookie: &Cookie, address: IpAddr) -> bool {
        self.has_cookie(cookie)
            && self.address == address
            && !(self.is_udp || self.has_trains)
            && self.is_opening.load(Ordering::Acquire)
    }

    /// Whether a data port belongs to this test.
    pub(super) fn uses(&self, port: Port) -> bool {
        let has = |(is_udp, ports): &(bool, Range<u16>)| {
            *is_udp == port.is_udp && ports.contains(&port.number)
        };
        self.ports.as_ref().is_some_and(has)
    }

    /// Whether a cookie is that of this test.
    pub(super) fn has_cookie(&self, cookie: &Cookie) -> bool {
        self.cookie.as_ref() == Some(cookie)
    }

    /// Whether the test still waits for a stream at a data port.
    pub(super) fn awaits(&self, port: Port) -> bool {
        self.uses(port)
            && self.is_opening.load(Ordering::Acquire)
            && !self.taken.contains(&port.number)
    }
}

/// State shared by threads of tests and the thread that accepts.
pub(super) struct Shared {
    pub(super) event_fd: EventFd,
    pub(super) stop: AtomicBool,
    ended: Mutex<u64>,
}

/// Owner of a descriptor of the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    EventFd,
    Iperf3,
    Datagrams,
    Nuttcp,
    Stamp,
    Data(Port),
    Pending(u64),
    Waiting(usize),
}

/// All clients of a server.
pub(super) struct ClientTable<'a> {
    pub(super) server: &'a Server,
    pub(super) notify: Arc<Notify>,
    pub(super) shared: Arc<Shared>,
    pending: PendingTable,
    /// Checks of names and passwords, if they are required.
    logins: Option<Logins>,
    waiting: VecDeque<Waiting>,
    /// Running tests by number.
    pub(super) running: BTreeMap<u64, Running>,
    pub(super) ports: DataPorts,
    /// Threads that trace the path to a client, with its source.
    pub(super) traces: Vec<(Network, JoinHandle<()>)>,
    pub(super) accepted: u64,
    refusals: Refusals,
    tests: u64,
    kernel: KernelBuffers,
    /// Rate of all tests, if it is limited.
    pub(super) bucket: Option<Arc<TokenBucket>>,
    /// Whether the listener has options of a test.
    pub(super) is_listener_changed: bool,
    /// Time of the last notice of a resource shortage.
    short_at: Option<Instant>,
    pub(super) pings: Pings,
    /// Packet trains of clients.
    pub(super) trains: Trains,
    reflector: Option<Reflector>,
    /// Buffer of a datagram to the server's port.
    pub(super) datagram: Vec<u8>,
}

/// Pings answered in the current second.
#[derive(Debug, Default)]
pub(super) struct Pings {
    since: Option<Instant>,
    count: u32,
}

impl Pings {
    /// Pings answered in a second, of all clients: those of a test are 1 each 10 ms at most.
    pub(super) const MAX: u32 = 1000;

    /// Whether one more is answered.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let is_over = |since| now.saturating_duration_since(since) >= Duration::from_secs(1);
        if self.since.is_none_or(is_over) {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count += 1;
        self.count <= Self::MAX
    }
}

impl<'a> ClientTable<'a> {
    pub(super) fn new(server: &'a Server, notify: Arc<Notify>) -> io::Result<Self> {
        let total_rate = server.config.admission.limits.total_rate;
        let shared = Arc::new(Shared {
            event_fd: EventFd::new()?,
            stop: AtomicBool::new(false),
            ended: Mutex::new(0),
        });
        let authorize = server.config.authorize.clone();
        let logins = authorize
            .map(|authorize| Logins::start(authorize, shared.clone()))
            .transpose()?;
        Ok(Self {
            server,
            notify,
            shared,
            pending: PendingTable::default(),
            logins,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            ports: DataPorts::default(),
            traces: Vec::new(),
            accepted: 0,
            refusals: Refusals::default(),
            tests: 0,
            kernel: KernelBuffers::of_host(),
            bucket: (total_rate > 0).then(|| Arc::new(TokenBucket::new(total_rate))),
            is_listener_changed: false,
            short_at: None,
            pings: Pings::default(),
            trains: Trains::default(),
            reflector: server.stamp.as_ref().map(Reflector::new).transpose()?,
            datagram: vec![0; 1 << 16],
        })
    }

    /// Ends all tests.
    pub(super) fn end(self) {
        self.shared.stop.store(true, Ordering::Release);
        for (_, running) in self.running {
            let _ = running.thread.join();
        }
        for (_, thread) in self.traces {
            let _ = thread.join();
        }
        if let Some(logins) = self.logins {
            logins.end();
        }
    }

    /// Whether a test has ended.
    pub(super) fn has_served(&self) -> bool {
        *lock(&self.shared.ended) > 0
    }

    /// Whether a client at an address has a test, or a control connection.
    pub(super) fn knows(&self, address: IpAddr) -> bool {
        let running = self.running.values().map(|test| test.address);
        let others = self.pending.iter().map(|client| client.peer.ip());
        let waiting = self.waiting.iter().map(|client| client.peer.ip());
        running
            .chain(others)
            .chain(waiting)
            .any(|known| known == address)
    }

    /// Waits for an event and handles it.
    pub(super) fn step(&mut self) -> io::Result<()> {
        let ready = self.wait()?;
        // From the last: a removal does not change the positions before it.
        for source in ready.iter().rev() {
            if let Source::Waiting(place) = source {
                self.read_waiting(*place);
            }
        }
        for source in &ready {
            if let Source::Pending(place) = source
                && let Some(pending) = self.pending.remove(*place)
                && let Some(pending) = self.read_one(pending)
            {
                self.pending.insert(pending);
            }
        }
        if ready.contains(&Source::EventFd) {
            self.shared.event_fd.clear();
        }
        self.join_ended();
        self.admit_checked();
        for source in ready {
            match source {
                Source::Iperf3 => self.accept(&self.server.listener, Protocol::Iperf3),
                Source::Nuttcp => {
                    if let Some(listener) = &self.server.nuttcp {
                        self.accept(listener, Protocol::Nuttcp);
                    }
                }
                Source::Datagrams => self.take_datagrams(),
                Source::Stamp => {
                    if let Some(reflector) = &mut self.reflector {
                        let admission = &self.server.config.admission;
                        let allows = |peer: SocketAddr| admission.allows(peer.ip());
                        reflector.reflect(allows, self.bucket.as_ref());
                    }
                }
                Source::Data(port) => self.take_data(port),
                _ => {}
            }
        }
        self.refusals.close_window(&*self.notify, Instant::now());
        self.close_ports();
        self.pending.close_late(Instant::now());
        self.admit_waiting();
        Ok(())
    }

    /// Waits for events, and returns their sources.
    fn wait(&self) -> io::Result<Vec<Source>> {
        let server = self.server;
        let mut all: Vec<(Source, BorrowedFd<'_>)> = vec![
            (Source::Iperf3, server.listener.as_fd()),
            (Source::Datagrams, server.datagrams.as_fd()),
            (Source::EventFd, self.shared.event_fd.as_fd()),
        ];
        if let Some(listener) = &server.nuttcp {
            all.push((Source::Nuttcp, listener.as_fd()));
        }
        if let Some(reflector) = &self.reflector {
            all.push((Source::Stamp, reflector.as_fd()));
        }
        let ports = self.ports.descriptors();
        all.extend(ports.map(|(port, fd)| (Source::Data(port), fd)));
        let pending = self.pending.iter();
        all.extend(pending.map(|client| (Source::Pending(client.place), client.stream.as_fd())));
        let waiting = self.waiting.iter().enumerate();
        all.extend(waiting.map(|(place, one)| (Source::Waiting(place), one.stream.as_fd())));
        let ready = poll::wait_to_read(all.iter().map(|(_, fd)| *fd), STEP)?;
        Ok(ready.into_iter().map(|place| all[place].0).collect())
    }

    /// Accepts waiting connections, up to [`MAX_ARRIVALS`].
    fn accept(&mut self, listener: &TcpListener, protocol: Protocol) {
        for _ in 0..MAX_ARRIVALS {
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(cause) => return self.wait_for_room(cause),
            };
            if !self.server.config.admission.allows(peer.ip()) {
                let reason = "its address is not allowed".to_owned();
                self.refused(peer, reason);
                continue;
            }
            let _ = stream.set_nonblocking(true);
            let _ = options::apply_to_control(SockRef::from(&stream));
            self.accepted += 1;
            self.pending.insert(Pending {
                stream,
                peer,
                place: self.accepted,
                deadline: Instant::now() + HELLO_TIMEOUT,
                state: match protocol {
                    Protocol::Nuttcp => PendingState::Nuttcp(self.nuttcp_server()),
                    _ => PendingState::Cookie(Vec::with_capacity(COOKIE_LENGTH)),
                },
            });
        }
    }

    /// Waits after a shortage of descriptors or memory: tests may end.
    fn wait_for_room(&mut self, cause: io::Error) {
        let now = Instant::now();
        if self.short_at.is_none_or(|at| now > at + SHORT_PAUSE) {
            self.short_at = Some(now);
            (self.notify)(ServerNotice::Short { cause });
        }
        std::thread::sleep(Duration::from_millis(1));
    }

    /// Reads a connection; returns it if more data is awaited.
    fn read_one(&mut self, mut pending: Pending) -> Option<Pending> {
        loop {
            let length = match &pending.state {
                PendingState::Cookie(bytes) => COOKIE_LENGTH - bytes.len(),
                PendingState::Parameters(..) | PendingState::Nuttcp(_) => 4096,
            };
            let mut buffer = [0; 4096];
            let read = match pending.stream.read(&mut buffer[..length]) {
                Ok(0) => return None,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(pending),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            pending = match &mut pending.state {
                PendingState::Cookie(bytes) => {
                    bytes.extend(&buffer[..read]);
                    match <[u8; COOKIE_LENGTH]>::try_from(&bytes[..]) {
                        Ok(cookie) => self.handle_cookie(pending, Cookie::from_bytes(cookie))?,
                        Err(_) => pending,
                    }
                }
                PendingState::Parameters(_, session) => {
                    session.handle_bytes(gigatcp_units::Instant::ZERO, &buffer[..read]);
                    self.handle_session(pending)?
                }
                PendingState::Nuttcp(server) => {
                    server.handle_bytes(&buffer[..read]);
                    self.handle_nuttcp(pending)?
                }
            };
        }
    }

    /// Whether a cookie is that of a test, or of a client that waits for one.
    ///
    /// Of two control connections with one cookie, the data connections could not be told apart.
    fn has_cookie(&self, cookie: &Cookie) -> bool {
        let mut running = self.running.values();
        let checked = self.logins.iter().flat_map(Logins::clients);
        let mut waiting = self.waiting.iter().chain(checked);
        running.any(|test| test.has_cookie(cookie))
            || waiting.any(|client| client.cookie().as_ref() == Some(cookie))
    }

    /// A client whose parameters are known.
    pub(super) fn waiting(
        &self,
        (stream, peer): (TcpStream, SocketAddr),
        client: Client,
        parameters: Parameters,
    ) -> Waiting {
        Waiting {
            demand: Demand::new(&parameters, peer.ip(), &self.kernel),
            stream,
            peer,
            client,
            parameters,
        }
    }

    /// Decides about a client whose parameters are known.
    pub(super) fn decide(&mut self, client: Waiting) {
        if client
            .cookie()
            .is_some_and(|cookie| self.has_cookie(&cookie))
        {
            let reason = "its cookie is that of another client".to_owned();
            return self.refuse(client, ErrorCode::ACCESS_DENIED, reason);
        }
        match self.decision(&client, self.waiting_demands()) {
            Decision::Refuse(code, reason) => self.refuse(client, code, reason),
            decision => match &mut self.logins {
                // A client that could not test is not worth a check.
                Some(logins) => {
                    if let Err((client, reason)) = logins.check(client) {
                        self.refuse(*client, ErrorCode::ACCESS_DENIED, reason);
                    }
                }
                None => self.admit(client, decision),
            },
        }
    }

    /// Decides about clients whose names and passwords have been checked.
    fn admit_checked(&mut self) {
        while let Some((client, result)) = self.logins.as_mut().and_then(Logins::poll_checked) {
            match result {
                Ok(()) => {
                    let decision = self.decision(&client, self.waiting_demands());
                    self.admit(client, decision);
                }
                Err(reason) => self.refuse(client, ErrorCode::AUTHORIZATION, reason),
            }
        }
    }

    fn admit(&mut self, client: Waiting, decision: Decision) {
        match decision {
            Decision::Run => self.begin(client),
            Decision::Wait => {
                (self.notify)(ServerNotice::Queued { peer: client.peer });
                self.waiting.push_back(client);
            }
            Decision::Refuse(code, reason) => self.refuse(client, code, reason),
        }
    }

    fn waiting_demands(&self) -> Vec<Demand> {
        self.waiting.iter().map(|client| client.demand).collect()
    }

    /// Decides about a client, behind those that wait already.
    fn decision(&self, client: &Waiting, waiting: Vec<Demand>) -> Decision {
        let now = Instant::now();
        let load = Load {
            running: self.running.values().map(|test| test.demand).collect(),
            waiting,
            checking: self.logins.as_ref().map_or_else(Vec::new, Logins::demands),
            debt: (self.bucket.as_ref()).map_or(Duration::ZERO, |bucket| bucket.debt(now)),
        };
        let (parameters, address) = (&client.parameters, client.peer.ip());
        let admission = &self.server.config.admission;
        let decision = admission.decide(parameters, &client.demand, &load);
        // Data connections do not identify their test: one test at a time per address.
        let is_ambiguous = match &client.client {
            Client::Iperf3 { .. } => {
                let mut running = self.running.values();
                parameters.transport == Transport::Udp
                    && running.any(|test| test.awaits_datagram(address))
            }
            Client::Nuttcp(requested) => self.shares_ports(requested, address),
        };
        match decision {
            Decision::Run if is_ambiguous => Decision::Wait,
            decision => decision,
        }
    }

    /// Reports a refusal.
    pub(super) fn refused(&mut self, peer: SocketAddr, reason: String) {
        self.refusals.report(&*self.notify, peer, reason);
    }

    fn refuse(&mut self, client: Waiting, code: ErrorCode, reason: String) {
        let peer = client.peer;
        match client.client {
            Client::Iperf3 { mut session, .. } => {
                session.refuse(code, 0);
                while let Some(output) = session.poll_output() {
                    if let Output::Send(bytes) = output {
                        let _ = io::Write::write_all(&mut &client.stream, &bytes);
                    }
                }
            }
            Client::Nuttcp(requested) => requested.refuse(&client.stream, &reason),
        }
        self.refused(peer, reason);
    }

    /// Handles data or the close of a client that waits.
    fn read_waiting(&mut self, place: usize) {
        let Some(one) = self.waiting.get_mut(place) else {
            return;
        };
        let mut buffer = [0; 64];
        let read = match one.stream.read(&mut buffer) {
            Ok(length @ 1..) => Some(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            _ => None,
        };
        let now = gigatcp_units::Instant::ZERO;
        // In any case the test is over before it began.
        let is_over = match (&mut one.client, read) {
            (Client::Iperf3 { session, .. }, Some(bytes)) => {
                session.handle_bytes(now, bytes);
                session.poll_output().is_some()
            }
            _ => true,
        };
        if is_over {
            let _ = self.waiting.remove(place);
        }
    }

    /// Starts the tests of waiting clients, each as soon as the limits allow it. One that does not fit
    /// blocks none behind it: clients choose its size, and the duration of those before it.
    fn admit_waiting(&mut self) {
        let mut place = 0;
        while let Some(client) = self.waiting.get(place) {
            let runs = matches!(self.decision(client, Vec::new()), Decision::Run);
            if runs && let Some(client) = self.waiting.remove(place) {
                self.begin(client);
            } else {
                place += 1;
            }
        }
    }

    /// Starts a test on its own thread.
    fn begin(&mut self, client: Waiting) {
        let peer = client.peer;
        self.tests += 1;
        let test = self.tests;
        let parameters = client.parameters.clone();
        (self.notify)(ServerNotice::Accepted {
            test,
            peer,
            parameters: &parameters,
        });
        if let Err((client, error)) = self.spawn(client, test) {
            let code = ErrorCode::INIT_STREAM;
            if let Some(client) = client {
                return self.refuse(*client, code, error.to_string());
            }
            let reason = error.to_string();
            self.refused(peer, reason);
        }
    }

    fn spawn(
        &mut self,
        client: Waiting,
        test: u64,
    ) -> Result<(), (Option<Box<Waiting>>, io::Error)> {
        let cookie = client.cookie();
        let (protocol, ports) = match &client.client {
            Client::Iperf3 { .. } => (Protocol::Iperf3, None),
            Client::Nuttcp(requested) => (Protocol::Nuttcp, requested.ports()),
        };
        let mailbox = match self
            .open_ports(ports.as_ref())
            .and_then(|()| Mailbox::new())
        {
            Ok(mailbox) => Arc::new(mailbox),
            Err(error) => return Err((Some(Box::new(client)), error)),
        };
        let parameters = &client.parameters;
        let is_udp = parameters.transport == Transport::Udp;
        let transactions = client.transactions();
        let has_transactions = transactions.is_some();
        let streams = transactions.map_or(parameters.streams(), |known| known.flows) as usize;
        let has_changed_listener = protocol == Protocol::Iperf3
            && !is_udp
            && !has_transactions
            && self.change_listener(parameters);
        self.is_listener_changed |= has_changed_listener;
        let is_opening = Arc::new(AtomicBool::new(true));
        let (address, demand) = (client.peer.ip(), client.demand);
        let job = Job {
            test,
            interval: self.server.config.interval,
            render: self.server.config.render.clone(),
            notify: self.notify.clone(),
            shared: self.shared.clone(),
            is_opening: is_opening.clone(),
        };
        let served = self
            .served(client, mailbox.clone())
            .map_err(|error| (None, error))?;
        let builder = std::thread::Builder::new().name(format!("test {test}"));
        let thread = builder
            .spawn(move || job.run(served))
            .map_err(|error| (None, error))?;
        self.running.insert(
            test,
            Running {
                cookie,
                protocol,
                address,
                demand,
                is_udp,
                streams,
                has_transactions,
                mailbox,
                handed: 0,
                ports,
                taken: Vec::new(),
                is_opening,
                has_trains: false,
                has_changed_listener,
                thread,
            },
        );
        Ok(())
    }

    /// What a test may use.
    fn allowance(&self, client: &Waiting) -> Allowance {
        let admission = &self.server.config.admission;
        let limit = (self.bucket.clone())
            .map(|bucket| RateLimit::new(bucket, &client.parameters, client.peer.ip()));
        let seconds = admission.limits.time;
        Allowance {
            limit: StreamLimit(limit.map(Arc::new)),
            longest: (seconds > 0).then(|| Duration::from_secs(seconds.into())),
            idle: admission.idle,
            presence: Presence::default(),
        }
    }

    /// State of a client for the thread of its test.
    fn served(&self, client: Waiting, mailbox: Arc<Mailbox>) -> io::Result<AnyServed> {
        let peer = client.peer;
        let allowance = self.allowance(&client);
        let transactions = client.transactions();
        let wire = Wire::new(client.stream)?;
        Ok(match client.client {
            Client::Iperf3 { session, cookie } => {
                let served = Box::new(Served {
                    session,
                    wire,
                    peer,
                    cookie,
                    parameters: client.parameters,
                    allowance,
                    mailbox,
                    port: self.server.at.port(),
                });
                match transactions {
                    Some(transactions) => AnyServed::Transactions(served, transactions),
                    None => AnyServed::Iperf3(served),
                }
            }
            Client::Nuttcp(requested) => {
                let nuttcp = self.server.nuttcp_address();
                let port = nuttcp.map_or(0, |at| at.port());
                AnyServed::Nuttcp(Box::new(nuttcp_served::Served {
                    server: requested.server,
                    wire,
                    peer,
                    cookie: Cookie::from_random(random()),
                    wanted: requested.wanted,
                    agreed: requested.agreed,
                    allowance,
                    mailbox,
                    port,
                }))
            }
        })
    }

    /// Collects the results of threads that have ended.
    fn join_ended(&mut self) {
        self.restore_listener();
        let is_ended = |running: &Running| running.thread.is_finished();
        let ended: Vec<u64> = (self.running.iter())
            .filter_map(|(test, running)| is_ended(running).then_some(*test))
            .collect();
        for test in ended {
            let Some(running) = self.running.remove(&test) else {
                continue;
            };
            if let Err(panic) = running.thread.join() {
                (self.notify)(ServerNotice::Ended {
                    test,
                    outcome: None,
                    transactions: None,
                    end: "the test has failed",
                });
                std::panic::resume_unwind(panic);
            }
            *lock(&self.shared.ended) += 1;
        }
    }
}

/// A client with its test, of either protocol.
enum AnyServed {
    Iperf3(Box<Served>),
    Transactions(Box<Served>, Transactions),
    Nuttcp(Box<nuttcp_served::Served>),
}

/// Inputs of a test's thread.
struct Job {
    test: u64,
    interval: Option<Duration>,
    render: Option<Arc<Render>>,
    notify: Arc<Notify>,
    shared: Arc<Shared>,
    is_opening: Arc<AtomicBool>,
}

impl Job {
    fn run(self, served: AnyServed) -> Ended {
        let (test, notify) = (self.test, &self.notify);
        let stops = || self.shared.stop.load(Ordering::Acquire);
        let opened = || self.is_opening.store(false, Ordering::Release);
        let mut report = |progress: Progress<'_>| {
            if let Progress::Interval(interval) = progress {
                notify(ServerNotice::Interval { test, interval });
            }
        };
        let interval = self.interval;
        let ended = match served {
            AnyServed::Iperf3(served) => {
                let render = self.render.as_deref();
                session::serve(*served, interval, render, &stops, opened, &mut report)
            }
            AnyServed::Transactions(served, transactions) => {
                transactions::server::serve(*served, transactions, &stops, opened)
            }
            AnyServed::Nuttcp(served) => {
                nuttcp_session::serve(*served, interval, &stops, opened, &mut report)
            }
        };
        self.is_opening.store(false, Ordering::Release);
        notify(ServerNotice::Ended {
            test,
            outcome: ended.outcome.as_ref(),
            transactions: ended.transactions.as_ref(),
            end: &ended.end,
        });
        self.shared.event_fd.wake();
        ended
    }
}
