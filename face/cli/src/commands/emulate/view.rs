//! Counters of a path: a line while it runs, a table at the end, and JSON.

use std::iter;

use gigatcp_emulate::{Changed, Direction, HopCounters, Side, Snapshot};
use gigatcp_path::{Difference, DropCause, Drops, Tally};
use gigatcp_report::grid::Align::{Left, Right};
use gigatcp_report::grid::grid;
use gigatcp_report::number::{self, counted};
use gigatcp_units::Instant;
use gigatcp_units::grammar::{human_bytes, human_duration};
use serde_json::{Map, Value, json};

use super::control::describe;

/// Names of both directions.
const WAYS: [&str; 2] = ["client -> server", "server -> client"];
/// The schema of the JSON.
const SCHEMA: &str = "gigatcp.emulate/2";

/// A progress line with rates since `before`. It shows both directions if `columns` suffice,
/// otherwise one at a time.
pub(super) fn line(before: &Snapshot, now: &Snapshot, columns: usize) -> String {
    let seconds = now.at.saturating_sub(before.at).as_secs_f64().max(1e-3);
    let ways = now
        .directions
        .iter()
        .zip(&before.directions)
        .zip(["->", "<-"]);
    let parts: Vec<String> = ways
        .map(|((way, before), arrow)| {
            let octets = way.delivered().bytes.as_u64() - before.delivered().bytes.as_u64();
            let rate = number::rate(octets as f64 * 8.0 / seconds);
            let packets = counted(way.delivered().packets, "packet");
            let backlog = backlog(way);
            let mut part = format!("{arrow} {packets} {rate}, {backlog}");
            let drops = drops(way);
            if !drops.is_empty() {
                part.push_str(&format!(", dropped {drops}"));
            }
            part
        })
        .collect();
    let both = format!("{:.0} s  {}", now.at.as_secs_f64(), parts.join("   "));
    if both.chars().count() <= columns {
        return both;
    }
    let turn = now.at.as_secs_f64().round() as usize % parts.len();
    let one = format!("{:.0} s  {}", now.at.as_secs_f64(), parts[turn]);
    one.chars().take(columns).collect()
}

/// Packets in the queue, and the queueing delay of the last one that left.
fn backlog(way: &Direction) -> String {
    let bytes: u64 = way.hops.iter().map(|hop| hop.backlog.bytes.as_u64()).sum();
    let delay: u64 = way
        .hops
        .iter()
        .map(|hop| hop.queueing_delay.as_nanos())
        .sum();
    let milliseconds = delay as f64 / 1e6;
    format!("backlog {} = {milliseconds:.1} ms", number::grouped(bytes))
}

/// Drops of a direction by cause.
fn drops(way: &Direction) -> String {
    let mut sum = Drops::default();
    for hop in &way.hops {
        sum.add_all(&hop.counters.drops);
    }
    let told = sum.iter().filter(|(_, dropped)| !dropped.is_zero());
    let told: Vec<String> = told
        .map(|(cause, dropped)| format!("{} {}", number::grouped(dropped.packets), heading(cause)))
        .collect();
    told.join(", ")
}

fn heading(cause: DropCause) -> String {
    cause.id().replace('_', " ")
}

/// Packets that the machine dropped in one direction outside the path, by its kernel's counters.
#[derive(Clone, Copy)]
pub(super) struct MachineDrops {
    /// Dropped by the sending device, before the path read them.
    pub unread: Option<u64>,
    /// Dropped by the receiving kernel.
    pub untaken: Option<u64>,
}

/// Summary printed at the end.
pub(super) fn summary(
    snapshot: &Snapshot,
    machine: [MachineDrops; 2],
    changed: &[Changed],
) -> String {
    let mut rows = Vec::new();
    for (way, name) in snapshot.directions.iter().zip(WAYS) {
        rows.extend(way.hops.iter().map(|hop| {
            let place = match way.hops.len() {
                1 => name.to_owned(),
                _ => format!("{name}, {}", hop.name),
            };
            (place, counts(hop))
        }));
    }
    let took = human_duration(snapshot.at);
    let mut text = format!("{took}; wire packets:\n{}", table(&rows));
    for (way, name) in snapshot.directions.iter().zip(WAYS) {
        text.push_str(&format!("  {name}: {}\n", carried(way)));
    }
    let share = snapshot.processor.as_secs_f64() / snapshot.at.as_secs_f64().max(1e-9);
    let share = number::fixed(share * 100.0, 0);
    let memory = human_bytes(gigatcp_units::Bytes::new(snapshot.memory as u64));
    text.push_str(&format!(
        "  the emulator used {share} % of a CPU, and {memory} of memory\n"
    ));
    text.push_str(&changes(changed));
    for note in notes(snapshot, machine) {
        text.push_str(&format!("  note: {note}\n"));
    }
    text
}

