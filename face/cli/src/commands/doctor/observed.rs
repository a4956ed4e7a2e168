//! A transfer over the path, by a test or from a file, and the changes that would help it.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;

use gigatcp_meter::doctor::{Direction, HostFacts};
use gigatcp_report::escape::terminal;
use gigatcp_report::prose::wrap_hanging;
use gigatcp_run::whatif::model::{Estimate, LimitedRate};
use gigatcp_run::whatif::{Certainty, Evidence, Fix, FixPlan, Place, Prediction, Transfer};
use gigatcp_units::grammar::human_rate;
use gigatcp_units::{Duration, Rate};
use serde_json::{Value, json};

use super::host;
use super::test::Test;
use crate::commands::whatif::{self, prediction_json, stated};
use crate::failure::Failure;
use gigatcp_report::why::answer::labeled;

/// A transfer over the path.
pub(super) struct Observed {
    /// What this host did in it; `None` if it was neither end.
    pub(super) direction: Option<Direction>,
    /// The test; `None` if a file has the transfer.
    pub(super) test: Option<Test>,
    /// The program at this end, if its connection is still open.
    pub(super) program: Option<String>,
    /// Its connection; `None` if neither packets nor counters show one.
    pub(super) transfer: Option<Transfer>,
    /// Payload rate that the path carries, by packet trains.
    pub(super) capacity: Option<Estimate>,
    /// The same of a train within the burst of a token bucket, in bit/s.
    pub(super) within_burst: Option<f64>,
}

impl Observed {
    /// Reads the largest transfer of a capture or of a report. `role` is this host's, if stated.
    pub(super) fn read(file: &Path, role: Direction) -> Result<Self, Failure> {
        let transfer = whatif::read(&[file.to_owned()], None)?.map_err(|reason| {
            Failure::new(format!("{}: {reason}", file.display()))
                .effect("nothing was examined")
                .hint("`gigatcp why` says what the file shows")
        })?;
        let direction = Some(role)
            .filter(|role| *role != Direction::Both)
            .or_else(|| role_in(&transfer.ends));
        let own = ends(&transfer.ends).and_then(|[from, to]| match direction? {
            Direction::Receive => Some(to),
            _ => Some(from),
        });
        Ok(Self {
            direction,
            test: None,
            program: own.and_then(host::program),
            transfer: Some(transfer),
            capacity: None,
            within_burst: None,
        })
    }

    /// The address of the other end, if this host is one.
    pub(super) fn peer(&self) -> Option<String> {
        let [sender, receiver] = ends(&self.transfer.as_ref()?.ends)?;
        Some(match self.direction? {
            Direction::Receive => sender.ip().to_string(),
            _ => receiver.ip().to_string(),
        })
    }

    /// Goodput in bit/s.
    pub(super) fn goodput(&self) -> f64 {
        let of_transfer = || Some(self.transfer.as_ref()?.diagnosis.throughput.as_bps());
        let bps = self
            .test
            .as_ref()
            .map(|test| test.goodput_bps)
            .or_else(of_transfer);
        bps.unwrap_or(0) as f64
    }

    /// The changes that would help; the error is the reason why that is unknown.
    pub(super) fn plan(&self, facts: &HostFacts, wanted: Option<Rate>) -> Result<FixPlan, String> {
        let mut transfer = self
            .transfer
            .clone()
            .ok_or("the test has neither packets nor counters of its connection")?;
        // A report of a receiver has no RTT: what the kernel remembers of the peer is one.
        let remembered = facts.peer.as_ref().and_then(|peer| peer.rtt_us);
        if let Some(micros) = remembered.filter(|_| transfer.diagnosis.min_rtt.is_zero()) {
            transfer.diagnosis.min_rtt = Duration::from_nanos(micros.saturating_mul(1000));
        }
        let evidence = Evidence {
            transfer: &transfer,
            host: self.direction.map(|direction| (facts, direction)),
            capacity: self.capacity,
            within_burst: self.within_burst,
            wanted: wanted.map(|rate| rate.as_bps() as f64),
        };
        evidence.plan()
    }

    /// What limited the transfer, in a sentence.
    fn sentence(&self) -> String {
        let rate = human_rate(Rate::from_bps(self.goodput() as u64));
        let what = match (&self.test, self.direction) {
            (Some(_), Some(direction)) => format!("Tested: {} {rate}.", direction.name()),
            (_, Some(direction)) => format!("This host was to {} {rate}.", direction.name()),
            _ => format!("The transfer had {rate}; this host is neither end."),
        };
        let of_test = self
            .test
            .as_ref()
            .map(|test| test.answer.as_ref().map(|answer| answer.sentence.clone()));
        let of_file = || Some(self.transfer.as_ref()?.diagnosis.answer().sentence);
        let answer = of_test.unwrap_or_else(of_file);
        format!(
            "{what} {}",
            answer.unwrap_or_else(|| "What limited it was not measured.".into())
        )
    }
}

/// Both ends of a transfer, the sender first.
fn ends(text: &str) -> Option<[SocketAddr; 2]> {
    let (from, to) = text.split_once(" -> ")?;
    Some([from.parse().ok()?, to.parse().ok()?])
}

/// What this host did in a transfer: an address is its own if a socket can be bound to it.
fn role_in(text: &str) -> Option<Direction> {
    let [from, to] = ends(text)?.map(|end| UdpSocket::bind((end.ip(), 0)).is_ok());
    match (from, to) {
        (true, false) => Some(Direction::Send),
        (false, true) => Some(Direction::Receive),
        _ => None,
    }
}

