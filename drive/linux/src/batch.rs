//! Writes several packets with one system call (`io_uring(7)`).
//!
//! A TUN device accepts one packet per `write`, and a quarter of the cost of such a call is
//! entering the kernel and reaching the device. `io_uring_enter` does that once for all writes in a
//! ring shared with the kernel. Every write is non-blocking (`RWF_NOWAIT`), so it completes or
//! fails before the call returns. Packets therefore keep their order, no kernel thread is involved,
//! and buffers are free again after the call.
//!
//! A failed write has the same error number as `write`, and later writes are tried anyway. If a
//! full device drains within a call, packets overtake the one that failed. (A chain of writes that
//! ends there, `IOSQE_IO_LINK`, costs as much as it gains.)
//!
//! If no ring is available, packets are written one by one, and [`BatchWriter::refusal`] has the
//! reason. Reasons are `kernel.io_uring_disabled`, a container that filters system calls, and a
//! device without non-blocking writes.
//!
//! Out of scope: reading. A batch of reads must be submitted before the number of waiting packets
//! is known. It saves a tenth of a read if many wait, and a single one costs a quarter more than a
//! plain read (docs/notes/live.md).

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, types};
use rustix::io::retry_on_intr;

/// Maximum packets of a call.
pub const MAX_PACKETS: usize = 64;

/// Writer of several packets to a device with one system call.
pub struct BatchWriter {
    ring: Option<IoUring>,
    /// Why there is no ring, if one was requested.
    refusal: Option<io::Error>,
    /// Packets written in batches.
    batched: u64,
    /// Result of each packet of a call, as returned by the kernel. `None` if it was not written
    /// yet.
    results: Vec<Option<i32>>,
}

impl BatchWriter {
    /// A writer with a ring, if one is available.
    pub fn new() -> Self {
        match IoUring::new(MAX_PACKETS as u32) {
            Ok(ring) => Self {
                ring: Some(ring),
                ..Self::one_by_one()
            },
            Err(error) => Self {
                refusal: Some(error),
                ..Self::one_by_one()
            },
        }
    }

    /// A writer that writes packet by packet.
    pub fn one_by_one() -> Self {
        Self {
            ring: None,
            refusal: None,
            batched: 0,
            results: Vec::with_capacity(MAX_PACKETS),
        }
    }

    /// Why packets are written one by one although batches were requested. The reason may show only
    /// at the first packet.
    pub fn refusal(&self) -> Option<&io::Error> {
        self.refusal.as_ref()
    }

    /// Number of packets written in batches.
    pub const fn batched(&self) -> u64 {
        self.batched
    }

    /// Whether packets are written in batches.
    pub const fn is_batching(&self) -> bool {
        self.ring.is_some()
    }

    /// Writes `packets` in their order, each gathered from its parts. Calls `each` in the same
    /// order with the result, as `writev(2)` would return it. Signals do not interrupt it.
    pub fn write<const N: usize>(
        &mut self,
        to: BorrowedFd<'_>,
        packets: &[[IoSlice<'_>; N]],
        mut each: impl FnMut(io::Result<usize>),
    ) {
        for packets in packets.chunks(MAX_PACKETS) {
            self.results.clear();
            self.results.resize(packets.len(), None);
            if packets.len() > 1 {
                self.write_together(to, packets);
            }
            for (packet, result) in packets.iter().zip(&self.results) {
                each(match *result {
                    Some(errno) if errno < 0 => Err(io::Error::from_raw_os_error(-errno)),
                    Some(written) => Ok(written.unsigned_abs() as usize),
                    None => write_one(to, packet),
                });
            }
        }
    }

    /// Writes as many packets as possible in one call. It gives up the ring if that fails.
    fn write_together<const N: usize>(&mut self, to: BorrowedFd<'_>, packets: &[[IoSlice<'_>; N]]) {
        let Some(ring) = &mut self.ring else { return };
        if let Err(error) = submit(ring, to, packets, &mut self.results) {
            // Entries not yet submitted must never be, since they point at borrowed buffers.
            self.ring = None;
            self.refusal = Some(error);
        }
        let written = |result: &&Option<i32>| result.is_some_and(|len| len >= 0);
        self.batched += self.results.iter().filter(written).count() as u64;
    }
}

