//! A connected TCP stream of a test: the kernel's or the engine's.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use gigatcp_protocol::iperf3::Parameters;
use gigatcp_units::{Bytes, Instant};
use gigatcp_why::counters::Reading;
use socket2::SockRef;

use super::options::{self, Effective};
use super::page_aligned::PageAligned;
use crate::system::socket::WireCounts;
use crate::{Sampler, View};

/// Limits of the buffers of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferLimits {
    /// Third values of `tcp_rmem` and `tcp_wmem`, then `rmem_max` and `wmem_max`.
    Kernel([Option<Bytes>; 4]),
    /// Maximum sizes to which the engine autotunes receive and send buffer.
    Engine([Bytes; 2]),
}

impl Default for BufferLimits {
    fn default() -> Self {
        Self::Kernel([None; 4])
    }
}

/// Block that a sender writes repeatedly.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) bytes: PageAligned,
    /// File with these bytes, to be sent without a copy (`-Z`).
    pub(super) file: Option<File>,
}

/// A connected stream. Calls that wait end when another thread shuts it down.
pub(super) trait Connection {
    /// Reads available data, or waits for it; 0 at the end.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Reads and discards at most `most` bytes.
    fn discard(&self, most: usize) -> io::Result<usize>;
    /// Writes as much as fits the send buffer, or waits for space.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Writes the first bytes of a block. Nothing is copied if the block has a file.
    fn write_block(&self, block: &Block, bytes: usize) -> io::Result<usize> {
        self.write(&block.bytes[..bytes])
    }
    /// Bytes written and not acknowledged.
    fn unacknowledged(&self) -> io::Result<u64>;
    /// What it has sent and received, with headers and retransmissions.
    fn wire_counts(&self) -> io::Result<WireCounts> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Ends one or both directions.
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;
    /// Addresses of this end and of the peer.
    fn addresses(&self) -> io::Result<[SocketAddr; 2]>;
    /// Sets the options of a connected stream, and reads back those in effect.
    fn apply_options(&self, parameters: &Parameters) -> io::Result<Effective>;
    /// Current state of the stream.
    fn view(&self) -> io::Result<View>;
    /// All its counters, at a time of the caller's clock.
    fn reading(&self, sampler: &Sampler, at: Instant) -> io::Result<Reading>;
    /// Its buffer limits.
    fn limits(&self) -> BufferLimits;
}

impl Connection for TcpStream {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut socket = self;
        Read::read(&mut socket, buffer)
    }

    fn discard(&self, most: usize) -> io::Result<usize> {
        crate::system::datagrams::discard(self, most)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut socket = self;
        Write::write(&mut socket, bytes)
    }

    fn write_block(&self, block: &Block, bytes: usize) -> io::Result<usize> {
        match &block.file {
            Some(file) => crate::system::socket::send_file(self, file, bytes),
            None => Connection::write(self, &block.bytes[..bytes]),
        }
    }

    fn unacknowledged(&self) -> io::Result<u64> {
        Ok(crate::system::socket::queues(self)?[1])
    }

    fn wire_counts(&self) -> io::Result<WireCounts> {
        crate::system::socket::wire_counts(self)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        Self::shutdown(self, how)
    }

    fn addresses(&self) -> io::Result<[SocketAddr; 2]> {
        Ok([self.local_addr()?, self.peer_addr()?])
    }

    fn apply_options(&self, parameters: &Parameters) -> io::Result<Effective> {
        options::apply_after(SockRef::from(self), parameters)?;
        options::effective(SockRef::from(self), parameters)
    }

    fn view(&self) -> io::Result<View> {
        View::of(self)
    }

    fn reading(&self, sampler: &Sampler, at: Instant) -> io::Result<Reading> {
        sampler.read(self, at)
    }

    fn limits(&self) -> BufferLimits {
        BufferLimits::Kernel(crate::system::buffer_limits())
    }
}
