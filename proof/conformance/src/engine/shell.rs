//! Commands that inspect the host: `nstat`, `grep` in `/proc/net/tcp` and `/proc/net/tcp6`,
//! FreeBSD's `sockstat`, and pipes from them into `grep`.
//!
//! `grep` searches for plain text; a pattern with special characters is reported as unsupported.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::descriptor::{File, SocketState};
use super::freebsd;
use super::host::Host;
use super::listening::Listening;
use crate::stack::Unsupported;

impl Host {
    /// Runs `words` if they are such a command; `line` is the command as written.
    pub fn run_query(&mut self, words: &[&str], line: &str) -> Result<bool, Unsupported> {
        if !matches!(words.first(), Some(&("nstat" | "grep" | "sockstat"))) {
            return Ok(false);
        }
        let unsupported = || Unsupported::new("command", line);
        let mut text = None;
        let mut found = true;
        for part in words.split(|word| *word == "|") {
            let (program, arguments) = part.split_first().ok_or_else(unsupported)?;
            let (flags, rest): (Vec<&str>, Vec<&str>) =
                arguments.iter().partition(|word| word.starts_with('-'));
            match (*program, &rest[..]) {
                ("sockstat", ports) => {
                    text = Some(self.sockstat(&flags, ports).ok_or_else(unsupported)?);
                }
                ("nstat", []) => text = Some(self.statistics(&flags).ok_or_else(unsupported)?),
                ("grep", [pattern, files @ ..]) => {
                    let from = match text.take() {
                        Some(before) if files.is_empty() => before,
                        None => self.files_of(files).ok_or_else(unsupported)?,
                        Some(_) => return Err(unsupported()),
                    };
                    // A requested counter must exist.
                    if pattern.contains(['.', '*', '[', '^', '$', '\\'])
                        || (pattern.starts_with("Tcp") && !self.counts(pattern))
                    {
                        return Err(unsupported());
                    }
                    let lines: Vec<&str> = from.lines().filter(|l| l.contains(pattern)).collect();
                    found = !lines.is_empty();
                    text = Some(if flags.contains(&"-c") {
                        lines.len().to_string()
                    } else {
                        lines.join("\n")
                    });
                }
                _ => return Err(unsupported()),
            }
        }
        if !found {
            self.command_failed = Some(format!("`{line}` found nothing"));
        }
        Ok(true)
    }

    fn counts(&self, name: &str) -> bool {
        self.counters().iter().any(|(known, _)| *known == name)
    }

    fn counters(&self) -> [(&'static str, u64); 2] {
        let open = self.transport.connections.iter();
        let ignored = open.map(|conn| conn.tcp.counters().icmp_errors_ignored);
        let beyond = self
            .transport
            .connections
            .iter()
            .map(|conn| conn.tcp.counters().beyond_window);
        let waiting = self
            .transport
            .listening
            .values()
            .map(Listening::icmp_errors_ignored);
        [
            (
                "TcpExtOutOfWindowIcmps",
                ignored.sum::<u64>() + waiting.sum::<u64>(),
            ),
            ("TcpExtBeyondWindow", beyond.sum::<u64>()),
        ]
    }

    /// Output of `nstat`: counters that changed since it was last called. `-n` suppresses the
    /// output; `-s` does not store the counters.
    fn statistics(&mut self, flags: &[&str]) -> Option<String> {
        let (mut says, mut remembers) = (true, true);
        for flag in flags {
            match *flag {
                "-n" => says = false,
                "-s" => remembers = false,
                _ => return None,
            }
        }
        let mut text = String::from("#kernel\n");
        for (name, value) in self.counters() {
            let before = self.counters_printed.get(name).copied().unwrap_or(0);
            if says && value > before {
                text += &format!("{name:<32}{:<19}0.0\n", value - before);
            }
            if remembers {
                self.counters_printed.insert(name, value);
            }
        }
        Some(text)
    }

    /// Lines of `/proc/net/tcp` and `/proc/net/tcp6`, with the fields that scripts use: ports and
    /// state.
    fn files_of(&self, names: &[&str]) -> Option<String> {
        let mut text = String::new();
        for name in names {
            let v6 = match *name {
                "/proc/net/tcp" => false,
                "/proc/net/tcp6" => true,
                _ => return None,
            };
            if v6 == self.transport.addresses.local.is_ipv6() {
                self.list_sockets(&mut text);
            }
        }
        Some(text)
    }

    /// Lines of `sockstat -4 -P tcp -p PORT -s`, with the fields that scripts use: the name of the
    /// process, cut off, the local port and the state. Half-open connections are listed, those that
    /// wait to be accepted are not.
    fn sockstat(&self, flags: &[&str], rest: &[&str]) -> Option<String> {
        let known = ["-4", "-6", "-P", "-p", "-s"];
        if !flags.iter().all(|flag| known.contains(flag)) {
            return None;
        }
        let port: Option<u16> = match rest {
            ["tcp"] => None,
            ["tcp", port] => Some(port.parse().ok()?),
            _ => return None,
        };
        let is_listed = flags.contains(&"-6") == self.transport.addresses.local.is_ipv6();
        let mut text = String::new();
        for (fd, file) in self.files.iter().filter(|_| is_listed) {
            let File::Socket(socket) = file else {
                continue;
            };
            let (local, state) = match socket.state {
                SocketState::Fresh => (socket.port.unwrap_or(0), "CLOSED"),
                SocketState::Listening => (socket.port.unwrap_or(0), "LISTEN"),
                SocketState::Open(index) => {
                    let conn = &self.transport.connections[index];
                    (conn.local_port, freebsd::state(conn.tcp.state()))
                }
            };
            if port.is_none_or(|port| port == local) {
                text += &format!("root packetdril 1 {fd} tcp *:{local} *:* {state}\n");
            }
        }
        let listening = self.transport.listening.values().filter(|_| is_listed);
        for listening in listening.filter(|listening| port.is_none() || listening.port == port) {
            let local = listening.port.unwrap_or(0);
            let line = format!("? ? ? ? tcp *:{local} *:* SYN_RCVD\n");
            text += &line.repeat(listening.half_open());
        }
        Some(text)
    }

    fn list_sockets(&self, text: &mut String) {
        for (number, file) in self.files.values().enumerate() {
            let File::Socket(socket) = file else {
                continue;
            };
            let (local, remote, state) = match socket.state {
                SocketState::Fresh => continue,
                SocketState::Listening => (socket.port.unwrap_or(0), 0, 10),
                SocketState::Open(index) => {
                    let conn = &self.transport.connections[index];
                    let words = self.info_of(index);
                    let state = words
                        .iter()
                        .find(|(name, _)| *name == "tcpi_state")
                        .map_or(7, |(_, number)| *number);
                    (conn.local_port, conn.remote_port, state)
                }
            };
            *text += &format!("{number:4}: *:{local:04X} *:{remote:04X} {state:02X} \n");
        }
    }
}
