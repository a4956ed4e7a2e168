//! A snapshot as a table.

use gigatcp_meter::watch::Connection;
use gigatcp_report::escape::terminal;
use gigatcp_report::grid::Align::{self, Left, Right};
use gigatcp_report::grid::{grid, line};
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Duration, Rate};

use crate::output::counted;

/// Moves to the beginning of the screen and clears it.
const HOME: &str = "\x1b[H\x1b[J";

/// Width of a process name.
const NAME: usize = 15;

/// Columns that are left out of a line that is too long, in this order.
const LEFT_OUT: [&str; 6] = [
    "since it is watched by",
    "cwnd",
    "retrans",
    "process",
    "ID",
    "RTT",
];

/// Cells of the peer and of the limit in a line that is still too long.
const NARROW: usize = 21;

/// Connections of a snapshot; those not shown are counted. `width` is that of the terminal: a line
/// takes no more of it.
pub(super) fn snapshot(
    all: &[&Connection],
    shown: usize,
    refreshes: bool,
    width: Option<usize>,
) -> String {
    let rows = all
        .iter()
        .take(shown)
        .map(|connection| row(connection))
        .collect();
    let home = if refreshes { HOME } else { "" };
    let sum = |of: fn(&Connection) -> Rate| {
        let rates = all.iter().map(|connection| of(connection).as_bps());
        human_rate(Rate::from_bps(rates.sum()))
    };
    let mut text = format!(
        "{home}{}, {} sent, {} received\n{}",
        counted(all.len() as u64, "connection"),
        sum(|connection| connection.sent),
        sum(|connection| connection.received),
        rendered(rows, width.unwrap_or(usize::MAX))
    );
    if let Some(more @ 1..) = all.len().checked_sub(shown) {
        text.push_str(&format!("{more} more\n"));
    }
    if !refreshes {
        text.push('\n');
    }
    text
}

/// Names of the columns, and how their cells are aligned.
const COLUMNS: [(&str, Align); 10] = [
    ("ID", Right),
    ("process", Left),
    ("peer", Left),
    ("sent", Right),
    ("received", Right),
    ("RTT", Right),
    ("cwnd", Right),
    ("retrans", Right),
    ("limited now by", Left),
    ("since it is watched by", Left),
];

/// Formats rows below the names of their columns.
fn rendered(mut rows: Vec<Vec<String>>, width: usize) -> String {
    rows.insert(0, line(COLUMNS.map(|(name, _)| name)));
    fitted(&COLUMNS.map(|(_, align)| align), rows, width)
}

/// Formats rows with as many of the columns as fit. The limit is the last to be cut.
fn fitted(all_columns: &[Align], mut rows: Vec<Vec<String>>, width: usize) -> String {
    let mut columns = all_columns.to_vec();
    let is_wide = |columns: &[Align], rows: &[Vec<String>]| {
        let text = grid(columns, rows);
        text.lines().any(|line| line.chars().count() > width)
    };
    for name in LEFT_OUT {
        if is_wide(&columns, &rows) {
            leave_out(name, &mut columns, &mut rows);
        }
    }
    if is_wide(&columns, &rows)
        && let Some(peer) = rows[0].iter().position(|cell| cell == "peer")
    {
        for row in &mut rows {
            row[peer] = shortened(&row[peer], NARROW);
        }
    }
    if is_wide(&columns, &rows) {
        for cell in rows.iter_mut().flatten() {
            *cell = shortened(cell, NARROW);
        }
    }
    if is_wide(&columns, &rows) {
        leave_out(emptier_rate(&rows), &mut columns, &mut rows);
    }
    let text = grid(&columns, &rows);
    let lines = text.lines().map(|line| shortened(line, width) + "\n");
    lines.collect()
}

fn leave_out(name: &str, columns: &mut Vec<Align>, rows: &mut [Vec<String>]) {
    if let Some(place) = rows[0].iter().position(|cell| cell == name) {
        columns.remove(place);
        for row in rows {
            row.remove(place);
        }
    }
}

/// The direction in which fewer connections move data.
fn emptier_rate(rows: &[Vec<String>]) -> &'static str {
    let [sent, received] = ["sent", "received"].map(|name| {
        let place = rows[0].iter().position(|cell| cell == name);
        let cells = rows.iter().filter_map(|row| row.get(place?));
        cells.filter(|cell| *cell != "-").count()
    });
    if sent < received { "sent" } else { "received" }
}

/// The begin of a text that is longer than `most` characters, with an ellipsis.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let begin = text.chars().take(most.saturating_sub(1));
    begin.chain(['\u{2026}']).collect()
}

