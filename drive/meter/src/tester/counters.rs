//! Counters of one stream, which its thread writes.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gigatcp_app::datagrams::SinkReport;
use gigatcp_protocol::iperf3::datagram::StockCounts;

use super::delay::DelayLog;
use crate::system::lock;

/// Counts of a receiver of datagrams.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct UdpCounts {
    /// As iperf3 counts.
    pub stock: StockCounts,
    /// Exactly.
    pub report: SinkReport,
    /// Datagrams that the socket dropped because its buffer was full.
    pub socket_drops: u64,
}

/// Direction of a stream's data, from this end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// This end sends.
    Sender,
    /// This end receives.
    Receiver,
}

impl Role {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// Counters of a stream's thread, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counters {
    /// Bytes of payload sent or received.
    pub(super) bytes: AtomicU64,
    /// Datagrams sent.
    pub(super) datagrams: AtomicU64,
    /// Counts of a receiver of datagrams.
    pub(super) udp: Mutex<UdpCounts>,
    /// Delays that a receiver of datagrams saw.
    pub(super) delays: Mutex<DelayLog>,
    /// CPU time of the thread, in microseconds: user and system, once it has ended.
    pub(super) cpu: [AtomicU64; 2],
    /// Time in which it waited for its rate (`-b`), in microseconds.
    pub(super) idle: AtomicU64,
    /// Whether datagrams were sent, or received, many at a time.
    pub(super) is_offloaded: AtomicBool,
    /// Why they were not.
    pub(super) offload_refusal: Mutex<Option<String>>,
    /// Why it ended before the test.
    pub(super) error: Mutex<Option<io::Error>>,
    /// Whether it has ended.
    pub(super) is_ended: AtomicBool,
}

impl Counters {
    pub(super) fn fail(&self, error: io::Error) {
        *lock(&self.error) = Some(error);
    }

    /// Stores the reason, unless there is one.
    pub(super) fn refuse_offload(&self, reason: String) {
        lock(&self.offload_refusal).get_or_insert(reason);
    }

    pub(super) fn add(&self, bytes: usize) {
        // One thread writes: a load and a store cost less than an atomic addition.
        let before = self.bytes.load(Ordering::Relaxed);
        self.bytes.store(before + bytes as u64, Ordering::Release);
    }
}
