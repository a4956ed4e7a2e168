//! The stream of an ndt7 test: a WebSocket as a [`Connection`], whose text messages are kept.
//!
//! Only the thread of the stream uses the WebSocket. Counters are those of the socket below it.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gigatcp_protocol::iperf3::Parameters;
use gigatcp_protocol::ndt7::{self, Measurement};
use gigatcp_units::Instant;
use gigatcp_why::counters::Reading;
use tungstenite::error::ProtocolError;
use tungstenite::{Error, Message, WebSocket};

use super::super::connection::{BufferLimits, Connection};
use super::super::counters::Role;
use super::super::options::Effective;
use super::super::samples::MAX_READINGS;
use super::transport::Transport;
use crate::system::fd::AsFd;
use crate::system::lock;
use crate::system::poll;
use crate::{Sampler, View};

/// What a server has reported.
#[derive(Default, Debug)]
pub(super) struct Reported {
    /// Measurements in order of time, at most [`MAX_READINGS`].
    pub(super) measurements: Vec<Measurement>,
    /// Whether it has ended the test.
    pub(super) is_closed: bool,
}

/// A WebSocket that carries a test.
#[derive(Debug)]
pub(in super::super) struct WebSocketStream {
    /// The socket below, for its options and counters.
    socket: TcpStream,
    role: Role,
    data: Mutex<Data>,
    reported: Arc<Mutex<Reported>>,
}

/// The WebSocket and its counts.
#[derive(Debug)]
struct Data {
    web_socket: WebSocket<Transport>,
    /// Payload of complete messages, sent or received.
    payload: u64,
    /// Bytes that the socket had received at the end of the last complete message.
    complete_at: u64,
    /// Received bytes that were counted.
    counted: u64,
}

impl WebSocketStream {
    pub(super) fn new(
        socket: TcpStream,
        role: Role,
        web_socket: WebSocket<Transport>,
        reported: Arc<Mutex<Reported>>,
    ) -> Self {
        let data = Data {
            web_socket,
            payload: 0,
            complete_at: 0,
            counted: 0,
        };
        Self {
            socket,
            role,
            data: Mutex::new(data),
            reported,
        }
    }

    /// Handles messages that are available; with `waits`, it waits for bytes first. Returns whether the
    /// connection is open.
    fn receive(&self, data: &mut Data, waits: bool) -> io::Result<bool> {
        if lock(&self.reported).is_closed {
            return Ok(false);
        }
        if waits {
            data.web_socket.get_mut().allow_read();
        }
        loop {
            match data.web_socket.read() {
                Ok(Message::Binary(message)) if self.role == Role::Receiver => {
                    data.payload += message.len() as u64;
                }
                Ok(Message::Binary(_)) => return Err(violation("data in an upload")),
                Ok(Message::Text(text)) => self.keep(&text)?,
                Ok(Message::Close(_)) => {
                    // The answer to it; the server then closes the connection.
                    let _ = data.web_socket.flush();
                    data.complete_at = data.web_socket.get_mut().received();
                    lock(&self.reported).is_closed = true;
                    return Ok(false);
                }
                Ok(_) => {}
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                    lock(&self.reported).is_closed = true;
                    return Ok(false);
                }
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(Error::Io(error)) => return Err(error),
                Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => {
                    let text = "the server closed the connection within the test";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
                }
                Err(error) => return Err(violation(&error.to_string())),
            }
            data.complete_at = data.web_socket.get_mut().received();
        }
    }

    /// Keeps a measurement, as long as there are few.
    fn keep(&self, text: &str) -> io::Result<()> {
        if text.len() > ndt7::MAX_MEASUREMENT {
            return Err(violation("a measurement above 64 KiB"));
        }
        let mut reported = lock(&self.reported);
        if reported.measurements.len() < MAX_READINGS {
            reported.measurements.extend(Measurement::read(text));
        }
        Ok(())
    }
}

fn violation(text: &str) -> io::Error {
    let text = format!("the server does not keep to ndt7: {text}");
    io::Error::new(ErrorKind::InvalidData, text)
}

impl Data {
    /// Received bytes that were not counted yet. Those of an incomplete message count.
    fn progress(&mut self) -> usize {
        let partial = self.web_socket.get_mut().received() - self.complete_at;
        let more = (self.payload + partial).saturating_sub(self.counted);
        self.counted += more;
        usize::try_from(more).unwrap_or(usize::MAX)
    }
}

impl Connection for WebSocketStream {
    fn read(&self, _: &mut [u8]) -> io::Result<usize> {
        let mut data = lock(&self.data);
        loop {
            let is_open = self.receive(&mut data, true)?;
            let read = data.progress();
            if read > 0 || !is_open {
                return Ok(read);
            }
        }
    }

    fn discard(&self, _: usize) -> io::Result<usize> {
        self.read(&mut [])
    }

    /// Writes one message, after those of the server are read.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut data = lock(&self.data);
        let ready = poll::wait_to_read([self.socket.as_fd()], Duration::ZERO)?;
        // Messages may also have arrived with the answer of the handshake.
        if !self.receive(&mut data, !ready.is_empty())? {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let size = ndt7::message_size(data.payload).min(bytes.len());
        let message = Message::binary(bytes[..size].to_vec());
        data.web_socket.send(message).map_err(|error| match error {
            Error::Io(error) => error,
            error => io::Error::other(error.to_string()),
        })?;
        data.payload += size as u64;
        Ok(size)
    }

    fn unacknowledged(&self) -> io::Result<u64> {
        self.socket.unacknowledged()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }

    fn addresses(&self) -> io::Result<[SocketAddr; 2]> {
        self.socket.addresses()
    }

    fn apply_options(&self, parameters: &Parameters) -> io::Result<Effective> {
        self.socket.apply_options(parameters)
    }

    fn view(&self) -> io::Result<View> {
        self.socket.view()
    }

    fn reading(&self, sampler: &Sampler, at: Instant) -> io::Result<Reading> {
        Connection::reading(&self.socket, sampler, at)
    }

    fn limits(&self) -> BufferLimits {
        self.socket.limits()
    }
}
