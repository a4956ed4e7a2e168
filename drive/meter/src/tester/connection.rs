//! A connected TCP stream of a test, whichever TCP it is of: the kernel's or the engine's.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use gigatcp_protocol::iperf3::Parameters;
use gigatcp_units::{Bytes, Instant};
use gigatcp_why::counters::Reading;
use socket2::SockRef;

use super::options::{self, Effective};
use crate::{Sampler, View};

/// What bounds the buffers of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferLimits {
    /// Third values of `tcp_rmem` and `tcp_wmem`, then `rmem_max` and `wmem_max`.
    Kernel([Option<Bytes>; 4]),
    /// Sizes up to which the engine's receive and send buffer grow by themselves.
    Engine([Bytes; 2]),
}

impl Default for BufferLimits {
    fn default() -> Self {
        Self::Kernel([None; 4])
    }
}

/// What a sender writes again and again.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// The same in a file, if it is to be sent without a copy (`-Z`).
    pub(super) file: Option<File>,
}

/// A connected stream; calls that wait end when another thread shuts it down.
pub(super) trait Connection {
    /// Reads what is there, or waits for it; 0 at the end.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;
    /// The same for at most `most` bytes that are discarded.
    fn discard(&self, most: usize) -> io::Result<usize>;
    /// Writes as much as there is room for, or waits for room.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// The same for the first bytes of a block, without a copy where the block has a file.
    fn write_block(&self, block: &Block, bytes: usize) -> io::Result<usize> {
        self.write(&block.bytes[..bytes])
    }
    /// Bytes written and not acknowledged.
    fn unacknowledged(&self) -> io::Result<u64>;
    /// Ends one or both directions.
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;
    /// Addresses of this end and of the peer.
    fn addresses(&self) -> io::Result<[SocketAddr; 2]>;
    /// Sets what a connected stream takes, and reads back what is in effect.
    fn settle(&self, parameters: &Parameters) -> io::Result<Effective>;
    /// The stream at this moment.
    fn view(&self) -> io::Result<View>;
    /// Every counter of it, at a moment of the caller's clock.
    fn reading(&self, sampler: &Sampler, at: Instant) -> io::Result<Reading>;
    /// What bounds its buffers.
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

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        Self::shutdown(self, how)
    }

    fn addresses(&self) -> io::Result<[SocketAddr; 2]> {
        Ok([self.local_addr()?, self.peer_addr()?])
    }

    fn settle(&self, parameters: &Parameters) -> io::Result<Effective> {
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
