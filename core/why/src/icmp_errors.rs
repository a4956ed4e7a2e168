//! ICMP errors that quote segments of one host: of each kind the count, the first, and the reporter.
//!
//! An error counts only if its quote has a sequence number that the host has sent. Only those who
//! saw the segment know it (RFC 5927 section 4.1).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem::{Discriminant, discriminant};
use core::net::IpAddr;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::IcmpKind;
use gigatcp_wire::link::CapturedIcmpError;

use crate::causes::counted;

/// ICMP errors of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpErrors {
    /// Their kind; of several "too big" that with the smallest MTU.
    pub kind: IcmpKind,
    /// Their number.
    pub count: u64,
    /// Packet number of the first; of "too big" that of the first with the smallest MTU.
    pub first_packet: u64,
    /// Router or host that reported it.
    pub reporter: IpAddr,
    /// Time of it.
    pub first_at: Instant,
    /// Time of the last; of "too big" that of the last about a packet above that MTU.
    pub last_at: Instant,
    /// Largest packet quoted, bytes.
    pub packet_len: u32,
}

/// ICMP errors about segments of one host, at most one entry for each kind.
#[derive(Clone, Default, Debug)]
pub(crate) struct IcmpErrorList(Vec<IcmpErrors>);

impl IcmpErrorList {
    pub fn add(&mut self, number: u64, at: Instant, error: &CapturedIcmpError) {
        let id: fn(&IcmpKind) -> Discriminant<IcmpKind> = discriminant;
        let of_kind = |known: &&mut IcmpErrors| id(&known.kind) == id(&error.kind);
        let new = IcmpErrors {
            kind: error.kind,
            count: 1,
            first_packet: number,
            reporter: error.reporter,
            first_at: at,
            last_at: at,
            packet_len: error.packet_len,
        };
        let Some(known) = self.0.iter_mut().find(of_kind) else {
            self.0.push(new);
            return;
        };
        known.count += 1;
        known.packet_len = known.packet_len.max(error.packet_len);
        match (mtu(known.kind), mtu(error.kind)) {
            (Some(least), Some(mtu)) if mtu < least => {
                *known = IcmpErrors {
                    count: known.count,
                    packet_len: known.packet_len,
                    ..new
                };
            }
            (Some(least), _) if error.packet_len <= least => {}
            _ => known.last_at = at,
        }
    }

    /// Errors of each kind, in order of the first.
    pub fn as_slice(&self) -> &[IcmpErrors] {
        &self.0
    }
}

impl IcmpErrors {
    /// Smallest MTU of "fragmentation needed" and "packet too big" that the sender ignored: it sent
    /// larger packets for this long after the first one. `None` if it obeyed, or for other kinds.
    pub(crate) fn ignored_mtu(&self, patience: Duration) -> Option<u32> {
        let ignored = self.last_at.saturating_since(self.first_at);
        mtu(self.kind).filter(|mtu| ignored >= patience && self.packet_len > *mtu)
    }

    /// Kind, count, reporter and place, in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mtu = match mtu(self.kind) {
            Some(mtu) if mtu > 0 => format!(" (MTU {mtu})"),
            _ => String::new(),
        };
        format!(
            "{} \"{}\"{mtu} from {}, first in packet {}",
            counted(self.count, "ICMP error"),
            self.name(),
            self.reporter,
            self.first_packet
        )
    }

    /// Their name in RFC 792 and RFC 4443.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match (self.kind, self.reporter) {
            (IcmpKind::TooBig { .. }, IpAddr::V4(_)) => "fragmentation needed",
            (IcmpKind::TooBig { .. }, IpAddr::V6(_)) => "packet too big",
            (IcmpKind::NetworkUnreachable, IpAddr::V4(_)) => "network unreachable",
            (IcmpKind::NetworkUnreachable, IpAddr::V6(_)) => "no route to destination",
            (IcmpKind::HostUnreachable, _) => "host unreachable",
            (IcmpKind::ProtocolUnreachable, _) => "protocol unreachable",
            (IcmpKind::PortUnreachable, _) => "port unreachable",
            (IcmpKind::SourceRouteFailed, _) => "source route failed",
            (IcmpKind::Prohibited, _) => "administratively prohibited",
            (IcmpKind::TimeExceeded, _) => "time exceeded",
            (IcmpKind::ParameterProblem, _) => "parameter problem",
            (IcmpKind::SourceQuench, _) => "source quench",
        }
    }
}

/// MTU of a link that a packet was too big for.
const fn mtu(kind: IcmpKind) -> Option<u32> {
    match kind {
        IcmpKind::TooBig { mtu } => Some(mtu),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use gigatcp_wire::{Endpoints, SeqNumber};

    use super::*;

    const ROUTER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
    const PATIENCE: Duration = Duration::from_millis(200);

    fn list(errors: &[(u64, u32, u32)]) -> IcmpErrors {
        let mut list = IcmpErrorList::default();
        for (number, (ms, mtu, packet_len)) in (1..).zip(errors) {
            let error = CapturedIcmpError {
                reporter: IpAddr::V4(ROUTER),
                kind: IcmpKind::TooBig { mtu: *mtu },
                endpoints: Endpoints::V4 {
                    src: ROUTER,
                    dst: ROUTER,
                },
                src_port: 1,
                dst_port: 2,
                seq: SeqNumber::new(3),
                packet_len: *packet_len,
            };
            list.add(number, Instant::from_nanos(ms * 1_000_000), &error);
        }
        assert_eq!(list.as_slice().len(), 1);
        list.as_slice()[0]
    }

    #[test]
    fn sender_that_continues_with_large_packets_ignores_the_mtu() {
        let errors = list(&[(1, 1400, 1500), (2, 1400, 1500), (300, 1400, 1500)]);
        assert_eq!(errors.ignored_mtu(PATIENCE), Some(1400));
        assert_eq!((errors.count, errors.first_packet), (3, 1));
    }

    #[test]
    fn sender_that_lowers_its_packets_each_time_obeys() {
        let errors = list(&[(1, 1400, 1500), (2, 1400, 1500), (300, 1300, 1400)]);
        assert_eq!(errors.ignored_mtu(PATIENCE), None);
        assert_eq!(errors.kind, IcmpKind::TooBig { mtu: 1300 });
        assert_eq!(list(&[(1, 1400, 1500)]).ignored_mtu(PATIENCE), None);
    }
}
