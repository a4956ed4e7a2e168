//! Sends requests to the kernel over netlink and parses its answers.
//!
//! Messages are encoded and decoded as `netlink(7)` describes them: a header, a fixed part that
//! depends on the message, and attributes.

use std::io;

use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};

use crate::netlink;

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_CREATE: u16 = 0x400;
/// Flags of an attribute's type: nested, byte order.
const ATTRIBUTE_FLAGS: u16 = 0xc000;

/// Returns the body of each answer of `rtnetlink(7)` to a message of this type.
///
/// # Errors
/// The kernel's error.
pub fn route(kind: u16, body: &[u8], is_dump: bool) -> io::Result<Vec<Vec<u8>>> {
    let flags = if is_dump { NLM_F_DUMP } else { 0 };
    ask(NETLINK_ROUTE, kind, body, flags)
}

/// Creates the object of an `rtnetlink(7)` message, in the calling thread's namespace.
///
/// # Errors
/// The kernel's error, also if the object exists.
pub fn create(kind: u16, body: &[u8]) -> io::Result<()> {
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    ask(NETLINK_ROUTE, kind, body, flags).map(drop)
}

/// Changes or deletes the object of a message, in the calling thread's namespace.
///
/// # Errors
/// The kernel's error.
pub fn change(kind: u16, body: &[u8]) -> io::Result<()> {
    ask(NETLINK_ROUTE, kind, body, NLM_F_ACK).map(drop)
}

/// Returns the attributes of the answer of a generic netlink family to one command.
///
/// # Errors
/// The kernel's error: it has no such family, or no matching object.
pub fn generic(family: &str, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
    const CONTROLLER: u16 = 16;
    const GET_FAMILY: u8 = 3;
    const FAMILY_ID: u16 = 1;
    const FAMILY_NAME: u16 = 2;
    let mut name = Vec::new();
    attribute(&mut name, FAMILY_NAME, &[family.as_bytes(), &[0]].concat());
    let found = generic_of(CONTROLLER, GET_FAMILY, &name)?;
    let id = self::attributes(&found).find(|(kind, _)| *kind == FAMILY_ID);
    let id = id.and_then(|(_, value)| Some(u16::from_ne_bytes(value.try_into().ok()?)));
    let id = id.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    generic_of(id, command, attributes)
}

fn generic_of(family: u16, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
    const VERSION: u8 = 1;
    const GENERIC_HEADER: usize = 4;
    let body = [&[command, VERSION, 0, 0], attributes].concat();
    let answers = ask(NETLINK_GENERIC, family, &body, 0)?;
    let answer = answers
        .first()
        .and_then(|answer| answer.get(GENERIC_HEADER..));
    Ok(answer.unwrap_or_default().to_vec())
}

/// Appends an attribute to `message`.
pub fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    const ATTRIBUTE_HEADER: usize = 4;
    let length = (ATTRIBUTE_HEADER + value.len()) as u16;
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// Returns types and values of the attributes in `bytes`.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !ATTRIBUTE_FLAGS, value))
    })
}

/// Returns the value of the attribute of this type.
#[must_use]
pub fn value(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

/// Returns the 32 bits at `offset`, in the machine's byte order.
#[must_use]
pub fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let octets = bytes.get(offset..offset + 4)?;
    Some(u32::from_ne_bytes(octets.try_into().ok()?))
}

/// Returns the 64 bits at `offset`, in the machine's byte order.
#[must_use]
pub fn long(bytes: &[u8], offset: usize) -> Option<u64> {
    let octets = bytes.get(offset..offset + 8)?;
    Some(u64::from_ne_bytes(octets.try_into().ok()?))
}

fn ask(protocol: isize, kind: u16, body: &[u8], flags: u16) -> io::Result<Vec<Vec<u8>>> {
    let is_dump = flags & NLM_F_DUMP == NLM_F_DUMP;
    let flags = NLM_F_REQUEST | flags;
    let length = (HEADER + body.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(body);
    let socket = netlink::dial(protocol)?;
    socket.send(&message, 0)?;
    let mut answers = Vec::new();
    loop {
        let (received, _) = socket.recv_from_full()?;
        let is_last = take_apart(&received, &mut answers)?;
        if is_last || !is_dump {
            return Ok(answers);
        }
    }
}

/// Adds the bodies of the messages in `received`; returns whether the list ends there.
fn take_apart(mut received: &[u8], answers: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while let Some(length) = word(received, 0) {
        let length = length as usize;
        let kind = received.get(4..6).and_then(|octets| octets.try_into().ok());
        let body = received.get(HEADER..length).unwrap_or_default();
        match kind.map(u16::from_ne_bytes) {
            Some(NLMSG_DONE) => return Ok(true),
            Some(NLMSG_ERROR) => return refusal(body).map_or(Ok(true), Err),
            _ => answers.push(body.to_vec()),
        }
        received = received
            .get(length.next_multiple_of(4).max(HEADER)..)
            .unwrap_or_default();
    }
    Ok(false)
}

fn refusal(body: &[u8]) -> Option<io::Error> {
    let code = word(body, 0)?.cast_signed();
    (code != 0).then(|| io::Error::from_raw_os_error(-code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_taken_apart_as_they_were_put_together() {
        let mut message = Vec::new();
        attribute(&mut message, 1, &[7]);
        attribute(&mut message, 0x8002, &[1, 2, 3, 4, 5]);
        assert_eq!(message.len(), 8 + 12);
        let found: Vec<_> = attributes(&message).collect();
        assert_eq!(found, [(1, &[7][..]), (2, &[1, 2, 3, 4, 5][..])]);
        assert_eq!(value(&message, 2), Some(&[1, 2, 3, 4, 5][..]));
    }

    #[test]
    fn attributes_end_where_a_length_is_wrong() {
        for wrong in [&[3, 0, 1, 0][..], &[200, 0, 1, 0, 9], &[0, 0, 0, 0], &[8]] {
            assert_eq!(attributes(wrong).count(), 0, "{wrong:?}");
        }
    }
}
