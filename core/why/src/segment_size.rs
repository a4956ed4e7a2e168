//! Size of full segments, and its cause (RFC 6691, RFC 1191 section 7).

use core::net::IpAddr;

use gigatcp_flows::{Connection, PacketSummary, Side};

/// MTUs in table 7-1 of RFC 1191.
const PLATEAUS: [u64; 11] = [
    65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68,
];

/// Cause of the size of full segments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SizeCause {
    /// As large as both SYNs allow, or nearly.
    Offers,
    /// Smaller by less than a cluster of 1024 or 2048 bytes. 4.3BSD rounds down to whole clusters.
    Clusters,
    /// Smaller because of a path MTU that a router may have reported.
    PathMtu,
    /// Smaller because of a path MTU that is a plateau of RFC 1191. The MTU was guessed or cached.
    Plateau,
    /// Few segments have the largest size, so it need not be the limit.
    FewFull,
    /// A SYN was not seen, or had no MSS.
    Unseen,
}

impl SizeCause {
    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offers => "offers",
            Self::Clusters => "clusters",
            Self::PathMtu => "path_mtu",
            Self::Plateau => "plateau",
            Self::FewFull => "few_full",
            Self::Unseen => "unseen",
        }
    }

    /// Its description in output.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Offers => "as offered",
            Self::Clusters => "whole clusters",
            Self::PathMtu => "path MTU",
            Self::Plateau => "guessed MTU",
            Self::FewFull => "few are full",
            Self::Unseen => "?",
        }
    }
}

/// The size of a direction's full segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentSize {
    /// Octets of payload.
    pub octets: u64,
    /// Bytes that both SYNs allow, less the timestamps option.
    pub allowed: Option<u64>,
    /// Bytes of the packet of a full segment. It is the sender's path MTU, if that is the cause.
    pub packet: u64,
    /// Cause of the size.
    pub cause: SizeCause,
    /// Number of segments of this size in excess of others.
    pub(crate) full: u64,
}

/// Observed segment sizes of a direction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sizes {
    /// Maximum payload of a wire segment.
    pub mss: u64,
    /// The size of most packets, and their number in excess of others.
    pub usual: (u64, u64),
    /// Packets with new data.
    pub segments: u64,
    /// Whether they carry timestamps.
    pub has_stamps: bool,
}

impl Sizes {
    /// Bytes of a full segment: the usual size if that is clear.
    pub const fn full(&self) -> u64 {
        let (usual, lead) = self.usual;
        if lead >= 20 && usual > 64 && usual <= self.mss {
            usual
        } else if self.mss > 0 {
            self.mss
        } else {
            1
        }
    }

    /// Bytes of headers of a segment with data from that side.
    pub fn headers(&self, connection: &Connection, side: Side) -> u64 {
        let ip = match connection.endpoint(side).address {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        };
        ip + 20 + if self.has_stamps { 12 } else { 0 }
    }
}

/// Bytes of a full wire segment that a packet of new data shows. For a super-segment these are the
/// bytes of its parts.
#[inline]
pub(crate) fn wire_segment(connection: &Connection, side: Side, packet: &PacketSummary) -> u64 {
    let largest = connection.direction(side).largest_segment();
    if packet.payload_len <= largest {
        return largest.into();
    }
    connection.segment_size(side, packet).into()
}

/// Updates the majority vote of Boyer and Moore: the most frequent size, and its lead.
pub(crate) const fn vote(usual: (u64, u64), octets: u64) -> (u64, u64) {
    match usual {
        (_, 0) => (octets, 1),
        (size, lead) if size == octets => (size, lead + 1),
        (size, lead) => (size, lead - 1),
    }
}

impl SegmentSize {
    /// Segment size of the data of that side.
    pub(crate) fn of(connection: &Connection, side: Side, sizes: &Sizes) -> Self {
        let octets = sizes.full();
        let allowed = allowed(connection, side);
        let packet = octets + sizes.headers(connection, side);
        let (usual, lead) = sizes.usual;
        let full = if usual == octets { lead } else { 0 };
        let is_rounded = |allowed: u64| {
            octets < allowed && [1024, 2048].iter().any(|of| octets == allowed / of * of)
        };
        let cause = match allowed {
            None => SizeCause::Unseen,
            Some(allowed) if is_rounded(allowed) => SizeCause::Clusters,
            Some(allowed) if octets * 10 >= allowed * 9 => SizeCause::Offers,
            Some(_) => {
                let is_full = full >= 2 && full * 3 >= sizes.segments && octets > 100;
                match is_full {
                    false => SizeCause::FewFull,
                    true if PLATEAUS.contains(&packet) => SizeCause::Plateau,
                    true => SizeCause::PathMtu,
                }
            }
        };
        Self {
            octets,
            allowed,
            packet,
            cause,
            full,
        }
    }
}

/// Segment size that both SYNs allow.
fn allowed(connection: &Connection, side: Side) -> Option<u64> {
    let options = connection.direction(side).options()?;
    let theirs = connection.direction(side.other()).options()?;
    let mss = options.mss?.min(theirs.mss?);
    let stamps = if options.timestamps && theirs.timestamps {
        12
    } else {
        0
    };
    Some(u64::from(mss).saturating_sub(stamps))
}
