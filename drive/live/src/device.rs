//! A stack's network device: packets in, packets out, and a descriptor to wait for.
//!
//! | device | what |
//! |---|---|
//! | [`Wire::open_tun`] | a TUN device: this machine's kernel on the other side |
//! | [`Wire::pair`] | two ends in one process, without privileges |
//! | [`Wire::over`] | any descriptor that passes packets as a TUN device does |
//! | [`PacketSocket`] | addresses of a stack on an Ethernet interface (`AF_PACKET`) |
//! | your own | four functions of [`Device`] |
//!
//! A device carries IP packets. It may leave work to the stack, or do work of the stack, according
//! to [`Offloads`]: super-segments of up to 64 KiB and incomplete checksums. The [`VirtioHeader`]
//! of each packet says which of it applies. By default none does.

mod ethernet;
mod filter;
mod neighbors;
mod tun;
mod wire;

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use bytes::{BufMut, BytesMut};
use gigatcp_linux::virtio::{HEADER_LEN, VirtioHeader};
use gigatcp_wire::{Octets, Payload};

pub use ethernet::{PacketSocket, PacketSocketConfig};
pub use gigatcp_linux::device::Offloads;
pub use tun::TunConfig;
pub use wire::Wire;

/// Maximum packets of one call of [`Device::send`].
pub const MAX_BATCH: usize = gigatcp_linux::batch::MAX_PACKETS;

/// Maximum parts of a packet in a batch, its headers included. A single packet may have more.
pub(crate) const MAX_PARTS: usize = 3;

/// A network device for [`Stack::start`](crate::Stack::start).
///
/// A custom device, here with two queues and a descriptor that is readable while one has packets:
///
/// ```
/// use std::io;
/// use std::os::fd::{AsFd, BorrowedFd};
/// use std::sync::Arc;
/// use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
///
/// use gigatcp_live::bytes::BytesMut;
/// use gigatcp_live::{Device, EventFd, Interface, Options, Packet, Received, Sent, Stack};
///
/// struct Channel {
///     interface: Interface,
///     out: (SyncSender<Vec<u8>>, Arc<EventFd>),
///     arrived: (Receiver<Vec<u8>>, Arc<EventFd>),
/// }
///
/// impl Device for Channel {
///     fn interface(&self) -> Interface {
///         self.interface.clone()
///     }
///
///     fn readiness(&self) -> BorrowedFd<'_> {
///         self.arrived.1.as_fd()
///     }
///
///     fn receive(&mut self, into: &mut BytesMut) -> io::Result<Option<Received>> {
///         // Cleared before the look: a packet that arrives after it sets it again.
///         self.arrived.1.clear();
///         Ok(self.arrived.0.try_recv().ok().map(|packet| {
///             into.extend_from_slice(&packet);
///             Received::default()
///         }))
///     }
///
///     fn send(&mut self, packets: &[Packet<'_>], sent: &mut Vec<Sent>) -> io::Result<()> {
///         for packet in packets {
///             // A queue that is full drops, as those of networks do.
///             sent.push(match self.out.0.try_send(packet.to_vec()) {
///                 Ok(()) => Sent::Taken,
///                 Err(_) => Sent::Refused,
///             });
///         }
///         self.out.1.wake();
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let queue = || -> io::Result<_> {
///     let (put, take) = sync_channel(1_000);
///     let ready = Arc::new(EventFd::new()?);
///     Ok(((put, Arc::clone(&ready)), (take, ready)))
/// };
/// let (to_server, at_server) = queue()?;
/// let (to_client, at_client) = queue()?;
/// let client = Stack::start(Channel {
///     interface: Interface::new(["10.0.0.1".parse()?]),
///     out: to_server,
///     arrived: at_client,
/// })?;
/// let server = Stack::start(Channel {
///     interface: Interface::new(["10.0.0.2".parse()?]),
///     out: to_client,
///     arrived: at_server,
/// })?;
/// let listener = server.listen("10.0.0.2:80", &Options::default())?;
/// let stream = client.connect("10.0.0.2:80", &Options::default())?;
/// let (accepted, from) = listener.accept()?;
/// assert_eq!(from, stream.local_addr()?);
/// # Ok(())
/// # }
/// ```
pub trait Device: Send {
    /// Addresses, MTU and offloads. It is called once.
    fn interface(&self) -> Interface;

    /// Descriptor that the stack waits for: readable while [`Device::receive`] has a packet.
    ///
    /// The stack also waits until it is writable after [`Sent::Full`]. A device without a
    /// descriptor uses an [`EventFd`](crate::EventFd), which is always writable: it must drop
    /// packets that exceed its queue limit ([`Sent::Refused`]).
    fn readiness(&self) -> BorrowedFd<'_>;

    /// Appends the next packet to `into`, without blocking; `None` if no packet waits.
    ///
    /// There is room for 65,600 bytes. The present contents of `into` stay.
    ///
    /// # Errors
    /// The device is gone: the stack ends.
    fn receive(&mut self, into: &mut BytesMut) -> io::Result<Option<Received>>;

    /// Sends up to [`MAX_BATCH`] packets in order, without blocking.
    ///
    /// The result of each is appended to `sent`. Packets without an entry are offered again.
    ///
    /// # Errors
    /// The device is gone: the stack ends.
    fn send(&mut self, packets: &[Packet<'_>], sent: &mut Vec<Sent>) -> io::Result<()>;

    /// Adds the device's own counts to the stack's counters; by default nothing.
    fn count(&self, counters: &mut DeviceCounters) {
        let _ = counters;
    }
}

/// Metadata of a received packet; the default: a packet without offloads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Received {
    /// Work left to the stack.
    pub offload: VirtioHeader,
    /// Bytes appended in front of the IP packet, such as the link's header.
    pub skip: usize,
}

/// Result of sending a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The device has accepted it.
    Taken,
    /// The device is full; the packet is offered again when [`Device::readiness`] is writable.
    Full,
    /// The packet is lost.
    Refused,
}

/// A stack's addresses, and the limits of its packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name of the device, for errors.
    pub name: String,
    /// Addresses of the stack.
    pub addresses: Vec<IpAddr>,
    /// MTU in bytes, on a wire.
    pub mtu: u16,
    /// Work that the device does for the stack.
    pub offloads: Offloads,
    /// Time to live of every packet (RFC 9293 MUST-49); hop limit in IPv6.
    pub ttl: u8,
}

