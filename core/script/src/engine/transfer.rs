//! Reading and writing.
//!
//! An application writes the stream's own octets ([`crate::data`]), so held data needs only a
//! count.

use gigatcp_events::State;
use gigatcp_units::Instant;

use alloc::vec::Vec;

use super::calls::{Arguments, Called, Operation, failed, returned};
use super::error_queue::{MOST_PIECES, left_to_read, message_with};
use super::host::{CORK_TIME, Conn, File, Host, SocketState};
use crate::ast::Value;
use crate::data;
use crate::stack::{Progress, Returned, Unsupported};

/// A read call.
#[derive(Clone, Debug)]
pub struct Reading {
    fd: i64,
    len: usize,
    got: usize,
    peek: bool,
    all: bool,
    /// The message of `recvmsg`, into which the results are written.
    message: Option<Value>,
    /// Whether it reports how much is left (`TCP_INQ`).
    tells_left: bool,
    left: Option<u64>,
}

/// A write call.
#[derive(Clone, Debug)]
pub struct Writing {
    fd: i64,
    left: usize,
    written: usize,
    more: bool,
    /// Whether the last octet is urgent.
    urgent: bool,
    /// Whether `MSG_ZEROCOPY` is set.
    zero_copy: bool,
    /// Whether `MSG_EOR` is set.
    ends_record: bool,
    /// Whether it opened the connection: the handshake's ACK is sent with its data.
    opens: bool,
    /// Octets left at each point where a Linux packet is full of pieces. The first point reached is
    /// the last entry.
    cuts: Vec<usize>,
}

impl Host {
    pub fn read(&mut self, name: &str, args: &Arguments<'_>) -> Called {
        let (len, flags) = match name {
            "read" => (args.number(2)? as usize, &Value::Integer(0)),
            "readv" => (
                vector_len(args.get(1)).ok_or_else(|| args.odd(1))?,
                &Value::Integer(0),
            ),
            "recvmsg" => (
                message_len(args.get(1)).ok_or_else(|| args.odd(1))?,
                args.get(2),
            ),
            _ => (args.number(2)? as usize, args.get(3)),
        };
        let fd = args.number(0)?;
        if flags.has_word("MSG_ERRQUEUE") {
            return self.read_errors(fd, args, len);
        }
        forbid(flags, &["MSG_TRUNC"])?;
        let socket = self.socket_of(fd);
        let tells_left = socket.is_some_and(|socket| socket.options.tells_left);
        if !tells_left
            && let Some(control) = args.get(1).member("msg_control")
            && !matches!(control, Value::List(list) if list.is_empty())
            && *control != Value::Ellipsis
        {
            return Err(Unsupported::new("call", "recvmsg with control messages"));
        }
        if args.get(1).name() == Some("NULL") && len > 0 {
            return failed("EFAULT");
        }
        if flags.has_word("MSG_OOB") {
            return self.read_urgent(fd);
        }
        let mut reading = Reading {
            peek: flags.has_word("MSG_PEEK"),
            all: flags.has_word("MSG_WAITALL"),
            message: (name == "recvmsg").then(|| args.get(1).clone()),
            tells_left,
            ..Reading::new(fd, len)
        };
        if self.is_nonblocking(fd) || flags.has_word("MSG_DONTWAIT") {
            let done = self.attempt_read(&mut reading);
            let done = done.unwrap_or_else(|| match reading.got {
                0 => Returned::failure("EAGAIN"),
                got => Returned::success(got as i64),
            });
            return Ok(Progress::Returned(done));
        }
        self.start(Operation::Read(reading), None)
    }

    /// Reads the urgent octet, if it is not in line.
    fn read_urgent(&mut self, fd: i64) -> Called {
        let Some(index) = self.open_index(fd) else {
            return failed("ENOTCONN");
        };
        let inline = match self.files.get(&fd) {
            Some(File::Socket(socket)) => socket.options.urgent_inline,
            _ => None,
        };
        let inline = inline.unwrap_or(self.setup.profile.segments.urgent_inline);
        let tcp = &mut self.connections[index].tcp;
        let is_awaited = tcp
            .urgent_ahead()
            .is_some_and(|ahead| ahead > tcp.readable());
        match tcp.read_urgent() {
            Some(octet) => returned(octet.len() as i64),
            None if is_awaited && !inline => failed("EAGAIN"),
            None => failed("EINVAL"),
        }
    }

