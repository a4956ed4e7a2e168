//! Clients of nuttcp's protocol: requests, and data connections at separate ports.

use std::io::{self, Write};
use std::net::IpAddr;
use std::ops::Range;

use gigatcp_protocol::nuttcp::server::Event;
use gigatcp_protocol::nuttcp::{self, Output, Parameters};

use super::client_table::{Client, ClientTable};
use super::pending::{MAX_ARRIVALS, Pending, PendingState};
use super::requested::Requested;
use crate::tester::listening::udp_stream;
use crate::tester::nuttcp::common;
use crate::tester::nuttcp::ports::{Port, awaited};
use crate::tester::socket::Socket;

impl ClientTable<'_> {
    /// Protocol state of a newly connected client.
    pub(super) fn nuttcp_server(&self) -> Box<nuttcp::Server> {
        let config = self.server.config.nuttcp.unwrap_or_default();
        let port = self.server.nuttcp_address().map(|at| at.port());
        Box::new(nuttcp::Server::new(port.unwrap_or(config.port)))
    }

    /// Performs the outputs of the protocol for a client that has sent data.
    pub(super) fn handle_nuttcp(&mut self, mut pending: Pending) -> Option<Pending> {
        let PendingState::Nuttcp(server) = &mut pending.state else {
            return Some(pending);
        };
        while let Some(output) = server.poll_output() {
            match output {
                Output::Send(bytes) => pending.stream.write_all(&bytes).ok()?,
                Output::Event(Event::Requested(wanted, agreed)) => {
                    let PendingState::Nuttcp(server) = pending.state else {
                        return None;
                    };
                    let server = *server;
                    let parameters = common(&wanted);
                    let requested = Requested {
                        server,
                        wanted: *wanted,
                        agreed,
                    };
                    let unserved = self.unserved(&requested.wanted);
                    let (stream, peer) = (pending.stream, pending.peer);
                    if let Some(reason) = unserved {
                        requested.refuse(&stream, &reason);
                        self.refused(peer, reason);
                        return None;
                    }
                    let client = Client::Nuttcp(Box::new(requested));
                    self.decide(self.waiting((stream, peer), client, parameters));
                    return None;
                }
                Output::Event(Event::Failed(error)) => {
                    let (peer, reason) = (pending.peer, error.to_string());
                    self.refused(peer, reason);
                }
                Output::Close => return None,
                _ => {}
            }
        }
        Some(pending)
    }

    /// Why this server does not serve a request that the protocol allows.
    fn unserved(&self, wanted: &Parameters) -> Option<String> {
        let first = self
            .server
            .config
            .nuttcp
            .unwrap_or_default()
            .first_data_port;
        if self.server.config.authorize.is_some() {
            return Some("this server requires a name and password".into());
        }
        if awaited(wanted).is_some() && wanted.port < first {
            let port = wanted.port;
            return Some(format!("data port {port}: this server's begin at {first}"));
        }
        let control = self.server.at.port();
        if awaited(wanted).is_some_and(|(_, ports)| ports.contains(&control)) {
            return Some(format!("data port {control}: it is the server's"));
        }
        if wanted.udp && wanted.streams > 1 {
            return Some("UDP with several streams is not supported".into());
        }
        None
    }

    /// Whether another test of the same address awaits streams at ports of this one.
    pub(super) fn shares_ports(&self, requested: &Requested, address: IpAddr) -> bool {
        let Some((is_udp, ports)) = requested.ports() else {
            return false;
        };
        let mut all = ports.map(|number| Port { is_udp, number });
        let is_awaited = |port| {
            let mut running = self.running.values();
            running.any(|test| test.address == address && test.awaits(port))
        };
        all.any(is_awaited)
    }

    /// Opens the ports where a test's streams are awaited.
    pub(super) fn open_ports(&mut self, ports: Option<&(bool, Range<u16>)>) -> io::Result<()> {
        let Some(ports) = ports else { return Ok(()) };
        let (running, address) = (&self.running, self.server.at.ip());
        let is_ours = |port| running.values().any(|test| test.uses(port));
        self.ports.open(address, ports.clone(), is_ours)
    }

    /// Closes the ports where no stream is awaited.
    pub(super) fn close_ports(&mut self) {
        let running = &self.running;
        self.ports
            .retain(|port| running.values().any(|test| test.awaits(port)));
    }

    /// Passes arrivals at a data port to their test.
    pub(super) fn take_data(&mut self, port: Port) {
        for _ in 0..MAX_ARRIVALS {
            let arrival = if port.is_udp {
                (self.ports.receive(port)).map(|datagram| (datagram.from, Err(datagram.to)))
            } else {
                (self.ports.accept(port)).map(|(stream, peer)| (Some(peer), Ok(stream)))
            };
            let Some((peer, arrival)) = arrival else {
                return;
            };
            let Some(peer) = peer else { continue };
            let mut running = self.running.values_mut();
            let Some(running) = running.find(|test| test.address == peer.ip() && test.awaits(port))
            else {
                continue;
            };
            let socket = match arrival {
                Ok(stream) => {
                    let _ = stream.set_nonblocking(false);
                    Socket::Tcp(stream)
                }
                Err(asked) => {
                    let at = self.server.at_asked(asked, port.number);
                    let Ok(socket) = udp_stream(at, peer) else {
                        continue;
                    };
                    Socket::Udp(socket)
                }
            };
            running.taken.push(port.number);
            let (place, limit) = (u64::from(port.number), running.streams);
            running.mailbox.push(place, socket, limit);
        }
    }
}
