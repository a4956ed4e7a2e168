//! Calls that transfer bytes.
//!
//! `...` as a buffer is the next bytes of the stream when sending and anything when receiving.

use std::net::SocketAddr;

use crate::ast::Value;
use crate::stack::{Returned, Unsupported};

use super::opening::output_address;
use super::{Answer, Arguments, Blocks, Prepared};
use crate::kernel::sys::socket::{self, Buffer};

pub(super) fn prepare(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let fd = call.fd(0)?;
    let is_nowhere = call.reads_nowhere();
    let when_ready = Blocks::UnlessReady(fd, libc::POLLIN);
    match call.name {
        "read" => {
            let length = call.length(2)?;
            Ok(Prepared::new(when_ready, move || {
                Ok(Answer::Octets(socket::read(fd, length, is_nowhere)?, None))
            }))
        }
        "recv" | "recvfrom" => {
            let (length, flags) = (call.length(2)?, call.int(3)?);
            // Waiting for all bytes continues after a part has arrived.
            let blocks = if flags & libc::MSG_WAITALL != 0 {
                Blocks::Perhaps
            } else {
                when_ready
            };
            Ok(Prepared::new(blocks, move || {
                let (octets, from) = socket::receive_from(fd, length, flags, is_nowhere)?;
                Ok(Answer::Octets(octets, from))
            }))
        }
        "readv" => {
            let length = pieces(call, call.value(1)?)?.iter().map(Buffer::len).sum();
            Ok(Prepared::new(when_ready, move || {
                Ok(Answer::Octets(socket::read(fd, length, false)?, None))
            }))
        }
        "write" => {
            let octets = call.octets(call.value(1)?, call.length(2)?, 0)?;
            Ok(Prepared::count(Blocks::UnlessNonblocking(fd), move || {
                socket::write(fd, &octets)
            }))
        }
        "writev" => {
            let vectors = pieces(call, call.value(1)?)?;
            Ok(Prepared::count(Blocks::UnlessNonblocking(fd), move || {
                socket::send_message(fd, None, &vectors, &[], libc::MSG_NOSIGNAL)
            }))
        }
        "splice" => {
            let (to, length, flags) = (call.fd(2)?, call.length(4)?, call.int(5)?);
            Ok(Prepared::count(Blocks::Perhaps, move || {
                socket::splice(fd, to, length, flags.cast_unsigned())
            }))
        }
        _ => prepare_send(call),
    }
}

/// Prepares `send` and `sendto`.
fn prepare_send(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let fd = call.fd(0)?;
    let octets = call.octets(call.value(1)?, call.length(2)?, 0)?;
    // Otherwise a closed connection would end the whole program; the call returns the same.
    let flags = call.int(3)? | libc::MSG_NOSIGNAL;
    let to = if call.name == "sendto" {
        let usual = super::opening::family_of(call, call.around.remote)?;
        Some(call.around.names.address(call.value(4)?, usual)?)
    } else {
        None
    };
    let keep = kept(flags, std::slice::from_ref(&octets));
    let send = move || socket::send_to(fd, &octets, flags, to.as_ref());
    Ok(Prepared::count(Blocks::UnlessNonblocking(fd), send).keeping(keep))
}

/// Buffers that must stay in place after the call.
pub(super) fn kept(flags: i32, pieces: &[Buffer]) -> Vec<Buffer> {
    if flags & libc::MSG_ZEROCOPY != 0 {
        pieces.to_vec()
    } else {
        Vec::new()
    }
}

/// Pieces of `[{..., 1000}, {..., 200}]`, bytes of the stream in order.
pub(super) fn pieces(call: &Arguments<'_>, list: &Value) -> Result<Vec<Buffer>, Unsupported> {
    let Value::List(vectors) = list else {
        return Err(Unsupported::new("argument", format!("vectors {list:?}")));
    };
    let mut skipped = 0_u32;
    let piece = |vector: &Value| {
        let Value::Struct(members) = vector else {
            return Err(Unsupported::new("argument", format!("a vector {vector:?}")));
        };
        let [base, length] = &members[..] else {
            return Err(Unsupported::new("argument", format!("a vector {vector:?}")));
        };
        let length = call.around.names.number(&length.value)?;
        let length = u32::try_from(length)
            .map_err(|_| Unsupported::new("argument", format!("a length of {length}")))?;
        let octets = call.octets(&base.value, length as usize, skipped)?;
        skipped = skipped.wrapping_add(length);
        Ok(octets)
    };
    vectors.iter().map(piece).collect()
}

/// Number of bytes read, and the bytes if the script states them.
pub(super) fn finish_read(
    call: &Arguments<'_>,
    octets: Vec<u8>,
    from: Option<SocketAddr>,
) -> Returned {
    let mut returned = Returned::success(octets.len() as i64);
    if call.name == "recvfrom" {
        returned = output_address(call, returned, 4, from);
    }
    match call.values.get(1) {
        Some(Value::Text(_)) => returned.output(1, Value::Text(octets)),
        _ => returned,
    }
}
