//! Socket calls on a script's descriptors, which may be invalid: the kernel's errors for those are
//! part of the test. Only this file therefore uses raw descriptors.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::Arc;

use gigatcp_linux::address::{in6, v4};
pub(crate) use gigatcp_linux::socket::{option, set_option};
use gigatcp_linux::{check, check_size};

/// A socket address as bytes, with its length.
#[derive(Clone, Debug)]
pub(crate) struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// An address with room for any family.
    fn empty() -> Self {
        // SAFETY: `sockaddr_storage` is integers: all zero is valid.
        let storage = unsafe { std::mem::zeroed() };
        Self {
            storage,
            length: size_of::<libc::sockaddr_storage>() as libc::socklen_t,
        }
    }

    /// Family `AF_UNSPEC`; `connect` with it dissolves a connection.
    pub(crate) fn unspecified() -> Self {
        let mut address = Self::empty();
        address.storage.ss_family = libc::AF_UNSPEC as libc::sa_family_t;
        address.length = size_of::<libc::sockaddr>() as libc::socklen_t;
        address
    }

    /// Copies one of the system's structures into the storage.
    fn holding<T>(inner: &T) -> Self {
        assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
        let mut address = Self::empty();
        // SAFETY: the storage is at least as large and as aligned as any
        // address structure, and is plain data.
        unsafe {
            std::ptr::copy_nonoverlapping(
                std::ptr::from_ref(inner).cast::<u8>(),
                (&raw mut address.storage).cast::<u8>(),
                size_of::<T>(),
            );
        }
        address.length = size_of::<T>() as libc::socklen_t;
        address
    }

    /// Address, if it is IPv4 or IPv6.
    pub(crate) fn decoded(&self) -> Option<SocketAddr> {
        match libc::c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that this structure is there.
                let inner: libc::sockaddr_in =
                    unsafe { (&raw const self.storage).cast::<libc::sockaddr_in>().read() };
                let ip = Ipv4Addr::from(inner.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddr::new(
                    IpAddr::V4(ip),
                    u16::from_be(inner.sin_port),
                ))
            }
            libc::AF_INET6 => {
                // SAFETY: the family says that this structure is there.
                let inner: libc::sockaddr_in6 = unsafe {
                    (&raw const self.storage)
                        .cast::<libc::sockaddr_in6>()
                        .read()
                };
                let ip = Ipv6Addr::from(inner.sin6_addr.s6_addr);
                Some(SocketAddr::new(
                    IpAddr::V6(ip),
                    u16::from_be(inner.sin6_port),
                ))
            }
            _ => None,
        }
    }

    const fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }
}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => Self::holding(&v4(*address.ip(), address.port())),
            SocketAddr::V6(address) => Self::holding(&libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: in6(*address.ip()),
                sin6_scope_id: address.scope_id(),
            }),
        }
    }
}

/// Calls `socket(2)`. Descriptors are closed in programs that a script starts.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<RawFd> {
    // SAFETY: plain integers.
    check(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })
}

/// Calls `bind(2)`.
pub(crate) fn bind(fd: RawFd, address: &RawAddress) -> io::Result<i32> {
    // SAFETY: pointer and length belong to `address`.
    check(unsafe { libc::bind(fd, address.as_ptr(), address.length) })
}

/// Calls `connect(2)`.
pub(crate) fn connect(fd: RawFd, address: &RawAddress) -> io::Result<i32> {
    // SAFETY: pointer and length belong to `address`.
    check(unsafe { libc::connect(fd, address.as_ptr(), address.length) })
}

/// Calls `listen(2)`.
pub(crate) fn listen(fd: RawFd, backlog: i32) -> io::Result<i32> {
    // SAFETY: plain integers.
    check(unsafe { libc::listen(fd, backlog) })
}

