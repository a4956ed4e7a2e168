//! Text and values that several rules share.

use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::doctor::facts::{HostFacts, Interface, Route, RouteMetrics};
use crate::doctor::finding::Finding;
use crate::doctor::law::{self, Work};
use crate::doctor::path::{Direction, Path};
use crate::doctor::shell::word;

/// Place where a setting was read.
pub(super) fn place(sysctl: &str) -> String {
    format!("/proc/sys/{}", sysctl.replace('.', "/"))
}

/// Command that sets a setting.
pub(super) fn set(sysctl: &str, value: &str) -> String {
    let words: Vec<&str> = value.split_whitespace().collect();
    format!("sysctl -w {sysctl}={}", word(&words.join(" ")))
}

/// Creates a finding about a setting, which `value` changes.
pub(super) fn setting(
    facts: &HostFacts,
    direction: Direction,
    sysctl: &str,
    value: &str,
    effect: impl Into<String>,
) -> Finding {
    let read = facts.sysctl(sysctl).unwrap_or("unset");
    let read: Vec<&str> = read.split_whitespace().collect();
    let subject = format!("{sysctl} = {}", read.join(" "));
    let mut finding = Finding::new(
        direction,
        subject,
        place(sysctl),
        effect,
        set(sysctl, value),
    );
    finding.change.whatif = Vec::from([format!("{sysctl}={value}")]);
    finding.change.is_of_machine = OF_MACHINE.contains(&sysctl);
    match facts.sysctl(sysctl) {
        Some(value) => finding.undo(set(sysctl, value)),
        None => finding,
    }
}

/// Settings that the kernel keeps once for all network namespaces.
const OF_MACHINE: [&str; 7] = [
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_mem",
    "net.netfilter.nf_conntrack_max",
];

/// The receive buffer that autotuning may reach as it is set, for `gigatcp whatif`: what holds once
/// another limit of the window is gone.
pub(super) fn autotuned_window(facts: &HostFacts) -> Option<String> {
    let [min, default, max] = facts.triple("net.ipv4.tcp_rmem")?;
    Some(format!("net.ipv4.tcp_rmem={min} {default} {max}"))
}

/// The MTU of both hosts, for `gigatcp whatif`.
pub(super) fn both_mtus(mtu: u64) -> [String; 2] {
    ["sender", "receiver"].map(|host| format!("{host}.mtu={mtu}"))
}

/// A value of `tcp_rmem` without findings. Its default is large enough for a first flight, and its
/// maximum for the path.
pub(super) fn good_rmem([min, default, max]: [u64; 3], facts: &HostFacts, path: &Path) -> String {
    let share = law::window_share(facts).max(0.5);
    let max = match path.limit_of_window(law::share_of(max, share)) {
        Some(_) => buffer_for(path.bdp(), share).max(USUAL_RMEM_MAX),
        None => max,
    };
    let default = match law::first_flight(default, facts, path) {
        Some(_) => USUAL_RMEM.max(default),
        None => default,
    };
    format!("{min} {} {}", default.min(max), max)
}

/// The kernel's defaults of the third values of `tcp_rmem` and `tcp_wmem` with 1 GB of memory.
/// Less gains nothing: the kernel tunes buffers, and a path whose queue fills holds more than its
/// BDP.
const USUAL_RMEM_MAX: u64 = 6_291_456;
pub(super) const USUAL_WMEM_MAX: u64 = 4_194_304;

/// The kernel's default of the second value of `tcp_rmem`.
const USUAL_RMEM: u64 = 131_072;

/// Microseconds as a duration.
pub(super) fn micros(micros: u64) -> Duration {
    Duration::from_nanos(micros.saturating_mul(1000))
}

/// Sum of counters.
pub(super) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Nonzero counters as text.
pub(super) fn counters<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> String {
    let named = all.filter(|(_, count)| *count > 0);
    let named: Vec<String> = named
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    named.join(", ")
}

/// Condition of a ceiling that follows from counted losses.
pub(super) const GOES_ON: &str = "losses go on as on average so far, one at a time";

/// Ceiling of losing `lost` of `all` packets, if below the path's rate. Also returns the effect as
/// text. The peer's congestion control is unknown: CUBIC, the usual one, is assumed.
pub(super) fn loss_limit(path: &Path, lost: u64, all: u64) -> Option<(Rate, String)> {
    let p = Probability::try_new(lost as f64 / all.max(lost).max(1) as f64)?;
    let limit = path.limit(law::rate_at_loss("cubic", path, p)?)?;
    let words = format!(
        "1 packet in {} on average; CUBIC reaches {} at that loss",
        all / lost.max(1),
        human_rate(limit)
    );
    Some((limit, words))
}

/// A buffer that holds `window` bytes if `share` of it is window. The result is a power of two.
pub(super) fn buffer_for(window: Bytes, share: f64) -> u64 {
    let bytes = window.as_u64() as f64 / share;
    // The kernel stores such settings in 31 bits.
    (bytes as u64)
        .clamp(1, 1 << 31)
        .next_power_of_two()
        .min((1 << 31) - 1)
}

