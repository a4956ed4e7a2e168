//! Grades the twin: a world is captured, a change is predicted, and the changed world runs.
//!
//! The change is a lever of the user, drawn by seed. The transfer has a number of bytes, so
//! that the changed world carries the same ones. Both goodputs are measured from packets at
//! the sender's interface.

use std::fmt;

use gigatcp_analyze::{Options, Source};
use gigatcp_twin::constants::needs_pacing;
use gigatcp_twin::{Fit, Transfer, Twin, world};

use crate::kernels::corpus::{CaseDir, Place as KernelPlace};
use crate::worlds::{Draft, Draw, GradedWorld, Paths, Value, first_draw};

/// A relative error up to this is correct.
pub const TOLERANCE: f64 = 0.10;

/// Bytes of a transfer as a share of what the path carries in the length of its world.
const SHARE: f64 = 0.5;

/// Bounds of the same: a fit takes a hundred runs.
const MIN_BYTES: f64 = 300e3;
const MAX_BYTES: f64 = 6e6;

/// What became of one prediction.
#[derive(Clone, Debug)]
pub struct Graded {
    /// The world and the change.
    pub name: String,
    /// Goodput of the world as captured, in bits per second.
    pub before_bps: f64,
    /// Goodput of the changed world, in bits per second.
    pub truth_bps: f64,
    /// The prediction and the bounds of its interval, or why there is none.
    pub predicted: Result<(f64, [f64; 2]), String>,
    /// The best fit, in a line.
    pub fit: String,
}

impl Graded {
    /// Returns the relative error of the prediction.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let (predicted, _) = self.predicted.as_ref().ok()?;
        Some(predicted / self.truth_bps - 1.0)
    }

    /// Returns whether the interval has the truth in it.
    #[must_use]
    pub fn is_covered(&self) -> Option<bool> {
        let (_, [low, high]) = self.predicted.as_ref().ok()?;
        Some((*low..=*high).contains(&self.truth_bps))
    }
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
            Ok((bps, [low, high])) => write!(
                f,
                "predicted {:.2} ({:.2} to {:.2}), {:+.1} %{}",
                mbps(*bps),
                mbps(*low),
                mbps(*high),
                self.error().unwrap_or(0.0) * 100.0,
                if self.is_covered() == Some(true) {
                    ""
                } else {
                    ", OUTSIDE"
                },
            )?,
            Err(reason) => write!(f, "no prediction: {reason}")?,
        }
        write!(f, " [{}]", self.fit)
    }
}

/// A change of both a world and its twin.
struct Lever {
    edit: Box<dyn Fn(&mut Draft)>,
    changes: Vec<String>,
}

/// Returns the lever that this world's seed draws.
fn lever(world: &GradedWorld, seed: u64) -> Lever {
    let mix = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(byte.into());
    let mut draw = Draw::new(world.cause.bytes().fold(seed, mix));
    let mut pick = |most: u64| (draw.unit() * most as f64) as u64;
    let bytes = |key: &'static str, plan: &str, bytes: u64| Lever {
        edit: Box::new(move |draft| {
            draft.flow().set(key, Value::Bytes(bytes));
        }),
        changes: vec![format!("{plan}={bytes} B")],
    };
    let bdp = world.base.bdp;
    let shares = [0.25, 0.5, 1.0, 2.0, 4.0];
    match pick(5) {
        0 => {
            let size = (bdp * shares[pick(5) as usize]).max(20e3) as u64;
            bytes("receive_buffer", "receiver.buffer", size)
        }
        1 => {
            let size = (bdp * shares[pick(5) as usize]).max(20e3) as u64;
            bytes("send_buffer", "sender.buffer", size)
        }
        2 | 3 => {
            let control = ["cubic", "reno", "bbr", "bbr3"][pick(4) as usize];
            Lever {
                edit: Box::new(move |draft| {
                    draft
                        .flow()
                        .set("congestion_control", Value::Word(control.into()));
                    if needs_pacing(control) {
                        draft.sender.flag("pacing", true);
                    }
                }),
                changes: vec![format!("flow.congestion_control={control}")],
            }
        }
        _ => {
            let window = [3, 20, 50, 100][pick(4) as usize];
            Lever {
                edit: Box::new(move |draft| {
                    draft.sender.set("initial_window", Value::Count(window));
                }),
                changes: vec![format!("sender.initial_window={window}")],
            }
        }
    }
}

