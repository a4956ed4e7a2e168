//! Fast Open of clients: `MSG_FASTOPEN` and `TCP_FASTOPEN_CONNECT` (RFC 7413 appendix A, Linux
//! `tcp(7)`).

use gigatcp_events::State;

use super::calls::{Called, Operation, failed, returned};
use super::host::{Host, SocketState};
use super::transfer::Writing;
use crate::ast::Value;

impl Host {
    /// Returns whether a server's cookie is stored, or none is needed.
    pub fn has_cookie(&mut self) -> bool {
        let (now, server) = (self.clock(), self.addresses.remote);
        let may = self.setup.profile.opening.fast_open_client;
        let offer = self.fast_open_cache.offer(now, server);
        let cookieless =
            self.setup.cookieless_client || self.setup.profile.opening.fast_open_without_cookie;
        may && (cookieless || offer.is_some_and(|offer| !offer.cookie.is_request()))
    }

    /// Puts a cookie, or a cookie request, on the SYN.
    pub fn offer_fast_open(&mut self, index: usize) {
        let (now, server) = (self.clock(), self.addresses.remote);
        if let Some(offer) = self.fast_open_cache.offer(now, server) {
            self.connections[index].tcp.offer_fast_open(&offer);
        }
    }

    /// Returns the port to which a write opens a connection, if it does.
    pub fn fast_connect_port(&mut self, fd: i64, flags: &Value) -> Option<u16> {
        let remote_port = self.addresses.remote_port;
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
        let has_cookie = self.has_cookie();
        let Some(index) = self.open_actively(fd, remote_port) else {
            return failed("EBADF");
        };
        let mut written = 0;
        if has_cookie {
            written = self.feed(index, len, false);
            self.note_written(&Writing::new(fd, written, zero_copy).finished());
        }
        self.offer_fast_open(index);
        self.pump(index);
        if has_cookie {
            return returned(written as i64);
        }
        if self.is_nonblocking(fd) || flags.has_word("MSG_DONTWAIT") {
            return failed("EINPROGRESS");
        }
        let writing = Writing::new(fd, len, zero_copy).opening();
        self.start(Operation::Write(writing), None)
    }

    /// Stores the result of a Fast Open, once it is established or closed.
    pub fn learn_fast_open(&mut self, index: usize) {
        let (now, server) = (self.clock(), self.addresses.remote);
        let conn = &mut self.connections[index];
        if conn.fast_open_learned {
            return;
        }
        if let Some(outcome) = conn.tcp.fast_open_outcome()
            && (outcome.answered || conn.tcp.state() == State::Closed)
        {
            conn.fast_open_learned = true;
            self.fast_open_cache.learn(now, server, &outcome);
        }
    }
}
