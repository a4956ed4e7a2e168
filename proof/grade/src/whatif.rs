//! Grades predictions: a world is captured, a change is predicted, and the changed world runs.
//!
//! The change is one that a user can make, drawn by seed. With even seeds it changes goodput, if a
//! dozen draws find such a change. The transfer has a fixed number of bytes, so that the changed
//! world carries the same ones. Both goodputs are measured from packets at the sender's interface.

use std::fmt;

use gigatcp_analyze::{Options, Source};
use gigatcp_run::whatif::{Certainty, Prediction, Transfer, engine};

use crate::draw::Draw;
use crate::worlds::{Base, Draft, GradedWorld, Paths, Table, Value, first_draw};

/// Maximum relative error of a correct prediction.
pub const TOLERANCE: f64 = 0.10;

/// Maximum relative error of one that is nearly correct, and largest ratio of the ends of a narrow
/// interval.
const WIDE_TOLERANCE: f64 = 0.25;
const NARROW: f64 = 1.5;

/// Transfer size as a share of what the path carries in its world's duration.
const SHARE: f64 = 0.5;

/// Maximum draws in search of a lever that matters.
const MAX_LEVERS: usize = 12;

/// Bounds of the transfer size: every change that is drawn is run.
const MIN_BYTES: f64 = 300e3;
const MAX_BYTES: f64 = 6e6;

/// Time in seconds beyond which a transfer is not waited for.
const LONGEST: f64 = 100.0;

/// Causes that the connections of one host share. Simulated connections have a host each: what they
/// bring together is not the answer to the question.
const SHARED: [&str; 3] = ["local-queue", "sender-cpu-limited", "receiver-cpu-limited"];

/// A prediction with its true value.
#[derive(Clone, Debug)]
pub struct Graded {
    /// Name of the world and the change.
    pub name: String,
    /// Goodput of the world as captured, in bits per second.
    pub before_bps: f64,
    /// Goodput of the changed world, in bits per second.
    pub truth_bps: f64,
    /// The prediction, or the reason there is none.
    pub predicted: Result<Prediction, String>,
}

impl Graded {
    /// Whether the change alters goodput by more than the tolerance.
    fn matters(&self) -> bool {
        relative(self.truth_bps, self.before_bps) > TOLERANCE
    }
}

/// Relative difference of two rates; none between two that are zero.
fn relative(bps: f64, of: f64) -> f64 {
    (bps - of).abs() / of.max(1.0)
}

impl fmt::Display for Graded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbps = |bps: f64| bps / 1e6;
        write!(
            f,
            "{}: {:.2} to {:.2} Mbit/s; ",
            self.name,
            mbps(self.before_bps),
            mbps(self.truth_bps)
        )?;
        match &self.predicted {
            Ok(one) => {
                let [low, high] = one.interval_bps;
                write!(
                    f,
                    "{} {:.2} ({:.2} to {:.2}), {:+.1} %{}",
                    one.certainty.name(),
                    mbps(one.goodput_bps),
                    mbps(low),
                    mbps(high),
                    (one.goodput_bps / self.truth_bps - 1.0) * 100.0,
                    if (low..=high).contains(&self.truth_bps) {
                        ""
                    } else {
                        ", OUTSIDE"
                    },
                )?;
            }
            Err(reason) => write!(f, "no prediction: {reason}")?,
        }
        Ok(())
    }
}

/// A change of a world, and in the words of a user.
struct Lever {
    edit: Box<dyn Fn(&mut Draft)>,
    changes: Vec<String>,
}

/// Next lever of a draw: any that a user or an operator has.
fn lever(draw: &mut Draw, transfer: &GradedWorld) -> Lever {
    let base = &transfer.base;
    let mut kinds = vec![
        "receive", "send", "control", "control", "window", "flows", "queue", "mtu",
    ];
    kinds.retain(|kind| *kind != "flows" || !SHARED.contains(&transfer.cause));
    match draw.pick(&kinds) {
        "receive" => buffer(draw, base, "receive_buffer", "tcp_rmem"),
        "send" => buffer(draw, base, "send_buffer", "tcp_wmem"),
        "control" => control(draw.pick(&["cubic", "reno", "bbr", "bbr3"])),
        "window" => {
            let window = draw.pick(&[3, 20, 50, 100]);
            Lever {
                edit: Box::new(move |draft| {
                    draft.sender.set("initial_window", Value::Count(window));
                }),
                changes: vec![format!("sender.initial_window={window}")],
            }
        }
        "flows" => flows(draw.pick(&[2, 4, 8])),
        "queue" => {
            let share = draw.pick(&[0.1, 0.5, 1.0, 3.0]);
            let packets = (base.bdp / f64::from(base.mtu) * share).max(5.0) as u64;
            Lever {
                edit: Box::new(move |draft| {
                    draft.bottleneck().set("queue", Value::Packets(packets));
                }),
                changes: vec![format!("path.queue={packets} packets")],
            }
        }
        _ => {
            let mtu = if base.mtu > 1500 { 1500 } else { 9000 };
            Lever {
                edit: Box::new(move |draft| draft.both("mtu", Value::Count(mtu))),
                changes: ["sender", "receiver"]
                    .map(|host| format!("{host}.mtu={mtu}"))
                    .into(),
            }
        }
    }
}

