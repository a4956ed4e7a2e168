//! One connection of a client: sends the cookie and requests, and reads responses. One of UDP is a
//! flow of datagrams, which sends the first message of a stream in place of the cookie.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::datagram::{CONNECT, is_reply};
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, Cookie, Mode, Parameters, Tag, Transactions};
use mio::event::Source;
use mio::net::{TcpStream, UdpSocket};
use rustix::io::Errno;
use socket2::Domain;

use super::super::client::bind;
use super::super::options;
use super::super::request::Request;
use crate::system::NO_BUFFERS;

/// What a client sends, and a buffer for what it reads; shared by all connections.
pub(super) struct Messages {
    /// The cookie, then a request.
    output: Vec<u8>,
    response: usize,
    tag: Tag,
    scratch: Vec<u8>,
}

impl Messages {
    pub(super) fn new(cookie: &Cookie, transactions: &Transactions) -> Self {
        let mut output = cookie.as_bytes().to_vec();
        output.resize(COOKIE_LENGTH + transactions.request as usize, 0);
        Self {
            output,
            response: transactions.response as usize,
            tag: Tag::of(cookie),
            scratch: vec![0; super::SCRATCH],
        }
    }
}

/// What a connection has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It waits for the other end.
    Nothing,
    /// It has sent its cookie (`tcp_rr`).
    Opened,
    /// It has read a response.
    Completed,
}

/// A socket of a connection.
enum Stream {
    Tcp(TcpStream),
    /// With the number of the last request, and whether the server has answered the first message.
    Udp {
        socket: UdpSocket,
        number: u64,
        is_open: bool,
    },
}

/// A connection.
pub(super) struct Connection {
    stream: Stream,
    /// Bytes of the output that were sent, and their end in this transaction.
    sent: (usize, usize),
    /// Bytes of the response so far; `None`: no request was sent.
    got: Option<usize>,
    /// Start of the transaction.
    begun: Instant,
}

impl Connection {
    /// Starts to connect. A transaction begins here if there is one for each connection.
    pub(super) fn open(
        request: &Request,
        parameters: &Parameters,
        to: SocketAddr,
        messages: &Messages,
        mode: Mode,
    ) -> io::Result<Self> {
        let begun = Instant::now();
        let socket = options::socket(Domain::for_address(to), parameters)?;
        bind(&socket, request, to, None)?;
        socket.set_nonblocking(true)?;
        if mode == Mode::UdpRr {
            socket.connect(&to.into())?;
            let socket = UdpSocket::from_std(socket.into());
            socket.send(&CONNECT)?;
            return Ok(Self {
                stream: Stream::Udp {
                    socket,
                    number: 0,
                    is_open: false,
                },
                sent: (0, 0),
                got: None,
                begun,
            });
        }
        socket.set_tcp_nodelay(true)?;
        // Closing resets: a port that waits (TIME-WAIT) would be missing after 28,000 connections.
        socket.set_linger(Some(Duration::ZERO))?;
        match socket.connect(&to.into()) {
            Err(error) if !is_in_progress(&error) => return Err(error),
            _ => {}
        }
        let has_transaction = mode == Mode::TcpCrr;
        let until = if has_transaction {
            messages.output.len()
        } else {
            COOKIE_LENGTH
        };
        Ok(Self {
            stream: Stream::Tcp(TcpStream::from_std(socket.into())),
            sent: (0, until),
            got: has_transaction.then_some(0),
            begun,
        })
    }

    pub(super) fn source(&mut self) -> &mut dyn Source {
        match &mut self.stream {
            Stream::Tcp(stream) => stream,
            Stream::Udp { socket, .. } => socket,
        }
    }

    /// The time since the transaction began.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    /// Whether a request over UDP has waited for its response until now; it is no longer awaited.
    pub(super) fn gives_up(&mut self, longest: Duration, now: Instant) -> bool {
        let is_late = self.got.is_some() && self.age(now) > longest;
        let is_udp = matches!(self.stream, Stream::Udp { .. });
        is_udp && is_late && self.got.take().is_some()
    }

