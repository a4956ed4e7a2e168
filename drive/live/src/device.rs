//! A TUN device with offloads, as the engine's network card.
//!
//! With segmentation offload one read gives a super-segment of up to 64 KiB,
//! just as the kernel would have handed it to hardware, and one write sends
//! one; the checksum of what stays on the machine is never computed. Without,
//! packets pass one by one and super-segments of the engine are cut here, each
//! piece summed.
//!
//! The device has two sides. On one is the kernel of a namespace, with the
//! addresses [`DeviceConfig::kernel`]; on the other, behind a route, is the
//! engine with [`DeviceConfig::engine`].
//!
//! What one packet costs: a system call each way (the pieces of a super-segment
//! share one, [`gigatcp_linux::batch`]), one copy between kernel and
//! user, and no other copy: a payload is written from where the application's
//! octets lie, and read into memory that the receive buffer shares
//! ([`crate::slabs`]). A system call reads one packet because the driver gives no
//! more; single ones that follow each other are joined ([`crate::join`]).
//!
//! Without segmentation offload the kernel works on what is written in a thread
//! of its own, which may join neighbours ([`gigatcp_linux::steering`]).
//!
//! Deliberately not here: several queues, UDP, Ethernet frames (TAP). One queue
//! is one thread.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use gigatcp_linux::batch::{self, BatchWriter};
use gigatcp_linux::device::Reception;
use gigatcp_linux::virtio::{ChecksumState, Segmentation, VirtioHeader};
use gigatcp_linux::written::Written;
use gigatcp_linux::{LabError, Namespace, Step, device, interface, steering};
use gigatcp_wire::{ChecksumFill, Endpoints, Flags, IpHeader, Segment, encode_headers};

pub use gigatcp_linux::device::Offloads;

use crate::arrival::{self, Arrival, Found, Read, Refusal};
use crate::join::Joined;
use crate::octets::Octets;
use crate::slabs::Slabs;

/// Where the checksum stands in a TCP header.
const CHECKSUM_OFFSET: u16 = 16;

/// Packets that are written one by one after the device was full: of some that
/// are written together, those behind one that finds no room may find it, and
/// overtake. One alone waits, and all behind it.
const CAREFUL: u32 = 10_000;

/// Slabs that wait to be used again.
const SLABS_KEPT: usize = 8;

/// A device to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceConfig {
    /// Its name, at most 15 octets.
    pub name: String,
    /// Its largest packet in octets, on a wire.
    pub mtu: u16,
    /// What kernel and engine leave to each other.
    pub offloads: Offloads,
    /// Addresses of the kernel's side and the bits of their networks.
    pub kernel: Vec<(IpAddr, u8)>,
    /// Addresses of the engine, which the kernel reaches through the device.
    pub engine: Vec<IpAddr>,
    /// Packets that wait for a reader before the device drops.
    pub queue: u32,
    /// Time to live of every packet (RFC 9293 MUST-49); hop limit in IPv6.
    pub ttl: u8,
}

impl Default for DeviceConfig {
    /// All offloads, MTU 1500, no addresses.
    fn default() -> Self {
        Self {
            name: "giga0".into(),
            mtu: 1500,
            offloads: Offloads {
                checksum: true,
                segmentation: true,
            },
            kernel: Vec::new(),
            engine: Vec::new(),
            queue: 10_000,
            ttl: 64,
        }
    }
}

/// What passed, and what did not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct DeviceCounters {
    /// Packets read; a super-segment is one.
    pub reads: u64,
    /// Packets written; a super-segment is one.
    pub writes: u64,
    /// Packets read that were no TCP and no ICMP error about it.
    pub foreign: u64,
    /// Packets read whose checksum, length or options were wrong.
    pub harmed: u64,
    /// Packets that the kernel would not take; for the engine they are lost.
    pub refused: u64,
    /// Slabs of half a megabyte allocated for what was read.
    pub slabs: u64,
    /// Of the packets written, those that left several in a call
    /// ([`gigatcp_linux::batch`]).
    pub batched: u64,
    /// Why none may, where segments are cut here and that would be faster.
    pub one_by_one: Option<io::ErrorKind>,
}

