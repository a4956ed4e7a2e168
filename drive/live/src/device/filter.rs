//! A socket filter (`SO_ATTACH_FILTER`) for the Ethernet frames that the stack receives.
//!
//! The kernel runs it on each arriving frame, before the frame is copied. It passes IP packets for
//! the stack's addresses and all neighbor discovery (ARP, RFC 826; solicitations and
//! advertisements, RFC 4861). Readers check passed frames again.

use std::net::IpAddr;

use gigatcp_linux::socket_filter::{
    BYTE, HALF, Instruction, MAX_INSTRUCTIONS, REJECT, WORD, accept, equal, load, skip,
};

/// Offsets in a frame.
const TYPE: u32 = 12;
const IPV4_DESTINATION: u32 = 30;
const IPV6_NEXT_HEADER: u32 = 20;
const IPV6_DESTINATION: u32 = 38;
const ICMPV6_TYPE: u32 = 54;

/// Ethernet types, and those of Neighbor Discovery.
const ARP: u32 = libc::ETH_P_ARP as u32;
const IPV4: u32 = libc::ETH_P_IP as u32;
const IPV6: u32 = libc::ETH_P_IPV6 as u32;
const ICMPV6: u32 = libc::IPPROTO_ICMPV6 as u32;
const SOLICITATION: u32 = 135;
const ADVERTISEMENT: u32 = 136;

/// Accepts the whole frame.
const PASS: Instruction = accept(u32::MAX);

/// Filter for a stack with these addresses. Above the kernel's limit of about 400 IPv6 addresses
/// the filter passes everything.
pub fn program(addresses: &[IpAddr]) -> Vec<Instruction> {
    let (mut v4, mut v6) = (vec![load(WORD, IPV4_DESTINATION)], Vec::new());
    for address in addresses {
        match address {
            IpAddr::V4(address) => v4.extend([equal((*address).into(), 0, 1), PASS]),
            IpAddr::V6(address) => v6.extend(is_destination(&address.octets())),
        }
    }
    v4.push(REJECT);
    let whole = [
        &[load(HALF, TYPE), equal(ARP, 0, 1), PASS][..],
        &[equal(IPV4, 1, 0), skip(v4.len())],
        &v4,
        &[equal(IPV6, 1, 0), REJECT],
        &v6,
        &[load(BYTE, IPV6_NEXT_HEADER), equal(ICMPV6, 1, 0), REJECT],
        &[load(BYTE, ICMPV6_TYPE), equal(SOLICITATION, 1, 0)],
        &[equal(ADVERTISEMENT, 0, 1), PASS, REJECT],
    ]
    .concat();
    if whole.len() > MAX_INSTRUCTIONS {
        return vec![PASS];
    }
    whole
}

/// Passes packets for that IPv6 address; otherwise execution continues behind.
fn is_destination(address: &[u8; 16]) -> Vec<Instruction> {
    let mut part = Vec::new();
    for (number, word) in address.chunks_exact(4).enumerate() {
        let behind = 2 * (3 - number as u8) + 1;
        let word = word
            .iter()
            .fold(0, |word, octet| word << 8 | u32::from(*octet));
        part.push(load(WORD, IPV6_DESTINATION + 4 * number as u32));
        part.push(equal(word, 0, behind));
    }
    part.push(PASS);
    part
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Read, Write};

    use gigatcp_linux::packets;

    use super::*;

    /// A frame of that type with `fields` at their offsets.
    fn frame(kind: u32, fields: &[(u32, &[u8])]) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&(kind as u16).to_be_bytes());
        for (place, octets) in fields {
            frame[*place as usize..][..octets.len()].copy_from_slice(octets);
        }
        frame
    }

    #[test]
    fn the_kernel_lets_pass_what_is_for_the_stack_or_finds_neighbors() {
        let ours: [IpAddr; 4] = ["192.0.2.7", "192.0.2.8", "2001:db8::7", "2001:db8::8"]
            .map(|word| word.parse().unwrap());
        let [near, far] = packets::pair().unwrap();
        packets::attach_filter(&far, &program(&ours)).unwrap();
        let (mut near, mut far) = (File::from(near), File::from(far));
        let mut passes = |frame: &[u8]| {
            near.write_all(frame).unwrap();
            let mut into = [0; 100];
            match far.read(&mut into) {
                Ok(read) => into[..read] == *frame || panic!("it was cut to {read}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    false
                }
            }
        };
        let v4 = |host| frame(IPV4, &[(IPV4_DESTINATION, &[192, 0, 2, host])]);
        let v6 = |host| {
            let address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
            frame(IPV6, &[(IPV6_DESTINATION, &address)])
        };
        assert_eq!([7, 8, 9].map(|host| passes(&v4(host))), [true, true, false]);
        assert_eq!([7, 8, 9].map(|host| passes(&v6(host))), [true, true, false]);
        let discovery = |next: u32, kind| {
            let (next, kind) = ([next as u8], [kind]);
            frame(IPV6, &[(IPV6_NEXT_HEADER, &next), (ICMPV6_TYPE, &kind)])
        };
        let kinds = [134, 135, 136, 137].map(|kind| passes(&discovery(ICMPV6, kind)));
        assert_eq!(kinds, [false, true, true, false]);
        assert!(!passes(&discovery(6, 135)), "TCP");
        assert!(passes(&frame(ARP, &[])));
        assert!(!passes(&frame(0x88cc, &[])), "LLDP");
        assert!(!passes(&v4(7)[..20]), "cut off");
    }

    #[test]
    fn more_addresses_than_a_filter_holds_let_everything_pass() {
        let some = |count: u128| {
            let addresses: Vec<IpAddr> = (0..count)
                .map(|number| IpAddr::from(number.to_be_bytes()))
                .collect();
            program(&addresses).len()
        };
        assert!(some(400) > 3600);
        assert_eq!(some(1000), 1);
    }
}
