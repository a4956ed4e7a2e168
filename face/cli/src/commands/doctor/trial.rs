//! `--try`: makes the changes that are predicted to help, one at a time, and keeps those that do.
//!
//! After each change the test is run again. What did not help is undone, and the next change
//! follows from the new test. Ctrl-C, SIGTERM, SIGHUP and SIGQUIT undo everything.

use std::collections::HashSet;
use std::io::{IsTerminal, stdin};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use gigatcp_meter::doctor::Direction;
use gigatcp_report::escape::terminal;
use gigatcp_report::prose::wrap_hanging;
use gigatcp_run::whatif::{Fix, FixPlan, Prediction};
use gigatcp_units::Rate;
use gigatcp_units::grammar::human_rate;
use serde::Serialize;

use super::observed::Observed;
use super::undo::{Changes, joined};
use super::{Arguments, host};
use crate::atomic_file::AtomicFile;
use crate::commands::whatif::stated;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

/// Minimum measured gain of a change that is kept.
const KEPT: f64 = 1.03;

/// Maximum changes of a trial.
const MAX_CHANGES: usize = 12;

/// A change that was made, or was not.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Attempt {
    ids: Vec<&'static str>,
    commands: Vec<String>,
    before_bps: f64,
    predicted_bps: f64,
    interval_bps: [Option<f64>; 2],
    certainty: &'static str,
    /// Whether the prediction is an estimate, and not only a lower bound.
    has_point: bool,
    /// The prediction in words.
    #[serde(skip)]
    predicted: String,
    /// The limit that is predicted to hold then.
    next_limit: Option<&'static str>,
    /// Goodput with it; `None` if it was not measured.
    measured_bps: Option<f64>,
    is_kept: bool,
    /// Why it was not made, or not measured.
    error: Option<String>,
}

/// Result of a trial.
pub(super) struct Trial {
    pub(super) attempts: Vec<Attempt>,
    /// The transfer with the changes that were kept.
    pub(super) last: Observed,
    /// Whether a change that was not tried is still predicted to help.
    pub(super) is_left: bool,
}

/// Refuses what could not be changed, undone or consented to.
pub(super) fn check(arguments: &Arguments) -> Result<(), Failure> {
    if !host::may_change() {
        return Err(Failure::new(
            "--try changes settings of this host, which needs root or CAP_NET_ADMIN",
        )
        .effect("nothing was tested or changed")
        .hint("without --try the commands are printed; or run it with sudo"));
    }
    AtomicFile::check_absent(&arguments.undo_file)
        .map_err(|failure| failure.effect("nothing was tested or changed"))?;
    if !arguments.yes && !stdin().is_terminal() {
        return Err(Failure::new(
            "--try asks before each change, and standard input is not a terminal",
        )
        .effect("nothing was tested or changed")
        .hint("add --yes to agree to every change; each is undone if it does not help"));
    }
    Ok(())
}

/// Tries changes until none is predicted to help, beginning with what was observed.
pub(super) fn run(
    arguments: &Arguments,
    mut observed: Observed,
    changes: &mut Changes,
    interrupt: &Interrupt,
) -> Result<Trial, Failure> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut tried: HashSet<String> = HashSet::new();
    loop {
        let facts = host::read(arguments.host.as_deref())?;
        let plan = observed.plan(&facts, arguments.rate);
        let has_failed = attempts.iter().any(Attempt::has_failed);
        let next = plan.ok().and_then(|plan| next_of(plan, &tried, has_failed));
        let is_left = next.is_some();
        let Some(fix) =
            next.filter(|_| attempts.len() < MAX_CHANGES && interrupt.signal().is_none())
        else {
            return Ok(Trial {
                attempts,
                last: observed,
                is_left,
            });
        };
        tried.insert(key(&fix));
        let mut attempt = Attempt::of(&fix, observed.goodput());
        if arguments.yes || consents(&fix, &attempt, interrupt) {
            say(arguments, &format!("trying {}", attempt.commands(" && ")));
            if let Some(better) = attempt.make(&fix, arguments, &observed, changes, interrupt)? {
                observed = better;
            }
        } else {
            attempt.error = Some("declined".into());
        }
        if !arguments.json {
            // A reader of stdout that is gone must not leave a change without its undo.
            let _ = output::print(&attempt.text());
        }
        attempts.push(attempt);
    }
}

