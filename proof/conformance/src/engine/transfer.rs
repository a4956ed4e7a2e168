//! Calls that read and write.

use alloc::vec::Vec;

use gigatcp_tcp::events::State;

use super::arguments::{Arguments, Called, failed, returned};
use super::descriptor::File;
use super::host::Host;
use super::messages::{MAX_PIECES, left_to_read, message_with};
use super::waiting::{Operation, Reading, Writing};
use crate::ast::Value;
use crate::stack::{Progress, Returned, Unsupported};
use crate::symbols::{O_NONBLOCK, O_RDWR};

impl Host {
    pub fn read(&mut self, name: &str, args: &Arguments<'_>) -> Called {
        let (len, flags) = length_and_flags(name, args)?;
        let fd = args.number(0)?;
        if flags.has_word("MSG_ERRQUEUE") {
            return self.read_errors(fd, args, len);
        }
        if flags.has_word("MSG_TRUNC") {
            return Err(Unsupported::new("call", "MSG_TRUNC"));
        }
        check_flags(flags)?;
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
            fd,
            len,
            ..Reading::default()
        };
        if self.is_nonblocking(fd) || flags.has_word("MSG_DONTWAIT") {
            let done = self
                .attempt_read(&mut reading)
                .unwrap_or_else(|| match reading.got {
                    0 => Returned::failure("EAGAIN"),
                    got => Returned::success(got as i64),
                });
            return Ok(Progress::Returned(done));
        }
        self.start(Operation::Read(reading), None)
    }

    /// Reads the urgent byte, if it is not in line.
    fn read_urgent(&mut self, fd: i64) -> Called {
        let Some(index) = self.open_index(fd) else {
            return failed("ENOTCONN");
        };
        let inline = match self.files.get(&fd) {
            Some(File::Socket(socket)) => socket.options.urgent_inline,
            _ => None,
        }
        .unwrap_or(self.transport.setup.profile.segments.urgent_inline);
        let tcp = &mut self.transport.connections[index].tcp;
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
        let socket = self.socket_of(reading.fd);
        if socket.is_some_and(|socket| socket.awaits_first_write()) {
            return None;
        }
        let index = match self.connection_of(reading.fd, "ENOTCONN") {
            Ok(index) => index,
            Err(errno) => return Some(Returned::failure(errno)),
        };
        let now = self.transport.clock();
        let conn = &mut self.transport.connections[index];
        let wanted = reading.len - reading.got;
        let got = match reading.peek {
            true => (conn.tcp.readable() as usize).min(wanted),
            false => match conn.take(now, wanted) {
                Ok(got) => got,
                // The engine returned bytes that the peer did not send.
                Err(_) => return Some(Returned::failure("EIO")),
            },
        };
        reading.got += got;
        self.transport.pump(index);
        let conn = &mut self.transport.connections[index];
        let is_full = reading.got == reading.len || (reading.got > 0 && !reading.all);
        let is_over = conn.is_read_shutdown || conn.tcp.is_finished_reading();
        if is_full || (is_over && conn.tcp.readable() == 0) {
            if reading.got == 0
                && reading.len > 0
                && let Some(errno) = conn.take_failure()
            {
                return Some(Returned::failure(errno));
            }
            if reading.tells_left {
                // After the FIN its end can be read.
                let left = conn
                    .tcp
                    .readable()
                    .max(u64::from(conn.tcp.is_finished_reading()));
                reading.left = Some(left);
            }
            return Some(done(reading));
        }
        None
    }

    pub fn write(&mut self, name: &str, args: &Arguments<'_>) -> Called {
        let (len, flags) = length_and_flags(name, args)?;
        check_flags(flags)?;
        if args.get(1).name() == Some("NULL") && len > 0 {
            return failed("EFAULT");
        }
        let fd = args.number(0)?;
        let peer = args.get(4).name().filter(|_| name == "sendto");
        if self.refuses_fast_open(flags, peer) {
            return failed("EOPNOTSUPP");
        }
        if flags.has_word("MSG_FASTOPEN") && self.is_opening(fd) {
            return failed("EALREADY");
        }
        let names_peer = name == "sendto" && peer != Some("NULL");
        let socket = self.socket_of(fd);
        let zero_copy =
            flags.has_word("MSG_ZEROCOPY") && socket.is_some_and(|socket| socket.options.zero_copy);
        if let Some(port) = self.fast_connect_port(fd, flags, names_peer) {
            return self.fast_connect(fd, port, len, (flags, zero_copy));
        }
        let writing = Writing {
            fd,
            left: len,
            more: flags.has_word("MSG_MORE"),
            urgent: flags.has_word("MSG_OOB"),
            zero_copy,
            ends_record: flags.has_word("MSG_EOR"),
            cuts: match zero_copy && self.transport.setup.as_linux {
                true => cuts(args.get(1), len),
                false => Vec::new(),
            },
            ..Writing::default()
        };
        self.begin_write(writing, flags.has_word("MSG_DONTWAIT"))
    }

    /// Writes as much as fits; the rest waits, unless the call never waits.
    pub fn begin_write(&mut self, mut writing: Writing, never_waits: bool) -> Called {
        if never_waits || self.is_nonblocking(writing.fd) {
            let done = self
                .attempt_write(&mut writing)
                .unwrap_or_else(|| match writing.written {
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
        let index = match self.connection_of(writing.fd, "EPIPE") {
            Ok(index) => index,
            Err(errno) => return Some(Returned::failure(errno)),
        };
        let conn = &mut self.transport.connections[index];
        match conn.tcp.state() {
            // A Fast Open writes before the handshake is over (RFC 7413 section 4.2.2); an ordinary
            // write waits.
            State::SynReceived if conn.tcp.is_opened_fast() => {}
            State::SynSent | State::SynReceived => return None,
            State::Established | State::CloseWait => {}
            _ if writing.written > 0 && !writing.opens => {
                return Some(Returned::success(writing.written as i64));
            }
            _ => {
                let errno = conn.take_failure().unwrap_or("EPIPE");
                return Some(Returned::failure(errno));
            }
        }
        // Data that leaves makes room where `not_sent_lowat` bounds unsent data: the call
        // continues until no more is accepted.
        let (now, as_linux) = (self.transport.clock(), self.transport.setup.as_linux);
        loop {
            // Up to the next cut, after which a new packet begins.
            let behind = writing.cuts.last().copied().unwrap_or(0);
            let len = writing.left - behind;
            let conn = &mut self.transport.connections[index];
            let accepted = match writing.urgent {
                true => conn.feed_urgent(len),
                false => conn.feed(now, len, writing.more, as_linux),
            };
            writing.left -= accepted;
            writing.written += accepted;
            if writing.left == behind && writing.cuts.pop().is_some() {
                conn.release_held();
                conn.tcp.end_record();
                continue;
            }
            if writing.left == 0 {
                self.note_written(writing);
                if writing.ends_record {
                    let conn = &mut self.transport.connections[index];
                    conn.release_held();
                    conn.tcp.end_record();
                }
            }
            self.transport.pump(index);
            if writing.left == 0 {
                return Some(Returned::success(writing.written as i64));
            }
            if accepted == 0 {
                return None;
            }
        }
    }

    /// Connection of a descriptor. A socket without one has the error `not_open`.
    fn connection_of(&self, fd: i64, not_open: &'static str) -> Result<usize, &'static str> {
        match self.files.get(&fd) {
            Some(File::Socket(_)) => self.open_index(fd).ok_or(not_open),
            Some(_) => Err("EINVAL"),
            None => Err("EBADF"),
        }
    }

    /// Tells the error queue where the data of a finished call ends.
    pub fn note_written(&mut self, writing: &Writing) {
        if writing.written > 0
            && let Some(index) = self.open_index(writing.fd)
        {
            let conn = &mut self.transport.connections[index];
            let end = 1 + u64::from(conn.written);
            if writing.zero_copy {
                conn.errors.on_copied(end);
            }
            conn.errors.on_written(end);
        }
    }
}

/// The result of a finished read.
fn done(reading: &Reading) -> Returned {
    let returned = Returned::success(reading.got as i64);
    let Some(given) = &reading.message else {
        return returned;
    };
    let flags = ("msg_flags", Value::Integer(0));
    let message = match reading.left {
        Some(left) => message_with(given, [flags, ("msg_control", left_to_read(left))]),
        None => message_with(given, [flags]),
    };
    returned.output(1, message)
}

/// Rejects flags that are unknown.
fn check_flags(flags: &Value) -> Result<(), Unsupported> {
    let unknown = match flags {
        Value::Integer(number) => crate::symbols::unknown_message_flags(*number),
        _ => 0,
    };
    match unknown {
        0 => Ok(()),
        bits => Err(Unsupported::new("call", alloc::format!("flags {bits:#x}"))),
    }
}

/// Returns the length and the flags of a call that reads or writes.
fn length_and_flags<'a>(
    name: &str,
    args: &Arguments<'a>,
) -> Result<(usize, &'a Value), Unsupported> {
    let len = match name {
        "readv" | "writev" => vector_len(args.get(1)),
        // `{msg_iov(2)=[{..., 40}, {..., 20}]}`
        "recvmsg" | "sendmsg" => args.get(1).member("msg_iov").and_then(vector_len),
        _ => Some(args.number(2)? as usize),
    };
    let flags = match name {
        "read" | "write" | "readv" | "writev" => &Value::Integer(0),
        "recvmsg" | "sendmsg" => args.get(2),
        _ => args.get(3),
    };
    Ok((len.ok_or_else(|| args.odd(1))?, flags))
}

/// Numbers of bytes left where the pieces of a message of `len` bytes fill a packet, in reverse
/// order.
fn cuts(message: &Value, len: usize) -> Vec<usize> {
    let Some(Value::List(pieces)) = message.member("msg_iov") else {
        return Vec::new();
    };
    let mut left = len;
    let mut behind = Vec::new();
    let sizes = pieces.iter().filter_map(piece_len).filter(|size| *size > 0);
    for (count, size) in (1..).zip(sizes) {
        left = left.saturating_sub(size);
        if count % MAX_PIECES == 0 && left > 0 {
            behind.push(left);
        }
    }
    behind.reverse();
    behind
}

/// Length of `{..., 40}`.
fn piece_len(piece: &Value) -> Option<usize> {
    let Value::Struct(members) = piece else {
        return None;
    };
    usize::try_from(members.get(1)?.value.integer()?).ok()
}

/// Length of `[{..., 40}, {..., 20}]`.
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

impl Host {
    pub fn fcntl(&mut self, args: &Arguments<'_>) -> Called {
        let Some(socket) = self.socket_of(args.number(0)?) else {
            return failed("EBADF");
        };
        match args.get(1).name() {
            Some("F_GETFL") if socket.options.nonblocking => returned(O_RDWR | O_NONBLOCK),
            Some("F_GETFL") => returned(O_RDWR),
            Some("F_SETFL") => {
                socket.options.nonblocking = args.get(2).has_word("O_NONBLOCK");
                returned(0)
            }
            _ => Err(args.odd(1)),
        }
    }
}
