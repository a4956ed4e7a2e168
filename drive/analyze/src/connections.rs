//! The connections of a capture, in the order of their first packets, independent of the threads
//! that tracked them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use gigatcp_flows::{Connection, Endpoint, FlowTable, Side};
use gigatcp_why::{
    AcceptQueue, CaptureContext, CapturePoint, Diagnosis, NoData, NoDataKind, RepeatedHandshakes,
    Watcher, shown_bytes,
};

use crate::name_lookups::LookupsByAddress;
use crate::programs::{self, Programs};

/// The connections of a capture, in the order of their first packets.
#[derive(Debug, Default)]
pub struct Connections {
    watchers: Vec<Watcher>,
    places: Vec<Place>,
    lookups: LookupsByAddress,
    /// What they say of each other; made when it is needed, until another packet comes.
    programs: OnceLock<Programs>,
}

/// Watcher of a connection and its index there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    first_packet: u64,
    watcher: usize,
    index: usize,
}

impl Connections {
    /// Connections of these watchers, each tracked by one of them.
    pub(crate) fn new(watchers: Vec<Watcher>, lookups: LookupsByAddress) -> Self {
        let places = watchers.iter().enumerate().flat_map(|(which, watcher)| {
            let all = 0..watcher.table().len();
            all.filter_map(move |index| {
                Some(Place {
                    first_packet: watcher.first_packet(index)?,
                    watcher: which,
                    index,
                })
            })
        });
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        Self {
            watchers,
            places,
            lookups,
            programs: OnceLock::new(),
        }
    }

    /// Analyzes a packet, whose number is above that of the one before.
    pub(crate) fn handle_packet(&mut self, number: u64, packet: &gigatcp_flows::Observed) {
        self.programs.take();
        let watcher = &mut self.watchers[0];
        let verdict = watcher.handle_packet(number, packet);
        if verdict.connection == self.places.len() {
            self.places.push(Place {
                first_packet: number,
                watcher: 0,
                index: verdict.connection,
            });
        }
    }

    /// Number of connections.
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no connections.
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Watcher of a connection, and its index there.
    pub(crate) fn at(&self, index: usize) -> Option<(&Watcher, usize)> {
        let place = self.places.get(index)?;
        Some((&self.watchers[place.watcher], place.index))
    }

    /// The window scales that the packets show of connections that begin without a SYN.
    pub(crate) fn shown_window_scales(&self) -> Vec<([Endpoint; 2], [u8; 2])> {
        let shown = |place: &Place| self.watchers[place.watcher].shown_window_scales(place.index);
        self.places.iter().filter_map(shown).collect()
    }

    /// Watcher of the connection that begins with that packet, and its index there.
    pub(crate) fn beginning_at(&self, first_packet: u64) -> Option<(&Watcher, usize)> {
        let place = |place: &Place| place.first_packet;
        let index = self
            .places
            .binary_search_by_key(&first_packet, place)
            .ok()?;
        self.at(index)
    }

    /// Number of a connection's first packet.
    pub(crate) fn first_packet(&self, index: usize) -> Option<u64> {
        Some(self.places.get(index)?.first_packet)
    }

    /// Table with the counts of a connection, and its index in that table.
    ///
    /// Each thread has filled a separate table.
    pub fn table_of(&self, index: usize) -> Option<(&FlowTable, usize)> {
        let (watcher, place) = self.at(index)?;
        Some((watcher.table(), place))
    }

    /// Counts of a connection.
    pub fn connection(&self, index: usize) -> Option<&Connection> {
        let (table, place) = self.table_of(index)?;
        table.connection(place)
    }

    /// Counts of all connections, each with the number of its first packet.
    pub fn iter(&self) -> impl Iterator<Item = (&Connection, u64)> {
        self.places.iter().filter_map(|place| {
            let table = self.watchers[place.watcher].table();
            Some((table.connection(place.index)?, place.first_packet))
        })
    }

    /// What limited a connection; `None` if it carried no data, or its state was not
    /// [held](crate::Options::held).
    ///
    /// Each call computes it again, since a capture may have more connections than fit in memory as
    /// diagnoses.
    pub fn diagnose(&self, index: usize) -> Option<Diagnosis> {
        let mut diagnosis = self.diagnose_alone(index)?;
        self.explain(index, &mut diagnosis);
        Some(diagnosis)
    }

