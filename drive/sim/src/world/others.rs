//! Datagrams, and flows that begin during the simulation.

use std::collections::BTreeSet;
use std::rc::Rc;

use gigatcp_path::{Hop, Parcel, SharedMedium};

use super::World;
use crate::ends::Ends;
use crate::host::Host;
use crate::outcome::DatagramsOutcome;
use crate::packet::Packet;

impl World {
    /// Begins the flows that are due.
    pub(super) fn begin_flows(&mut self) {
        while let Some(hosts) = self.short_flows.begin_next(self.now, &mut self.hosts) {
            for host in hosts {
                self.reschedule_host(host as usize);
            }
        }
        let element = self.sampler() + 1;
        self.schedule.set(element, self.short_flows.next_timer());
    }

    /// Whether flows that begin during the simulation, or datagrams, keep it running.
    pub(super) fn awaits_others(&self) -> bool {
        let is_sending = |ends: &Ends| {
            let source = ends.places[0];
            !self.hosts[source.host as usize]
                .source(source.socket)
                .source()
                .is_finished()
        };
        self.short_flows.is_awaited()
            || (self.connections.is_empty() && self.datagrams.iter().any(is_sending))
            || (self.connections.is_empty() && self.has_datagrams_inside())
    }

    /// Whether datagrams are in the network or at a host.
    fn has_datagrams_inside(&self) -> bool {
        !self.datagrams.is_empty()
            && (self.hosts.iter().any(Host::is_working) || self.network.is_occupied())
    }

    /// Flow and number of each datagram in the network or at a host. Receive buffers are excluded.
    pub(super) fn datagrams_inside(&self) -> BTreeSet<(u32, u64)> {
        if self.datagrams.is_empty() {
            return BTreeSet::new();
        }
        let on_links = self.network.links().iter().flat_map(Hop::parcels);
        let media = self.network.media().iter();
        let on_medium = media.flat_map(SharedMedium::parcels);
        let at_hosts = self.hosts.iter().flat_map(Host::packets);
        let all = on_links.chain(on_medium).chain(at_hosts);
        let number = |packet: &Packet| Some((packet.flow, packet.sent_datagram()?));
        all.filter_map(number).collect()
    }

    /// Delivers a datagram, or a packet of a flow in `short_flows`, to its host.
    #[inline(never)]
    pub(super) fn deliver_other(&mut self, packet: Packet) {
        if !packet.reverse() {
            self.carried_in_all += packet.ip_bytes();
        }
        self.fingerprint(&packet);
        let number = packet.flow as usize - self.connections.len();
        let ends = match self.datagrams.get(number) {
            Some(ends) => Some(*ends),
            None => self.short_flows.ends(packet.flow),
        };
        // Without ends the flow was removed: the packet is a duplicate or was reordered.
        if let Some(Ends { places, .. }) = ends {
            let place = places[usize::from(!packet.reverse())];
            if let (Some(tap), Some(_)) = (&mut self.tap, packet.sent_segment()) {
                tap.on_packet(self.now, &packet, packet.reverse());
            }
            let host = place.host as usize;
            self.hosts[host].handle_packet(self.now, place.socket, packet, &mut self.out);
            self.after_host(host, Some(place.socket));
        }
    }
}

/// Results of a source of datagrams and its sink. `inside` has the flow and number of each datagram
/// on the path.
pub(super) fn outcome(
    ends: &Ends,
    hosts: &[Rc<Host>],
    inside: &BTreeSet<(u32, u64)>,
) -> DatagramsOutcome {
    let [source, sink] = ends.places;
    let sink = hosts[sink.host as usize].sink(sink.socket);
    let source = hosts[source.host as usize].source(source.socket);
    let (sent, received) = (source.source().sent(), sink.sink().report());
    let of_flow = inside.range((source.flow(), 0)..=(source.flow(), u64::MAX));
    let numbers: BTreeSet<u64> = of_flow.map(|(_, seq)| *seq).chain(sink.waiting()).collect();
    let in_transit = numbers.iter().filter(|seq| !sink.sink().has(**seq)).count();
    DatagramsOutcome {
        sent,
        received,
        lost: sent - received.received - in_transit as u64,
        drops: *sink.drops(),
    }
}
