//! Descriptors and the files behind them.

use alloc::string::String;
use alloc::vec::Vec;

use super::socket_options::SocketOptions;
use crate::ast::Value;

/// The file of a descriptor.
#[derive(Debug)]
pub enum File {
    Socket(Socket),
    Epoll(Epoll),
    /// Either end of the pipe of that index.
    Pipe(usize),
    /// The file of that name.
    Plain(String),
}

/// A TCP socket.
#[derive(Clone, Debug, Default)]
pub struct Socket {
    pub state: SocketState,
    pub port: Option<u16>,
    pub options: SocketOptions,
    /// Connected by name only, to this port: the SYN waits for the first write
    /// (`TCP_FASTOPEN_CONNECT`).
    pub deferred_connect: Option<u16>,
}

impl Socket {
    /// Whether it is connected by name only.
    pub fn awaits_first_write(&self) -> bool {
        self.state == SocketState::Fresh && self.deferred_connect.is_some()
    }
}

/// State of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SocketState {
    #[default]
    Fresh,
    Listening,
    /// The connection of that index.
    Open(usize),
}

/// Descriptors that an epoll descriptor watches, in the order of their registration.
#[derive(Clone, Debug, Default)]
pub struct Epoll {
    pub watched: Vec<Watched>,
}

#[derive(Clone, Debug)]
pub struct Watched {
    pub fd: i64,
    pub events: Value,
    /// Events reported already, for edge-triggered watches.
    pub reported: Vec<&'static str>,
    /// A one-shot watch has reported.
    pub is_over: bool,
    /// Entries of the error queue and arrived bytes at the last report.
    pub edge: (u64, u64),
}