    pub fn attempt_read(&mut self, reading: &mut Reading) -> Option<Returned> {
        let index = match self.files.get(&reading.fd) {
            Some(File::Socket(socket)) => match socket.state {
                SocketState::Open(index) => index,
                _ => return Some(Returned::failure("ENOTCONN")),
            },
            Some(_) => return Some(Returned::failure("EINVAL")),
            None => return Some(Returned::failure("EBADF")),
        };
        let now = self.clock();
        let conn = &mut self.connections[index];
        let wanted = reading.len - reading.got;
        let got = match reading.peek {
            true => (conn.tcp.readable() as usize).min(wanted),
            false => match conn.take(now, wanted) {
                Ok(got) => got,
                // The engine returned octets that the peer did not send.
                Err(_) => return Some(Returned::failure("EIO")),
            },
        };
        reading.got += got;
        self.pump(index);
        let conn = &mut self.connections[index];
        let full = reading.got == reading.len || (reading.got > 0 && !reading.all);
        let is_over = conn.deaf || conn.tcp.is_finished_reading();
        if full || (is_over && conn.tcp.readable() == 0) {
            if reading.got == 0
                && reading.len > 0
                && let Some(errno) = conn.take_failure()
            {
                return Some(Returned::failure(errno));
            }
            if reading.tells_left {
                // After the FIN, the end of file can be read.
                let left = conn.tcp.readable();
                let left = left.max(u64::from(conn.tcp.is_finished_reading()));
                reading.left = Some(left);
            }
            return Some(reading.done());
        }
        None
    }

    pub fn write(&mut self, name: &str, args: &Arguments<'_>) -> Called {
        let (len, flags) = match name {
            "write" => (args.number(2)? as usize, &Value::Integer(0)),
            "writev" => (
                vector_len(args.get(1)).ok_or_else(|| args.odd(1))?,
                &Value::Integer(0),
            ),
            "sendmsg" => (
                message_len(args.get(1)).ok_or_else(|| args.odd(1))?,
                args.get(2),
            ),
            _ => (args.number(2)? as usize, args.get(3)),
        };
        forbid(flags, &[])?;
        if args.get(1).name() == Some("NULL") && len > 0 {
            return failed("EFAULT");
        }
        let fd = args.number(0)?;
        let socket = self.socket_of(fd);
        let zero_copy =
            flags.has_word("MSG_ZEROCOPY") && socket.is_some_and(|socket| socket.options.zero_copy);
        if let Some(port) = self.fast_connect_port(fd, flags) {
            return self.fast_connect(fd, port, len, (flags, zero_copy));
        }
        let writing = Writing {
            fd,
            left: len,
            written: 0,
            more: flags.has_word("MSG_MORE"),
            urgent: flags.has_word("MSG_OOB"),
            zero_copy,
            ends_record: flags.has_word("MSG_EOR"),
            opens: false,
            cuts: match zero_copy && self.setup.as_linux {
                true => cuts(args.get(1), len),
                false => Vec::new(),
            },
        };
        self.begin_write(writing, flags.has_word("MSG_DONTWAIT"))
    }

    /// Writes as much as possible. The rest waits, unless the call must not block.
    pub fn begin_write(&mut self, mut writing: Writing, never_waits: bool) -> Called {
        if never_waits || self.is_nonblocking(writing.fd) {
            let done = self.attempt_write(&mut writing);
            let done = done.unwrap_or_else(|| match writing.written {
                0 => Returned::failure("EAGAIN"),
                written => {
                    self.note_written(&writing);
                    Returned::success(written as i64)
                }
            });
            return Ok(Progress::Returned(done));
        }
        self.start(Operation::Write(writing), None)
    }

    pub fn attempt_write(&mut self, writing: &mut Writing) -> Option<Returned> {
        let index = match self.files.get(&writing.fd) {
            Some(File::Socket(socket)) => match socket.state {
                SocketState::Open(index) => index,
                _ => return Some(Returned::failure("EPIPE")),
            },
            Some(_) => return Some(Returned::failure("EINVAL")),
            None => return Some(Returned::failure("EBADF")),
        };
        let conn = &mut self.connections[index];
        match conn.tcp.state() {
            // A Fast Open writes before the handshake is over (RFC 7413 section 4.2.2); an ordinary
            // write waits.
            State::SynReceived if conn.tcp.is_opened_fast() => {}
            State::SynSent | State::SynReceived => return None,
            State::Established | State::CloseWait => {}
            _ if writing.written > 0 => return Some(Returned::success(writing.written as i64)),
            _ => {
                let errno = conn.take_failure().unwrap_or("EPIPE");
                return Some(Returned::failure(errno));
            }
        }
        // Output that leaves immediately frees space if `not_sent_lowat` limits unsent data. The
        // call continues until nothing more is accepted.
        loop {
            // Up to the next cut, after which a new packet begins.
            let behind = writing.cuts.last().copied().unwrap_or(0);
            let len = writing.left - behind;
            let accepted = match writing.urgent {
                true => self.feed_urgent(index, len),
                false => self.feed(index, len, writing.more),
            };
            writing.left -= accepted;
            writing.written += accepted;
            if writing.left == behind && writing.cuts.pop().is_some() {
                self.release_held(index);
                self.connections[index].tcp.end_record();
                continue;
            }
            if writing.left == 0 {
                self.note_written(writing);
                if writing.ends_record {
                    self.release_held(index);
                    self.connections[index].tcp.end_record();
                }
            }
            self.pump(index);
            if writing.left == 0 {
                return Some(Returned::success(writing.written as i64));
            }
            if accepted == 0 {
                return None;
            }
        }
    }

