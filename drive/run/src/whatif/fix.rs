//! Changes that would help a transfer: those of this host by rules of `gigatcp_meter::doctor`, others as
//! advice, each with its predicted goodput.
//!
//! ```text
//! facts of the host -> findings -> their ceilings are limits of the model too transfer -> model,
//! its limits -> a change lifts one of them -> the lowest limit is the prediction
//! ```
//!
//! A ceiling far below what the transfer achieved is not a limit of it. A change of a setting that
//! the model does not know, such as the length of a queue, lifts only the ceiling of its finding.

use gigatcp_meter::doctor::{CostedFinding, Direction, HostFacts, Path, Report, examine, law};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use super::change::Change;
use super::levers::advice;
use super::model::{Estimate, LimitedRate, Model, UNKNOWN};
use super::predict::{Certainty, Prediction};
use super::transfer::Transfer;

/// What the changes follow from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// A transfer over the path.
    pub transfer: &'a Transfer,
    /// This host; `None` if it is not an end of the transfer.
    pub host: Option<(&'a HostFacts, Direction)>,
    /// Payload rate that the path carries, if it was measured.
    pub capacity: Option<Estimate>,
    /// Payload rate in bit/s of packets within the burst of a token bucket, if one was seen: if
    /// the bucket is this host's, what the path carries behind it.
    pub within_burst: Option<f64>,
    /// Rate that the path should carry, in bit/s, if nothing shows what it carries.
    pub wanted: Option<f64>,
}

/// Where a change is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// This host.
    Here,
    /// The other end of the transfer.
    Far,
    /// The program at this end.
    Program,
}

impl Place {
    /// Its name in output and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Here => "this host",
            Self::Far => "other host",
            Self::Program => "program",
        }
    }
}

/// A command, and the one that restores what it changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The command; advice if the change is not one of this host.
    pub command: String,
    /// The command that restores the value that was read.
    pub undo: Option<String>,
}

/// A change and its predicted goodput.
#[derive(Clone, PartialEq, Debug)]
pub struct Fix {
    /// Rules of `gigatcp_meter::doctor`, or the cause that `why` found.
    pub ids: Vec<&'static str>,
    /// Where it is made.
    pub place: Place,
    /// What is done, in this order.
    pub steps: Vec<Step>,
    /// Whether the steps are commands.
    pub is_command: bool,
    /// Whether it concerns the whole machine, not only the network namespace.
    pub is_of_machine: bool,
    /// What the kernel lacks for it.
    pub lacks: Option<String>,
    /// Condition under which the setting limits; `None`: always.
    pub only_if: Option<&'static str>,
    /// Changes as `KEY=VALUE` of `gigatcp whatif`.
    pub changes: Vec<String>,
    /// The goodput with it; the error is the reason why there is none.
    pub prediction: Result<Prediction, String>,
    /// Whether that is worth a try.
    pub is_worth: bool,
}

/// Changes that would help a transfer: those with the highest predicted goodput first, unsure ones
/// last.
#[derive(Clone, PartialEq, Debug)]
pub struct FixPlan {
    /// Goodput of the transfer in bit/s.
    pub goodput_bps: f64,
    /// Its limits, the lowest first, those by settings of this host included.
    pub limits: Vec<LimitedRate>,
    /// The changes.
    pub fixes: Vec<Fix>,
    /// All of this host at once: what to try if one alone did not bring what was predicted, since
    /// an effect that no law gives, such as that of missing SACK, may hold it back.
    pub everything: Option<Fix>,
}

