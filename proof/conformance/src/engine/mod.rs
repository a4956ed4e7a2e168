//! The engine as a stack under test: sockets over [`gigatcp_tcp`], in virtual
//! time.
//!
//! Nothing waits in real time: [`Stack::wait_until`] runs timers in their order and advances
//! the clock. The host does what an operating system does around TCP: descriptors,
//! blocking calls, ports, listen queues, resets for segments without a connection.
//!
//! | file | what |
//! |---|---|
//! | `transport` | connections and listeners by port, arriving packets, timers |
//! | `connection` | a connection: held-back data, what was read and written |
//! | `listening` | a listener, Fast Open of servers |
//! | `error_queue` | completions of `MSG_ZEROCOPY`, `SO_TIMESTAMPING` |
//! | `host` | descriptors above the transport, and calls that wait |
//! | `descriptor`, `socket_options`, `waiting`, `arguments` | the data of these |
//! | `calls` | the calls by name; those that open and close |
//! | `fast_open` | Fast Open of clients |
//! | `transfer` | calls that read and write |
//! | `messages` | control messages of `recvmsg` |
//! | `files` | pipes and plain files, `splice`, `sendfile` |
//! | `poll` | `poll` and `epoll` |
//! | `options` | `setsockopt`, `getsockopt`, `ioctl`, `fcntl` |
//! | `settings` | the header `// profile:`, options of the script |
//! | `freebsd` | FreeBSD's settings and names |
//! | `commands` | shell commands |
//! | `sysctl` | settings of the system |
//! | `shell` | `nstat`, `grep` in `/proc/net` |
//! | `info` | `tcp_info` |
//! | `times` | times in `tcp_info` |
//! | `convert` | packets to segments and back |
//!
//! Out of scope, reported by name when a script needs it: other control messages, `splice` that
//! blocks.

mod arguments;
mod calls;
mod commands;
mod connection;
mod convert;
mod descriptor;
mod error_queue;
mod fast_open;
mod files;
mod freebsd;
mod host;
mod info;
mod listening;
mod messages;
mod options;
mod poll;
mod settings;
mod shell;
mod socket_options;
mod sysctl;
mod times;
mod transfer;
mod transport;
mod waiting;

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use crate::ast::Script;
use crate::packet::Packet;
use crate::stack::{Addresses, CallId, Progress, Request, Returned, Sent, Stack, Unsupported};
use host::Host;
use settings::Setup;

/// The engine as a stack with sockets.
#[derive(Debug, Default)]
pub struct Engine {
    host: Host,
    defaults: Option<String>,
}

impl Engine {
    /// An engine before the start of a script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Engine with the text of the `defaults.sh` that the script calls. Its `sysctl` lines are read
    /// as facts about the host; the script is not executed.
    #[must_use]
    pub fn with_defaults(self, text: String) -> Self {
        Self {
            defaults: Some(text),
            ..self
        }
    }
}

impl Stack for Engine {
    fn name(&self) -> String {
        "engine".into()
    }

    fn begin(&mut self, script: &Script, addresses: &Addresses) -> Result<(), Unsupported> {
        self.host = Host::new(Setup::of_script(script, addresses)?, *addresses);
        self.host.defaults = self.defaults.clone();
        Ok(())
    }

    fn wait_until(&mut self, at: Instant) {
        self.host.wait_until(at);
    }

    fn now(&self) -> Instant {
        self.host.transport.now()
    }

    fn call(&mut self, call: &Request<'_>) -> Result<Progress, Unsupported> {
        self.host.call(call)
    }

    fn poll_call(&mut self, call: CallId) -> Option<(Instant, Returned)> {
        self.host.take_done(call)
    }

    fn inject(&mut self, packet: &Packet) -> Result<(), Unsupported> {
        self.host.inject(packet)
    }

    fn next_sent(&mut self, latest: Instant) -> Option<Sent> {
        self.host.next_sent(latest)
    }

    fn command(&mut self, text: &str) -> Result<(), Unsupported> {
        self.host.command(text)
    }

    fn command_failed(&mut self) -> Option<String> {
        self.host.command_failed.take()
    }

    fn definitions(&self) -> Vec<(String, Vec<u8>)> {
        self.host.transport.definitions()
    }

    fn info(&mut self, fd: i64) -> Result<Vec<(&'static str, i64)>, Unsupported> {
        self.host.info(fd)
    }
}