    /// Records that a call has finished writing.
    pub fn note_written(&mut self, writing: &Writing) {
        if writing.written > 0
            && let Some(index) = self.open_index(writing.fd)
        {
            let conn = &mut self.connections[index];
            let end = 1 + u64::from(conn.written);
            if writing.zero_copy {
                conn.errors.on_copied(end);
            }
            conn.errors.on_written(end);
        }
    }

    /// Accepts up to `len` octets from the application; returns the number.
    pub fn feed(&mut self, index: usize, len: usize, more: bool) -> usize {
        let (corked, limit) = match self.connections[index]
            .fd
            .and_then(|fd| self.files.get(&fd))
        {
            Some(File::Socket(socket)) => (socket.options.cork, socket.options.late_send_buffer),
            _ => (false, None),
        };
        let (now, as_linux) = (self.clock(), self.setup.as_linux);
        let conn = &mut self.connections[index];
        let room = conn.room(limit);
        let accepted = len.min(room);
        conn.tcp.set_write_blocked(accepted < len);
        conn.held += accepted as u32;
        conn.written = conn.written.wrapping_add(accepted as u32);
        if !corked && !more {
            self.release_held(index);
            return accepted;
        }
        // Full segments leave, the rest waits for more.
        let conn = &mut self.connections[index];
        let smss = u64::from(conn.tcp.info().smss.max(1));
        let unsent = conn.tcp.unsent();
        let whole = (unsent + u64::from(conn.held)) / smss * smss;
        conn.release(whole.saturating_sub(unsent) as u32);
        if conn.held == 0 {
            conn.uncork_at = Instant::FAR_FUTURE;
        } else if conn.uncork_at == Instant::FAR_FUTURE {
            // Linux's corked data leaves at a check by the retransmission timer whether a window
            // has opened; its manual says 200 ms.
            let wait = match as_linux {
                true => conn.tcp.info().rto,
                false => CORK_TIME,
            };
            conn.uncork_at = now + wait;
        }
        accepted
    }

    /// Accepts octets of which the last is urgent; held data goes first.
    fn feed_urgent(&mut self, index: usize, len: usize) -> usize {
        self.release_held(index);
        let conn = &mut self.connections[index];
        let offset = 1_u32.wrapping_add(conn.written);
        let accepted = conn
            .tcp
            .write_urgent(data::octets(offset, len))
            .unwrap_or(0);
        conn.written = conn.written.wrapping_add(accepted as u32);
        accepted
    }

    /// Releases held data.
    pub fn release_held(&mut self, index: usize) {
        let conn = &mut self.connections[index];
        conn.uncork_at = Instant::FAR_FUTURE;
        conn.release(conn.held);
    }
}

impl Writing {
    /// Returns an ordinary write.
    pub fn new(fd: i64, len: usize, zero_copy: bool) -> Self {
        Self {
            fd,
            left: len,
            written: 0,
            more: false,
            urgent: false,
            zero_copy,
            ends_record: false,
            opens: false,
            cuts: Vec::new(),
        }
    }

    /// Returns a write that waits for the handshake it started.
    pub fn opening(self) -> Self {
        Self {
            opens: true,
            ..self
        }
    }

    /// Returns whether it opened the connection of `fd`.
    pub fn is_opening(&self, fd: i64) -> bool {
        self.opens && self.fd == fd
    }

    /// Returns it with all of its data written.
    pub fn finished(self) -> Self {
        Self {
            written: self.left,
            ..self
        }
    }
}

impl Reading {
    /// Returns an ordinary read.
    pub fn new(fd: i64, len: usize) -> Self {
        Self {
            fd,
            len,
            got: 0,
            peek: false,
            all: false,
            message: None,
            tells_left: false,
            left: None,
        }
    }

    fn done(&self) -> Returned {
        let returned = Returned::success(self.got as i64);
        let Some(given) = &self.message else {
            return returned;
        };
        let flags = ("msg_flags", Value::Integer(0));
        let message = match self.left {
            Some(left) => message_with(given, [flags, ("msg_control", left_to_read(left))]),
            None => message_with(given, [flags]),
        };
        returned.output(1, message)
    }
}

