//! `poll` and `epoll`: which descriptors are ready.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::arguments::{Arguments, Called, failed, returned};
use super::descriptor::{Epoll, File, SocketState, Watched};
use super::host::Host;
use super::listening::Listening;
use super::messages::structure;
use super::waiting::{Operation, Watch};
use crate::ast::Value;
use crate::stack::{Progress, Returned, Unsupported};

/// Events, without the prefix of the call.
const WORDS: [&str; 6] = ["IN", "OUT", "ERR", "HUP", "RDHUP", "PRI"];

impl Host {
    pub fn poll(&mut self, args: &Arguments<'_>) -> Called {
        let Value::List(entries) = args.get(0) else {
            return Err(args.odd(0));
        };
        let asked: Option<Vec<(i64, Value)>> = entries
            .iter()
            .map(|entry| {
                Some((
                    entry.member("fd")?.integer()?,
                    entry.member("events")?.clone(),
                ))
            })
            .collect();
        let watch = Watch::Poll(asked.ok_or_else(|| args.odd(0))?);
        self.watch(watch, args.number(2)?)
    }

    fn watch(&mut self, mut watch: Watch, timeout_ms: i64) -> Called {
        if timeout_ms == 0 {
            let done = self
                .attempt_watch(&mut watch)
                .unwrap_or_else(|| self.nothing_ready(&watch));
            return Ok(Progress::Returned(done));
        }
        let deadline = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        self.start(Operation::Watch(watch), deadline)
    }

    fn nothing_ready(&self, watch: &Watch) -> Returned {
        match watch {
            Watch::Poll(asked) => Returned::success(0).output(0, entries(asked, &[])),
            Watch::Epoll(..) => Returned::success(0),
        }
    }

    pub fn attempt_watch(&mut self, watch: &mut Watch) -> Option<Returned> {
        match watch {
            Watch::Poll(asked) => {
                let ready: Vec<Vec<&str>> = asked
                    .iter()
                    .map(|(fd, events)| self.ready(*fd, events, "POLL"))
                    .collect();
                let count = ready.iter().filter(|words| !words.is_empty()).count();
                (count > 0)
                    .then(|| Returned::success(count as i64).output(0, entries(asked, &ready)))
            }
            Watch::Epoll(fd, most) => self.attempt_epoll(*fd, *most),
        }
    }