/// A buffer for a number of bytes in flight, as Linux has to be told: of a receive buffer the payload
/// of packets becomes window, of a send buffer 78 % are in flight. Smaller ones than a super-segment
/// do not exist there.
fn buffer(draw: &mut Draw, base: &Base, key: &'static str, sysctl: &str) -> Lever {
    let payload = f64::from(base.mtu - 52);
    let (factor, least) = match sysctl {
        "tcp_rmem" => (1.0 / (payload / 2304.0).min(0.628), 20e3),
        _ => (1.0 / 0.775, 160e3),
    };
    let share = draw.pick(&[0.2, 0.5, 1.0, 2.0, 8.0]);
    let bytes = (base.bdp * share).max(least) as u64;
    Lever {
        edit: Box::new(move |draft| {
            draft.flow().set(key, Value::Bytes(bytes));
        }),
        changes: vec![format!(
            "net.ipv4.{sysctl}=4096 131072 {:.0}",
            bytes as f64 * factor
        )],
    }
}

fn control(name: &'static str) -> Lever {
    Lever {
        edit: Box::new(move |draft| {
            draft
                .flow()
                .set("congestion_control", Value::Word(name.into()));
            if matches!(name, "bbr" | "bbr3") {
                draft.sender.flag("pacing", true);
            }
        }),
        changes: vec![format!("flow.congestion_control={name}")],
    }
}

/// A lever of parallel connections that share the bytes.
fn flows(count: u64) -> Lever {
    Lever {
        edit: Box::new(move |draft| {
            draft.flow().scale("bytes", 1.0 / count as f64);
            draft.flow().set("count", Value::Count(count));
        }),
        changes: vec![format!("flow.count={count}")],
    }
}

/// Draws a lever. Returns it with the resulting goodput.
///
/// For even seeds it is the first of several that alters goodput by more than the tolerance.
fn drawn(transfer: &GradedWorld, seed: u64, before_bps: f64) -> Result<(Lever, f64), String> {
    let mix = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    let mut draw = Draw::new(transfer.cause.bytes().fold(seed, mix));
    let tries = if seed.is_multiple_of(2) {
        MAX_LEVERS
    } else {
        1
    };
    let mut last = None;
    for _ in 0..tries {
        let lever = lever(&mut draw, transfer);
        let changed = transfer.edited(|draft, _| (lever.edit)(draft));
        let truth = goodput(&changed)?;
        let matters = relative(truth, before_bps) > TOLERANCE;
        last = Some((lever, truth));
        if matters {
            break;
        }
    }
    last.ok_or_else(|| "no lever".into())
}

/// Measures the goodput of the graded flow and its parallel ones. Flows of other hosts do not
/// count.
fn goodput(world: &GradedWorld) -> Result<f64, String> {
    let count = world.draft.flows[0].number("count").unwrap_or(1.0) as usize;
    Ok(engine::measure(world.config()?, count).unwrap_or(0.0))
}

/// The world with a flow of another host that starts after the transfer. A simulation ends as its last
/// byte is read: without that flow the capture would lack the ACKs of the last flight.
fn whole(transfer: &GradedWorld, bps: f64) -> GradedWorld {
    let bytes = transfer.draft.flows[0].number("bytes").unwrap_or(0.0);
    let took = bytes * 8.0 / bps.max(1.0);
    if bps <= 0.0 || took > LONGEST {
        return transfer.clone();
    }
    transfer.edited(|draft, _| {
        let mut later = Table::default();
        later
            .set("name", Value::Word("later".into()))
            .set(
                "start",
                Value::seconds(took + 3.0 * transfer.base.rtt + 0.5),
            )
            .set("bytes", Value::Bytes(1));
        draft.flows.push(later);
    })
}

