//! A server of many clients on one port, TCP and UDP.
//!
//! One thread accepts, reads cookies and parameters, decides who waits, and hands data
//! connections to their tests; it never waits for a single client. A test that runs has a
//! thread. What a client can make the server keep before its test runs is bounded: 1024
//! connections, each with a few kilobytes and a deadline.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gigatcp_linux::poll::{self, Alarm};
use gigatcp_linux::socket as kernel;
use gigatcp_protocol::iperf3::datagram::reply_to;
use gigatcp_protocol::iperf3::{
    COOKIE_LENGTH, Cookie, Output, Parameters, ServerEnd, ServerEvent, Session, Transport,
};
use socket2::{Domain, SockRef, Socket as RawSocket, Type};

use super::admission::{Admission, Decision};
use super::options;
use super::outcome::{Interval, Outcome};
use super::session::{self, Ended, Mailbox, Served};
use super::stream::Socket;
use super::traffic::Progress;
use super::wire::Wire;
use crate::trace;

/// Connections whose test does not run yet; the oldest is closed for a new one.
const MAX_PENDING: usize = 1024;

/// Traces of paths to clients at the same time.
const MAX_TRACES: usize = 4;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Longest wait for a cookie and for parameters.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest step of the loop.
const STEP: Duration = Duration::from_millis(100);

/// Decides whether a client may test: `Err` says why not.
pub type Authorize = dyn Fn(&Parameters) -> Result<(), String> + Send + Sync;

/// Makes a server's own output of a test, for clients that request it.
pub type Render = dyn Fn(&Outcome) -> String + Send + Sync;

/// What a server is to do.
#[derive(Clone)]
pub struct ServerConfig {
    /// Address to listen at; `None`: all, IPv6 and IPv4.
    pub bind: Option<IpAddr>,
    /// Port.
    pub port: u16,
    /// End after one test.
    pub one_off: bool,
    /// Who may test, and how much.
    pub admission: Admission,
    /// Checks a name and password; `None`: none is needed.
    pub authorize: Option<Arc<Authorize>>,
    /// Time between two reports of a test; `None`: only the whole.
    pub interval: Option<Duration>,
    /// The output that a client may request; `None`: it gets none.
    pub render: Option<Arc<Render>>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            bind: None,
            port: gigatcp_protocol::iperf3::PORT,
            one_off: false,
            admission: Admission::default(),
            authorize: None,
            interval: Some(Duration::from_secs(1)),
            render: None,
        }
    }
}

/// What happens at a server. Tests are numbered from 1.
#[derive(Debug)]
pub enum ServerNotice<'a> {
    /// A client was refused, and why.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// Why, in words.
        reason: String,
    },
    /// A client waits for its turn.
    Queued {
        /// Its address.
        peer: SocketAddr,
    },
    /// A test begins.
    Accepted {
        /// Number of the test.
        test: u64,
        /// The client's address.
        peer: SocketAddr,
        /// What it requests.
        parameters: &'a Parameters,
    },
    /// An interval of a test has ended.
    Interval {
        /// Number of the test.
        test: u64,
        /// The interval.
        interval: &'a Interval,
    },
    /// A test has ended.
    Ended {
        /// Number of the test.
        test: u64,
        /// What was measured; `None`: no data flowed.
        outcome: Option<&'a Outcome>,
        /// How it ended.
        end: &'a ServerEnd,
    },
}

