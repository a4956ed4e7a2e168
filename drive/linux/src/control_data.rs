//! Control data of received messages (`cmsg(3)`).

/// Returns level, type and data of each control message.
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

/// Returns the TTL (`IP_TTL`), or hop limit (`IPV6_HOPLIMIT`), with which a packet arrived.
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

/// Returns the arrival time (`SCM_TIMESTAMPNS`) in nanoseconds of the real-time clock.
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