/// Captures the world of this cause and seed, predicts a change, and runs it.
///
/// # Errors
/// If a world cannot be run.
pub fn graded(cause: &str, seed: u64, paths: Paths) -> Result<Graded, String> {
    let origin = first_draw(cause, seed, paths).ok_or("no world has this cause")?;
    let bytes =
        (origin.base.rate / 8.0 * origin.base.length * SHARE).clamp(MIN_BYTES, MAX_BYTES) as u64;
    let transfer = origin.edited(|draft, _| {
        if draft.flow().remove(&["duration"]) {
            draft.flow().set("bytes", Value::Bytes(bytes));
        }
    });
    let before_bps = goodput(&transfer)?;
    let (lever, truth_bps) = drawn(&transfer, seed, before_bps)?;
    let [capture, _, _] = whole(&transfer, before_bps).captures()?;
    let source = Source::bytes("capture", capture);
    let read = Transfer::read(&source, &Options::default(), None);
    let verdicts = read
        .iter()
        .flat_map(|transfer| &transfer.diagnosis.verdicts);
    let first = verdicts.map(|verdict| verdict.cause.id).next();
    let predicted = read.as_ref().map_err(String::clone);
    let predicted = predicted.and_then(|transfer| transfer.predict(&lever.changes, &[]));
    Ok(Graded {
        name: format!(
            "{cause} {seed} {} [{:.2} Mbit/s, {:.1} ms, {}; why: {}]",
            lever.changes.join(" "),
            origin.base.rate / 1e6,
            origin.base.rtt * 1e3,
            origin.about,
            first.unwrap_or("unknown")
        ),
        before_bps,
        truth_bps,
        predicted,
    })
}

/// Results of many predictions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WhatifScore {
    /// All worlds.
    pub all: Count,
    /// Worlds in which the change alters goodput by more than the tolerance.
    pub matters: Count,
    /// Worlds that could not be run.
    pub not_run: u64,
}

/// Counts of worlds by kind of prediction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Worlds.
    pub worlds: u64,
    /// Points stated, each with an interval.
    pub points: u64,
    /// Points within the tolerance.
    pub near: u64,
    /// Points within the wide tolerance.
    pub within: u64,
    /// Points whose interval covers the truth.
    pub covered: u64,
    /// Points whose upper end is at most 1.5 times the lower.
    pub narrow: u64,
    /// Lower bounds stated.
    pub bounds: u64,
    /// Lower bounds that the truth reaches.
    pub reached: u64,
    /// Worlds whose evidence does not decide.
    pub unsure: u64,
}

impl WhatifScore {
    /// Counts one world; `None` if it could not be run.
    pub fn add(&mut self, one: Option<&Graded>) {
        let Some(one) = one else {
            self.not_run += 1;
            return;
        };
        self.all.add(one);
        if one.matters() {
            self.matters.add(one);
        }
    }
}

impl Count {
    fn add(&mut self, one: &Graded) {
        self.worlds += 1;
        let Ok(predicted) = &one.predicted else {
            return;
        };
        let [low, high] = predicted.interval_bps;
        match predicted.certainty {
            Certainty::Number | Certainty::Range => {
                let error = relative(predicted.goodput_bps, one.truth_bps);
                self.points += 1;
                self.near += u64::from(error <= TOLERANCE);
                self.within += u64::from(error <= WIDE_TOLERANCE);
                self.covered += u64::from((low..=high).contains(&one.truth_bps));
                self.narrow += u64::from(high <= NARROW * low);
            }
            Certainty::AtLeast => {
                self.bounds += 1;
                self.reached += u64::from(one.truth_bps >= low);
            }
            Certainty::Unsure => self.unsure += 1,
        }
    }
}

impl fmt::Display for WhatifScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "whatif: {}", self.all)?;
        match self.not_run {
            0 => writeln!(f)?,
            count => writeln!(f, "; {count} not run")?,
        }
        writeln!(
            f,
            "where goodput changes by more than {:.0} %: {}",
            TOLERANCE * 100.0,
            self.matters
        )
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let of_points = |part: u64| percent(part, self.points);
        write!(
            f,
            "{} worlds, answered {:.0} %: {} with a point, {:.0} % within {:.0} %, {:.0} % within \
             {:.0} %, upper <= {NARROW} lower {:.0} %, covered {:.0} %; {} lower bounds, {} reached; \
             {} unsure, {} without a prediction",
            self.worlds,
            percent(self.points + self.bounds, self.worlds),
            self.points,
            of_points(self.near),
            TOLERANCE * 100.0,
            of_points(self.within),
            WIDE_TOLERANCE * 100.0,
            of_points(self.narrow),
            of_points(self.covered),
            self.bounds,
            self.reached,
            self.unsure,
            self.worlds - self.points - self.bounds - self.unsure,
        )
    }
}
