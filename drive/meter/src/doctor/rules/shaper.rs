//! A queueing discipline that limits the rate.

use super::prelude::*;
use crate::doctor::facts::Qdisc;

pub(super) const RULE: Rule = Rule {
    id: "qdisc-rate",
    name: "a rate limit of the queueing discipline",
    meaning: "tbf, htb, cake, netem and fq with maxrate hold packets back to a rate.",
    detection: "The rate, times the share of payload in a packet with its link header, is below the rate of the path. Of \
              several HTB classes the default class counts, else the largest.",
    fix: "Change or delete the queueing discipline, or raise the rate of its class.",
    references: &["tc-tbf(8)", "tc-htb(8)", "tc-fq(8)"],
    needs: &[Fact::Qdiscs],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let name = facts.device()?;
    let all = facts.qdiscs.as_deref()?;
    let shaper = all
        .iter()
        .filter(|qdisc| qdisc.kind != "htb class")
        .filter_map(|qdisc| Some((qdisc, rate_of(qdisc, all)?)))
        .min_by_key(|(_, rate)| *rate);
    let (qdisc, bps) = shaper?;
    let rate = Rate::from_bps(bps);
    let limit = path.limit(law::shaped_rate(rate, path.mss))?;
    let (kind, handle) = (&qdisc.kind, &qdisc.handle);
    let (fix, undo) = change(qdisc, all, name);
    let scope = if qdisc.is_per_flow { "each flow" } else { "all flows together" };
    let finding = Finding::new(
        Direction::Send,
        format!("qdisc {kind} {handle} of {name}: rate {}", human_rate(rate)),
        format!("tc -s qdisc show dev {name}"),
        format!("{scope} may send {}; {} of it is payload", human_rate(rate), human_rate(limit)),
        fix,
    )
    .whatif(["sender.link.rate=unlimited".to_string()]);
    let finding = match undo {
        Some(command) => finding.undo(command),
        None => finding,
    };
    Some(finding.ceiling(limit))
}

/// Rate of an HTB class that does not limit.
const UNLIMITED: &str = "rate 100gbit ceil 100gbit quantum 60000";

/// The command that lifts the rate, and the one that restores it, if there is one. With a queueing
/// discipline what is attached to it is deleted: the rate of an HTB class is raised instead.
fn change(qdisc: &Qdisc, all: &[Qdisc], device: &str) -> (String, Option<String>) {
    let class = class_of(qdisc, all).filter(|class| class.parent == "root");
    let device = word(device);
    if let Some((class, parameters)) = class.and_then(|class| Some((class, class.parameters.as_deref()?))) {
        let (parent, handle) = (&qdisc.handle, &class.handle);
        let set = |words: &str| format!("tc class change dev {device} parent {parent} classid {handle} htb {words}");
        return (set(UNLIMITED), Some(set(parameters)));
    }
    let delete = format!("tc qdisc del dev {device} {}", at(&qdisc.parent));
    (delete, undo_of_bucket(qdisc, all, &device))
}

/// The command that restores a token bucket filter. Others have parameters that are not read.
fn undo_of_bucket(qdisc: &Qdisc, all: &[Qdisc], device: &str) -> Option<String> {
    let [rate, burst, limit] = [qdisc.rate_bps, qdisc.burst_bytes, qdisc.limit_bytes].map(Option::unwrap_or_default);
    let (handle, parent) = (&qdisc.handle, at(&qdisc.parent));
    let has_child = all.iter().any(|child| child.parent != "root" && same_major(&child.parent, handle));
    let is_known = qdisc.kind == "tbf" && !has_child && [rate, burst, limit].iter().all(|value| *value > 0);
    is_known.then(|| {
        format!("tc qdisc replace dev {device} {parent} handle {handle} tbf rate {rate}bit burst {burst}b limit {limit}b")
    })
}

/// Rate that a queueing discipline shapes to.
fn rate_of(qdisc: &Qdisc, all: &[Qdisc]) -> Option<u64> {
    if qdisc.kind == "htb" {
        class_of(qdisc, all)?.rate_bps
    } else {
        qdisc.rate_bps
    }
}

/// The class of packets without a filter, or the one with the largest rate.
fn class_of<'a>(qdisc: &Qdisc, all: &'a [Qdisc]) -> Option<&'a Qdisc> {
    let classes = all.iter().filter(|class| class.kind == "htb class");
    let of_this = || classes.clone().filter(|class| same_major(&class.handle, &qdisc.handle));
    let default = qdisc.default_class.as_deref();
    let chosen = of_this().find(|class| Some(class.handle.as_str()) == default && class.rate_bps.is_some());
    chosen.or_else(|| of_this().max_by_key(|class| class.rate_bps))
}

fn same_major(class: &str, qdisc: &str) -> bool {
    class.split(':').next() == qdisc.split(':').next()
}
