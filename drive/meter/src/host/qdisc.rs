//! Queueing disciplines and classes of an interface.

use std::io;

use crate::doctor::HostFacts;
use crate::doctor::facts::{Fact, Qdisc};
use gigatcp_linux::netlink_request::{self, long, value, word};

use super::interface::link;
use super::{noted, number, text};

const GET_QDISC: u16 = 38;
const GET_CLASS: u16 = 42;
/// `struct tcmsg`.
const HEADER: usize = 20;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATISTICS: u16 = 3;
const ROOT: u32 = u32::MAX;
/// Nanoseconds of a tick of the packet scheduler.
const TICK_NS: u64 = 64;

pub(super) fn read(facts: &mut HostFacts, name: &str) {
    let length = facts
        .interface
        .as_ref()
        .and_then(|card| card.tx_queue_packets);
    facts.qdiscs = noted(facts, Fact::Qdiscs, all(name, length));
}

fn all(name: &str, queue: Option<u64>) -> io::Result<Vec<Qdisc>> {
    let index = link(name)?.index();
    let mut body = vec![0; HEADER];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    let of_interface = |message: &&Vec<u8>| word(message, 4) == Some(index);
    let qdiscs = netlink_request::route(GET_QDISC, &body, true)?;
    let classes = netlink_request::route(GET_CLASS, &body, true).unwrap_or_default();
    let qdiscs = qdiscs
        .iter()
        .filter(of_interface)
        .map(|message| qdisc(message, queue));
    let classes = classes
        .iter()
        .filter(of_interface)
        .map(|message| class(message));
    Ok(qdiscs.flatten().chain(classes.flatten()).collect())
}

/// Common fields of a qdisc or class message, and its options.
fn common(message: &[u8]) -> Option<(Qdisc, &[u8])> {
    let attributes = message.get(HEADER..)?;
    let statistics = value(attributes, STATISTICS).unwrap_or_default();
    let qdisc = Qdisc {
        kind: text(value(attributes, KIND)?),
        handle: handle(word(message, 8)?),
        parent: handle(word(message, 12)?),
        // `struct tc_stats`: bytes, packets, drops.
        dropped: word(statistics, 12).map(u64::from),
        ..Qdisc::default()
    };
    Some((qdisc, value(attributes, OPTIONS).unwrap_or_default()))
}

fn qdisc(message: &[u8], queue: Option<u64>) -> Option<Qdisc> {
    let (mut qdisc, options) = common(message)?;
    let number = |kind: u16| number(options, kind);
    let packets = |limit: Option<u32>| limit.map(u64::from);
    match qdisc.kind.as_str() {
        "pfifo" => qdisc.limit_packets = packets(word(options, 0)),
        "bfifo" => qdisc.limit_bytes = packets(word(options, 0)),
        "pfifo_fast" => qdisc.limit_packets = queue,
        "sfq" => qdisc.limit_packets = packets(word(options, 8)),
        "fq_codel" => qdisc.limit_packets = packets(number(2)),
        "fq" => {
            qdisc.limit_packets = packets(number(1));
            let bytes = number(7).filter(|rate| *rate != u32::MAX);
            qdisc.rate_bps = bytes.map(|rate| 8 * u64::from(rate));
            qdisc.is_per_flow = true;
        }
        "tbf" => {
            let parameters = value(options, 1).unwrap_or_default();
            let large = value(options, 4).and_then(|value| long(value, 0));
            qdisc.rate_bps = rate(parameters, 0, large);
            // After rate and peak rate.
            qdisc.limit_bytes = packets(word(parameters, 24));
            let is_plain = is_plain_rate(parameters) && word(parameters, 20) == Some(0);
            let burst = qdisc.rate_bps.and_then(|bps| burst(bps, parameters, 28));
            qdisc.burst_bytes = burst.filter(|_| is_plain);
        }
        "htb" => {
            let class = value(options, 2).and_then(|value| word(value, 8));
            let major = qdisc.handle.clone();
            qdisc.default_class = class.map(|minor| format!("{major}{minor:x}"));
        }
        "cake" => {
            let bytes = value(options, 2).and_then(|value| long(value, 0));
            qdisc.rate_bps = bytes
                .filter(|bytes| *bytes > 0)
                .map(|bytes| bytes.saturating_mul(8));
        }
        "netem" => {
            qdisc.limit_packets = packets(word(options, 4));
            // Attributes follow `struct tc_netem_qopt`.
            let further = options.get(24..).unwrap_or_default();
            let large = value(further, 8).and_then(|value| long(value, 0));
            qdisc.rate_bps = rate_of_netem(value(further, 6).unwrap_or_default(), large);
        }
        _ => {}
    }
    Some(qdisc)
}

