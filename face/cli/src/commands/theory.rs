//! `gigatcp theory`: calculates what a path requires, by published equations.
//!
//! The answer comes first: the window, and the settings that allow it. Every figure is an equation
//! of `gigatcp-theory`; this module only evaluates and aligns them. Rates, times and segment sizes
//! may be given several times and are combined. Each row then shows a scaling law.

mod buffers;
mod view;

use gigatcp_report::theory::Questions;
use gigatcp_theory::{Growth, MathisConstant, Path};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use self::view::TheoryView;
use super::Outcome;
use crate::failure::Failure;
use crate::{output, values};

/// Maximum number of columns on a terminal.
const MOST_PATHS: usize = 8;

/// Command-line arguments of `theory`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Calculate the window, buffers and loss rate that a path requires",
    long_about = "\
Calculate what a path requires: the window that one connection needs, the settings that allow it on \
Linux, FreeBSD, macOS and Windows, the rate that each congestion control reaches at a loss \
probability, and how long slow start and one loss take.

With -v all equations are shown. Rates and segment sizes are of the same layer: with --mss the \
payload of a segment, --rate is that of payload. --rate, --rtt and --mss may be repeated; every \
combination is a column. Each row ends with its equation and source.",
    after_help = "\
Examples:
  gigatcp theory --rate 10G --rtt 80ms                       which buffers does this path need?
  gigatcp theory --rate 10G --rtt 80ms --loss 1e-6 --control cubic
  gigatcp theory --rate '10 Gbit/s' --rtt '80 ms' --mss 8948 -v
  gigatcp theory --rate '1 Gbit/s' --rtt '70 ms' --mss 1460 --mss 4096 --mss 8192
                                       the loss budget grows with the square of the MSS
  gigatcp theory --rate '1 Gbit/s' --rtt '50 ms' --mss 1448 --window '256 KiB' --loss 1e-5
                                       what a small window or a lossy path leaves of the rate
  gigatcp theory --rate '10 Gbit/s' --rtt '80 ms' --mss 9000 --iw 1 --data '10 GB'
                                       from one segment; how long do 10 GB take?"
)]
pub(crate) struct Arguments {
    /// Target rate, as in 10G or '10 Gbit/s'. May be repeated
    #[arg(long, required = true, value_parser = values::rate, allow_hyphen_values = true)]
    rate: Vec<Rate>,

    /// Round-trip time of the empty path, as in '80 ms'. May be repeated
    #[arg(long, value_name = "TIME", required = true, value_parser = values::time, allow_hyphen_values = true)]
    rtt: Vec<Duration>,

    /// Bytes of payload in a segment, as in 8948. May be repeated
    #[arg(long, value_name = "BYTES", default_value = "1448", value_parser = values::octets, allow_hyphen_values = true)]
    mss: Vec<Bytes>,

    /// Initial window in segments
    #[arg(long, value_name = "SEGMENTS", default_value = "10", value_parser = values::initial_window, allow_hyphen_values = true)]
    iw: u32,

    /// The receiver acknowledges every second segment and the sender counts acknowledgments: the
    /// window grows by half per round trip in slow start, not to double
    #[arg(long)]
    delayed_ack: bool,

    /// Constant C of the square-root law: a number, or slides (0.7), periodic (1.22),
    /// periodic-delayed (0.87), random (1.31), random-delayed (0.93), rfc3649 (1.2)
    #[arg(long, value_name = "C", default_value = "slides", value_parser = values::mathis_constant, allow_hyphen_values = true)]
    constant: MathisConstant,

    /// Add the rate that each control reaches at this loss probability, as in 1e-5, '0.1 %' or '1
    /// in 10000'. May be repeated
    #[arg(long, value_name = "P", value_parser = values::probability, allow_hyphen_values = true)]
    loss: Vec<Probability>,

    /// Add the rate that a window or socket buffer of this size allows, as in 256K (KiB). May be
    /// repeated
    #[arg(long, value_name = "AMOUNT", value_parser = values::amount, allow_hyphen_values = true)]
    window: Vec<Bytes>,

    /// Add the duration of a transfer of this size without loss, as in '1 GB'. May be repeated
    #[arg(long, value_name = "AMOUNT", value_parser = values::amount, allow_hyphen_values = true)]
    data: Vec<Bytes>,

    /// Show only this congestion control. May be repeated
    #[arg(long, value_name = "NAME", value_parser = ["reno", "cubic", "highspeed", "scalable"])]
    control: Vec<String>,

    /// Show all equations
    #[arg(long, short)]
    verbose: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Calculates and prints the figures.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let paths = paths(arguments);
    if paths.len() > MOST_PATHS {
        let count = paths.len();
        return Err(
            Failure::new(format!("{count} combinations of rate, RTT and MSS"))
                .effect(format!(
                    "a table of more than {MOST_PATHS} columns fits nowhere"
                ))
                .hint("repeat only one of --rate, --rtt and --mss, or call several times"),
        );
    }
    let questions = Questions {
        losses: &arguments.loss,
        windows: &arguments.window,
        transfers: &arguments.data,
    };
    let mut view = TheoryView::of(&paths, &questions)?;
    if !arguments.control.is_empty() {
        view.keep_controls(&arguments.control);
    }
    if arguments.json {
        output::print_json(&view)?;
    } else {
        output::print_lines(&view.text(arguments.verbose))?;
    }
    Ok(Outcome::Done)
}

/// Every combination.
fn paths(arguments: &Arguments) -> Vec<Path> {
    let growth = if arguments.delayed_ack {
        Growth::DELAYED_ACK
    } else {
        Growth::EVERY_SEGMENT
    };
    let mut paths = Vec::new();
    for &rate in &arguments.rate {
        for &rtt in &arguments.rtt {
            for &mss in &arguments.mss {
                paths.push(Path {
                    iw: arguments.iw,
                    growth,
                    c: arguments.constant,
                    ..Path::new(rate, rtt, mss)
                });
            }
        }
    }
    paths
}