impl Interface {
    /// An MTU of 1500, no offloads, a TTL of 64.
    pub fn new(addresses: impl Into<Vec<IpAddr>>) -> Self {
        Self {
            name: "giga0".into(),
            addresses: addresses.into(),
            mtu: 1500,
            offloads: Offloads::NONE,
            ttl: 64,
        }
    }
}

/// A packet to be sent, in separate parts.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The encoded [`VirtioHeader`], then the headers of IP and TCP.
    headers: &'a [u8],
    payload: &'a Octets,
}

static NO_PAYLOAD: Octets = Octets::new();

impl<'a> Packet<'a> {
    /// Placeholder in a list that is overwritten.
    pub(crate) const EMPTY: Self = Self {
        headers: &[0; HEADER_LEN],
        payload: &NO_PAYLOAD,
    };

    pub(crate) const fn new(headers: &'a [u8], payload: &'a Octets) -> Self {
        Self { headers, payload }
    }

    /// Work left to the device; none without [`Offloads`].
    pub fn offload(&self) -> VirtioHeader {
        let header = self.headers.first_chunk();
        header.map_or_else(VirtioHeader::default, |header| {
            // The stack encoded it.
            VirtioHeader::decode(header).unwrap_or_default()
        })
    }

    /// Parts of the IP packet: its headers, then its payload.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let headers = &self.headers[HEADER_LEN..];
        std::iter::once(headers).chain(self.payload.pieces())
    }

    /// Parts with an encoded [`VirtioHeader`] in front of the first.
    pub fn parts_behind_virtio(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        std::iter::once(self.headers).chain(self.payload.pieces())
    }

    /// Bytes of the IP packet.
    #[allow(clippy::len_without_is_empty, reason = "no packet is empty")]
    pub fn len(&self) -> usize {
        self.headers.len() - HEADER_LEN + self.payload.len()
    }

    /// Copies the IP packet.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(self.len());
        self.parts().for_each(|part| octets.put_slice(part));
        octets
    }
}

/// Packets of a device, by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct DeviceCounters {
    /// Packets read; a super-segment is one.
    pub reads: u64,
    /// Packets written; a super-segment is one.
    pub writes: u64,
    /// Packets read that were neither TCP nor ICMP errors about it.
    pub foreign: u64,
    /// Packets read with a wrong checksum, length or option.
    pub malformed: u64,
    /// Packets rejected by the device; for the engine they are lost.
    pub refused: u64,
    /// Slabs of half a megabyte allocated for packets read.
    pub slabs: u64,
    /// Packets written in batches ([`gigatcp_linux::batch`]).
    pub batched: u64,
    /// Why packets cannot be batched, where segmentation is in software and that would be faster.
    pub one_by_one: Option<io::ErrorKind>,
}
