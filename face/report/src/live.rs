//! Notes on a run in real time: stacks, lateness, stalls, and settings of the plan without effect.

use gigatcp_plan::record::{DirectionRecord, LiveRecord, SeriesRecord};
use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::group::by_key;
use crate::number::{counted, fixed};

/// RTT below which wake-ups matter. One takes some 50 us, 1 % of an RTT of 5 ms.
const SHORT_NS: u64 = 5_000_000;

/// Whether RTTs of a run are so short that wake-ups matter. True if none was measured.
fn has_short_trips(record: &SeriesRecord) -> bool {
    let samples = record.flows.iter().flat_map(|flow| &flow.samples);
    let least = samples.filter_map(|sample| sample.srtt_ns).min();
    least.is_none_or(|least| least < SHORT_NS)
}

/// Notes on a run in real time, one per line. `live` is that run, which `record` describes. They
/// cover stacks, lateness, stalls, and settings of the plan without effect.
pub fn lines(record: &SeriesRecord, live: &LiveRecord) -> Vec<String> {
    let mut lines = vec![format!(
        "sender {}, receiver {}; the path used {} % of a CPU",
        live.sender_stack,
        live.receiver_stack,
        fixed(live.path_cpu_fraction * 100.0, 0),
    )];
    for way in &live.directions {
        if let (Some(half), Some(most)) = (way.late_p50_ns, way.late_p99_ns) {
            lines.push(format!(
                "{}: lateness p50 {}, p99 {}, max {}",
                way.name,
                time(half),
                time(most),
                time(way.late_max_ns),
            ));
        }
    }
    if live.stalls > 0 {
        lines.push(format!(
            "THE PATH STALLED: its thread was not scheduled {}, for {} in all; the numbers are of a path \
             that stood still for so long",
            counted(live.stalls, "time"),
            time(live.stalled_ns),
        ));
    }
    if live.path_processor.is_none() {
        lines.push(
            "the path shared its CPU with the hosts at its ends: a host that runs there when the path \
            wakes up is delayed"
                .to_owned(),
        );
    }
    if !live.cpu_idle_inhibited && has_short_trips(record) {
        lines.push(
            "CPUs could enter deep idle states between packets; a wake-up then takes some 50 us, more in a \
            virtual machine: 1 % of these RTTs or more (as root, the run keeps CPUs out of these states)"
                .to_owned(),
        );
    }
    if !live.engines_first {
        lines.push(
            "engines had their turn among ordinary threads (it takes CAP_SYS_NICE to come first, as \
             a kernel's TCP does): while another runs they stand still, and send a burst afterwards"
                .to_owned(),
        );
    }
    if let Some(stolen) = live.steal_fraction
        && stolen >= STOLEN
    {
        lines.push(format!(
            "{} % of this machine's processor time went to others (steal): paths of a few \
             milliseconds lose packets by it that they would not lose",
            fixed(stolen * 100.0, 1),
        ));
    }
    if live.samples_late_ns >= LATE_NS {
        lines.push(format!(
            "a sample was late by {}: its thread was not scheduled",
            time(live.samples_late_ns),
        ));
    }
    lines.extend(live.directions.iter().flat_map(way_lines));
    let left_out = by_reason(&live.not_modelled);
    lines.extend(left_out.map(|line| format!("not modeled on a live run: {line}")));
    lines
}

/// Groups settings without effect, each `key: reason`; keys with the same reason share a line.
fn by_reason(left_out: &[String]) -> impl Iterator<Item = String> {
    let settings = left_out.iter().filter_map(|line| line.split_once(": "));
    let reasons = by_key(settings.map(|(key, reason)| (reason, key))).into_iter();
    reasons.map(|(reason, keys)| format!("{}: {reason}", keys.join(", ")))
}

/// Minimum fraction of CPU time stolen that is reported. At 1 %, each CPU is away for 10 ms of each
/// second.
const STOLEN: f64 = 0.01;

/// Minimum lateness of a sample that is reported: its thread was not scheduled.
const LATE_NS: u64 = 10_000_000;

fn time(ns: u64) -> String {
    human_duration(Duration::from_nanos(ns))
}

/// Formats a number of packets or super-segments.
fn packets(count: u64) -> String {
    counted(count, "packet")
        + if count == 1 {
            " or super-segment"
        } else {
            " or super-segments"
        }
}

/// Drops and delays of a direction that its hops did not cause.
fn way_lines(way: &DirectionRecord) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(dropped @ 1..) = way.dropped_before_path {
        lines.push(format!(
            "{}: dropped before the path saw them, as this machine was too slow: {}",
            way.name,
            packets(dropped)
        ));
    }
    if way.refused > 0 {
        lines.push(format!(
            "{}: the host at the end of the path did not take {}",
            way.name,
            packets(way.refused)
        ));
    }
    if way.memory_full > 0 {
        lines.push(format!(
            "{}: the memory for packets was full {}",
            way.name,
            counted(way.memory_full, "time")
        ));
    }
    if !way.conserved {
        lines.push(format!(
            "{}: packets in are not packets out, dropped and inside: a fault",
            way.name
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_for_one_reason_shares_a_line() {
        let left_out = ["a: slow", "b: none", "c: slow"].map(str::to_owned);
        let lines: Vec<String> = by_reason(&left_out).collect();
        assert_eq!(lines, ["a, c: slow", "b: none"]);
    }

    #[test]
    fn of_one_thing_nothing_is_said_in_the_plural() {
        let way = |count| DirectionRecord {
            name: "data".into(),
            dropped_before_path: Some(count),
            refused: count,
            memory_full: count,
            conserved: true,
            ..DirectionRecord::default()
        };
        let one = way_lines(&way(1));
        assert_eq!(one.len(), 3);
        assert!(one[0].ends_with(": 1 packet or super-segment"), "{one:?}");
        assert!(one[2].ends_with("full 1 time"), "{one:?}");
        let many = way_lines(&way(2000));
        assert!(
            many[1].ends_with("2 000 packets or super-segments"),
            "{many:?}"
        );
    }
}
