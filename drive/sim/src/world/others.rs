//! Datagrams, and flows that begin while the world runs.

use std::rc::Rc;

use gigatcp_path::Parcel;

use super::World;
use crate::host::Host;
use crate::outcome::DatagramsOutcome;
use crate::packet::Packet;
use crate::populate::Ends;

impl World {
    /// Begins the flows that are due.
    pub(super) fn begin_flows(&mut self) {
        while let Some(hosts) = self.short_flows.begin_next(self.now, &mut self.hosts) {
            for host in hosts {
                self.reschedule_host(host as usize);
            }
        }
        let element = self.sampler() + 1;
        self.schedule.set(element, self.short_flows.poll_timeout());
    }

    /// Whether flows that begin while the world runs, or datagrams, keep it going.
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

    /// Whether packets are in the network or at a host, in a world of datagrams.
    fn has_datagrams_inside(&self) -> bool {
        !self.datagrams.is_empty()
            && (self.hosts.iter().any(Host::is_working) || self.network.is_occupied())
    }

    /// A datagram, or a packet of a flow that began while the world ran, reaches its host.
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
        // Without ends the flow has gone: a duplicate, or a packet that was reordered.
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

/// What came out of a source of datagrams and its sink.
pub(super) fn outcome(ends: &Ends, hosts: &[Rc<Host>]) -> DatagramsOutcome {
    let [source, sink] = ends.places;
    let sink = hosts[sink.host as usize].sink(sink.socket);
    let source = hosts[source.host as usize].source(source.socket);
    DatagramsOutcome {
        sent: source.source().sent(),
        received: sink.sink().report(),
        overflows: sink.overflows(),
        checksum_errors: sink.checksum_errors(),
    }
}
