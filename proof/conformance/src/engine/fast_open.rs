//! Fast Open of clients: `MSG_FASTOPEN` and `TCP_FASTOPEN_CONNECT` (RFC 7413 appendix A, Linux
//! `tcp(7)`).

use gigatcp_tcp::events::State;

use super::arguments::{Called, failed, returned};
use super::descriptor::SocketState;
use super::host::Host;
use super::waiting::{Operation, Writing};
use crate::ast::Value;

impl Host {
    /// The port to which a write opens a connection, if it does.
    pub fn fast_connect_port(&mut self, fd: i64, flags: &Value, names_peer: bool) -> Option<u16> {
        let remote_port = self.transport.addresses.remote_port;
        // FreeBSD connects whenever a call names the peer (`tcp_usr_send`).
        let connects = names_peer && self.transport.setup.as_freebsd;
        let socket = self.socket_of(fd)?;
        if socket.state != SocketState::Fresh {
            return None;
        }
        let asked = (connects || flags.has_word("MSG_FASTOPEN")).then_some(remote_port);
        socket.deferred_connect.or(asked)
    }

    /// Whether a write with `MSG_FASTOPEN` fails: Linux has Fast Open switched off for clients, or the
    /// peer is an address without a family.
    pub fn refuses_fast_open(&self, flags: &Value, peer: Option<&str>) -> bool {
        let setup = &self.transport.setup;
        let is_off = !setup.profile.opening.fast_open_client;
        let is_asked = setup.as_linux && flags.has_word("MSG_FASTOPEN");
        is_asked && (is_off || peer == Some("AF_UNSPEC"))
    }

    /// Whether the handshake of the connection has begun and is not over.
    pub fn is_opening(&self, fd: i64) -> bool {
        let connection = self
            .open_index(fd)
            .map(|index| &self.transport.connections[index].tcp);
        connection.is_some_and(|tcp| tcp.state() == State::SynSent)
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
        let own_mss = self.socket_of(fd).and_then(|socket| socket.options.mss);
        let never_waits = self.is_nonblocking(fd) || flags.has_word("MSG_DONTWAIT");
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
        let setup = &self.transport.setup;
        let (as_linux, as_freebsd) = (setup.as_linux, setup.as_freebsd);
        // Linux accepts what the SYN carries, FreeBSD what the send buffer holds.
        let accepted = match self.transport.syn_space(own_mss) {
            Some(space) if as_linux => len.min(space),
            _ => len,
        };
        if has_cookie || as_freebsd {
            let now = self.transport.clock();
            let conn = &mut self.transport.connections[index];
            writing.written = conn.feed(now, accepted, false, as_linux);
            self.note_written(&writing);
        }
        self.transport.offer_fast_open(index);
        self.transport.pump(index);
        if as_linux && !never_waits {
            writing.left -= writing.written;
            return self.start(Operation::Write(writing), None);
        }
        if as_freebsd || writing.written > 0 || (has_cookie && !as_linux) {
            return returned(writing.written as i64);
        }
        if never_waits {
            return failed("EINPROGRESS");
        }
        self.start(Operation::Write(writing), None)
    }
}
