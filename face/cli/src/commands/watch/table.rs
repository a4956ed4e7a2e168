//! A snapshot as a table.

use gigatcp_meter::watch::Connection;
use gigatcp_report::escape::terminal;
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Duration, Rate};

use crate::grid::Align::{Left, Right};
use crate::grid::{grid, line};
use crate::output::counted;

/// Moves to the beginning of the screen and clears it.
const HOME: &str = "\x1b[H\x1b[J";

/// Width of a process name.
const NAME: usize = 15;

/// Returns the connections of a snapshot; those not shown are counted.
pub(super) fn snapshot(all: &[&Connection], shown: usize, refreshes: bool) -> String {
    let mut rows = vec![line([
        "ID",
        "process",
        "peer",
        "sent",
        "received",
        "RTT",
        "cwnd",
        "retrans",
        "limited now by",
        "since it is watched by",
    ])];
    rows.extend(all.iter().take(shown).map(|one| row(one)));
    let columns = [
        Right, Left, Left, Right, Right, Right, Right, Right, Left, Left,
    ];
    let home = if refreshes { HOME } else { "" };
    let sum = |of: fn(&Connection) -> Rate| {
        let all = all.iter().map(|one| of(one).as_bps());
        human_rate(Rate::from_bps(all.sum()))
    };
    let mut text = format!(
        "{home}{}, {} sent, {} received\n{}",
        counted(all.len() as u64, "connection"),
        sum(|one| one.sent),
        sum(|one| one.received),
        grid(&columns, &rows)
    );
    if let Some(more @ 1..) = all.len().checked_sub(shown) {
        text.push_str(&format!("{more} more\n"));
    }
    if !refreshes {
        text.push('\n');
    }
    text
}

fn row(one: &Connection) -> Vec<String> {
    let reading = &one.reading;
    let dash = || "-".to_owned();
    let owner = one.owner.as_ref();
    let owner = owner.map_or_else(dash, |owner| {
        terminal(&owner.name.chars().take(NAME).collect::<String>())
    });
    let rate = |rate: Rate| match rate {
        Rate::ZERO => dash(),
        rate => human_rate(rate),
    };
    let diagnosis = one.diagnosis();
    let since = diagnosis.as_ref().and_then(|diagnosis| {
        let answer = diagnosis.answer();
        let unsure = if answer.is_unsure { " (unsure)" } else { "" };
        let share = answer.share? * 100.0;
        Some(format!("{} {share:.0} %{unsure}", answer.cause?.id))
    });
    vec![
        one.id.to_string(),
        owner,
        one.peer.to_string(),
        rate(one.sent),
        rate(one.received),
        reading.rtt.map_or_else(dash, human_duration),
        reading.cwnd().map_or_else(dash, human_bytes),
        reading
            .total_retrans
            .map_or_else(dash, |count| count.to_string()),
        limit(one),
        since.unwrap_or_else(dash),
    ]
}

/// Returns the present limit of a connection; "idle" if no data moves.
fn limit(one: &Connection) -> String {
    let is_idle = one.sent == Rate::ZERO && one.received == Rate::ZERO;
    match one.now() {
        _ if is_idle && one.reading.unacked == Some(0) => "idle".into(),
        Some((cause, _)) => cause.id.into(),
        None => "unknown".into(),
    }
}

/// Widths of the columns of a timeline.
const TIMELINE: [usize; 7] = [9, 13, 13, 9, 9, 9, 8];

/// The first line of a timeline.
pub(super) fn timeline_head() -> String {
    let names = [
        "time",
        "sent",
        "received",
        "RTT",
        "cwnd",
        "in flight",
        "retrans",
    ];
    timeline_line(&names.map(str::to_owned), "limited now by")
}

/// Returns a line of a timeline, with the rates since the previous line.
pub(super) fn timeline(one: &Connection, rates: [Rate; 2], since: Duration) -> String {
    let reading = &one.reading;
    let dash = || "-".to_owned();
    let cells = [
        format!("{:.1} s", since.as_secs_f64()),
        human_rate(rates[0]),
        human_rate(rates[1]),
        reading.rtt.map_or_else(dash, human_duration),
        reading.cwnd().map_or_else(dash, human_bytes),
        reading.flight_size().map_or_else(dash, human_bytes),
        reading
            .total_retrans
            .map_or_else(dash, |count| count.to_string()),
    ];
    timeline_line(&cells, &limit(one))
}

fn timeline_line(cells: &[String; 7], last: &str) -> String {
    let cells = cells.iter().zip(TIMELINE);
    let padded: Vec<String> = cells
        .map(|(cell, width)| format!("{cell:>width$}"))
        .collect();
    format!("{}  {last}\n", padded.join("  "))
}
