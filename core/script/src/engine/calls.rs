//! System calls by name. A call that cannot proceed waits, and is retried after every event.

use alloc::boxed::Box;

use gigatcp_events::State;
use gigatcp_tcp::{Connection, connection::Failure};
use gigatcp_units::{Duration, Instant};

use super::host::{Conn, File, Host, Socket, SocketState};
use super::poll::Watch;
use super::transfer::{Reading, Writing};
use crate::ast::Value;
use crate::stack::{CallId, Progress, Request, Returned, Unsupported};

/// A blocked call.
#[derive(Debug)]
pub struct Waiting {
    id: CallId,
    operation: Operation,
    /// Time at which it returns in any case, by the engine's clock.
    pub deadline: Instant,
}

/// A call that may block.
#[derive(Debug)]
pub enum Operation {
    Connect {
        fd: i64,
    },
    Accept {
        fd: i64,
        wanted: Option<i64>,
        nonblocking: bool,
    },
    Read(Reading),
    Write(Writing),
    Watch(Watch),
}

/// First number for files whose descriptor was taken over by another file.
const UNNAMED: i64 = 1 << 20;

/// Result of a call, or the reason why it is unsupported.
pub type Called = Result<Progress, Unsupported>;

/// Returns the immediate result of a call.
pub fn returned(result: i64) -> Called {
    Ok(Progress::Returned(Returned::success(result)))
}

/// Returns the immediate failure of a call.
pub fn failed(errno: &str) -> Called {
    Ok(Progress::Returned(Returned::failure(errno)))
}

/// Arguments of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    name: &'a str,
    pub all: &'a [Value],
}

impl<'a> Arguments<'a> {
    pub fn get(&self, index: usize) -> &'a Value {
        self.all.get(index).unwrap_or(&Value::Ellipsis)
    }

    /// Returns a required number.
    pub fn number(&self, index: usize) -> Result<i64, Unsupported> {
        self.get(index).integer().ok_or_else(|| self.odd(index))
    }

    /// Returns the error for an argument of an unknown form.
    pub fn odd(&self, index: usize) -> Unsupported {
        Unsupported::new(
            "call",
            alloc::format!("{} with an argument {} of this form", self.name, index + 1),
        )
    }
}

impl Host {
    pub fn call(&mut self, request: &Request<'_>) -> Called {
        let args = Arguments {
            name: request.name,
            all: request.args,
        };
        match request.name {
            "socket" => self.socket(&args, request.wanted),
            "bind" => self.bind(&args),
            "listen" => self.start_listening(&args),
            "connect" => self.connect(&args),
            "accept" | "accept4" => self.accept(&args, request.wanted),
            "close" => self.close(args.number(0)?),
            "shutdown" => self.shutdown(&args),
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => self.read(request.name, &args),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.write(request.name, &args),
            "fcntl" => self.fcntl(&args),
            "ioctl" => self.ioctl(&args),
            "setsockopt" => self.setsockopt(&args),
            "getsockopt" => self.getsockopt(&args),
            "poll" => self.poll(&args),
            "epoll_create" | "epoll_create1" => self.epoll_create(request.wanted),
            "epoll_ctl" => self.epoll_ctl(&args),
            "epoll_wait" => self.epoll_wait(&args),
            "pipe" => self.pipe(&args),
            "open" => self.open_file(&args, request.wanted),
            "sendfile" => self.sendfile(&args),
            "splice" => self.splice(&args),
            "usleep" | "sleep" => returned(0),
            other => Err(Unsupported::new("call", other)),
        }
    }

    /// Performs the operation, or lets it block.
    pub fn start(&mut self, mut operation: Operation, deadline: Option<Duration>) -> Called {
        if let Some(done) = self.attempt(&mut operation) {
            return Ok(Progress::Returned(done));
        }
        let id = CallId(self.next_call);
        self.next_call += 1;
        let deadline = deadline.map_or(Instant::FAR_FUTURE, |after| self.clock() + after);
        self.waiting.push(Waiting {
            id,
            operation,
            deadline,
        });
        Ok(Progress::Blocked(id))
    }

