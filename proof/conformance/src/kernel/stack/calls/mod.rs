//! Makes the calls of scripts, by name: converts them to calls of the kernel, and its answers back.
//!
//! | file | calls |
//! |---|---|
//! | `opening.rs` | socket, bind, listen, accept, connect, shutdown, close, fcntl, pipe |
//! | `transfer.rs` | read, write, send, recv and their relatives, sendfile, splice |
//! | `messages.rs` | sendmsg, recvmsg, control data |
//! | `options.rs` | setsockopt, getsockopt, ioctl |
//! | `readiness.rs` | poll, epoll |
//!
//! Out of scope: calls that reach outside the namespace, such as `open` of
//! the machine's files.

mod messages;
mod opening;
mod options;
mod readiness;
mod transfer;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::ast::Value;
use crate::data;
use crate::stack::{Returned, Unsupported};

use super::arguments::Names;
use super::workers::Task;
use crate::kernel::constants;
use crate::kernel::sys::socket::{self, Buffer, Message};

/// Answer of the kernel, not yet in the form of the script.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A number.
    Number(i64),
    /// A new descriptor, to be owned by the script.
    Opened(RawFd),
    /// A new descriptor from `accept`, and the address of its peer.
    Accepted(RawFd, Option<SocketAddr>),
    /// Both ends of a pipe.
    Ends([RawFd; 2]),
    /// An address.
    Address(Option<SocketAddr>),
    /// Received bytes and their source.
    Octets(Vec<u8>, Option<SocketAddr>),
    /// A received message.
    Message(Message),
    /// The value of an option.
    Setting(Vec<u8>),
    /// Number of ready descriptors, and readiness of each.
    Polled(i32, Vec<i16>),
    /// Events and data of ready descriptors.
    Events(Vec<(u32, u64)>),
}

impl Answer {
    /// Closes the descriptor of an unused answer.
    pub(crate) fn discard(self) {
        let opened = match self {
            Self::Opened(fd) | Self::Accepted(fd, _) => vec![fd],
            Self::Ends(ends) => ends.to_vec(),
            _ => vec![],
        };
        for fd in opened {
            let _ = socket::close(fd);
        }
    }
}

/// Conditions under which a call blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocks {
    /// Never.
    Never,
    /// Unless the descriptor is ready for these events.
    UnlessReady(RawFd, i16),
    /// Unless the descriptor is non-blocking.
    UnlessNonblocking(RawFd),
    /// Possibly, independent of readiness.
    Perhaps,
}

impl Blocks {
    /// Condition of a call with a timeout; zero: it only looks.
    const fn within(timeout: i32) -> Self {
        match timeout {
            0 => Self::Never,
            _ => Self::Perhaps,
        }
    }
}

/// A call ready to be made.
pub(crate) struct Prepared {
    pub(crate) task: Task,
    pub(crate) blocks: Blocks,
    /// Memory that the kernel may read after the call, as with `MSG_ZEROCOPY`. It is kept until the
    /// end of the script.
    pub(crate) keep: Vec<Buffer>,
}

impl Prepared {
    fn new(blocks: Blocks, task: impl FnOnce() -> io::Result<Answer> + Send + 'static) -> Self {
        Self {
            task: Box::new(task),
            blocks,
            keep: Vec::new(),
        }
    }

    /// Keeps memory beyond the call.
    fn keeping(mut self, keep: Vec<Buffer>) -> Self {
        self.keep = keep;
        self
    }

    /// A non-blocking call with a number as its result.
    fn number<N: Into<i64>>(task: impl FnOnce() -> io::Result<N> + Send + 'static) -> Self {
        Self::new(Blocks::Never, move || Ok(Answer::Number(task()?.into())))
    }

    /// A call with a number of bytes as its result.
    fn count(blocks: Blocks, task: impl FnOnce() -> io::Result<usize> + Send + 'static) -> Self {
        Self::new(blocks, move || Ok(Answer::Number(task()? as i64)))
    }
}

/// Lowest descriptor of a script: the first three are a program's standard ones.
const LOWEST: i64 = 3;

/// A descriptor that no process has. It replaces unknown descriptors of a script, so that the
/// kernel returns EBADF.
const INVALID_FD: RawFd = i32::MAX;

