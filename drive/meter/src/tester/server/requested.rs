//! A nuttcp client's request.

use std::io::Write;
use std::net::TcpStream;
use std::ops::Range;

use gigatcp_protocol::nuttcp::greeting::Agreed;
use gigatcp_protocol::nuttcp::{self, Output, Parameters};

use crate::tester::nuttcp::ports::awaited;

/// A client's request, before it is answered.
pub(super) struct Requested {
    pub(super) server: nuttcp::Server,
    pub(super) wanted: Parameters,
    pub(super) agreed: Agreed,
}

impl Requested {
    /// Whether it is UDP, and the ports where its streams are awaited.
    pub(super) fn ports(&self) -> Option<(bool, Range<u16>)> {
        awaited(&self.wanted)
    }

    /// Sends the client the reason for the refusal.
    pub(super) fn refuse(mut self, mut stream: &TcpStream, reason: &str) {
        self.server.refuse(reason);
        while let Some(output) = self.server.poll_output() {
            if let Output::Send(bytes) = output {
                let _ = stream.write_all(&bytes);
            }
        }
    }
}
