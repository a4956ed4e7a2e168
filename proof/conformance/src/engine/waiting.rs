//! Calls that wait: each is tried again after everything that happens.

use alloc::vec::Vec;

use gigatcp_units::Instant;

use crate::ast::Value;
use crate::stack::CallId;

/// A call that waits.
#[derive(Debug)]
pub struct Waiting {
    pub id: CallId,
    pub operation: Operation,
    /// Latest time at which it returns, by the engine's clock.
    pub deadline: Instant,
}

/// A call that may have to wait.
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

/// A call that reads.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub fd: i64,
    pub len: usize,
    pub got: usize,
    pub peek: bool,
    pub all: bool,
    /// The message of `recvmsg`, into which it writes its results.
    pub message: Option<Value>,
    /// `TCP_INQ`: the message reports the number of unread bytes.
    pub tells_left: bool,
    /// That number.
    pub left: Option<u64>,
}

/// A call that writes.
#[derive(Clone, Debug, Default)]
pub struct Writing {
    pub fd: i64,
    pub left: usize,
    pub written: usize,
    pub more: bool,
    /// The last byte is urgent.
    pub urgent: bool,
    /// `MSG_ZEROCOPY`.
    pub zero_copy: bool,
    /// `MSG_EOR`.
    pub ends_record: bool,
    /// It opened the connection: the handshake's ACK carries its data.
    pub opens: bool,
    /// Numbers of bytes left where a packet of Linux is full of pieces, in reverse order.
    pub cuts: Vec<usize>,
}

/// A call that waits for something to be ready.
#[derive(Clone, Debug)]
pub enum Watch {
    /// `poll`: the descriptors with the events to wait for.
    Poll(Vec<(i64, Value)>),
    /// `epoll_wait`: the descriptor and the most events.
    Epoll(i64, usize),
}
