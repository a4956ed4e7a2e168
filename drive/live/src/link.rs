//! The stack's side of a device: converts the engine's segments to packets, and back.
//!
//! If the device has segmentation offload, a super-segment is one packet, and no checksum is
//! computed. Otherwise super-segments are segmented here, with a checksum per piece, and several
//! pieces are sent in a batch.
//!
//! Cost of a packet beyond the device's: no copy. A payload is sent from the application's memory,
//! and received into memory that the receive buffer shares ([`gigatcp_wire::Slabs`]). Successive single
//! packets are joined ([`crate::join`]).

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use bytes::{Bytes, BytesMut};
use gigatcp_linux::virtio::{ChecksumState, Segmentation, VirtioHeader};
use gigatcp_wire::{
    ChecksumFill, Endpoints, Flags, IpHeader, Octets, Segment, Slabs, encode_headers,
};

use crate::arrival::{self, Arrival, ParsedSegment, Read, Refusal};
use crate::device::{
    Device, DeviceCounters, Interface, MAX_BATCH, MAX_PARTS, Offloads, Packet, Sent,
};
use crate::error::DeviceGone;
use crate::join::Joined;

/// Offset of the checksum in a TCP header.
const CHECKSUM_OFFSET: u16 = 16;

/// Bytes of a slab.
pub const SLAB: usize = 512 * 1024;
/// Payloads shorter than this are copied. That costs about 100 ns for a packet whose system call
/// costs 1000.
pub const MIN_SHARED: usize = 4096;
/// Maximum length of a packet, with the header before it.
const MAX_LEN: usize = 65_600;

/// Maximum slabs kept for reuse.
const SLABS_KEPT: usize = 8;

/// A device and the conversion between it and the engine.
pub struct Link {
    device: Box<dyn Device>,
    interface: Interface,
    slabs: Slabs,
    /// Packet read ahead that did not join those before it. Its bytes are in the slab.
    ahead: Option<Result<Read, Refusal>>,
    /// Headers of the packets being written.
    headers: Vec<u8>,
    /// Pieces being written, and the end of each one's headers in `headers`.
    pieces: Vec<(Segment<Octets>, usize)>,
    /// Results of sending `pieces`, or the single packet.
    sent: Vec<Sent>,
    counters: DeviceCounters,
}

