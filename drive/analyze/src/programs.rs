//! Programs with several connections to one service: the end of one explains the end of another.

use std::collections::HashMap;
use std::net::IpAddr;

use gigatcp_flows::{Connection, Endpoint, Side};
use gigatcp_units::Instant;
use gigatcp_why::Diagnosis;

/// Client and service of connections, with the time of the last packet of those that a FIN ended.
#[derive(Debug)]
pub(crate) struct Programs(HashMap<(IpAddr, Endpoint), Instant>);

fn key(connection: &Connection) -> (IpAddr, Endpoint) {
    let [client, server] = Side::BOTH.map(|side| connection.endpoint(side));
    (client.address, server)
}

impl Programs {
    pub(crate) fn of<'a>(connections: impl Iterator<Item = &'a Connection>) -> Self {
        let mut ends: HashMap<_, Instant> = HashMap::new();
        // The capture may end before the second FIN.
        let is_closed = |connection: &&Connection| {
            let sides = Side::BOTH.map(|side| connection.direction(side));
            sides.iter().any(|side| side.has_fin()) && !sides.iter().any(|side| side.has_reset())
        };
        for connection in connections.filter(is_closed) {
            let last = connection.last_at();
            let end = ends.entry(key(connection)).or_insert(last);
            *end = last.max(*end);
        }
        Self(ends)
    }

    /// Takes the reset of a transfer for its regular end if another connection of the same program
    /// went on after it and closed in order: iperf3 ends each test so.
    pub(crate) fn explain_reset(&self, connection: &Connection, diagnosis: &mut Diagnosis) {
        let Some(cut) = diagnosis.cut.filter(|cut| cut.silence.is_none()) else {
            return;
        };
        let reset_at = diagnosis.start + cut.after;
        let went_on = self
            .0
            .get(&key(connection))
            .is_some_and(|end| *end >= reset_at);
        if went_on {
            diagnosis.cut = None;
        }
    }
}
