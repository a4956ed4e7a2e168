//! Changes of a capture that should not matter: the primary cause must stay.
//!
//! A capture is read into packets, changed, and written as pcap. After a change the primary cause
//! must be the same; if the change removes evidence, "unsure" is equally correct.

use gigatcp_capture::CaptureReader;
use gigatcp_wire::link::LinkType;

/// Change that should not matter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// Sets PSH on every segment with data.
    SetPush,
    /// Clears PSH on all segments.
    ClearPush,
    /// Removes the timestamps option from all packets.
    RemoveTimestamps,
    /// Truncates packets to this many bytes.
    Snap(usize),
    /// Merges up to four adjacent segments at most 60 us apart, as receive offload does.
    Merge,
    /// Splits super-segments into wire segments, as a tap sees them.
    Split,
    /// Delays all times by this many seconds.
    Offset(u64),
    /// Clock that is fast by 50 ppm.
    Drift,
    /// Changes the TTL.
    TimeToLive,
    /// Changes the ports.
    Ports,
    /// Duplicates every packet, as two span ports do.
    Duplicate,
    /// Removes the first second.
    NoFirstSecond,
    /// Removes the last second.
    NoLastSecond,
    /// Exchanges addresses and ports of both hosts.
    Exchanged,
}

impl Change {
    /// All changes.
    pub const ALL: [Self; 15] = [
        Self::SetPush,
        Self::ClearPush,
        Self::RemoveTimestamps,
        Self::Snap(68),
        Self::Snap(54),
        Self::Merge,
        Self::Split,
        Self::Offset(86_400),
        Self::Drift,
        Self::TimeToLive,
        Self::Ports,
        Self::Duplicate,
        Self::NoFirstSecond,
        Self::NoLastSecond,
        Self::Exchanged,
    ];

    /// Whether it removes evidence, so that "unsure" is correct too.
    pub const fn removes_evidence(self) -> bool {
        matches!(
            self,
            Self::RemoveTimestamps
                | Self::Snap(_)
                | Self::Merge
                | Self::Duplicate
                | Self::NoFirstSecond
                | Self::NoLastSecond
        )
    }
}

/// A packet of a capture.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Time in nanoseconds.
    at: u64,
    bytes: Vec<u8>,
    wire_len: usize,
    /// Offset of its IPv4 header.
    ip: usize,
}

/// IPv4 TCP packets of a capture; others are omitted.
///
/// # Errors
/// If the capture cannot be read.
pub fn packets(mut reader: CaptureReader) -> Result<(u32, Vec<Packet>), String> {
    let mut packets = Vec::new();
    let mut link = 101;
    while let Some(record) = reader.next_record().map_err(|error| error.to_string())? {
        let ip = match record.link {
            LinkType::ETHERNET => 14,
            _ => 0,
        };
        link = if ip == 14 { 1 } else { 101 };
        let packet = Packet {
            at: record.time.map_or(0, |time| time.as_nanos()),
            bytes: record.octets.to_vec(),
            wire_len: record.wire_len as usize,
            ip,
        };
        if packet.is_tcp() {
            packets.push(packet);
        }
    }
    Ok((link, packets))
}

impl Packet {
    fn is_tcp(&self) -> bool {
        let enough = self.bytes.len() >= self.ip + 40;
        enough && self.bytes[self.ip] >> 4 == 4 && self.bytes[self.ip + 9] == 6
    }

    fn tcp(&self) -> usize {
        self.ip + usize::from(self.bytes[self.ip] & 15) * 4
    }

    fn header_len(&self) -> usize {
        usize::from(self.bytes[self.tcp() + 12] >> 4) * 4
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_be_bytes([0, 1, 2, 3].map(|index| self.bytes[at + index]))
    }

    /// Payload bytes on the wire. A total length of 0 is that of a super-segment.
    fn payload(&self) -> usize {
        let headers = self.tcp() - self.ip + self.header_len();
        let total = match self.u16_at(self.ip + 2) {
            0 => self.wire_len - self.ip,
            total => usize::from(total),
        };
        total.saturating_sub(headers)
    }

    fn set_payload(&mut self, payload: usize) {
        let headers = self.tcp() - self.ip + self.header_len();
        let total = u16::try_from(headers + payload).unwrap_or(0);
        let at = self.ip + 2;
        self.bytes[at..at + 2].copy_from_slice(&total.to_be_bytes());
        self.wire_len = self.ip + headers + payload;
        let kept = self.bytes.len().min(self.wire_len);
        self.bytes.truncate(kept);
    }

    fn seq(&self) -> u32 {
        self.u32_at(self.tcp() + 4)
    }

    fn set_seq(&mut self, seq: u32) {
        let at = self.tcp() + 4;
        self.bytes[at..at + 4].copy_from_slice(&seq.to_be_bytes());
    }

    fn flags(&mut self) -> &mut u8 {
        let at = self.tcp() + 13;
        &mut self.bytes[at]
    }

    /// Offset of the first option of this kind.
    fn option(&self, kind: u8) -> Option<usize> {
        let (mut at, end) = (self.tcp() + 20, self.tcp() + self.header_len());
        while at + 1 < end.min(self.bytes.len()) {
            match self.bytes[at] {
                0 => return None,
                1 => at += 1,
                found if found == kind => return Some(at),
                _ => at += usize::from(self.bytes[at + 1]).max(2),
            }
        }
        None
    }

    fn remove_timestamps(&mut self) {
        let Some(at) = self.option(8) else { return };
        let end = (at + 10).min(self.bytes.len());
        self.bytes[at..end].fill(1);
    }

