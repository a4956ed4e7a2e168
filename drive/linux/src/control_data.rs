//! Control data of messages (`cmsg(3)`).

use std::net::IpAddr;

/// Level, type and data of each control message.
///
/// # Safety
/// The kernel has filled in the control part of `message`, whose buffer outlives the reference.
pub unsafe fn each(message: &libc::msghdr) -> impl Iterator<Item = (i32, i32, &[u8])> {
    // SAFETY: as the caller promises; the macros stay inside of the control part.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    std::iter::from_fn(move || {
        // SAFETY: as before: each head is of a whole message.
        unsafe {
            let found = head.as_ref()?;
            let with_header: usize = found.cmsg_len as _;
            let length = with_header.saturating_sub(libc::CMSG_LEN(0) as usize);
            let data = std::slice::from_raw_parts(libc::CMSG_DATA(head), length);
            head = libc::CMSG_NXTHDR(message, head);
            Some((found.cmsg_level, found.cmsg_type, data))
        }
    })
}

/// Sets the control part of a message that is sent: one value, in the caller's buffer.
///
/// # Panics
/// The buffer is too small.
pub(crate) fn set<T: Copy>(
    message: &mut libc::msghdr,
    buffer: &mut [u64],
    (level, kind): (i32, i32),
    value: T,
) {
    let length = size_of::<T>() as u32;
    // SAFETY: the macro only computes.
    let room = unsafe { libc::CMSG_SPACE(length) } as usize;
    assert!(room <= size_of_val(buffer), "room for the control part");
    message.msg_control = buffer.as_mut_ptr().cast();
    message.msg_controllen = room as _;
    // SAFETY: the buffer has room for one head and the value, is aligned for the head, and the
    // macros of `cmsg(3)` stay inside of the length that is set above.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(message);
        (*head).cmsg_level = level;
        (*head).cmsg_type = kind;
        (*head).cmsg_len = libc::CMSG_LEN(length) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(head).cast(), value);
    }
}

/// The address to which a packet was sent (`IP_PKTINFO`, `IPV6_PKTINFO`): of a broadcast,
/// the address of this host that answers. A socket of IPv6 has mapped addresses of IPv4.
///
/// # Safety
/// As for [`each`].
pub(crate) unsafe fn destination(message: &libc::msghdr) -> Option<IpAddr> {
    // SAFETY: as the caller promises.
    let mut all = unsafe { each(message) };
    all.find_map(|(level, kind, data)| match (level, kind) {
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            let address: [u8; 16] = *data.first_chunk()?;
            Some(IpAddr::from(address))
        }
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            // `ipi_addr`. `ipi_spec_dst`, before it, hides that a packet was sent to all.
            let address: [u8; 4] = *data.get(8..)?.first_chunk()?;
            Some(IpAddr::from(address))
        }
        _ => None,
    })
}

/// TTL (`IP_TTL`), or hop limit (`IPV6_HOPLIMIT`), with which a packet arrived.
///
/// # Safety
/// As for [`each`].
pub(crate) unsafe fn hop_limit(message: &libc::msghdr) -> Option<u8> {
    const KINDS: [(i32, i32); 2] = [
        (libc::IPPROTO_IP, libc::IP_TTL),
        (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT),
    ];
    // SAFETY: as the caller promises.
    let mut all = unsafe { each(message) };
    let (_, _, data) = all.find(|entry| KINDS.contains(&(entry.0, entry.1)))?;
    u8::try_from(i32::from_ne_bytes(*data.first_chunk()?)).ok()
}

/// Arrival time (`SCM_TIMESTAMPNS`) in nanoseconds of the real-time clock.
///
/// # Safety
/// As for [`each`].
pub(crate) unsafe fn arrival_time(message: &libc::msghdr) -> Option<i64> {
    // SAFETY: as the caller promises.
    let mut parts = unsafe { each(message) };
    let is_stamp =
        |part: &(i32, i32, &[u8])| (part.0, part.1) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
    let stamp = parts.find(is_stamp);
    let (_, _, data) = stamp.filter(|part| part.2.len() >= size_of::<libc::timespec>())?;
    // SAFETY: there are as many bytes, and a `timespec` is integers.
    let time: libc::timespec = unsafe { std::ptr::read_unaligned(data.as_ptr().cast()) };
    Some(crate::clock::nanos(time))
}
