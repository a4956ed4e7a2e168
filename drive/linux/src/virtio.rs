//! `struct virtio_net_hdr` of `linux/virtio_net.h` (Virtual I/O Device 1.2, section 5.1.6): the
//! header before each packet of a TUN device created with `IFF_VNET_HDR`.
//!
//! It contains how a super-segment is to be segmented, and whether the TCP checksum is still to be
//! computed. Fields are in the machine's byte order, as is TUN's default.
//!
//! Out of scope: segmentation of UDP, and the longer forms of the header (merged buffers, hashes).
//! Both are rejected.

/// Bytes of the header.
pub const HEADER_LEN: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
/// CWR belongs to the first segment only.
const GSO_ECN: u8 = 0x80;

/// State of a packet's TCP checksum.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ChecksumState {
    /// It is in the packet and has not been verified.
    #[default]
    InPacket,
    /// It has been verified.
    Verified,
    /// The field holds the sum of the pseudo header only. The device that puts the packet on a wire
    /// completes it. The packet was never on a wire, so there is nothing to verify.
    Partial {
        /// Bytes before the TCP header.
        start: u16,
        /// Bytes from there to the field.
        offset: u16,
    },
}

/// Parameters for segmenting a TCP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segmentation {
    /// Whether it is IPv6.
    pub is_v6: bool,
    /// Payload bytes of each segment except the last.
    pub size: u16,
    /// Bytes of all headers, a hint for the segmenting device.
    pub header_len: u16,
    /// Whether CWR belongs to the first segment only (RFC 3168).
    pub has_ecn: bool,
}

/// The decoded header.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VirtioHeader {
    /// State of the TCP checksum.
    pub checksum: ChecksumState,
    /// Segmentation of a super-segment.
    pub segmentation: Option<Segmentation>,
}

/// Error for a packet whose header requests an unsupported offload. That is segmentation of
/// something other than TCP, or into empty segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownOffload {
    /// `gso_type`.
    pub kind: u8,
    /// `gso_size`.
    pub size: u16,
}

impl VirtioHeader {
    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut octets = [0; HEADER_LEN];
        match self.checksum {
            ChecksumState::InPacket => {}
            ChecksumState::Verified => octets[0] = DATA_VALID,
            ChecksumState::Partial { start, offset } => {
                octets[0] = NEEDS_CHECKSUM;
                octets[6..8].copy_from_slice(&start.to_ne_bytes());
                octets[8..10].copy_from_slice(&offset.to_ne_bytes());
            }
        }
        if let Some(cut) = self.segmentation {
            let kind = if cut.is_v6 { GSO_TCP_V6 } else { GSO_TCP_V4 };
            octets[1] = kind | if cut.has_ecn { GSO_ECN } else { 0 };
            octets[2..4].copy_from_slice(&cut.header_len.to_ne_bytes());
            octets[4..6].copy_from_slice(&cut.size.to_ne_bytes());
        }
        octets
    }

    /// Decodes the header.
    ///
    /// # Errors
    /// [`UnknownOffload`].
    pub fn decode(octets: &[u8; HEADER_LEN]) -> Result<Self, UnknownOffload> {
        let word = |at: usize| u16::from_ne_bytes([octets[at], octets[at + 1]]);
        let (flags, kind, size) = (octets[0], octets[1], word(4));
        let checksum = if flags & NEEDS_CHECKSUM != 0 {
            let (start, offset) = (word(6), word(8));
            ChecksumState::Partial { start, offset }
        } else if flags & DATA_VALID != 0 {
            ChecksumState::Verified
        } else {
            ChecksumState::InPacket
        };
        let segmentation = match kind & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCP_V4 | GSO_TCP_V6 if size > 0 => Some(Segmentation {
                is_v6: kind & !GSO_ECN == GSO_TCP_V6,
                size,
                header_len: word(2),
                has_ecn: kind & GSO_ECN != 0,
            }),
            _ => return Err(UnknownOffload { kind, size }),
        };
        Ok(Self {
            checksum,
            segmentation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_packet_has_a_header_of_zeros() {
        assert_eq!(VirtioHeader::default().encode(), [0; HEADER_LEN]);
        let read = VirtioHeader::decode(&[0; HEADER_LEN]);
        assert_eq!(read, Ok(VirtioHeader::default()));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let checksums = [
            ChecksumState::InPacket,
            ChecksumState::Verified,
            ChecksumState::Partial {
                start: 40,
                offset: 16,
            },
        ];
        for checksum in checksums {
            for (is_v6, has_ecn) in [(false, false), (false, true), (true, false), (true, true)] {
                let header = VirtioHeader {
                    checksum,
                    segmentation: Some(Segmentation {
                        is_v6,
                        size: 1448,
                        header_len: 52,
                        has_ecn,
                    }),
                };
                assert_eq!(VirtioHeader::decode(&header.encode()), Ok(header));
            }
        }
    }

    #[test]
    fn segmentation_of_udp_and_into_nothing_is_refused() {
        for (kind, size) in [(3, 1000), (5, 1000), (1, 0), (4, 0), (99, 1)] {
            let mut octets = [0; HEADER_LEN];
            octets[1] = kind;
            octets[4..6].copy_from_slice(&u16::to_ne_bytes(size));
            let refused = VirtioHeader::decode(&octets);
            assert_eq!(refused, Err(UnknownOffload { kind, size }));
        }
    }
}
