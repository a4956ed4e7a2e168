//! Listening sockets: the engine's [`Listener`] for a port.
//!
//! The listener is created when the first segment arrives, so that all earlier socket options
//! apply.

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_tcp::connection::Predecessor;
use gigatcp_tcp::fast_open::FastOpenKey;
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_tcp::{FourTuple, Received, Secret};
use gigatcp_units::Instant;
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{IcmpError, Segment};

use super::host::{File, Host, Socket, SocketState};
use super::settings::FAST_OPEN_KEY;

/// Secret for initial sequence numbers and cookies: arbitrary, and the same each time.
const SECRET: [u8; 16] = *b"packet scripts \n";

/// Names of scripts of the kernel's self-tests for the server's cookies, with their keys.
const COOKIES: [(&str, [u8; 16]); 2] =
    [("TFO_COOKIE", FAST_OPEN_KEY), ("TFO_COOKIE_ZERO", [0; 16])];

/// Settings of a listening socket, and its listener once it has one.
#[derive(Debug, Default)]
pub struct Listening {
    pub backlog: usize,
    /// Maximum number of Fast Open connections in progress.
    pub fast_open: usize,
    /// Fast Open key of this socket.
    key: Option<[u8; 16]>,
    listener: Option<Listener<Bytes>>,
}

impl Listening {
    /// Returns whether it has received a segment.
    pub fn has_begun(&self) -> bool {
        self.listener.is_some()
    }

    /// Applies `TCP_FASTOPEN_KEY`.
    pub fn set_key(&mut self, key: [u8; 16]) {
        self.key = Some(key);
        if let Some(listener) = &mut self.listener {
            listener.set_fast_open_key(Secret::new(key));
        }
    }

    /// Returns the number of ignored ICMP errors about connections not yet accepted.
    pub fn icmp_errors_ignored(&self) -> u64 {
        let waiting = self.listener.iter().flat_map(Listener::waiting);
        waiting.map(|tcp| tcp.counters().icmp_errors_ignored).sum()
    }

    /// Returns the number of connections waiting to be accepted.
    pub fn acceptable(&self) -> usize {
        self.listener.as_ref().map_or(0, Listener::acceptable)
    }
}

impl Host {
    /// Processes a segment for the port of the listening socket `fd`.
    pub fn listener_hears(
        &mut self,
        fd: i64,
        segment: Segment<Bytes>,
        predecessor: Option<Predecessor>,
    ) {
        let at = self.clock();
        let arriving = self.endpoints().reversed();
        self.begin_listening(fd, segment.dst_port);
        let listening = self.listening.entry(fd).or_default();
        if let Some(listener) = &mut listening.listener {
            let received = Received { at, segment };
            match predecessor {
                Some(before) => listener.handle_syn_after(at, arriving, received, &before),
                None => listener.handle_segment(at, arriving, received),
            }
        }
        self.pump_listener(fd);
    }

    /// Returns whether the listener has a connection between these ports that is not yet accepted.
    /// The local port comes first.
    pub fn listener_knows(&self, fd: i64, ports: (u16, u16)) -> bool {
        let tuple = self.tuple(ports);
        let listener = self.listening.get(&fd).and_then(|l| l.listener.as_ref());
        listener.is_some_and(|listener| listener.knows(&tuple))
    }

    /// Processes an ICMP error about such a connection.
    pub fn listener_hears_icmp(&mut self, fd: i64, ports: (u16, u16), error: IcmpError) {
        let (now, tuple) = (self.clock(), self.tuple(ports));
        let listening = self.listening.get_mut(&fd);
        if let Some(listener) = listening.and_then(|listening| listening.listener.as_mut()) {
            listener.handle_icmp(now, &tuple, error);
        }
        self.pump_listener(fd);
    }

    fn tuple(&self, (local_port, remote_port): (u16, u16)) -> FourTuple {
        FourTuple {
            endpoints: self.endpoints(),
            local_port,
            remote_port,
        }
    }

