//! The host of a script: descriptors and the calls that wait, above the [`Transport`].

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::arguments::Called;
use super::descriptor::{File, Socket, SocketState};
use super::settings::Setup;
use super::transport::Transport;
use super::waiting::{Operation, Waiting};
use crate::packet::Packet;
use crate::stack::{Addresses, CallId, Progress, Returned, Sent, Unsupported};

/// Descriptors from here on are those of files whose number another file took.
const UNNAMED: i64 = 1 << 20;

/// The host of a script.
#[derive(Debug, Default)]
pub struct Host {
    pub transport: Transport,
    pub files: BTreeMap<i64, File>,
    /// Calls that wait.
    waiting: Vec<Waiting>,
    next_call: u32,
    /// Results of calls that waited, and when they returned.
    done: BTreeMap<u32, (Instant, Returned)>,
    /// Message of the last command if it failed.
    pub command_failed: Option<String>,
    /// Values of counters when `nstat` last printed them.
    pub counters_printed: BTreeMap<&'static str, u64>,
    /// Bytes in each pipe.
    pub pipes: Vec<u64>,
    /// Text of the `defaults.sh` that the script calls.
    pub defaults: Option<String>,
    /// Files created by commands, by name, and their sizes.
    pub disk: BTreeMap<String, u64>,
}

impl Host {
    pub fn new(setup: Setup, addresses: Addresses) -> Self {
        Self {
            transport: Transport::new(setup, addresses),
            ..Self::default()
        }
    }

    pub fn wait_until(&mut self, at: Instant) {
        while self.fire_next(at) {}
        self.transport.advance_to(at);
    }

    pub fn next_sent(&mut self, latest: Instant) -> Option<Sent> {
        while self.transport.sent.is_empty() && self.fire_next(latest) {}
        if self.transport.sent.is_empty() {
            self.transport.advance_to(latest);
        }
        self.transport.sent.pop_front()
    }

    /// Runs the next timer that expires by `latest` and returns whether there was one.
    fn fire_next(&mut self, latest: Instant) -> bool {
        let deadlines = self.waiting.iter().map(|waiting| waiting.deadline);
        let deadline = deadlines.min().unwrap_or(Instant::FAR_FUTURE);
        let first = self.transport.next_timer().min(deadline);
        if !Transport::is_due(first, latest) {
            return false;
        }
        self.transport.handle_timeout(first);
        self.retry_calls();
        true
    }

    pub fn inject(&mut self, packet: &Packet) -> Result<(), Unsupported> {
        if let Some(index) = self.transport.inject(packet)? {
            // The data of a write that opened the connection is at hand: the handshake's ACK
            // rides on it (Linux `sk_write_pending`).
            if let Some(left) = self.left_to_opener(index) {
                if left > 0 && self.transport.setup.as_linux {
                    self.transport.connections[index].tcp.set_interactive();
                }
                self.retry_calls();
            }
            self.transport.pump(index);
        }
        self.retry_calls();
        Ok(())
    }

    // Calls that wait.

    /// Runs the operation, or lets it wait.
    pub fn start(&mut self, mut operation: Operation, timeout: Option<Duration>) -> Called {
        if let Some(done) = self.attempt(&mut operation) {
            return Ok(Progress::Returned(done));
        }
        let id = CallId(self.next_call);
        self.next_call += 1;
        let clock = self.transport.clock();
        let deadline = timeout.map_or(Instant::FAR_FUTURE, |timeout| clock + timeout);
        self.waiting.push(Waiting {
            id,
            operation,
            deadline,
        });
        Ok(Progress::Blocked(id))
    }

    /// Tries the calls that wait.
    pub fn retry_calls(&mut self) {
        let (now, clock) = (self.transport.now(), self.transport.clock());
        for mut waiting in core::mem::take(&mut self.waiting) {
            let done = self.attempt(&mut waiting.operation).or_else(|| {
                let over = waiting.deadline <= clock;
                over.then(|| Returned::success(0))
            });
            match done {
                Some(returned) => {
                    self.done.insert(waiting.id.0, (now, returned));
                }
                None => self.waiting.push(waiting),
            }
        }
    }

    pub fn take_done(&mut self, call: CallId) -> Option<(Instant, Returned)> {
        self.done.remove(&call.0)
    }

    /// The bytes left to a call that opened the connection by writing, if it waits.
    fn left_to_opener(&self, index: usize) -> Option<usize> {
        self.waiting
            .iter()
            .find_map(|waiting| match &waiting.operation {
                Operation::Write(writing) => {
                    let opens = writing.opens && self.open_index(writing.fd) == Some(index);
                    opens.then_some(writing.left)
                }
                _ => None,
            })
    }

    // Descriptors.

    /// The socket of a descriptor.
    pub fn socket_of(&mut self, fd: i64) -> Option<&mut Socket> {
        match self.files.get_mut(&fd) {
            Some(File::Socket(socket)) => Some(socket),
            _ => None,
        }
    }

    /// The connection of a descriptor.
    pub fn open_index(&self, fd: i64) -> Option<usize> {
        match self.files.get(&fd) {
            Some(File::Socket(socket)) => match socket.state {
                SocketState::Open(index) => Some(index),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether calls on this descriptor never wait.
    pub fn is_nonblocking(&self, fd: i64) -> bool {
        matches!(self.files.get(&fd), Some(File::Socket(socket)) if socket.options.nonblocking)
    }

    /// Adds a descriptor, under the number in the script.
    pub fn open(&mut self, file: File, wanted: Option<i64>) -> i64 {
        let fd = wanted
            .filter(|fd| *fd >= 0)
            .unwrap_or_else(|| self.free_number(3));
        if let Some(before) = self.files.remove(&fd) {
            // The script reuses a number: the file that had it stays open under another, which
            // no script uses.
            let unnamed = self.free_number(UNNAMED);
            if let Some(listening) = self.transport.listening.remove(&fd) {
                self.transport.listening.insert(unnamed, listening);
            }
            self.files.insert(unnamed, before);
        }
        self.files.insert(fd, file);
        fd
    }

    fn free_number(&self, min: i64) -> i64 {
        let mut number = min;
        while self.files.contains_key(&number) {
            number += 1;
        }
        number
    }
}
