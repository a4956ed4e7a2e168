//! Calls `sendmsg` and `recvmsg`, with the control data of scripts: unread bytes (`TCP_CM_INQ`),
//! extended errors of `linux/errqueue.h`, and timestamps.

use crate::ast::{Member, Value};
use crate::stack::{Returned, Unsupported};

use super::super::arguments::{address_like, with_values};
use super::{Answer, Arguments, Blocks, Prepared, transfer};
use crate::kernel::sys::socket::{self, Buffer, Control, Message};

/// Default bytes for control data.
const CONTROL_ROOM: usize = 512;

pub(super) fn prepare(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let (fd, header, flags) = (call.fd(0)?, call.value(1)?, call.int(2)?);
    let vectors = match header.member("msg_iov") {
        Some(vectors) => transfer::pieces(call, vectors)?,
        None => vec![],
    };
    if call.name == "recvmsg" {
        let length = vectors.iter().map(Buffer::len).sum();
        let blocks = if flags & libc::MSG_ERRQUEUE != 0 {
            Blocks::Never
        } else {
            Blocks::UnlessReady(fd, libc::POLLIN)
        };
        return Ok(Prepared::new(blocks, move || {
            Ok(Answer::Message(socket::receive_message(
                fd,
                length,
                CONTROL_ROOM,
                flags,
            )?))
        }));
    }
    let to = match header.member("msg_name") {
        Some(name @ Value::Struct(_)) => {
            let usual = super::opening::family_of(call, call.around.remote)?;
            Some(call.around.names.address(name, usual)?)
        }
        _ => None,
    };
    let control = match header.member("msg_control") {
        Some(Value::List(pieces)) => pieces
            .iter()
            .map(|piece| control_of(call, piece))
            .collect::<Result<Vec<_>, _>>()?,
        _ => vec![],
    };
    let flags = flags | libc::MSG_NOSIGNAL;
    let keep = transfer::kept(flags, &vectors);
    let send = move || socket::send_message(fd, to.as_ref(), &vectors, &control, flags);
    Ok(Prepared::count(Blocks::UnlessNonblocking(fd), send).keeping(keep))
}

/// Control data to send: a 32-bit number, as for `IP_TOS`.
fn control_of(call: &Arguments<'_>, piece: &Value) -> Result<Control, Unsupported> {
    let member = |name: &str| {
        let found = piece.member(name);
        found.ok_or_else(|| Unsupported::new("argument", format!("control data without {name}")))
    };
    let names = call.around.names;
    Ok(Control {
        level: names.int(member("cmsg_level")?)?,
        kind: names.int(member("cmsg_type")?)?,
        octets: names.int(member("cmsg_data")?)?.to_ne_bytes().to_vec(),
    })
}

/// A received message in the form of the header that the script expects.
pub(super) fn finish_receive(call: &Arguments<'_>, message: &Message) -> Returned {
    let returned = Returned::success(message.octets.len() as i64);
    let Some(Value::Struct(members)) = call.values.get(1) else {
        return returned;
    };
    let names = call.around.names;
    let flags = i64::from(message.flags & !libc::MSG_CMSG_CLOEXEC);
    let shown = with_values(members, |name, value| match name {
        "msg_flags" => names.echo(value, flags),
        "msg_name" => address_like(names, value, message.from),
        "msg_control" => shown_control(call, value, &message.control),
        _ => value.clone(),
    });
    returned.output(1, shown)
}

fn shown_control(call: &Arguments<'_>, like: &Value, control: &[Control]) -> Value {
    let Value::List(expected) = like else {
        return like.clone();
    };
    let nothing = Value::Ellipsis;
    let pieces = control.iter().enumerate().map(|(index, piece)| {
        let like = expected.get(index).unwrap_or(&nothing);
        shown_piece(call, like, piece)
    });
    Value::List(pieces.collect())
}

fn shown_piece(call: &Arguments<'_>, like: &Value, piece: &Control) -> Value {
    let nothing = Value::Ellipsis;
    let names = call.around.names;
    let member = |name: &str| like.member(name).unwrap_or(&nothing);
    let data = member("cmsg_data");
    let data = match data {
        Value::Struct(members) if has(members, "scm_sec") => shown_stamp(call, members, piece),
        Value::Struct(members) => shown_error(call, members, piece),
        _ => match piece.octets.first_chunk::<4>() {
            Some(word) => names.echo(data, i64::from(i32::from_ne_bytes(*word))),
            None => Value::Text(piece.octets.clone()),
        },
    };
    let named = |name: &str, value: Value| Member {
        name: Some(name.to_string()),
        size: None,
        value,
    };
    Value::Struct(vec![
        named(
            "cmsg_level",
            names.echo(member("cmsg_level"), i64::from(piece.level)),
        ),
        named(
            "cmsg_type",
            names.echo(member("cmsg_type"), i64::from(piece.kind)),
        ),
        named("cmsg_data", data),
    ])
}

fn has(members: &[Member], name: &str) -> bool {
    members
        .iter()
        .any(|member| member.name.as_deref() == Some(name))
}

/// Members of `struct sock_extended_err`: name, offset, width.
const EXTENDED_ERROR: [(&str, usize, usize); 6] = [
    ("ee_errno", 0, 4),
    ("ee_origin", 4, 1),
    ("ee_type", 5, 1),
    ("ee_code", 6, 1),
    ("ee_info", 8, 4),
    ("ee_data", 12, 4),
];

fn shown_error(call: &Arguments<'_>, like: &[Member], piece: &Control) -> Value {
    with_values(like, |name, value| {
        let place = EXTENDED_ERROR.iter().find(|(known, _, _)| *known == name);
        let word = place.and_then(|&(_, at, width)| piece.octets.get(at..at + width));
        let number = match word {
            Some([octet]) => i64::from(*octet),
            Some(&[a, b, c, d]) => i64::from(u32::from_ne_bytes([a, b, c, d])),
            _ => -1,
        };
        call.around.names.echo(value, number)
    })
}

/// First stamp of `struct scm_timestamping`, the software timestamp. It is compared in script time,
/// within the tolerance.
fn shown_stamp(call: &Arguments<'_>, like: &[Member], piece: &Control) -> Value {
    let word = |at: usize| {
        let octets = piece.octets.get(at..at + 8)?;
        Some(i64::from_ne_bytes(octets.try_into().ok()?))
    };
    let (Some(seconds), Some(nanoseconds)) = (word(0), word(8)) else {
        return Value::Text(piece.octets.clone());
    };
    let at = seconds * 1_000_000_000 + nanoseconds - call.around.real_zero;
    let expected = |name: &str| {
        let member = like.iter().find(|m| m.name.as_deref() == Some(name));
        member.and_then(|member| call.around.names.number(&member.value).ok())
    };
    let wanted = expected("scm_sec")
        .zip(expected("scm_nsec"))
        .map(|(seconds, nanoseconds)| seconds * 1_000_000_000 + nanoseconds);
    if wanted.is_some_and(|wanted| (wanted - at).abs() <= call.around.tolerance) {
        return Value::Struct(like.to_vec());
    }
    with_values(like, |name, _| {
        Value::Integer(match name {
            "scm_sec" => at.div_euclid(1_000_000_000),
            _ => at.rem_euclid(1_000_000_000),
        })
    })
}
