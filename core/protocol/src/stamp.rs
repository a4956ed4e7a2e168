//! STAMP, the Simple Two-way Active Measurement Protocol (RFC 8762): test packets without
//! authentication, in UDP datagrams.
//!
//! A Session-Sender sends test packets, and a Session-Reflector returns each with its own times. A
//! stateless reflector copies the sequence number; a stateful one counts the packets of the sender,
//! so losses of both directions can be told apart (RFC 8762 section 4).
//!
//! Packets of TWAMP Light (RFC 5357 Appendix I) are the same up to the sender's TTL. Its senders
//! may omit the rest (RFC 8762 section 4.6), so a packet of [`MIN_REFLECTED`] bytes is reflected.
//! Shorter ones are not: the answer would be longer than the packet, which an attacker with a
//! forged address could use.
//!
//! Bytes after [`LENGTH`] are returned as they came, TLVs of RFC 8972 among them: their flag U then
//! says that they were not processed. So is the session identifier (SSID) of RFC 8972.
//!
//! Out of scope: authentication, and the control protocols of TWAMP and STAMP: both ends are
//! configured.

/// Port of a reflector (RFC 8762 section 4.1).
pub const PORT: u16 = 862;

/// Bytes of a test packet in either direction.
pub const LENGTH: usize = 44;

/// Bytes of a reflected packet up to the sender's TTL: those of TWAMP Light.
pub const MIN_REFLECTED: usize = 41;

/// Seconds from 1900 (NTP) to 1970.
const NTP_EPOCH: u64 = 2_208_988_800;

/// Bit Z of an error estimate: times are truncated PTPv2, not NTP.
const PTP: u16 = 0x4000;

/// Bit S of an error estimate: the clock is synchronized to UTC.
const SYNCHRONIZED: u16 = 0x8000;

/// Error estimate of a clock that may be wrong by any time: the largest of scale and multiplier.
pub const UNSYNCHRONIZED: u16 = 0x3fff;

/// A time in nanoseconds since 1970, in a field of 8 bytes: seconds and binary fraction (NTP), or
/// seconds and nanoseconds (truncated PTPv2).
fn read_time(field: [u8; 8], error: u16) -> u64 {
    let [a, b, c, d, e, f, g, h] = field;
    let seconds = u64::from(u32::from_be_bytes([a, b, c, d]));
    let fraction = u64::from(u32::from_be_bytes([e, f, g, h]));
    if error & PTP != 0 {
        return seconds * 1_000_000_000 + fraction;
    }
    // From 2036 on the seconds begin again (RFC 5905 section 6).
    let era = if seconds < NTP_EPOCH { 1 << 32 } else { 0 };
    (seconds + era - NTP_EPOCH) * 1_000_000_000 + ((fraction * 1_000_000_000) >> 32)
}

/// The NTP form of a time in nanoseconds since 1970.
fn time_field(nanos: u64) -> [u8; 8] {
    let seconds = nanos / 1_000_000_000 + NTP_EPOCH;
    // Rounded up, so that the time is read as it was written.
    let fraction = ((nanos % 1_000_000_000) << 32).div_ceil(1_000_000_000);
    let mut field = [0; 8];
    field[..4].copy_from_slice(&(seconds as u32).to_be_bytes());
    field[4..].copy_from_slice(&(fraction as u32).to_be_bytes());
    field
}

/// Writes a Session-Sender's packet to the front of a datagram, whose other bytes are zero.
///
/// # Panics
/// If the datagram is shorter than [`LENGTH`].
pub fn write(datagram: &mut [u8], sequence: u32, sent_ns: u64) {
    datagram[..4].copy_from_slice(&sequence.to_be_bytes());
    datagram[4..12].copy_from_slice(&time_field(sent_ns));
    datagram[12..14].copy_from_slice(&UNSYNCHRONIZED.to_be_bytes());
    datagram[14..LENGTH].fill(0);
}

/// Turns a Session-Sender's packet into the packet of a stateless Session-Reflector, of the same
/// length. `ttl` is that of the received packet, or 0 if it is unknown. Returns whether there is an
/// answer.
#[must_use]
pub fn reflect(packet: &mut [u8], received_ns: u64, sent_ns: u64, ttl: u8) -> bool {
    if packet.len() < MIN_REFLECTED {
        return false;
    }
    // Sequence number, time, and error estimate of the sender.
    packet.copy_within(..14, 24);
    packet[38..40].fill(0);
    packet[40] = ttl;
    if let Some(reserved) = packet.get_mut(MIN_REFLECTED..LENGTH) {
        reserved.fill(0);
    }
    packet[4..12].copy_from_slice(&time_field(sent_ns));
    packet[12..14].copy_from_slice(&UNSYNCHRONIZED.to_be_bytes());
    packet[16..24].copy_from_slice(&time_field(received_ns));
    true
}