/// Whether a `struct tc_ratespec` has no model of the link layer (overhead, minimum size).
fn is_plain_rate(specification: &[u8]) -> bool {
    const ETHERNET: u8 = 1;
    // Size of cells, layer, overhead, alignment, minimum size, rate.
    let Some(&[_, layer, over_1, over_2, _, _, min_1, min_2]) = specification.first_chunk() else {
        return false;
    };
    layer <= ETHERNET && [over_1, over_2, min_1, min_2] == [0; 4]
}

/// The burst at `offset`, in bytes: the kernel keeps it as its time at the rate.
fn burst(bps: u64, parameters: &[u8], offset: usize) -> Option<u64> {
    let ticks = u64::from(word(parameters, offset)?);
    Some(bps.saturating_mul(ticks * TICK_NS) / 8_000_000_000)
}

fn rate_of_netem(parameters: &[u8], large: Option<u64>) -> Option<u64> {
    let bytes = large.or(word(parameters, 0).map(u64::from))?;
    (bytes > 0).then(|| bytes.saturating_mul(8))
}

fn class(message: &[u8]) -> Option<Qdisc> {
    let (mut class, options) = common(message)?;
    if class.kind != "htb" {
        return None;
    }
    class.kind = "htb class".into();
    let parameters = value(options, 1).unwrap_or_default();
    let large = |kind| value(options, kind).and_then(|value| long(value, 0));
    // The ceiling follows the rate.
    class.rate_bps = rate(parameters, 12, large(7));
    class.parameters = words_of_class(parameters, rate(parameters, 0, large(6)), class.rate_bps);
    Some(class)
}

/// The parameters of an HTB class in the words of `tc`, if it has no model of the link layer.
fn words_of_class(parameters: &[u8], rate: Option<u64>, ceil: Option<u64>) -> Option<String> {
    let (rate, ceil) = (rate?, ceil?);
    let (burst_of_rate, burst_of_ceil) =
        (burst(rate, parameters, 24)?, burst(ceil, parameters, 28)?);
    let (quantum, priority) = (word(parameters, 32)?, word(parameters, 40)?);
    let is_plain = is_plain_rate(parameters) && is_plain_rate(parameters.get(12..)?);
    is_plain.then(|| {
        format!(
            "rate {rate}bit ceil {ceil}bit burst {burst_of_rate}b cburst {burst_of_ceil}b \
             quantum {quantum} prio {priority}"
        )
    })
}

/// Rate of the `struct tc_ratespec` at `offset`, or `large`, its 64-bit replacement.
fn rate(parameters: &[u8], offset: usize, large: Option<u64>) -> Option<u64> {
    let bytes = large.or(word(parameters, offset + 8).map(u64::from))?;
    Some(bytes.saturating_mul(8))
}

/// A handle as `tc` writes it.
fn handle(number: u32) -> String {
    let (major, minor) = (number >> 16, number & 0xffff);
    match (number, minor) {
        (ROOT, _) => "root".into(),
        (_, 0) => format!("{major:x}:"),
        _ => format!("{major:x}:{minor:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_written_as_tc_writes_them() {
        assert_eq!(handle(0x8001_0000), "8001:");
        assert_eq!(handle(0x0001_000a), "1:a");
        assert_eq!(handle(ROOT), "root");
    }
}
