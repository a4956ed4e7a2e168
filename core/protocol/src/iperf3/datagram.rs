//! UDP: the first messages of a stream, the header of a datagram, and what iperf3 counts.
//!
//! A stream begins with four bytes to the server's port and four bytes back. Each datagram
//! begins with a time (seconds and microseconds) and a sequence number from 1, most significant
//! byte first. The time is that of the sender's monotonic clock: differences are usable
//! (jitter), the one-way delay is not.

use gigatcp_units::{Duration, Instant};

/// First message of a stream since 3.11, as little-endian hosts send it: "9876".
pub const CONNECT: [u8; 4] = *b"9876";
/// The answer to [`CONNECT`]: "6789".
pub const REPLY: [u8; 4] = *b"6789";
/// First message before 3.11: 123456789, in the host's byte order.
pub const LEGACY_CONNECT: u32 = 123_456_789;
/// The answer before 3.11: 987654321, in the host's byte order.
pub const LEGACY_REPLY: u32 = 987_654_321;

/// First bytes of a UDP ping to a server of this project, which echoes it.
pub const PING: [u8; 16] = *b"gigatcp udp ping";

/// Minimum payload of a datagram in bytes: a header with a 64-bit sequence number.
pub const MIN_SIZE: usize = 16;

/// Answer to the first message of a stream; `None` for another message.
///
/// Big-endian hosts from 3.11 to 3.16 exchange the two messages with their bytes reversed.
pub fn reply_to(bytes: &[u8]) -> Option<[u8; 4]> {
    let reversed = |mut message: [u8; 4]| {
        message.reverse();
        message
    };
    let answers = [
        (CONNECT, REPLY),
        (reversed(CONNECT), reversed(REPLY)),
        (LEGACY_CONNECT.to_le_bytes(), LEGACY_REPLY.to_le_bytes()),
        (LEGACY_CONNECT.to_be_bytes(), LEGACY_REPLY.to_be_bytes()),
    ];
    let answer = answers.iter().find(|(message, _)| bytes == message)?;
    Some(answer.1)
}

/// Whether bytes are an answer to [`CONNECT`].
pub fn is_reply(bytes: &[u8]) -> bool {
    let legacy = [LEGACY_REPLY.to_le_bytes(), LEGACY_REPLY.to_be_bytes()];
    bytes == REPLY || legacy.iter().any(|legacy| bytes == legacy)
}

/// Header of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Time of sending, by the sender's clock.
    pub sent_at: Instant,
    /// Sequence number, from 1.
    pub seq: u64,
}

impl Header {
    /// Writes it to the front of a datagram of at least [`MIN_SIZE`].
    pub fn write(&self, datagram: &mut [u8], is_64bit: bool) {
        let micros = self.sent_at.as_nanos() / 1000;
        let (seconds, micros) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
        datagram[0..4].copy_from_slice(&seconds.to_be_bytes());
        datagram[4..8].copy_from_slice(&micros.to_be_bytes());
        if is_64bit {
            datagram[8..16].copy_from_slice(&self.seq.to_be_bytes());
        } else {
            datagram[8..12].copy_from_slice(&(self.seq as u32).to_be_bytes());
        }
    }

    /// Reads the header; `None` if the datagram is too short.
    pub fn read(datagram: &[u8], is_64bit: bool) -> Option<Self> {
        let word = |at: usize| {
            let bytes = datagram.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let micros = u64::from(word(0)?) * 1_000_000 + u64::from(word(4)?);
        let mut seq = u64::from(word(8)?);
        if is_64bit {
            seq = seq << 32 | u64::from(word(12)?);
        }
        Some(Self {
            sent_at: Instant::ZERO + Duration::from_micros(micros),
            seq,
        })
    }
}

/// Counts of a stream by the rules of iperf3's receiver.
///
/// It mistakes a duplicate for a late datagram that was missing, so each duplicate hides a loss. A
/// stock peer expects these numbers in results. `gigatcp_app::datagrams::Sink` counts exactly.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StockCounts {
    /// Largest sequence number.
    pub packets: u64,
    /// Skipped sequence numbers, less late datagrams.
    pub errors: i64,
    /// Datagrams whose sequence number is not above all previous ones.
    pub out_of_order: u64,
}

impl StockCounts {
    /// Counts a datagram.
    pub fn handle_datagram(&mut self, seq: u64) {
        if seq > self.packets {
            let skipped = i64::try_from(seq - 1 - self.packets).unwrap_or(i64::MAX);
            self.errors = self.errors.saturating_add(skipped);
            self.packets = seq;
        } else {
            self.out_of_order += 1;
            if self.errors > 0 {
                self.errors -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (is_64bit, seq) in [(true, 1 << 40), (false, 0xffff_ffff)] {
            let header = Header {
                sent_at: Instant::ZERO + Duration::from_micros(2_001_000_005),
                seq,
            };
            let mut datagram = [0; 32];
            header.write(&mut datagram, is_64bit);
            assert_eq!(&datagram[..4], [0, 0, 0x07, 0xd1]);
            assert_eq!(Header::read(&datagram, is_64bit), Some(header));
            assert_eq!(Header::read(&datagram[..11], is_64bit), None);
        }
    }

    #[test]
    fn first_messages_of_all_versions_are_answered_in_their_byte_order() {
        assert_eq!(reply_to(b"9876"), Some(*b"6789"));
        assert_eq!(reply_to(b"6789"), Some(*b"9876"));
        assert_eq!(reply_to(b"1234"), None);
        let big_endian = LEGACY_CONNECT.to_be_bytes();
        assert_eq!(reply_to(&big_endian), Some(LEGACY_REPLY.to_be_bytes()));
        assert!(is_reply(b"6789") && is_reply(&LEGACY_REPLY.to_le_bytes()));
        assert!(!is_reply(b"9876"));
    }

    #[test]
    fn a_duplicate_hides_a_loss_as_in_iperf3() {
        let mut counts = StockCounts::default();
        for seq in [1, 2, 5, 5, 6] {
            counts.handle_datagram(seq);
        }
        assert_eq!((counts.packets, counts.errors), (6, 1));
        assert_eq!(counts.out_of_order, 1);
    }
}
