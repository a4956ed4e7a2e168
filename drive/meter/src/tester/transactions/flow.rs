//! One connection of a server: reads requests, and answers each.

use std::io::{self, ErrorKind, Read, Write};

use gigatcp_protocol::iperf3::datagram::reply_to;
use gigatcp_protocol::iperf3::{Cookie, Tag, Transactions};
use mio::event::Source;
use mio::net::{TcpStream, UdpSocket};

/// Maximum number of reads and writes before other connections have their turn.
pub(in super::super) const MAX_CALLS: usize = 8;

/// Sizes of the messages, and buffers that all connections share.
pub(super) struct Messages {
    request: usize,
    response: u64,
    tag: Tag,
    /// Bytes of responses.
    zeros: Vec<u8>,
    scratch: Vec<u8>,
}

impl Messages {
    pub(super) fn new(cookie: &Cookie, transactions: &Transactions) -> Self {
        Self {
            tag: Tag::of(cookie),
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

/// A socket of a connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// A connection.
///
/// While a response waits for room, nothing is read: a client that does not read its responses fills
/// the buffers of its own connection only.
pub(super) struct Flow {
    stream: Stream,
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
    pub(super) fn new(stream: Stream, segment: u64) -> Self {
        Self {
            stream,
            segment: segment.max(1),
            got: 0,
            owed: 0,
            is_queued: false,
        }
    }

    pub(super) fn source(&mut self) -> &mut dyn Source {
        match &mut self.stream {
            Stream::Tcp(stream) => stream,
            Stream::Udp(socket) => socket,
        }
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
            let called = match (&mut self.stream, self.owed) {
                (Stream::Udp(socket), _) => respond(socket, messages, &mut step.responses),
                (_, 0) if is_empty => return Ok(step),
                (Stream::Tcp(stream), 0) => {
                    let read = read(stream, &mut self.got, &mut self.owed, messages);
                    read.inspect(|&read| is_empty = read < messages.scratch.len())
                }
                (Stream::Tcp(stream), _) => {
                    write(stream, &mut self.owed, messages, &mut step.responses)
                }
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
}

/// Reads once. The end of the data is an error.
fn read(
    stream: &mut TcpStream,
    got: &mut usize,
    owed: &mut u64,
    messages: &mut Messages,
) -> io::Result<usize> {
    let read = stream.read(&mut messages.scratch)?;
    if read == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let all = *got + read;
    *got = all % messages.request;
    *owed = (all / messages.request) as u64 * messages.response;
    Ok(read)
}

/// Writes once, and counts the responses that are complete.
fn write(
    stream: &mut TcpStream,
    owed: &mut u64,
    messages: &Messages,
    responses: &mut u64,
) -> io::Result<usize> {
    let length = (*owed).min(messages.zeros.len() as u64);
    let written = stream.write(&messages.zeros[..length as usize])?;
    let left = *owed - written as u64;
    *responses += owed.div_ceil(messages.response) - left.div_ceil(messages.response);
    *owed = left;
    Ok(written)
}

/// Receives a datagram, and answers a request with the tag of the test, or the first message of a flow
/// whose answer was lost. A response that finds no room is lost.
fn respond(socket: &UdpSocket, messages: &mut Messages, responses: &mut u64) -> io::Result<usize> {
    let length = socket.recv(&mut messages.scratch)?;
    let datagram = &messages.scratch[..length];
    if let Some(number) = messages.tag.read(datagram) {
        let response = &mut messages.zeros[..messages.response as usize];
        messages.tag.write(number, response);
        if let Ok(sent) = socket.send(response) {
            *responses += 1;
            return Ok(length + sent);
        }
    } else if let Some(reply) = reply_to(datagram) {
        let _ = socket.send(&reply);
    }
    Ok(length)
}