/// Calls `accept4(2)`; returns the new descriptor and the address of its peer.
pub(crate) fn accept(fd: RawFd, flags: i32) -> io::Result<(RawFd, Option<SocketAddr>)> {
    let mut address = RawAddress::empty();
    // SAFETY: the storage is writable for the length given.
    let accepted = check(unsafe {
        libc::accept4(
            fd,
            (&raw mut address.storage).cast(),
            &raw mut address.length,
            flags | libc::SOCK_CLOEXEC,
        )
    })?;
    Ok((accepted, address.decoded()))
}

/// Calls `getsockname(2)`, or `getpeername(2)` unless it `is_local`.
pub(crate) fn name(fd: RawFd, is_local: bool) -> io::Result<Option<SocketAddr>> {
    let call = if is_local {
        libc::getsockname
    } else {
        libc::getpeername
    };
    let mut address = RawAddress::empty();
    let (storage, length) = (&raw mut address.storage, &raw mut address.length);
    // SAFETY: the storage is writable for the length given.
    check(unsafe { call(fd, storage.cast(), length) })?;
    Ok(address.decoded())
}

/// Calls `shutdown(2)`.
pub(crate) fn shutdown(fd: RawFd, how: i32) -> io::Result<i32> {
    // SAFETY: plain integers.
    check(unsafe { libc::shutdown(fd, how) })
}

/// Calls `close(2)`. Only descriptors created by this file are valid arguments.
pub(crate) fn close(fd: RawFd) -> io::Result<i32> {
    // SAFETY: the descriptor belongs to the script's table of descriptors,
    // which forgets it with this call.
    check(unsafe { libc::close(fd) })
}

/// Bytes that a call writes.
#[derive(Clone, Debug)]
pub(crate) enum Buffer {
    /// These bytes. They may be shared with the kernel beyond the call.
    Octets(Arc<Vec<u8>>),
    /// This many bytes at an invalid address: the kernel returns EFAULT.
    Nowhere(usize),
}

impl Buffer {
    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Octets(octets) => octets.len(),
            Self::Nowhere(length) => *length,
        }
    }

    /// Address. The kernel checks every address that it reads from, so the null address only causes
    /// an error.
    fn as_ptr(&self) -> *const libc::c_void {
        match self {
            Self::Octets(octets) => octets.as_ptr().cast(),
            Self::Nowhere(_) => std::ptr::null(),
        }
    }
}

/// Memory that a call reads into: `length` bytes or the null address. For the null address the
/// kernel returns EFAULT.
struct ReadBuffer {
    octets: Vec<u8>,
    is_nowhere: bool,
}

impl ReadBuffer {
    fn new(length: usize, is_nowhere: bool) -> Self {
        Self {
            octets: vec![0; length],
            is_nowhere,
        }
    }

    fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        if self.is_nowhere {
            std::ptr::null_mut()
        } else {
            self.octets.as_mut_ptr().cast()
        }
    }

    /// Bytes received. A call may count more than it wrote (MSG_TRUNC).
    fn filled(mut self, count: usize) -> Vec<u8> {
        self.octets.truncate(count);
        self.octets
    }
}

/// Calls `read(2)`; returns the bytes.
pub(crate) fn read(fd: RawFd, length: usize, is_nowhere: bool) -> io::Result<Vec<u8>> {
    let mut room = ReadBuffer::new(length, is_nowhere);
    // SAFETY: the room is writable for `length` octets, or the null address.
    let read = check_size(unsafe { libc::read(fd, room.as_mut_ptr(), length) })?;
    Ok(room.filled(read))
}

/// Calls `write(2)`.
pub(crate) fn write(fd: RawFd, buffer: &Buffer) -> io::Result<usize> {
    // SAFETY: pointer and length are those of `buffer`.
    check_size(unsafe { libc::write(fd, buffer.as_ptr(), buffer.len()) })
}

/// Calls `recvfrom(2)`; returns the bytes and their source.
pub(crate) fn receive_from(
    fd: RawFd,
    length: usize,
    flags: i32,
    is_nowhere: bool,
) -> io::Result<(Vec<u8>, Option<SocketAddr>)> {
    let mut room = ReadBuffer::new(length, is_nowhere);
    let mut address = RawAddress::empty();
    // SAFETY: the storage is writable for the length given, and so is the
    // room, unless it is the null address.
    let read = check_size(unsafe {
        libc::recvfrom(
            fd,
            room.as_mut_ptr(),
            length,
            flags,
            (&raw mut address.storage).cast(),
            &raw mut address.length,
        )
    })?;
    Ok((room.filled(read), address.decoded()))
}

