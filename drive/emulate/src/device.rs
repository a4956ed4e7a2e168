//! A TUN device as one end of the path.
//!
//! One system call reads a packet or a super-segment, one writes it. The driver returns one at a
//! time, so reading loops until none waits. Without offloads, where single packets are many, one
//! call writes several of them ([`gigatcp_linux::batch`]). Packets are written from the memory they
//! were read into, without a copy. That memory is limited: at the limit nothing is read until
//! packets have left. Packets then wait in the device, which tail-drops and counts the excess, as a
//! network card whose host is out of buffers. A checksum left incomplete by the sending kernel stays
//! incomplete: the receiving kernel knows that the packet never was on a wire.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use gigatcp_linux::batch::BatchWriter;
use gigatcp_linux::device;
use gigatcp_linux::virtio::HEADER_LEN;
use gigatcp_linux::write_outcomes::WriteOutcomes;
use gigatcp_wire::Slabs;

use crate::headers::device_octets;
use crate::packet::Packet;

/// Packets written by one call. More would gain less: eight give the larger part of the gain.
const BATCH: usize = 8;

/// Bytes of a slab.
const SLAB: usize = 1 << 20;
/// Maximum length of a packet, with the header before it.
const MAX_LEN: usize = HEADER_LEN + 65_536;

/// Name of the device in both namespaces.
pub const NAME: &str = "path0";

/// Counters in packets of the device: a super-segment is one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DeviceCounters {
    /// Packets read.
    pub reads: u64,
    /// Packets written.
    pub writes: u64,
    /// Packets read but malformed: not carried, and not counted by the path.
    pub malformed: u64,
    /// Packets written but rejected by the kernel: to the receiver they are lost.
    pub refused: u64,
    /// Number of times that nothing was read because memory was full.
    pub full: u64,
    /// Packets written in batches.
    pub batched: u64,
    /// Why packets cannot be batched, although that would be faster.
    pub one_by_one: Option<ErrorKind>,
}

/// An end of the path: a TUN device, or a wire.
#[derive(Debug)]
pub struct Device {
    tun: File,
    slabs: Slabs,
    /// Headers of packets being written, if they differ from those read.
    scratch: [Vec<u8>; BATCH],
    writer: BatchWriter,
    counters: DeviceCounters,
    /// Packets written, which `counters` does not include.
    written: WriteOutcomes,
}

impl Device {
    /// An end of the path over a TUN device, with `memory` bytes for packets. Without offloads,
    /// packets are written in batches.
    pub fn on_tun(tun: OwnedFd, offloads: bool, memory: usize) -> Self {
        let writer = if offloads {
            BatchWriter::one_by_one()
        } else {
            BatchWriter::new()
        };
        Self::of(tun, memory, writer)
    }

    /// One end of a wire without a kernel ([`gigatcp_linux::packets::pair`]).
    pub fn on_wire(end: OwnedFd, memory: usize) -> Self {
        Self::of(end, memory, BatchWriter::one_by_one())
    }

    fn of(tun: OwnedFd, memory: usize, writer: BatchWriter) -> Self {
        Self {
            tun: tun.into(),
            slabs: Slabs::new(SLAB, (memory / SLAB).max(2) - 1, 0),
            scratch: [const { Vec::new() }; BATCH],
            writer,
            counters: DeviceCounters::default(),
            written: WriteOutcomes::default(),
        }
    }

    /// Counters.
    pub fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            writes: self.written.taken,
            refused: self.written.refused,
            batched: self.writer.batched(),
            one_by_one: self.writer.refusal().map(io::Error::kind),
            ..self.counters
        }
    }

    /// Whether there is memory for a packet.
    pub fn has_room(&mut self) -> bool {
        self.slabs.try_room(MAX_LEN).is_some()
    }

    /// Bytes of memory for packets read.
    pub const fn memory(&self) -> usize {
        self.slabs.allocated() * SLAB
    }

    /// Reads the next packet, if one waits and there is memory for it.
    ///
    /// # Errors
    /// The device's error, for instance that it is gone.
    pub fn read(&mut self) -> io::Result<Read> {
        loop {
            let Some(room) = self.slabs.try_room(MAX_LEN) else {
                self.counters.full += 1;
                return Ok(Read::Full);
            };
            let len = match device::read_packet(&self.tun, room) {
                // A device has no end, so the wire's other end was closed.
                Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Read::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.counters.reads += 1;
            match Packet::read(self.slabs.keep(0..len)) {
                Ok(packet) => return Ok(Read::Packet(packet)),
                Err(_) => self.counters.malformed += 1,
            }
        }
    }

    /// Best number of packets for one call of [`Device::write`].
    pub const fn batch(&self) -> usize {
        if self.writer.is_batching() { BATCH } else { 1 }
    }

    /// Writes packets to the kernel of this end, in one call if possible
    /// ([`gigatcp_linux::batch`]). Rejected packets are lost, as on any wire, and counted.
    ///
    /// # Errors
    /// The device is gone.
    pub fn write(&mut self, packets: &[Packet]) -> io::Result<()> {
        for packets in packets.chunks(BATCH) {
            let mut parts = [[IoSlice::new(&[]); 2]; BATCH];
            for ((parts, scratch), packet) in parts.iter_mut().zip(&mut self.scratch).zip(packets) {
                *parts = device_octets(packet, scratch).map(IoSlice::new);
            }
            let mut gone = None;
            let tally = &mut self.written;
            let count = |written| gone = gone.take().or(tally.count(written));
            self.writer
                .write(self.tun.as_fd(), &parts[..packets.len()], count);
            if let Some(gone) = gone {
                return Err(gone);
            }
        }
        Ok(())
    }
}

/// Result of reading from a device.
#[derive(Debug)]
pub enum Read {
    /// A packet.
    Packet(Packet),
    /// None waits.
    Nothing,
    /// There is no memory for one.
    Full,
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
