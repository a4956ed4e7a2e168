//! Ancillary data of a socket: the error queue with completions of `MSG_ZEROCOPY` (Linux
//! `Documentation/networking/msg_zerocopy.rst`) and the times of `SO_TIMESTAMPING`
//! (`timestamping.rst`), and `TCP_INQ`.
//!
//! The engine's send buffer copies, so every completion has `SO_EE_CODE_ZEROCOPY_COPIED`, as a
//! kernel reports over a device that cannot send from user pages. An octet's buffer is free when it
//! is acknowledged.
//!
//! Times are those of the last octet of each write call: when its segment is first passed to the
//! device (`SCHED` and `SND`, which coincide here), and when it is acknowledged (`ACK`).
//!
//! Out of scope: times of received data, and of hardware; the octets of the segment to which a time
//! refers.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_events::State;
use gigatcp_units::Instant;

use super::calls::{Arguments, Called, failed};
use super::host::{Conn, Host};
use crate::ast::{Member, Value};
use crate::stack::{Progress, Returned, Unsupported};

/// Maximum number of page fragments per kernel packet (`MAX_SKB_FRAGS`).
pub const MOST_PIECES: usize = 17;

/// Write calls and requested times, and reports not yet read.
#[derive(Clone, Debug, Default)]
pub struct ErrorQueue {
    /// Number of the next call with `MSG_ZEROCOPY`.
    next: u32,
    /// Numbers of such calls, and the end of their data, as SND.UNA counts.
    in_use: VecDeque<(u32, u64)>,
    /// Times to report.
    stamps: Stamps,
    /// Ends of calls whose last octet has not left.
    unsent: VecDeque<u64>,
    /// Ends of calls whose last octet is not acknowledged.
    unacked: VecDeque<u64>,
    /// Unread reports, in order.
    told: VecDeque<News>,
    /// Number of reports so far.
    news: u64,
}

/// Options of `SO_TIMESTAMPING`.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    scheduled: bool,
    sent: bool,
    acknowledged: bool,
    /// Origin of octet numbers with `SOF_TIMESTAMPING_OPT_ID`, as SND.UNA counts.
    origin: u64,
}

/// One entry of the queue.
#[derive(Clone, Copy, Debug)]
enum News {
    /// First and last number of calls whose buffers are free.
    Copied(u32, u32),
    /// Event of an octet, octet number, and time.
    Stamp(&'static str, u64, Instant),
}

impl ErrorQueue {
    /// Records that a call with `MSG_ZEROCOPY` has written up to `end`.
    pub fn on_copied(&mut self, end: u64) {
        self.in_use.push_back((self.next, end));
        self.next += 1;
    }

    /// Records that a call has written up to `end`.
    pub fn on_written(&mut self, end: u64) {
        if self.stamps.scheduled || self.stamps.sent {
            self.unsent.push_back(end);
        }
        if self.stamps.acknowledged {
            self.unacked.push_back(end);
        }
    }

    /// Returns whether there is something to read.
    pub fn is_ready(&self) -> bool {
        !self.told.is_empty()
    }

    /// Returns a number that changes with each addition, for edge-triggered waits.
    pub fn news(&self) -> u64 {
        self.news
    }