/// The next change to try. If one did not help alone, all together are tried last.
fn next_of(plan: FixPlan, tried: &HashSet<String>, has_failed: bool) -> Option<Fix> {
    let worth = plan
        .fixes
        .into_iter()
        .filter(|fix| fix.is_worth && fix.can_be_tried());
    let everything = plan.everything.filter(|_| has_failed);
    worth
        .chain(everything)
        .find(|fix| !tried.contains(&key(fix)))
}

/// What identifies a change that was tried.
fn key(fix: &Fix) -> String {
    let commands = fix.steps.iter().map(|step| step.command.as_str());
    commands.collect::<Vec<_>>().join("\n")
}

/// Whether the settings of now lead to the same steps, whose undo restores what was read.
fn is_still_planned(
    fix: &Fix,
    arguments: &Arguments,
    observed: &Observed,
) -> Result<bool, Failure> {
    let facts = host::read(arguments.host.as_deref())?;
    let plan = observed.plan(&facts, arguments.rate);
    Ok(plan.is_ok_and(|plan| {
        let mut fixes = plan.fixes.iter().chain(&plan.everything);
        fixes.any(|planned| planned.steps == fix.steps)
    }))
}

fn say(arguments: &Arguments, text: &str) {
    if !arguments.json && !output::is_quiet() {
        output::say(text);
    }
}

impl Attempt {
    fn of(fix: &Fix, before_bps: f64) -> Self {
        let prediction = fix.prediction.as_ref().ok();
        let open = |bps: f64| Some(bps).filter(|bps| bps.is_finite());
        Self {
            ids: fix.ids.clone(),
            commands: fix.steps.iter().map(|step| step.command.clone()).collect(),
            before_bps,
            predicted_bps: prediction.map_or(0.0, |prediction| prediction.goodput_bps),
            interval_bps: prediction
                .map_or([None; 2], |prediction| prediction.interval_bps.map(open)),
            certainty: prediction.map_or("none", |prediction| prediction.certainty.name()),
            has_point: prediction.is_some_and(Prediction::has_point),
            predicted: prediction.map_or_else(|| "nothing".into(), stated),
            next_limit: prediction.map(|prediction| prediction.limit),
            measured_bps: None,
            is_kept: false,
            error: None,
        }
    }

    /// Whether it was measured, and did not help.
    fn has_failed(&self) -> bool {
        self.measured_bps.is_some() && !self.is_kept
    }

    /// Makes the change and measures. Returns the new transfer if the change is kept.
    fn make(
        &mut self,
        fix: &Fix,
        arguments: &Arguments,
        before: &Observed,
        changes: &mut Changes,
        interrupt: &Interrupt,
    ) -> Result<Option<Observed>, Failure> {
        if fix.is_of_machine
            && let Err(failure) = changes.claim_machine()
        {
            self.error = Some(first_line(&failure));
            return Ok(None);
        }
        // Another process may have changed the machine before it was claimed.
        if fix.is_of_machine && !is_still_planned(fix, arguments, before)? {
            self.error = Some("the settings have changed since it was planned".into());
            return Ok(None);
        }
        for step in &fix.steps {
            if let Err(error) = changes.make(step)? {
                self.error = Some(error);
                changes.undo_unkept()?;
                return Ok(None);
            }
        }
        match self.measure(arguments, before, interrupt) {
            Ok(after) => {
                self.measured_bps = Some(after.goodput());
                self.is_kept = self.helps(&after);
                if self.is_kept {
                    changes.keep();
                    return Ok(Some(after));
                }
            }
            // The change may have cut the connection off.
            Err(failure) => self.error = Some(first_line(&failure)),
        }
        changes.undo_unkept()?;
        Ok(None)
    }

