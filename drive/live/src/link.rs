//! The stack's side of a device: segments of the engine as packets, and back.
//!
//! Where the device has segmentation offload a super-segment is one packet, and no checksum is
//! computed. Without, super-segments are cut here, each piece summed, and several pieces are
//! handed over together.
//!
//! What one packet costs beyond the device's own work: no copy. A payload is sent from where
//! the application's octets lie, and received into memory that the receive buffer shares
//! ([`crate::slabs`]). Single packets that follow each other are joined ([`crate::join`]).

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use gigatcp_linux::virtio::{ChecksumState, Segmentation, VirtioHeader};
use gigatcp_wire::{ChecksumFill, Endpoints, Flags, IpHeader, Octets, Segment, encode_headers};

use crate::arrival::{self, Arrival, ParsedSegment, Read, Refusal};
use crate::device::{
    Device, DeviceCounters, Interface, MAX_BATCH, MAX_PARTS, Offloads, Packet, Sent,
};
use crate::join::Joined;
use crate::slabs::Slabs;
use crate::trouble::DeviceGone;

/// Where the checksum stands in a TCP header.
const CHECKSUM_OFFSET: u16 = 16;

/// Slabs that wait to be used again.
const SLABS_KEPT: usize = 8;

/// A device, and what is between it and the engine.
pub struct Link {
    device: Box<dyn Device>,
    interface: Interface,
    slabs: Slabs,
    /// The packet that was read last, where it did not join those before it. Its
    /// octets are in the slab.
    ahead: Option<Result<Read, Refusal>>,
    /// The headers of the packets being written.
    headers: Vec<u8>,
    /// Pieces being written, and where in `headers` those of each end.
    pieces: Vec<(Segment<Octets>, usize)>,
    /// Results of sending `pieces`, or the one packet.
    sent: Vec<Sent>,
    counters: DeviceCounters,
}

impl Link {
    pub fn new(device: Box<dyn Device>) -> Self {
        Self {
            interface: device.interface(),
            device,
            slabs: Slabs::new(SLABS_KEPT),
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

    /// The descriptor to wait for.
    pub fn readiness(&self) -> BorrowedFd<'_> {
        self.device.readiness()
    }

    /// Packets read so far, as far as they are for the engine.
    pub fn reads(&self) -> u64 {
        self.counters.reads
    }

    pub fn counters(&self) -> DeviceCounters {
        let mut counters = DeviceCounters {
            slabs: self.slabs.allocated(),
            ..self.counters
        };
        self.device.count(&mut counters);
        counters
    }

    /// The next packet for the engine, if one waits. What is none is counted
    /// and left out.
    ///
    /// # Errors
    /// The device's error, for instance that it is gone.
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

    /// Reads the next packet, if one waits. It is put behind the `held` octets
    /// that are kept of what was read before, as long as there is room.
    fn read_behind(&mut self, held: usize) -> io::Result<Option<Result<Read, Refusal>>> {
        let room = match held {
            0 => self.slabs.room(),
            _ => match self.slabs.room_behind(held) {
                Some(room) => room,
                None => return Ok(None),
            },
        };
        let received = match self.device.receive(room) {
            Ok(None) => return Ok(None),
            Ok(Some(received)) => received,
            Err(error) => return Err(self.gone(error)),
        };
        self.counters.reads += 1;
        let appended = self.slabs.packet().get(held..).unwrap_or_default();
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

    /// Sends a packet; says whether the device had room for it.
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

    /// Cuts `count` pieces off the front of `segment` and sends them together.
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
        ip.ttl = self.interface.ttl;
        let start = self.headers.len();
        let len = endpoints.header_len() + segment.header_len();
        self.headers.resize(start + len, 0);
        let is_put = encode_headers(&ip, segment, fill, &mut self.headers[start..]).is_ok();
        if !is_put {
            // Larger than IP counts: the engine's own limit forbids it, so it
            // is its fault and not a reason to stop.
            debug_assert!(false, "a segment that no packet holds");
            self.headers.truncate(before);
            self.counters.refused += 1;
        }
        is_put
    }

    /// That the device is no more, in words.
    #[cold]
    fn gone(&self, cause: io::Error) -> io::Error {
        let gone = DeviceGone {
            name: self.interface.name.clone(),
            cause: cause.into(),
        };
        io::Error::new(io::ErrorKind::NotConnected, gone)
    }

    /// The header in front of the packet of `segment`.
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

/// Segmentation offload would copy what belongs to one piece to all: the urgent
/// pointer, which counts from each piece's own number. And it gives CWR to the
/// first alone, where AE, CWR and ECE are a counter that each piece carries
/// (RFC 9768 section 3.3.4).
fn is_cut_here(segment: &Segment<Octets>) -> bool {
    segment.flags.contains(Flags::URG) || (segment.ace && segment.flags.contains(Flags::CWR))
}

#[cfg(test)]
mod tests;
