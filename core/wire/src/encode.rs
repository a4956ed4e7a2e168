//! A segment as octets, RFC 9293 section 3.1.
//!
//! Options are laid out as described in [`crate::Options`]; reserved bits are zero. A super-segment
//! is written as one long segment, as a host with segmentation offload passes it to its card.
//! [`Segment::split_front`] splits it into wire segments.

use crate::options::{MAX_OPTIONS_LEN, TIMESTAMPS_ALONE, aligned_start, option_kind};
use crate::segment::FIXED_HEADER_LEN;
use crate::{
    Checksum, Endpoints, OptionLayout, Options, PayloadOctets, RouterReply, RouterRequest, Segment,
    Timestamps, UserTimeout,
};

const MAX_HEADER_LEN: usize = FIXED_HEADER_LEN + MAX_OPTIONS_LEN;

impl<P> Segment<P> {
    /// Number of octets of the TCP header, options and their padding included.
    #[inline]
    pub const fn header_len(&self) -> usize {
        FIXED_HEADER_LEN + self.options.wire_len()
    }
}

/// Reasons why a segment cannot be written; nothing was written then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// The options need this many octets, more than [`MAX_OPTIONS_LEN`].
    OptionsTooLong {
        /// Minimum octets needed.
        needed: usize,
    },
    /// The packet is longer than the 16-bit length field of IP allows.
    PacketTooLong {
        /// Octets that the length field would have to count.
        needed: usize,
    },
    /// The buffer is shorter than the output.
    BufferTooShort {
        /// Bytes needed.
        needed: usize,
    },
}

impl core::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::OptionsTooLong { needed } => write!(
                f,
                "the TCP options need {needed} octets, a segment holds {MAX_OPTIONS_LEN}"
            ),
            Self::PacketTooLong { needed } => write!(
                f,
                "the packet needs a length of {needed} octets, IP counts to {}",
                u16::MAX
            ),
            Self::BufferTooShort { needed } => {
                write!(
                    f,
                    "the buffer is too short, {needed} bytes are to be written"
                )
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// Content of the checksum field of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumFill {
    /// The checksum over pseudo header, header and payload.
    Whole,
    /// The sum over the pseudo header alone, not complemented. Checksum offload adds the rest, for
    /// each piece of a super-segment.
    PseudoHeader,
}

/// Writes `segment` to the front of `out`: header with its checksum, payload. Returns its length.
///
/// # Errors
/// [`EncodeError`].
pub fn encode<P: PayloadOctets>(
    segment: &Segment<P>,
    endpoints: &Endpoints,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let header_len = checked_header_len(segment)?;
    let len = header_len + segment.payload.len();
    let too_short = EncodeError::BufferTooShort { needed: len };
    let written = out.get_mut(..len).ok_or(too_short)?;
    write_segment(segment, endpoints, header_len, ChecksumFill::Whole, written);
    Ok(len)
}

/// Length of the header of `segment`, if it is valid.
#[inline]
pub(crate) fn checked_header_len<P>(segment: &Segment<P>) -> Result<usize, EncodeError> {
    let len = segment.header_len();
    if len > MAX_HEADER_LEN {
        let needed = len - FIXED_HEADER_LEN;
        return Err(EncodeError::OptionsTooLong { needed });
    }
    Ok(len)
}

/// Fills `out` with a segment, whose payload is summed while it is copied.
#[inline]
pub(crate) fn write_segment<P: PayloadOctets>(
    segment: &Segment<P>,
    endpoints: &Endpoints,
    header_len: usize,
    fill: ChecksumFill,
    out: &mut [u8],
) {
    let len = out.len() as u32;
    let (header, payload) = out.split_at_mut(header_len);
    write_header(segment, header);
    let mut sum = Checksum::pseudo_header(endpoints, len);
    let field = match fill {
        ChecksumFill::Whole => {
            sum.add_octets(header);
            segment.payload.copy_to(payload, &mut sum);
            sum.finish()
        }
        ChecksumFill::PseudoHeader => {
            segment.payload.write_to(payload);
            !sum.finish()
        }
    };
    set_checksum(header, field);
    debug_assert!(
        fill != ChecksumFill::Whole || crate::verify_checksum(endpoints, out),
        "the checksum {field:#06x} of {len} octets verifies (RFC 9293 section 3.1)"
    );
}