/// Minimum predicted gain of a change that is worth a try.
const MIN_GAIN: f64 = 1.05;
/// Ratio of the goodput to a ceiling from which that is not a limit of the transfer.
const REFUTED: f64 = 1.2;
/// The rule of the send buffer, and the ratio of its ceiling to the goodput, either way, up to which it
/// may be what limits: how large the bursts of a program are decides.
const SEND_BUFFER: &str = "send-buffer-max";
const BUFFER_RATIO: f64 = 1.5;
/// Causes that a full send buffer looks like.
const PAUSES: [&str; 2] = ["application-limited", "pacing-limited"];
/// The rule whose ceiling is a lower bound of what its queue allows.
const LOWER_BOUND: &str = "short-queue";
/// Factor by which a limit must rise to be no longer the one that holds.
const LIFTED: f64 = 2.0;
/// Relative error of a ceiling: the tolerance with which it is compared with tests.
const CEILING_ERROR: f64 = 0.2;
/// Relative error of the rate of a few packets.
const BURST_ERROR: f64 = 0.15;
/// Relative error of a rate that the user states.
const STATED_ERROR: f64 = 0.02;
/// Relative distance of a rate of this host's queueing discipline from that of the path up to which
/// both are the same.
const SAME: f64 = 0.25;
/// Bytes that an Ethernet link adds to a packet.
const FRAME: f64 = 38.0;
/// Rate of a path of which nothing is known: settings are examined for it.
const FAST: f64 = 10e9;

impl Fix {
    /// Whether this host can be changed so, and restored.
    pub fn can_be_tried(&self) -> bool {
        self.place == Place::Here
            && self.is_command
            && self.lacks.is_none()
            && self.steps.iter().all(|step| step.undo.is_some())
    }

    /// The limit that is predicted to hold then.
    fn next_limit(&self) -> Option<&'static str> {
        self.prediction
            .as_ref()
            .ok()
            .map(|prediction| prediction.limit)
    }

    /// Whether the evidence does not decide what it brings.
    fn is_unsure(&self) -> bool {
        let prediction = self.prediction.as_ref();
        prediction.is_ok_and(|prediction| prediction.certainty == Certainty::Unsure)
    }

    /// Predicted goodput; zero if unknown.
    fn goodput(&self) -> f64 {
        self.prediction
            .as_ref()
            .map_or(0.0, |prediction| prediction.goodput_bps)
    }
}

