//! Cuts IP packets into fragments, as a router (RFC 791 section 3.2) or an IPv6 host (RFC 8200
//! section 4.5) does, for tests of reassembly.

extern crate alloc;

use alloc::vec::Vec;

/// Fragments of a whole packet, cut at these offsets of its payload. The offsets are in order and
/// multiples of eight. An IPv6 packet gets its fragment header after the fixed one.
pub fn cut(packet: &[u8], ident: u32, at: &[usize]) -> Vec<Vec<u8>> {
    let is_v6 = packet[0] >> 4 == 6;
    let header_len = if is_v6 {
        40
    } else {
        usize::from(packet[0] & 15) * 4
    };
    let (header, payload) = packet.split_at(header_len);
    let ends = at.iter().copied().chain([payload.len()]);
    let starts = [0].into_iter().chain(at.iter().copied());
    starts
        .zip(ends)
        .map(|(start, end)| {
            let piece = &payload[start..end];
            let more = u16::from(end < payload.len());
            if is_v6 {
                v6(header, ident, start as u16 | more, piece)
            } else {
                v4(
                    header,
                    ident as u16,
                    (start as u16 / 8) | (more << 13),
                    piece,
                )
            }
        })
        .collect()
}

fn v4(header: &[u8], ident: u16, field: u16, piece: &[u8]) -> Vec<u8> {
    let mut out = header.to_vec();
    let total = (header.len() + piece.len()) as u16;
    out[2..4].copy_from_slice(&total.to_be_bytes());
    out[4..6].copy_from_slice(&ident.to_be_bytes());
    out[6..8].copy_from_slice(&field.to_be_bytes());
    out[10..12].fill(0);
    let words = out
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    out[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    out.extend_from_slice(piece);
    out
}

fn v6(header: &[u8], ident: u32, field: u16, piece: &[u8]) -> Vec<u8> {
    let mut out = header.to_vec();
    let len = (8 + piece.len()) as u16;
    out[4..6].copy_from_slice(&len.to_be_bytes());
    out[6] = 44;
    out.extend([header[6], 0]);
    out.extend(field.to_be_bytes());
    out.extend(ident.to_be_bytes());
    out.extend_from_slice(piece);
    out
}