    /// Sends the first message of a flow of UDP again, if the last one was not answered in time.
    pub(super) fn repeat(&mut self, after: Duration, now: Instant) {
        let is_due = self.age(now) > after;
        if let Stream::Udp {
            socket,
            is_open: false,
            ..
        } = &self.stream
            && is_due
        {
            self.begun = now;
            // The next one may arrive.
            let _ = socket.send(&CONNECT);
        }
    }

    /// Begins a transaction on an open connection.
    pub(super) fn begin(&mut self, messages: &mut Messages, now: Instant) -> io::Result<()> {
        self.begun = now;
        if let Stream::Udp {
            socket,
            number,
            is_open,
        } = &mut self.stream
        {
            *is_open = true;
            *number += 1;
            self.got = Some(0);
            let request = &mut messages.output[COOKIE_LENGTH..];
            messages.tag.write(*number, request);
            return match socket.send(request) {
                // A request that finds no room is lost.
                Err(error)
                    if error.kind() != ErrorKind::WouldBlock
                        && error.raw_os_error() != Some(NO_BUFFERS) =>
                {
                    Err(error)
                }
                _ => Ok(()),
            };
        }
        self.sent = (COOKIE_LENGTH, messages.output.len());
        self.got = Some(0);
        self.write(messages).map(drop)
    }

    /// Writes and reads what is possible without waiting.
    ///
    /// # Errors
    /// The connection failed, or the server has closed it.
    pub(super) fn advance(&mut self, messages: &mut Messages) -> io::Result<Progress> {
        if let Stream::Udp { .. } = &self.stream {
            return self.receive(messages);
        }
        let was_sent = self.sent.0 == self.sent.1;
        if !was_sent && !self.write(messages)? {
            return Ok(Progress::Nothing);
        }
        let Some(mut got) = self.got else {
            return match was_sent {
                // The server sends nothing unasked: it has closed the connection.
                true => self.read(messages).map(|_| Progress::Nothing),
                false => Ok(Progress::Opened),
            };
        };
        loop {
            let read = self.read(messages)?;
            got += read;
            self.got = Some(got);
            if got >= messages.response {
                return Ok(Progress::Completed);
            }
            // A read that was not full has emptied the buffer: the next event shows more data.
            if read < messages.scratch.len() {
                return Ok(Progress::Nothing);
            }
        }
    }

    /// Receives datagrams until the awaited one has come. Responses to requests that are no longer
    /// awaited are ignored.
    fn receive(&mut self, messages: &mut Messages) -> io::Result<Progress> {
        let Stream::Udp {
            socket,
            number,
            is_open,
        } = &mut self.stream
        else {
            return Ok(Progress::Nothing);
        };
        loop {
            let length = match socket.recv(&mut messages.scratch) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Progress::Nothing);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let datagram = &messages.scratch[..length];
            if !*is_open && is_reply(datagram) {
                *is_open = true;
                return Ok(Progress::Opened);
            }
            let is_awaited = messages.tag.read(datagram) == Some(*number);
            if is_awaited && length == messages.response && self.got.take().is_some() {
                return Ok(Progress::Completed);
            }
        }
    }

    fn tcp(&mut self) -> io::Result<&mut TcpStream> {
        match &mut self.stream {
            Stream::Tcp(stream) => Ok(stream),
            Stream::Udp { .. } => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Reads what has arrived; 0: nothing.
    fn read(&mut self, messages: &mut Messages) -> io::Result<usize> {
        loop {
            return match self.tcp()?.read(&mut messages.scratch) {
                Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => Ok(read),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// Writes what is left. Returns whether all was written.
    fn write(&mut self, messages: &Messages) -> io::Result<bool> {
        while self.sent.0 < self.sent.1 {
            let (sent, until) = self.sent;
            let stream = self.tcp()?;
            match stream.write(&messages.output[sent..until]) {
                Ok(written) => self.sent.0 += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::NotConnected
                    ) =>
                {
                    // An event before the handshake has ended shows its failure.
                    return stream.take_error()?.map_or(Ok(false), Err);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Whether a connection is being established.
fn is_in_progress(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || Errno::from_io_error(error) == Some(Errno::INPROGRESS)
}