/// Name of a limit: a cause of `why`, or a rule.
fn limit_name(id: &str) -> &str {
    let of_rule = || gigatcp_meter::doctor::find(id).map(|rule| rule.name);
    gigatcp_why::find(id)
        .map(|cause| cause.name)
        .or_else(of_rule)
        .unwrap_or(id)
}

/// The transfer and the changes as text.
pub(super) fn text(observed: &Observed, plan: &Result<FixPlan, String>) -> String {
    let mut text = wrap_hanging(&observed.sentence(), 0, 2);
    let plan = match plan {
        Ok(plan) => plan,
        Err(reason) => return text + &labeled("Fix", &format!("no prediction: {reason}")),
    };
    let mut worth = plan.fixes.iter().filter(|fix| fix.is_worth).peekable();
    if worth.peek().is_none() {
        text.push_str(&labeled("Fix", &nothing(plan)));
    }
    for fix in worth {
        text.push_str(&one(fix, observed.program.as_deref()));
    }
    text
}

/// The sentence if no change helps.
fn nothing(plan: &FixPlan) -> String {
    let first = plan.limits.first();
    let limit = first.map(|limit| {
        format!(
            "; the limit is {} ({})",
            limit_name(limit.cause),
            limit_rate(limit)
        )
    });
    format!(
        "no change of a host is predicted to help{}",
        limit.unwrap_or_default()
    )
}

fn limit_rate(limit: &LimitedRate) -> String {
    let Estimate { low, mid, .. } = limit.bps;
    let rate = |bps: f64| human_rate(Rate::from_bps(bps.clamp(0.0, 1e15) as u64));
    if mid.is_finite() {
        rate(mid)
    } else {
        format!("at least {}", rate(low))
    }
}

/// A change: its commands, then the prediction. `program` has the connection open.
fn one(fix: &Fix, program: Option<&str>) -> String {
    let mut text = String::new();
    let within = program
        .filter(|_| fix.place == Place::Program)
        .map_or_else(String::new, |name| format!("{}: ", terminal(name)));
    for (place, step) in fix.steps.iter().enumerate() {
        let label = match (place, fix.place) {
            (0, Place::Here) => "Fix",
            (0, Place::Far) => "Far host",
            (0, Place::Program) => "Program",
            _ => "and",
        };
        // A command is not broken, so that it can be copied.
        text.push_str(&format!("  {label:<10}{within}{}\n", step.command));
    }
    text.push_str(&labeled("", &promise(fix)));
    text
}

/// The predicted goodput, and what must be known before the change is made.
fn promise(fix: &Fix) -> String {
    let mut words = match &fix.prediction {
        Ok(prediction) => predicted(prediction),
        Err(reason) => format!("no prediction: {reason}"),
    };
    if fix.is_of_machine {
        words.push_str("; it concerns the whole machine, all network namespaces");
    }
    if let Some(condition) = fix.only_if {
        words.push_str(&format!("; only if {condition}"));
    }
    if let Some(what) = &fix.lacks {
        words.push_str(&format!("; not tried: {what}"));
    } else if fix.is_command && !fix.can_be_tried() {
        words.push_str("; not tried: no command undoes it");
    }
    words
}

fn predicted(prediction: &Prediction) -> String {
    let gain = match prediction.certainty {
        Certainty::Number => format!(", {:.1} times", prediction.gain),
        _ => String::new(),
    };
    let reason = match prediction.certainty {
        Certainty::Number => String::new(),
        _ => format!(" ({})", prediction.reason),
    };
    format!(
        "predicted {}{gain}; then {}{reason}",
        stated(prediction),
        limit_name(prediction.limit)
    )
}

/// The transfer and the changes as JSON.
pub(super) fn json(observed: &Observed, plan: &Result<FixPlan, String>) -> Value {
    let open = |bps: f64| Some(bps).filter(|bps| bps.is_finite());
    let limit = |limit: &LimitedRate| json!({ "cause": limit.cause, "bps": open(limit.bps.mid), "evidence": limit.evidence });
    let plan = match plan {
        Ok(plan) => json!({
            "limits": plan.limits.iter().map(limit).collect::<Vec<_>>(),
            "fixes": plan.fixes.iter().map(fix_json).collect::<Vec<_>>(),
        }),
        Err(reason) => json!({ "refused": reason }),
    };
    json!({
        "direction": observed.direction.map(Direction::name),
        "goodput_bps": observed.goodput(),
        "plan": plan,
    })
}

fn fix_json(fix: &Fix) -> Value {
    let prediction = fix.prediction.as_ref();
    json!({
        "ids": fix.ids,
        "place": fix.place.name(),
        "commands": fix.steps.iter().map(|step| &step.command).collect::<Vec<_>>(),
        "undo": fix.steps.iter().rev().filter_map(|step| step.undo.as_ref()).collect::<Vec<_>>(),
        "is_command": fix.is_command,
        "is_worth": fix.is_worth,
        "is_of_machine": fix.is_of_machine,
        "can_be_tried": fix.can_be_tried(),
        "lacks": fix.lacks,
        "only_if": fix.only_if,
        "prediction": prediction.map_or_else(|reason| json!({ "refused": reason }), prediction_json),
    })
}
