//! Addresses of a stack on an Ethernet interface of this machine (`packet(7)`).
//!
//! The stack is an additional host of that network: its addresses are not the kernel's, and the
//! kernel only passes frames. [`super::neighbors`] answers requests for them and resolves
//! neighbors. Segmentation and checksums are left to the interface, or to the kernel in front of it
//! (`PACKET_VNET_HDR`).
//!
//! Requires `CAP_NET_RAW`. A socket filter ([`super::filter`]) prevents copies of frames for other
//! hosts and for the kernel's connections. Frames for the stack also reach the kernel, which
//! ignores them unless it forwards (`net.ipv4.ip_forward`). Interfaces of wireless stations and
//! cloud networks usually pass only their own address.
//!
//! Out of scope: VLAN tags, several queues, a ring shared with the kernel (`PACKET_RX_RING`).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use bytes::BytesMut;
use gigatcp_linux::device::{self, Offloads};
use gigatcp_linux::virtio::{self, ChecksumState, VirtioHeader};
use gigatcp_linux::{packets, write_outcomes};
use gigatcp_wire::Octets;

use super::filter;
use super::neighbors::{self, Frame, Neighbors};
use super::{Device, DeviceCounters, Interface, Packet, Received, Sent};

/// Bytes in front of an IP packet.
const PREFIX: usize = virtio::HEADER_LEN + neighbors::HEADER_LEN;

/// Maximum packets that wait for an unresolved neighbor.
const MAX_HELD: usize = 64;

/// Settings of a [`PacketSocket`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketSocketConfig {
    /// Name of the interface in the calling thread's namespace.
    pub interface: String,
    /// Addresses of the stack, none of them the kernel's, and their prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Routers for addresses outside these networks, one per family.
    pub gateways: Vec<IpAddr>,
    /// Time to live of every packet; hop limit in IPv6.
    pub ttl: u8,
}

impl PacketSocketConfig {
    /// Settings without a gateway and with a TTL of 64.
    pub fn new(interface: impl Into<String>, addresses: impl Into<Vec<(IpAddr, u8)>>) -> Self {
        Self {
            interface: interface.into(),
            addresses: addresses.into(),
            gateways: Vec::new(),
            ttl: 64,
        }
    }
}

/// A stack's addresses on an Ethernet interface.
///
/// ```no_run
/// use gigatcp_live::{PacketSocket, PacketSocketConfig, Stack};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = PacketSocketConfig::new("eth0", [("192.0.2.77".parse()?, 24)]);
/// config.gateways = vec!["192.0.2.1".parse()?];
/// let stack = Stack::start(PacketSocket::open(&config)?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PacketSocket {
    socket: File,
    interface: Interface,
    neighbors: Neighbors,
    /// Encoded packets with unresolved neighbors, the oldest first.
    held: VecDeque<(IpAddr, Vec<u8>)>,
    counters: DeviceCounters,
}

impl PacketSocket {
    /// Opens the interface in the calling thread's namespace. Its MTU becomes the stack's.
    ///
    /// # Errors
    /// The kernel's error: no such interface, one without Ethernet frames, no privilege.
    pub fn open(config: &PacketSocketConfig) -> io::Result<Self> {
        let control = device::control_socket(libc::AF_INET)?;
        let mac = device::ethernet_address(&control, &config.interface)?;
        let mtu = device::mtu(&control, &config.interface)?;
        let addresses = config.addresses.iter().map(|(address, _)| *address);
        let addresses: Vec<IpAddr> = addresses.collect();
        let filter = filter::program(&addresses);
        let interface = Interface {
            name: config.interface.clone(),
            addresses,
            mtu: u16::try_from(mtu).unwrap_or(u16::MAX),
            offloads: Offloads::ALL,
            ttl: config.ttl,
        };
        Ok(Self {
            socket: packets::open_ethernet(&config.interface, &filter)?.into(),
            interface,
            neighbors: Neighbors::new(mac, config.addresses.clone(), config.gateways.clone()),
            held: VecDeque::new(),
            counters: DeviceCounters::default(),
        })
    }

    /// Sends a request or an answer. A lost request is repeated.
    fn send_frame(&mut self, frame: &[u8]) {
        let header = VirtioHeader::default().encode();
        let parts = [IoSlice::new(&header), IoSlice::new(frame)];
        let _ = (&self.socket).write_vectored(&parts);
    }

