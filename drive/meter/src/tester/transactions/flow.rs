//! One connection of a server: reads requests, and answers each.

use std::io::{self, ErrorKind, Read, Write};

use gigatcp_protocol::iperf3::Transactions;
use mio::net::TcpStream;

/// Maximum number of reads and writes before other connections have their turn.
const MAX_CALLS: usize = 8;

/// Sizes of the messages, and buffers that all connections share.
pub(super) struct Messages {
    request: usize,
    response: u64,
    /// Bytes of responses.
    zeros: Vec<u8>,
    scratch: Vec<u8>,
}

impl Messages {
    pub(super) fn new(transactions: &Transactions) -> Self {
        Self {
            request: transactions.request as usize,
            response: transactions.response.into(),
            zeros: vec![0; super::SCRATCH],
            scratch: vec![0; super::SCRATCH],
        }
    }
}

/// What a connection did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Step {
    /// Responses written.
    pub(super) responses: u64,
    /// Bytes read and written.
    pub(super) bytes: u64,
    /// Whether it must have another turn without an event.
    pub(super) has_more: bool,
}

/// A connection.
///
/// While a response waits for room, nothing is read: a client that does not read its responses fills
/// the buffers of its own connection only.
pub(super) struct Flow {
    stream: TcpStream,
    /// Bytes of an incomplete request.
    got: usize,
    /// Bytes of the responses not written yet.
    owed: u64,
    /// Payload of a segment, in bytes.
    pub(super) segment: u64,
    /// Whether it waits for its turn.
    pub(super) is_queued: bool,
}

impl Flow {
    pub(super) fn new(stream: TcpStream, segment: u64) -> Self {
        Self {
            stream,
            segment: segment.max(1),
            got: 0,
            owed: 0,
            is_queued: false,
        }
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Reads and writes what is possible without waiting, in a bounded number of calls.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn advance(&mut self, messages: &mut Messages) -> io::Result<Step> {
        let mut step = Step::default();
        // A read that was not full has emptied the buffer: the next event shows more data.
        let mut is_empty = false;
        for _ in 0..MAX_CALLS {
            let called = match self.owed {
                0 if is_empty => return Ok(step),
                0 => self.read(messages).inspect(|&read| {
                    is_empty = read < messages.scratch.len();
                }),
                _ => self.write(messages, &mut step.responses),
            };
            match called {
                Ok(bytes) => step.bytes += bytes as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(step),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        step.has_more = true;
        Ok(step)
    }

    /// Reads once. The end of the data is an error.
    fn read(&mut self, messages: &mut Messages) -> io::Result<usize> {
        let read = self.stream.read(&mut messages.scratch)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let got = self.got + read;
        self.got = got % messages.request;
        self.owed = (got / messages.request) as u64 * messages.response;
        Ok(read)
    }

    /// Writes once, and counts the responses that are complete.
    fn write(&mut self, messages: &Messages, responses: &mut u64) -> io::Result<usize> {
        let length = self.owed.min(messages.zeros.len() as u64);
        let written = self.stream.write(&messages.zeros[..length as usize])?;
        let left = self.owed - written as u64;
        *responses += self.owed.div_ceil(messages.response) - left.div_ceil(messages.response);
        self.owed = left;
        Ok(written)
    }
}