/// A packet of a Session-Reflector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reflected {
    /// Sequence number of the sender's packet.
    pub sequence: u32,
    /// Sequence number of the reflector: the same if it is stateless.
    pub reflector_sequence: u32,
    /// Time at which the reflector received the packet, by its clock, in nanoseconds since 1970.
    pub received_ns: u64,
    /// Time at which it returned the packet.
    pub returned_ns: u64,
    /// Whether it says that its clock is synchronized to UTC.
    pub is_synchronized: bool,
    /// TTL, or hop limit, with which the packet arrived there.
    pub ttl: u8,
}

impl Reflected {
    /// Reads a datagram; `None` if it is too short.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let packet: &[u8; MIN_REFLECTED] = datagram.first_chunk()?;
        let number = |at: usize| {
            u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
        };
        let error = u16::from_be_bytes([packet[12], packet[13]]);
        let time = |at: usize| {
            let mut field = [0; 8];
            field.copy_from_slice(&packet[at..at + 8]);
            read_time(field, error)
        };
        Some(Self {
            sequence: number(24),
            reflector_sequence: number(0),
            received_ns: time(16),
            returned_ns: time(4),
            is_synchronized: error & SYNCHRONIZED != 0,
            ttl: packet[40],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01, and a part of a second.
    const NOW: u64 = 1_767_225_600_123_456_789;

    #[test]
    fn reflected_packet_has_the_times_of_both_ends_at_the_places_of_rfc_8762() {
        let mut packet = [0xaa; 60];
        write(&mut packet, 7, NOW);
        packet[14..16].copy_from_slice(&[1, 2]);
        assert!(reflect(&mut packet, NOW + 1000, NOW + 2000, 63));
        assert_eq!(packet[..4], [0, 0, 0, 7]);
        assert_eq!(packet[14..16], [1, 2], "the SSID is returned");
        assert_eq!(packet[24..28], [0, 0, 0, 7]);
        assert_eq!(packet[28..36], time_field(NOW));
        assert_eq!(packet[36..38], UNSYNCHRONIZED.to_be_bytes());
        assert_eq!(packet[38..44], [0, 0, 63, 0, 0, 0]);
        assert_eq!(
            packet[44..],
            [0xaa; 16],
            "what follows is returned as it came"
        );
        let read = Reflected::read(&packet).unwrap();
        let expected = Reflected {
            sequence: 7,
            reflector_sequence: 7,
            received_ns: NOW + 1000,
            returned_ns: NOW + 2000,
            is_synchronized: false,
            ttl: 63,
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn answer_is_never_longer_than_the_packet() {
        for length in 0..LENGTH {
            let mut packet = [0; LENGTH];
            let is_answered = reflect(&mut packet[..length], NOW, NOW, 64);
            assert_eq!(is_answered, length >= MIN_REFLECTED, "{length}");
            let read = Reflected::read(&packet[..length]);
            assert_eq!(read.is_some(), length >= MIN_REFLECTED, "{length}");
        }
    }

    #[test]
    fn times_are_read_as_they_were_written_in_both_eras_of_ntp() {
        for seconds in [0, 1, 2_085_978_495, 2_085_978_496, 4_000_000_000] {
            for nanos in [0, 1, 499_999_999, 999_999_999] {
                let time = seconds * 1_000_000_000 + nanos;
                assert_eq!(read_time(time_field(time), 0), time);
            }
        }
    }

    #[test]
    fn ptp_times_of_a_reflector_are_read_by_its_bit_z() {
        let mut packet = [0; LENGTH];
        packet[12..14].copy_from_slice(&(SYNCHRONIZED | PTP | 1).to_be_bytes());
        packet[4..8].copy_from_slice(&1_767_225_600_u32.to_be_bytes());
        packet[8..12].copy_from_slice(&5_u32.to_be_bytes());
        let read = Reflected::read(&packet).unwrap();
        assert_eq!(read.returned_ns, 1_767_225_600_000_000_005);
        assert!(read.is_synchronized);
    }
}
