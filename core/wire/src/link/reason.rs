//! Reasons by which packets without a TCP segment are counted, with their names.
//!
//! Numbers from the registries of IANA (IP protocols, PPP), IEEE (EtherTypes, LLC) and
//! tcpdump.org (link types). Numbers without a name here are printed as numbers.

use core::fmt;

use super::{DissectError, Layer};

/// Reason why packets are not read, by which they are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// A reason with a name.
    Named(&'static str),
    /// A number without a name: the kind of number, and its value.
    Numbered(&'static str, u16),
    /// A link type.
    LinkType(u16),
}

impl Reason {
    /// A fragment without a TCP header.
    pub const FRAGMENT: Self = Self::Named("in fragments without a TCP header");
    /// Reasons beyond those that are counted individually.
    pub const OTHER: Self = Self::Named("of other kinds");
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Named(name) => f.write_str(name),
            Self::Numbered(of, number) if of == IP_PROTOCOL => write!(f, "{of} {number}"),
            Self::Numbered(of, number) => write!(f, "{of} 0x{number:04x}"),
            Self::LinkType(number) => match link_type(number) {
                Some(name) => write!(f, "{name} (link type {number})"),
                None => write!(f, "link type {number}"),
            },
        }
    }
}

const IP_PROTOCOL: &str = "IP protocol";

impl DissectError {
    /// Reason by which this packet is counted.
    pub fn reason(&self) -> Reason {
        match *self {
            Self::UnknownLinkType { link } => Reason::LinkType(link.0),
            Self::Cut { .. } => Reason::Named("cut inside their headers"),
            Self::NotIp { layer, kind } => not_ip(layer, kind),
            Self::NotTcp { protocol } => ip_protocol(protocol).map_or(
                Reason::Numbered(IP_PROTOCOL, protocol.into()),
                Reason::Named,
            ),
            Self::LaterFragment { .. } => Reason::FRAGMENT,
            Self::Malformed { .. } => Reason::Named("with malformed headers"),
            Self::Unread { what } => Reason::Named(what),
            Self::TooDeep => Reason::Named("with headers nested too deep"),
        }
    }
}

fn not_ip(layer: Layer, kind: u16) -> Reason {
    let (name, of) = match layer {
        Layer::Ppp => (ppp(kind), "PPP protocol"),
        Layer::Pppoe => (Some("PPPoE discovery"), "PPPoE"),
        Layer::Llc => (llc(kind), "LLC"),
        Layer::Loopback => (None, "address family"),
        Layer::Vxlan if kind == 4 => (Some("NSH"), ""),
        Layer::Vxlan => (None, "VXLAN-GPE protocol"),
        Layer::Gre => (Some("GRE keepalive"), "GRE"),
        Layer::Cooked => (None, "Linux cooked type"),
        _ => (ether_type(kind), "EtherType"),
    };
    name.map_or(Reason::Numbered(of, kind), Reason::Named)
}

const fn ip_protocol(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "ICMP",
        2 => "IGMP",
        17 => "UDP",
        33 => "DCCP",
        46 => "RSVP",
        50 => "ESP (encrypted)",
        58 => "ICMPv6",
        59 => "IPv6 without payload",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        108 => "IPComp",
        112 => "VRRP",
        115 => "L2TP",
        124 => "IS-IS",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => return None,
    })
}

const fn ether_type(number: u16) -> Option<&'static str> {
    Some(match number {
        0x0806 => "ARP",
        0x0842 => "Wake-on-LAN",
        0x22f0 => "AVTP",
        0x22f3 => "TRILL",
        0x6002..=0x6004 => "DECnet",
        0x8035 => "RARP",
        0x809b | 0x80f3 => "AppleTalk",
        0x8137 => "IPX",
        0x8808 => "Ethernet flow control",
        0x8809 => "slow protocols (LACP)",
        0x8863 => "PPPoE discovery",
        0x886d => "Intel ANS",
        0x888e => "EAPOL",
        0x8892 => "PROFINET",
        0x88a2 => "ATA over Ethernet",
        0x88a4 => "EtherCAT",
        0x88ca => "TIPC",
        0x88cc => "LLDP",
        0x88e1 => "HomePlug",
        0x88e5 => "MACsec (encrypted)",
        0x88f5 => "MVRP",
        0x88f7 => "PTP",
        0x8902 => "CFM",
        0x8906 | 0x8914 => "FCoE",
        0x8915 => "RoCE",
        0x893a => "IEEE 1905",
        0x894f => "NSH",
        0x9000 => "Ethernet loopback test",
        // Cisco HDLC puts service access points here.
        0xfefe => "OSI (IS-IS)",
        _ => return None,
    })
}

/// Names the two service access points, or the type of another organization's SNAP.
const fn llc(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0x4242 => "STP",
        0xe0e0 | 0xffff => "IPX",
        0xf0f0 => "NetBIOS",
        0xfefe => "OSI (IS-IS)",
        0x010b => "PVST",
        0x2000 => "CDP",
        0x2003 => "VTP",
        0x2004 => "DTP",
        0x0111 => "UDLD",
        0x809b => "AppleTalk",
        _ => return None,
    })
}

const fn ppp(number: u16) -> Option<&'static str> {
    Some(match number {
        0x002d | 0x002f => "PPP with compressed TCP headers",
        0x003d => "PPP multilink",
        0x00fd => "PPP compressed",
        0x0053 => "PPP encrypted",
        0x8021 => "PPP IPCP",
        0x8057 => "PPP IPv6CP",
        0x80fd => "PPP CCP",
        0xc021 => "PPP LCP",
        0xc023 => "PPP PAP",
        0xc025 => "PPP LQR",
        0xc223 => "PPP CHAP",
        _ => return None,
    })
}

/// Names of link types that occur and are not read.
const fn link_type(number: u16) -> Option<&'static str> {
    Some(match number {
        6 => "token ring",
        7 => "ARCNET",
        8 => "SLIP",
        11 | 100 => "ATM",
        107 => "frame relay",
        117 => "pflog",
        119 => "802.11 with Prism header",
        122 => "IP over Fibre Channel",
        123 => "SunATM",
        130..=137 | 178..=181 => "Juniper",
        138 => "IP over IEEE 1394",
        143 => "DOCSIS",
        147..=162 => "user-defined",
        163 => "802.11 with AVS header",
        177 => "LAPD",
        187 | 201 | 254 => "Bluetooth",
        186 | 189 | 220 | 249 | 266 => "USB",
        192 => "PPI",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        197 => "ERF",
        226 => "Solaris IPNET",
        227 => "CAN",
        239 => "nflog",
        240 | 241 => "netANALYZER",
        242 => "IP over InfiniBand",
        247 => "InfiniBand",
        251 | 256 => "Bluetooth Low Energy",
        252 => "Wireshark exported PDU",
        253 => "netlink",
        281 | 282 | 284 | 285 => "DSA switch tags",
        _ => return None,
    })
}