impl Evidence<'_> {
    /// The changes that would help.
    ///
    /// # Errors
    /// What the evidence lacks, in a sentence.
    pub fn plan(&self) -> Result<FixPlan, String> {
        let mut model = self.transfer.model(&self.known())?;
        if let Some(capacity) = self.capacity {
            model.path = at_least_goodput(capacity, model.goodput);
        }
        self.open_send_buffer(&mut model);
        self.open_behind_shaper(&mut model);
        if let Some(wanted) = self.wanted.filter(|_| model.path.is_open()) {
            model.path = at_least_goodput(Estimate::about(wanted, STATED_ERROR), model.goodput);
        }
        let mut report = self.report(&model);
        let mut found = report.iter().flat_map(|report| &report.findings);
        // Packets that this host's queue drops are not lost at random.
        if self.capacity.is_some() && !found.any(|found| found.rule.id == LOWER_BOUND) {
            model.take_losses_as_random();
            report = self.report(&model);
        }
        model.settings = report
            .iter()
            .flat_map(|report| ceilings(report, &model))
            .collect();
        self.take_setting_for_pause(&mut model);
        let mut fixes = report
            .as_ref()
            .map_or_else(Vec::new, |report| by_command(report, &model));
        together(&mut fixes, &model);
        let everything = everything(&fixes, &model);
        let has_worth = fixes.iter().any(|fix| fix.is_worth && fix.can_be_tried());
        // Each of them alone leaves another limit that is as low.
        fixes.extend(everything.clone().filter(|fix| fix.is_worth && !has_worth));
        fixes.extend(self.elsewhere(&model, &fixes));
        fixes.sort_by(|a, b| {
            let order = |fix: &Fix| (fix.is_worth, !fix.is_unsure(), fix.goodput());
            order(b)
                .partial_cmp(&order(a))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(FixPlan {
            goodput_bps: model.goodput,
            limits: model.limits(),
            fixes,
            everything,
        })
    }

    /// Settings of this host that the transfer ran with.
    fn known(&self) -> Vec<String> {
        let Some((facts, direction)) = self.host else {
            return Vec::new();
        };
        let mut known = Vec::new();
        if facts.is_off("net.ipv4.tcp_sack") {
            known.push("net.ipv4.tcp_sack=0".to_owned());
        }
        let control = law::control(facts).filter(|_| direction == Direction::Send);
        let is_known =
            |name: &String| Change::parse(&format!("flow.congestion_control={name}")).is_ok();
        known.extend(
            control
                .filter(is_known)
                .map(|name| format!("flow.congestion_control={name}")),
        );
        known
    }

    /// Leaves open what a send buffer allows that the kernel tunes: a rule gives its maximum, and a
    /// window that is clamped looks the same.
    fn open_send_buffer(&self, model: &mut Model) {
        let is_sender = self
            .host
            .is_some_and(|(_, direction)| direction == Direction::Send);
        if is_sender && self.transfer.sets_buffers == Some(false) {
            model.flight = Estimate::at_least(model.flight.low);
        }
    }

    /// Takes the send buffer of this host for what limits if it may, and `why` is unsure whether the
    /// program pauses or paces: a full buffer looks like both.
    fn take_setting_for_pause(&self, model: &mut Model) {
        let mut ceilings = model.settings.iter();
        let is_explained = ceilings.any(|limit| {
            limit.cause == SEND_BUFFER && limit.bps.mid <= BUFFER_RATIO * model.goodput
        });
        let is_pause = model.host.is_some_and(|(cause, _)| PAUSES.contains(&cause));
        if is_explained && is_pause && self.transfer.diagnosis.is_unsure() {
            model.host = None;
            model.doubted.clear();
        }
    }

    /// Leaves open what the path carries if this host's own queueing discipline is what showed.
    fn open_behind_shaper(&self, model: &mut Model) {
        let Some((facts, direction)) = self
            .host
            .filter(|(_, direction)| *direction != Direction::Receive)
        else {
            return;
        };
        let path = Path {
            rate: rate(FAST),
            ..path_of(model, facts, direction, FAST)
        };
        let shaped = examine(facts, &path)
            .findings
            .into_iter()
            .find(|found| found.rule.id == "qdisc-rate");
        let shaped = shaped
            .and_then(|found| found.finding.ceiling)
            .map(|rate| rate.as_bps() as f64);
        if shaped.is_some_and(|bps| {
            (model.path.low / bps - 1.0).abs() < SAME || model.goodput > bps * (1.0 - SAME)
        }) {
            // What passed the shaper, passed the path as well.
            let passed = Estimate::at_least(model.path.low.max(model.goodput));
            let behind = self
                .within_burst
                .map(|bps| Estimate::about(bps, BURST_ERROR));
            model.path = at_least_goodput(behind.unwrap_or(passed), model.goodput);
            // It dropped, delayed and spaced the packets: neither the path nor a program did.
            model.host = None;
            model.doubted.clear();
        }
    }

    /// Advice for what limited the transfer if no setting of this host explains it: on the other
    /// host, or in the program.
    fn elsewhere(&self, model: &Model, here: &[Fix]) -> Option<Fix> {
        // Buffers that a program has requested limit it if nothing else is known to.
        let cause = match model.first {
            UNKNOWN if self.transfer.sets_buffers == Some(true) => model.first_limit()?,
            cause => cause,
        };
        let direction = self.host.map(|(_, direction)| direction);
        let mut doubted = model.doubted.iter().copied();
        let cause = match end_of(cause) {
            Some(_) => cause,
            None => doubted.find(|alike| end_of(alike).is_some())?,
        };
        let end = end_of(cause)?;
        let is_explained = |fix: &Fix| fix.is_worth && fix.place == Place::Here;
        if here.iter().any(is_explained) {
            return None;
        }
        let place = match cause {
            // Windows that this host would scale are not scaled by the other one.
            "no-window-scaling" => Place::Far,
            "receive-window-limited" | "send-buffer-limited"
                if self.transfer.sets_buffers == Some(true) =>
            {
                Place::Program
            }
            "receive-window-limited" | "send-buffer-limited"
                if self.transfer.sets_buffers == Some(false) && direction == Some(end) =>
            {
                return None;
            }
            _ if direction == Some(end) => Place::Program,
            _ => Place::Far,
        };
        let host = match (direction, end) {
            (None, Direction::Receive) => "on the receiver: ",
            (None, _) => "on the sender: ",
            _ => "",
        };
        // Those that look the same are changed together.
        let doubted = model.doubted.iter().copied();
        let mut causes = vec![cause];
        causes.extend(doubted.filter(|alike| *alike != cause && end_of(alike) == Some(end)));
        let in_words = |cause: &&'static str| {
            let changes = in_kernel_words(advice(cause, model), cause, place);
            let command = format!("{host}{}", words(cause, &changes, place));
            (
                changes,
                Step {
                    command,
                    undo: None,
                },
            )
        };
        let (groups, steps): (Vec<Vec<String>>, Vec<Step>) = causes.iter().map(in_words).unzip();
        let changes = groups.concat();
        let prediction = predicted(model, &causes, &changes);
        Some(Fix {
            ids: causes,
            place,
            steps,
            is_command: false,
            is_of_machine: false,
            lacks: None,
            only_if: None,
            is_worth: is_worth(model, &prediction),
            changes,
            prediction,
        })
    }

    fn report(&self, model: &Model) -> Option<Report> {
        let (facts, direction) = self.host?;
        // The payload of packets of the usual size, if those were smaller.
        let wire = |mss: f64| mss / (mss + model.headers + FRAME);
        let usual = facts_mss(facts);
        let fast = self.wanted.unwrap_or(FAST).max(model.path.low);
        let bps = model.path.mid_or(fast) * (wire(usual) / wire(model.mss)).max(1.0);
        Some(examine(facts, &path_of(model, facts, direction, bps)))
    }
}