    /// Returns whether a blocked call has opened the connection by writing.
    pub fn is_opened_by_write(&self, index: usize) -> bool {
        let fd = self.connections[index].fd;
        self.waiting.iter().any(|waiting| match &waiting.operation {
            Operation::Write(writing) => fd.is_some_and(|fd| writing.is_opening(fd)),
            _ => false,
        })
    }

    /// Retries the blocked calls.
    pub fn retry_calls(&mut self) {
        let now = self.clock();
        for mut waiting in core::mem::take(&mut self.waiting) {
            let done = self.attempt(&mut waiting.operation).or_else(|| {
                let over = waiting.deadline <= now;
                over.then(|| Returned::success(0))
            });
            match done {
                Some(returned) => self.finish(waiting.id, returned),
                None => self.waiting.push(waiting),
            }
        }
    }

    fn attempt(&mut self, operation: &mut Operation) -> Option<Returned> {
        match operation {
            Operation::Connect { fd } => self.attempt_connect(*fd),
            Operation::Accept {
                fd,
                wanted,
                nonblocking,
            } => self.attempt_accept(*fd, *wanted, *nonblocking),
            Operation::Read(reading) => self.attempt_read(reading),
            Operation::Write(writing) => self.attempt_write(writing),
            Operation::Watch(watch) => self.attempt_watch(watch),
        }
    }

    /// Returns the socket of a descriptor.
    pub fn socket_of(&mut self, fd: i64) -> Option<&mut Socket> {
        match self.files.get_mut(&fd) {
            Some(File::Socket(socket)) => Some(socket),
            _ => None,
        }
    }

