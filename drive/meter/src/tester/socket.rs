//! The socket of a stream, of either stack.

use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};

use socket2::SockRef;

use super::connection::Connection;
#[cfg(target_os = "linux")]
use super::engine::EngineStream;
use super::ndt7::WebSocketStream;

/// The socket of a stream.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(target_os = "linux")]
    Engine(Box<EngineStream>),
    Ndt7(Box<WebSocketStream>),
    Udp(UdpSocket),
}

impl Socket {
    /// Connection; `None`: not TCP.
    pub(super) fn connection(&self) -> Option<&dyn Connection> {
        match self {
            Self::Tcp(socket) => Some(socket),
            #[cfg(target_os = "linux")]
            Self::Engine(stream) => Some(&**stream),
            Self::Ndt7(stream) => Some(&**stream),
            Self::Udp(_) => None,
        }
    }

    /// Ends one or both directions.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match (self, self.connection()) {
            (Self::Udp(socket), _) => SockRef::from(socket).shutdown(how),
            (_, connection) => connection.map_or(Ok(()), |connection| connection.shutdown(how)),
        }
    }
}
