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

/// Returns the connections of a snapshot; those not shown are counted. `width` is that of the
/// terminal: a line takes no more of it.
pub(super) fn snapshot(
    all: &[&Connection],
    shown: usize,
    refreshes: bool,
    width: Option<usize>,
) -> String {
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
        fitted(&columns, rows, width.unwrap_or(usize::MAX))
    );
    if let Some(more @ 1..) = all.len().checked_sub(shown) {
        text.push_str(&format!("{more} more\n"));
    }
    if !refreshes {
        text.push('\n');
    }
    text
}

/// Formats rows with as many of the columns as fit.
fn fitted(columns: &[Align], mut rows: Vec<Vec<String>>, width: usize) -> String {
    let mut columns = columns.to_vec();
    let mut text = grid(&columns, &rows);
    let is_wide = |text: &str| text.lines().any(|line| line.chars().count() > width);
    for name in LEFT_OUT {
        if !is_wide(&text) {
            return text;
        }
        if let Some(place) = rows[0].iter().position(|cell| cell == name) {
            columns.remove(place);
            for row in &mut rows {
                row.remove(place);
            }
            text = grid(&columns, &rows);
        }
    }
    if is_wide(&text) {
        for cell in rows.iter_mut().flatten() {
            *cell = shortened(cell, NARROW);
        }
        text = grid(&columns, &rows);
    }
    let lines = text.lines().map(|line| shortened(line, width) + "\n");
    lines.collect()
}

/// The begin of a text that is longer than `most` characters, with an ellipsis.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let begin = text.chars().take(most.saturating_sub(1));
    begin.chain(['\u{2026}']).collect()
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
        limit(one).to_owned(),
        since.unwrap_or_else(dash),
    ]
}

/// Returns the present limit of a connection; "idle" if no data moves.
pub(super) fn limit(one: &Connection) -> &'static str {
    let is_idle = one.sent == Rate::ZERO && one.received == Rate::ZERO;
    match one.now() {
        _ if is_idle && one.reading.unacked == Some(0) => "idle",
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

/// Returns a line of a timeline, with the rates since the previous line.
pub(super) fn timeline(
    one: &Connection,
    rates: [Rate; 2],
    since: Duration,
    width: Option<usize>,
) -> String {
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
    timeline_line(&cells, limit(one), width)
}

fn timeline_line(cells: &[String; 7], last: &str, width: Option<usize>) -> String {
    let width = width.unwrap_or(WIDE_LINE);
    let count = if width < WIDE_LINE {
        NARROW_TIMELINE
    } else {
        cells.len()
    };
    let cells = cells.iter().zip(TIMELINE).take(count);
    let padded: Vec<String> = cells
        .map(|(cell, width)| format!("{cell:>width$}"))
        .collect();
    shortened(&format!("{}  {last}", padded.join("  ")), width) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_on_a_narrow_terminal_leaves_columns_out_and_does_not_wrap() {
        let rows = || {
            vec![
                line([
                    "ID",
                    "peer",
                    "cwnd",
                    "limited now by",
                    "since it is watched by",
                ]),
                line([
                    "12",
                    "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:50123",
                    "1.25 MB",
                    "reordering-mistaken-for-loss",
                    "receive-window-limited 100 % (unsure)",
                ]),
            ]
        };
        let columns = [Right, Left, Right, Left, Left];
        assert_eq!(fitted(&columns, rows(), 200), grid(&columns, &rows()));
        for width in [80, 60, 40] {
            let text = fitted(&columns, rows(), width);
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}:\n{text}");
            assert!(text.contains("reordering-mis") || width == 40, "{text}");
        }
    }
}