/// Calls `sendto(2)`, or `send(2)` without an address.
pub(crate) fn send_to(
    fd: RawFd,
    buffer: &Buffer,
    flags: i32,
    to: Option<&RawAddress>,
) -> io::Result<usize> {
    let (pointer, length) = to.map_or((std::ptr::null(), 0), |to| (to.as_ptr(), to.length));
    // SAFETY: pointers and lengths are those of `buffer` and `to`.
    check_size(unsafe { libc::sendto(fd, buffer.as_ptr(), buffer.len(), flags, pointer, length) })
}

/// A control message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Control {
    /// Level, as `SOL_TCP`.
    pub(crate) level: i32,
    /// Type, as `TCP_CM_INQ`.
    pub(crate) kind: i32,
    /// Data.
    pub(crate) octets: Vec<u8>,
}

/// Encodes control data.
fn encode_control(pieces: &[Control]) -> Vec<u64> {
    let mut octets: Vec<u8> = Vec::new();
    for piece in pieces {
        let header = size_of::<libc::cmsghdr>();
        // SAFETY: the header is plain integers: all zero is valid.
        let mut head: libc::cmsghdr = unsafe { std::mem::zeroed() };
        head.cmsg_len = (header + piece.octets.len()) as _;
        head.cmsg_level = piece.level;
        head.cmsg_type = piece.kind;
        // SAFETY: the header is plain integers without padding.
        let as_octets =
            unsafe { std::slice::from_raw_parts(std::ptr::from_ref(&head).cast::<u8>(), header) };
        octets.extend_from_slice(as_octets);
        octets.extend_from_slice(&piece.octets);
        octets.resize(octets.len().next_multiple_of(8), 0);
    }
    let (words, rest) = octets.as_chunks::<8>();
    assert!(rest.is_empty(), "pieces are padded to whole words");
    words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

/// Decodes control data written by the kernel.
fn decode_control(message: &libc::msghdr) -> Vec<Control> {
    // SAFETY: the kernel has filled in the control data of `message`, whose buffer is live.
    let all = unsafe { gigatcp_linux::control_data::each(message) };
    let pieces = all.map(|(level, kind, octets)| Control {
        level,
        kind,
        octets: octets.to_vec(),
    });
    pieces.collect()
}

/// A received message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Bytes of each vector.
    pub(crate) octets: Vec<u8>,
    /// Source address.
    pub(crate) from: Option<SocketAddr>,
    /// `msg_flags`.
    pub(crate) flags: i32,
    /// Control data.
    pub(crate) control: Vec<Control>,
}

/// Calls `sendmsg(2)` with several pieces.
pub(crate) fn send_message(
    fd: RawFd,
    to: Option<&RawAddress>,
    pieces: &[Buffer],
    control: &[Control],
    flags: i32,
) -> io::Result<usize> {
    let vectors: Vec<libc::iovec> = pieces
        .iter()
        .map(|piece| libc::iovec {
            iov_base: piece.as_ptr().cast_mut(),
            iov_len: piece.len(),
        })
        .collect();
    let mut control = encode_control(control);
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    if let Some(to) = to {
        message.msg_name = to.as_ptr().cast_mut().cast();
        message.msg_namelen = to.length;
    }
    message.msg_iov = vectors.as_ptr().cast_mut();
    message.msg_iovlen = vectors.len() as _;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = (control.len() * 8) as _;
    // SAFETY: every pointer of the message is to a live local of its length;
    // sending writes through none of them.
    check_size(unsafe { libc::sendmsg(fd, &raw const message, flags) })
}