/// Maximum number of changes shown; there may be thousands.
const SHOWN_CHANGES: usize = 12;

/// Lists the changes while the path ran. Of too many it lists the last ones.
fn changes(changed: &[Changed]) -> String {
    let left_out = changed.len().saturating_sub(SHOWN_CHANGES);
    let mut text = String::new();
    if left_out > 0 {
        let earlier = counted(left_out as u64, "earlier change");
        text.push_str(&format!("  {earlier} (--json has all)\n"));
    }
    for changed in &changed[left_out..] {
        let seconds = changed.at.saturating_since(Instant::ZERO).as_secs_f64();
        text.push_str(&format!("  at {seconds:.3} s: {}\n", describe(changed)));
    }
    text
}

/// Counters of each hop, by heading.
fn counts(hop: &HopCounters) -> Vec<(String, u64)> {
    let counters = &hop.counters;
    let named = |name: &str, count: Tally| (name.to_owned(), count.packets);
    let drops = counters
        .drops
        .iter()
        .map(|(cause, dropped)| (heading(cause), dropped.packets));
    let mut counts = vec![
        named("in", counters.arrived),
        named("out", counters.delivered),
    ];
    counts.extend(drops);
    counts.extend([
        named("duplicated", counters.duplicated),
        named("reordered", counters.reordered),
        named("marked", counters.marked),
        named("corrupted", counters.corrupted),
        named("inside", counters.inside),
    ]);
    counts
}

/// Columns that are shown even if all their counts are zero.
const ALWAYS: [&str; 4] = ["in", "out", "queue full", "loss"];