    /// Tests with the change. A test that contradicts the prediction is repeated: what else is on
    /// the path or the host slows a transfer down, and never makes it faster.
    fn measure(
        &self,
        arguments: &Arguments,
        before: &Observed,
        interrupt: &Interrupt,
    ) -> Result<Observed, Failure> {
        let test = || {
            host::test(
                arguments,
                before.direction.unwrap_or(Direction::Send),
                interrupt,
            )
        };
        let first = test()?;
        let low = self.interval_bps[0].unwrap_or(0.0);
        if self.helps(&first) && first.goodput() >= low || interrupt.signal().is_some() {
            return Ok(first);
        }
        say(arguments, "less than predicted: testing again");
        Ok(match test() {
            Ok(second) if second.goodput() > first.goodput() => second,
            _ => first,
        })
    }

    fn helps(&self, after: &Observed) -> bool {
        after.goodput() >= KEPT * self.before_bps
    }

    /// The commands for a terminal.
    fn commands(&self, separator: &str) -> String {
        let commands = self.commands.iter().map(|command| terminal(command));
        commands.collect::<Vec<_>>().join(separator)
    }

    /// Predicted next to measured, and what was done.
    fn text(&self) -> String {
        let rate = |bps: f64| human_rate(Rate::from_bps(bps as u64));
        let did = match (&self.error, self.measured_bps) {
            (Some(error), _) => format!("not made: {}", terminal(error)),
            (None, Some(bps)) if self.is_kept => format!("measured {}: kept", rate(bps)),
            (None, Some(bps)) => format!("measured {}: undone", rate(bps)),
            (None, None) => "not measured: undone".into(),
        };
        let words = format!(
            "{}: {} before, predicted {}, {did}",
            self.commands(" && "),
            rate(self.before_bps),
            self.predicted
        );
        wrap_hanging(&words, 0, 2)
    }
}

/// The cause of a failure.
fn first_line(failure: &Failure) -> String {
    let text = failure.text();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Asks on the terminal. Ctrl-C is no.
fn consents(fix: &Fix, attempt: &Attempt, interrupt: &Interrupt) -> bool {
    let machine = if fix.is_of_machine {
        " It concerns the whole machine."
    } else {
        ""
    };
    host::discard_input();
    output::ask(&format!(
        "\n  {}\npredicted {}.{machine} Make this change? It is undone if it does not help. [y/N]",
        attempt.commands("\n  "),
        attempt.predicted
    ));
    let (answered, answers) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().read_line(&mut line);
        let _ = answered.send(read.is_ok_and(|_| matches!(line.trim(), "y" | "Y" | "yes")));
    });
    loop {
        match answers.recv_timeout(Duration::from_millis(50)) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) if interrupt.signal().is_some() => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The end: the rate before and now, and how to undo.
pub(super) fn summary(before: f64, trial: &Trial, place: &str, count: usize) -> String {
    let rate = |bps: f64| human_rate(Rate::from_bps(bps as u64));
    let now = trial.last.goodput();
    let mut text = format!(
        "From {} to {} ({:.1} times)",
        rate(before),
        rate(now),
        now / before.max(1.0)
    );
    text.push_str(&match count {
        0 => ": nothing was changed\n".to_owned(),
        _ => format!(". To undo: gigatcp doctor --undo {place}\n"),
    });
    text
}

/// Undoes everything after a signal, and says so.
pub(super) fn undo_all(changes: &mut Changes) -> Result<(), Failure> {
    let count = changes.count();
    changes.undo_all()?;
    let differences = changes.differences()?;
    output::say(&format!(
        "interrupted: {} undone",
        output::counted(count as u64, "change")
    ));
    if differences.is_empty() {
        return Ok(());
    }
    Err(
        Failure::new(format!("not as before: {}", joined(&differences)))
            .effect("something else changed these settings meanwhile"),
    )
}