/// Hears what happens; called from several threads.
pub type Notify = dyn Fn(ServerNotice<'_>) + Send + Sync;

/// A server that listens.
pub struct Server {
    config: ServerConfig,
    listener: TcpListener,
    datagrams: UdpSocket,
    at: SocketAddr,
    /// Buffers of the listener before any test changed them: send and receive.
    buffers: (usize, usize),
}

/// A connection whose test does not run yet.
struct Pending {
    stream: TcpStream,
    peer: SocketAddr,
    /// Its place in the order of acceptance.
    place: u64,
    deadline: Instant,
    state: PendingState,
}

enum PendingState {
    /// The cookie, as far as it was read.
    Cookie(Vec<u8>),
    /// Parameters are awaited.
    Parameters(Cookie, Session),
}

/// A client that waits for its turn.
struct Waiting {
    stream: TcpStream,
    peer: SocketAddr,
    cookie: Cookie,
    session: Session,
    parameters: Parameters,
}

/// A test that runs.
struct Running {
    test: u64,
    cookie: Cookie,
    address: IpAddr,
    rate: u64,
    is_udp: bool,
    streams: usize,
    mailbox: Arc<Mailbox>,
    /// UDP streams that were handed to it.
    handed: usize,
    /// Whether its data connections are still to come.
    is_opening: Arc<AtomicBool>,
    /// Whether it changed the listener for its data connections.
    has_changed_listener: bool,
    thread: JoinHandle<Ended>,
}

/// What threads of tests tell the thread that accepts.
struct Shared {
    alarm: Alarm,
    stop: AtomicBool,
    ended: Mutex<u64>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// What the system says, with the address: it may be in use.
    pub fn bind(config: ServerConfig) -> io::Result<Self> {
        let addresses = match config.bind {
            Some(address) => vec![address],
            None => vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
        };
        let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
        for address in addresses {
            let at = SocketAddr::new(address, config.port);
            match listen(at) {
                Ok(listener) => {
                    let at = listener.local_addr()?;
                    let datagrams = udp_socket(at)?;
                    let socket = SockRef::from(&listener);
                    let buffers = (socket.send_buffer_size()?, socket.recv_buffer_size()?);
                    return Ok(Self {
                        buffers,
                        config,
                        listener,
                        datagrams,
                        at,
                    });
                }
                // No IPv6 here: IPv4 alone.
                Err(error) => last = error,
            }
            if last.kind() == ErrorKind::AddrInUse {
                break;
            }
        }
        Err(last)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// A UDP socket of the server's port that hears one peer.
    fn udp_stream(&self, peer: SocketAddr) -> io::Result<UdpSocket> {
        let socket = udp_socket(self.datagrams.local_addr()?)?;
        socket.connect(peer)?;
        socket.set_nonblocking(false)?;
        Ok(socket)
    }

    /// Serves until `stops` says so, or one test is done with `one_off`. Tests that run are then
    /// ended.
    ///
    /// # Errors
    /// What the system says of the listening sockets.
    pub fn run(&self, stops: &dyn Fn() -> bool, notify: &Arc<Notify>) -> io::Result<()> {
        let shared = Arc::new(Shared {
            alarm: Alarm::new()?,
            stop: AtomicBool::new(false),
            ended: Mutex::new(0),
        });
        let mut hall = Hall {
            server: self,
            notify: notify.clone(),
            shared,
            pending: VecDeque::new(),
            waiting: VecDeque::new(),
            running: HashMap::new(),
            traces: Vec::new(),
            accepted: 0,
            tests: 0,
        };
        let result = loop {
            if stops() || (self.config.one_off && hall.has_served()) {
                break Ok(());
            }
            if let Err(error) = hall.step() {
                break Err(error);
            }
        };
        hall.shared.stop.store(true, Ordering::Release);
        for (_, running) in hall.running {
            let _ = running.thread.join();
        }
        for thread in hall.traces {
            let _ = thread.join();
        }
        result
    }
}

impl Running {
    /// Whether a UDP stream of a client at `address` is one of this test.
    fn awaits_datagram(&self, address: IpAddr) -> bool {
        self.is_udp && self.address == address && self.handed < self.streams
    }
}

/// A listening socket that is read without waiting.
fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = RawSocket::new(Domain::for_address(at), Type::STREAM, None)?;
    if at.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A UDP socket of the server's port, which several may share.
fn udp_socket(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = RawSocket::new(Domain::for_address(at), Type::DGRAM, None)?;
    if at.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// All clients of a server, seen from the thread that accepts.
struct Hall<'a> {
    server: &'a Server,
    notify: Arc<Notify>,
    shared: Arc<Shared>,
    pending: VecDeque<Pending>,
    waiting: VecDeque<Waiting>,
    running: HashMap<Cookie, Running>,
    traces: Vec<JoinHandle<()>>,
    accepted: u64,
    tests: u64,
}

impl Hall<'_> {
    /// Whether a test has ended.
    fn has_served(&self) -> bool {
        *self
            .shared
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            > 0
    }

    /// Waits for something to happen and handles it.
    fn step(&mut self) -> io::Result<()> {
        let listening = [
            self.server.listener.as_fd(),
            self.server.datagrams.as_fd(),
            self.shared.alarm.as_fd(),
        ];
        let fixed = listening.len();
        let pending = self.pending.iter().map(|one| one.stream.as_fd());
        let waiting = self.waiting.iter().map(|one| one.stream.as_fd());
        let all = listening.into_iter().chain(pending).chain(waiting);
        let ready = poll::wait_to_read(all, STEP)?;
        let count = self.pending.len();
        // From the last: what is removed does not move the places before it.
        for place in ready.iter().rev().filter(|place| **place >= fixed) {
            let index = place - fixed;
            if index >= count {
                self.look_at_waiting(index - count);
            }
        }
        let readable = ready
            .iter()
            .filter(|place| (fixed..fixed + count).contains(*place));
        let readable: Vec<usize> = readable.map(|place| place - fixed).collect();
        self.read_pending(&readable);
        if ready.contains(&2) {
            self.shared.alarm.hush();
        }
        self.join_ended();
        if ready.contains(&0) {
            self.accept()?;
        }
        if ready.contains(&1) {
            self.take_datagrams();
        }
        self.drop_late();
        self.admit_waiting();
        Ok(())
    }

    /// Accepts what waits.
    fn accept(&mut self) -> io::Result<()> {
        loop {
            let (stream, peer) = match self.server.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(()),
                    // The client is gone, or descriptors are short: others may end.
                    _ => {
                        std::thread::sleep(Duration::from_millis(1));
                        return Ok(());
                    }
                },
            };
            if !self.server.config.admission.allows(peer.ip()) {
                let reason = "its address is not allowed".to_owned();
                (self.notify)(ServerNotice::Refused { peer, reason });
                continue;
            }
            let _ = stream.set_nonblocking(true);
            let _ = options::apply_to_control(SockRef::from(&stream));
            if self.pending.len() >= MAX_PENDING {
                self.pending.pop_front();
            }
            self.accepted += 1;
            self.pending.push_back(Pending {
                stream,
                peer,
                place: self.accepted,
                deadline: Instant::now() + HELLO_TIMEOUT,
                state: PendingState::Cookie(Vec::with_capacity(COOKIE_LENGTH)),
            });
        }
    }

    /// Reads the connections at these places of the pending ones.
    fn read_pending(&mut self, places: &[usize]) {
        let mut kept = VecDeque::with_capacity(self.pending.len());
        for (place, pending) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            if !places.contains(&place) {
                kept.push_back(pending);
            } else if let Some(pending) = self.read_one(pending) {
                kept.push_back(pending);
            }
        }
        self.pending = kept;
    }

    /// Reads a connection; returns it if more of it is awaited.
    fn read_one(&mut self, mut pending: Pending) -> Option<Pending> {
        loop {
            let length = match &pending.state {
                PendingState::Cookie(bytes) => COOKIE_LENGTH - bytes.len(),
                PendingState::Parameters(..) => 4096,
            };
            let mut buffer = [0; 4096];
            let read = match pending.stream.read(&mut buffer[..length]) {
                Ok(0) => return None,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(pending),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            match &mut pending.state {
                PendingState::Cookie(bytes) => {
                    bytes.extend(&buffer[..read]);
                    if let Ok(cookie) = <[u8; COOKIE_LENGTH]>::try_from(&bytes[..]) {
                        pending = self.handle_cookie(pending, Cookie::from_bytes(cookie))?;
                    }
                }
                PendingState::Parameters(_, session) => {
                    session.handle_bytes(gigatcp_units::Instant::ZERO, &buffer[..read]);
                    match self.handle_session(pending) {
                        Some(rest) => pending = rest,
                        None => return None,
                    }
                }
            }
        }
    }

    /// A client asks for the path from here to there: a thread answers, if not too many do.
    fn answer_trace(&mut self, pending: Pending) {
        self.traces.retain(|thread| !thread.is_finished());
        if self.traces.len() >= MAX_TRACES {
            let (peer, reason) = (pending.peer, format!("{MAX_TRACES} traces are running"));
            return (self.notify)(ServerNotice::Refused { peer, reason });
        }
        let shared = self.shared.clone();
        let answer = move || {
            // A client that is gone needs no answer.
            let _ = trace::answer(pending.stream, &|| shared.stop.load(Ordering::Acquire));
        };
        if let Ok(thread) = std::thread::Builder::new()
            .name("trace".into())
            .spawn(answer)
        {
            self.traces.push(thread);
        }
    }

    /// A cookie is complete: of a data connection, or of a new test.
    fn handle_cookie(&mut self, mut pending: Pending, cookie: Cookie) -> Option<Pending> {
        if *cookie.as_bytes() == trace::HELLO {
            self.answer_trace(pending);
            return None;
        }
        if let Some(running) = self.running.get(&cookie) {
            let _ = pending.stream.set_nonblocking(false);
            let limit = if running.is_udp { 0 } else { running.streams };
            let socket = Socket::Tcp(pending.stream);
            running.mailbox.push(pending.place, socket, limit);
            return None;
        }
        pending.state =
            PendingState::Parameters(cookie, Session::new(gigatcp_units::Instant::ZERO));
        self.handle_session(pending)
    }

    /// Does what the protocol wants of a client whose parameters are awaited.
    fn handle_session(&mut self, mut pending: Pending) -> Option<Pending> {
        let PendingState::Parameters(cookie, session) = &mut pending.state else {
            return Some(pending);
        };
        let cookie = *cookie;
        while let Some(output) = session.poll_output() {
            match output {
                Output::Send(bytes) => pending.stream.write_all(&bytes).ok()?,
                Output::Event(ServerEvent::Parameters(parameters)) => {
                    let PendingState::Parameters(_, session) = pending.state else {
                        return None;
                    };
                    let (stream, peer) = (pending.stream, pending.peer);
                    self.decide(Waiting {
                        stream,
                        peer,
                        cookie,
                        session,
                        parameters,
                    });
                    return None;
                }
                Output::Event(ServerEvent::Ended(end)) => {
                    let (peer, reason) = (pending.peer, end.to_string());
                    (self.notify)(ServerNotice::Refused { peer, reason });
                    return None;
                }
                Output::Event(_) => {}
            }
        }
        Some(pending)
    }

    /// Decides about a client whose parameters are known.
    fn decide(&mut self, client: Waiting) {
        let refused = match &self.server.config.authorize {
            Some(authorize) => authorize(&client.parameters).err(),
            None => None,
        };
        if let Some(reason) = refused {
            let code = gigatcp_protocol::iperf3::ErrorCode::AUTHORIZATION;
            return self.refuse(client, code, reason);
        }
        let waiting: Vec<IpAddr> = self.waiting.iter().map(|one| one.peer.ip()).collect();
        match self.decision(&client, &waiting) {
            Decision::Run => self.begin(client),
            Decision::Wait => {
                (self.notify)(ServerNotice::Queued { peer: client.peer });
                self.waiting.push_back(client);
            }
            Decision::Refuse(code, reason) => self.refuse(client, code, reason),
        }
    }

    fn decision(&self, client: &Waiting, waiting: &[IpAddr]) -> Decision {
        let running: Vec<IpAddr> = self.running.values().map(|one| one.address).collect();
        let used = self.running.values().map(|one| one.rate).sum();
        let admission = &self.server.config.admission;
        let (parameters, address) = (&client.parameters, client.peer.ip());
        // First datagrams do not say which test they are of: one at a time for an address.
        let is_udp = parameters.transport == Transport::Udp;
        if is_udp
            && self
                .running
                .values()
                .any(|one| one.awaits_datagram(address))
        {
            return Decision::Wait;
        }
        admission.decide(parameters, address, (&running, waiting), used)
    }

    fn refuse(
        &mut self,
        mut client: Waiting,
        code: gigatcp_protocol::iperf3::ErrorCode,
        reason: String,
    ) {
        client.session.refuse(code, 0);
        while let Some(output) = client.session.poll_output() {
            if let Output::Send(bytes) = output {
                let _ = client.stream.write_all(&bytes);
            }
        }
        let peer = client.peer;
        (self.notify)(ServerNotice::Refused { peer, reason });
    }

    /// A client that waits has sent something, or closed.
    fn look_at_waiting(&mut self, place: usize) {
        let Some(client) = self.waiting.get_mut(place) else {
            return;
        };
        let mut buffer = [0; 64];
        match client.stream.read(&mut buffer) {
            Ok(length @ 1..) => {
                let now = gigatcp_units::Instant::ZERO;
                client.session.handle_bytes(now, &buffer[..length]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            _ => client.session.handle_closed(),
        }
        if client.session.poll_output().is_some() {
            // Whatever it is, the test is over before it began.
            let _ = self.waiting.remove(place);
        }
    }

    /// Begins the tests of those that wait, as far as there is room, in their order.
    fn admit_waiting(&mut self) {
        while let Some(client) = self.waiting.pop_front() {
            match self.decision(&client, &[]) {
                Decision::Run => self.begin(client),
                _ => {
                    self.waiting.push_front(client);
                    return;
                }
            }
        }
    }

    /// Begins a test on a thread of its own.
    fn begin(&mut self, client: Waiting) {
        let (peer, cookie) = (client.peer, client.cookie);
        self.tests += 1;
        let test = self.tests;
        let parameters = client.parameters.clone();
        (self.notify)(ServerNotice::Accepted {
            test,
            peer,
            parameters: &parameters,
        });
        if let Err((client, error)) = self.spawn(client, test) {
            let code = gigatcp_protocol::iperf3::ErrorCode::INIT_STREAM;
            if let Some(client) = client {
                return self.refuse(*client, code, error.to_string());
            }
            let reason = error.to_string();
            (self.notify)(ServerNotice::Refused { peer, reason });
            self.running.remove(&cookie);
        }
    }

    fn spawn(
        &mut self,
        client: Waiting,
        test: u64,
    ) -> Result<(), (Option<Box<Waiting>>, io::Error)> {
        let mailbox = match Mailbox::new() {
            Ok(mailbox) => Arc::new(mailbox),
            Err(error) => return Err((Some(Box::new(client)), error)),
        };
        let parameters = &client.parameters;
        let is_udp = parameters.transport == Transport::Udp;
        let streams = parameters.streams() as usize;
        let rate = parameters
            .bandwidth
            .unwrap_or(0)
            .saturating_mul(streams as u64);
        let has_changed_listener = !is_udp && self.change_listener(parameters);
        let is_opening = Arc::new(AtomicBool::new(true));
        let (cookie, address) = (client.cookie, client.peer.ip());
        let job = Job {
            test,
            interval: self.server.config.interval,
            render: self.server.config.render.clone(),
            notify: self.notify.clone(),
            shared: self.shared.clone(),
            is_opening: is_opening.clone(),
        };
        let wire = Wire::new(client.stream).map_err(|error| (None, error))?;
        let served = Served {
            session: client.session,
            wire,
            peer: client.peer,
            cookie,
            parameters: client.parameters,
            mailbox: mailbox.clone(),
            port: self.server.at.port(),
        };
        let builder = std::thread::Builder::new().name(format!("test {test}"));
        let thread = builder
            .spawn(move || job.run(served))
            .map_err(|error| (None, error))?;
        self.running.insert(
            cookie,
            Running {
                test,
                cookie,
                address,
                rate,
                is_udp,
                streams,
                mailbox,
                handed: 0,
                is_opening,
                has_changed_listener,
                thread,
            },
        );
        Ok(())
    }

    /// What must be set before a connection is accepted is set at the listener, until the test's
    /// connections are there. Returns whether something was.
    fn change_listener(&self, parameters: &Parameters) -> bool {
        if parameters.window.is_none() && parameters.mss.is_none() {
            return false;
        }
        // What the system refuses shows where the options are read back.
        let _ = options::apply_before(SockRef::from(&self.server.listener), parameters);
        true
    }

    /// Undoes [`Self::change_listener`] once no test needs it.
    fn restore_listener(&mut self) {
        let needs =
            |one: &Running| one.has_changed_listener && one.is_opening.load(Ordering::Acquire);
        if self.running.values().any(needs) {
            return;
        }
        let mut has_changed = false;
        for running in self.running.values_mut() {
            has_changed |= std::mem::take(&mut running.has_changed_listener);
        }
        if has_changed {
            let listener = &self.server.listener;
            let socket = SockRef::from(listener);
            // Linux grants twice what is set. Kernels before 5.14 do not fit the buffers of
            // later tests to the path, which shows where the options are read back.
            let (send, receive) = self.server.buffers;
            let _ = socket.set_send_buffer_size(send / 2);
            let _ = socket.set_recv_buffer_size(receive / 2);
            let _ = kernel::unlock_buffers(listener);
            let _ = kernel::limit_mss(listener, None);
        }
    }

    /// Takes the results of threads that have ended.
    fn join_ended(&mut self) {
        self.restore_listener();
        let ended = self.running.values().filter(|one| one.thread.is_finished());
        let ended: Vec<Cookie> = ended.map(|one| one.cookie).collect();
        for cookie in ended {
            let Some(running) = self.running.remove(&cookie) else {
                continue;
            };
            if let Err(panic) = running.thread.join() {
                let test = running.test;
                let end = ServerEnd::Terminated;
                (self.notify)(ServerNotice::Ended {
                    test,
                    outcome: None,
                    end: &end,
                });
                std::panic::resume_unwind(panic);
            }
            let mut count = self
                .shared
                .ended
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *count += 1;
        }
    }

    /// Datagrams to the server's port: first messages of UDP streams.
    fn take_datagrams(&mut self) {
        let mut buffer = [0; 64];
        while let Ok((length, peer)) = self.server.datagrams.recv_from(&mut buffer) {
            let Some(reply) = reply_to(&buffer[..length]) else {
                continue;
            };
            let server = self.server;
            let mut running = self.running.values_mut();
            let Some(running) = running.find(|one| one.awaits_datagram(peer.ip())) else {
                continue;
            };
            let Ok(socket) = server.udp_stream(peer) else {
                continue;
            };
            self.accepted += 1;
            if socket.send(&reply).is_ok() {
                let socket = Socket::Udp(socket);
                running.handed += 1;
                running.mailbox.push(self.accepted, socket, running.streams);
            }
        }
    }

    /// Closes connections past their deadline.
    fn drop_late(&mut self) {
        let now = Instant::now();
        self.pending.retain(|pending| pending.deadline > now);
    }
}

/// What the thread of a test needs.
struct Job {
    test: u64,
    interval: Option<Duration>,
    render: Option<Arc<Render>>,
    notify: Arc<Notify>,
    shared: Arc<Shared>,
    is_opening: Arc<AtomicBool>,
}

impl Job {
    fn run(self, served: Served) -> Ended {
        let (test, notify) = (self.test, &self.notify);
        let stops = || self.shared.stop.load(Ordering::Acquire);
        let opened = || self.is_opening.store(false, Ordering::Release);
        let mut report = |progress: Progress<'_>| {
            if let Progress::Interval(interval) = progress {
                notify(ServerNotice::Interval { test, interval });
            }
        };
        let ended = session::serve(
            served,
            self.interval,
            self.render.as_deref(),
            &stops,
            opened,
            &mut report,
        );
        self.is_opening.store(false, Ordering::Release);
        notify(ServerNotice::Ended {
            test,
            outcome: ended.outcome.as_ref(),
            end: &ended.end,
        });
        self.shared.alarm.ring();
        ended
    }
}
