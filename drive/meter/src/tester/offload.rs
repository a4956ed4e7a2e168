//! Many datagrams as one packet through the stack: UDP_SEGMENT (GSO) and UDP_GRO.
//!
//! The sender passes the datagrams that are due together, and the kernel segments them as late as
//! possible. A receiver gets datagrams that the kernel has coalesced. The packets on the wire stay
//! the same. If the kernel refuses, each datagram is passed separately (`sendmmsg`, `recvmmsg`),
//! and the reason is kept.
//!
//! A full socket buffer drops coalesced datagrams together and counts one drop. [`SocketDrops`]
//! counts the sequence numbers missing there as its datagrams.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::atomic::Ordering;

use super::counters::Counters;
use super::request::Offload;
use crate::system::NO_BUFFERS;
use crate::system::datagrams::{self, MAX_BATCH, MAX_SEGMENTED};

/// Most datagrams that Linux joins.
const MAX_JOINED: u64 = 128;

/// Bytes of the largest coalesced message.
const JOINED_SIZE: usize = 1 << 16;

/// Messages per call that receives coalesced datagrams.
const JOINED_BATCH: usize = 8;

/// Bytes of a buffer for coalesced datagrams.
pub(super) const JOINED_BUFFER: usize = JOINED_SIZE * JOINED_BATCH;

/// Sender of datagrams of one size.
pub(super) struct BatchSender<'a> {
    socket: &'a UdpSocket,
    size: usize,
    counters: &'a Counters,
    is_segmented: bool,
}

impl<'a> BatchSender<'a> {
    pub(super) fn new(
        socket: &'a UdpSocket,
        size: usize,
        offload: Offload,
        counters: &'a Counters,
    ) -> Self {
        let fits = 2 * size <= MAX_SEGMENTED;
        if !fits {
            let reason = format!("two datagrams of {size} bytes do not fit into one packet");
            counters.refuse_offload(reason);
        }
        Self {
            socket,
            size,
            counters,
            is_segmented: fits && offload != Offload::Off,
        }
    }

    /// Sends a batch, in as many calls as needed.
    pub(super) fn send(&mut self, mut batch: &[u8]) -> io::Result<()> {
        let size = self.size;
        while !batch.is_empty() {
            let segments = self.is_segmented && batch.len() >= 2 * size;
            let sent = match segments {
                true => datagrams::send_segmented(self.socket, batch, size),
                false => datagrams::send(self.socket, batch, size),
            };
            match sent {
                Ok(sent) => {
                    self.counters.add(sent * size);
                    let count = &self.counters.datagrams;
                    count.fetch_add(sent as u64, Ordering::Release);
                    if segments {
                        self.counters.is_offloaded.store(true, Ordering::Release);
                    }
                    batch = &batch[sent * size..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The interface's queue is full (ENOBUFS).
                Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => std::thread::yield_now(),
                // After any other error, datagrams sent separately either leave or fail again.
                Err(error) if segments && error.kind() != ErrorKind::ConnectionRefused => {
                    self.is_segmented = false;
                    let reason = format!("the kernel refuses UDP_SEGMENT of {size} bytes: {error}");
                    self.counters.refuse_offload(reason);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Buffer for received messages.
pub(super) struct ReceiveBuffer {
    pub(super) bytes: Vec<u8>,
    /// Bytes reserved per message.
    pub(super) place: usize,
    /// Whether the kernel may coalesce datagrams.
    pub(super) joins: bool,
}

impl ReceiveBuffer {
    /// A buffer for datagrams of at most `size` bytes, or for coalesced ones.
    pub(super) fn new(
        socket: &UdpSocket,
        size: usize,
        offload: Offload,
        counters: &Counters,
    ) -> Self {
        let joined = (offload != Offload::Off).then(|| datagrams::receive_coalesced(socket));
        if let Some(Err(error)) = &joined {
            counters.refuse_offload(format!("the kernel refuses UDP_GRO: {error}"));
        }
        let joins = matches!(joined, Some(Ok(())));
        let (place, count) = match joins {
            true => (JOINED_SIZE, JOINED_BATCH),
            false => (size, MAX_BATCH),
        };
        Self {
            bytes: vec![0; place * count],
            place,
            joins,
        }
    }
}

/// Datagrams that a socket dropped because its buffer was full.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SocketDrops {
    /// Drops in messages, as the kernel counts.
    messages: u32,
    pub(super) datagrams: u64,
}

impl SocketDrops {
    /// Counts drops before a message that follows `missing` absent sequence numbers.
    ///
    /// `kernel_drops` is the kernel's count of drops before it. `joins`: whether the kernel may have
    /// coalesced the dropped datagrams.
    pub(super) fn on_message(&mut self, kernel_drops: Option<u32>, missing: u64, joins: bool) {
        let Some(kernel_drops) = kernel_drops else {
            return;
        };
        let dropped = u64::from(kernel_drops.wrapping_sub(self.messages));
        self.messages = kernel_drops;
        let most = if joins { MAX_JOINED } else { 1 };
        let datagrams = missing.clamp(dropped, dropped.saturating_mul(most));
        self.datagrams = self.datagrams.saturating_add(datagrams);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_joined_datagrams_are_what_is_missing_there_and_nothing_else() {
        let mut drops = SocketDrops::default();
        // Lost on the path: the socket dropped nothing.
        drops.on_message(Some(0), 7, true);
        assert_eq!(drops.datagrams, 0);
        // Two messages of 44 datagrams.
        drops.on_message(Some(2), 88, true);
        assert_eq!(drops.datagrams, 88);
        // Two duplicates were dropped: no number is missing.
        drops.on_message(Some(4), 0, true);
        assert_eq!(drops.datagrams, 90);
        // More is missing than one message can hold: the rest was lost elsewhere.
        drops.on_message(Some(5), 1000, true);
        assert_eq!(drops.datagrams, 90 + 128);
        drops.on_message(None, 9, true);
        assert_eq!(drops.datagrams, 218);
    }

    #[test]
    fn drops_of_single_datagrams_are_the_kernels_count_across_its_wrap() {
        let mut drops = SocketDrops {
            messages: u32::MAX - 1,
            datagrams: 5,
        };
        drops.on_message(Some(3), 1_000_000, false);
        assert_eq!(drops.datagrams, 5 + 5);
    }

    #[test]
    fn a_name_that_is_unknown_is_the_default() {
        for one in [Offload::Automatic, Offload::Requested, Offload::Off] {
            assert_eq!(Offload::from_name(Some(one.name())), one);
        }
        assert_eq!(Offload::from_name(Some("x")), Offload::Automatic);
        assert_eq!(Offload::from_name(None), Offload::Automatic);
    }
}
