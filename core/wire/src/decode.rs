//! Octets as a segment, RFC 9293 section 3.1.
//!
//! These functions never panic on any input. Unknown options are skipped by their length (RFC 9293
//! MUST-6). An option of impossible length (RFC 9293 MUST-7) is an error that names kind and place.
//! So a caller may reset the connection and log the reason, or count the packet as corrupted. Linux
//! is laxer and skips a known option of wrong length: we reject such a segment.
//!
//! If an option occurs twice, the last one counts; SACK blocks add up to four. Options that belong
//! on a SYN are read from every segment: the connection decides whether they apply. Reserved bits
//! are dropped. The checksum is verified separately ([`verify_checksum`]), because captures are
//! often cut or taken before the card filled it in.

use crate::options::{TIMESTAMPS_ALONE, option_kind};
use crate::segment::FIXED_HEADER_LEN;
use crate::{
    AccEcn, AccEcnOrder, Authentication, Checksum, Ecn, Endpoints, FastOpenCookie, Flags, Options,
    RouterReply, RouterRequest, SackBlock, Segment, SeqNumber, Timestamps, UserTimeout, WireWindow,
};

/// Reasons why octets are not a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// Fewer octets than a header has, or than the data offset requires.
    TooShort {
        /// Octets present.
        have: usize,
        /// Octets the header needs.
        need: usize,
    },
    /// The data offset is less than the five words of the fixed header.
    DataOffset {
        /// The offset in 32-bit words.
        words: u8,
    },
    /// The length of an option is impossible. It is less than two octets, beyond the header, or
    /// wrong for its kind (RFC 9293 MUST-7).
    OptionLength {
        /// The kind of the option.
        kind: u8,
        /// The length in the option.
        len: u8,
        /// Octets from the start of the TCP header to the option.
        at: usize,
    },
    /// The header ends between the kind of an option and its length.
    OptionCut {
        /// The kind of the option.
        kind: u8,
        /// Octets from the start of the TCP header to the option.
        at: usize,
    },
}

impl core::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TooShort { have, need } => {
                write!(f, "{have} octets are too few for a TCP header of {need}")
            }
            Self::DataOffset { words } => {
                write!(
                    f,
                    "data offset {words} is less than the 5 words of a TCP header"
                )
            }
            Self::OptionLength { kind, len, at } => {
                write!(
                    f,
                    "TCP option kind {kind} at octet {at} has the illegal length {len}"
                )
            }
            Self::OptionCut { kind, at } => {
                write!(
                    f,
                    "TCP option kind {kind} at octet {at} ends before its length"
                )
            }
        }
    }
}

impl core::error::Error for DecodeError {}

/// Reads a segment whose payload is borrowed from `octets`. [`Segment::map_payload`] gives it an
/// owned payload.
///
/// # Errors
/// [`DecodeError`], for octets that are not a segment.
#[inline]
pub fn decode(octets: &[u8]) -> Result<Segment<&[u8]>, DecodeError> {
    let (segment, header_len) = decode_header::<&[u8]>(octets)?;
    Ok(segment.map_payload(|_| &octets[header_len..]))
}

/// Reads the header of a segment; also returns its length. The payload of the result is empty: for
/// captures that hold less than the whole segment, and for payloads that are lengths only.
///
/// # Errors
/// [`DecodeError`], for octets that are no header.
#[inline]
pub fn decode_header<P: Default>(octets: &[u8]) -> Result<(Segment<P>, usize), DecodeError> {
    let have = octets.len();
    let Some(fixed) = octets.first_chunk::<FIXED_HEADER_LEN>() else {
        return Err(DecodeError::TooShort {
            have,
            need: FIXED_HEADER_LEN,
        });
    };
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let offset_and_flags = word(12);
    let words = (offset_and_flags >> 12) as u8;
    let need = usize::from(words) * 4;
    if need < FIXED_HEADER_LEN {
        return Err(DecodeError::DataOffset { words });
    }
    let Some(options) = octets.get(FIXED_HEADER_LEN..need) else {
        return Err(DecodeError::TooShort { have, need });
    };
    let number = |at: usize| {
        SeqNumber::new(u32::from_be_bytes([
            fixed[at],
            fixed[at + 1],
            fixed[at + 2],
            fixed[at + 3],
        ]))
    };
    let segment = Segment {
        src_port: word(0),
        dst_port: word(2),
        seq: number(4),
        ack: number(8),
        flags: Flags::from_bits(offset_and_flags),
        wnd: WireWindow(word(14)),
        urgent: word(18),
        segment_size: 0,
        ecn: Ecn::NotEct,
        ident: 0,
        ace: false,
        options: decode_options(options)?,
        payload: P::default(),
    };
    Ok((segment, need))
}