    fn flow(&self) -> [u8; 12] {
        let mut flow = [0; 12];
        flow[..8].copy_from_slice(&self.bytes[self.ip + 12..self.ip + 20]);
        let tcp = self.tcp();
        flow[8..].copy_from_slice(&self.bytes[tcp..tcp + 4]);
        flow
    }
}

/// Packets with a change applied.
pub fn changed(change: Change, packets: &[Packet]) -> Vec<Packet> {
    let mut all = packets.to_vec();
    let first = packets.first().map_or(0, |packet| packet.at);
    let last = packets.last().map_or(0, |packet| packet.at);
    const SECOND: u64 = 1_000_000_000;
    match change {
        Change::SetPush => each(&mut all, |packet| {
            if packet.payload() > 0 {
                *packet.flags() |= 8;
            }
        }),
        Change::ClearPush => each(&mut all, |packet| *packet.flags() &= !8),
        Change::RemoveTimestamps => each(&mut all, Packet::remove_timestamps),
        Change::Snap(len) => each(&mut all, |packet| packet.bytes.truncate(len)),
        Change::Merge => return merged(&all),
        Change::Split => return all.iter().flat_map(split(&all)).collect(),
        Change::Offset(seconds) => each(&mut all, |packet| packet.at += seconds * SECOND),
        Change::Drift => each(&mut all, |packet| packet.at += (packet.at - first) / 20_000),
        Change::TimeToLive => each(&mut all, |packet| {
            let at = packet.ip + 8;
            packet.bytes[at] = packet.bytes[at].wrapping_sub(7);
        }),
        Change::Ports => each(&mut all, |packet| {
            let tcp = packet.tcp();
            for at in [tcp, tcp + 2] {
                let port = packet.u16_at(at) ^ 0x0401;
                packet.bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
            }
        }),
        Change::Duplicate => {
            return all
                .iter()
                .flat_map(|packet| {
                    let mut again = packet.clone();
                    again.at += 700;
                    [packet.clone(), again]
                })
                .collect();
        }
        Change::NoFirstSecond => all.retain(|packet| packet.at >= first + SECOND),
        Change::NoLastSecond => all.retain(|packet| packet.at + SECOND <= last),
        Change::Exchanged => each(&mut all, |packet| {
            let (ip, tcp) = (packet.ip, packet.tcp());
            // Both hosts get each other's address and port.
            for (at, len) in [(ip + 12, 4), (tcp, 2)] {
                let (low, high) = packet.bytes[at..at + 2 * len].split_at_mut(len);
                low.swap_with_slice(high);
            }
        }),
    }
    all
}

fn each(all: &mut [Packet], change: impl FnMut(&mut Packet)) {
    all.iter_mut().for_each(change);
}

/// Merges adjacent segments of a flow. They have the same ACK and no flags except ACK and PSH; the
/// time is that of the last one.
fn merged(all: &[Packet]) -> Vec<Packet> {
    const MAX_SEGMENTS: usize = 4;
    const MAX_WAIT: u64 = 60_000;
    let mut out: Vec<(Packet, usize)> = Vec::new();
    for one in all {
        let plain = one.bytes[one.tcp() + 13] & !8 == 16;
        let payload = one.payload();
        let joins = |(last, count): &(Packet, usize)| {
            plain
                && payload > 0
                && *count < MAX_SEGMENTS
                && last.flow() == one.flow()
                && last.bytes[last.tcp() + 13] == 16
                && last.payload() > 0
                && last.seq().wrapping_add(last.payload() as u32) == one.seq()
                && last.u32_at(last.tcp() + 8) == one.u32_at(one.tcp() + 8)
                && last.header_len() == one.header_len()
                && one.at - last.at <= MAX_WAIT
                && last.payload() + payload < 60_000
        };
        match out.last_mut() {
            Some(last) if joins(last) => {
                let total = last.0.payload() + payload;
                last.0.set_payload(total);
                last.0.at = one.at;
                last.1 += 1;
                *last.0.flags() |= one.bytes[one.tcp() + 13];
            }
            _ => out.push((one.clone(), 1)),
        }
    }
    out.into_iter().map(|(packet, _)| packet).collect()
}

/// Splitter of packets into segments of the MSS of both SYNs.
fn split(all: &[Packet]) -> impl Fn(&Packet) -> Vec<Packet> {
    let syns = all
        .iter()
        .filter(|packet| packet.bytes[packet.tcp() + 13] & 2 != 0);
    let mss = syns
        .filter_map(|packet| {
            packet
                .option(2)
                .map(|at| usize::from(packet.u16_at(at + 2)))
        })
        .min()
        .unwrap_or(1460);
    move |packet| {
        let stamps = if packet.option(8).is_some() { 12 } else { 0 };
        let size = mss - stamps;
        let payload = packet.payload();
        if payload <= size {
            return vec![packet.clone()];
        }
        let count = payload.div_ceil(size);
        (0..count)
            .map(|index| {
                let mut piece = packet.clone();
                piece.set_payload(size.min(payload - index * size));
                piece.set_seq(packet.seq().wrapping_add((index * size) as u32));
                // Only the last one has PSH and FIN.
                if index + 1 < count {
                    *piece.flags() &= !9;
                }
                piece
            })
            .collect()
    }
}

/// A capture of these packets, as pcap with nanoseconds.
pub fn pcap(link: u32, packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, link] {
        file.extend(u32::to_le_bytes(word));
    }
    for one in packets {
        let at = (one.at / 1_000_000_000, one.at % 1_000_000_000);
        let sizes = (
            one.bytes.len() as u32,
            one.wire_len.max(one.bytes.len()) as u32,
        );
        for word in [at.0 as u32, at.1 as u32, sizes.0, sizes.1] {
            file.extend(word.to_le_bytes());
        }
        file.extend_from_slice(&one.bytes);
    }
    file
}