/// See the module's own text.
#[derive(Debug)]
pub struct Device {
    tun: File,
    config: DeviceConfig,
    slabs: Slabs,
    /// The packet that was read last, where it did not join those before it. Its
    /// octets are in the slab.
    ahead: Option<Result<Read, Refusal>>,
    /// The headers of the packets being written.
    headers: Vec<u8>,
    /// Pieces being written, and where in `headers` those of each end.
    pieces: Vec<(Segment<Octets>, usize)>,
    writer: BatchWriter,
    /// Packets to be written before any go together again.
    one_by_one: u32,
    counters: DeviceCounters,
    /// Of what was written, which is not in `counters`.
    written: Written,
}

impl Device {
    /// Makes the device in a namespace, addresses and routes included, and
    /// brings it up. It is gone when this value is.
    ///
    /// # Errors
    /// [`LabError`]: the step that failed, and what is missing.
    pub fn open(namespace: &Namespace, config: &DeviceConfig) -> Result<Self, LabError> {
        namespace.run(|| Self::open_here(config))?
    }

    /// The same in the namespace of the calling thread.
    ///
    /// # Errors
    /// [`LabError`]: the step that failed, and what is missing.
    pub fn open_here(config: &DeviceConfig) -> Result<Self, LabError> {
        let about = |step, cause| LabError::about(step, config.name.as_str(), cause);
        if config.name.is_empty() || config.name.len() > 15 {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "a name has 1 to 15 octets");
            return Err(about(Step::Device, cause));
        }
        let tun = device::open_tun().map_err(|cause| LabError::new(Step::OpenTun, cause))?;
        let reception = if config.offloads.segmentation {
            Reception::AtOnce
        } else {
            Reception::Queued
        };
        device::make_tun(&tun, &config.name, reception)
            .map_err(|cause| about(Step::Device, cause))?;
        device::set_offloads(&tun, config.offloads)
            .map_err(|cause| about(Step::Offloads, cause))?;
        interface::keep_quiet(&config.name);
        furnish(config).map_err(|cause| about(Step::Addresses, cause))?;
        if reception == Reception::Queued {
            // A wish: without, it is slower.
            let _ = steering::receive_elsewhere(&config.name);
        }
        let mut device = Self::over(tun, config);
        if !config.offloads.segmentation {
            device.writer = BatchWriter::new();
        }
        Ok(device)
    }

    /// The engine's end of `descriptor`: one that gives and takes a packet with
    /// its [`VirtioHeader`] in each call and never waits, such as a TUN device
    /// that was made elsewhere or one of [`gigatcp_linux::packets::pair`].
    /// Whoever has the other end sees to addresses, routes and the size of
    /// packets; of `config` the engine's addresses, MTU and offloads are heeded.
    #[must_use]
    pub fn over(descriptor: OwnedFd, config: &DeviceConfig) -> Self {
        Self {
            tun: descriptor.into(),
            config: config.clone(),
            slabs: Slabs::new(SLABS_KEPT),
            ahead: None,
            headers: Vec::with_capacity(128),
            pieces: Vec::new(),
            writer: BatchWriter::one_by_one(),
            one_by_one: 0,
            counters: DeviceCounters::default(),
            written: Written::default(),
        }
    }

    /// How it was made.
    #[must_use]
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// What passed, and what did not.
    #[must_use]
    pub fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            slabs: self.slabs.allocated(),
            writes: self.written.taken,
            refused: self.written.refused,
            batched: self.writer.batched(),
            one_by_one: self.writer.refusal().map(io::Error::kind),
            ..self.counters
        }
    }

    /// The next packet for the engine, if one waits. What is none is counted
    /// and left out.
    ///
    /// # Errors
    /// What the device says, for instance that it is gone.
    pub fn read(&mut self) -> io::Result<Option<Arrival>> {
        loop {
            let packet = match self.ahead.take() {
                None => self.read_behind(0)?,
                ahead => ahead,
            };
            match packet {
                None => return Ok(None),
                Some(Ok(Read::Segment(found))) => return Ok(Some(self.join(found))),
                Some(Ok(Read::Icmp(tuple, error))) => {
                    return Ok(Some(Arrival::Icmp { tuple, error }));
                }
                Some(Err(Refusal::Foreign)) => self.counters.foreign += 1,
                Some(Err(Refusal::Harmed)) => self.counters.harmed += 1,
            }
        }
    }

    /// What the next packet is, if one waits. It is read behind the `held` octets
    /// that are kept of what was read before, as long as there is room.
    fn read_behind(&mut self, held: usize) -> io::Result<Option<Result<Read, Refusal>>> {
        loop {
            let room = match held {
                0 => self.slabs.room(),
                _ => match self.slabs.room_behind(held) {
                    Some(room) => room,
                    None => return Ok(None),
                },
            };
            match device::read_packet(&self.tun, room) {
                Ok(0) => return Err(self.gone(&io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.gone(&error)),
            }
            self.counters.reads += 1;
            return Ok(Some(arrival::read(&self.slabs.packet()[held..])));
        }
    }

    /// The segment `found`, joined with what lies waiting behind it where that is
    /// one with it ([`crate::join`]).
    fn join(&mut self, found: Found) -> Arrival {
        let mut joined = Joined::new(&found);
        if !joined.may_grow() {
            let payload = self.slabs.keep(found.payload).into();
            return Arrival::Segment {
                endpoints: found.endpoints,
                segment: Segment {
                    payload,
                    ..found.segment
                },
            };
        }
        self.slabs.gather(found.payload, 0);
        while joined.may_grow() {
            let held = joined.len;
            match self.read_behind(held) {
                Ok(Some(Ok(Read::Segment(next)))) if joined.try_grow(&next) => {
                    let payload = held + next.payload.start..held + next.payload.end;
                    self.slabs.gather(payload, held);
                }
                Ok(Some(other)) => {
                    self.ahead = Some(other);
                    break;
                }
                // An error comes again when nothing is left to hand over.
                Ok(None) | Err(_) => break,
            }
        }
        let payload = self.slabs.keep_front(joined.len).into();
        Arrival::Segment {
            endpoints: joined.endpoints,
            segment: Segment {
                payload,
                ..joined.segment
            },
        }
    }

    /// Sends a segment between `endpoints`, in pieces where the device does not
    /// cut. What it has no room for is appended to `left`, in its order; what the
    /// kernel refuses is lost, as on any wire, and counted.
    ///
    /// # Errors
    /// That the device is gone.
    pub fn write(
        &mut self,
        endpoints: Endpoints,
        mut segment: Segment<Octets>,
        left: &mut VecDeque<(Endpoints, Segment<Octets>)>,
    ) -> io::Result<()> {
        let goes_whole = self.config.offloads.segmentation && !is_cut_here(&segment);
        let mut pieces = if goes_whole {
            1
        } else {
            segment.wire_segments()
        };
        let before = left.len();
        while pieces > 1 && left.len() == before {
            if self.writer.is_batching() && self.one_by_one == 0 {
                let count = pieces.min(batch::MOST);
                let rest = self.write_pieces(endpoints, segment, count, left)?;
                let Some(rest) = rest else { return Ok(()) };
                segment = rest;
                pieces -= count;
            } else {
                let front = segment.split_front(1);
                if !self.write_packet(endpoints, &front)? {
                    left.push_back((endpoints, front));
                }
                pieces -= 1;
            }
        }
        if left.len() > before || !self.write_packet(endpoints, &segment)? {
            left.push_back((endpoints, segment));
        }
        Ok(())
    }

    fn write_packet(
        &mut self,
        endpoints: Endpoints,
        segment: &Segment<Octets>,
    ) -> io::Result<bool> {
        self.headers.clear();
        if !self.put_headers(endpoints, segment) {
            return Ok(true);
        }
        let [head, tail] = segment.payload.pieces();
        let gathered = [&self.headers, head, tail].map(IoSlice::new);
        let written = loop {
            match (&self.tun).write_vectored(&gathered) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written,
            }
        };
        if is_full(&written) {
            self.one_by_one = CAREFUL;
            return Ok(false);
        }
        self.one_by_one = self.one_by_one.saturating_sub(1);
        match self.written.count(written) {
            Some(gone) => Err(self.gone(&gone)),
            None => Ok(true),
        }
    }

    /// Cuts `count` pieces off the front of `segment` and sends them in one call
    /// ([`gigatcp_linux::batch`]); what remains of it, if anything does.
    fn write_pieces(
        &mut self,
        endpoints: Endpoints,
        segment: Segment<Octets>,
        count: usize,
        left: &mut VecDeque<(Endpoints, Segment<Octets>)>,
    ) -> io::Result<Option<Segment<Octets>>> {
        self.headers.clear();
        self.pieces.clear();
        let is_all = count == segment.wire_segments();
        let mut rest = Some(segment);
        for number in 1..=count {
            let is_last = is_all && number == count;
            let front = |rest: &mut Segment<Octets>| rest.split_front(1);
            let piece = if is_last {
                rest.take()
            } else {
                rest.as_mut().map(front)
            };
            if let Some(piece) = piece
                && self.put_headers(endpoints, &piece)
            {
                self.pieces.push((piece, self.headers.len()));
            }
        }
        let mut parts = [[IoSlice::new(&[]); 3]; batch::MOST];
        let mut start = 0;
        for (parts, (piece, end)) in parts.iter_mut().zip(&self.pieces) {
            let [head, tail] = piece.payload.pieces();
            *parts = [&self.headers[start..*end], head, tail].map(IoSlice::new);
            start = *end;
        }
        let parts = &parts[..self.pieces.len()];
        let (mut gone, mut number) = (None, 0);
        let tally = &mut self.written;
        self.writer.write(self.tun.as_fd(), parts, |written| {
            if is_full(&written) {
                left.push_back((endpoints, self.pieces[number].0.clone()));
                self.one_by_one = CAREFUL;
            } else if let Some(error) = tally.count(written) {
                gone = Some(error);
            }
            number += 1;
        });
        self.pieces.clear();
        match gone {
            Some(gone) => Err(self.gone(&gone)),
            None => Ok(rest),
        }
    }

    /// Appends what stands before the payload of `segment`; says whether there can
    /// be such.
    fn put_headers(&mut self, endpoints: Endpoints, segment: &Segment<Octets>) -> bool {
        let header = self.header_for(&endpoints, segment);
        let fill = match header.checksum {
            ChecksumState::Partial { .. } => ChecksumFill::PseudoHeader,
            _ => ChecksumFill::Whole,
        };
        let before = self.headers.len();
        self.headers.extend_from_slice(&header.encode());
        let mut ip = IpHeader::new(endpoints);
        ip.ttl = self.config.ttl;
        let is_put = encode_headers(&ip, segment, fill, &mut self.headers).is_ok();
        if !is_put {
            // Larger than IP counts: the engine's own limit forbids it, so it
            // is its fault and not a reason to stop.
            debug_assert!(false, "a segment that no packet holds");
            self.headers.truncate(before);
            self.written.refused += 1;
        }
        is_put
    }

    /// That the device is no more, in words.
    fn gone(&self, cause: &io::Error) -> io::Error {
        let what = format!("the device {} is gone: {cause}", self.config.name);
        io::Error::new(io::ErrorKind::NotConnected, what)
    }

    /// What stands before the packet of `segment`.
    fn header_for(&self, endpoints: &Endpoints, segment: &Segment<Octets>) -> VirtioHeader {
        let Offloads {
            checksum,
            segmentation,
        } = self.config.offloads;
        let ip_len = endpoints.header_len() as u16;
        let cut = Segmentation {
            is_v6: matches!(endpoints, Endpoints::V6 { .. }),
            size: segment.segment_size,
            header_len: ip_len + segment.header_len() as u16,
            has_ecn: segment.flags.contains(Flags::CWR) && !segment.ace,
        };
        let partial = ChecksumState::Partial {
            start: ip_len,
            offset: CHECKSUM_OFFSET,
        };
        VirtioHeader {
            checksum: if checksum || segmentation {
                partial
            } else {
                ChecksumState::InPacket
            },
            segmentation: (segment.wire_segments() > 1).then_some(cut),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

fn is_full(written: &io::Result<usize>) -> bool {
    matches!(written, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// Segmentation offload would copy what belongs to one piece to all: the urgent
/// pointer, which counts from each piece's own number. And it gives CWR to the
/// first alone, where AE, CWR and ECE are a counter that each piece carries
/// (RFC 9768 section 3.3.4).
fn is_cut_here(segment: &Segment<Octets>) -> bool {
    segment.flags.contains(Flags::URG) || (segment.ace && segment.flags.contains(Flags::CWR))
}

/// Size, addresses and routes of the interface; then it goes up.
fn furnish(config: &DeviceConfig) -> io::Result<()> {
    let control = device::control_socket(libc::AF_INET)?;
    let name = &config.name;
    device::set_mtu(&control, name, u32::from(config.mtu))?;
    // A wish: a user namespace may not. Then 500 packets wait.
    let _ = device::set_queue(&control, name, config.queue);
    device::bring_up(&control, name)?;
    for (address, prefix) in &config.kernel {
        interface::assign(&control, name, *address, *prefix)?;
    }
    for address in &config.engine {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        interface::route(&control, name, *address, bits)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