/// A script's descriptor.
#[derive(Clone, Copy, Debug)]
struct Open {
    live: RawFd,
    /// Bytes written to it so far: the stream position of the next ones.
    written: u32,
}

/// The script's descriptors. Open ones are closed with the table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    open: BTreeMap<i64, Open>,
    /// Open descriptors whose numbers the script has reused. The script cannot reach them.
    shadowed: Vec<RawFd>,
}

impl Table {
    /// Kernel's descriptor for a script's.
    pub(crate) fn live(&self, script: i64) -> RawFd {
        self.open.get(&script).map_or(INVALID_FD, |open| open.live)
    }

    /// Adds a new descriptor, under the script's number or the lowest free one. A script may reuse
    /// a number that it has not closed.
    fn insert(&mut self, live: RawFd, wanted: Option<i64>) -> i64 {
        let is_free = |number: &i64| !self.open.contains_key(number);
        let script = wanted
            .filter(|number| *number >= 0)
            .unwrap_or_else(|| (LOWEST..).find(is_free).unwrap_or(LOWEST));
        let before = self.open.insert(script, Open { live, written: 1 });
        self.shadowed.extend(before.map(|open| open.live));
        script
    }

    /// Removes a descriptor that the caller is about to close. Its number may be reused a moment
    /// later.
    pub(crate) fn give_up(&mut self, script: i64) {
        self.open.remove(&script);
    }

    fn wrote(&mut self, script: i64, octets: i64) {
        if let Some(open) = self.open.get_mut(&script) {
            open.written = open.written.wrapping_add(octets as u32);
        }
    }

    fn begin_stream(&mut self, script: i64) {
        if let Some(open) = self.open.get_mut(&script) {
            open.written = 1;
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let open = self.open.values().map(|open| open.live);
        for live in open.chain(self.shadowed.iter().copied()) {
            let _ = socket::close(live);
        }
    }
}

/// State that calls depend on.
pub(crate) struct SyscallContext<'a> {
    pub(crate) names: &'a Names,
    pub(crate) table: &'a Table,
    /// Address that `bind(3, ..., ...)` denotes.
    pub(crate) local: SocketAddr,
    /// Address that `connect(3, ..., ...)` denotes.
    pub(crate) remote: SocketAddr,
    /// Whether sockets are IPv6 and reach IPv4 by mapped addresses.
    pub(crate) is_mapped: bool,
    /// Congestion control of new sockets, if it cannot be the namespace's default.
    pub(crate) congestion: Option<&'a str>,
    /// Real-time clock at script time zero.
    pub(crate) real_zero: i64,
    /// Tolerance of times, in nanoseconds.
    pub(crate) tolerance: i64,
}

/// A call of the script.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: &'a [Value],
    pub(crate) around: &'a SyscallContext<'a>,
}

impl<'a> Arguments<'a> {
    fn value(&self, index: usize) -> Result<&'a Value, Unsupported> {
        self.values.get(index).ok_or_else(|| {
            let what = format!("{} with {} arguments", self.name, self.values.len());
            Unsupported::new("call", what)
        })
    }

    fn number(&self, index: usize) -> Result<i64, Unsupported> {
        self.around.names.number(self.value(index)?)
    }

    fn int(&self, index: usize) -> Result<i32, Unsupported> {
        self.around.names.int(self.value(index)?)
    }

    /// Kernel's descriptor for the script's in that argument.
    fn fd(&self, index: usize) -> Result<RawFd, Unsupported> {
        Ok(self.around.table.live(self.number(index)?))
    }

    /// A length; scripts have none beyond 32 bits.
    fn length(&self, index: usize) -> Result<usize, Unsupported> {
        let length = self.number(index)?;
        u32::try_from(length)
            .map(|length| length as usize)
            .map_err(|_| Unsupported::new("argument", format!("a length of {length}")))
    }

    /// Bytes that a call writes: the script's, or the stream's next. `skipped` bytes of the same
    /// call precede them.
    fn octets(&self, value: &Value, length: usize, skipped: u32) -> Result<Buffer, Unsupported> {
        let octets = match value {
            Value::Name(name) if name == "NULL" => return Ok(Buffer::Nowhere(length)),
            Value::Text(text) => {
                let mut octets = text.clone();
                octets.resize(length, 0);
                octets
            }
            Value::Ellipsis => {
                let open = self.around.table.open.get(&self.number(0)?);
                let from = open.map_or(1, |open| open.written).wrapping_add(skipped);
                data::octets(from, length).to_vec()
            }
            _ => {
                let what = format!("a buffer of {value:?}");
                return Err(Unsupported::new("argument", what));
            }
        };
        Ok(Buffer::Octets(Arc::new(octets)))
    }

    /// Whether a call reads into the null address.
    fn reads_nowhere(&self) -> bool {
        let buffer = self.values.get(1);
        buffer.is_some_and(|buffer| buffer.name() == Some("NULL"))
    }
}

