//! Labels of cases: whether the counters prove the cause, and other values from them.

use std::fs;
use std::path::Path;

use super::corpus::Place;
use super::facts::{CaptureFacts, Facts, Span};
use super::forward::counters::DirectionCounters;
use super::label::{Label, Parameters};
use super::spec::{Net, Spec};
use super::taps;

/// Disturbance that invalidates the counters of a case, if any.
fn disturbed(facts: &Facts, spec: &Spec) -> Option<String> {
    let missed: u64 = facts.captures.values().map(|capture| capture.dropped).sum();
    if missed > 0 {
        return Some(format!("captures lack {missed} packets"));
    }
    if facts.captures.values().any(|capture| capture.packets == 0) {
        return Some("a capture is empty".to_owned());
    }
    if let Some(path) = &facts.path {
        if path.late_p99_us > spec.proof.tolerates_us(spec.rtt_s) {
            return Some(format!("the path was late by {} us", path.late_p99_us));
        }
        if path.socket_drops > 0 {
            return Some(format!("the path lost {} packets", path.socket_drops));
        }
    }
    facts
        .sender
        .rows
        .is_empty()
        .then(|| "no samples".to_owned())
}

/// Reason the label counts, or why it does not.
fn checked(spec: &Spec, facts: &Facts) -> Result<String, String> {
    match disturbed(facts, spec) {
        Some(why) => Err(format!("disturbed: {why}")),
        None => spec.proof.check(facts, facts.whole()),
    }
}

/// Checks the counters of a label again, after the conditions have changed.
///
/// Returns `false` if the case's parameters have changed too: then the case must be repeated.
///
/// # Errors
/// If the label cannot be written.
pub fn relabel(spec: &Spec, label: &mut Label, at: &Path) -> Result<bool, String> {
    let now = parameters(spec);
    let before = &label.parameters;
    if now.rate_bps != before.rate_bps || now.tasks != before.tasks || now.path != before.path {
        return Ok(false);
    }
    label.facts.sender.clean();
    label.facts.receiver.clean();
    let span = label.facts.whole();
    label.goodput_bps = label.facts.goodput_bps(span);
    label.elapsed_s = span.seconds();
    label.utilization = label.facts.utilization(span);
    label.capacity_bps = spec.capacity_bps();
    label.bottleneck_bps = spec.payload_bps(spec.rate_bps);
    label.path_loss_packets = lost_packets(spec, &label.facts);
    let checked = checked(spec, &label.facts);
    label.binding = checked.is_ok();
    label.reason = match checked {
        Ok(reason) | Err(reason) => reason,
    };
    write(label, at)?;
    Ok(true)
}

fn write(label: &Label, at: &Path) -> Result<(), String> {
    let text = serde_json::to_string(label).map_err(|error| error.to_string())?;
    fs::write(at.join("label.json"), text).map_err(|error| error.to_string())
}

/// Writes the label of a completed case.
pub(super) fn label(spec: &Spec, mut facts: Facts, at: &Path) -> Result<Label, String> {
    alter_captures(spec, &mut facts, at)?;
    let span = facts.whole();
    let checked = checked(spec, &facts);
    let goodput_bps = facts.goodput_bps(span);
    let utilization = facts.utilization(span);
    let reverse = facts.path.clone().unwrap_or_default().reverse;
    facts.sender.thin();
    facts.receiver.thin();
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let ports = facts.sender.ports;
    let mut label = Label {
        schema: "gigatcp.kernels/1".into(),
        family: spec.family.into(),
        seed: spec.seed,
        cause: spec.cause.into(),
        acceptable: text(&spec.acceptable),
        second: spec.second.map(str::to_owned),
        shares: shares(spec, span),
        notes: text(&spec.notes),
        binding: checked.is_ok(),
        reason: match checked {
            Ok(reason) | Err(reason) => reason,
        },
        parameters: parameters(spec),
        connection: addresses(spec, ports),
        goodput_bps,
        capacity_bps: spec.capacity_bps(),
        elapsed_s: span.seconds(),
        bottleneck_bps: spec.payload_bps(spec.rate_bps),
        path_loss_packets: lost_packets(spec, &facts),
        acks_lost: reverse.acks_lost,
        acks_delayed: reverse.acks_delayed,
        utilization,
        middle: if spec.middle_behind {
            "behind"
        } else {
            "before"
        }
        .into(),
        facts,
    };
    if let Some((_, first)) = label.shares.first().cloned()
        && label.shares.len() == 2
        && first < 0.5
    {
        // The cause with the larger share becomes the primary one.
        label.shares.swap(0, 1);
        label.cause = label.shares[0].0.clone();
        label.second = Some(label.shares[1].0.clone());
    }
    write(&label, at)?;
    Ok(label)
}