    /// Adds to the diagnosis of a connection what others of the capture say of it.
    pub(crate) fn explain(&self, index: usize, diagnosis: &mut Diagnosis) {
        if let Some(connection) = self.connection(index) {
            let all = || self.iter().map(|(connection, _)| connection);
            let programs = self.programs.get_or_init(|| Programs::of(all()));
            programs.explain(connection, diagnosis);
            self.explain_lookup(index, diagnosis);
        }
    }

    /// Adds how long the client of a connection waited for the address of the server.
    pub(crate) fn explain_lookup(&self, index: usize, diagnosis: &mut Diagnosis) {
        let waited = self
            .connection(index)
            .and_then(|known| self.lookups.before(known));
        if let Some(waited) = waited {
            diagnosis.add_lookup(waited);
        }
    }

    /// Diagnosis from the packets of the connection alone.
    pub(crate) fn diagnose_alone(&self, index: usize) -> Option<Diagnosis> {
        let (watcher, place) = self.at(index)?;
        watcher.diagnose(place)
    }

    /// Connections that control the others of their program, by index.
    pub fn controls(&self) -> HashSet<usize> {
        let all = (0..self.len()).filter_map(|index| Some((index, self.connection(index)?)));
        programs::controls(all)
    }

    /// Side that sent more data.
    pub fn sender(&self, index: usize) -> Option<Side> {
        let (watcher, place) = self.at(index)?;
        watcher.sender(place)
    }

    /// Where the data of this side was captured, and the segment size there.
    pub fn capture_context(&self, index: usize, side: Side) -> Option<CaptureContext> {
        let (watcher, place) = self.at(index)?;
        watcher.capture_context(place, side)
    }

    /// Unique bytes of a connection, in the direction that has more.
    pub fn data_bytes(&self, index: usize) -> u64 {
        self.connection(index).map_or(0, data_bytes)
    }

    /// Connections that carried data, in the order of their first packets.
    pub fn with_data(&self) -> Vec<usize> {
        let all = 0..self.len();
        let has_data = |index: &usize| self.connection(*index).is_some_and(carried_data);
        all.filter(has_data).collect()
    }

    /// What became of a connection that carried no data; `None` if it carried some.
    pub fn no_data(&self, index: usize) -> Option<NoData<'_>> {
        let (watcher, place) = self.at(index)?;
        watcher.no_data(place)
    }

    /// What became of the connections without data: of each kind the indices, the kind with most
    /// connections first.
    pub fn without_data(&self) -> Vec<(NoDataKind, Vec<usize>)> {
        let mut kinds: BTreeMap<NoDataKind, Vec<usize>> = BTreeMap::new();
        for index in 0..self.len() {
            if let Some(found) = self.no_data(index) {
                kinds.entry(found.kind).or_default().push(index);
            }
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, indices)| Reverse(indices.len()));
        kinds
    }

    /// Clients that open a connection for each request, where that takes much of the time.
    pub fn repeated_handshakes(&self) -> Vec<RepeatedHandshakes> {
        let all = 0..self.len();
        RepeatedHandshakes::of(all.filter_map(|index| self.connection(index)))
    }

    /// Servers that ignored connections while they answered others.
    pub fn full_accept_queues(&self) -> Vec<AcceptQueue> {
        let all = (0..self.len()).filter_map(|index| self.connection(index));
        AcceptQueue::of(all, |index| {
            let context = self.capture_context(index, Side::Server);
            context.is_some_and(|context| context.view == CapturePoint::Sender)
        })
    }

    /// Connections that carried data, largest first.
    pub fn largest_first(&self) -> Vec<usize> {
        let mut all = self.with_data();
        all.sort_by_key(|index| (Reverse(self.data_bytes(*index)), *index));
        all
    }
}

fn carried_data(connection: &Connection) -> bool {
    let mut sides = Side::BOTH.iter();
    sides.any(|side| shown_bytes(connection, *side) > 0)
}

/// Unique bytes of a connection, in the direction that has more. A window or so that never passed
/// here counts as well, if a later packet shows that it was sent and it was never acknowledged:
/// where all is lost, what arrives is less than another connection's control messages.
pub(crate) fn data_bytes(connection: &Connection) -> u64 {
    let of = |side| shown_bytes(connection, side) + connection.direction(side).missing_bytes();
    of(Side::Client).max(of(Side::Server))
}
