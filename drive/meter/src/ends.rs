//! Sockets whose options are set before the connection is opened.
//!
//! The size of a buffer determines the window scale in the SYN (RFC 7323 section 2.3), so it must
//! be set before.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use gigatcp_linux::poll::{self, Interest};
use gigatcp_linux::socket::{self, Buffer};
use gigatcp_units::Bytes;

use crate::View;

/// Maximum wait for a connection before a call checks whether the run continues.
const MAX_WAIT: Duration = Duration::from_millis(20);

/// Maximum of connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// Requested options of a socket.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SocketSettings {
    /// Congestion control, by the kernel's name; `None`: the kernel's choice.
    pub congestion: Option<String>,
    /// Send buffer; `None`: autotuning.
    pub send_buffer: Option<Bytes>,
    /// Receive buffer; `None`: autotuning.
    pub receive_buffer: Option<Bytes>,
}

/// Options in effect on a socket.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Granted {
    /// Congestion control.
    pub congestion: String,
    /// Send buffer, in bytes of the kernel's memory.
    pub send_buffer: Bytes,
    /// Receive buffer, in bytes of the kernel's memory.
    pub receive_buffer: Bytes,
    /// Slow-start threshold in segments; `None`: unset.
    pub ssthresh: Option<u64>,
}

/// Failure to open a connection.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {cause}")]
pub struct MeterError {
    /// The attempted action, to follow "cannot".
    pub action: String,
    /// The kernel's error.
    #[source]
    pub cause: io::Error,
}

/// A constructor of the error of `action`.
fn failed(action: impl Into<String>) -> impl FnOnce(io::Error) -> MeterError {
    let action = action.into();
    move |cause| MeterError { action, cause }
}

/// Congestion controls loaded in the calling thread's network namespace.
pub fn congestion_controls() -> Vec<String> {
    let names = gigatcp_linux::settings::read("net.ipv4.tcp_available_congestion_control")
        .unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

fn grant(socket: &impl AsFd, settings: &SocketSettings) -> Result<(), MeterError> {
    if let Some(name) = &settings.congestion {
        socket::set_congestion(socket, name)
            .map_err(failed(format!("use the congestion control {name}")))?;
    }
    let requested = [
        (Buffer::Send, settings.send_buffer, "send"),
        (Buffer::Receive, settings.receive_buffer, "receive"),
    ];
    for (which, octets, word) in requested {
        if let Some(octets) = octets {
            socket::set_buffer(socket, which, octets.as_u64())
                .map_err(failed(format!("ask for a {word} buffer of {octets}")))?;
        }
    }
    Ok(())
}

/// Options in effect on `socket`.
///
/// # Errors
/// The kernel's error.
pub fn granted(socket: &(impl AsFd + AsRawFd)) -> Result<Granted, MeterError> {
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

/// A listening socket in the calling thread's network namespace. Accepted sockets inherit its
/// options.
///
/// # Errors
/// [`MeterError`]: the action that was refused.
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

/// Waits for a connection of a listener of [`listen`] while `goes_on` returns true. Returns `None`
/// once it returns false.
///
/// # Errors
/// [`MeterError`]: the kernel's error.
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
        poll::wait([(listener.as_fd(), interest)], Some(MAX_WAIT)).map_err(failed())?;
    }
    Ok(None)
}

/// Connects a socket of the calling thread's namespace, waiting while `goes_on` returns true.
/// Returns `None` once it returns false.
///
/// # Errors
/// [`MeterError`]: the action that was refused, or the reason why it was not established.
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

/// Error of `connect(2)`: the connection is being established.
const EINPROGRESS: i32 = 115;

/// Waits for the connection; returns whether it is established.
fn await_connection(stream: &TcpStream, goes_on: impl Fn() -> bool) -> io::Result<bool> {
    let interest = Interest {
        read: false,
        write: true,
    };
    while goes_on() {
        let [ready] = poll::wait([(stream.as_fd(), interest)], Some(MAX_WAIT))?;
        if ready.write {
            return stream.take_error()?.map_or(Ok(true), Err);
        }
    }
    Ok(false)
}
