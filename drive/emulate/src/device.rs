//! A TUN device as one end of the path.
//!
//! One system call reads a packet or a super-segment, one writes it; the driver
//! gives no more than one at a time, so a batch is a loop until nothing waits.
//! Without offloads, where single packets are many, one call writes several of
//! them ([`gigatcp_linux::batch`]).
//! What was read is written from where it lies: nothing is copied in between,
//! and the checksum that the sending kernel left undone is left to the receiving
//! one, which knows that the packet never was on a wire.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use gigatcp_linux::batch::BatchWriter;
use gigatcp_linux::device::{self, Offloads, Reception};
use gigatcp_linux::written::Written;
use gigatcp_linux::{SetupError, Step, interface, steering};

use crate::headers::device_octets;
use crate::packet::Packet;
use crate::slabs::Slabs;

/// Packets that are written by one call: of what more would gain, eight gain the
/// larger part.
const BATCH: usize = 8;

/// The name of the device in both namespaces.
pub const NAME: &str = "path0";

/// A device to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceConfig {
    /// Its largest packet in octets.
    pub mtu: u16,
    /// Whether super-segments and unfinished checksums are taken and given.
    pub offloads: bool,
    /// Packets that wait to be read before the device drops.
    pub queue: u32,
    /// The addresses of this end, and the bits of their networks.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Octets of packets from this end that may be held.
    pub memory: usize,
}

/// What passed, in packets of the device: a super-segment is one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DeviceCounters {
    /// Read.
    pub reads: u64,
    /// Written.
    pub writes: u64,
    /// Read and not understood: not carried, and not counted by the path.
    pub harmed: u64,
    /// Written, but the kernel would not take them: to the receiver they are
    /// lost.
    pub refused: u64,
    /// Times that nothing was read because the memory was full.
    pub full: u64,
    /// Of the packets written, those that were handed over several in a call.
    pub batched: u64,
    /// Why none may be, where that would be faster.
    pub one_by_one: Option<ErrorKind>,
}

/// An end of the path: a TUN device, or a wire.
#[derive(Debug)]
pub struct Device {
    tun: File,
    slabs: Slabs,
    /// Headers of packets being written, where they are not as they were read.
    scratch: [Vec<u8>; BATCH],
    writer: BatchWriter,
    counters: DeviceCounters,
    /// Of what was written, which is not in `counters`.
    written: Written,
}

impl Device {
    /// Makes it in the namespace of the calling thread. It is gone when this
    /// value is.
    ///
    /// # Errors
    /// [`SetupError`]: the step that failed, and what is missing.
    pub fn open_here(config: &DeviceConfig) -> Result<Self, SetupError> {
        let about = |step, cause| SetupError::about(step, NAME, cause);
        let tun = device::open_tun().map_err(|cause| SetupError::new(Step::OpenTun, cause))?;
        let reception = if config.offloads {
            Reception::AtOnce
        } else {
            Reception::Queued
        };
        device::make_tun(&tun, NAME, reception).map_err(|cause| about(Step::Device, cause))?;
        let offloads = Offloads {
            checksum: config.offloads,
            segmentation: config.offloads,
        };
        device::set_offloads(&tun, offloads).map_err(|cause| about(Step::Offloads, cause))?;
        interface::keep_quiet(NAME);
        furnish(config).map_err(|cause| about(Step::Addresses, cause))?;
        if !config.offloads {
            // Best effort: without it, the path is slower.
            let _ = steering::receive_elsewhere(NAME);
        }
        let mut device = Self::of(tun.into(), config.memory);
        if !config.offloads {
            device.writer = BatchWriter::new();
        }
        Ok(device)
    }

    /// One end of a wire without a kernel ([`gigatcp_linux::packets::pair`]) instead, with `memory`
    /// octets for packets.
    #[must_use]
    pub fn on_wire(end: OwnedFd, memory: usize) -> Self {
        Self::of(end.into(), memory)
    }

    fn of(tun: File, memory: usize) -> Self {
        Self {
            tun,
            slabs: Slabs::new(memory),
            scratch: [const { Vec::new() }; BATCH],
            writer: BatchWriter::one_by_one(),
            counters: DeviceCounters::default(),
            written: Written::default(),
        }
    }

    /// What passed.
    #[must_use]
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
        self.slabs.room().is_some()
    }

    /// Octets of memory for what was read.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.slabs.allocated()
    }

    /// The next packet, if one waits and there is memory for it.
    ///
    /// # Errors
    /// The device's error, for instance that it is gone.
    pub fn read(&mut self) -> io::Result<Read> {
        loop {
            let Some(room) = self.slabs.room() else {
                self.counters.full += 1;
                return Ok(Read::Full);
            };
            match device::read_packet(&self.tun, room) {
                // A device has no end; the wire's other end is gone.
                Ok(0) => return Err(ErrorKind::BrokenPipe.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Read::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.counters.reads += 1;
            match Packet::read(self.slabs.keep()) {
                Ok(packet) => return Ok(Read::Packet(packet)),
                Err(_) => self.counters.harmed += 1,
            }
        }
    }

    /// How many packets are best handed over together ([`Device::write`]).
    #[must_use]
    pub const fn batch(&self) -> usize {
        if self.writer.is_batching() { BATCH } else { 1 }
    }

    /// Hands packets to the kernel of this end, by one call where that is allowed
    /// ([`gigatcp_linux::batch`]). What it refuses is lost, as on any wire, and
    /// counted.
    ///
    /// # Errors
    /// That the device is gone.
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

/// What a device had to give.
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

/// Size and addresses of the interface; then it goes up.
fn furnish(config: &DeviceConfig) -> io::Result<()> {
    let control = device::control_socket(libc::AF_INET)?;
    device::set_mtu(&control, NAME, u32::from(config.mtu))?;
    // Best effort: a user namespace may not. Then 500 packets wait.
    let _ = device::set_queue(&control, NAME, config.queue);
    device::bring_up(&control, NAME)?;
    for (address, prefix) in &config.addresses {
        interface::assign(&control, NAME, *address, *prefix)?;
    }
    Ok(())
}