/// Fills `header` with the header of a segment; its payload is not copied.
pub(crate) fn write_header_alone<P: PayloadOctets>(
    segment: &Segment<P>,
    endpoints: &Endpoints,
    fill: ChecksumFill,
    header: &mut [u8],
) {
    write_header(segment, header);
    let len = header.len() + segment.payload.len();
    let mut sum = Checksum::pseudo_header(endpoints, len as u32);
    let field = match fill {
        ChecksumFill::Whole => {
            sum.add_octets(header);
            segment.payload.add_to(&mut sum);
            sum.finish()
        }
        ChecksumFill::PseudoHeader => !sum.finish(),
    };
    set_checksum(header, field);
}

#[inline]
pub(crate) fn set_checksum(header: &mut [u8], field: u16) {
    header[16..18].copy_from_slice(&field.to_be_bytes());
}

/// Fills all of `header`, with a checksum of zero.
#[inline]
pub(crate) fn write_header<P>(segment: &Segment<P>, header: &mut [u8]) {
    let words = (header.len() / 4) as u16;
    let (fixed, options) = header.split_at_mut(FIXED_HEADER_LEN);
    let mut octets = [0; FIXED_HEADER_LEN];
    octets[0..2].copy_from_slice(&segment.src_port.to_be_bytes());
    octets[2..4].copy_from_slice(&segment.dst_port.to_be_bytes());
    octets[4..8].copy_from_slice(&segment.seq.as_u32().to_be_bytes());
    octets[8..12].copy_from_slice(&segment.ack.as_u32().to_be_bytes());
    let offset_and_flags = words << 12 | segment.flags.bits();
    octets[12..14].copy_from_slice(&offset_and_flags.to_be_bytes());
    octets[14..16].copy_from_slice(&segment.wnd.0.to_be_bytes());
    octets[18..20].copy_from_slice(&segment.urgent.to_be_bytes());
    fixed.copy_from_slice(&octets);
    if options.is_empty() {
        return;
    }
    // Nearly all segments have timestamps and no other option.
    if segment.options.is_timestamps_alone()
        && let Some(stamps) = segment.options.timestamps
        && let Ok(lone) = <&mut [u8; 12]>::try_from(&mut *options)
    {
        *lone = timestamps_alone(stamps);
    } else {
        write_options(&segment.options, options);
    }
}

/// Timestamps in the layout without other options.
#[inline]
fn timestamps_alone(stamps: Timestamps) -> [u8; 12] {
    let mut octets = TIMESTAMPS_ALONE;
    octets[4..8].copy_from_slice(&stamps.val.to_be_bytes());
    octets[8..12].copy_from_slice(&stamps.ecr.to_be_bytes());
    octets
}

/// Writes options one after the other.
struct OptionWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    padding: Padding,
}

/// Padding in front of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// Until it ends on a word.
    ToWord,
    /// Until its values are aligned.
    ToValues,
    /// None.
    Without,
}