/// A line for each hop, under headings. Columns of zeros are left out, because a table of all
/// counters would not fit a terminal.
fn table(hops: &[(String, Vec<(String, u64)>)]) -> String {
    let Some((_, headings)) = hops.first() else {
        return String::new();
    };
    let is_shown = |column: &usize| {
        let heading = headings[*column].0.as_str();
        ALWAYS.contains(&heading) || hops.iter().any(|(_, counts)| counts[*column].1 > 0)
    };
    let shown: Vec<usize> = (0..headings.len()).filter(is_shown).collect();
    let heads = shown.iter().map(|column| headings[*column].0.clone());
    let mut rows: Vec<Vec<String>> = vec![iter::once(String::new()).chain(heads).collect()];
    rows.extend(hops.iter().map(|(place, counts)| {
        let cells = shown
            .iter()
            .map(|column| number::grouped(counts[*column].1));
        iter::once(place.clone()).chain(cells).collect()
    }));
    let mut columns = vec![Right; rows[0].len()];
    columns[0] = Left;
    let lines = grid(&columns, &rows);
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

/// Octets, super-segments, and how punctual it was.
fn carried(way: &Direction) -> String {
    let octets = human_bytes(way.delivered().bytes);
    let reads = counted(way.device.reads, "read");
    let mut text = format!("{octets} in {reads}");
    let late = |share| way.lateness.quantile(share);
    if let (Some(middle), Some(most)) = (late(0.5), late(0.99)) {
        text.push_str(&format!(
            ", lateness p50 {}, p99 {}, max {}",
            human_duration(middle),
            human_duration(most),
            human_duration(way.lateness.max())
        ));
    }
    text
}

/// Findings that the path did not cause but that affect results.
fn notes(snapshot: &Snapshot, machine: [MachineDrops; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    if snapshot.stalls > 0 {
        let stalls = counted(snapshot.stalls, "time");
        notes.push(format!(
            "the emulator thread was not scheduled {stalls}, for 10 ms or more"
        ));
    }
    let mut refusals = snapshot.directions.iter().map(|way| way.device.one_by_one);
    if let Some(refusal) = refusals.find_map(|refusal| refusal) {
        notes.push(format!(
            "packets were handed over one by one, not several in a call (io_uring: {refusal}): this \
             takes a sixth more CPU time"
        ));
    }
    for ((way, name), drops) in snapshot.directions.iter().zip(WAYS).zip(machine) {
        let device = &way.device;
        if let Some(dropped @ 1..) = drops.unread {
            let were = were(dropped);
            notes.push(format!(
                "{name}: {were} dropped before the path saw them: this machine was too slow for them"
            ));
        }
        if device.full > 0 {
            notes.push(format!(
                "{name}: the memory for packets was full {}; --memory gives more",
                counted(device.full, "time")
            ));
        }
        if device.malformed > 0 {
            let harmed = counted(device.malformed, "packet");
            notes.push(format!("{name}: left out, as they made no sense: {harmed}"));
        }
        if let Some(dropped @ 1..) = drops.untaken {
            notes.push(format!(
                "{name}: {} dropped by the kernel they were handed to, having come through: to the \
                 receiver they are lost",
                were(dropped)
            ));
        }
        if !way.is_conserved() {
            notes.push(format!(
                "{name}: packets in are not packets out, dropped and inside: a fault"
            ));
        }
    }
    notes
}

/// `count` packets and the verb, including packets inside super-segments.
fn were(count: u64) -> String {
    if count == 1 {
        "1 packet or super-segment was".into()
    } else {
        format!("{} packets or super-segments were", number::grouped(count))
    }
}

/// JSON document of what `snapshot` counted, and of the changes by command or schedule.
pub(super) fn record(
    snapshot: &Snapshot,
    machine: [MachineDrops; 2],
    changed: &[Changed],
    exit_status: u8,
) -> Value {
    let far_ends = snapshot.directions.iter().rev();
    let ways = snapshot.directions.iter().zip(far_ends).zip(WAYS);
    let directions = ways.zip(machine).map(|(((way, far_end), name), drops)| {
        let late = |share| way.lateness.quantile(share).map(|late| late.as_nanos());
        json!({
            "name": name,
            "conserved": way.is_conserved(),
            "dropped_by_device": drops.unread,
            "dropped_by_kernel": drops.untaken,
            "reads": way.device.reads,
            "writes": far_end.device.writes,
            "batched": far_end.device.batched,
            "refused": far_end.device.refused,
            "late_p50_ns": late(0.5),
            "late_p99_ns": late(0.99),
            "late_max_ns": way.lateness.max().as_nanos(),
            "hops": way.hops.iter().map(hop).collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": SCHEMA,
        "exit_status": exit_status,
        "duration_ns": snapshot.at.as_nanos(),
        "directions": directions.collect::<Vec<_>>(),
        "changes": changed.iter().map(change).collect::<Vec<_>>(),
    })
}

fn change(changed: &Changed) -> Value {
    let Difference { what, from, to } = &changed.difference;
    let way = match changed.from {
        Side::Client => WAYS[0],
        Side::Server => WAYS[1],
    };
    json!({
        "at_ns": changed.at.as_nanos(),
        "direction": way,
        "hop": changed.hop,
        "what": what,
        "from": from,
        "to": to,
    })
}

/// Counters of a hop; its queueing delays are null if no packet left the queue.
fn hop(view: &HopCounters) -> Value {
    let counters = &view.counters;
    let of_cause =
        |(cause, dropped): (DropCause, Tally)| (cause.id().into(), dropped.packets.into());
    let delay = |share| view.sojourns.quantile(share).map(|delay| delay.as_nanos());
    json!({
        "name": view.name,
        "arrived_packets": counters.arrived.packets,
        "arrived_bytes": counters.arrived.bytes.as_u64(),
        "duplicated_packets": counters.duplicated.packets,
        "delivered_packets": counters.delivered.packets,
        "delivered_bytes": counters.delivered.bytes.as_u64(),
        "drops": counters.drops.iter().map(of_cause).collect::<Map<_, _>>(),
        "reordered_packets": counters.reordered.packets,
        "marked_packets": counters.marked.packets,
        "corrupted_packets": counters.corrupted.packets,
        "inside_packets": counters.inside.packets,
        "max_backlog_packets": view.max_backlog,
        "queueing_delay_p50_ns": delay(0.5),
        "queueing_delay_p99_ns": delay(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_zeros_are_left_out_but_for_what_every_path_has() {
        let table = |marked: u64| {
            let mut hop = HopCounters::default();
            hop.counters.marked = Tally::new(marked, 0);
            table(&[("client -> server".to_owned(), counts(&hop))])
        };
        let plain = table(0);
        let words = ["in", "out", "queue", "full", "loss"];
        assert!(plain.lines().next().unwrap().split_whitespace().eq(words));
        let marked = table(7);
        assert!(marked.lines().next().unwrap().ends_with("loss  marked"));
        assert!(marked.lines().nth(1).unwrap().ends_with("     0       7"));
    }

    #[test]
    fn of_one_thing_nothing_is_said_in_the_plural() {
        assert_eq!(counted(1, "read"), "1 read");
        assert_eq!(counted(0, "packet"), "0 packets");
        assert_eq!(counted(12_345, "packet"), "12 345 packets");
        assert_eq!(were(1), "1 packet or super-segment was");
        assert_eq!(were(2), "2 packets or super-segments were");
    }
}