    /// Applies `SO_TIMESTAMPING`; octets are counted from `una` on.
    ///
    /// # Errors
    /// Kinds of times that are not supported here.
    pub fn set_stamps(&mut self, flags: &Value, una: u64) -> Result<(), Unsupported> {
        const KNOWN: [&str; 5] = [
            "SOF_TIMESTAMPING_TX_SCHED",
            "SOF_TIMESTAMPING_TX_SOFTWARE",
            "SOF_TIMESTAMPING_TX_ACK",
            "SOF_TIMESTAMPING_SOFTWARE",
            "SOF_TIMESTAMPING_OPT_ID",
        ];
        let single = [flags.clone()];
        let words = match flags {
            Value::Or(words) => words.as_slice(),
            _ if flags.integer() == Some(0) => &[],
            _ => &single,
        };
        for word in words {
            if !word.name().is_some_and(|name| KNOWN.contains(&name)) {
                return Err(Unsupported::new(
                    "socket option",
                    "SO_TIMESTAMPING of this kind",
                ));
            }
        }
        let has = |word: &str| flags.has_word(word);
        let stamps = Stamps {
            scheduled: has(KNOWN[0]),
            sent: has(KNOWN[1]),
            acknowledged: has(KNOWN[2]),
            origin: una,
        };
        if (stamps.scheduled || stamps.sent || stamps.acknowledged)
            && !(has(KNOWN[3]) && has(KNOWN[4]))
        {
            let what = "SO_TIMESTAMPING without software times or numbers";
            return Err(Unsupported::new("socket option", what));
        }
        self.stamps = stamps;
        Ok(())
    }

    fn on_sent(&mut self, nxt: u64, at: Instant) {
        let (scheduled, sent) = (self.stamps.scheduled, self.stamps.sent);
        while let Some(&end) = self.unsent.front()
            && end <= nxt
        {
            self.unsent.pop_front();
            for (kind, wanted) in [("SCM_TSTAMP_SCHED", scheduled), ("SCM_TSTAMP_SND", sent)] {
                if wanted {
                    self.tell(News::Stamp(kind, self.number(end), at));
                }
            }
        }
    }

    fn on_acknowledged(&mut self, una: u64, is_closed: bool, at: Instant) {
        while let Some(&end) = self.unacked.front()
            && end <= una
        {
            self.unacked.pop_front();
            self.tell(News::Stamp("SCM_TSTAMP_ACK", self.number(end), at));
        }
        while let Some(&(number, end)) = self.in_use.front()
            && (end <= una || is_closed)
        {
            self.in_use.pop_front();
            self.tell(News::Copied(number, number));
        }
    }

    /// Returns the number of the last octet before `end`.
    fn number(&self, end: u64) -> u64 {
        end.saturating_sub(1).saturating_sub(self.stamps.origin)
    }

    fn tell(&mut self, news: News) {
        self.news += 1;
        match (self.told.back_mut(), news) {
            // Neighboring unread completions are merged.
            (Some(News::Copied(_, last)), News::Copied(number, _)) if *last + 1 == number => {
                *last = number;
            }
            _ => self.told.push_back(news),
        }
    }
}

impl Conn {
    /// Adds reports of data that has been acknowledged.
    pub fn note_acknowledged(&mut self, at: Instant) {
        let is_closed = self.tcp.state() == State::Closed;
        let una = self.tcp.info().snd_una;
        self.errors.on_acknowledged(una, is_closed, at);
    }

