//! Socket options, and `ioctl` requests for one number.

use crate::ast::{Member, Value};
use crate::stack::{Returned, Unsupported};

use super::super::arguments::with_values;
use super::{Answer, Arguments, Blocks, Prepared};
use crate::kernel::constants;
use crate::kernel::sys::socket;

/// Structures of options: members in order, and their width as `int` or `long`.
const STRUCTURES: [(&[&str], usize); 2] = [
    (&["onoff", "linger"], size_of::<libc::c_int>()),
    (&["tv_sec", "tv_usec"], size_of::<libc::c_long>()),
];

pub(super) fn prepare(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let fd = call.fd(0)?;
    match call.name {
        "setsockopt" => {
            let (level, name) = (call.int(1)?, call.int(2)?);
            let mut value = encoded(call, call.value(3)?)?;
            let length = call.length(4)?;
            value.resize(length, 0);
            Ok(Prepared::number(move || {
                socket::set_option(fd, level, name, &value)
            }))
        }
        "getsockopt" => {
            let (level, name, room) = (call.int(1)?, call.int(2)?, call.length(4)?);
            Ok(Prepared::new(Blocks::Never, move || {
                Ok(Answer::Setting(socket::option(fd, level, name, room)?))
            }))
        }
        _ => {
            let request = call.number(1)?;
            let known = ["SIOCINQ", "SIOCOUTQ", "SIOCOUTQNSD", "SIOCATMARK"];
            if !known
                .iter()
                .any(|name| constants::number(name) == Some(request))
            {
                return Err(Unsupported::new("call", format!("ioctl {request:#x}")));
            }
            Ok(Prepared::new(Blocks::Never, move || {
                let value = socket::query(fd, request.cast_unsigned())?;
                Ok(Answer::Setting(value.to_ne_bytes().to_vec()))
            }))
        }
    }
}

/// Value of an option as bytes.
fn encoded(call: &Arguments<'_>, value: &Value) -> Result<Vec<u8>, Unsupported> {
    let names = call.around.names;
    match value {
        Value::Text(text) => Ok(text.clone()),
        Value::Struct(members) => {
            let Some((order, width)) = structure(members) else {
                return Err(Unsupported::new("socket option", format!("{value:?}")));
            };
            let mut octets = Vec::new();
            for name in order {
                let number = names.number(value.member(name).unwrap_or(&Value::Integer(0)))?;
                octets.extend_from_slice(&number.to_le_bytes()[..width]);
            }
            if cfg!(target_endian = "big") {
                octets.chunks_exact_mut(width).for_each(<[u8]>::reverse);
            }
            Ok(octets)
        }
        Value::List(parts) => {
            let numbers: Result<Vec<i32>, _> = parts.iter().map(|part| names.int(part)).collect();
            Ok(numbers?.iter().flat_map(|n| n.to_ne_bytes()).collect())
        }
        _ => Ok(names.int(value)?.to_ne_bytes().to_vec()),
    }
}

fn structure(members: &[Member]) -> Option<(&'static [&'static str], usize)> {
    let named = |member: &Member, order: &[&str]| {
        let name = member.name.as_deref();
        name.is_some_and(|name| order.contains(&name))
    };
    STRUCTURES
        .into_iter()
        .find(|(order, _)| members.iter().all(|member| named(member, order)))
}

/// Value and length of an option in the form of the script.
pub(super) fn finish_query(call: &Arguments<'_>, octets: &[u8]) -> Returned {
    let index = if call.name == "ioctl" { 2 } else { 3 };
    let mut returned = Returned::success(0);
    if let Some(like) = call.values.get(index) {
        returned = returned.output(index, decoded(call, like, octets));
    }
    match call.values.get(4) {
        Some(Value::List(length)) if length.len() == 1 => {
            let length = call.around.names.echo(&length[0], octets.len() as i64);
            returned.output(4, Value::List(vec![length]))
        }
        _ => returned,
    }
}

fn decoded(call: &Arguments<'_>, like: &Value, octets: &[u8]) -> Value {
    let names = call.around.names;
    match like {
        Value::Text(expected) => {
            // Names of congestion controls are padded with zeros.
            let end = octets.iter().rposition(|octet| *octet != 0);
            let trimmed = &octets[..end.map_or(0, |end| end + 1)];
            let is_same = trimmed == expected.as_slice();
            Value::Text(if is_same {
                expected.clone()
            } else {
                trimmed.to_vec()
            })
        }
        Value::Struct(members) => {
            let Some((order, width)) = structure(members) else {
                return Value::Text(octets.to_vec());
            };
            with_values(members, |name, value| {
                let place = order.iter().position(|known| *known == name);
                let word = place.and_then(|place| octets.get(place * width..(place + 1) * width));
                names.echo(value, signed(word.unwrap_or(&[])))
            })
        }
        Value::List(parts) if parts.len() == 1 => {
            Value::List(vec![names.echo(&parts[0], signed(octets))])
        }
        _ => names.echo(like, signed(octets)),
    }
}

/// A signed number of one, two, four or eight bytes in the machine's order.
fn signed(octets: &[u8]) -> i64 {
    match *octets {
        [a] => i64::from(a),
        [a, b] => i64::from(i16::from_ne_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_ne_bytes([a, b, c, d])),
        _ => octets
            .first_chunk::<8>()
            .map_or(-1, |whole| i64::from_ne_bytes(*whole)),
    }
}

/// Number of a call; scripts write file flags by name.
pub(super) fn finish_number(call: &Arguments<'_>, number: i64) -> Returned {
    // The kernel adds O_LARGEFILE to flags on some machines; scripts omit it.
    const LARGE_FILE: i64 = 0o100_000;
    let is_flags = call.name == "fcntl" && call.int(1).is_ok_and(|c| c == libc::F_GETFL);
    Returned::success(if is_flags {
        number & !LARGE_FILE
    } else {
        number
    })
}