fn row(connection: &Connection) -> Vec<String> {
    let reading = &connection.reading;
    let dash = || "-".to_owned();
    let owner = connection.owner.as_ref().map_or_else(dash, |owner| {
        terminal(&owner.name.chars().take(NAME).collect::<String>())
    });
    let rate = |rate: Rate| match rate {
        Rate::ZERO => dash(),
        rate => human_rate(rate),
    };
    let diagnosis = connection.diagnosis();
    let since = diagnosis.as_ref().and_then(|diagnosis| {
        let answer = diagnosis.answer();
        let unsure = if answer.is_unsure { " (unsure)" } else { "" };
        let share = answer.share? * 100.0;
        Some(format!("{} {share:.0} %{unsure}", answer.cause?.id))
    });
    vec![
        connection.id.to_string(),
        owner,
        connection.peer.to_string(),
        rate(connection.sent),
        rate(connection.received),
        reading.rtt.map_or_else(dash, human_duration),
        reading.cwnd().map_or_else(dash, human_bytes),
        reading
            .total_retrans
            .map_or_else(dash, |count| count.to_string()),
        limit(connection).to_owned(),
        since.unwrap_or_else(dash),
    ]
}

/// Present limit of a connection; "idle" if no data moves.
pub(super) fn limit(connection: &Connection) -> &'static str {
    let is_idle = connection.sent == Rate::ZERO && connection.received == Rate::ZERO;
    match connection.now() {
        _ if is_idle && connection.reading.unacked == Some(0) => "idle",
        Some((cause, _)) => cause.id,
        None => "unknown",
    }
}

/// Widths of the columns of a timeline.
const TIMELINE: [usize; 7] = [9, 13, 13, 9, 9, 9, 8];

/// Columns of a timeline that every terminal has room for.
const NARROW_TIMELINE: usize = 4;

/// Columns that the longest line of a timeline needs.
const WIDE_LINE: usize = 114;

/// The first line of a timeline on a terminal of `width` columns.
pub(super) fn timeline_head(width: Option<usize>) -> String {
    let names = [
        "time",
        "sent",
        "received",
        "RTT",
        "cwnd",
        "in flight",
        "retrans",
    ];
    timeline_line(&names.map(str::to_owned), "limited now by", width)
}

/// A line of a timeline, with the rates since the previous line.
pub(super) fn timeline(
    connection: &Connection,
    rates: [Rate; 2],
    since: Duration,
    width: Option<usize>,
) -> String {
    let reading = &connection.reading;
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
    timeline_line(&cells, limit(connection), width)
}

fn timeline_line(cells: &[String; 7], last: &str, width: Option<usize>) -> String {
    let line_width = width.unwrap_or(WIDE_LINE);
    let count = if line_width < WIDE_LINE {
        NARROW_TIMELINE
    } else {
        cells.len()
    };
    let padded: Vec<String> = cells
        .iter()
        .zip(TIMELINE)
        .take(count)
        .map(|(cell, width)| format!("{cell:>width$}"))
        .collect();
    shortened(&format!("{}  {last}", padded.join("  ")), line_width) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widest cells that occur.
    fn widest() -> Vec<String> {
        line([
            "4294967295",
            "a-process-name-",
            "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:50123",
            "12.3 Gbit/s",
            "12.3 Gbit/s",
            "123.4 ms",
            "1.25 MB",
            "1234567",
            "reordering-mistaken-for-loss",
            "receive-window-limited 100 % (unsure)",
        ])
    }

    fn longest_line(text: &str) -> usize {
        let lengths = text.lines().map(|line| line.chars().count());
        lengths.max().unwrap_or_default()
    }

    #[test]
    fn table_of_wide_addresses_fits_terminals_and_keeps_the_limit() {
        for width in [50, 60, 80, 90, 120, 300] {
            let text = rendered(vec![widest(), widest()], width);
            assert!(longest_line(&text) <= width, "{width}:\n{text}");
            assert_eq!(text.lines().count(), 3, "{width}:\n{text}");
            let kept = match width {
                ..60 => "reord",
                60..80 => "reordering-mistaken-",
                80.. => "reordering-mistaken-for-loss",
            };
            assert!(text.contains(kept), "{width}:\n{text}");
        }
        let all = rendered(vec![widest()], usize::MAX);
        assert!(COLUMNS.iter().all(|(name, _)| all.contains(name)), "{all}");
    }

    #[test]
    fn table_of_narrow_addresses_has_more_columns_in_the_same_width() {
        let mut row = widest();
        row[2] = "192.0.2.1:443".into();
        row[8] = "path-saturated".into();
        let text = rendered(vec![row], 120);
        assert!(text.contains("retrans") && text.contains("RTT"), "{text}");
        assert!(longest_line(&text) <= 120, "{text}");
    }

    #[test]
    fn table_of_receivers_in_60_columns_keeps_what_they_receive() {
        let mut row = widest();
        row[3] = "-".into();
        let text = rendered(vec![row], 60);
        assert!(
            text.contains("received") && !text.contains("sent"),
            "{text}"
        );
    }

    #[test]
    fn timeline_fits_terminals() {
        let cells = [
            "123456.7 s",
            "12.3 Gbit/s",
            "12.3 Gbit/s",
            "123.4 ms",
            "1.25 MB",
            "1.25 MB",
            "1234567",
        ];
        for width in [40, 60, 80, 90, 120] {
            let limit = "reordering-mistaken-for-loss";
            let line = timeline_line(&cells.map(str::to_owned), limit, Some(width));
            let head = timeline_head(Some(width));
            assert!(longest_line(&line).max(longest_line(&head)) <= width);
        }
    }
}
