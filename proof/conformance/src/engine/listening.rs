//! A listening socket: the engine's [`Listener`] behind a port.
//!
//! The listener is made when the first segment arrives, so that all options set until then
//! apply.

use core::net::IpAddr;

use gigatcp_tcp::Secret;
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_wire::bytes::Bytes;

use super::settings::Setup;
use super::socket_options::SocketOptions;

/// Secret of initial sequence numbers and cookies: the same in each run.
const SECRET: [u8; 16] = *b"packet scripts \n";

/// Settings of a listening socket, and its listener after the first segment.
#[derive(Debug, Default)]
pub struct Listening {
    /// `None` before `listen`.
    pub port: Option<u16>,
    pub backlog: usize,
    pub options: SocketOptions,
    /// Maximum number of Fast Open connections in progress.
    pub fast_open: usize,
    /// Key of Fast Open cookies; `None`: that of the host.
    key: Option<[u8; 16]>,
    pub listener: Option<Listener<Bytes>>,
}

impl Listening {
    /// Whether a segment has arrived.
    pub fn has_begun(&self) -> bool {
        self.listener.is_some()
    }

    /// Applies `TCP_FASTOPEN_KEY`.
    pub fn set_key(&mut self, key: [u8; 16], host: IpAddr) {
        self.key = Some(key);
        if let Some(listener) = &mut self.listener {
            listener.set_linux_fast_open_key(Secret::new(key), host);
        }
    }

    /// Number of ignored ICMP errors about connections that wait to be accepted.
    pub fn icmp_errors_ignored(&self) -> u64 {
        let waiting = self.listener.iter().flat_map(Listener::waiting);
        waiting.map(|tcp| tcp.counters().icmp_errors_ignored).sum()
    }

    /// Number of connections whose handshake is not complete.
    pub fn half_open(&self) -> usize {
        self.listener.as_ref().map_or(0, Listener::half_open)
    }

    /// Number of connections that wait to be accepted.
    pub fn acceptable(&self) -> usize {
        self.listener.as_ref().map_or(0, Listener::acceptable)
    }

    /// Listener, made at the first call.
    pub fn listener(&mut self, setup: &mut Setup, host: IpAddr) -> &mut Listener<Bytes> {
        let mut fast_open = self.fast_open;
        if setup.fast_open_unasked && fast_open == 0 {
            fast_open = self.backlog;
        }
        self.listener.get_or_insert_with(|| {
            let mut template = setup.config(self.port.unwrap_or(0), 0);
            self.options.apply(&mut template);
            let opening = &mut template.transport_mut().profile.opening;
            opening.fast_open_without_cookie |= setup.cookieless_server;
            opening.fast_open_server &= fast_open > 0;
            let mut listener = Listener::new(ListenerConfig {
                transport: template.transport,
                secret: Secret::new(SECRET),
                // Linux admits one more than the backlog.
                backlog: self.backlog + 1,
                accept_backlog: self.backlog + 1,
                fast_open_backlog: fast_open,
                abort_on_overflow: false,
            });
            let key = Secret::new(self.key.unwrap_or(setup.fast_open_key));
            listener.set_linux_fast_open_key(key, host);
            listener
        })
    }
}