/// Captures the world of this cause and seed, predicts a change, and runs it.
///
/// # Errors
/// If a world cannot be run.
pub fn graded(cause: &str, seed: u64, paths: Paths) -> Result<Graded, String> {
    let drawn = first_draw(cause, seed, paths).ok_or("no world has this cause")?;
    let bytes =
        (drawn.base.rate / 8.0 * drawn.base.length * SHARE).clamp(MIN_BYTES, MAX_BYTES) as u64;
    let transfer = drawn.edited(|draft, _| {
        if draft.flow().remove(&["duration"]) {
            draft.flow().set("bytes", Value::Bytes(bytes));
        }
    });
    let lever = lever(&transfer, seed);
    let changed = transfer.edited(|draft, _| (lever.edit)(draft));
    let goodput = |world: &GradedWorld| {
        let ran = world::measure(world.config()?);
        Ok::<f64, String>(ran.map_or(0.0, |ran| ran.first.goodput_bps()))
    };
    let [capture, _, _] = transfer.captures()?;
    let source = Source::bytes("capture", capture);
    let mut about = String::new();
    let predicted = Transfer::read(&source, &Options::default(), None)
        .and_then(|transfer| {
            let twin = Twin::fit(transfer, &[]).map_err(|no| {
                about = no.best.as_deref().map(line).unwrap_or_default();
                no.reason
            })?;
            about = format!("{} of {}", line(&twin.fits[0]), twin.fits.len());
            twin.predict(&lever.changes)
        })
        .map(|one| (one.goodput_bps, one.interval_bps));
    Ok(Graded {
        name: format!(
            "{cause} {seed} {} [{}]",
            lever.changes.join(" "),
            drawn.about
        ),
        before_bps: goodput(&transfer)?,
        truth_bps: goodput(&changed)?,
        predicted,
        fit: about,
    })
}

fn line(fit: &Fit) -> String {
    let named = fit.constants.named().into_iter();
    let named: Vec<String> = named.map(|(key, value)| format!("{key}={value}")).collect();
    format!(
        "{:.2}: {} {:?}",
        fit.likeness.distance,
        named.join(" "),
        fit.likeness
    )
}

/// How well a fit repeats a kernel's transfer, and how near it is to the path that is known.
///
/// The control is taken from the label.
#[must_use]
pub fn kernel_fit(case: &CaseDir) -> (bool, String) {
    let label = &case.label;
    let name = format!("{}-{}", label.family, label.seed);
    let mut captures = case.captures.iter();
    let Some((_, path)) = captures.find(|(place, _)| *place == KernelPlace::Sender) else {
        return (false, format!("{name}: no capture at the sender"));
    };
    let known = format!("flow.congestion_control={}", label.parameters.control);
    let transfer = Transfer::read(&Source::file(path), &Options::default(), None);
    let twin = transfer.and_then(|transfer| {
        Twin::fit(transfer, &[known]).map_err(|no| {
            let best = no.best.as_deref().map(line).unwrap_or_default();
            format!("{} [{best}]", no.reason)
        })
    });
    match twin {
        Err(reason) => (false, format!("{name}: no fit: {reason}")),
        Ok(twin) => {
            let best = &twin.fits[0];
            let rate = best.constants.rate_bps / label.parameters.rate_bps;
            let rtt = best.constants.rtt * 1e3 / label.parameters.rtt_ms;
            let fit = line(best);
            (
                true,
                format!("{name}: rate x {rate:.2}, RTT x {rtt:.2} [{fit}]"),
            )
        }
    }
}

/// Figures over many predictions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WhatifScore {
    /// Worlds.
    pub worlds: u64,
    /// Predictions made.
    pub predicted: u64,
    /// Predictions within the tolerance.
    pub correct: u64,
    /// Predictions whose interval covers the truth.
    pub covered: u64,
    /// Predictions of changes that change goodput by more than the tolerance.
    pub matters: u64,
    /// Those of them within the tolerance.
    pub matters_correct: u64,
}

impl WhatifScore {
    /// Counts one.
    pub fn add(&mut self, one: &Graded) {
        self.worlds += 1;
        let Some(error) = one.error() else { return };
        self.predicted += 1;
        self.correct += u64::from(error.abs() <= TOLERANCE);
        self.covered += u64::from(one.is_covered() == Some(true));
        if (one.truth_bps / one.before_bps.max(1.0) - 1.0).abs() > TOLERANCE {
            self.matters += 1;
            self.matters_correct += u64::from(error.abs() <= TOLERANCE);
        }
    }
}

impl fmt::Display for WhatifScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u64| 100.0 * part as f64 / self.predicted.max(1) as f64;
        writeln!(
            f,
            "whatif: {} predictions of {} worlds ({} refused): {:.0} % within {:.0} %, intervals cover {:.0} %",
            self.predicted,
            self.worlds,
            self.worlds - self.predicted,
            percent(self.correct),
            TOLERANCE * 100.0,
            percent(self.covered),
        )?;
        writeln!(
            f,
            "where goodput changes by more than {:.0} %: {} of {} within {:.0} %",
            TOLERANCE * 100.0,
            self.matters_correct,
            self.matters,
            TOLERANCE * 100.0,
        )
    }
}
