//! Latency under load: pings of each kind before and during a test, as text and JSON.

use std::time::Duration;

use gigatcp_meter::tester::{self, Latency, Outcome, PingKind, Role};
use gigatcp_report::number;
use serde_json::{Map, Value, json};

use super::sums;

/// Percentiles shown, with their names.
const SHOWN: [(f64, &str); 3] = [(0.5, "median"), (0.95, "p95"), (0.99, "p99")];

/// A line on the RTT under load, then one for each kind of ping, with their labels. Empty without
/// pings.
pub(super) fn lines(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let sentence = sentence(outcome).map(|text| ("Latency", text));
    let mut lines: Vec<(&str, String)> = sentence.into_iter().collect();
    let is_shown = |latency: &&Latency| {
        // Only a server of this project gets requests; the line on UDP says so.
        latency.kind != PingKind::Request || !latency.loaded.is_empty()
    };
    for latency in outcome.latency.iter().filter(is_shown) {
        let label = if lines.is_empty() { "Latency" } else { "" };
        lines.push((label, facts(latency)));
    }
    lines.extend(responsiveness(outcome).map(|rpm| ("RPM", rpm)));
    let has = |kind| outcome.latency.iter().any(|latency| latency.kind == kind);
    if has(PingKind::Tcp) && !has(PingKind::Icmp) {
        let reason = "ICMP: not allowed for this user (net.ipv4.ping_group_range)";
        lines.push(("", reason.to_owned()));
    }
    lines
}

/// Line on round trips per minute. `None` without replies of each kind.
fn responsiveness(outcome: &Outcome) -> Option<String> {
    let responses = tester::responses(outcome)?;
    let (loaded, means) = (responses.loaded, responses.means);
    let ms = |seconds: f64| format!("{:.2}", seconds * 1000.0);
    let idle = responses
        .idle
        .map_or(String::new(), |rpm| format!("; {rpm:.0} before the load"));
    let load = match outcome.ramp {
        Some(ramp) => {
            let streams = number::counted(ramp.streams as u64, "stream");
            let state = match ramp.is_saturated {
                true => "the rate was stable",
                false => "the rate was not stable",
            };
            let from = ramp.loaded_from.as_secs_f64();
            format!("; {state} with {streams} after {from:.1} s")
        }
        None => String::new(),
    };
    Some(format!(
        "{:.0} round trips per minute under load (on connections of their own {:.0}: handshake {}, \
         request {}; on those with the load {:.0}: RTT {}; trimmed means in ms, no TLS){idle}{load}",
        loaded.combined,
        loaded.foreign,
        ms(means.tcp_f),
        ms(means.http_f),
        loaded.loaded,
        ms(means.http_l)
    ))
}

/// Growth of median and p99 RTT under load, and its grade. It uses ICMP if that has replies.
fn sentence(outcome: &Outcome) -> Option<String> {
    let has_both = |one: &&Latency| !one.idle.is_empty() && !one.loaded.is_empty();
    let first = outcome.latency.iter().find(has_both)?;
    let grown = |share| {
        let [idle, loaded] = [&first.idle, &first.loaded].map(|times| at(times, share));
        Some((idle?, loaded?))
    };
    let (idle, loaded) = grown(0.5)?;
    let (idle_p99, loaded_p99) = grown(0.99)?;
    let rates = sums::roles(&outcome.streams).into_iter().map(|role| {
        let rate = number::rate(sums::rate_of(outcome, role));
        match role {
            Role::Sender => format!("{rate} up"),
            Role::Receiver => format!("{rate} down"),
        }
    });
    Some(format!(
        "with {} the median RTT of {} pings went from {idle:.2} to {loaded:.2} ms ({:+.2} ms), \
         p99 from {idle_p99:.2} to {loaded_p99:.2} ms ({:+.2} ms)",
        rates.collect::<Vec<_>>().join(" and "),
        label(first.kind),
        loaded - idle,
        loaded_p99 - idle_p99
    ))
}