impl Link {
    pub fn new(device: Box<dyn Device>) -> Self {
        Self {
            interface: device.interface(),
            device,
            slabs: Slabs::new(SLAB, SLABS_KEPT, MIN_SHARED),
            ahead: None,
            headers: Vec::with_capacity(128),
            pieces: Vec::new(),
            sent: Vec::with_capacity(MAX_BATCH),
            counters: DeviceCounters::default(),
        }
    }

    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Descriptor to wait for.
    pub fn readiness(&self) -> BorrowedFd<'_> {
        self.device.readiness()
    }

    /// Number of packets for the engine read so far.
    pub fn reads(&self) -> u64 {
        self.counters.reads
    }

    pub fn counters(&self) -> DeviceCounters {
        let mut counters = DeviceCounters {
            slabs: self.slabs.allocated() as u64,
            ..self.counters
        };
        self.device.count(&mut counters);
        counters
    }

    /// Next packet for the engine, if one waits. Other packets are counted and dropped.
    ///
    /// # Errors
    /// The error of a device that is gone.
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
                Some(Err(Refusal::Malformed)) => self.counters.malformed += 1,
            }
        }
    }

    /// Reads the next packet, if one waits. It is appended to the `held` bytes kept of earlier
    /// packets, while there is room.
    fn read_behind(&mut self, held: usize) -> io::Result<Option<Result<Read, Refusal>>> {
        let room = if held == 0 {
            self.slabs.room(MAX_LEN)
        } else {
            let room = self.slabs.last();
            room.truncate(held);
            if room.capacity() - held < MAX_LEN {
                return Ok(None);
            }
            room
        };
        let received = match self.device.receive(room) {
            Ok(None) => return Ok(None),
            Ok(Some(received)) => received,
            Err(error) => return Err(self.gone(error)),
        };
        self.counters.reads += 1;
        let appended = self.slabs.last().get(held..).unwrap_or_default();
        Ok(Some(arrival::read(&received, appended)))
    }

    /// Joins the segment `found` with those waiting behind it ([`crate::join`]).
    fn join(&mut self, found: ParsedSegment) -> Arrival {
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
        gather(self.slabs.last(), found.payload, 0);
        while joined.may_grow() {
            let held = joined.len;
            match self.read_behind(held) {
                Ok(Some(Ok(Read::Segment(next)))) if joined.try_grow(&next) => {
                    let payload = held + next.payload.start..held + next.payload.end;
                    gather(self.slabs.last(), payload, held);
                }
                Ok(Some(other)) => {
                    self.ahead = Some(other);
                    break;
                }
                // An error recurs after the segment has been returned.
                Ok(None) | Err(_) => break,
            }
        }
        let front = self.slabs.last().split_to(joined.len);
        let payload = if joined.len < MIN_SHARED {
            Bytes::copy_from_slice(&front)
        } else {
            front.freeze()
        };
        Arrival::Segment {
            endpoints: joined.endpoints,
            segment: Segment {
                payload: payload.into(),
                ..joined.segment
            },
        }
    }

    /// Sends a segment between `endpoints`, in pieces if the device does not segment. What the
    /// device has no room for is appended to `left`, in order. What the kernel rejects is lost, as
    /// on any wire, and counted.
    ///
    /// # Errors
    /// The device is gone.
    pub fn write(
        &mut self,
        endpoints: Endpoints,
        mut segment: Segment<Octets>,
        left: &mut VecDeque<(Endpoints, Segment<Octets>)>,
    ) -> io::Result<()> {
        let goes_whole = self.interface.offloads.segmentation && !is_cut_here(&segment);
        let mut pieces = if goes_whole {
            1
        } else {
            segment.wire_segments()
        };
        let before = left.len();
        while pieces > 1 && left.len() == before {
            let count = pieces.min(MAX_BATCH);
            let rest = self.write_pieces(endpoints, segment, count, left)?;
            let Some(rest) = rest else { return Ok(()) };
            segment = rest;
            pieces -= count;
        }
        if left.len() > before || !self.write_packet(endpoints, &segment)? {
            left.push_back((endpoints, segment));
        }
        Ok(())
    }

    /// Sends a packet; returns whether the device had room for it.
    fn write_packet(
        &mut self,
        endpoints: Endpoints,
        segment: &Segment<Octets>,
    ) -> io::Result<bool> {
        self.headers.clear();
        if !self.put_headers(endpoints, segment) {
            return Ok(true);
        }
        self.sent.clear();
        let packet = Packet::new(&self.headers, &segment.payload);
        let done = self.device.send(&[packet], &mut self.sent);
        done.map_err(|error| self.gone(error))?;
        let sent = self.sent.first().copied().unwrap_or(Sent::Full);
        self.counters.on_sent(sent);
        Ok(sent != Sent::Full)
    }

    /// Splits `count` pieces off the front of `segment` and sends them in a batch.
    ///
    /// Returns the rest, if any.
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
            let Some(mut piece) = piece else { continue };
            if piece.payload.pieces().nth(MAX_PARTS - 1).is_some() {
                piece.payload = piece.payload.into_bytes().into();
            }
            if self.put_headers(endpoints, &piece) {
                self.pieces.push((piece, self.headers.len()));
            }
        }
        self.send_pieces()?;
        if self.sent.len() == self.pieces.len() && self.sent.iter().all(|s| *s == Sent::Taken) {
            self.counters.writes += self.sent.len() as u64;
            self.pieces.clear();
            return Ok(rest);
        }
        let all_sent = self
            .sent
            .iter()
            .copied()
            .chain(std::iter::repeat(Sent::Full));
        for ((piece, _), sent) in self.pieces.drain(..).zip(all_sent) {
            self.counters.on_sent(sent);
            if sent == Sent::Full {
                left.push_back((endpoints, piece));
            }
        }
        Ok(rest)
    }

    fn send_pieces(&mut self) -> io::Result<()> {
        let mut packets = [Packet::EMPTY; MAX_BATCH];
        let mut start = 0;
        for (packet, (piece, end)) in packets.iter_mut().zip(&self.pieces) {
            *packet = Packet::new(&self.headers[start..*end], &piece.payload);
            start = *end;
        }
        self.sent.clear();
        let packets = &packets[..self.pieces.len()];
        let done = self.device.send(packets, &mut self.sent);
        done.map_err(|error| self.gone(error))
    }

    /// Appends the headers of `segment`; returns whether they could be encoded.
    fn put_headers(&mut self, endpoints: Endpoints, segment: &Segment<Octets>) -> bool {
        let header = self.header_for(&endpoints, segment);
        let fill = match header.checksum {
            ChecksumState::Partial { .. } => ChecksumFill::PseudoHeader,
            _ => ChecksumFill::Whole,
        };
        let before = self.headers.len();
        self.headers.extend_from_slice(&header.encode());
        let mut ip = IpHeader::new(endpoints);
        ip.ttl = self.interface.ttl;
        let start = self.headers.len();
        let len = endpoints.header_len() + segment.header_len();
        self.headers.resize(start + len, 0);
        let is_put = encode_headers(&ip, segment, fill, &mut self.headers[start..]).is_ok();
        if !is_put {
            // Larger than IP's length field: the engine's own limit forbids it, so it is the
            // engine's fault and not a reason to stop.
            debug_assert!(false, "a segment that no packet holds");
            self.headers.truncate(before);
            self.counters.refused += 1;
        }
        is_put
    }

    /// Error that the device is gone.
    #[cold]
    fn gone(&self, cause: io::Error) -> io::Error {
        let gone = DeviceGone {
            name: self.interface.name.clone(),
            cause: cause.into(),
        };
        io::Error::new(io::ErrorKind::NotConnected, gone)
    }

    /// Header in front of the packet of `segment`.
    fn header_for(&self, endpoints: &Endpoints, segment: &Segment<Octets>) -> VirtioHeader {
        let Offloads {
            checksum,
            segmentation,
        } = self.interface.offloads;
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

/// Moves the bytes of `range` to `at`, which precedes them, and drops what is behind.
fn gather(packet: &mut BytesMut, range: Range<usize>, at: usize) {
    let end = at + range.len();
    packet.copy_within(range, at);
    packet.truncate(end);
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Link");
        debug
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}

impl DeviceCounters {
    fn on_sent(&mut self, sent: Sent) {
        match sent {
            Sent::Taken => self.writes += 1,
            Sent::Refused => self.refused += 1,
            Sent::Full => {}
        }
    }
}

/// Whether a segment must be segmented in software. Segmentation offload would copy the urgent
/// pointer to all pieces, although it is relative to each piece's sequence number. It would also
/// set CWR in the first piece only, although with AccECN AE, CWR and ECE are a counter in each
/// piece (RFC 9768 section 3.3.4).
fn is_cut_here(segment: &Segment<Octets>) -> bool {
    segment.flags.contains(Flags::URG) || (segment.ace && segment.flags.contains(Flags::CWR))
}

#[cfg(test)]
mod tests;
