//! A server's data ports, shared by the tests of many clients.
//!
//! A client chooses the ports, and most choose the same. A port is open while a test waits for its
//! data connections. A connection that arrives there belongs to the test of its client's address.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;

use gigatcp_protocol::nuttcp::Parameters;

use super::super::listening::{listen, udp_socket};
use crate::system::fd::{AsFd, BorrowedFd};
use crate::system::socket as kernel;

/// A TCP or UDP port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) struct Port {
    pub(in super::super) is_udp: bool,
    pub(in super::super) number: u16,
}

/// An open port.
#[derive(Debug)]
enum Opened {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// The open data ports.
#[derive(Debug, Default)]
pub(in super::super) struct DataPorts {
    opened: BTreeMap<Port, Opened>,
}

/// Ports at which the server of a test waits for its streams. `None`: it opens them itself.
pub(in super::super) fn awaited(wanted: &Parameters) -> Option<(bool, Range<u16>)> {
    let is_receiver = wanted.client == gigatcp_protocol::nuttcp::Side::Transmitter;
    let is_awaited = match wanted.udp {
        true => is_receiver,
        false => wanted.client_connects(),
    };
    let ports = wanted.port..wanted.port.saturating_add(wanted.streams);
    is_awaited.then_some((wanted.udp, ports))
}

fn open_datagrams(at: SocketAddr) -> io::Result<Opened> {
    let socket = udp_socket(at)?;
    let _ = kernel::pass_destinations(&socket);
    Ok(Opened::Udp(socket))
}

impl DataPorts {
    /// Opens the ports that are not open. Those for which `is_ours` holds are of running tests.
    ///
    /// UDP sockets of several programs can share a port; a socket of another program is not
    /// touched.
    ///
    /// # Errors
    /// The system's error for the first port that cannot be opened.
    pub(in super::super) fn open(
        &mut self,
        address: IpAddr,
        (is_udp, ports): (bool, Range<u16>),
        is_ours: impl Fn(Port) -> bool,
    ) -> io::Result<()> {
        for number in ports {
            let port = Port { is_udp, number };
            if self.opened.contains_key(&port) {
                continue;
            }
            let at = SocketAddr::new(address, number);
            let opened = match is_udp {
                true if is_ours(port) => open_datagrams(at),
                true => UdpSocket::bind(at).and_then(|alone| {
                    drop(alone);
                    open_datagrams(at)
                }),
                false => listen(at).map(Opened::Tcp),
            };
            let failed = |error: io::Error| {
                let kind = error.kind();
                io::Error::new(kind, format!("data port {number}: {error}"))
            };
            self.opened.insert(port, opened.map_err(failed)?);
        }
        Ok(())
    }

    /// Closes the ports that no test needs.
    pub(in super::super) fn retain(&mut self, is_needed: impl Fn(Port) -> bool) {
        self.opened.retain(|port, _| is_needed(*port));
    }

    /// Open ports with their descriptors.
    pub(in super::super) fn descriptors(&self) -> impl Iterator<Item = (Port, BorrowedFd<'_>)> {
        self.opened.iter().map(|(port, opened)| match opened {
            Opened::Tcp(listener) => (*port, listener.as_fd()),
            Opened::Udp(socket) => (*port, socket.as_fd()),
        })
    }

    /// Accepts a connection, if one waits.
    pub(in super::super) fn accept(&self, port: Port) -> Option<(TcpStream, SocketAddr)> {
        match self.opened.get(&port)? {
            Opened::Tcp(listener) => listener.accept().ok(),
            Opened::Udp(_) => None,
        }
    }

    /// Reads a datagram, if one waits.
    pub(in super::super) fn receive(&self, port: Port) -> Option<kernel::Received> {
        match self.opened.get(&port)? {
            Opened::Tcp(_) => None,
            Opened::Udp(socket) => kernel::receive_stamped(socket, &mut [0; 64]).ok(),
        }
    }
}