/// Converts a script's call to a kernel call.
pub(crate) fn prepare(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    match call.name {
        "socket" | "bind" | "listen" | "accept" | "accept4" | "connect" | "shutdown" | "close"
        | "fcntl" | "pipe" | "getsockname" | "getpeername" => opening::prepare(call),
        "read" | "write" | "readv" | "writev" | "send" | "sendto" | "recv" | "recvfrom"
        | "splice" => transfer::prepare(call),
        "sendmsg" | "recvmsg" => messages::prepare(call),
        "setsockopt" | "getsockopt" | "ioctl" => options::prepare(call),
        "poll" | "epoll_create" | "epoll_create1" | "epoll_ctl" | "epoll_wait" => {
            readiness::prepare(call)
        }
        _ => Err(Unsupported::new("call", call.name)),
    }
}

/// Change of the script's descriptors by a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Opened(RawFd),
    OpenedTwo([RawFd; 2]),
    Wrote(i64, i64),
    NewStream(i64),
}

/// An answer in the form of the script.
pub(crate) struct Finished {
    pub(crate) returned: Returned,
    pub(crate) change: Option<Change>,
}

/// Converts the kernel's answer to the form of the script.
pub(crate) fn finish(call: &Arguments<'_>, answer: io::Result<Answer>) -> Finished {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return failed(&error),
    };
    let script_fd = call.number(0).unwrap_or(-1);
    let mut change = None;
    let returned = match answer {
        Answer::Opened(fd) => {
            change = Some(Change::Opened(fd));
            Returned::success(-1)
        }
        Answer::Accepted(fd, from) => {
            change = Some(Change::Opened(fd));
            opening::finish_accept(call, from)
        }
        Answer::Ends(ends) => {
            change = Some(Change::OpenedTwo(ends));
            Returned::success(0)
        }
        Answer::Address(address) => opening::finish_address(call, address),
        Answer::Octets(octets, from) => transfer::finish_read(call, octets, from),
        Answer::Message(message) => messages::finish_receive(call, &message),
        Answer::Setting(octets) => options::finish_query(call, &octets),
        Answer::Polled(ready, each) => readiness::finish_poll(call, ready, &each),
        Answer::Events(events) => readiness::finish_epoll(call, &events),
        Answer::Number(number) => {
            change = match call.name {
                "connect" => Some(Change::NewStream(script_fd)),
                "write" | "writev" | "send" | "sendto" | "sendmsg" => {
                    Some(Change::Wrote(script_fd, number))
                }
                _ => None,
            };
            options::finish_number(call, number)
        }
    };
    Finished { returned, change }
}

/// Answer of a failed call: -1 and the name of the error.
fn failed(error: &io::Error) -> Finished {
    let name = match error.raw_os_error() {
        Some(number) => constants::error_name(number),
        None => error.to_string(),
    };
    Finished {
        returned: Returned::failure(&name),
        change: None,
    }
}

impl Table {
    /// Applies a change of descriptors; returns the descriptors that it opened.
    pub(crate) fn apply(&mut self, change: Change, wanted: Option<i64>) -> Option<Vec<i64>> {
        match change {
            Change::Opened(fd) => return Some(vec![self.insert(fd, wanted)]),
            Change::OpenedTwo(ends) => {
                return Some(ends.map(|fd| self.insert(fd, None)).to_vec());
            }
            Change::Wrote(script, octets) => self.wrote(script, octets),
            Change::NewStream(script) => self.begin_stream(script),
        }
        None
    }
}