    /// Adds reports of data that has left.
    pub fn note_sent(&mut self, at: Instant) {
        let info = self.tcp.info();
        let nxt = info.snd_una + info.flight_size.as_u64();
        self.errors.on_sent(nxt, at);
    }
}

impl Host {
    /// Calls `recvmsg` with `MSG_ERRQUEUE`: returns the next entry, or `EAGAIN`; it never blocks.
    pub fn read_errors(&mut self, fd: i64, args: &Arguments<'_>, room: usize) -> Called {
        let Some(index) = self.open_index(fd) else {
            return failed("EAGAIN");
        };
        let v6 = self.addresses.local.is_ipv6();
        let Some(news) = self.connections[index].errors.told.pop_front() else {
            return failed("EAGAIN");
        };
        let given = args.get(1);
        let wanted = given.member("msg_control");
        let (flags, control) = match news {
            News::Copied(first, last) => {
                let data = [
                    ("ee_errno", Value::Integer(0)),
                    ("ee_origin", name("SO_EE_ORIGIN_ZEROCOPY")),
                    ("ee_code", name("SO_EE_CODE_ZEROCOPY_COPIED")),
                    ("ee_info", Value::Integer(first.into())),
                    ("ee_data", Value::Integer(last.into())),
                ];
                let error = error_message(wanted, data, v6);
                (name("MSG_ERRQUEUE"), Vec::from([error]))
            }
            News::Stamp(..) if room > 0 => {
                let what = "recvmsg of the segment that a time is about";
                return Err(Unsupported::new("call", what));
            }
            News::Stamp(kind, number, at) => {
                let data = [
                    ("ee_errno", name("ENOMSG")),
                    ("ee_origin", name("SO_EE_ORIGIN_TIMESTAMPING")),
                    ("ee_code", Value::Integer(0)),
                    ("ee_info", name(kind)),
                    ("ee_data", Value::Integer(number as i64)),
                ];
                let error = error_message(wanted, data, v6);
                // The message had no space for the segment itself.
                let flags = Value::Or(Vec::from([name("MSG_ERRQUEUE"), name("MSG_TRUNC")]));
                (flags, Vec::from([time_message(at), error]))
            }
        };
        let changed = [("msg_flags", flags), ("msg_control", Value::List(control))];
        let message = message_with(given, changed);
        Ok(Progress::Returned(Returned::success(0).output(1, message)))
    }
}

/// Returns a message with some members changed by the call.
pub fn message_with<const N: usize>(given: &Value, changed: [(&str, Value); N]) -> Value {
    let mut members = match given {
        Value::Struct(members) => members.clone(),
        _ => Vec::new(),
    };
    for (field, value) in changed {
        match members
            .iter_mut()
            .find(|m| m.name.as_deref() == Some(field))
        {
            Some(member) => member.value = value,
            None => members.push(member(field, value)),
        }
    }
    Value::Struct(members)
}

/// Returns the control message about a call or an octet. Scripts have separate names of level and
/// type for each version of IP; these are copied.
fn error_message(wanted: Option<&Value>, data: [(&str, Value); 5], v6: bool) -> Value {
    let (level, kind) = match v6 {
        false => ("SOL_IP", "IP_RECVERR"),
        true => ("SOL_IPV6", "IPV6_RECVERR"),
    };
    let wanted = match wanted {
        Some(Value::List(list)) => list.last(),
        _ => None,
    };
    let known_as = |field: &str, alias: &'static str, real: &'static str| {
        let said = wanted.and_then(|message| message.member(field)?.name());
        name(if said == Some(alias) { alias } else { real })
    };
    let data = data.map(|(field, value)| member(field, value));
    let mut data = Vec::from(data);
    data.push(member("ee_type", Value::Integer(0)));
    Value::Struct(Vec::from([
        member("cmsg_level", known_as("cmsg_level", "CMSG_LEVEL_IP", level)),
        member(
            "cmsg_type",
            known_as("cmsg_type", "CMSG_TYPE_RECVERR", kind),
        ),
        member("cmsg_data", Value::Struct(data)),
    ]))
}

/// Returns the control message with a time.
fn time_message(at: Instant) -> Value {
    let nanos = at.saturating_since(Instant::ZERO).as_nanos();
    let part = |value: u64| Value::Integer(value as i64);
    let data = Value::Struct(Vec::from([
        member("scm_sec", part(nanos / 1_000_000_000)),
        member("scm_nsec", part(nanos % 1_000_000_000)),
    ]));
    Value::Struct(Vec::from([
        member("cmsg_level", name("SOL_SOCKET")),
        member("cmsg_type", name("SCM_TIMESTAMPING")),
        member("cmsg_data", data),
    ]))
}

/// Returns the control message of `TCP_INQ`: octets left to read.
pub fn left_to_read(octets: u64) -> Value {
    Value::List(Vec::from([Value::Struct(Vec::from([
        member("cmsg_level", name("SOL_TCP")),
        member("cmsg_type", name("TCP_CM_INQ")),
        member("cmsg_data", Value::Integer(octets as i64)),
    ]))]))
}

fn name(word: &str) -> Value {
    Value::Name(String::from(word))
}

/// Returns a member of a message.
pub fn member(name: &str, value: Value) -> Member {
    Member {
        name: Some(String::from(name)),
        size: None,
        value,
    }
}
