//! A client of a server, with its connection and its request.

use std::net::SocketAddr;
use std::sync::Arc;

use gigatcp_protocol::iperf3::Cookie;
use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_protocol::nuttcp::server::Event;
use gigatcp_protocol::nuttcp::{Output, Parameters, Server};
use socket2::SockRef;

use super::super::session::{Allowance, Mailbox};
use super::super::wire::Wire;

/// A client with its test.
#[derive(Debug)]
pub(in super::super) struct Served {
    pub(in super::super) server: Server,
    pub(in super::super) wire: Wire,
    pub(in super::super) peer: SocketAddr,
    pub(in super::super) cookie: Cookie,
    pub(in super::super) wanted: Parameters,
    pub(in super::super) agreed: Agreed,
    pub(in super::super) allowance: Allowance,
    pub(in super::super) mailbox: Arc<Mailbox>,
    pub(in super::super) port: u16,
}

impl Served {
    /// Sends all queued output.
    pub(super) fn flush(&mut self) {
        while let Some(output) = self.server.poll_output() {
            self.send(&output);
        }
    }

    /// Sends an output. The next read shows whether the client still exists.
    pub(super) fn send(&mut self, output: &Output<Event>) {
        match output {
            Output::Send(bytes) => drop(self.wire.send(bytes)),
            Output::SendUrgent(byte) => {
                drop(SockRef::from(self.wire.stream()).send_out_of_band(&[*byte]));
            }
            _ => {}
        }
    }
}
