//! A transmit queue that drops what one connection sends.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Bytes;
use gigatcp_units::grammar::human_bytes;

use super::Rule;
use super::text::{at, counted};
use crate::facts::{Fact, HostFacts, Interface, Qdisc};
use crate::finding::Finding;
use crate::law;
use crate::path::{Direction, Path};

pub(super) const RULE: Rule = Rule {
    id: "short-queue",
    name: "a short transmit queue",
    meaning: "One connection may have up to a millisecond of its rate below the stack (at least \
              two super-packets). A queueing discipline that holds less drops packets of this very \
              host, and the congestion control reduces its window each time.",
    detection: "The limit of a FIFO (pfifo, pfifo_fast, bfifo; txqueuelen by default), of fq or of \
              fq_codel is below that amount. The ceiling is the mean of a sawtooth over an empty \
              queue: (1 + beta) / 2 of the rate.",
    fix: "Raise the limit; txqueuelen is 1000 by default.",
    references: &["ip-link(8)", "tc-pfifo_fast(8)", "ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Qdiscs, Fact::Offloads],
    check,
};

/// The part of a second that a connection may have below the stack.
const PACING_SHIFT: u32 = 10;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let unit = if card.has_segmentation() {
        law::SUPER_PACKET
    } else {
        path.mss.as_u64().max(1)
    };
    let cap = facts.number("net.ipv4.tcp_limit_output_bytes").unwrap_or(4 << 20);
    let paced = (path.rate.as_bps() / 8) >> PACING_SHIFT;
    let below = paced.max(unit.saturating_mul(2)).min(cap);
    let qdiscs = facts.qdiscs.as_deref()?.iter();
    let held = |qdisc: &Qdisc| {
        let packets = qdisc.limit_packets.map(|packets| packets.saturating_mul(unit));
        packets.into_iter().chain(qdisc.limit_bytes).min()
    };
    let queues = qdiscs.filter(|qdisc| QUEUES.contains(&qdisc.kind.as_str()));
    let short = queues.filter_map(|qdisc| Some((qdisc, held(qdisc)?)));
    let (qdisc, held) = short.min_by_key(|(_, held)| *held).filter(|(_, held)| *held < below)?;
    let control = law::control(facts).unwrap_or_else(|| "cubic".into());
    let limit = law::scaled(path.rate, (1.0 + law::beta(&control)) / 2.0);
    let effect = format!(
        "it holds {}, one connection queues up to {}; each drop reduces the window of {control}; {} \
         so far",
        human_bytes(Bytes::new(held)),
        human_bytes(Bytes::new(below)),
        counted(qdisc.dropped.unwrap_or(0), "drop"),
    );
    let wanted = (below / unit + 1).next_power_of_two().max(1000);
    Some(finding(card, qdisc, wanted, effect).ceiling(limit))
}

/// Queueing disciplines with a limit that one connection may reach.
const QUEUES: [&str; 6] = ["pfifo", "pfifo_fast", "bfifo", "fq", "fq_codel", "sfq"];

fn finding(card: &Interface, qdisc: &Qdisc, wanted: u64, effect: String) -> Finding {
    let (name, kind, parent) = (&card.name, &qdisc.kind, at(&qdisc.parent));
    let place = format!("tc -s qdisc show dev {name}");
    let subject = format!("qdisc {kind} {} of {name}: limit", qdisc.handle);
    let Some(packets) = qdisc.limit_packets else {
        let bytes = qdisc.limit_bytes.unwrap_or(0);
        let set = |bytes| format!("tc qdisc replace dev {name} {parent} {kind} limit {bytes}");
        let subject = format!("{subject} {bytes} B");
        let fix = set(wanted.saturating_mul(law::SUPER_PACKET));
        return Finding::new(Direction::Send, subject, place, effect, fix).undo(set(bytes));
    };
    let of_device = Some(packets) == card.tx_queue_packets;
    let set = |packets: u64| {
        let length = format!("ip link set {name} txqueuelen {packets}");
        let limit = format!("tc qdisc replace dev {name} {parent} {kind} limit {packets}");
        match kind.as_str() {
            "pfifo_fast" => length,
            _ if of_device => format!("{length} && {limit}"),
            _ => limit,
        }
    };
    let subject = format!("{subject} {}", counted(packets, "packet"));
    let words = of_device.then(|| format!("txqueuelen of {name} sets the limit of {kind}"));
    Finding::new(Direction::Send, subject, place, effect, set(wanted))
        .overriding(words)
        .undo(set(packets))
}