    /// Events of `wanted` that are present now; errors always count.
    fn ready(&self, fd: i64, wanted: &Value, prefix: &str) -> Vec<&'static str> {
        let Some(File::Socket(socket)) = self.files.get(&fd) else {
            return Vec::new();
        };
        let state = socket.state;
        let now: Vec<&str> = match state {
            SocketState::Fresh if socket.awaits_first_write() => Vec::from(["OUT"]),
            SocketState::Fresh => Vec::from(["OUT", "HUP"]),
            SocketState::Listening => {
                let waiting = self
                    .transport
                    .listening
                    .get(&fd)
                    .map_or(0, Listening::acceptable);
                match waiting {
                    0 => Vec::new(),
                    _ => Vec::from(["IN"]),
                }
            }
            SocketState::Open(index) => self.transport.connections[index].ready(),
        };
        let asked =
            |word: &str| matches!(word, "ERR" | "HUP") || wanted.has_word(&[prefix, word].concat());
        let found = WORDS.into_iter().filter(|word| now.contains(word));
        found.filter(|word| asked(word)).collect()
    }

    pub fn epoll_create(&mut self, wanted: Option<i64>) -> Called {
        let fd = self.open(File::Epoll(Epoll::default()), wanted);
        returned(fd)
    }

    pub fn epoll_ctl(&mut self, args: &Arguments<'_>) -> Called {
        let fd = args.number(2)?;
        let events = args.get(3).member("events").cloned();
        let Some(File::Epoll(epoll)) = self.files.get_mut(&args.number(0)?) else {
            return failed("EBADF");
        };
        let known = epoll.watched.iter().position(|watched| watched.fd == fd);
        let watched = |events| Watched {
            fd,
            events,
            reported: Vec::new(),
            is_over: false,
            edge: (0, 0),
        };
        match (args.get(1).name(), events, known) {
            (Some("EPOLL_CTL_ADD"), Some(events), None) => epoll.watched.push(watched(events)),
            (Some("EPOLL_CTL_MOD"), Some(events), Some(at)) => epoll.watched[at] = watched(events),
            (Some("EPOLL_CTL_DEL"), _, Some(at)) => {
                epoll.watched.remove(at);
            }
            (Some("EPOLL_CTL_ADD"), _, Some(_)) => return failed("EEXIST"),
            (Some("EPOLL_CTL_MOD" | "EPOLL_CTL_DEL"), _, None) => return failed("ENOENT"),
            _ => return Err(args.odd(1)),
        }
        returned(0)
    }

    pub fn epoll_wait(&mut self, args: &Arguments<'_>) -> Called {
        let most = usize::try_from(args.number(2)?).unwrap_or(0);
        let watched = match self.files.get(&args.number(0)?) {
            Some(File::Epoll(epoll)) => epoll.watched.len(),
            _ => 0,
        };
        if most.min(watched) > 1 {
            return Err(Unsupported::new("call", "epoll_wait for several events"));
        }
        self.watch(Watch::Epoll(args.number(0)?, most), args.number(3)?)
    }

    /// Values whose change is an edge even if the events are the same. They are the number of error
    /// queue reports and the octets received.
    fn edge_state(&self, fd: i64) -> (u64, u64) {
        let conn = self
            .open_index(fd)
            .map(|index| &self.transport.connections[index]);
        conn.map_or((0, 0), |conn| {
            let arrived = u64::from(conn.read) + conn.tcp.readable();
            (conn.errors.reports(), arrived)
        })
    }

    fn attempt_epoll(&mut self, epfd: i64, most: usize) -> Option<Returned> {
        let Some(File::Epoll(epoll)) = self.files.get(&epfd) else {
            return Some(Returned::failure("EBADF"));
        };
        let mut epoll = epoll.clone();
        let mut found = None;
        for watched in epoll.watched.iter_mut().filter(|watched| !watched.is_over) {
            let ready = self.ready(watched.fd, &watched.events, "EPOLL");
            let edges = watched.events.has_word("EPOLLET");
            let edge = self.edge_state(watched.fd);
            let has_data = ready.contains(&"IN") && edge.1 != watched.edge.1;
            let is_new = ready.iter().any(|word| !watched.reported.contains(word))
                || edge.0 != watched.edge.0
                || has_data;
            if found.is_none() && most > 0 && !ready.is_empty() && (!edges || is_new) {
                watched.is_over = watched.events.has_word("EPOLLONESHOT");
                found = Some(event(watched.fd, &ready));
                watched.reported = ready;
                watched.edge = edge;
            } else {
                watched.reported.retain(|word| ready.contains(word));
            }
        }
        self.files.insert(epfd, File::Epoll(epoll));
        found.map(|event| Returned::success(1).output(1, event))
    }
}

fn words(prefix: &str, ready: &[&str]) -> Value {
    let mut names: Vec<Value> = ready
        .iter()
        .map(|word| Value::Name([prefix, word].concat()))
        .collect();
    match names.len() {
        0 => Value::Integer(0),
        1 => names.remove(0),
        _ => Value::Or(names),
    }
}

fn entries(asked: &[(i64, Value)], ready: &[Vec<&str>]) -> Value {
    let entry = |(index, (fd, events)): (usize, &(i64, Value))| {
        let found = ready.get(index).map_or(&[][..], Vec::as_slice);
        structure([
            ("fd", Value::Integer(*fd)),
            ("events", events.clone()),
            ("revents", words("POLL", found)),
        ])
    };
    Value::List(asked.iter().enumerate().map(entry).collect())
}

fn event(fd: i64, ready: &[&str]) -> Value {
    structure([
        ("events", words("EPOLL", ready)),
        ("fd", Value::Integer(fd)),
    ])
}
