//! Joins what a tester and `ss` show of one transfer.
//!
//! A tester has the rate of each interval; `ss` has what the kernel counted while the sender waited,
//! and what the receiver left unread. Each alone leaves open what both together decide. They are
//! joined if they name the same ends; a tester whose text names none, with the connection of `ss`
//! that moved nearly all of its bytes.

use gigatcp_units::{Bytes, Duration};
use gigatcp_why::counters::{End, Reading};

use super::{COARSE, ReportedConnection, Statement};

/// Bytes of the largest connection of `ss` over those of any other one, for it to be that of a tester
/// which names no ends.
const LARGEST: u64 = 10;

/// Share of a tester's time from which on the readings of `ss` stand for it alone, and their number.
const MOST: f64 = 0.5;
const MIN_READINGS: usize = 4;

/// Note on parts that are joined.
const JOINED: &str = "the tester and `ss` show the same connection: explained together";

/// Joins the connections of `ss` to those of testers, in the same text or another one.
pub(super) fn join(statements: &mut [Statement]) {
    for tester in 0..statements.len() {
        for part in 0..statements[tester].parts.len() {
            if !statements[tester].parts[part].is_of_tester() {
                continue;
            }
            let mut connections = std::mem::take(&mut statements[tester].parts[part].connections);
            let is_only = connections.len() == 1;
            let mut has_counters = false;
            for connection in &mut connections {
                for sockets in take_sockets(statements, connection, is_only) {
                    has_counters |= sockets.of(End::Sender).is_some();
                    add(connection, sockets);
                }
            }
            let part = &mut statements[tester].parts[part];
            part.connections = connections;
            if has_counters {
                part.notes.retain(|note| note != COARSE);
                part.notes.push(JOINED.to_owned());
            }
        }
    }
}

/// Takes out the connections of `ss` that are this transfer: of its sender, its receiver, or both.
fn take_sockets(
    statements: &mut [Statement],
    tester: &ReportedConnection,
    is_only: bool,
) -> Vec<ReportedConnection> {
    let parts = statements.iter_mut().flat_map(|text| &mut text.parts);
    let parts: Vec<_> = parts.filter(|part| part.source == "ss").collect();
    let bytes = || {
        let connections = parts.iter().flat_map(|part| &part.connections);
        connections.map(|sockets| (ends(&sockets.ends), sockets.bytes()))
    };
    let named = tester.ends.contains(" -> ").then(|| ends(&tester.ends));
    let wanted = named.or_else(|| {
        let (largest, most) = bytes().max_by_key(|(_, bytes)| *bytes)?;
        let is_large = |bytes: u64| bytes.saturating_mul(LARGEST) <= most;
        let is_alone = bytes().all(|(ends, bytes)| ends == largest || is_large(bytes));
        (is_only && is_alone).then_some(largest)
    });
    let mut taken = Vec::new();
    for part in parts {
        let (found, others) = std::mem::take(&mut part.connections)
            .into_iter()
            .partition(|sockets| wanted.as_deref() == Some(&ends(&sockets.ends)));
        part.connections = others;
        let found: Vec<ReportedConnection> = found;
        if !found.is_empty() {
            part.notes.clear();
        }
        taken.extend(found);
    }
    taken
}

/// The names of both ends, alike in all programs.
pub(super) fn ends(text: &str) -> String {
    text.replace("::ffff:", "").replace(['[', ']'], "")
}

/// Adds the readings of `ss` to those of a tester.
fn add(tester: &mut ReportedConnection, sockets: ReportedConnection) {
    let unread = sockets.of(End::Receiver).and_then(|last| last.unread);
    if let Some(last) = sockets.of(End::Sender).copied() {
        tester.congestion = sockets.congestion.clone().or(tester.congestion.take());
        if sockets.steps.len() >= MIN_READINGS && sockets.time() >= MOST * tester.time() {
            tester.steps = sockets.steps;
            return;
        }
        add_counters(&mut tester.steps, &last);
        tester.is_snapshot = true;
    }
    if unread.is_some() {
        tester.add_receiver(&Reading {
            unread,
            ..Reading::default()
        });
    }
}

/// Adds what the sender's kernel counted since the connection began to the intervals of a tester. Its
/// waits are taken to be spread evenly over them.
fn add_counters(steps: &mut [(End, Reading)], socket: &Reading) {
    let busy = socket.busy.unwrap_or_default().as_secs_f64();
    let [(_, begin), .., (_, end)] = steps else {
        return;
    };
    let (begin, whole) = (begin.at, end.at.saturating_since(begin.at).as_secs_f64());
    if busy <= 0.0 || whole <= 0.0 {
        return;
    }
    for (_, reading) in steps {
        let elapsed = reading.at.saturating_since(begin);
        let active = elapsed.saturating_sub(reading.app_idle.unwrap_or_default());
        let part = elapsed.as_secs_f64() / whole;
        let waited = |of: Option<Duration>| {
            let share = (of?.as_secs_f64() / busy).min(1.0);
            Some(Duration::from_secs_f64(active.as_secs_f64() * share))
        };
        let counted = |of: Option<u64>| of.map(|count| (count as f64 * part) as u64);
        *reading = Reading {
            busy: Some(active),
            rwnd_limited: waited(socket.rwnd_limited),
            sndbuf_limited: waited(socket.sndbuf_limited),
            dsack_dups: counted(socket.dsack_dups),
            reord_seen: counted(socket.reord_seen),
            delivered_ce: counted(socket.delivered_ce),
            total_retrans: reading.total_retrans.or(counted(socket.total_retrans)),
            options: socket.options,
            snd_wscale: socket.snd_wscale,
            rcv_wscale: socket.rcv_wscale,
            smss: socket.smss,
            app_limited: socket.app_limited,
            notsent: socket.notsent,
            rtt: reading.rtt.or(socket.rtt),
            min_rtt: reading.min_rtt.into_iter().chain(socket.min_rtt).min(),
            cwnd_segments: reading.cwnd_segments.or(socket.cwnd_segments),
            snd_wnd: reading.snd_wnd.or(socket.snd_wnd),
            unacked: reading.unacked.or(socket.unacked),
            ..*reading
        };
    }
}

impl ReportedConnection {
    /// The last reading of an end.
    fn of(&self, end: End) -> Option<&Reading> {
        let mut steps = self.steps.iter().rev();
        steps.find(|(of, _)| *of == end).map(|(_, reading)| reading)
    }

    /// Bytes that its last reading counts.
    fn bytes(&self) -> u64 {
        let last = |end, of: fn(&Reading) -> Option<Bytes>| self.of(end).and_then(of);
        let sent = last(End::Sender, |reading| reading.bytes_acked);
        let received = last(End::Receiver, |reading| reading.bytes_received);
        sent.max(received).unwrap_or_default().as_u64()
    }

    /// Seconds from its first reading to its last one.
    fn time(&self) -> f64 {
        let (first, last) = (self.steps.first(), self.steps.last());
        let time = first
            .zip(last)
            .map(|((_, from), (_, to))| to.at.saturating_since(from.at));
        time.unwrap_or_default().as_secs_f64()
    }
}
