//! A connection tracking table that is full.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "conntrack-full",
    name: "a full connection tracking table",
    meaning: "The firewall tracks connections in a table. If it is full, packets of new \
              connections are dropped.",
    detection: "Entries in use are at least 95 % of nf_conntrack_max.",
    fix: "Raise nf_conntrack_max, shorten timeouts, or exempt the transfer from tracking.",
    references: &["Documentation/networking/nf_conntrack-sysctl.rst"],
    needs: &[Fact::Conntrack],
    check,
};

const NAME: &str = "net.netfilter.nf_conntrack_max";

fn check(facts: &HostFacts, _path: &Path) -> Option<Finding> {
    let table = facts.conntrack?;
    if (table.count as f64) < 0.95 * table.max as f64 || table.max == 0 {
        return None;
    }
    let effect = format!("{} of {} entries in use", table.count, table.max);
    let value = table.max.saturating_mul(2).to_string();
    let mut finding = setting(facts, Direction::Both, NAME, &value, effect);
    finding.subject = format!("{NAME} = {}", table.max);
    let undoable = finding.undo(format!("sysctl -w {NAME}={}", table.max));
    Some(if table.count >= table.max {
        undoable.ceiling(Rate::ZERO).only_if("the connection is new")
    } else {
        undoable
    })
}