/// Whether the checksum of `octets`, a whole segment between `endpoints`, is correct.
#[inline]
pub fn verify_checksum(endpoints: &Endpoints, octets: &[u8]) -> bool {
    let Ok(len) = u32::try_from(octets.len()) else {
        return false;
    };
    let mut sum = Checksum::pseudo_header(endpoints, len);
    sum.add_octets(octets);
    sum.is_valid()
}

fn read_u32(octets: &[u8]) -> u32 {
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

#[inline]
fn decode_options(octets: &[u8]) -> Result<Options, DecodeError> {
    // Nearly all segments have timestamps and no other option.
    if let Ok(lone) = <&[u8; 12]>::try_from(octets)
        && lone[..4] == TIMESTAMPS_ALONE[..4]
    {
        let (val, ecr) = (read_u32(&lone[4..]), read_u32(&lone[8..]));
        return Ok(Options {
            timestamps: Some(Timestamps { val, ecr }),
            ..Options::default()
        });
    }
    if octets.is_empty() {
        return Ok(Options::default());
    }
    decode_any_options(octets)
}

#[inline(never)]
fn decode_any_options(octets: &[u8]) -> Result<Options, DecodeError> {
    match read_options(octets) {
        (options, None) => Ok(options),
        (_, Some(error)) => Err(error),
    }
}

/// Reads the options up to the first invalid one; also returns its error. Captures are read as far
/// as they are valid.
pub(crate) fn read_options(octets: &[u8]) -> (Options, Option<DecodeError>) {
    let mut options = Options::default();
    let mut at = 0;
    while let Some(&kind) = octets.get(at) {
        match kind {
            option_kind::END => break,
            option_kind::NO_OPERATION => at += 1,
            _ => {
                let option = match option_at(octets, at, kind) {
                    Ok(option) => option,
                    Err(error) => return (options, Some(error)),
                };
                if decode_option(&mut options, kind, &option[2..]).is_none() {
                    return (options, Some(illegal_length(kind, option[1], at)));
                }
                at += option.len();
            }
        }
    }
    (options, None)
}

/// Option at `at`, kind and length included.
fn option_at(octets: &[u8], at: usize, kind: u8) -> Result<&[u8], DecodeError> {
    let &len = octets.get(at + 1).ok_or(DecodeError::OptionCut {
        kind,
        at: FIXED_HEADER_LEN + at,
    })?;
    let option = octets.get(at..at + usize::from(len));
    option
        .filter(|_| len >= 2)
        .ok_or_else(|| illegal_length(kind, len, at))
}

fn illegal_length(kind: u8, len: u8, at: usize) -> DecodeError {
    let at = FIXED_HEADER_LEN + at;
    DecodeError::OptionLength { kind, len, at }
}

/// Reads one option into `options`; `None` if its length is wrong for the kind.
fn decode_option(options: &mut Options, kind: u8, data: &[u8]) -> Option<()> {
    match kind {
        option_kind::MSS => options.mss = Some(u16::from_be_bytes(data.try_into().ok()?)),
        option_kind::WINDOW_SCALE => {
            let [shift] = data.try_into().ok()?;
            options.window_scale = Some(shift);
        }
        option_kind::SACK_PERMITTED => {
            let [] = data.try_into().ok()?;
            options.sack_permitted = true;
        }
        option_kind::TIMESTAMPS => {
            let both: [u8; 8] = data.try_into().ok()?;
            let (val, ecr) = (read_u32(&both), read_u32(&both[4..]));
            options.timestamps = Some(Timestamps { val, ecr });
        }
        option_kind::SACK => decode_sack(options, data)?,
        option_kind::USER_TIMEOUT => {
            let bits = u16::from_be_bytes(data.try_into().ok()?);
            options.set_user_timeout(UserTimeout::from_wire(bits));
        }
        // Ignored if its length is wrong (RFC 7413 section 4.1.1).
        option_kind::FAST_OPEN => {
            let earlier = options.fast_open();
            options.set_fast_open(FastOpenCookie::from_data(data).or(earlier));
        }
        // Ignored if its length is wrong.
        option_kind::QUICK_START => {
            let earlier = options.router_reply();
            options.set_router_reply(RouterReply::from_quick_start(data).or(earlier));
        }
        option_kind::EXPERIMENT => {
            let earlier = options.fast_open();
            options.set_fast_open(FastOpenCookie::from_experiment(data).or(earlier));
            if let Some(request) = RouterRequest::from_experiment(data) {
                options.set_router_request(Some(request));
            } else if let Some(reply) = RouterReply::from_experiment(data) {
                options.set_router_reply(Some(reply));
            }
        }
        option_kind::AUTHENTICATION => {
            options.set_authentication(Some(Authentication::from_data(data)?));
        }
        // Any length is legal: RFC 9768 section 3.2.3.
        option_kind::ACCECN_0 => {
            options.accecn = Some(AccEcn::from_octets(AccEcnOrder::Ect0First, data));
        }
        option_kind::ACCECN_1 => {
            options.accecn = Some(AccEcn::from_octets(AccEcnOrder::Ect1First, data));
        }
        // RFC 9293 MUST-6.
        _ => {}
    }
    Some(())
}

/// Reads SACK blocks; `None` if there is none, or an incomplete one.
fn decode_sack(options: &mut Options, data: &[u8]) -> Option<()> {
    let (blocks, rest) = data.as_chunks::<8>();
    if blocks.is_empty() || !rest.is_empty() {
        return None;
    }
    for block in blocks {
        let left = SeqNumber::new(read_u32(block));
        let right = SeqNumber::new(read_u32(&block[4..]));
        // 40 octets hold no fifth block, so there is always room.
        options.sack.try_push(SackBlock { left, right });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use bytes::Bytes;
    use core::net::Ipv4Addr;

    /// A header with these option octets and no payload.
    fn header_with(options: &[u8]) -> Vec<u8> {
        let mut octets = Vec::from([0; FIXED_HEADER_LEN]);
        octets[12] = ((FIXED_HEADER_LEN + options.len()) as u8 / 4) << 4;
        octets.extend_from_slice(options);
        octets
    }

    fn options_of(octets: &[u8]) -> Result<Options, DecodeError> {
        decode_header::<Bytes>(&header_with(octets)).map(|(segment, _)| segment.options)
    }

    #[test]
    fn rfc_9293_table_1_and_its_successors_are_read() {
        let table: [(&[u8], Options); 6] = [
            (&[0, 2, 4, 9], Options::default()),
            (&[1, 1, 1, 1], Options::default()),
            (
                &[2, 4, 5, 0xb4],
                Options {
                    mss: Some(1460),
                    ..Options::default()
                },
            ),
            (
                &[3, 3, 14, 1],
                Options {
                    window_scale: Some(14),
                    ..Options::default()
                },
            ),
            (
                &[4, 2, 0, 0],
                Options {
                    sack_permitted: true,
                    ..Options::default()
                },
            ),
            (
                &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
                Options {
                    timestamps: Some(Timestamps { val: 1, ecr: 2 }),
                    ..Options::default()
                },
            ),
        ];
        for (octets, options) in table {
            assert_eq!(options_of(octets), Ok(options), "{octets:?}");
        }
    }

    #[test]
    fn an_option_may_begin_at_any_octet() {
        // RFC 9293 MUST-64.
        for before in 0..=36 {
            let mut octets = alloc::vec![1; before];
            octets.extend([2, 4, 5, 0xb4]);
            octets.resize((before + 4).next_multiple_of(4), 0);
            let options = options_of(&octets).unwrap();
            assert_eq!(options.mss, Some(1460), "after {before} octets");
        }
        // One after the other without padding.
        let options = options_of(&[3, 3, 7, 2, 4, 2, 0x18, 4, 2, 0, 0, 0]).unwrap();
        assert_eq!(options.window_scale, Some(7));
        assert_eq!((options.mss, options.sack_permitted), (Some(536), true));
    }

    #[test]
    fn sack_blocks_are_read_in_order() {
        let mut octets = Vec::from([1, 1, 5, 18]);
        octets.extend((1..=16).collect::<Vec<u8>>());
        let options = options_of(&octets).unwrap();
        let block = |left, right| SackBlock {
            left: SeqNumber::new(left),
            right: SeqNumber::new(right),
        };
        assert_eq!(
            options.sack.as_slice(),
            [
                block(0x0102_0304, 0x0506_0708),
                block(0x090a_0b0c, 0x0d0e_0f10)
            ]
        );
    }

    #[test]
    fn unknown_options_are_skipped_by_their_length() {
        let octets = [254, 4, 2, 4, 30, 2, 2, 4, 0, 99, 34, 2];
        assert_eq!(options_of(&octets).unwrap().mss, Some(99));
    }

    #[test]
    fn of_two_equal_options_the_last_counts() {
        let octets = [2, 4, 0, 1, 2, 4, 0, 2];
        assert_eq!(options_of(&octets).unwrap().mss, Some(2));
    }

    #[test]
    fn impossible_option_lengths_are_errors_with_kind_and_place() {
        let cases: [(&[u8], u8, u8, usize); 9] = [
            (&[99, 0, 0, 0], 99, 0, 20),
            (&[1, 99, 1, 0], 99, 1, 21),
            (&[99, 5, 0, 0], 99, 5, 20),
            (&[2, 3, 5, 0], 2, 3, 20),
            (&[3, 2, 0, 0], 3, 2, 20),
            (&[4, 3, 0, 0], 4, 3, 20),
            (&[1, 1, 8, 2], 8, 2, 22),
            (&[1, 1, 5, 2], 5, 2, 22),
            (&[5, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 5, 11, 20),
        ];
        for (octets, kind, len, at) in cases {
            let error = DecodeError::OptionLength { kind, len, at };
            assert_eq!(options_of(octets), Err(error), "{octets:?}");
        }
    }

    #[test]
    fn an_option_cut_off_before_its_length_is_an_error() {
        let error = options_of(&[1, 1, 1, 2]).unwrap_err();
        assert_eq!(error, DecodeError::OptionCut { kind: 2, at: 23 });
        assert_eq!(
            error.to_string(),
            "TCP option kind 2 at octet 23 ends before its length"
        );
    }

    #[test]
    fn fast_open_is_read_in_both_forms_and_ignored_where_its_length_is_wrong() {
        let cookie_of = |octets: &[u8]| options_of(octets).unwrap().fast_open();
        assert_eq!(cookie_of(&[34, 2, 0, 0]), Some(FastOpenCookie::REQUEST));
        let four = FastOpenCookie::new(&[1, 2, 3, 4]).unwrap();
        assert_eq!(cookie_of(&[34, 6, 1, 2, 3, 4, 0, 0]), Some(four));
        let experiment = [254, 8, 0xf9, 0x89, 1, 2, 3, 4];
        assert_eq!(cookie_of(&experiment), Some(four.as_experimental()));
        // RFC 7413 section 4.1.1: 2 octets, an odd number, 18 octets.
        let mut long = [9; 20];
        long[..2].copy_from_slice(&[34, 20]);
        for ignored in [&[34, 4, 1, 2][..], &[34, 7, 1, 2, 3, 4, 5, 0], &long] {
            assert_eq!(cookie_of(ignored), None);
        }
        // Another experiment, and one without an identifier.
        assert_eq!(cookie_of(&[254, 8, 0xf9, 0x88, 1, 2, 3, 4]), None);
        assert_eq!(cookie_of(&[254, 2, 0, 0]), None);
    }

    #[test]
    fn authentication_is_read_and_must_hold_both_key_identifiers() {
        let octets = [1, 1, 29, 10, 61, 84, 1, 2, 3, 4, 5, 6];
        let read = options_of(&octets).unwrap().authentication();
        assert_eq!(read, Authentication::new(61, 84, &[1, 2, 3, 4, 5, 6]));
        for short in [[29, 2, 1, 1], [29, 3, 1, 1]] {
            assert!(options_of(&short).is_err(), "{short:?}");
        }
    }

    #[test]
    fn short_octets_and_bad_data_offsets_are_errors() {
        let header = header_with(&[]);
        let read = |octets: &[u8]| decode(octets).unwrap_err();
        assert_eq!(
            read(&header[..19]),
            DecodeError::TooShort { have: 19, need: 20 }
        );
        assert_eq!(read(&[]), DecodeError::TooShort { have: 0, need: 20 });

        let mut low = header.clone();
        low[12] = 4 << 4;
        assert_eq!(read(&low), DecodeError::DataOffset { words: 4 });
        let mut high = header;
        high[12] = 15 << 4;
        assert_eq!(read(&high), DecodeError::TooShort { have: 20, need: 60 });
    }

    #[test]
    fn reserved_bits_are_dropped_and_all_flags_read() {
        let mut octets = header_with(&[]);
        octets[12] |= 0x0f;
        octets[13] = 0xff;
        let segment = decode(&octets).unwrap();
        assert_eq!(segment.flags.bits(), 0x1ff);
    }

    #[test]
    fn the_payload_shares_the_memory_of_the_packet() {
        let mut octets = header_with(&[1, 1, 1, 1]);
        octets.extend_from_slice(b"data");
        let segment = decode(&octets).unwrap();
        assert_eq!(segment.payload, b"data");
        assert_eq!(segment.payload.as_ptr(), octets[24..].as_ptr());
    }

    #[test]
    fn a_checksum_over_the_wrong_addresses_fails() {
        let endpoints = |last| Endpoints::V4 {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, last),
        };
        let mut octets = [0; 23];
        let segment = Segment {
            payload: Bytes::from_static(b"odd"),
            ..Segment::default()
        };
        crate::encode(&segment, &endpoints(2), &mut octets).unwrap();
        assert!(verify_checksum(&endpoints(2), &octets));
        assert!(!verify_checksum(&endpoints(3), &octets));
        octets[21] ^= 0x40;
        assert!(!verify_checksum(&endpoints(2), &octets));
    }
}