/// `window` over the RTT of the path, as text.
pub(super) fn window_over_rtt(window: Bytes, path: &Path) -> String {
    let limit = path.limit_of_window(window).unwrap_or(path.rate);
    format!(
        "{} in flight per RTT of {} allow {}; the path holds {}",
        human_bytes(window),
        human_duration(path.rtt),
        human_rate(limit),
        human_bytes(path.bdp()),
    )
}

/// Creates a finding about a metric of the route. It has the commands that change and restore it.
pub(super) fn route_metric(
    facts: &HostFacts,
    direction: Direction,
    metric: &str,
    effect: String,
    change: impl FnOnce(&mut RouteMetrics),
) -> Finding {
    let mut place = String::from("ip route get fibmatch");
    if let Some(to) = &facts.destination {
        place = format!("{place} {to}");
    }
    let mut finding = Finding::new(direction, format!("route {metric}"), place, effect, "");
    let Some(route) = &facts.route else {
        return finding;
    };
    let mut metrics = route.metrics.clone();
    change(&mut metrics);
    if route.spec.is_empty() {
        finding = finding.advice();
        finding.change.fix =
            "change the metric of the route, which has more than a command here restores".into();
        return finding;
    }
    finding.change.undo = route_undo(route);
    finding.change.fix = route.replace(&metrics);
    finding.change.metrics = Some(metrics);
    finding
}

/// The command that restores a route; `None` for one of router advertisements, whose lifetime no
/// command restores.
pub(super) fn route_undo(route: &Route) -> Option<String> {
    (!route.spec.contains(" proto ra")).then(|| route.restore())
}

/// Segments of a route's initial window, if fewer than in RFC 6928.
pub(super) fn small_window(metric: Option<u64>) -> Option<u64> {
    metric.filter(|segments| (1..law::INITIAL_WINDOW).contains(segments))
}

/// Time of `rounds` lost at a connection's start, and the effect.
pub(super) fn late_start(path: &Path, segments: u64, rounds: f64) -> (Duration, String) {
    debug_assert!(
        rounds >= 0.0 && rounds.is_finite(),
        "a small window delays: {rounds} RTTs"
    );
    let delay = Duration::from_secs_f64(rounds * path.rtt.as_secs_f64());
    let words = format!(
        "{segments} instead of {} segments: about {} more per connection",
        law::INITIAL_WINDOW,
        human_duration(delay)
    );
    (delay, words)
}

/// Formats a count with its noun: `1 packet`, `2 packets`, `2 CPU policies`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

/// Doublings of a window to `factor` times its size; 0 below one.
pub(super) fn doublings(factor: f64) -> f64 {
    let mut rounds = 0.0;
    let mut reached = 1.0;
    while reached < factor {
        reached *= 2.0;
        rounds += 1.0;
    }
    rounds
}

/// Ceiling of packets of `mtu` instead of `usual` bytes, and the effect.
pub(super) fn smaller_segments(
    facts: &HostFacts,
    path: &Path,
    direction: Direction,
    mtu: u64,
    usual: u64,
) -> (Rate, String) {
    let (small, large) = (law::mss_of(mtu), law::mss_of(usual));
    let headers = law::payload_share(small) / law::payload_share(large);
    let work = match direction {
        Direction::Send => Work::of_sender(facts),
        Direction::Receive => Work::of_receiver(facts),
        Direction::Both => Work::of_host(facts),
    };
    let on_wire = law::scaled(path.rate, headers.min(1.0));
    let of_core = work.core_rate(small);
    let smaller = Path {
        mss: small,
        ..*path
    };
    let control = law::control(facts).unwrap_or_else(|| "cubic".into());
    let at_loss = path
        .loss
        .and_then(|p| law::rate_at_loss(&control, &smaller, p));
    let limit = on_wire.min(of_core).min(at_loss.unwrap_or(Rate::MAX));
    let reason = if limit == on_wire {
        "headers take more of the link"
    } else if limit == of_core {
        "one core handles no more packets"
    } else {
        "the window recovers more slowly from loss"
    };
    let words = format!(
        "segments of {} instead of {} B: {reason}, {} at most",
        small.as_u64(),
        large.as_u64(),
        human_rate(limit)
    );
    (limit, words)
}

/// Creates a finding about offloads that are off. `None` if the work of single segments does not
/// limit the path. `offloads` are arguments of `ethtool -K`.
pub(super) fn offload_finding(
    card: &Interface,
    path: &Path,
    (direction, work): (Direction, Work),
    offloads: &[&str],
) -> Option<Finding> {
    let limit = path.limit(work.core_rate(path.mss))?;
    let name = &card.name;
    let set = |to: &str| {
        let words: Vec<String> = offloads
            .iter()
            .map(|offload| format!("{offload} {to}"))
            .collect();
        format!("ethtool -K {} {}", word(name), words.join(" "))
    };
    let finding = Finding::new(
        direction,
        format!("offload {} of {name} = off", offloads.join(", ")),
        format!("ethtool -k {name}"),
        format!(
            "one core handles about {} of such segments",
            human_rate(limit)
        ),
        set("on"),
    );
    Some(finding.ceiling(limit).undo(set("off")))
}

/// Place of a queueing discipline, as arguments of `tc`.
pub(super) fn at(parent: &str) -> String {
    match parent {
        "root" => String::from("root"),
        parent => format!("parent {parent}"),
    }
}
