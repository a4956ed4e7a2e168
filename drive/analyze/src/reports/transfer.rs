//! Joins what a tester and `ss` show of one transfer.
//!
//! A tester has the rate of each interval; `ss` has what the kernel counted while the sender waited,
//! and what the receiver left unread. Each alone leaves open what both together decide. They are
//! joined if they name the same ends; a tester whose text names none, with the connection of `ss`
//! that moved ten times what any other one did, and a twentieth to twice of what the tester says.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gigatcp_units::{Bytes, Duration};
use gigatcp_why::counters::{End, Reading};

use super::{COARSE, Part, ReportedConnection, Statement};

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
    let parts = statements.iter_mut().flat_map(|text| &mut text.parts);
    let mut parts: Vec<&mut Part> = parts.collect();
    let mut sockets: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
    for (part, listed) in parts
        .iter_mut()
        .enumerate()
        .filter(|(_, part)| part.source == "ss")
    {
        for connection in std::mem::take(&mut listed.connections) {
            let listed = Listed { part, connection };
            sockets
                .entry(ends(&listed.connection.ends))
                .or_default()
                .push(listed);
        }
    }
    let largest = largest(&sockets);
    let mut joined = BTreeSet::new();
    for part in parts.iter_mut().filter(|part| part.is_of_tester()) {
        let is_only = part.connections.len() == 1;
        let mut has_counters = false;
        for connection in &mut part.connections {
            let is_named = connection.ends.contains(':');
            let is_it = |(_, bytes): &(String, u64)| {
                let moved = connection.bytes();
                is_only && *bytes <= moved.saturating_mul(2) && moved <= bytes.saturating_mul(20)
            };
            let wanted = if is_named {
                Some(ends(&connection.ends))
            } else {
                largest.clone().filter(is_it).map(|(ends, _)| ends)
            };
            if let Some(found) = wanted.and_then(|ends| sockets.remove(&ends)) {
                let counts = |listed: &Listed| listed.connection.of(End::Sender).is_some();
                has_counters |= found.iter().any(counts);
                joined.extend(found.iter().map(|listed| listed.part));
                add(
                    connection,
                    found.into_iter().map(|listed| listed.connection).collect(),
                );
            }
        }
        if has_counters {
            part.notes.retain(|note| note != COARSE);
            part.notes.push(JOINED.to_owned());
        }
    }
    for mut listed in sockets.into_values() {
        joined.extend(join_ends(&mut listed));
        for listed in listed {
            parts[listed.part].connections.push(listed.connection);
        }
    }
    for part in joined {
        let part = &mut *parts[part];
        let connections = part.connections.iter();
        let listed: HashSet<String> = connections
            .map(|connection| ends(&connection.ends))
            .collect();
        // Notes on connections begin with their ends; others are on all that the text lists.
        let is_kept = |note: &String| {
            let begin = note.split_once(": ").map(|(begin, _)| begin);
            match begin.filter(|begin| begin.contains(" -> ")) {
                Some(begin) => listed.contains(&ends(begin)),
                None => !listed.is_empty(),
            }
        };
        part.notes.retain(is_kept);
    }
}

/// Joins what `ss` says at both ends of a connection at about the same time, in two texts; returns the
/// part of the receiver.
fn join_ends(listed: &mut Vec<Listed>) -> Option<usize> {
    let is_receiver = |listed: &Listed| {
        let steps = &listed.connection.steps;
        steps.iter().all(|(end, _)| *end == End::Receiver)
    };
    let receiver = listed.iter().position(is_receiver)?;
    let sender = listed
        .get(1 - receiver.min(1))
        .filter(|_| listed.len() == 2)?;
    let [sent, received] = [sender, &listed[receiver]].map(|listed| listed.connection.bytes());
    let is_same_time = sent <= received.saturating_mul(2) && received <= sent.saturating_mul(2);
    if is_receiver(sender) || !is_same_time {
        return None;
    }
    let Listed { part, connection } = listed.swap_remove(receiver);
    let (_, there) = connection.steps.last()?;
    listed[0].connection.add_receiver(there);
    Some(part)
}

/// A connection of `ss`, and the part of a text that lists it.
struct Listed {
    part: usize,
    connection: ReportedConnection,
}

/// Ends and bytes of the connection that moved ten times what any other one did.
fn largest(sockets: &BTreeMap<String, Vec<Listed>>) -> Option<(String, u64)> {
    let bytes = |listed: &Vec<Listed>| listed.iter().map(|listed| listed.connection.bytes()).max();
    let mut all: Vec<(u64, &String)> = sockets
        .iter()
        .map(|(ends, listed)| (bytes(listed).unwrap_or(0), ends))
        .collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    let (most, ends) = *all.first()?;
    let is_alone = all
        .get(1)
        .is_none_or(|(next, _)| next.saturating_mul(LARGEST) <= most);
    is_alone.then(|| (ends.clone(), most))
}

/// The names of both ends, alike in all programs.
pub(super) fn ends(text: &str) -> String {
    text.replace("::ffff:", "").replace(['[', ']'], "")
}

/// Adds the readings of `ss` to those of a tester: of the sender, the receiver, or both.
fn add(tester: &mut ReportedConnection, sockets: Vec<ReportedConnection>) {
    let mut unread = None;
    for sockets in sockets {
        let there = sockets.of(End::Receiver).and_then(|last| last.unread);
        unread = unread.max(there);
        let Some(last) = sockets.of(End::Sender).copied() else {
            continue;
        };
        tester.congestion = sockets.congestion.clone().or(tester.congestion.take());
        if sockets.steps.len() >= MIN_READINGS && sockets.time() >= MOST * tester.time() {
            tester.steps = sockets.steps;
        } else {
            add_counters(&mut tester.steps, &last);
            tester.is_snapshot = true;
        }
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
    pub(super) fn bytes(&self) -> u64 {
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
