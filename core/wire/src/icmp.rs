//! ICMP errors about a TCP connection.
//!
//! A router or host that cannot forward or deliver a segment quotes it: the IP header and at least
//! the first 8 octets after it (RFC 792, RFC 1122 section 3.2.2; as much as fits with ICMPv6, RFC
//! 4443). The ports identify the connection. The quoted sequence number is the only proof that the
//! sender of the error has seen the segment (RFC 5927 section 4.1).

use crate::SeqNumber;

/// The IP version of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum IpVersion {
    /// RFC 791.
    #[default]
    V4,
    /// RFC 8200.
    V6,
}

impl IpVersion {
    /// Number of octets of its header without options or extensions.
    pub const fn header_len(self) -> u32 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// Minimum MTU of a link (RFC 791, RFC 8200 section 5). No estimate of a path may fall below it
    /// (RFC 1191 section 3, RFC 8201 section 4).
    pub const fn least_mtu(self) -> u32 {
        match self {
            Self::V4 => 68,
            Self::V6 => 1280,
        }
    }

    /// MSS of a peer whose SYN has no MSS option (RFC 9293 MUST-15).
    pub const fn default_mss(self) -> u32 {
        match self {
            Self::V4 => 536,
            Self::V6 => 1220,
        }
    }
}

/// Kind of an ICMP error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IcmpKind {
    /// The packet exceeds the MTU of the next link. Destination unreachable, fragmentation needed
    /// (RFC 1191 section 4), or ICMPv6 packet too big (RFC 4443 section 3.2).
    TooBig {
        /// MTU of that link; 0 from routers older than RFC 1191.
        mtu: u32,
    },
    /// No route to the network (IPv6: no route).
    NetworkUnreachable,
    /// The host does not answer its router (IPv6: address unreachable).
    HostUnreachable,
    /// The host has no TCP.
    ProtocolUnreachable,
    /// No socket listens on the port.
    PortUnreachable,
    /// A source route failed.
    SourceRouteFailed,
    /// A filter forbids it (RFC 1812 section 5.2.7.1, RFC 4443 section 3.1).
    Prohibited,
    /// The hop limit of the packet was exceeded, or its reassembly time.
    TimeExceeded,
    /// An IP header field is invalid.
    ParameterProblem,
    /// Source quench, obsolete (RFC 6633).
    SourceQuench,
}

impl IcmpKind {
    /// Reads an ICMP message of this type and code; `None` if it reports no error. RFC 792, RFC
    /// 1191, RFC 1812; `mtu` is the low half of its second word.
    pub const fn from_v4(type_: u8, code: u8, mtu: u16) -> Option<Self> {
        Some(match (type_, code) {
            (3, 1 | 7 | 8 | 12) => Self::HostUnreachable,
            (3, 2) => Self::ProtocolUnreachable,
            (3, 3) => Self::PortUnreachable,
            (3, 4) => Self::TooBig { mtu: mtu as u32 },
            (3, 5) => Self::SourceRouteFailed,
            (3, 9 | 10 | 13) => Self::Prohibited,
            (3, _) => Self::NetworkUnreachable,
            (4, _) => Self::SourceQuench,
            (11, _) => Self::TimeExceeded,
            (12, _) => Self::ParameterProblem,
            _ => return None,
        })
    }

    /// Reads an ICMPv6 message (RFC 4443 section 3); `None` if it is not an error. `mtu` is its
    /// second word.
    pub const fn from_v6(type_: u8, code: u8, mtu: u32) -> Option<Self> {
        Some(match (type_, code) {
            (1, 1 | 5 | 6) => Self::Prohibited,
            (1, 3) => Self::HostUnreachable,
            (1, 4) => Self::PortUnreachable,
            (1, _) => Self::NetworkUnreachable,
            (2, _) => Self::TooBig { mtu },
            (3, _) => Self::TimeExceeded,
            // An unrecognized next header: that of TCP.
            (4, 1) => Self::ProtocolUnreachable,
            (4, _) => Self::ParameterProblem,
            _ => return None,
        })
    }

    /// Whether a retry is futile: the hard errors of RFC 9293 section 3.9.2.2. All others are soft,
    /// or have another meaning.
    pub const fn is_hard(self) -> bool {
        matches!(
            self,
            Self::ProtocolUnreachable | Self::PortUnreachable | Self::Prohibited
        )
    }
}

/// An ICMP error about one of our segments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IcmpError {
    /// Kind of the error.
    pub kind: IcmpKind,
    /// SEG.SEQ of the quoted segment.
    pub seq: SeqNumber,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_codes_are_read_as_the_rfcs_list_them() {
        let v4 = |type_, code| IcmpKind::from_v4(type_, code, 1492);
        assert_eq!(v4(3, 4), Some(IcmpKind::TooBig { mtu: 1492 }));
        assert_eq!(v4(3, 0), Some(IcmpKind::NetworkUnreachable));
        assert_eq!(v4(3, 1), Some(IcmpKind::HostUnreachable));
        assert_eq!(v4(3, 13), Some(IcmpKind::Prohibited));
        assert_eq!(v4(4, 0), Some(IcmpKind::SourceQuench));
        assert_eq!(v4(8, 0), None, "echo request");
        let v6 = |type_, code| IcmpKind::from_v6(type_, code, 1280);
        assert_eq!(v6(2, 0), Some(IcmpKind::TooBig { mtu: 1280 }));
        assert_eq!(v6(1, 4), Some(IcmpKind::PortUnreachable));
        assert_eq!(v6(128, 0), None, "echo request");
    }

    #[test]
    fn hard_errors_are_those_of_rfc_9293_section_3_9_2_2() {
        let hard_v4 = |code| IcmpKind::from_v4(3, code, 0).unwrap().is_hard();
        assert_eq!(
            [0, 1, 2, 3, 5].map(hard_v4),
            [false, false, true, true, false]
        );
        let hard_v6 = |code| IcmpKind::from_v6(1, code, 0).unwrap().is_hard();
        assert_eq!([0, 1, 3, 4].map(hard_v6), [false, true, false, true]);
    }
}