impl OptionWriter<'_> {
    fn put(&mut self, octets: &[u8]) {
        let end = self.at + octets.len();
        self.out[self.at..end].copy_from_slice(octets);
        self.at = end;
    }

    /// Starts an option of `len` octets: padding, kind, length.
    fn start(&mut self, kind: u8, len: usize) {
        let start = match self.padding {
            Padding::ToWord => (self.at + len).next_multiple_of(4) - len,
            Padding::ToValues => aligned_start(self.at, kind),
            Padding::Without => self.at,
        };
        while self.at < start {
            self.put(&[option_kind::NO_OPERATION]);
        }
        self.put(&[kind, len as u8]);
    }

    fn window_scale(&mut self, options: &Options) {
        if let Some(shift) = options.window_scale {
            self.start(option_kind::WINDOW_SCALE, 3);
            self.put(&[shift]);
        }
    }

    fn sack_permitted_and_timestamps(&mut self, options: &Options) {
        if options.sack_permitted {
            if options.timestamps.is_some() && self.padding == Padding::ToWord {
                // Replaces the two NOPs before the timestamps.
                self.put(&[option_kind::SACK_PERMITTED, 2]);
            } else {
                self.start(option_kind::SACK_PERMITTED, 2);
            }
        }
        if let Some(timestamps) = options.timestamps {
            self.start(option_kind::TIMESTAMPS, 10);
            self.put(&timestamps.val.to_be_bytes());
            self.put(&timestamps.ecr.to_be_bytes());
        }
    }

    fn fast_open(&mut self, options: &Options) {
        if let Some(cookie) = options.fast_open() {
            let kind = if cookie.is_experimental() {
                option_kind::EXPERIMENT
            } else {
                option_kind::FAST_OPEN
            };
            self.start(kind, cookie.option_len());
            cookie.write_data(|octets| self.put(octets));
        }
    }

    fn sack(&mut self, options: &Options) {
        let blocks = options.sack.as_slice();
        if !blocks.is_empty() {
            self.start(option_kind::SACK, 2 + 8 * blocks.len());
            for block in blocks {
                self.put(&block.left.as_u32().to_be_bytes());
                self.put(&block.right.as_u32().to_be_bytes());
            }
        }
    }

    fn accecn(&mut self, options: &Options) {
        if let Some(option) = options.accecn {
            self.start(option.kind(), option.wire_len());
            for field in option.fields() {
                self.put(&field.to_be_bytes()[1..]);
            }
        }
    }
}

/// Fills `out`, whose length is [`Options::wire_len`].
#[inline(never)]
fn write_options(options: &Options, out: &mut [u8]) {
    // Destructured so that a new option cannot be forgotten here.
    let &Options {
        mss,
        window_scale: _,
        sack_permitted: _,
        timestamps: _,
        accecn: _,
        sack: _,
        rare: _,
    } = options;
    // The remainder is zero, which is "end of option list".
    out.fill(0);
    let padding = match options.layout() {
        _ if out.len() != options.aligned_len() => Padding::Without,
        OptionLayout::Linux => Padding::ToWord,
        OptionLayout::FreeBsd => Padding::ToValues,
    };
    let mut writer = OptionWriter {
        at: 0,
        padding,
        out,
    };
    if let Some(mss) = mss {
        writer.start(option_kind::MSS, 4);
        writer.put(&mss.to_be_bytes());
    }
    match options.layout() {
        OptionLayout::Linux => {
            writer.sack_permitted_and_timestamps(options);
            writer.window_scale(options);
            writer.fast_open(options);
            writer.accecn(options);
            writer.sack(options);
        }
        OptionLayout::FreeBsd => {
            writer.window_scale(options);
            writer.sack_permitted_and_timestamps(options);
            writer.sack(options);
            writer.fast_open(options);
            writer.accecn(options);
        }
    }
    if let Some(timeout) = options.user_timeout() {
        writer.start(option_kind::USER_TIMEOUT, UserTimeout::OPTION_LEN);
        writer.put(&timeout.to_wire().to_be_bytes());
    }
    if let Some(request) = options.router_request() {
        writer.start(option_kind::EXPERIMENT, RouterRequest::OPTION_LEN);
        request.write_data(|octets| writer.put(octets));
    }
    if let Some(reply) = options.router_reply() {
        writer.start(reply.kind(), RouterReply::OPTION_LEN);
        reply.write_data(|octets| writer.put(octets));
    }
    if let Some(option) = options.authentication() {
        writer.start(option_kind::AUTHENTICATION, option.option_len());
        writer.put(&[option.key_id, option.r_next_key_id]);
        writer.put(option.mac());
    }
    assert_written(options, writer.at, out);
}

