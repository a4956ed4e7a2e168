//! The congestion control and the loss of the path.

use super::prelude::*;
use gigatcp_units::{Probability, grammar::human_probability};

pub(super) const RULE: Rule = Rule {
    id: "congestion-control",
    name: "the response of the congestion control to loss",
    meaning: "Reno and CUBIC take each loss for congestion. On a long fast path even rare losses \
              keep the window below the bandwidth-delay product. Without loss other than \
              congestion, Reno still needs half a window of RTTs after each reduction.",
    detection: "With the loss probability given: C mss / (rtt sqrt(p)) for Reno (C = 1.31), the mean \
              window of RFC 9438 for CUBIC. Without it: Reno, if one reduction takes more than 10 \
              s to recover from (mean 3/4 of the rate, if no queue keeps the path full meanwhile). The control is that of the route \
              (congctl), else of net.ipv4.tcp_congestion_control.",
    fix: "Use CUBIC instead of Reno, or BBR where losses are not congestion. The default of a \
              network namespace (a container) can only be one of \
              net.ipv4.tcp_allowed_congestion_control, the control of a route can be any. Better: \
              find the loss. A larger MTU raises the rate in proportion.",
    references: &["Mathis, Semke, Mahdavi, Ott 1997", "RFC 9438 section 5", "Shalunov 2002"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_congestion_control")],
    check,
};

const NAME: &str = "net.ipv4.tcp_congestion_control";
/// A recovery longer than this is a finding even without a given loss.
const LONG_RECOVERY: Duration = Duration::from_secs(10);

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let control = law::control(facts)?;
    let (limit, effect) = match path.loss {
        Some(p) => at_loss(&control, path, p)?,
        None => after_one_loss(&control, path)?,
    };
    let when = |finding: Finding| match path.loss {
        Some(_) => finding,
        None => finding.only_if("queues of the path hold less than half a bandwidth-delay product"),
    };
    let (better, is_loaded) = better(facts, &control, path);
    let other = [format!("flow.congestion_control={better}")];
    let lacks = (!is_loaded).then(|| format!("{better} is not among net.ipv4.tcp_available_congestion_control"));
    let of_route = facts.metrics().congctl;
    let system = facts.sysctl(NAME).unwrap_or("unset");
    if let Some(name) = of_route {
        let metric = format!("congctl = {name}");
        let mut finding = route_metric(facts, Direction::Send, &metric, effect, |metrics| {
            metrics.congctl = Some(better.into());
        });
        finding.change.lacks = lacks;
        let words = format!("the route's congctl overrides {NAME} = {system} and setsockopt()");
        return Some(when(finding.whatif(other).ceiling(limit).overriding(words)));
    }
    let mut finding = setting(facts, Direction::Send, NAME, better, effect).ceiling(limit);
    if !is_possible_default(facts, better) {
        by_route(facts, better, &mut finding);
    }
    if lacks.is_some() {
        finding.change.fix.insert_str(0, &format!("modprobe tcp_{better} && "));
    }
    finding.change.lacks = lacks;
    Some(when(finding.whatif(other)))
}

/// Whether `control` can be the default. In a namespace other than the machine's first, only a
/// control that every user may choose can.
fn is_possible_default(facts: &HostFacts, control: &str) -> bool {
    let allowed = facts.sysctl("net.ipv4.tcp_allowed_congestion_control");
    facts.is_contained != Some(true)
        || allowed.is_none_or(|names| names.split_whitespace().any(|name| name == control))
}

/// Changes the fix to the route's `congctl`, which can be any control.
fn by_route(facts: &HostFacts, control: &str, finding: &mut Finding) {
    let Some(route) = facts.route.as_ref().filter(|route| !route.spec.is_empty()) else {
        return;
    };
    let mut metrics = route.metrics.clone();
    metrics.congctl = Some(control.into());
    finding.change.fix = route.replace(&metrics);
    finding.change.undo = route_undo(route);
    finding.change.metrics = Some(metrics);
}

fn at_loss(control: &str, path: &Path, p: Probability) -> Option<(Rate, String)> {
    let limit = path.limit(law::rate_at_loss(control, path, p)?)?;
    let words = format!(
        "at loss {} and RTT {} {control} reaches {}",
        human_probability(p),
        human_duration(path.rtt),
        human_rate(limit),
    );
    Some((limit, words))
}

fn after_one_loss(control: &str, path: &Path) -> Option<(Rate, String)> {
    let rounds = path.segments() / 2.0;
    let recovery = Duration::from_secs_f64(rounds * path.rtt.as_secs_f64());
    if control != "reno" || recovery < LONG_RECOVERY {
        return None;
    }
    let words = format!(
        "after one loss the window grows for {} before the path is full: on average 3/4 of the rate",
        human_duration(recovery)
    );
    Some((law::scaled(path.rate, 0.75), words))
}

/// A control that reaches more, and whether the kernel has it.
fn better(facts: &HostFacts, control: &str, path: &Path) -> (&'static str, bool) {
    let cubic = path.loss.and_then(|p| law::rate_at_loss("cubic", path, p));
    let is_enough = cubic.is_none_or(|rate| rate >= path.rate);
    let better = if control == "reno" && is_enough { "cubic" } else { "bbr" };
    let available = facts.sysctl("net.ipv4.tcp_available_congestion_control");
    let is_loaded = available.is_none_or(|names| names.split_whitespace().any(|name| name == better));
    (better, is_loaded)
}
