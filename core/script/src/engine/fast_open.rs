//! Fast Open of clients: `MSG_FASTOPEN` and `TCP_FASTOPEN_CONNECT` (RFC 7413 appendix A, Linux
//! `tcp(7)`).

use super::arguments::{Called, failed, returned};
use super::descriptor::SocketState;
use super::host::Host;
use super::waiting::{Operation, Writing};
use crate::ast::Value;

impl Host {
    /// The port to which a write opens a connection, if it does.
    pub fn fast_connect_port(&mut self, fd: i64, flags: &Value) -> Option<u16> {
        let remote_port = self.transport.addresses.remote_port;
        let socket = self.socket_of(fd)?;
        if socket.state != SocketState::Fresh {
            return None;
        }
        let asked = flags.has_word("MSG_FASTOPEN").then_some(remote_port);
        socket.deferred_connect.or(asked)
    }

    /// Connects with data on the SYN. Without a cookie the SYN requests one, and the data waits for
    /// the handshake. If the socket or this call never blocks, the caller gets an error instead.
    pub fn fast_connect(
        &mut self,
        fd: i64,
        remote_port: u16,
        len: usize,
        (flags, zero_copy): (&Value, bool),
    ) -> Called {
        let has_cookie = self.transport.has_cookie();
        let Some(index) = self.open_actively(fd, remote_port) else {
            return failed("EBADF");
        };
        let mut writing = Writing {
            fd,
            zero_copy,
            left: len,
            opens: true,
            ..Writing::default()
        };
        if has_cookie {
            let (now, as_linux) = (self.transport.clock(), self.transport.setup.as_linux);
            let conn = &mut self.transport.connections[index];
            writing.written = conn.feed(now, len, false, as_linux);
            self.note_written(&writing);
        }
        self.transport.offer_fast_open(index);
        self.transport.pump(index);
        if has_cookie {
            return returned(writing.written as i64);
        }
        if self.is_nonblocking(fd) || flags.has_word("MSG_DONTWAIT") {
            return failed("EINPROGRESS");
        }
        self.start(Operation::Write(writing), None)
    }
}