/// Calls `recvmsg(2)` with one vector.
pub(crate) fn receive_message(
    fd: RawFd,
    length: usize,
    control_room: usize,
    flags: i32,
) -> io::Result<Message> {
    let mut octets = vec![0_u8; length];
    let mut address = RawAddress::empty();
    let mut control = vec![0_u64; control_room.div_ceil(8)];
    let mut vector = libc::iovec {
        iov_base: octets.as_mut_ptr().cast(),
        iov_len: length,
    };
    // SAFETY: `msghdr` is integers and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut address.storage).cast();
    message.msg_namelen = address.length;
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = (control.len() * 8) as _;
    // SAFETY: every pointer of the message is to a live local of its length.
    let read = check_size(unsafe { libc::recvmsg(fd, &raw mut message, flags) })?;
    octets.truncate(read);
    Ok(Message {
        octets,
        from: address.decoded(),
        flags: message.msg_flags,
        control: decode_control(&message),
    })
}

/// Calls `fcntl(2)` with an integer.
pub(crate) fn control(fd: RawFd, command: i32, argument: i32) -> io::Result<i32> {
    // SAFETY: the commands a script may name (flags of files and of
    // descriptors) take an integer.
    check(unsafe { libc::fcntl(fd, command, argument) })
}

/// Calls an `ioctl(2)` that returns one integer, such as SIOCINQ.
pub(crate) fn query(fd: RawFd, request: u64) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    // SAFETY: the requests a script may name write one integer.
    check(unsafe { libc::ioctl(fd, request as libc::Ioctl, &raw mut value) })?;
    Ok(value)
}

/// Calls `poll(2)`; returns how many are ready, and the readiness of each.
pub(crate) fn poll(asked: &[(RawFd, i16)], timeout_ms: i32) -> io::Result<(i32, Vec<i16>)> {
    let mut polled: Vec<libc::pollfd> = asked
        .iter()
        .map(|&(fd, events)| libc::pollfd {
            fd,
            events,
            revents: 0,
        })
        .collect();
    let count = polled.len() as libc::nfds_t;
    // SAFETY: pointer and count are those of `polled`.
    let ready = check(unsafe { libc::poll(polled.as_mut_ptr(), count, timeout_ms) })?;
    Ok((ready, polled.iter().map(|one| one.revents).collect()))
}

/// Calls `epoll_create1(2)`.
pub(crate) fn epoll_create() -> io::Result<RawFd> {
    // SAFETY: plain integers.
    check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// Calls `epoll_ctl(2)`.
pub(crate) fn epoll_change(
    epoll: RawFd,
    operation: i32,
    fd: RawFd,
    events: u32,
    data: u64,
) -> io::Result<i32> {
    let mut event = libc::epoll_event { events, u64: data };
    // SAFETY: `event` outlives the call.
    check(unsafe { libc::epoll_ctl(epoll, operation, fd, &raw mut event) })
}

/// Calls `epoll_wait(2)`; returns events and data of ready descriptors.
pub(crate) fn epoll_wait(
    epoll: RawFd,
    room: usize,
    timeout_ms: i32,
) -> io::Result<Vec<(u32, u64)>> {
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; room];
    // SAFETY: pointer and count are those of `events`.
    let ready = check(unsafe {
        libc::epoll_wait(epoll, events.as_mut_ptr(), room as libc::c_int, timeout_ms)
    })?;
    events.truncate(usize::try_from(ready).unwrap_or(0));
    Ok(events.iter().map(|one| (one.events, one.u64)).collect())
}

/// Calls `pipe(2)`.
pub(crate) fn pipe() -> io::Result<[RawFd; 2]> {
    let mut ends = MaybeUninit::<[RawFd; 2]>::uninit();
    // SAFETY: there is room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr().cast(), libc::O_CLOEXEC) })?;
    // SAFETY: the call succeeded and has written both.
    Ok(unsafe { ends.assume_init() })
}

/// Calls `splice(2)` without offsets.
pub(crate) fn splice(from: RawFd, to: RawFd, length: usize, flags: u32) -> io::Result<usize> {
    let none = std::ptr::null_mut();
    // SAFETY: no offset is given; the rest is integers.
    check_size(unsafe { libc::splice(from, none, to, none, length, flags) })
}