    fn send_one(&mut self, packet: &Packet<'_>) -> io::Result<Sent> {
        let Some(hop) = destination(packet).and_then(|to| self.neighbors.next_hop(to)) else {
            return Ok(Sent::Refused);
        };
        if let Some(question) = self.neighbors.poll_question(Instant::now(), hop) {
            self.send_frame(&question);
        }
        let virtio = behind_ethernet(packet.offload()).encode();
        let Some(ethernet) = self.neighbors.header_for(hop) else {
            if self.held.len() == MAX_HELD {
                self.held.pop_front();
                self.counters.refused += 1;
            }
            let whole = [&virtio[..], &packet.to_vec()].concat();
            self.held.push_back((hop, whole));
            return Ok(Sent::Taken);
        };
        let mut parts = [IoSlice::new(&[]); 3 + Octets::MAX_PIECES];
        parts[0] = IoSlice::new(&virtio);
        parts[1] = IoSlice::new(&ethernet);
        let mut count = 2;
        for (part, piece) in parts[2..].iter_mut().zip(packet.parts()) {
            *part = IoSlice::new(piece);
            count += 1;
        }
        self.write(&parts[..count])
    }

    /// Sends packets that waited for this neighbor.
    fn release(&mut self, hop: IpAddr) -> io::Result<()> {
        let Some(ethernet) = self.neighbors.header_for(hop) else {
            return Ok(());
        };
        for (waits_for, packet) in std::mem::take(&mut self.held) {
            if waits_for != hop {
                self.held.push_back((waits_for, packet));
                continue;
            }
            let (virtio, packet) = packet.split_at(virtio::HEADER_LEN);
            let parts = [virtio, &ethernet, packet].map(IoSlice::new);
            if self.write(&parts)? != Sent::Taken {
                self.counters.refused += 1;
            }
        }
        Ok(())
    }

    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<Sent> {
        loop {
            return match (&self.socket).write_vectored(parts) {
                Ok(_) => Ok(Sent::Taken),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Sent::Full),
                Err(error) if write_outcomes::is_gone(&error) => Err(error),
                // The interface is down, or its queue is full.
                Err(_) => Ok(Sent::Refused),
            };
        }
    }
}

impl Device for PacketSocket {
    fn interface(&self) -> Interface {
        self.interface.clone()
    }

    fn readiness(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&mut self, into: &mut BytesMut) -> io::Result<Option<Received>> {
        let before = into.len();
        loop {
            match device::read_packet(&self.socket, into) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // The error is reported once; the interface may come back.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => continue,
                Err(error) => return Err(error),
            }
            let frame = into.get(before + virtio::HEADER_LEN..).unwrap_or_default();
            match self.neighbors.handle(frame) {
                Frame::Packet => {
                    let header = into[before..].first_chunk().map(VirtioHeader::decode);
                    if let Some(Ok(offload)) = header {
                        let skip = PREFIX;
                        return Ok(Some(Received { offload, skip }));
                    }
                    self.counters.foreign += 1;
                }
                Frame::Question(answer) => self.send_frame(&answer),
                Frame::Answer(hop) => self.release(hop)?,
                Frame::Other => self.counters.foreign += 1,
            }
            into.truncate(before);
        }
    }

    fn send(&mut self, packets: &[Packet<'_>], sent: &mut Vec<Sent>) -> io::Result<()> {
        for packet in packets {
            let one = self.send_one(packet)?;
            sent.push(one);
            if one == Sent::Full {
                break;
            }
        }
        Ok(())
    }

    fn count(&self, counters: &mut DeviceCounters) {
        counters.foreign += self.counters.foreign;
        counters.refused += self.counters.refused;
    }
}

fn destination(packet: &Packet<'_>) -> Option<IpAddr> {
    let headers = packet.parts().next()?;
    match headers.first()? >> 4 {
        4 => Some(IpAddr::from(
            <[u8; 4]>::try_from(headers.get(16..20)?).ok()?,
        )),
        _ => Some(IpAddr::from(
            <[u8; 16]>::try_from(headers.get(24..40)?).ok()?,
        )),
    }
}

/// Shifts offsets so that they count from the Ethernet header.
fn behind_ethernet(mut offload: VirtioHeader) -> VirtioHeader {
    const ETHERNET: u16 = neighbors::HEADER_LEN as u16;
    if let ChecksumState::Partial { start, .. } = &mut offload.checksum {
        *start += ETHERNET;
    }
    if let Some(cut) = &mut offload.segmentation {
        cut.header_len += ETHERNET;
    }
    offload
}
