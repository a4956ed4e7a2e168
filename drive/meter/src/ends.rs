//! Sockets with their options set before the connection is opened: the size of a buffer decides
//! which window scale a SYN offers (RFC 7323 section 2.3), and must be set before it.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use gigatcp_linux::poll::{self, Interest};
use gigatcp_linux::socket::{self, Buffer};
use gigatcp_units::Bytes;

use crate::View;

/// How long a call waits for a connection before it checks whether the run continues.
const PATIENCE: Duration = Duration::from_millis(20);

/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// What a socket is to have.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SocketSettings {
    /// Congestion control, by the kernel's name; absent: the kernel's choice.
    pub congestion: Option<String>,
    /// Send buffer; absent: it fits itself to the path.
    pub send_buffer: Option<Bytes>,
    /// Receive buffer; absent: it fits itself to the path.
    pub receive_buffer: Option<Bytes>,
}

/// What a socket has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Granted {
    /// Congestion control.
    pub congestion: String,
    /// Send buffer, in octets of the kernel's memory.
    pub send_buffer: Bytes,
    /// Receive buffer, in octets of the kernel's memory.
    pub receive_buffer: Bytes,
    /// Slow-start threshold in segments, where there is one.
    pub ssthresh: Option<u64>,
}

/// Why there is no connection.
#[derive(Debug)]
pub struct MeterError {
    /// What was being done, to follow "cannot".
    pub action: String,
    /// What the kernel said.
    pub cause: io::Error,
}

impl fmt::Display for MeterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.cause)
    }
}

impl std::error::Error for MeterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// An error of doing `action`.
fn failed(action: impl Into<String>) -> impl FnOnce(io::Error) -> MeterError {
    let action = action.into();
    move |cause| MeterError { action, cause }
}

/// The congestion controls that the kernel of the calling thread's namespace
/// has loaded.
#[must_use]
pub fn congestion_controls() -> Vec<String> {
    let names = gigatcp_linux::settings::read("net.ipv4.tcp_available_congestion_control");
    let names = names.unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

fn grant(socket: &impl AsRawFd, settings: &SocketSettings) -> Result<(), MeterError> {
    if let Some(name) = &settings.congestion {
        socket::set_congestion(socket, name)
            .map_err(failed(format!("use the congestion control {name}")))?;
    }
    let wished = [
        (Buffer::Send, settings.send_buffer, "send"),
        (Buffer::Receive, settings.receive_buffer, "receive"),
    ];
    for (which, octets, word) in wished {
        if let Some(octets) = octets {
            socket::set_buffer(socket, which, octets.as_u64())
                .map_err(failed(format!("ask for a {word} buffer of {octets}")))?;
        }
    }
    Ok(())
}

/// What `socket` has now.
///
/// # Errors
/// What the kernel says.
pub fn granted(socket: &impl AsRawFd) -> Result<Granted, MeterError> {
    let read = || {
        let view = View::of(socket)?;
        let segments = |octets: Bytes| octets.as_u64() / u64::from(view.smss.max(1));
        Ok(Granted {
            ssthresh: view.ssthresh.map(segments),
            congestion: socket::congestion(socket)?,
            send_buffer: Bytes::new(socket::buffer(socket, Buffer::Send)?),
            receive_buffer: Bytes::new(socket::buffer(socket, Buffer::Receive)?),
        })
    };
    read().map_err(failed("read what the socket was granted"))
}

/// A listening socket of the calling thread's namespace; what it accepts
/// inherits what it has.
///
/// # Errors
/// [`MeterError`]: what was refused.
pub fn listen(at: SocketAddr, settings: &SocketSettings) -> Result<TcpListener, MeterError> {
    let socket = socket::tcp(&at).map_err(failed("make a socket"))?;
    grant(&socket, settings)?;
    let begun = socket::bind(&socket, &at).and_then(|()| socket::listen(&socket, BACKLOG));
    begun.map_err(failed(format!("listen at {at}")))?;
    let listener = TcpListener::from(socket);
    let done = listener.set_nonblocking(true);
    done.map_err(failed(format!("listen at {at}")))?;
    Ok(listener)
}

/// Waits for the connection of a listener of [`listen`] as long as
/// `goes_on` says so; none when it does not any more.
///
/// # Errors
/// [`MeterError`]: what the kernel said.
pub fn accept(
    listener: &TcpListener,
    goes_on: impl Fn() -> bool,
) -> Result<Option<TcpStream>, MeterError> {
    let interest = Interest {
        read: true,
        write: false,
    };
    let failed = || failed("accept a connection");
    while goes_on() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(failed())?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(failed()(error)),
        }
        poll::wait([(listener.as_fd(), interest)], Some(PATIENCE)).map_err(failed())?;
    }
    Ok(None)
}

/// Connects a socket of the calling thread's namespace, and waits for that as
/// long as `goes_on` says so; none when it does not any more.
///
/// # Errors
/// [`MeterError`]: what was refused, or kept it from being established.
pub fn connect(
    from: SocketAddr,
    to: SocketAddr,
    settings: &SocketSettings,
    goes_on: impl Fn() -> bool,
) -> Result<Option<TcpStream>, MeterError> {
    let socket = socket::tcp(&to).map_err(failed("make a socket"))?;
    grant(&socket, settings)?;
    socket::bind(&socket, &from).map_err(failed(format!("send from {from}")))?;
    let stream = TcpStream::from(socket);
    let failed = || failed(format!("connect to {to}"));
    stream.set_nonblocking(true).map_err(failed())?;
    match socket::connect(&stream, &to) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(EINPROGRESS) => {
            if !await_connection(&stream, goes_on).map_err(failed())? {
                return Ok(None);
            }
        }
        Err(error) => return Err(failed()(error)),
    }
    stream.set_nonblocking(false).map_err(failed())?;
    Ok(Some(stream))
}

/// `connect(2)`: the connection is on its way.
const EINPROGRESS: i32 = 115;

/// Whether there is a connection at last.
fn await_connection(stream: &TcpStream, goes_on: impl Fn() -> bool) -> io::Result<bool> {
    let interest = Interest {
        read: false,
        write: true,
    };
    while goes_on() {
        let [ready] = poll::wait([(stream.as_fd(), interest)], Some(PATIENCE))?;
        if ready.write {
            return stream.take_error()?.map_or(Ok(true), Err);
        }
    }
    Ok(false)
}
