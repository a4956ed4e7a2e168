//! One connection of a client: sends the cookie and requests, and reads responses.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::{COOKIE_LENGTH, Cookie, Parameters, Transactions};
use mio::net::TcpStream;
use rustix::io::Errno;
use socket2::Domain;

use super::super::client::bind;
use super::super::options;
use super::super::request::Request;

/// What a client sends, and a buffer for what it reads; shared by all connections.
pub(super) struct Messages {
    /// The cookie, then a request.
    output: Vec<u8>,
    response: usize,
    scratch: Vec<u8>,
}

impl Messages {
    pub(super) fn new(cookie: &Cookie, transactions: &Transactions) -> Self {
        let mut output = cookie.as_bytes().to_vec();
        output.resize(COOKIE_LENGTH + transactions.request as usize, 0);
        Self {
            output,
            response: transactions.response as usize,
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

/// A connection.
pub(super) struct Connection {
    stream: TcpStream,
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
        has_transaction: bool,
    ) -> io::Result<Self> {
        let begun = Instant::now();
        let socket = options::socket(Domain::for_address(to), parameters)?;
        bind(&socket, request, to, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        // Closing resets: a port that waits (TIME-WAIT) would be missing after 28,000 connections.
        socket.set_linger(Some(Duration::ZERO))?;
        match socket.connect(&to.into()) {
            Err(error) if !is_in_progress(&error) => return Err(error),
            _ => {}
        }
        let until = match has_transaction {
            true => messages.output.len(),
            false => COOKIE_LENGTH,
        };
        Ok(Self {
            stream: TcpStream::from_std(socket.into()),
            sent: (0, until),
            got: has_transaction.then_some(0),
            begun,
        })
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// The time since the transaction began.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begun)
    }

    /// Begins a transaction on an open connection.
    pub(super) fn begin(&mut self, messages: &Messages, now: Instant) -> io::Result<()> {
        self.begun = now;
        self.sent = (COOKIE_LENGTH, messages.output.len());
        self.got = Some(0);
        self.write(messages).map(drop)
    }

    /// Writes and reads what is possible without waiting.
    ///
    /// # Errors
    /// The connection failed, or the server has closed it.
    pub(super) fn advance(&mut self, messages: &mut Messages) -> io::Result<Progress> {
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

    /// Reads what has arrived; 0: nothing.
    fn read(&mut self, messages: &mut Messages) -> io::Result<usize> {
        loop {
            return match self.stream.read(&mut messages.scratch) {
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
        let (sent, until) = &mut self.sent;
        while *sent < *until {
            match self.stream.write(&messages.output[*sent..*until]) {
                Ok(written) => *sent += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::NotConnected
                    ) =>
                {
                    // An event before the handshake has ended shows its failure.
                    return self.stream.take_error()?.map_or(Ok(false), Err);
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