    /// Returns the index of the connection of a descriptor.
    pub fn open_index(&self, fd: i64) -> Option<usize> {
        match self.files.get(&fd) {
            Some(File::Socket(socket)) => match socket.state {
                SocketState::Open(index) => Some(index),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether calls on this descriptor never block.
    pub fn is_nonblocking(&self, fd: i64) -> bool {
        matches!(self.files.get(&fd), Some(File::Socket(socket)) if socket.options.nonblocking)
    }

    /// Assigns a descriptor to a file, with the number given in the script.
    pub fn open(&mut self, file: File, wanted: Option<i64>) -> i64 {
        let wanted = wanted.filter(|fd| *fd >= 0);
        let fd = wanted.unwrap_or_else(|| self.free_number(3));
        if let Some(before) = self.files.remove(&fd) {
            // The script chooses the numbers. A file that had this number stays open under another
            // one, which no script uses.
            let unnamed = self.free_number(UNNAMED);
            if let File::Socket(socket) = &before
                && let SocketState::Open(index) = socket.state
            {
                self.connections[index].fd = Some(unnamed);
            }
            if let Some(listening) = self.listening.remove(&fd) {
                self.listening.insert(unnamed, listening);
            }
            self.files.insert(unnamed, before);
        }
        self.files.insert(fd, file);
        fd
    }

    fn free_number(&self, least: i64) -> i64 {
        let mut number = least;
        while self.files.contains_key(&number) {
            number += 1;
        }
        number
    }

    fn socket(&mut self, args: &Arguments<'_>, wanted: Option<i64>) -> Called {
        let kind = args.get(1);
        if !kind.has_word("SOCK_STREAM") {
            return Err(Unsupported::new(
                "call",
                "socket of another kind than SOCK_STREAM",
            ));
        }
        if args.get(2).has_word("IPPROTO_MPTCP") {
            return Err(Unsupported::new("mechanism", "MPTCP"));
        }
        let mut socket = Socket::default();
        socket.options.nonblocking = kind.has_word("SOCK_NONBLOCK");
        let fd = self.open(File::Socket(socket), wanted);
        returned(fd)
    }

    fn bind(&mut self, args: &Arguments<'_>) -> Called {
        let default = self.addresses.local_port;
        let Some(socket) = self.socket_of(args.number(0)?) else {
            return failed("EBADF");
        };
        socket.port = Some(port_of(args.get(1)).unwrap_or(default));
        returned(0)
    }

    fn start_listening(&mut self, args: &Arguments<'_>) -> Called {
        let backlog = args.number(1)?.clamp(0, 4096) as usize;
        let port = self.free_port();
        let Some(socket) = self.socket_of(args.number(0)?) else {
            return failed("EBADF");
        };
        if matches!(socket.state, SocketState::Open(_)) {
            return failed("EINVAL");
        }
        socket.port.get_or_insert(port);
        socket.state = SocketState::Listening;
        let fd = args.number(0)?;
        let listening = self.listening.entry(fd).or_default();
        listening.backlog = backlog;
        returned(0)
    }

    fn connect(&mut self, args: &Arguments<'_>) -> Called {
        let fd = args.number(0)?;
        let remote_port = port_of(args.get(1)).unwrap_or(self.addresses.remote_port);
        let family = args.get(1).member("sa_family").unwrap_or(args.get(1));
        if family.has_word("AF_UNSPEC") {
            return self.disconnect(fd);
        }
        let Some(socket) = self.socket_of(fd) else {
            return failed("EBADF");
        };
        match socket.state {
            SocketState::Listening => return failed("EISCONN"),
            SocketState::Open(_) => {}
            SocketState::Fresh => {
                let options = socket.options.clone();
                if options.fast_open_connect && self.has_cookie() {
                    // The SYN waits for the first write.
                    if let Some(socket) = self.socket_of(fd) {
                        socket.deferred_connect = Some(remote_port);
                    }
                    return returned(0);
                }
                let Some(index) = self.open_actively(fd, remote_port) else {
                    return failed("EBADF");
                };
                if options.fast_open_connect {
                    self.offer_fast_open(index);
                }
                self.pump(index);
                if options.nonblocking {
                    return failed("EINPROGRESS");
                }
                return self.start(Operation::Connect { fd }, None);
            }
        }
        let Some(index) = self.open_index(fd) else {
            return failed("EISCONN");
        };
        match self.connections[index].tcp.state() {
            State::SynSent | State::SynReceived if self.is_nonblocking(fd) => failed("EALREADY"),
            State::SynSent | State::SynReceived => self.start(Operation::Connect { fd }, None),
            State::Closed => match self.connections[index].take_failure() {
                Some(errno) => failed(errno),
                None => failed("ECONNABORTED"),
            },
            _ => failed("EISCONN"),
        }
    }

    /// Calls `connect` with AF_UNSPEC: the connection is aborted. The socket is then as good as
    /// new.
    fn disconnect(&mut self, fd: i64) -> Called {
        let at = self.clock();
        let open = self.open_index(fd);
        let Some(socket) = self.socket_of(fd) else {
            return failed("EBADF");
        };
        if socket.state == SocketState::Listening {
            return Err(Unsupported::new(
                "call",
                "connect of a listener to AF_UNSPEC",
            ));
        }
        socket.state = SocketState::Fresh;
        socket.port = None;
        socket.deferred_connect = None;
        if let Some(index) = open {
            self.connections[index].fd = None;
            self.connections[index].tcp.abort(at);
            self.pump(index);
        }
        self.retry_calls();
        returned(0)
    }

    /// Starts an active open on a socket without connection; no segment has left yet.
    pub fn open_actively(&mut self, fd: i64, remote_port: u16) -> Option<usize> {
        let at = self.clock();
        let free = self.free_port();
        let socket = self.socket_of(fd)?;
        let (options, local_port) = (socket.options.clone(), socket.port.unwrap_or(free));
        let mut config = self.setup.config(local_port, remote_port);
        options.apply(&mut config);
        config.profile.opening.fast_open_without_cookie |= self.setup.cookieless_client;
        let tcp = Box::new(Connection::connect(at, &config));
        let index = self.add(tcp, local_port, remote_port, &options);
        self.connections[index].fd = Some(fd);
        let socket = self.socket_of(fd)?;
        socket.state = SocketState::Open(index);
        socket.port = Some(local_port);
        Some(index)
    }

    fn attempt_connect(&mut self, fd: i64) -> Option<Returned> {
        let Some(index) = self.open_index(fd) else {
            return Some(Returned::failure("EBADF"));
        };
        let conn = &mut self.connections[index];
        match conn.tcp.state() {
            State::SynSent | State::SynReceived => None,
            State::Closed => {
                let errno = conn.take_failure().unwrap_or("ECONNABORTED");
                Some(Returned::failure(errno))
            }
            _ => Some(Returned::success(0)),
        }
    }

    fn accept(&mut self, args: &Arguments<'_>, wanted: Option<i64>) -> Called {
        let fd = args.number(0)?;
        let nonblocking = args.get(3).has_word("SOCK_NONBLOCK");
        let Some(socket) = self.socket_of(fd) else {
            return failed("EBADF");
        };
        if socket.state != SocketState::Listening {
            return failed("EINVAL");
        }
        let mut operation = Operation::Accept {
            fd,
            wanted,
            nonblocking,
        };
        if self.is_nonblocking(fd) {
            let done = self.attempt(&mut operation);
            return Ok(Progress::Returned(
                done.unwrap_or_else(|| Returned::failure("EAGAIN")),
            ));
        }
        self.start(operation, None)
    }

    fn attempt_accept(
        &mut self,
        fd: i64,
        wanted: Option<i64>,
        nonblocking: bool,
    ) -> Option<Returned> {
        if !self.files.contains_key(&fd) {
            return Some(Returned::failure("EBADF"));
        }
        let new = self.take_accepted(fd, wanted, nonblocking)?;
        Some(Returned::success(new))
    }

    fn close(&mut self, fd: i64) -> Called {
        let Some(file) = self.files.remove(&fd) else {
            return failed("EBADF");
        };
        let File::Socket(socket) = file else {
            return returned(0);
        };
        let at = self.clock();
        match socket.state {
            SocketState::Fresh => {}
            SocketState::Listening => self.stop_listening(fd),
            SocketState::Open(index) => {
                self.release_held(index);
                let conn = &mut self.connections[index];
                conn.fd = None;
                // Unread data is lost, so the connection is reset (RFC 1122 section 4.2.2.13). A
                // linger time of zero requests the same.
                if conn.tcp.readable() > 0 || socket.options.linger == Some(0) {
                    conn.tcp.abort(at);
                } else {
                    conn.tcp.close(at);
                }
                self.pump(index);
            }
        }
        self.retry_calls();
        returned(0)
    }

    fn shutdown(&mut self, args: &Arguments<'_>) -> Called {
        let Some(index) = self.open_index(args.number(0)?) else {
            return failed("ENOTCONN");
        };
        let how = args.get(1);
        let (reading, writing) = match (how.name(), how.integer()) {
            (Some("SHUT_RD"), _) | (_, Some(0)) => (true, false),
            (Some("SHUT_WR"), _) | (_, Some(1)) => (false, true),
            (Some("SHUT_RDWR"), _) | (_, Some(2)) => (true, true),
            _ => return Err(args.odd(1)),
        };
        let at = self.clock();
        let state = self.connections[index].tcp.state();
        if matches!(state, State::Closed | State::SynSent) {
            return failed("ENOTCONN");
        }
        self.connections[index].deaf |= reading;
        if writing {
            self.release_held(index);
            self.connections[index].tcp.close(at);
            self.pump(index);
        }
        self.retry_calls();
        returned(0)
    }
}

impl Conn {
    /// Returns the connection's failure as an error of a call, once.
    pub fn take_failure(&mut self) -> Option<&'static str> {
        let failure = self.tcp.failure()?;
        if core::mem::replace(&mut self.failure_told, true) {
            return None;
        }
        Some(match failure {
            Failure::Refused => "ECONNREFUSED",
            Failure::Reset => "ECONNRESET",
            Failure::TimedOut => "ETIMEDOUT",
            Failure::Aborted => "ECONNABORTED",
            Failure::Unreachable => "EHOSTUNREACH",
        })
    }
}

/// Returns the port of an address: `{sa_family = AF_INET, sin_port = htons(8080), ...}`.
fn port_of(address: &Value) -> Option<u16> {
    let port = address
        .member("sin_port")
        .or_else(|| address.member("sin6_port"))?;
    let number = match port {
        Value::Function(name, args) if name == "htons" => args.first()?.integer()?,
        other => other.integer()?,
    };
    u16::try_from(number).ok()
}
