//! Text form of a hop's configuration: one line per setting, under the names of plans.
//!
//! Used for lists of changes, in the syntax of plans and of the command line. A setting that is off
//! is left out.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use gigatcp_units::Duration;

use crate::config::{HopConfig, Jitter, JitterLaw, MarkAbove, RateSource, Slot};
use crate::queue::{Setting, Settings};
use crate::{AckFilter, LossModel, Middlebox, Schedule, Trace, WindowScale};

/// A duration longer than any run.
const FOREVER: Duration = Duration::from_nanos(u64::MAX);

/// A setting that differs between two hops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its name in plans, as in `rate`.
    pub what: &'static str,
    /// Value before; `None`: off.
    pub from: Option<String>,
    /// Value after; `None`: off.
    pub to: Option<String>,
}

/// Settings that are not off, with their values.
type Described = Vec<(&'static str, Option<String>)>;

impl HopConfig {
    /// Every setting that is not off, with its value.
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let all = [
            self.describe_service(),
            self.describe_losses(),
            self.describe_others(),
        ]
        .into_iter()
        .flatten();
        all.filter_map(|(what, value)| Some((what, value?)))
            .collect()
    }

    /// Rate, delay and queue.
    fn describe_service(&self) -> Described {
        let (schedule, trace) = match &self.rate_source {
            None => (None, None),
            Some(RateSource::Schedule(schedule)) => (Some(steps(schedule)), None),
            Some(RateSource::Trace(trace)) => (None, Some(mean(trace))),
        };
        let shaper = self.shaper;
        let group = self.aggregate;
        let per_packet = Some(self.per_packet).filter(|time| !time.is_zero());
        let overhead = Some(self.link_overhead).filter(|bytes| bytes.as_u64() > 0);
        Vec::from([
            ("rate", text(&self.rate)),
            ("rate_schedule", schedule),
            ("rate_trace", trace),
            ("delay", Some(self.one_way_delay.to_string())),
            ("delay_schedule", self.delay_schedule.as_ref().map(steps)),
            ("jitter", self.jitter.as_ref().map(jitter_text)),
            ("slot", self.slot.as_ref().map(slot_text)),
            ("queue", Some(self.queue_text())),
            ("link_overhead", text(&overhead)),
            ("per_packet", text(&per_packet)),
            ("shaper", shaper.map(|shaper| shaper.rate.to_string())),
            (
                "shaper_burst",
                shaper.map(|shaper| shaper.burst.to_string()),
            ),
            (
                "aggregate",
                group.map(|group| format!("{} packets", group.packets)),
            ),
            (
                "aggregate_overhead",
                group.map(|group| group.overhead.to_string()),
            ),
            ("hold_limit", text(&self.most_inside())),
        ])
    }

    /// Settings that drop packets.
    fn describe_losses(&self) -> Described {
        let from = self.loss_period.map(|period| period.from);
        let until = self.loss_period.map(|period| period.until);
        let policer = self.policer;
        Vec::from([
            ("loss", models(&self.loss)),
            ("loss_from", text(&from.filter(|from| !from.is_zero()))),
            ("loss_until", text(&until.filter(|until| *until < FOREVER))),
            ("policer", policer.map(|policer| policer.rate.to_string())),
            (
                "policer_burst",
                policer.map(|policer| policer.burst.to_string()),
            ),
            ("ack_filter", self.ack_filter.map(filter_text)),
            ("mtu", text(&self.mtu)),
            ("fragments", self.fragments.then(|| "true".to_string())),
            (
                "icmp",
                self.mtu
                    .filter(|_| !self.notifies_too_big)
                    .map(|_| "false".to_string()),
            ),
        ])
    }

    /// Settings that corrupt, reorder, duplicate, mark or change packets.
    fn describe_others(&self) -> Described {
        let reorder = self.reorder;
        let threshold = self.mark_above.map(|threshold| match threshold {
            MarkAbove::Bytes(bytes) => bytes.to_string(),
            MarkAbove::Packets(packets) => format!("{packets} packets"),
            MarkAbove::Sojourn(time) => time.to_string(),
        });
        Vec::from([
            ("corrupt", models(&self.corrupt)),
            (
                "reorder",
                reorder.map(|reorder| reorder.probability.to_string()),
            ),
            (
                "reorder_delay",
                reorder.map(|reorder| reorder.extra_delay.to_string()),
            ),
            ("duplicate", text(&self.duplicate)),
            ("mark_above", threshold),
            ("mark", text(&self.mark)),
            ("quick_start", self.quick_start.then(|| "true".to_string())),
            ("ecn_bleach", self.ecn_bleach.then(|| "true".to_string())),
            ("middlebox", self.middlebox.as_ref().map(middlebox_text)),
        ])
    }

    /// Settings in which `after` differs, in the order of [`HopConfig::describe`].
    pub fn differences(&self, after: &Self) -> Vec<Difference> {
        let (before, after) = (self.describe(), after.describe());
        let value = |list: &[(&'static str, String)], wanted: &str| {
            let found = list.iter().find(|(what, _)| *what == wanted);
            found.map(|(_, value)| value.clone())
        };
        let is_new = |(what, _): &&(&'static str, String)| value(&before, what).is_none();
        let names = before.iter().chain(after.iter().filter(is_new));
        let all = names.map(|(what, _)| Difference {
            what,
            from: value(&before, what),
            to: value(&after, what),
        });
        all.filter(|difference| difference.from != difference.to)
            .collect()
    }

    /// Discipline, settings, limits and classes, as in `fq_codel, 1000 packets, target 5 ms`.
    fn queue_text(&self) -> String {
        let mut parts = Vec::new();
        if !self.queue.is_fifo() {
            parts.push(self.queue.discipline.name.to_string());
        }
        parts.extend(self.limit_packets.map(|limit| format!("{limit} packets")));
        parts.extend(self.limit_bytes.map(|limit| limit.to_string()));
        let texts = |settings: &Settings| -> Vec<String> {
            let text = |setting: &Setting| format!("{} {}", setting.name, setting.value);
            settings.iter().map(text).collect()
        };
        parts.extend(texts(&self.queue.settings));
        if parts.is_empty() {
            parts.push("unlimited".to_string());
        }
        let classes = self
            .queue
            .classes
            .iter()
            .map(|class| texts(class).join(", "));
        let sections: Vec<String> = core::iter::once(parts.join(", ")).chain(classes).collect();
        sections.join("; ")
    }
}

fn text(value: &Option<impl Display>) -> Option<String> {
    value.as_ref().map(ToString::to_string)
}

fn steps<V: Display>(schedule: &Schedule<V>) -> String {
    let steps = schedule.steps.iter();
    let mut parts: Vec<String> = steps.map(|(at, value)| format!("{at}: {value}")).collect();
    parts.extend(schedule.every.map(|every| format!("every {every}")));
    parts.join(", ")
}

/// A summary of a trace, which is too long to print.
fn mean(trace: &Trace) -> String {
    let mean = gigatcp_units::Rate::from_bps(trace.mean_bps());
    format!("mean {mean}, every {}", trace.period())
}

fn jitter_text(jitter: &Jitter) -> String {
    let mut text = jitter.spread.to_string();
    if jitter.law != JitterLaw::Uniform {
        text.push_str(&format!(", {}", jitter.law.name()));
    }
    if jitter.hold > Duration::ZERO {
        text.push_str(&format!(", hold {}", jitter.hold));
    }
    if jitter.overtaking {
        text.push_str(", overtaking");
    }
    text
}

fn slot_text(slot: &Slot) -> String {
    let mut parts = alloc::vec![slot.delay.to_string()];
    parts.extend((!slot.spread.is_zero()).then(|| format!("spread {}", slot.spread)));
    parts.extend((slot.law != JitterLaw::Uniform).then(|| slot.law.name().to_string()));
    parts.extend(slot.packets.map(|packets| format!("packets {packets}")));
    parts.extend(slot.bytes.map(|bytes| format!("bytes {bytes}")));
    parts.join(", ")
}

fn models(models: &[LossModel]) -> Option<String> {
    let texts: Vec<String> = models.iter().map(loss_text).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn filter_text(filter: AckFilter) -> String {
    match filter {
        AckFilter::Queue => "queue".to_string(),
        AckFilter::Every(n) => n.to_string(),
    }
}

fn middlebox_text(middlebox: &Middlebox) -> String {
    let mut parts = Vec::new();
    parts.extend(middlebox.mss.map(|mss| format!("mss {mss}")));
    match middlebox.window_scale {
        WindowScale::Pass => {}
        WindowScale::Clamp(shift) => parts.push(format!("window scale {shift}")),
        WindowScale::Clear => parts.push("no window scale".to_string()),
    }
    let cleared = [
        ("sack", middlebox.clears_sack),
        ("timestamps", middlebox.clears_timestamps),
        ("ecn", middlebox.clears_ecn),
    ]
    .into_iter()
    .filter(|(_, is_cleared)| *is_cleared);
    parts.extend(cleared.map(|(what, _)| format!("no {what}")));
    parts.join(", ")
}

fn loss_text(model: &LossModel) -> String {
    match model {
        LossModel::Bernoulli(probability) => probability.to_string(),
        LossModel::GilbertElliott(chain) => format!(
            "in bursts: {} to bad, {} to good, {} lost in bad, {} in good",
            chain.to_bad, chain.to_good, chain.bad_loss, chain.good_loss
        ),
        LossModel::Periodic { every } => format!("every {every} packets"),
        LossModel::Listed(list) => format!("{} listed packets", list.len()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use gigatcp_units::Rate;

    use super::*;
    use crate::queue::{self, QueueConfig};

    #[test]
    fn what_differs_is_told_in_the_words_of_plans() {
        let before = HopConfig {
            rate: Some(Rate::from_bps(10_000_000)),
            limit_packets: Some(50),
            loss: vec![LossModel::Periodic { every: 100 }],
            ..HopConfig::default()
        };
        let after = HopConfig {
            rate: Some(Rate::from_bps(5_000_000)),
            one_way_delay: Duration::from_millis(20),
            queue: QueueConfig {
                discipline: queue::find("fq_codel").unwrap(),
                ..QueueConfig::default()
            },
            loss: vec![],
            ..before.clone()
        };
        let told: Vec<String> = before
            .differences(&after)
            .into_iter()
            .map(|change| format!("{}: {:?} -> {:?}", change.what, change.from, change.to))
            .collect();
        let expected = [
            r#"rate: Some("10 Mbit/s") -> Some("5 Mbit/s")"#,
            r#"delay: Some("0 s") -> Some("20 ms")"#,
            r#"queue: Some("50 packets") -> Some("fq_codel, 50 packets")"#,
            r#"loss: Some("every 100 packets") -> None"#,
        ];
        assert_eq!(told, expected);
        assert_eq!(after.differences(&after), []);
    }
}