impl Conn {
    /// Reads up to `max` octets, or to an urgent mark. The index of an octet that differs from the
    /// stream is returned as an error.
    fn take(&mut self, now: Instant, max: usize) -> Result<usize, usize> {
        let mut got = 0;
        while got < max
            && let Some(piece) = self.tcp.read(now, max - got)
        {
            let offset = 1_u32.wrapping_add(self.read);
            if let Some(at) = data::first_difference(offset, &piece) {
                // An urgent octet was read out of line: the next octet follows at its place.
                let next = offset.wrapping_add(at as u32).wrapping_add(1);
                let is_aside = data::first_difference(next, &piece[at..]).is_none();
                if !self.has_urgent || !is_aside {
                    return Err(at);
                }
                self.read = self.read.wrapping_add(1);
            }
            got += piece.len();
            self.read = self.read.wrapping_add(piece.len() as u32);
            if self.tcp.is_at_urgent_mark() {
                break;
            }
        }
        Ok(got)
    }

    /// Passes `n` of the held octets to the engine.
    fn release(&mut self, n: u32) {
        debug_assert!(
            n <= self.held,
            "no more is handed over than is held back: {n} of {}",
            self.held
        );
        if n == 0 {
            return;
        }
        let offset = 1_u32.wrapping_add(self.written).wrapping_sub(self.held);
        let accepted = self
            .tcp
            .write(data::octets(offset, n as usize))
            .unwrap_or(0);
        self.held -= accepted as u32;
    }

    /// Returns the octets the application may write now. `limit` is a send buffer requested after
    /// the connection was opened.
    pub fn room(&self, limit: Option<u64>) -> usize {
        if self.counts_packets {
            let room = self.tcp.send_space().saturating_sub(u64::from(self.held));
            return usize::try_from(room).unwrap_or(usize::MAX);
        }
        let used = self.tcp.send_capacity() - self.tcp.send_space();
        let capacity = limit.map_or(self.tcp.send_capacity(), |limit| {
            limit.min(self.tcp.send_capacity())
        });
        let room = capacity.saturating_sub(used + u64::from(self.held));
        usize::try_from(room).unwrap_or(usize::MAX)
    }
}

fn forbid(flags: &Value, words: &[&str]) -> Result<(), Unsupported> {
    if let Some(word) = words.iter().find(|word| flags.has_word(word)) {
        return Err(Unsupported::new("call", *word));
    }
    let unknown = match flags {
        Value::Integer(number) => crate::symbols::unknown_message_flags(*number),
        _ => 0,
    };
    match unknown {
        0 => Ok(()),
        bits => Err(Unsupported::new("call", alloc::format!("flags {bits:#x}"))),
    }
}

/// Returns the length of `{msg_iov(2)=[{..., 40}, {..., 20}]}`.
fn message_len(message: &Value) -> Option<usize> {
    vector_len(message.member("msg_iov")?)
}

/// Returns where the pieces of a message of `len` octets fill packets. Each entry is the number of
/// octets left after a packet; the first one reached is at the end.
fn cuts(message: &Value, len: usize) -> Vec<usize> {
    let Some(Value::List(pieces)) = message.member("msg_iov") else {
        return Vec::new();
    };
    let mut left = len;
    let mut behind = Vec::new();
    let sizes = pieces.iter().filter_map(piece_len).filter(|size| *size > 0);
    for (count, size) in (1..).zip(sizes) {
        left = left.saturating_sub(size);
        if count % MOST_PIECES == 0 && left > 0 {
            behind.push(left);
        }
    }
    behind.reverse();
    behind
}

/// Returns the length of `{..., 40}`.
fn piece_len(piece: &Value) -> Option<usize> {
    let Value::Struct(members) = piece else {
        return None;
    };
    usize::try_from(members.get(1)?.value.integer()?).ok()
}

/// Returns the length of `[{..., 40}, {..., 20}]`.
fn vector_len(vector: &Value) -> Option<usize> {
    let Value::List(pieces) = vector else {
        return None;
    };
    let mut sum: usize = 0;
    for piece in pieces {
        sum = sum.checked_add(piece_len(piece)?)?;
    }
    Some(sum)
}

/// Returns the flags that [`Host::fcntl`] reports.
pub fn flags_of(nonblocking: bool) -> i64 {
    use crate::symbols::open::{O_NONBLOCK, O_RDWR};
    if nonblocking {
        O_RDWR | O_NONBLOCK
    } else {
        O_RDWR
    }
}

impl Host {
    pub fn fcntl(&mut self, args: &Arguments<'_>) -> Called {
        let Some(socket) = self.socket_of(args.number(0)?) else {
            return failed("EBADF");
        };
        match args.get(1).name() {
            Some("F_GETFL") => super::calls::returned(flags_of(socket.options.nonblocking)),
            Some("F_SETFL") => {
                socket.options.nonblocking = args.get(2).has_word("O_NONBLOCK");
                super::calls::returned(0)
            }
            _ => Err(args.odd(1)),
        }
    }
}
