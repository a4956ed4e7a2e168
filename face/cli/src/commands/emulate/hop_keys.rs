//! A path without a plan: keys of a hop, for both directions or one, as `KEY=VALUE`.
//!
//! The keys are those of plans ([`HOP`]), and become a plan's text, so that a plan's reader checks
//! them and reports errors. The most common ones have options too ([`Common`]).

use std::ops::Range;

use clap_complete::engine::ArgValueCompleter;
use gigatcp_plan::keys::{HOP, Key, Kind};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::failure::Failure;
use crate::{complete, nearest, values};

/// Names of both directions, as in plans.
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// Default queue limit in packets of a path, as in plans.
const MIN_DEFAULT_QUEUE: u64 = 100;

/// Time at the path's rate that the default queue holds at least. Kernels hand over super-segments of
/// 64 KiB in trains, and threads run late: a queue of 100 packets is two super-segments, full after
/// 0.12 ms at 10 Gbit/s. It decides where the RTT is shorter and the rate above 480 Mbit/s.
const MIN_DEFAULT_QUEUE_TIME: Duration = Duration::from_micros(2500);

/// The default MTU.
const DEFAULT_MTU: Bytes = Bytes::new(1500);

/// Options for common keys; they apply to both directions.
#[derive(clap::Args, Debug)]
pub(super) struct Common {
    /// Rate of the path, as in 1G or '1 Gbit/s' [default: unlimited]
    #[arg(long, value_parser = values::rate)]
    rate: Option<Rate>,

    /// Round-trip time, half of it each way
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    rtt: Option<Duration>,

    /// Probability that a packet is lost
    #[arg(long, value_name = "P", value_parser = values::probability)]
    loss: Option<Probability>,

    /// Delay variation, as in '2 ms' or '2 ms, normal, hold 10 ms, overtaking'
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,

    /// Queue limit, as in '100 packets', '1 MB' or '0.5 BDP', discipline, as in fq_codel (see
    /// `gigatcp list queues`), or both with settings, as in 'codel, 1000 packets, target 5 ms'
    /// [default: 1 BDP, at least 2.5 ms and 100 packets, FIFO]
    #[arg(long, value_name = "QUEUE", add = ArgValueCompleter::new(complete::queues))]
    queue: Option<String>,
}

impl Common {
    /// The options that were given, with their assignments.
    pub(super) fn given(&self) -> Vec<(&'static str, Vec<String>)> {
        let both = |key: &str, value: &str| vec![format!("{key}={value}")];
        let delays = |rtt: Duration| {
            let back = rtt / 2;
            let there = rtt.saturating_sub(back);
            vec![
                format!("forward.delay={there}"),
                format!("reverse.delay={back}"),
            ]
        };
        let given = [
            (
                "--rate",
                self.rate.map(|rate| both("rate", &rate.to_string())),
            ),
            ("--rtt", self.rtt.map(delays)),
            (
                "--loss",
                self.loss.map(|loss| both("loss", &loss.to_string())),
            ),
            (
                "--jitter",
                self.jitter.as_deref().map(|jitter| both("jitter", jitter)),
            ),
            (
                "--queue",
                self.queue.as_deref().map(|queue| both("queue", queue)),
            ),
        ];
        given
            .into_iter()
            .filter_map(|(option, assignments)| Some((option, assignments?)))
            .collect()
    }
}

/// The keys of the hop of each direction with their values.
#[derive(Clone, Default, Debug)]
pub(super) struct HopKeys([Vec<(&'static Key, String)>; 2]);

impl HopKeys {
    /// Assigns `KEY=VALUE` in both directions; with the prefix `forward.` or `reverse.` in one.
    pub(super) fn set(&mut self, assignment: &str) -> Result<(), Failure> {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(Failure::new(format!("`{assignment}` is not KEY=VALUE"))
                .hint("as in loss_burst=0.01:4"));
        };
        let (directions, key) = find(name.trim())?;
        for keys in &mut self.0[directions] {
            keys.retain(|(known, _)| known.name != key.name);
            keys.push((key, value.trim().to_owned()));
        }
        Ok(())
    }

    /// Removes `KEY` from both directions; with the prefix `forward.` or `reverse.` from one.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn unset(&mut self, name: &str) -> Result<(), Failure> {
        let (directions, key) = find(name)?;
        for keys in &mut self.0[directions] {
            keys.retain(|(known, _)| known.name != key.name);
        }
        Ok(())
    }

    /// Checks that no direction has a queue that never fills.
    pub(super) fn check(&self) -> Result<(), Failure> {
        const LIMITS: [&str; 4] = ["rate", "rate_trace", "shaper", "packet_rate"];
        for (direction, keys) in DIRECTIONS.into_iter().zip(&self.0) {
            let is_limited = LIMITS.iter().any(|name| value(keys, name).is_some());
            // Classes, behind semicolons, have rates.
            let fills = |queue: &str| is_limited || queue.contains(';');
            if value(keys, "queue").is_some_and(|queue| !fills(queue)) {
                return Err(Failure::new(format!(
                    "the queue of the direction `{direction}` never fills: it has no rate"
                ))
                .hint("add --rate, or one of rate_trace=, shaper= and packet_rate="));
            }
        }
        Ok(())
    }

    /// The plan of this path between hosts of this MTU.
    pub(super) fn plan(&self, host_mtu: Option<Bytes>) -> String {
        let mtu = host_mtu.unwrap_or(DEFAULT_MTU);
        let octets = mtu.as_u64();
        let mut text = format!(
            "name = \"emulate\"\nflow = {{ duration = \"1 s\" }}\nsender.mtu = {octets}\n\
             receiver.mtu = {octets}\n"
        );
        for (direction, keys) in DIRECTIONS.into_iter().zip(&self.0) {
            text.push_str(&format!("[[path.{direction}]]\nname = \"{direction}\"\n"));
            for (key, value) in keys {
                text.push_str(&format!("{} = {}\n", key.name, toml(key, value)));
            }
            if let Some(queue) = self.default_queue(keys, mtu) {
                text.push_str(&format!("queue = \"{queue}\"\n"));
            }
        }
        text
    }

    /// The default of a hop with a rate and no queue: one bandwidth-delay product, as in a plan without
    /// hops, and what hosts in real time need.
    fn default_queue(&self, keys: &[(&Key, String)], mtu: Bytes) -> Option<Bytes> {
        if value(keys, "queue").is_some() {
            return None;
        }
        let rate: Rate = value(keys, "rate")?.parse().ok()?;
        let delay = |keys: &Vec<(&Key, String)>| value(keys, "delay")?.parse::<Duration>().ok();
        let rtt = self
            .0
            .iter()
            .filter_map(delay)
            .fold(Duration::ZERO, |sum, delay| sum + delay);
        Some(
            rate.amount_in(rtt.max(MIN_DEFAULT_QUEUE_TIME))
                .max(Bytes::new(MIN_DEFAULT_QUEUE * mtu.as_u64())),
        )
    }
}

fn value<'a>(keys: &'a [(&Key, String)], name: &str) -> Option<&'a str> {
    let (_, value) = keys.iter().find(|(key, _)| key.name == name)?;
    Some(value)
}

