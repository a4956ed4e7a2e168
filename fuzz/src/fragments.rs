//! Fragments of a few packets, eight octets of input each.
//!
//! They fit, overlap and contradict one another, cut headers anywhere, and step back in time.
//! Every packet must be reported once, in order and at its time, and no more may be stored than
//! promised.

use gigatcp_flows::{Arrival, Datagrams, MAX_HELD};
use gigatcp_units::Instant;
use gigatcp_wire::link::{Fragmentation, LinkType};

/// Feeds fragments.
pub fn fragments(octets: &[u8]) {
    let mut datagrams = Datagrams::new();
    let mut now = 1_u64 << 40;
    let mut times = Vec::new();
    let mut told = 0;
    for piece in octets.chunks_exact(8) {
        let step = u64::from(piece[6]) << (piece[7] >> 2);
        now = if piece[7] & 2 != 0 {
            now.saturating_sub(step)
        } else {
            now.saturating_add(step)
        };
        times.push(now);
        let packet = packet(piece);
        let captured = packet.len().min(20 + 2 * usize::from(piece[5]));
        datagrams.handle_packet(&Arrival {
            number: times.len() as u64,
            offset: 0,
            at: Instant::from_nanos(now),
            link: LinkType::RAW,
            octets: &packet[..captured],
            wire_len: packet.len() as u32,
        });
        drain(&mut datagrams, &times, &mut told);
        assert!(times.len() - told <= MAX_HELD);
    }
    datagrams.handle_end();
    drain(&mut datagrams, &times, &mut told);
    assert_eq!(told, times.len(), "every packet is told");
}

fn drain(datagrams: &mut Datagrams, times: &[u64], told: &mut usize) {
    while let Some(packet) = datagrams.poll_packet() {
        assert_eq!(packet.at.as_nanos(), times[*told]);
        *told += 1;
        assert_eq!(packet.number, *told as u64, "in order");
        if let Ok(Some(segment)) = packet.found {
            assert_eq!(segment.at, packet.at);
            let is_alone = segment.fragmentation != Fragmentation::Reassembled;
            assert!(segment.payload_len < if is_alone { 4096 } else { 65_536 });
        }
    }
    let odd = std::iter::from_fn(|| datagrams.poll_odd());
    assert!(odd.into_iter().all(|odd| odd.number <= times.len() as u64));
}

/// A fragment, or a whole packet.
fn packet(piece: &[u8]) -> Vec<u8> {
    let field = u16::from_be_bytes([piece[1], piece[2]]);
    let len = usize::from(piece[3]) * 8 + usize::from(piece[4] & 7);
    let ident = piece[0] & 3;
    let mut packet = if piece[0] & 4 == 0 {
        let mut header = vec![0x45, piece[4] >> 6, 0, 0, 0, ident, 0, 0, 64, 6, 0, 0];
        header[2..4].copy_from_slice(&(20 + len as u16).to_be_bytes());
        header[6..8].copy_from_slice(&(field & 0x3fff).to_be_bytes());
        header.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        if piece[0] & 8 != 0 {
            header[9] = 4;
        }
        header
    } else {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, 44, 64];
        header[4..6].copy_from_slice(&(8 + len as u16).to_be_bytes());
        header.extend([7; 32]);
        header.extend([6, 0]);
        header.extend(field.to_be_bytes());
        header.extend([0, 0, 0, ident]);
        header
    };
    // Wherever the fragment begins, a TCP header can be read there.
    let header = [
        0, 7, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0,
    ];
    packet.extend(header.iter().cycle().take(len));
    packet
}