    fn begin_listening(&mut self, fd: i64, port: u16) {
        let Some(File::Socket(socket)) = self.files.get(&fd) else {
            return;
        };
        let options = socket.options.clone();
        let mut template = self.setup.config(port, 0);
        options.apply(&mut template);
        template.profile.opening.fast_open_without_cookie |= self.setup.cookieless_server;
        let (unasked, common_key) = (self.setup.fast_open_unasked, self.setup.fast_open_key);
        let listening = self.listening.entry(fd).or_default();
        let (backlog, mut fast_open) = (listening.backlog, listening.fast_open);
        if unasked && fast_open == 0 {
            fast_open = backlog;
        }
        let key = Secret::new(listening.key.unwrap_or(common_key));
        template.profile.opening.fast_open_server &= fast_open > 0;
        listening.listener.get_or_insert_with(|| {
            let mut listener = Listener::new(ListenerConfig {
                template,
                secret: Secret::new(SECRET),
                // As in Linux, the backlog is one more than requested.
                backlog: backlog + 1,
                accept_backlog: backlog + 1,
                fast_open_backlog: fast_open,
                abort_on_overflow: false,
            });
            listener.set_fast_open_key(key);
            listener
        });
    }

    fn pump_listener(&mut self, fd: i64) {
        let now = self.clock();
        let mut leaving = Vec::new();
        let listening = self.listening.get_mut(&fd);
        if let Some(listener) = listening.and_then(|listening| listening.listener.as_mut()) {
            while let Some((_, segment)) = listener.poll_transmit(now) {
                leaving.push(segment);
            }
        }
        for segment in &leaving {
            self.send_alone(segment);
        }
    }

    /// Returns the time of the next timer of a listener.
    pub fn listening_timeout(&self) -> Instant {
        let listeners = self.listening.values().filter_map(|l| l.listener.as_ref());
        let first = listeners.map(Listener::poll_timeout).min();
        first.unwrap_or(Instant::FAR_FUTURE)
    }

    pub fn listening_handle_timeout(&mut self, at: Instant) {
        let fds: Vec<i64> = self.listening.keys().copied().collect();
        for fd in fds {
            let listening = self.listening.get_mut(&fd);
            if let Some(listener) = listening.and_then(|listening| listening.listener.as_mut())
                && listener.poll_timeout() <= at
            {
                listener.handle_timeout(at);
            }
            self.pump_listener(fd);
        }
    }

    /// Passes the next connection to the application, with the descriptor given in the script.
    pub fn take_accepted(
        &mut self,
        fd: i64,
        wanted: Option<i64>,
        nonblocking: bool,
    ) -> Option<i64> {
        let index = self.take_from_listener(fd)?;
        let Some(File::Socket(listener)) = self.files.get(&fd) else {
            return None;
        };
        let mut options = listener.options.clone();
        options.nonblocking = nonblocking;
        let socket = Socket {
            state: SocketState::Open(index),
            port: listener.port,
            options,
            deferred_connect: None,
        };
        let new = self.open(File::Socket(socket), wanted);
        self.connections[index].fd = Some(new);
        self.pump(index);
        Some(new)
    }

    fn take_from_listener(&mut self, fd: i64) -> Option<usize> {
        let listener = self.listening.get_mut(&fd)?.listener.as_mut()?;
        let accepted = listener.poll_accept()?;
        let options = match self.files.get(&fd) {
            Some(File::Socket(socket)) => socket.options.clone(),
            _ => super::options::SocketOptions::default(),
        };
        let (local, remote) = (accepted.tuple.local_port, accepted.tuple.remote_port);
        // A connection in TIME-WAIT that gave way to it is over now.
        for old in &mut self.connections {
            old.is_replaced |= (old.local_port, old.remote_port) == (local, remote);
        }
        Some(self.add(accepted.connection, local, remote, &options))
    }

    /// Closes the listening socket. A connection not yet accepted is reset (RFC 9293 section
    /// 3.10.5); a half-open one is dropped.
    pub fn stop_listening(&mut self, fd: i64) {
        let at = self.clock();
        while let Some(index) = self.take_from_listener(fd) {
            self.connections[index].tcp.abort(at);
            self.pump(index);
        }
        self.listening.remove(&fd);
    }

    /// Returns names of scripts whose meaning the stack defines.
    pub fn definitions(&self) -> Vec<(String, Vec<u8>)> {
        let octets = |key: [u8; 16]| {
            let cookie = FastOpenKey::new(Secret::new(key)).cookie(self.addresses.remote);
            cookie.as_slice().to_vec()
        };
        let known = COOKIES.iter();
        known
            .map(|(name, key)| (String::from(*name), octets(*key)))
            .collect()
    }
}
