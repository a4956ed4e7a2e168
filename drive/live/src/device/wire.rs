//! A descriptor that carries one packet per call, behind its [`VirtioHeader`]: a TUN device, or one
//! end of a pair of sockets.
//!
//! Cost of a packet: a system call in each direction (packets of a batch share one,
//! [`gigatcp_linux::batch`]), and one copy between kernel and user. A payload is written from the
//! application's memory, and read into memory that the receive buffer shares ([`gigatcp_wire::Slabs`]). A
//! system call reads one packet, since the driver returns no more.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::BytesMut;
use gigatcp_linux::batch::{self, BatchWriter};
use gigatcp_linux::virtio::{HEADER_LEN, VirtioHeader};
use gigatcp_linux::{device, packets, write_outcomes};
use gigatcp_wire::Octets;

use super::{Device, DeviceCounters, Interface, MAX_PARTS, Packet, Received, Sent};

/// Packets written one by one after the device was full. In a batch, packets behind one that fails
/// could succeed and overtake it. A single packet waits, and all behind it.
const CAREFUL: u32 = 10_000;

/// A device over a descriptor.
#[derive(Debug)]
pub struct Wire {
    descriptor: File,
    interface: Interface,
    writer: BatchWriter,
    /// Packets to be written before batches resume.
    one_by_one: u32,
    /// Packets that do not begin with an IP header.
    foreign: u64,
    malformed: u64,
}

impl Wire {
    /// Engine's end of `descriptor`. It must carry a packet with its [`VirtioHeader`] per call and
    /// be non-blocking. Examples are a TUN device made elsewhere, or one of
    /// [`gigatcp_linux::packets::pair`]. The other end is responsible for routes and the size of
    /// packets.
    pub fn over(descriptor: OwnedFd, interface: Interface) -> Self {
        Self {
            descriptor: descriptor.into(),
            interface,
            writer: BatchWriter::one_by_one(),
            one_by_one: 0,
            foreign: 0,
            malformed: 0,
        }
    }

    /// Creates two ends in memory: what one sends, the other receives, without delay or loss. It
    /// requires no privileges. Both ends should have the same offloads.
    ///
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// use gigatcp_live::{Interface, Options, Stack, Wire};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let [near, far] = Wire::pair(
    ///     Interface::new(["10.0.0.1".parse()?]),
    ///     Interface::new(["10.0.0.2".parse()?]),
    /// )?;
    /// let (client, server) = (Stack::start(near)?, Stack::start(far)?);
    ///
    /// let listener = server.listen("10.0.0.2:80", &Options::default())?;
    /// let mut stream = client.connect("10.0.0.2:80", &Options::default())?;
    /// let (mut accepted, _) = listener.accept()?;
    /// stream.write_all(b"hello")?;
    /// let mut buffer = [0; 5];
    /// accepted.read_exact(&mut buffer)?;
    /// assert_eq!(&buffer, b"hello");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn pair(near: Interface, far: Interface) -> io::Result<[Self; 2]> {
        let [one, other] = packets::pair()?;
        Ok([Self::over(one, near), Self::over(other, far)])
    }

    /// Replaces the writer.
    pub(crate) fn with_writer(mut self, writer: BatchWriter) -> Self {
        self.writer = writer;
        self
    }

    fn send_one(&mut self, packet: &Packet<'_>) -> io::Result<Sent> {
        let mut parts = [IoSlice::new(&[]); 1 + Octets::MAX_PIECES];
        let count = gather(packet, &mut parts);
        let written = loop {
            match (&self.descriptor).write_vectored(&parts[..count]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => break written,
            }
        };
        let sent = sent(written)?;
        self.one_by_one = match sent {
            Sent::Full => CAREFUL,
            _ => self.one_by_one.saturating_sub(1),
        };
        Ok(sent)
    }

    fn send_together(
        &mut self,
        packets: &[Packet<'_>],
        all_sent: &mut Vec<Sent>,
    ) -> io::Result<()> {
        let mut parts = [[IoSlice::new(&[]); MAX_PARTS]; batch::MAX_PACKETS];
        for (parts, packet) in parts.iter_mut().zip(packets) {
            debug_assert!(packet.parts().nth(MAX_PARTS).is_none());
            gather(packet, parts);
        }
        let mut gone = None;
        let descriptor = self.descriptor.as_fd();
        self.writer
            .write(descriptor, &parts[..packets.len()], |written| {
                match sent(written) {
                    Ok(sent) => all_sent.push(sent),
                    Err(error) => gone = Some(error),
                }
            });
        if all_sent.contains(&Sent::Full) {
            self.one_by_one = CAREFUL;
        }
        gone.map_or(Ok(()), Err)
    }

    /// Whether packets are written in batches.
    #[cfg(test)]
    pub(crate) const fn is_batching(&self) -> bool {
        self.writer.is_batching()
    }
}

impl Device for Wire {
    fn interface(&self) -> Interface {
        self.interface.clone()
    }

    fn readiness(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn receive(&mut self, into: &mut BytesMut) -> io::Result<Option<Received>> {
        let before = into.len();
        loop {
            match device::read_packet(&self.descriptor, into) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => match into[before..].first_chunk().map(VirtioHeader::decode) {
                    Some(Ok(offload)) => {
                        let skip = HEADER_LEN;
                        return Ok(Some(Received { offload, skip }));
                    }
                    Some(Err(_)) => self.foreign += 1,
                    None => self.malformed += 1,
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            into.truncate(before);
        }
    }

    fn send(&mut self, packets: &[Packet<'_>], sent: &mut Vec<Sent>) -> io::Result<()> {
        if packets.len() > 1 && self.writer.is_batching() && self.one_by_one == 0 {
            return self.send_together(packets, sent);
        }
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
        counters.reads += self.foreign + self.malformed;
        counters.foreign += self.foreign;
        counters.malformed += self.malformed;
        counters.batched = self.writer.batched();
        counters.one_by_one = self.writer.refusal().map(io::Error::kind);
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Lists the parts of a packet, and returns their number.
fn gather<'a>(packet: &Packet<'a>, parts: &mut [IoSlice<'a>]) -> usize {
    let mut count = 0;
    for (part, piece) in parts.iter_mut().zip(packet.parts_behind_virtio()) {
        *part = IoSlice::new(piece);
        count += 1;
    }
    count
}

/// Result of a write; an error if the device is gone.
fn sent(written: io::Result<usize>) -> io::Result<Sent> {
    match written {
        Ok(_) => Ok(Sent::Taken),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Full),
        Err(error) if write_outcomes::is_gone(&error) => Err(error),
        Err(_) => Ok(Sent::Refused),
    }
}