/// Submits the writes and stores their outcomes in `results`.
///
/// # Errors
/// The ring cannot be used any more.
fn submit<const N: usize>(
    ring: &mut IoUring,
    to: BorrowedFd<'_>,
    packets: &[[IoSlice<'_>; N]],
    results: &mut [Option<i32>],
) -> io::Result<()> {
    let device = types::Fd(to.as_raw_fd());
    for (number, parts) in packets.iter().enumerate() {
        let entry = opcode::Writev::new(device, parts.as_ptr().cast(), N as u32)
            .rw_flags(libc::RWF_NOWAIT)
            .build()
            .user_data(number as u64);
        // SAFETY: an `IoSlice` is an `iovec`. This function returns when nothing
        // that was submitted is still in progress, so packets and descriptor outlive
        // every write; what could not be submitted goes with the ring.
        let pushed = unsafe { ring.submission().push(&entry) };
        pushed.map_err(io::Error::other)?;
    }
    let mut ended = 0;
    let mut is_supported = true;
    while ended < packets.len() {
        let waited = ring.submit_and_wait(packets.len() - ended);
        for done in ring.completion() {
            ended += 1;
            match -done.result() {
                // Nothing was written; the packet is written without the ring.
                libc::EINTR => {}
                libc::EOPNOTSUPP => is_supported = false,
                _ => results[done.user_data() as usize] = Some(done.result()),
            }
        }
        let is_under_way = packets.len() - ring.submission().len() > ended;
        match waited {
            Err(error) if error.kind() != ErrorKind::Interrupted && !is_under_way => {
                return Err(error);
            }
            _ => {}
        }
    }
    if is_supported {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }
}

/// Writes a packet without the ring; retries after a signal.
fn write_one(to: BorrowedFd<'_>, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::io::writev(to, parts))?)
}

impl Default for BatchWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for BatchWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("BatchWriter");
        debug.field("refusal", &self.refusal()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use bytes::BytesMut;

    use super::*;
    use crate::{device, packets};

    /// Packets of different lengths, in two parts each.
    fn packets_of(count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let parts = |n: usize| (vec![n as u8; 20 + n % 7], vec![!(n as u8); n % 1400]);
        (0..count).map(parts).collect()
    }

    fn slices(packets: &[(Vec<u8>, Vec<u8>)]) -> Vec<[IoSlice<'_>; 2]> {
        packets
            .iter()
            .map(|(head, tail)| [IoSlice::new(head), IoSlice::new(tail)])
            .collect()
    }

    type Results = Vec<Result<usize, Option<i32>>>;

    /// Sends `packets` through `writer` over a wire; returns the results and what arrives.
    fn carry(writer: &mut BatchWriter, packets: &[(Vec<u8>, Vec<u8>)]) -> (Results, Vec<Vec<u8>>) {
        let [near, far] = packets::pair().unwrap();
        let mut results = Vec::new();
        writer.write(near.as_fd(), &slices(packets), |result| {
            results.push(result.map_err(|error| error.raw_os_error()));
        });
        let mut arrived = Vec::new();
        let mut into = BytesMut::with_capacity(4096);
        while device::read_packet(&far, &mut into).is_ok() {
            arrived.push(into.to_vec());
            into.clear();
        }
        (results, arrived)
    }

    fn both_ways() -> [BatchWriter; 2] {
        [BatchWriter::new(), BatchWriter::one_by_one()]
    }

    fn whole(packets: &[(Vec<u8>, Vec<u8>)]) -> Vec<Vec<u8>> {
        packets.iter().map(|(a, b)| [&a[..], b].concat()).collect()
    }

    /// Runs `work` on a thread for which the system forbids rings.
    fn without_rings<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        let step = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
        let mut steps = [
            // Number of the system call.
            step(LOAD, 0, 0),
            step(EQUAL, 1, libc::SYS_io_uring_setup as u32),
            step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
            step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        ];
        let mut filter = move || {
            let program = libc::sock_fprog {
                len: steps.len() as u16,
                filter: steps.as_mut_ptr(),
            };
            // SAFETY: `program` and its steps outlive the calls, which bind the
            // calling thread alone.
            unsafe {
                assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
                let how = libc::SECCOMP_MODE_FILTER;
                assert_eq!(
                    libc::prctl(libc::PR_SET_SECCOMP, how, &raw const program),
                    0
                );
            }
        };
        std::thread::scope(|scope| {
            let done = scope.spawn(move || {
                filter();
                work()
            });
            done.join().unwrap()
        })
    }

    #[test]
    fn both_ways_carry_the_same_octets_in_the_same_order() {
        for count in [0, 1, 2, 63, 64, 65, 200] {
            let packets = packets_of(count);
            for mut writer in both_ways() {
                let (results, arrived) = carry(&mut writer, &packets);
                assert_eq!(arrived, whole(&packets), "{count}");
                let lengths: Vec<_> = arrived.iter().map(|packet| Ok(packet.len())).collect();
                assert_eq!(results, lengths);
                // A single packet is not batched.
                let alone = u64::from(count % MAX_PACKETS == 1);
                let batched = count as u64 - alone;
                assert_eq!(
                    writer.batched(),
                    if writer.is_batching() { batched } else { 0 }
                );
            }
        }
    }

    #[test]
    fn a_full_device_refuses_what_it_has_no_room_for_and_nobody_waits() {
        let packets = packets_of(4_000);
        for mut writer in both_ways() {
            let (results, arrived) = carry(&mut writer, &packets);
            assert_eq!(results.len(), packets.len());
            let taken = results.iter().filter(|result| result.is_ok()).count();
            assert!(taken > 2 && taken < packets.len(), "{taken}");
            assert_eq!(arrived.len(), taken);
            let refusals = results.iter().filter_map(|result| result.err());
            assert!(refusals.flatten().all(|errno| errno == libc::EAGAIN));
        }
    }

    #[test]
    fn one_that_is_refused_keeps_nobody_behind_it_from_being_written() {
        let mut packets = packets_of(200);
        // Larger than the maximum datagram of a socket.
        packets[4].1 = vec![0; 10 << 20];
        packets[199].1 = vec![0; 10 << 20];
        for mut writer in both_ways() {
            let (results, arrived) = carry(&mut writer, &packets);
            assert_eq!(results[4], Err(Some(libc::EMSGSIZE)));
            assert_eq!(results[199], Err(Some(libc::EMSGSIZE)));
            let expected = [&packets[..4], &packets[5..199]].concat();
            assert_eq!(arrived, whole(&expected));
        }
    }

    #[test]
    fn where_rings_are_forbidden_packets_are_written_one_by_one_and_it_says_why() {
        let packets = packets_of(30);
        let (arrived, refusal) = without_rings(|| {
            let mut writer = BatchWriter::new();
            let (_, arrived) = carry(&mut writer, &packets);
            (arrived, writer.refusal().and_then(io::Error::raw_os_error))
        });
        assert_eq!(arrived, whole(&packets));
        assert_eq!(refusal, Some(libc::EPERM));
    }
}
