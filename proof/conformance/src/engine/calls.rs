//! The calls by name, and those that open and close sockets.

use gigatcp_tcp::events::State;

use super::arguments::{Arguments, Called, failed, returned};
use super::descriptor::{File, Socket, SocketState};
use super::host::Host;
use super::waiting::Operation;
use crate::ast::Value;
use crate::stack::{Progress, Request, Returned, Unsupported};

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

    /// Tries an operation; `None` if it has to wait.
    pub fn attempt(&mut self, operation: &mut Operation) -> Option<Returned> {
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

    fn socket(&mut self, args: &Arguments<'_>, wanted: Option<i64>) -> Called {
        let kind = args.get(1);
        if !kind.has_word("SOCK_STREAM") {
            return Err(Unsupported::new(
                "call",
                "socket of another kind than SOCK_STREAM",
            ));
        }
        if args.get(2).has_word("IPPROTO_UDP") {
            return failed("EPROTONOSUPPORT");
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
        let default = self.transport.addresses.local_port;
        let Some(socket) = self.socket_of(args.number(0)?) else {
            return failed("EBADF");
        };
        socket.port = Some(port_of(args.get(1)).unwrap_or(default));
        returned(0)
    }

    fn start_listening(&mut self, args: &Arguments<'_>) -> Called {
        let backlog = args.number(1)?.clamp(0, 4096) as usize;
        let port = self.transport.free_port();
        let Some(socket) = self.socket_of(args.number(0)?) else {
            return failed("EBADF");
        };
        if matches!(socket.state, SocketState::Open(_)) {
            return failed("EINVAL");
        }
        let port = *socket.port.get_or_insert(port);
        socket.state = SocketState::Listening;
        let options = socket.options.clone();
        let fd = args.number(0)?;
        let listening = self.transport.listening.entry(fd).or_default();
        listening.port = Some(port);
        listening.backlog = backlog;
        listening.options = options;
        returned(0)
    }

    fn connect(&mut self, args: &Arguments<'_>) -> Called {
        let fd = args.number(0)?;
        let remote_port = port_of(args.get(1)).unwrap_or(self.transport.addresses.remote_port);
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
                if options.fast_open_connect && self.transport.has_cookie() {
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
                    self.transport.offer_fast_open(index);
                }
                self.transport.pump(index);
                if options.nonblocking {
                    return failed("EINPROGRESS");
                }
                return self.start(Operation::Connect { fd }, None);
            }
        }
        let Some(index) = self.open_index(fd) else {
            return failed("EISCONN");
        };
        match self.transport.connections[index].tcp.state() {
            State::SynSent | State::SynReceived if self.is_nonblocking(fd) => failed("EALREADY"),
            State::SynSent | State::SynReceived => self.start(Operation::Connect { fd }, None),
            State::Closed => match self.transport.connections[index].take_failure() {
                Some(errno) => failed(errno),
                None => failed("ECONNABORTED"),
            },
            _ => failed("EISCONN"),
        }
    }

    /// `connect` to an address of no family: aborts the connection and resets the socket.
    fn disconnect(&mut self, fd: i64) -> Called {
        let at = self.transport.clock();
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
            let conn = &mut self.transport.connections[index];
            (conn.is_owned, conn.cork) = (false, false);
            conn.tcp.abort(at);
            self.transport.pump(index);
        }
        self.retry_calls();
        returned(0)
    }

    /// Opens a connection actively; its SYN has not left yet.
    pub fn open_actively(&mut self, fd: i64, remote_port: u16) -> Option<usize> {
        let free = self.transport.free_port();
        let socket = self.socket_of(fd)?;
        let (options, local_port) = (socket.options.clone(), socket.port.unwrap_or(free));
        let index = self.transport.connect(local_port, remote_port, &options);
        let socket = self.socket_of(fd)?;
        socket.state = SocketState::Open(index);
        socket.port = Some(local_port);
        Some(index)
    }

    fn attempt_connect(&mut self, fd: i64) -> Option<Returned> {
        let Some(index) = self.open_index(fd) else {
            return Some(Returned::failure("EBADF"));
        };
        let conn = &mut self.transport.connections[index];
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
        let Some(File::Socket(listener)) = self.files.get(&fd) else {
            return Some(Returned::failure("EBADF"));
        };
        let mut socket = listener.clone();
        let index = self.transport.accept(fd)?;
        socket.state = SocketState::Open(index);
        socket.options.nonblocking = nonblocking;
        let new = self.open(File::Socket(socket), wanted);
        self.transport.connections[index].is_owned = true;
        self.transport.pump(index);
        Some(Returned::success(new))
    }

    fn close(&mut self, fd: i64) -> Called {
        let Some(file) = self.files.remove(&fd) else {
            return failed("EBADF");
        };
        let File::Socket(socket) = file else {
            return returned(0);
        };
        let at = self.transport.clock();
        match socket.state {
            SocketState::Fresh => {}
            SocketState::Listening => self.transport.stop_listening(fd),
            SocketState::Open(index) => {
                let conn = &mut self.transport.connections[index];
                conn.release_held();
                (conn.is_owned, conn.cork) = (false, false);
                // Unread data is lost, which a reset reports (RFC 1122 section
                // 4.2.2.13). Lingering for no time requests the same.
                if conn.tcp.readable() > 0 || socket.options.linger == Some(0) {
                    conn.tcp.abort(at);
                } else {
                    conn.tcp.shutdown(at);
                }
                self.transport.pump(index);
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
        let at = self.transport.clock();
        let state = self.transport.connections[index].tcp.state();
        if matches!(state, State::Closed | State::SynSent) {
            return failed("ENOTCONN");
        }
        let conn = &mut self.transport.connections[index];
        conn.is_read_shutdown |= reading;
        if writing {
            conn.release_held();
            conn.tcp.shutdown(at);
            self.transport.pump(index);
        }
        self.retry_calls();
        returned(0)
    }
}

/// The port in an address: `{sa_family = AF_INET, sin_port = htons(8080), ...}`.
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