/// Graded connection's losses on the path: from the sender, towards it.
fn lost_packets(spec: &Spec, facts: &Facts) -> [u64; 2] {
    let Some(path) = &facts.path else {
        return [0; 2];
    };
    let count = |counters: &DirectionCounters, ports: [u16; 2]| {
        let own = counters.flows.iter().find(|flow| flow.ports == ports);
        match own {
            Some(own) => own.dropped,
            None => counters.dropped.values().sum(),
        }
    };
    let ports = facts.sender.ports;
    // Packets dropped by the sending host's shaper never reached the path.
    let is_far = spec.tc.as_ref().is_some_and(|tc| !tc.on_sender);
    let shaped = facts.tc.as_ref().map_or(0, |tc| tc.drops);
    [
        count(&path.forward, ports) + if is_far { shaped } else { 0 },
        count(&path.reverse, [ports[1], ports[0]]),
    ]
}

fn addresses(spec: &Spec, ports: [u16; 2]) -> [String; 2] {
    let hosts = match spec.net {
        Net::Emulate(_) => ["10.83.0.1", "10.83.0.2"],
        _ => [super::spec::SENDER, super::spec::RECEIVER],
    };
    [
        format!("{}:{}", hosts[0], ports[0]),
        format!("{}:{}", hosts[1], ports[1]),
    ]
}

/// Compresses the captures, after removing packets if the case requires it.
fn alter_captures(spec: &Spec, facts: &mut Facts, at: &Path) -> Result<(), String> {
    for (number, place) in [
        Place::Sender,
        Place::Receiver,
        Place::Middle,
        Place::Emulate,
    ]
    .into_iter()
    .enumerate()
    {
        let path = at.join(place.file());
        if !path.exists() {
            continue;
        }
        if spec.capture_loss > 0.0 && place != Place::Emulate {
            let seed = spec.seed ^ (number as u64 + 1) << 40;
            let removed =
                taps::thin(&path, spec.capture_loss, seed).map_err(|error| error.to_string())?;
            let name = format!("{place:?}").to_lowercase();
            let counted: &mut CaptureFacts = facts.captures.entry(name).or_default();
            counted.removed = removed;
        }
        taps::compress(&path)?;
    }
    Ok(())
}

/// Time shares of two successive causes; empty if the case has one.
fn shares(spec: &Spec, span: Span) -> Vec<(String, f64)> {
    let (super::proof::Proof::Split(at, ..), Some(second)) = (&spec.proof, spec.second) else {
        return Vec::new();
    };
    let first = (at / span.seconds()).min(1.0);
    vec![
        (spec.cause.to_owned(), first),
        (second.to_owned(), 1.0 - first),
    ]
}

fn parameters(spec: &Spec) -> Parameters {
    let path = match &spec.net {
        Net::Forwarder(path) => serde_json::to_value(path).unwrap_or_default(),
        Net::Plain => serde_json::Value::String("plain".into()),
        Net::Emulate(arguments) => serde_json::Value::String(arguments.join(" ")),
    };
    Parameters {
        rate_bps: spec.rate_bps,
        rtt_ms: spec.rtt_s * 1e3,
        mtu: spec.mtu,
        control: spec.control.into(),
        tool: spec.tool.into(),
        tso: spec.offloads.tso,
        gro: spec.offloads.gro,
        gro_flush_us: spec.offloads.gro_flush_us,
        sysctls: spec.sysctls.clone(),
        route: spec.route.clone(),
        first_threshold: spec.first_threshold,
        tc: spec
            .tc
            .as_ref()
            .map(|tc| tc.commands.clone())
            .unwrap_or_default(),
        path,
        tasks: spec.tasks.iter().map(|task| format!("{task:?}")).collect(),
        offered_bps: spec.offered_bps,
    }
}