/// An estimate of the path, which carried the goodput.
fn at_least_goodput(path: Estimate, goodput: f64) -> Estimate {
    Estimate {
        low: path.low.max(goodput),
        mid: path.mid.max(goodput),
        high: path.high.max(goodput),
    }
}

fn rate(bps: f64) -> Rate {
    Rate::from_bps(bps.clamp(0.0, 1e15) as u64)
}

/// Payload of a segment by the MTU of the interface, at least that of Ethernet.
fn facts_mss(facts: &HostFacts) -> f64 {
    let mtu = facts.interface.as_ref().and_then(|card| card.mtu_bytes);
    law::mss_of(mtu.unwrap_or(1500).max(1500)).as_u64() as f64
}

fn path_of(model: &Model, facts: &HostFacts, direction: Direction, bps: f64) -> Path {
    Path {
        rtt: Duration::from_secs_f64(model.base),
        rate: rate(bps),
        loss: Probability::try_new(model.loss).filter(|_| model.loss > 0.0),
        direction,
        mss: Bytes::new(facts_mss(facts) as u64),
    }
}

/// Keys whose effect the model has: their ceilings are not limits of their own.
fn is_in_model(found: &CostedFinding) -> bool {
    let keys = [
        "sender.mtu",
        "flow.mss",
        "flow.congestion_control",
        "net.ipv4.tcp_congestion_control",
    ];
    let mut changes = found.finding.change.whatif.iter();
    changes.any(|change| keys.iter().any(|key| change.starts_with(key)))
        || found.rule.id == "path-mtu"
}

/// Ceilings of findings that always limit, unless the transfer refutes them.
fn ceilings(report: &Report, model: &Model) -> Vec<LimitedRate> {
    let certain = report
        .findings
        .iter()
        .filter(|found| found.is_certain() && !is_in_model(found));
    let limits = certain.filter_map(|found| {
        let ceiling = found.finding.ceiling?.as_bps() as f64;
        let refuted = match found.rule.id {
            LOWER_BOUND => f64::INFINITY,
            SEND_BUFFER => BUFFER_RATIO,
            _ => REFUTED,
        };
        let is_refuted = model.goodput > refuted * ceiling;
        let bps = at_least_goodput(Estimate::about(ceiling, CEILING_ERROR), model.goodput);
        (!is_refuted).then(|| LimitedRate {
            cause: found.rule.id,
            bps,
            evidence: found.finding.subject.clone(),
        })
    });
    limits.collect()
}