/// Asserts the invariants of options that were written in `at` octets of `out`.
fn assert_written(options: &Options, at: usize, out: &[u8]) {
    let written = at + options.padding();
    debug_assert!(
        written <= out.len() && out.len() - written < 4,
        "options have the length that was said: {written} of {} octets",
        out.len()
    );
    debug_assert!(
        crate::decode::read_options(out).1.is_none(),
        "options that were written can be read: {out:02x?}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AccEcn, AccEcnOrder, FastOpenCookie, Flags, Phantom, SackBlock, SackBlocks, SeqNumber,
        Timestamps, WireWindow,
    };
    use alloc::vec;
    use alloc::vec::Vec;
    use core::net::Ipv4Addr;

    fn endpoints() -> Endpoints {
        Endpoints::V4 {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    fn options_octets(options: Options) -> Vec<u8> {
        let mut out = vec![0; options.wire_len()];
        write_options(&options, &mut out);
        out
    }

    #[test]
    fn a_syn_is_laid_out_as_linux_does() {
        let options = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps {
                val: 0x0102_0304,
                ecr: 0,
            }),
            ..Options::default()
        };
        let expected = [
            2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        assert_eq!(options_octets(options), expected);
    }

    #[test]
    fn a_syn_is_laid_out_as_freebsd_does() {
        let syn = Options {
            mss: Some(1460),
            window_scale: Some(6),
            sack_permitted: true,
            timestamps: Some(Timestamps { val: 5, ecr: 6 }),
            ..Options::default()
        };
        let octets_of = |mut options: Options| {
            options.set_layout(OptionLayout::FreeBsd);
            options_octets(options)
        };
        let mss = [2, 4, 0x05, 0xb4];
        let timestamps = [8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
        let expected = [&mss[..], &[1, 3, 3, 6, 4, 2], &timestamps].concat();
        assert_eq!(octets_of(syn.clone()), expected);
        let without_scale = Options {
            window_scale: None,
            ..syn.clone()
        };
        let expected = [&mss[..], &[4, 2], &timestamps].concat();
        assert_eq!(octets_of(without_scale), expected);
        let without_sack = Options {
            sack_permitted: false,
            ..syn.clone()
        };
        let expected = [&mss[..], &[1, 3, 3, 6, 1, 1], &timestamps].concat();
        assert_eq!(octets_of(without_sack), expected);
        let mut fast_open = Options {
            window_scale: None,
            timestamps: None,
            ..syn
        };
        assert_eq!(octets_of(fast_open.clone()), [2, 4, 0x05, 0xb4, 4, 2, 0, 0]);
        fast_open.set_fast_open(Some(FastOpenCookie::REQUEST));
        let expected = [2, 4, 0x05, 0xb4, 4, 2, 34, 2];
        assert_eq!(octets_of(fast_open), expected);
    }

    #[test]
    fn a_syn_without_timestamps_pads_sack_permitted() {
        let options = Options {
            mss: Some(536),
            sack_permitted: true,
            window_scale: Some(0),
            ..Options::default()
        };
        assert_eq!(
            options_octets(options),
            [2, 4, 2, 24, 1, 1, 4, 2, 1, 3, 3, 0]
        );
    }

    #[test]
    fn sack_blocks_follow_padded_timestamps() {
        let mut sack = SackBlocks::default();
        let (left, right) = (SeqNumber::new(0x10), SeqNumber::new(0x20));
        assert!(sack.try_push(SackBlock { left, right }));
        let timestamps = Some(Timestamps { val: 1, ecr: 2 });
        let options = Options {
            timestamps,
            sack,
            ..Options::default()
        };
        let expected = [
            1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 0x10, 0, 0, 0, 0x20,
        ];
        assert_eq!(options_octets(options), expected);
    }

    #[test]
    fn packed_options_end_with_end_of_list() {
        let mut sack = SackBlocks::default();
        while sack.try_push(SackBlock::default()) {}
        let options = Options {
            window_scale: Some(9),
            sack_permitted: true,
            sack,
            ..Options::default()
        };
        let octets = options_octets(options);
        assert_eq!(octets[..7], [4, 2, 3, 3, 9, 5, 34]);
        assert_eq!(octets.len(), 40);
        assert_eq!(octets[39], option_kind::END);
    }

    #[test]
    fn a_segment_stands_octet_by_octet_as_in_section_3_1() {
        let segment = Segment {
            src_port: 0x1234,
            dst_port: 80,
            seq: SeqNumber::new(0x0102_0304),
            ack: SeqNumber::new(0x0506_0708),
            flags: Flags::ACK | Flags::PSH | Flags::AE,
            wnd: WireWindow(0xfaf0),
            urgent: 0,
            payload: bytes::Bytes::from_static(b"hi!"),
            ..Segment::default()
        };
        let mut out = [0xee; 24];
        assert_eq!(encode(&segment, &endpoints(), &mut out), Ok(23));
        // The checksum calculated by hand over the hexadecimal words 0a00 0001 0a00 0002 0006 0017
        // (pseudo header), 1234 0050 0102 0304 0506 0708 5118 faf0 6869 2100.
        let expected = [
            0x12, 0x34, 0, 80, 1, 2, 3, 4, 5, 6, 7, 8, 0x51, 0x18, 0xfa, 0xf0, 0xf3, 0xd4, 0, 0,
            b'h', b'i', b'!', 0xee,
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn accecn_stands_before_sack_and_ends_on_a_word() {
        let mut sack = SackBlocks::default();
        sack.try_push(SackBlock {
            left: SeqNumber::new(1),
            right: SeqNumber::new(2),
        });
        let options = Options {
            accecn: Some(AccEcn::new(AccEcnOrder::Ect0First, &[0x0a0b_0c0d, 3])),
            sack,
            ..Options::default()
        };
        let mut expected = vec![172, 8, 0x0b, 0x0c, 0x0d, 0, 0, 3];
        expected.extend([1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(options_octets(options), expected);
        let empty = Options {
            accecn: Some(AccEcn::new(AccEcnOrder::Ect1First, &[])),
            ..Options::default()
        };
        assert_eq!(options_octets(empty), [1, 1, 174, 2]);
    }

    #[test]
    fn accecn_with_three_fields_fits_beside_timestamps_and_two_sack_blocks() {
        let mut sack = SackBlocks::default();
        for _ in 0..2 {
            sack.try_push(SackBlock::default());
        }
        let options = Options {
            timestamps: Some(Timestamps::default()),
            accecn: Some(AccEcn::new(AccEcnOrder::Ect1First, &[1, 2, 3])),
            sack,
            ..Options::default()
        };
        assert_eq!(options.wire_len(), 40, "packed");
    }

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_is_written() {
        let mut sack = SackBlocks::default();
        while sack.try_push(SackBlock::default()) {}
        let timestamps = Some(Timestamps::default());
        let segment = Segment::<Phantom> {
            options: Options {
                timestamps,
                sack,
                ..Options::default()
            },
            ..Segment::default()
        };
        let mut out = [0xee; 80];
        let error = encode(&segment, &endpoints(), &mut out);
        assert_eq!(error, Err(EncodeError::OptionsTooLong { needed: 44 }));
        let plain = Segment::<Phantom>::default();
        let error = encode(&plain, &endpoints(), &mut out[..19]);
        assert_eq!(error, Err(EncodeError::BufferTooShort { needed: 20 }));
        assert_eq!(out, [0xee; 80]);
    }
}
