//! A transmit queue that drops what one connection sends.

use super::prelude::*;
use crate::doctor::facts::{Interface, Qdisc};

pub(super) const RULE: Rule = Rule {
    id: "short-queue",
    name: "a short transmit queue",
    meaning: "The stack hands a connection's data down until two packets (super-packets with \
              segmentation offload), or a millisecond of its rate, wait below it; one more is then \
              on its way. A queueing discipline that holds less drops packets of this very host, \
              and the congestion control reduces its window each time.",
    detection: "A FIFO (pfifo, pfifo_fast, bfifo; txqueuelen by default), fq, fq_codel or sfq holds \
              less than that and one packet more. With room for one packet the window stays at three \
              packets of two segments; between that and the four that wait at low rates no law gives \
              a ceiling; above, it is the mean of a sawtooth over an empty queue, (1 + beta) / 2 of \
              the rate.",
    fix: "Raise the limit; txqueuelen is 1000 by default.",
    references: &["ip-link(8)", "tc-pfifo_fast(8)", "ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Qdiscs, Fact::Offloads],
    check,
};

/// Packets that one connection queues at low rates. Two by the limit of the stack, the one that
/// exceeded it, and one in transmission.
const FEW: u64 = 4;
/// Packets, of two segments each, of a window if the queue holds one.
const SMALLEST: u64 = 3;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let packet = law::handed_down(facts, path);
    let cap = facts.number("net.ipv4.tcp_limit_output_bytes").unwrap_or(4 << 20);
    let paced = (path.rate.as_bps() / 8) >> law::PACING_SHIFT;
    let below = paced.max(packet.saturating_mul(2)).min(cap.max(1));
    let wanted = (below / packet + 2).max(FEW);
    let qdiscs = facts.qdiscs.as_deref()?.iter();
    let held = |qdisc: &Qdisc| {
        let bytes = qdisc.limit_bytes.map(|bytes| bytes / packet);
        qdisc.limit_packets.into_iter().chain(bytes).min()
    };
    let queues = qdiscs.filter(|qdisc| QUEUES.contains(&qdisc.kind.as_str()));
    let short = queues.filter_map(|qdisc| Some((qdisc, held(qdisc)?)));
    let (qdisc, held) = short.min_by_key(|(_, held)| *held).filter(|(_, held)| *held < wanted)?;
    let control = law::control(facts).unwrap_or_else(|| "cubic".into());
    let smallest = Bytes::new(path.mss.as_u64().saturating_mul(2 * SMALLEST));
    let limit = match held {
        0 | 1 => path.limit_of_window(smallest),
        few if few < FEW => None,
        _ => Some(law::scaled(path.rate, (1.0 + law::beta(&control)) / 2.0)),
    };
    let effect = format!(
        "it holds {} of {}, one connection queues up to {wanted}; each drop reduces the window of \
         {control}; {} so far",
        counted(held, "packet"),
        human_bytes(Bytes::new(packet)),
        counted(qdisc.dropped.unwrap_or(0), "drop"),
    );
    let finding = finding(card, qdisc, wanted.next_power_of_two().max(1000), effect).ceiling(limit);
    Some(match is_bottleneck(facts, path) {
        true => finding,
        false => finding.only_if("packets wait at this interface: no link of the path is slower"),
    })
}

/// Whether the interface, or a shaper on it, is not faster than the path. An unknown speed counts
/// as the bottleneck.
fn is_bottleneck(facts: &HostFacts, path: &Path) -> bool {
    let card = facts.interface.as_ref();
    let speed = card.and_then(|card| card.speed_mbit).map(|mbit| mbit.saturating_mul(1_000_000));
    let shaped = facts.qdiscs.iter().flatten().filter_map(|qdisc| qdisc.rate_bps);
    let slowest = speed.into_iter().chain(shaped).min();
    slowest.is_none_or(|bps| bps / 9 <= path.rate.as_bps() / 8)
}

/// Queueing disciplines with a limit that one connection may reach.
const QUEUES: [&str; 6] = ["pfifo", "pfifo_fast", "bfifo", "fq", "fq_codel", "sfq"];

fn finding(card: &Interface, qdisc: &Qdisc, wanted: u64, effect: String) -> Finding {
    let (name, kind, parent) = (&card.name, &qdisc.kind, at(&qdisc.parent));
    let place = format!("tc -s qdisc show dev {name}");
    let subject = format!("qdisc {kind} {} of {name}: limit", qdisc.handle);
    let device = word(name);
    let Some(packets) = qdisc.limit_packets else {
        let bytes = qdisc.limit_bytes.unwrap_or(0);
        let set = |bytes| format!("tc qdisc replace dev {device} {parent} {kind} limit {bytes}");
        let subject = format!("{subject} {bytes} B");
        let fix = set(wanted.saturating_mul(law::SUPER_PACKET));
        return Finding::new(Direction::Send, subject, place, effect, fix).undo(set(bytes));
    };
    let of_device = Some(packets) == card.tx_queue_packets;
    let set = |packets: u64| {
        let length = format!("ip link set {device} txqueuelen {packets}");
        let limit = format!("tc qdisc replace dev {device} {parent} {kind} limit {packets}");
        match kind.as_str() {
            "pfifo_fast" => length,
            _ if of_device => format!("{length} && {limit}"),
            _ => limit,
        }
    };
    let subject = format!("{subject} {}", counted(packets, "packet"));
    let finding = Finding::new(Direction::Send, subject, place, effect, set(wanted)).undo(set(packets));
    match of_device {
        true => finding.overriding(format!("txqueuelen of {name} sets the limit of {kind}")),
        false => finding,
    }
}