/// The directions and the key that a name means.
fn find(name: &str) -> Result<(Range<usize>, &'static Key), Failure> {
    let one = DIRECTIONS
        .iter()
        .enumerate()
        .find_map(|(index, direction)| {
            let key = name.strip_prefix(direction)?.strip_prefix('.')?;
            Some((index..index + 1, key))
        });
    let (directions, key) = one.unwrap_or((0..2, name));
    match HOP.find(key) {
        Some(key) if key.name != "name" => Ok((directions, key)),
        _ => {
            let known: Vec<&str> = names().collect();
            Err(Failure::new(format!("a path has no key `{name}`"))
                .hint(nearest::hint(key, "keys", &known))
                .hint("`gigatcp list keys path.forward` explains them"))
        }
    }
}

/// The names of all keys of a path.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    HOP.keys()
        .map(|key| key.name)
        .filter(|name| *name != "name")
}

/// The value as TOML, which is text unless the key has another kind.
fn toml(key: &Key, value: &str) -> String {
    match key.kind {
        Kind::Whole(..) | Kind::Octets(..) | Kind::Flag => value.to_owned(),
        Kind::Numbers if !value.starts_with('[') => format!("[{value}]"),
        Kind::Numbers => value.to_owned(),
        _ => quoted(value),
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(assignments: &[&str]) -> HopKeys {
        let mut keys = HopKeys::default();
        for assignment in assignments {
            keys.set(assignment).unwrap();
        }
        keys
    }

    #[test]
    fn later_value_of_a_key_replaces_the_earlier_one() {
        let mut keys = keys(&["rate=10 Mbit/s", "loss=0.1", "rate=5 Mbit/s"]);
        keys.unset("loss").unwrap();
        let plan = keys.plan(None);
        assert_eq!(plan.matches("rate = \"5 Mbit/s\"").count(), 2, "{plan}");
        assert!(
            !plan.contains("10 Mbit/s") && !plan.contains("loss"),
            "{plan}"
        );
    }

    #[test]
    fn key_with_a_direction_leaves_the_other_direction() {
        let keys = keys(&[
            "loss=0.1",
            "reverse.loss=0.2",
            "lose_packets=1, 2",
            "icmp=false",
        ]);
        let plan = keys.plan(Some(Bytes::new(9000)));
        let (forward, reverse) = plan.split_once("[[path.reverse]]").unwrap();
        assert!(
            forward.contains("loss = \"0.1\"") && reverse.contains("loss = \"0.2\""),
            "{plan}"
        );
        assert!(
            reverse.contains("lose_packets = [1, 2]\nicmp = false\n"),
            "{plan}"
        );
        assert!(forward.contains("sender.mtu = 9000\n"), "{plan}");
    }

    #[test]
    fn queue_defaults_to_one_bdp_and_at_least_2500_us_and_100_packets() {
        let long = keys(&[
            "rate=1 Gbit/s",
            "forward.delay=40 ms",
            "reverse.delay=40 ms",
        ]);
        assert!(
            long.plan(None).contains("queue = \"10 MB\""),
            "{}",
            long.plan(None)
        );
        let queue = |rate: &str| {
            let plan = keys(&[rate]).plan(None);
            let (_, queue) = plan.split_once("queue = \"").unwrap();
            queue.split('"').next().unwrap().to_owned()
        };
        assert_eq!(queue("rate=100 Mbit/s"), "150 kB");
        assert_eq!(queue("rate=1 Gbit/s"), "312.5 kB");
        assert_eq!(queue("rate=10 Gbit/s"), "3.125 MB");
    }

    #[test]
    fn unknown_key_names_the_nearest_one() {
        let failure = keys(&[]).set("los=0.1").unwrap_err();
        assert!(failure.text().contains("`loss`"), "{}", failure.text());
    }
}
