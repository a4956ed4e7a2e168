//! Link types: the numbers in capture files of the header that packets begin with ("LINK-LAYER
//! HEADER TYPES", tcpdump.org). Files of some systems hold that system's own number if it differs
//! from the registered one. Such numbers are accepted if they are no other type's.

/// The header that the packets of a capture begin with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: an address family in the octet order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without address and control octets.
    pub const PPP: Self = Self(9);
    /// FDDI: found in captures of the 1990s.
    pub const FDDI: Self = Self(10);
    /// Bare IP, as most systems number it.
    pub const RAW_BSD: Self = Self(12);
    /// Bare IP, as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662).
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE session packets without Ethernet (RFC 2516).
    pub const PPP_ETHER: Self = Self(51);
    /// Bare IP of either version.
    pub const RAW: Self = Self(101);
    /// Cisco PPP with HDLC framing.
    pub const C_HDLC: Self = Self(104);
    /// IEEE 802.11 (Wi-Fi).
    pub const IEEE802_11: Self = Self(105);
    /// OpenBSD loopback: an address family in network order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture.
    pub const LINUX_SLL: Self = Self(113);
    /// IEEE 802.11 after a radiotap header.
    pub const IEEE802_11_RADIOTAP: Self = Self(127);
    /// PPP with a direction octet in front, as pppd writes it.
    pub const PPP_PPPD: Self = Self(166);
    /// PPP with a direction octet in front.
    pub const PPP_WITH_DIR: Self = Self(204);
    /// Bare IPv4.
    pub const IPV4: Self = Self(228);
    /// Bare IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, second version.
    pub const LINUX_SLL2: Self = Self(276);

    /// Its common name; `None` for types that are not read.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NULL => "BSD loopback",
            Self::ETHERNET => "Ethernet",
            Self::PPP | Self::PPP_HDLC | Self::PPP_PPPD | Self::PPP_WITH_DIR => "PPP",
            Self::FDDI => "FDDI",
            Self::RAW | Self::RAW_BSD | Self::RAW_OPENBSD => "bare IP",
            Self::PPP_ETHER => "PPPoE",
            Self::C_HDLC => "Cisco HDLC",
            Self::LOOP => "OpenBSD loopback",
            Self::IEEE802_11 => "802.11",
            Self::IEEE802_11_RADIOTAP => "802.11 with radiotap",
            Self::LINUX_SLL => "Linux cooked",
            Self::LINUX_SLL2 => "Linux cooked v2",
            Self::IPV4 => "bare IPv4",
            Self::IPV6 => "bare IPv6",
            _ => return None,
        })
    }
}
