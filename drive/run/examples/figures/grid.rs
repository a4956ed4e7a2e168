//! The grid: loss x RTT x MTU x window, one cell per combination.
//!
//! CUBIC with its defaults, over 1 Gbit/s. A cell is goodput in Mbit/s, its ratio to the lowest of
//! the bounds by link, window and response function, and the letter of that one. Virtual time is
//! deterministic, so the numbers are exact: the same on every machine, and different only if
//! behavior is.
//!
//! The duration of a cell follows from its theoretical rate (`span`). Its start is left out, so
//! that no cell includes slow start.

use std::fmt::Write;

use crate::lab::{self, Bounds, Case, Ran};

const LOSSES: [&str; 5] = ["0", "1e-5", "1e-4", "1e-3", "1e-2"];
const RTTS_MS: [u64; 4] = [1, 10, 100, 300];
const MTUS: [u32; 2] = [1500, 9000];
/// Receive buffers, none autotuned.
const WINDOWS: [Option<&str>; 4] = [Some("64 KiB"), Some("1 MiB"), Some("64 MiB"), None];

/// Minimum of losses in a cell limited by the response function, and in others.
const LOSSES_SEEN: [f64; 2] = [200.0, 20.0];
/// Maximum of data packets in a cell.
const MOST_PACKETS: f64 = 8e6;

/// A line of the grid: the common parameters of its four windows.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub loss: &'static str,
    pub rtt_ms: u64,
    pub mtu: u32,
}

/// All lines, in the order of the table.
pub fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for loss in LOSSES {
        for rtt_ms in RTTS_MS {
            lines.extend(MTUS.map(|mtu| Line { loss, rtt_ms, mtu }));
        }
    }
    lines
}

impl Line {
    fn cases(self) -> [Case; 4] {
        WINDOWS.map(|window| {
            let mut overrides = vec![
                "path.rate=1 Gbit/s".to_owned(),
                format!("path.rtt={} ms", self.rtt_ms),
                format!("path.loss={}", self.loss),
                format!("sender.mtu={}", self.mtu),
                format!("receiver.mtu={}", self.mtu),
            ];
            if let Some(window) = window {
                overrides.push(format!("flow.receive_buffer={window}"));
                // The receive buffer is the tested limit.
                overrides.push("flow.send_buffer=128 MiB".to_owned());
            }
            Case {
                name: format!("{self:?} {window:?}"),
                overrides,
            }
        })
    }

    /// First columns.
    fn heading(self) -> String {
        format!("{:>5} {:>4} ms {:>5}", self.loss, self.rtt_ms, self.mtu)
    }
}

/// Seconds left out at the start, and seconds in total.
///
/// At least 10 s or 100 RTTs count, and enough losses for a mean.
fn span(case: &Case) -> Result<(u64, u64), String> {
    let plan = lab::plan(case, &[])?;
    let scenario = &plan.series[0].scenario;
    let (expected, least) = Bounds::of(scenario).least();
    let packets_per_s = expected * 1e6 / 8.0 / f64::from(scenario.sender.mtu);
    let rtt = scenario.base_rtt().as_secs_f64();
    let losses = LOSSES_SEEN[usize::from(least != 'r')];
    let loss = lab::loss(scenario).as_f64();
    let packets = if loss > 0.0 { losses / loss } else { 0.0 };
    let counted = (packets.min(MOST_PACKETS) / packets_per_s).max((100.0 * rtt).max(10.0));
    let omitted = (30.0 * rtt).max(1.0).ceil();
    Ok((omitted as u64, (omitted + counted.ceil()) as u64))
}

/// Runs these lines; `set` changes every cell, but not its duration.
pub fn run(lines: &[Line], set: &[String]) -> Result<Vec<String>, String> {
    let mut cases = Vec::new();
    for mut case in lines.iter().flat_map(|line| line.cases()) {
        let (omitted, all) = span(&case)?;
        case.overrides.push(format!("duration={all} s"));
        case.overrides.push(format!("tester.omit={omitted} s"));
        cases.push(case);
    }
    let ran = lab::run(&cases, set, 1)?;
    let windows = ran.chunks(WINDOWS.len());
    let text = |(line, cells): (&Line, &[Ran])| {
        let mut text = line.heading();
        for cell in cells {
            text.push_str(&cell_text(cell));
        }
        text
    };
    Ok(lines.iter().zip(windows).map(text).collect())
}

fn cell_text(cell: &Ran) -> String {
    let (bound, letter) = Bounds::of(&cell.scenario).least();
    let goodput = lab::goodput(&cell.records[0]);
    format!("  {goodput:>9.3} {:>6.3} {letter}", goodput / bound)
}

/// Heading of the table.
pub fn heading() -> String {
    let mut text = String::from(
        "\
Goodput of one CUBIC flow over 1 Gbit/s: loss x round-trip time x MTU x receive buffer.

A cell: goodput in Mbit/s, its ratio to the lowest bound by theory, and which that is:
l the link, w the window (the receive buffer per round trip), r the response function of
RFC 9438 for this loss. That function is of evenly spaced losses; random ones, as here, leave
about a quarter more. Random loss applies to data; the queue is one bandwidth-delay product (100
packets at least); settings are the default ones; slow start is left out (the first second, or
30 round trips). Virtual time is exact: written by `cargo xtask bench --grid`, compared by
`cargo xtask bench --grid --check`, and the cheap lines by the tests of gigatcp-run.

",
    );
    let mut above = format!("{:>5} {:>7} {:>5}", "loss", "RTT", "MTU");
    for window in WINDOWS {
        let _ = write!(above, "  {:>18}", window.unwrap_or("autotuned"));
    }
    text.push_str(&above);
    text.push('\n');
    text
}
