//! Programs with several connections to one service: the end of one explains the end of another.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use gigatcp_flows::{Connection, Endpoint, Side};
use gigatcp_units::{Duration, Instant};
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

/// Connections that control others of their program, as those of iperf3 and of this project's tester do:
/// others began within two seconds and ended before it, and both sides sent little, less than a twentieth of
/// what the others carried, or at less than 200 kbit/s.
pub(crate) fn controls<'a>(
    connections: impl Iterator<Item = (usize, &'a Connection)>,
) -> HashSet<usize> {
    /// Maximum number of later connections that are compared.
    const MAX_LATER: usize = 16;
    let mut programs: HashMap<_, Vec<(usize, &Connection)>> = HashMap::new();
    for (index, connection) in connections {
        let all = programs.entry(key(connection)).or_default();
        all.push((index, connection));
    }
    let mut found = HashSet::new();
    for mut all in programs.into_values().filter(|all| all.len() > 1) {
        all.sort_by_key(|(index, connection)| (connection.first_at(), *index));
        for (place, (index, control)) in all.iter().enumerate() {
            let later = all[place + 1..].iter().take(MAX_LATER);
            let within = later.filter(|(_, data)| is_within(data, control));
            let carried: Vec<u64> = within.map(|(_, data)| bytes(data).iter().sum()).collect();
            if !carried.is_empty() && is_talk(control, carried.iter().sum()) {
                found.insert(*index);
            }
        }
    }
    found
}

fn is_within(data: &Connection, control: &Connection) -> bool {
    let after = data.first_at().saturating_since(control.first_at());
    after <= Duration::from_secs(2) && data.last_at() <= control.last_at()
}

/// Unique bytes of both sides.
fn bytes(connection: &Connection) -> [u64; 2] {
    Side::BOTH.map(|side| connection.direction(side).unique_bytes())
}

/// Whether both sides sent data, and little of it for what the others carried.
fn is_talk(control: &Connection, carried: u64) -> bool {
    const MAX_RATE: f64 = 200_000.0 / 8.0;
    let both = bytes(control);
    let sum = both[0].saturating_add(both[1]);
    let is_slow = sum as f64 <= MAX_RATE * control.elapsed().as_secs_f64();
    both.iter().all(|bytes| *bytes > 0) && (is_slow || sum.saturating_mul(20) <= carried)
}
