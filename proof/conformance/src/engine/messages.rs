//! Messages of `recvmsg` with control data: entries of the error queue, and `TCP_INQ`.

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use super::arguments::{Arguments, Called, failed};
use super::error_queue::ErrorReport;
use super::host::Host;
use crate::ast::{Member, Value};
use crate::stack::{Progress, Returned, Unsupported};

/// Pages that a kernel's packet holds (`MAX_SKB_FRAGS`).
pub const MAX_PIECES: usize = 17;

impl Host {
    /// `recvmsg` with `MSG_ERRQUEUE`: the next entry, or `EAGAIN`; it never
    /// waits.
    pub fn read_errors(&mut self, fd: i64, args: &Arguments<'_>, room: usize) -> Called {
        let Some(index) = self.open_index(fd) else {
            return failed("EAGAIN");
        };
        let v6 = self.transport.addresses.local.is_ipv6();
        let Some(report) = self.transport.connections[index].errors.pop() else {
            return failed("EAGAIN");
        };
        let given = args.get(1);
        let wanted = given.member("msg_control");
        let (flags, control) = match report {
            ErrorReport::Copied(first, last) => {
                let data = [
                    ("ee_errno", Value::Integer(0)),
                    ("ee_origin", name("SO_EE_ORIGIN_ZEROCOPY")),
                    ("ee_code", name("SO_EE_CODE_ZEROCOPY_COPIED")),
                    ("ee_info", Value::Integer(first.into())),
                    ("ee_data", Value::Integer(last.into())),
                    ("ee_type", Value::Integer(0)),
                ];
                let error = error_message(wanted, data, v6);
                (name("MSG_ERRQUEUE"), Vec::from([error]))
            }
            ErrorReport::Stamp(..) if room > 0 => {
                let what = "recvmsg of the segment that a time is about";
                return Err(Unsupported::new("call", what));
            }
            ErrorReport::Stamp(kind, number, at) => {
                let data = [
                    ("ee_errno", name("ENOMSG")),
                    ("ee_origin", name("SO_EE_ORIGIN_TIMESTAMPING")),
                    ("ee_code", Value::Integer(0)),
                    ("ee_info", name(kind)),
                    ("ee_data", Value::Integer(number as i64)),
                    ("ee_type", Value::Integer(0)),
                ];
                let error = error_message(wanted, data, v6);
                // There was no room for the segment itself.
                let flags = Value::Or(Vec::from([name("MSG_ERRQUEUE"), name("MSG_TRUNC")]));
                (flags, Vec::from([time_message(at), error]))
            }
        };
        let changed = [("msg_flags", flags), ("msg_control", Value::List(control))];
        let message = message_with(given, changed);
        Ok(Progress::Returned(Returned::success(0).output(1, message)))
    }
}

/// A message as it was given, with some members changed by the call.
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

/// The control message about a call or an octet. Level and type have names of
/// their own in scripts for both versions of IP, which are taken over.
fn error_message(wanted: Option<&Value>, data: [(&str, Value); 6], v6: bool) -> Value {
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
    let level = known_as("cmsg_level", "CMSG_LEVEL_IP", level);
    let kind = known_as("cmsg_type", "CMSG_TYPE_RECVERR", kind);
    control_message(level, kind, structure(data))
}

/// The control message with a time.
fn time_message(at: Instant) -> Value {
    let nanos = at.saturating_since(Instant::ZERO).as_nanos();
    let part = |value: u64| Value::Integer(value as i64);
    let data = structure([
        ("scm_sec", part(nanos / 1_000_000_000)),
        ("scm_nsec", part(nanos % 1_000_000_000)),
    ]);
    control_message(name("SOL_SOCKET"), name("SCM_TIMESTAMPING"), data)
}

/// The control message of `TCP_INQ`: how much is left to read.
pub fn left_to_read(octets: u64) -> Value {
    let octets = Value::Integer(octets as i64);
    let message = control_message(name("SOL_TCP"), name("TCP_CM_INQ"), octets);
    Value::List(Vec::from([message]))
}

fn name(word: &str) -> Value {
    Value::Name(String::from(word))
}

fn control_message(level: Value, kind: Value, data: Value) -> Value {
    structure([
        ("cmsg_level", level),
        ("cmsg_type", kind),
        ("cmsg_data", data),
    ])
}

/// `{name=value, ...}`.
pub fn structure<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Struct(members.map(|(name, value)| member(name, value)).into())
}

/// A member of a message.
fn member(name: &str, value: Value) -> Member {
    Member {
        name: Some(String::from(name)),
        size: None,
        value,
    }
}
