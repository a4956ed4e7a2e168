//! What a hop is made of as text: one line per setting, under the names of plans.
//!
//! For lists of what changed, in words that a plan or the command line understands.
//! A setting that is off is left out.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use gigatcp_units::{Bytes, Duration};

use crate::config::{HopConfig, Jitter, JitterLaw, MarkAbove, RateSource, Shaper};
use crate::{Aggregate, LossModel, Policer, Reorder, Schedule, Trace};

/// A setting that differs between two hops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its name in plans, as in `rate`.
    pub what: &'static str,
    /// What it was; `None`: off.
    pub from: Option<String>,
    /// What it is; `None`: off.
    pub to: Option<String>,
}

impl HopConfig {
    /// Returns every setting that is not off, with its value.
    #[must_use]
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let Self {
            name: _,
            rate,
            link_overhead,
            per_packet,
            one_way_delay,
            rate_source,
            shaper,
            aggregate,
            delay_schedule,
            jitter,
            queue: _,
            limit_packets: _,
            limit_bytes: _,
            hold_limit,
            loss,
            loss_period,
            policer,
            reorder,
            duplicate,
            mark_above,
            mark,
            ecn_bleach,
            mtu,
            tells_too_big,
            release: _,
        } = self;
        let mut list = Vec::new();
        let mut say = |what: &'static str, value: Option<String>| {
            list.extend(value.map(|value| (what, value)));
        };
        say("rate", text(rate));
        let (schedule, trace) = match rate_source {
            None => (None, None),
            Some(RateSource::Schedule(schedule)) => (Some(steps(schedule)), None),
            Some(RateSource::Trace(trace)) => (None, Some(mean(trace))),
        };
        say("rate_schedule", schedule);
        say("rate_trace", trace);
        say("delay", Some(one_way_delay.to_string()));
        say("delay_schedule", delay_schedule.as_ref().map(steps));
        say("jitter", jitter.as_ref().map(jitter_text));
        say("queue", Some(self.queue_text()));
        say("link_overhead", nonzero(*link_overhead));
        say(
            "per_packet",
            (!per_packet.is_zero()).then(|| per_packet.to_string()),
        );
        say("shaper", shaper.map(|Shaper { rate, .. }| rate.to_string()));
        say(
            "shaper_burst",
            shaper.map(|Shaper { burst, .. }| burst.to_string()),
        );
        let group = aggregate.map(|Aggregate { packets, .. }| format!("{packets} packets"));
        say("aggregate", group);
        say(
            "aggregate_overhead",
            aggregate.map(|it| it.overhead.to_string()),
        );
        say("hold_limit", text(hold_limit));
        let losses: Vec<String> = loss.iter().map(loss_text).collect();
        say("loss", (!losses.is_empty()).then(|| losses.join("; ")));
        let since = loss_period.filter(|period| !period.from.is_zero());
        say("loss_from", since.map(|period| period.from.to_string()));
        let until = loss_period.filter(|period| period.until.as_nanos() < u64::MAX);
        say("loss_until", until.map(|period| period.until.to_string()));
        say(
            "policer",
            policer.map(|Policer { rate, .. }| rate.to_string()),
        );
        say(
            "policer_burst",
            policer.map(|Policer { burst, .. }| burst.to_string()),
        );
        say(
            "reorder",
            reorder.map(|Reorder { probability, .. }| probability.to_string()),
        );
        say(
            "reorder_delay",
            reorder.map(|it| it.extra_delay.to_string()),
        );
        say("duplicate", text(duplicate));
        let threshold = mark_above.map(|threshold| match threshold {
            MarkAbove::Bytes(bytes) => bytes.to_string(),
            MarkAbove::Packets(packets) => format!("{packets} packets"),
            MarkAbove::Sojourn(time) => time.to_string(),
        });
        say("mark_above", threshold);
        say("mark", text(mark));
        say("ecn_bleach", ecn_bleach.then(|| "true".to_string()));
        say("mtu", text(mtu));
        say(
            "icmp",
            (mtu.is_some() && !tells_too_big).then(|| "false".to_string()),
        );
        list
    }

    /// Returns the settings in which `after` differs, in the order of
    /// [`HopConfig::describe`].
    #[must_use]
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

    /// Discipline, settings and limits, as in `fq_codel, 1000 packets, target 5 ms`.
    fn queue_text(&self) -> String {
        let mut parts = Vec::new();
        if !self.queue.is_fifo() {
            parts.push(self.queue.discipline.name.to_string());
        }
        parts.extend(self.limit_packets.map(|limit| format!("{limit} packets")));
        parts.extend(self.limit_bytes.map(|limit| limit.to_string()));
        let settings = self.queue.settings.iter();
        parts.extend(settings.map(|setting| format!("{} {}", setting.name, setting.value)));
        if parts.is_empty() {
            parts.push("unlimited".to_string());
        }
        parts.join(", ")
    }
}

fn text(value: &Option<impl Display>) -> Option<String> {
    value.as_ref().map(ToString::to_string)
}

fn nonzero(bytes: Bytes) -> Option<String> {
    (bytes.as_u64() > 0).then(|| bytes.to_string())
}

fn steps<V: Display>(schedule: &Schedule<V>) -> String {
    let steps = schedule.steps.iter();
    let mut parts: Vec<String> = steps.map(|(at, value)| format!("{at}: {value}")).collect();
    parts.extend(schedule.every.map(|every| format!("every {every}")));
    parts.join(", ")
}

/// What a trace amounts to: its numbers would fill pages.
fn mean(trace: &Trace) -> String {
    let mean = gigatcp_units::Rate::from_bps(trace.mean_bps());
    format!("mean {mean}, every {}", trace.period())
}

fn jitter_text(jitter: &Jitter) -> String {
    let mut text = jitter.spread.to_string();
    if jitter.law == JitterLaw::Normal {
        text.push_str(", normal");
    }
    if jitter.hold > Duration::ZERO {
        text.push_str(&format!(", hold {}", jitter.hold));
    }
    if jitter.overtaking {
        text.push_str(", overtaking");
    }
    text
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
    use crate::queue::{self, QueueConfig, Settings};

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
                settings: Settings::new(),
            },
            loss: vec![],
            ..before.clone()
        };
        let told: Vec<String> = before
            .differences(&after)
            .into_iter()
            .map(|it| format!("{}: {:?} -> {:?}", it.what, it.from, it.to))
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