/// The model after a change, which lifts the ceilings of these rules.
fn changed(model: &Model, ids: &[&'static str], changes: &[String]) -> Result<Model, String> {
    // A sysctl that the model does not know lifts a ceiling only.
    let known = changes.iter().map(|change| Change::parse(change));
    let known: Vec<Change> = known.collect::<Result<_, String>>()?;
    let is_known =
        |change: &Change| !matches!(change, Change::Other(text) if text.starts_with("net."));
    let known: Vec<Change> = known.into_iter().filter(is_known).collect();
    let mut after = model.changed(&known);
    after.settings.retain(|limit| !ids.contains(&limit.cause));
    Ok(after)
}

fn predicted(
    model: &Model,
    ids: &[&'static str],
    changes: &[String],
) -> Result<Prediction, String> {
    let after = changed(model, ids, changes)?;
    let prediction = model.predict(&after, changes)?;
    // Another limit far above is not what holds next if nothing shows the path.
    let lowest = |model: &Model| model.limits().first().map_or(0.0, |limit| limit.bps.mid);
    let is_lifted =
        Some(prediction.limit) != model.first_limit() || lowest(&after) > LIFTED * lowest(model);
    if prediction.certainty != Certainty::Unsure || !after.path.is_open() || !is_lifted {
        return Ok(prediction);
    }
    let low = prediction.interval_bps[0].max(model.goodput);
    Ok(Prediction {
        certainty: Certainty::AtLeast,
        goodput_bps: low,
        interval_bps: [low, prediction.interval_bps[1].max(low)],
        gain: low / model.goodput,
        limit: "path-saturated",
        reason: "nothing shows what the path carries; --rate states it".into(),
        ..prediction
    })
}

/// Whether a gain is predicted, or that the limit is lifted and the next one is unknown.
fn is_worth(model: &Model, prediction: &Result<Prediction, String>) -> bool {
    let limits = model.limits();
    // A limit far above what was achieved did not hold.
    let held = limits
        .first()
        .filter(|limit| limit.bps.mid < LIFTED * model.goodput);
    prediction
        .as_ref()
        .is_ok_and(|predicted| match predicted.certainty {
            Certainty::AtLeast => {
                predicted.gain >= MIN_GAIN
                    || held.is_some_and(|limit| limit.cause != predicted.limit)
            }
            _ => predicted.gain >= MIN_GAIN,
        })
}

/// The changes of this host: a command of the report, with all findings that it ends.
fn by_command(report: &Report, model: &Model) -> Vec<Fix> {
    let mut fixes: Vec<Fix> = Vec::new();
    for found in &report.findings {
        let change = &found.finding.change;
        let same = |fix: &&mut Fix| fix.steps[0].command == change.fix;
        if let Some(fix) = fixes.iter_mut().find(same) {
            fix.ids.push(found.rule.id);
            fix.changes.extend(change.whatif.iter().cloned());
            fix.only_if = fix.only_if.and(found.finding.only_if);
            fix.lacks = fix.lacks.take().or_else(|| change.lacks.clone());
            continue;
        }
        fixes.push(Fix {
            ids: vec![found.rule.id],
            place: Place::Here,
            steps: vec![Step {
                command: change.fix.clone(),
                undo: change.undo.clone(),
            }],
            is_command: change.is_command,
            is_of_machine: change.is_of_machine,
            lacks: change.lacks.clone(),
            only_if: found.finding.only_if,
            changes: change.whatif.clone(),
            prediction: Err(String::new()),
            is_worth: false,
        });
    }
    for fix in &mut fixes {
        fix.prediction = predicted(model, &fix.ids, &fix.changes);
        fix.is_worth = is_worth(model, &fix.prediction);
    }
    fixes
}

/// One change of all settings whose ceilings are as low as the limit that held, within the
/// tolerance of the laws: one of them alone might gain nothing. It replaces them.
fn together(fixes: &mut Vec<Fix>, model: &Model) {
    let held = model.limits().first().map_or(0.0, |limit| limit.bps.mid);
    let is_as_low = |fix: &Fix| {
        let mut ceilings = model
            .settings
            .iter()
            .filter(|limit| fix.ids.contains(&limit.cause));
        let is_low = |limit: &LimitedRate| limit.bps.mid <= held * (1.0 + CEILING_ERROR);
        // Such as losses, which another control lifts.
        let is_of_model = || fix.is_worth && fix.next_limit() != model.first_limit();
        fix.can_be_tried() && fix.only_if.is_none() && (ceilings.any(is_low) || is_of_model())
    };
    join_if(fixes, model, is_as_low);
    // The smallest of several sizes of packets holds.
    join_if(fixes, model, |fix| {
        let keys = ["sender.mtu", "flow.mss"];
        let mut changes = fix.changes.iter();
        fix.can_be_tried() && changes.any(|change| keys.iter().any(|key| change.starts_with(key)))
    });
}

/// Joins the changes that meet a condition, if there are several.
fn join_if(fixes: &mut Vec<Fix>, model: &Model, is_meant: impl Fn(&Fix) -> bool) {
    if fixes.iter().filter(|fix| is_meant(fix)).count() < 2 {
        return;
    }
    let (joined, others): (Vec<Fix>, Vec<Fix>) = fixes.drain(..).partition(|fix| is_meant(fix));
    *fixes = others;
    fixes.push(join(&joined, model));
}

/// Several changes of this host as one.
fn join(fixes: &[Fix], model: &Model) -> Fix {
    let ids: Vec<&'static str> = fixes
        .iter()
        .flat_map(|fix| fix.ids.iter().copied())
        .collect();
    let changes: Vec<String> = fixes
        .iter()
        .flat_map(|fix| fix.changes.iter().cloned())
        .collect();
    let prediction = predicted(model, &ids, &changes);
    Fix {
        place: Place::Here,
        steps: fixes
            .iter()
            .flat_map(|fix| fix.steps.iter().cloned())
            .collect(),
        is_command: true,
        is_of_machine: fixes.iter().any(|fix| fix.is_of_machine),
        lacks: None,
        only_if: fixes.iter().find_map(|fix| fix.only_if),
        is_worth: is_worth(model, &prediction),
        ids,
        changes,
        prediction,
    }
}

/// All changes of this host that always apply and can be tried, if there are several.
fn everything(fixes: &[Fix], model: &Model) -> Option<Fix> {
    let always = fixes
        .iter()
        .filter(|fix| fix.only_if.is_none() && fix.can_be_tried());
    let always: Vec<Fix> = always.cloned().collect();
    (always.len() > 1).then(|| join(&always, model))
}

/// The end of a transfer that a cause is at.
fn end_of(cause: &str) -> Option<Direction> {
    Some(match cause {
        "receive-window-limited" | "no-window-scaling" => Direction::Receive,
        "send-buffer-limited" | "random-loss" | "pacing-limited" => Direction::Send,
        _ => return None,
    })
}

/// Sysctls in place of buffers that a program requests, for another host.
fn in_kernel_words(changes: Vec<String>, cause: &str, place: Place) -> Vec<String> {
    let sized = |key: &str, default: u64| {
        let size = changes.iter().find_map(|change| {
            change
                .rsplit('=')
                .next()?
                .strip_suffix(" B")?
                .parse::<u64>()
                .ok()
        });
        vec![format!(
            "{key}=4096 {default} {}",
            size.unwrap_or(1 << 24).next_power_of_two()
        )]
    };
    match (cause, place) {
        (_, Place::Program | Place::Here) => changes,
        ("receive-window-limited", _) => sized("net.ipv4.tcp_rmem", 131_072),
        ("no-window-scaling", _) => vec!["net.ipv4.tcp_window_scaling=1".into()],
        ("send-buffer-limited", _) => sized("net.ipv4.tcp_wmem", 16_384),
        ("random-loss", _) => vec!["net.ipv4.tcp_congestion_control=bbr".into()],
        _ => changes,
    }
}

/// Advice in words.
fn words(cause: &str, changes: &[String], place: Place) -> String {
    let change = changes.first().map(String::as_str).unwrap_or_default();
    let (key, value) = change.split_once('=').unwrap_or((change, ""));
    match (cause, place) {
        ("receive-window-limited", Place::Program) => format!("request no receive buffer (SO_RCVBUF), or at least {value}"),
        ("send-buffer-limited", Place::Program) => format!("request no send buffer (SO_SNDBUF), or at least {value}"),
        ("pacing-limited", _) => "remove the maximum pacing rate (SO_MAX_PACING_RATE, or maxrate of fq)".into(),
        ("random-loss", Place::Program) => "set the congestion control of the socket (TCP_CONGESTION) to bbr; better: find the loss".into(),
        _ => format!("sysctl -w {key}='{value}'"),
    }
}
