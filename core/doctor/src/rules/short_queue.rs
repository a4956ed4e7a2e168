//! A transmit queue that drops what one connection sends.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Bytes;
use gigatcp_units::grammar::human_bytes;

use super::Rule;
use super::text::counted;
use crate::facts::{Fact, HostFacts, Qdisc};
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
        path.mss.as_u64()
    };
    let cap = facts.number("net.ipv4.tcp_limit_output_bytes").unwrap_or(4 << 20);
    let below = ((path.rate.as_bps() / 8) >> PACING_SHIFT).min(cap).max(2 * unit);
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
        "it holds {}, one connection queues up to {}; each drop reduces the window of {control}",
        human_bytes(Bytes::new(held)),
        human_bytes(Bytes::new(below)),
    );
    Some(finding(&card.name, card.tx_queue_packets, qdisc, effect).ceiling(limit))
}

/// Queueing disciplines with a limit that one connection may reach.
const QUEUES: [&str; 6] = ["pfifo", "pfifo_fast", "bfifo", "fq", "fq_codel", "sfq"];

fn finding(name: &str, length: Option<u64>, qdisc: &Qdisc, effect: String) -> Finding {
    let Qdisc { kind, handle, .. } = qdisc;
    let limit = match (qdisc.limit_packets, qdisc.limit_bytes) {
        (Some(packets), _) => counted(packets, "packet"),
        (None, bytes) => format!("{} bytes", bytes.unwrap_or(0)),
    };
    let of_device = qdisc.limit_packets.is_some() && qdisc.limit_packets == length;
    let change = |packets: u64| {
        let set = format!("ip link set {name} txqueuelen {packets}");
        match kind.as_str() {
            "pfifo_fast" => set,
            _ => format!("{set} && tc qdisc replace dev {name} {} {kind}", qdisc.parent),
        }
    };
    let subject = format!("qdisc {kind} {handle} of {name}: limit {limit}");
    let place = format!("tc -s qdisc show dev {name}");
    if !of_device {
        let fix = format!("tc qdisc replace dev {name} {} {kind} limit 10000", qdisc.parent);
        return Finding::new(Direction::Send, subject, place, effect, fix);
    }
    let words = format!("txqueuelen of {name} sets the limit of {kind}");
    let finding = Finding::new(Direction::Send, subject, place, effect, change(1000));
    let finding = finding.overriding(Some(words));
    finding.undo(change(length.unwrap_or(0)))
}
