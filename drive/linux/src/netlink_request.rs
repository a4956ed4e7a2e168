//! Sends requests to the kernel over netlink and parses its answers.
//!
//! Messages are encoded and decoded as `netlink(7)` describes them: a header, a fixed part that
//! depends on the message, and attributes.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv,
    socket_with,
};

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = libc::NLMSG_ERROR as u16;
const NLMSG_DONE: u16 = libc::NLMSG_DONE as u16;
const NLM_F_REQUEST: u16 = libc::NLM_F_REQUEST as u16;
pub(crate) const NLM_F_ACK: u16 = libc::NLM_F_ACK as u16;
const NLM_F_EXCL: u16 = libc::NLM_F_EXCL as u16;
pub(crate) const NLM_F_DUMP: u16 = libc::NLM_F_DUMP as u16;
const NLM_F_CREATE: u16 = libc::NLM_F_CREATE as u16;
/// Flags of an attribute's type: nested, byte order.
const ATTRIBUTE_FLAGS: u16 = 0xc000;

/// Body of each answer of `rtnetlink(7)` to a message of this type.
///
/// # Errors
/// The kernel's error.
pub fn route(kind: u16, body: &[u8], is_dump: bool) -> io::Result<Vec<Vec<u8>>> {
    let flags = if is_dump { NLM_F_DUMP } else { 0 };
    ask(None, kind, body, flags)
}

/// Creates the object of an `rtnetlink(7)` message, in the calling thread's namespace.
///
/// # Errors
/// The kernel's error, also if the object exists.
pub fn create(kind: u16, body: &[u8]) -> io::Result<()> {
    let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    ask(None, kind, body, flags).map(drop)
}

/// Changes or deletes the object of a message, in the calling thread's namespace.
///
/// # Errors
/// The kernel's error.
pub fn change(kind: u16, body: &[u8]) -> io::Result<()> {
    ask(None, kind, body, NLM_F_ACK).map(drop)
}

/// Attributes of the answer of a generic netlink family to one command.
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
    let id = self::attributes(&found)
        .find(|(kind, _)| *kind == FAMILY_ID)
        .and_then(|(_, value)| Some(u16::from_ne_bytes(value.try_into().ok()?)))
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    generic_of(id, command, attributes)
}

fn generic_of(family: u16, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
    const VERSION: u8 = 1;
    const GENERIC_HEADER: usize = 4;
    let body = [&[command, VERSION, 0, 0], attributes].concat();
    let answers = ask(Some(netlink::GENERIC), family, &body, 0)?;
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

/// Types and values of the attributes in `bytes`.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & !ATTRIBUTE_FLAGS, value))
    })
}

/// Value of the attribute of this type.
pub fn value(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

/// 32 bits at `offset`, in the machine's byte order.
pub fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let octets = bytes.get(offset..offset + 4)?;
    Some(u32::from_ne_bytes(octets.try_into().ok()?))
}

/// 64 bits at `offset`, in the machine's byte order.
pub fn long(bytes: &[u8], offset: usize) -> Option<u64> {
    let octets = bytes.get(offset..offset + 8)?;
    Some(u64::from_ne_bytes(octets.try_into().ok()?))
}

fn ask(protocol: Option<Protocol>, kind: u16, body: &[u8], flags: u16) -> io::Result<Vec<Vec<u8>>> {
    let mut socket = NetlinkSocket::open(protocol)?;
    socket.send(kind, body, flags)?;
    let mut answers = Vec::new();
    loop {
        let is_last = socket.receive(|body| answers.push(body.to_vec()))?;
        if is_last || flags & NLM_F_DUMP != NLM_F_DUMP {
            return Ok(answers);
        }
    }
}

/// A netlink socket of the calling thread's namespace, with a buffer for answers.
#[derive(Debug)]
pub(crate) struct NetlinkSocket {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl NetlinkSocket {
    pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        /// Maximum bytes of a datagram from the kernel.
        const ROOM: usize = 1 << 16;
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        Ok(Self {
            socket: socket_with(family, SocketType::DGRAM, flags, protocol)?,
            buffer: vec![0; ROOM],
        })
    }

    /// Sends a request of the type `kind`.
    pub(crate) fn send(&self, kind: u16, body: &[u8], flags: u16) -> io::Result<()> {
        let length = (HEADER + body.len()) as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(body);
        rustix::net::send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    /// Reads one datagram and calls `each` with the body of each answer. Returns whether the
    /// answers end with it.
    pub(crate) fn receive(&mut self, each: impl FnMut(&[u8])) -> io::Result<bool> {
        let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::TRUNC)?;
        let datagram = self.buffer.get(..length);
        take_apart(datagram.ok_or(io::ErrorKind::FileTooLarge)?, each)
    }
}

/// Calls `each` with the bodies of the messages in a datagram. Returns whether the answers end
/// with it.
fn take_apart(mut datagram: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<bool> {
    while let Some(body) =
        word(datagram, 0).and_then(|length| datagram.get(HEADER..length as usize))
    {
        match u16::from_ne_bytes([datagram[4], datagram[5]]) {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => return refusal(body).map_or(Ok(true), Err),
            _ => each(body),
        }
        let length = (HEADER + body.len()).next_multiple_of(4);
        datagram = datagram.get(length..).unwrap_or_default();
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

    #[test]
    fn messages_that_are_cut_off_are_passed_over_and_the_last_one_ends_the_answers() {
        let nothing = |_: &[u8]| panic!("no whole message");
        let mut datagram = vec![0_u8; 64];
        datagram[0..4].copy_from_slice(&900_u32.to_ne_bytes());
        assert!(!take_apart(&datagram, nothing).unwrap());
        datagram[0..4].copy_from_slice(&64_u32.to_ne_bytes());
        let mut lengths = Vec::new();
        assert!(!take_apart(&datagram, |body| lengths.push(body.len())).unwrap());
        assert_eq!(lengths, [64 - HEADER]);
        datagram[4..6].copy_from_slice(&NLMSG_DONE.to_ne_bytes());
        assert!(take_apart(&datagram, nothing).unwrap());
    }
}
