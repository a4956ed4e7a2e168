//! Connections of the same hosts: the end of one explains the end of another, and they share a path.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use gigatcp_flows::{Connection, Endpoint, Side};
use gigatcp_units::{Duration, Instant, Rate};
use gigatcp_why::{Diagnosis, Shared, shown_bytes};

/// What connections of the same hosts say of each other.
#[derive(Debug)]
pub(crate) struct Programs {
    /// By client and service, the first and the last packet of those that a FIN ended latest.
    ended: HashMap<(IpAddr, Endpoint), Vec<[Instant; 2]>>,
    /// By sender and receiver, what the largest carried.
    carried: HashMap<(IpAddr, IpAddr), Vec<Carried>>,
}

/// Data of one direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Carried {
    bytes: u64,
    from: Instant,
    until: Instant,
}

/// Maximum number of connections of two hosts that are compared.
const MAX_COMPARED: usize = 1024;

impl Carried {
    fn of(connection: &Connection, side: Side) -> Self {
        Self {
            bytes: shown_bytes(connection, side),
            from: connection.first_at(),
            until: connection.last_at(),
        }
    }

    /// Bytes in that time, at its mean rate.
    fn within(&self, from: Instant, until: Instant) -> f64 {
        let common = self.until.min(until).saturating_since(self.from.max(from));
        let whole = self.until.saturating_since(self.from).as_secs_f64();
        self.bytes as f64 * common.as_secs_f64() / whole.max(1e-9)
    }
}

fn key(connection: &Connection) -> (IpAddr, Endpoint) {
    let [client, server] = Side::BOTH.map(|side| connection.endpoint(side));
    (client.address, server)
}

/// Sender and receiver of a direction.
fn way(connection: &Connection, side: Side) -> (IpAddr, IpAddr) {
    let address = |side| connection.endpoint(side).address;
    (address(side), address(side.other()))
}

impl Programs {
    pub(crate) fn of<'a>(connections: impl Iterator<Item = &'a Connection>) -> Self {
        let mut ended: HashMap<_, Vec<[Instant; 2]>> = HashMap::new();
        let mut carried: HashMap<_, Vec<Carried>> = HashMap::new();
        // The capture may end before the second FIN.
        let is_closed = |connection: &&Connection| {
            let sides = Side::BOTH.map(|side| connection.direction(side));
            sides.iter().any(|side| side.has_fin()) && !sides.iter().any(|side| side.has_reset())
        };
        for connection in connections {
            if is_closed(&connection) {
                let of_program = ended.entry(key(connection)).or_default();
                of_program.push([connection.first_at(), connection.last_at()]);
                keep_most(of_program, |[_, last]| *last);
            }
            for side in Side::BOTH {
                let of_pair = carried.entry(way(connection, side)).or_default();
                of_pair.push(Carried::of(connection, side));
                keep_most(of_pair, |carried| carried.bytes);
            }
        }
        Self { ended, carried }
    }

    /// Adds to a diagnosis what others of the capture say of it.
    pub(crate) fn explain(&self, connection: &Connection, diagnosis: &mut Diagnosis) {
        self.explain_reset(connection, diagnosis);
        let [forward, reverse] = [diagnosis.sender, diagnosis.sender.other()];
        diagnosis.shared = self.shared(connection, forward, diagnosis);
        diagnosis.against = self.shared(connection, reverse, diagnosis);
    }

    /// What other connections between the same hosts carried from that side meanwhile, if that was a
    /// tenth of what this one did.
    fn shared(&self, connection: &Connection, side: Side, diagnosis: &Diagnosis) -> Option<Shared> {
        let own = Carried::of(connection, side);
        let (from, until) = (diagnosis.start, diagnosis.start + diagnosis.duration);
        let all = self.carried.get(&way(connection, side))?;
        let others = all.iter().filter(|carried| **carried != own);
        let meanwhile = others.map(|carried| carried.within(from, until));
        let least = diagnosis.delivered.as_u64() as f64 / 100.0;
        let (count, bytes) = meanwhile
            .filter(|bytes| *bytes > least.max(1.0))
            .fold((0, 0.0), |(count, sum), bytes| (count + 1, sum + bytes));
        let bits = 8.0 * bytes / diagnosis.duration.as_secs_f64().max(1e-9);
        let rate = Rate::from_bps(bits as u64);
        let is_much = rate.as_bps().saturating_mul(10) >= diagnosis.throughput.as_bps();
        (count > 0 && is_much).then_some(Shared {
            connections: count,
            rate,
        })
    }

    /// Takes the reset of a transfer for its regular end if another connection of the same program
    /// was there and went on after it, and closed in order: iperf3 ends each test so.
    fn explain_reset(&self, connection: &Connection, diagnosis: &mut Diagnosis) {
        let Some(cut) = diagnosis.cut.filter(|cut| cut.silence.is_none()) else {
            return;
        };
        let reset_at = diagnosis.start + cut.after;
        let goes_on = |[first, last]: &[Instant; 2]| *first < reset_at && *last >= reset_at;
        let ended = self.ended.get(&key(connection));
        if ended.is_some_and(|ended| ended.iter().any(goes_on)) {
            diagnosis.cut = None;
        }
    }
}

/// Keeps those with most of a key, where there are twice too many.
fn keep_most<T, K: Ord>(list: &mut Vec<T>, most: impl Fn(&T) -> K) {
    if list.len() >= 2 * MAX_COMPARED {
        list.sort_by_key(|item| Reverse(most(item)));
        list.truncate(MAX_COMPARED);
    }
}

/// Connections that control others of their program, as those of iperf3 and of this project's tester do:
/// others began within two seconds and ended before it, and both sides sent little, less than a twentieth of
/// what the others carried, or less than 100 kB at less than 200 kbit/s.
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
    /// What a tester's ends tell each other, and its rate.
    const MAX_BYTES: u64 = 100_000;
    const MAX_RATE: f64 = 200_000.0 / 8.0;
    let both = bytes(control);
    let sum = both[0].saturating_add(both[1]);
    let is_slow = sum as f64 <= MAX_RATE * control.elapsed().as_secs_f64();
    let is_little = is_slow && sum <= MAX_BYTES || sum.saturating_mul(20) <= carried;
    both.iter().all(|bytes| *bytes > 0) && is_little
}