const fn label(kind: PingKind) -> &'static str {
    match kind {
        PingKind::Icmp => "ICMP",
        PingKind::Udp => "UDP",
        PingKind::Tcp => "TCP handshake",
        PingKind::Request => "TCP request",
    }
}

/// A percentile in milliseconds.
fn at(times: &[Duration], share: f64) -> Option<f64> {
    Latency::percentile(times, share).map(|time| time.as_secs_f64() * 1000.0)
}

fn facts(latency: &Latency) -> String {
    let name = label(latency.kind);
    if latency.kind == PingKind::Udp && latency.idle.is_empty() && latency.loaded.is_empty() {
        return format!("{name}: no reply; only a gigatcp server answers");
    }
    let of = |times: &[Duration]| {
        let known = SHOWN.map(|(share, name)| Some(format!("{name} {:.2}", at(times, share)?)));
        let known: Vec<String> = known.into_iter().flatten().collect();
        match known.is_empty() {
            true => "no reply".to_owned(),
            false => known.join(", ") + " ms",
        }
    };
    let sent = latency.loaded.len() as u64 + latency.lost;
    let lost = sums::percent(latency.lost.cast_signed(), sent);
    format!(
        "{name}: idle {}; under load {}, {lost:.1} % of {sent} lost",
        of(&latency.idle),
        of(&latency.loaded)
    )
}

/// All RTTs by kind, with the percentiles that the text shows.
pub(super) fn values(outcome: &Outcome) -> Value {
    let micros = |times: &[Duration]| {
        let micros = times.iter().map(|time| time.as_micros() as u64);
        micros.collect::<Vec<_>>()
    };
    let percentiles = |times: &[Duration]| {
        let all = SHOWN
            .iter()
            .map(|(share, name)| ((*name).to_owned(), json!(at(times, *share))));
        all.collect::<Map<_, _>>()
    };
    let value = |latency: &Latency| {
        json!({
            "idle_us": micros(&latency.idle),
            "loaded_us": micros(&latency.loaded),
            "lost": latency.lost,
            "idle_ms": percentiles(&latency.idle),
            "loaded_ms": percentiles(&latency.loaded),
        })
    };
    let all = outcome
        .latency
        .iter()
        .map(|latency| (latency.kind.name().to_owned(), value(latency)));
    Value::Object(all.collect())
}

/// Responsiveness as JSON; null without replies of each kind.
pub(super) fn responsiveness_value(outcome: &Outcome) -> Value {
    let Some(responses) = tester::responses(outcome) else {
        return Value::Null;
    };
    json!({
        "rpm": responses.loaded.combined,
        "foreign_rpm": responses.loaded.foreign,
        "loaded_rpm": responses.loaded.loaded,
        "idle_rpm": responses.idle,
        // The draft's tls_f is not measured: there is no TLS.
        "trimmed_mean_ms": {
            "tcp_f": responses.means.tcp_f * 1000.0,
            "http_f": responses.means.http_f * 1000.0,
            "http_l": responses.means.http_l * 1000.0,
        },
        "ramp": outcome.ramp.map(|ramp| json!({
            "streams": ramp.streams,
            "loaded_from_s": ramp.loaded_from.as_secs_f64(),
            "is_saturated": ramp.is_saturated,
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_idle_and_loaded_replies_stand_next_to_the_share_lost() {
        let times = |from: u64| (1..=100).map(move |step| Duration::from_micros(from + 10 * step));
        let latency = Latency {
            kind: PingKind::Icmp,
            idle: times(0).collect(),
            loaded: times(50_000).collect(),
            lost: 25,
        };
        assert_eq!(
            facts(&latency),
            "ICMP: idle median 0.50, p95 0.95, p99 0.99 ms; under load median 50.50, p95 50.95, \
             p99 50.99 ms, 20.0 % of 125 lost"
        );
    }
}
