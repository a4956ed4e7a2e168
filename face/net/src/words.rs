//! Words for links and hosts: the keys of plans, as `rate=100Mbit/s rtt=125ms loss=0.1%`.
//!
//! A word is `KEY=VALUE`. What follows without a `=` belongs to the value before, so that
//! `queue=fq_codel, 1000 packets` needs no quotes. The words become a plan, which is parsed and
//! checked as any other: keys, values and messages are those of `gigatcp list keys`.
//!
//! A link has the keys of `[[path.forward]]`, for both directions, and `rtt`. A key for one
//! direction is `forward.KEY` or `reverse.KEY`. A host has the keys of `[sender]` that concern its
//! TCP, and `congestion_control`. Files, as of `rate_trace`, are relative to the working directory.

use std::fmt;

use gigatcp_path::HopConfig;
use gigatcp_plan::{Diagnostics, Files, Plan, Scenario, keys};
use gigatcp_tcp::TransportConfig;
use gigatcp_units::{Bytes, Duration};

/// Default queue limit of a link with a rate: the larger of one BDP and this number of packets, as
/// in plans.
const MIN_DEFAULT_QUEUE: u64 = 100;

/// MTU that the default queue is computed with.
const ETHERNET_MTU: u64 = 1500;

/// Shortest delay: no instant contains a whole round trip.
const MIN_DELAY: Duration = Duration::from_nanos(1);

/// Error in words for a link or host.
#[derive(Debug)]
pub struct WordsError {
    words: String,
    message: String,
    hint: Option<String>,
}

impl fmt::Display for WordsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.words, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for WordsError {}

impl WordsError {
    /// The same, with the place of a link whose other words are among these.
    pub(crate) fn on(self, link: &str) -> Self {
        let message = format!("{} ({link})", self.message);
        Self { message, ..self }
    }
}

/// Keys and values, later ones in place of earlier ones of the same key.
#[derive(Clone, Default, Debug)]
pub(crate) struct Words(Vec<(String, String)>);

impl Words {
    pub(crate) fn read(text: &str) -> Result<Self, WordsError> {
        let mut words = Self::default();
        for token in text.split_whitespace() {
            match (token.split_once('='), words.0.last_mut()) {
                (Some((key, value)), _) => words.put(key, value),
                (None, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(token);
                }
                (None, None) => {
                    return Err(WordsError {
                        words: text.to_owned(),
                        message: format!("`{token}` is not KEY=VALUE"),
                        hint: Some("as in rate=100Mbit/s rtt=125ms loss=0.1%".into()),
                    });
                }
            }
        }
        Ok(words)
    }

    fn put(&mut self, key: &str, value: &str) {
        self.0.retain(|(known, _)| known != key);
        self.0.push((key.to_owned(), value.to_owned()));
    }

    /// These words, with `others` in place of those that say the same: `rtt` and `delay` replace each
    /// other, and a word for both directions replaces those for one.
    pub(crate) fn merged(&self, others: &Self) -> Self {
        let mut words = self.clone();
        for (key, _) in &others.0 {
            words.0.retain(|(known, _)| !is_said_again(known, key));
        }
        for (key, value) in &others.0 {
            words.put(key, value);
        }
        words
    }

    /// As [`Words::merged`], but without those of `others` that do nothing on a link without a rate,
    /// if this is one. They are checked anyway.
    pub(crate) fn merged_where_possible(&self, others: &Self) -> Result<Self, WordsError> {
        let all = self.merged(others);
        let Err(error) = all.link() else {
            return Ok(all);
        };
        let mut rated = all;
        rated.put("rate", "1Gbit/s");
        if rated.link().is_err() {
            return Err(error);
        }
        let mut fitting = others.clone();
        fitting.0.retain(|(key, _)| {
            let bare = DIRECTIONS
                .iter()
                .find_map(|name| key.strip_prefix(name)?.strip_prefix('.'));
            !NEED_RATE.contains(&bare.unwrap_or(key))
        });
        let merged = self.merged(&fitting);
        merged.link()?;
        Ok(merged)
    }

    /// Words for one direction: 0 is forward.
    pub(crate) fn one_way(mut self, direction: usize) -> Self {
        for (key, _) in &mut self.0 {
            *key = format!("{}.{key}", DIRECTIONS[direction]);
        }
        self
    }

    /// Words with their directions exchanged if `direction` is 1.
    pub(crate) fn seen_from(mut self, direction: usize) -> Self {
        for (key, _) in self.0.iter_mut().filter(|_| direction == 1) {
            let exchanged = match key.split_once('.') {
                Some(("forward", rest)) => format!("reverse.{rest}"),
                Some(("reverse", rest)) => format!("forward.{rest}"),
                _ => continue,
            };
            *key = exchanged;
        }
        self
    }

    fn value(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    fn error(&self, message: impl Into<String>, hint: Option<String>) -> WordsError {
        WordsError {
            words: self.to_string(),
            message: message.into(),
            hint,
        }
    }

    /// The configuration of both directions of a link.
    pub(crate) fn link(&self) -> Result<[HopConfig; 2], WordsError> {
        let mut overrides = Vec::new();
        if let Some(rtt) = self.value("rtt") {
            let rtt: Duration = rtt
                .parse()
                .map_err(|error| self.error(format!("rtt={rtt}: {error}"), None))?;
            let delays = [rtt.saturating_sub(rtt / 2), rtt / 2];
            for (direction, delay) in DIRECTIONS.into_iter().zip(delays) {
                overrides.push(format!("path.{direction}.delay={delay}"));
            }
        }
        // Those for one direction come last: they take precedence.
        let is_single = |key: &str| DIRECTIONS.iter().any(|name| key.starts_with(name));
        for (key, value) in self.0.iter().filter(|(key, _)| !is_single(key)) {
            if key != "rtt" {
                let both = DIRECTIONS.map(|name| format!("path.{name}.{key}={value}"));
                overrides.extend(both);
            }
        }
        for (key, value) in self.0.iter().filter(|(key, _)| is_single(key)) {
            overrides.push(format!("path.{key}={value}"));
        }
        let scenario = self.parse(&overrides)?;
        let rtt = scenario.base_rtt();
        let mut hops = [scenario.forward, scenario.reverse].map(|mut hops| hops.remove(0));
        for (hop, direction) in hops.iter_mut().zip(DIRECTIONS) {
            let has_queue = ["queue".to_owned(), format!("{direction}.queue")]
                .iter()
                .any(|key| self.value(key).is_some());
            if let Some(rate) = hop.nominal_rate().filter(|_| !has_queue) {
                let minimum = Bytes::new(MIN_DEFAULT_QUEUE * ETHERNET_MTU);
                hop.limit_bytes = Some(rate.amount_in(rtt).max(minimum));
            }
            hop.one_way_delay = hop.one_way_delay.max(MIN_DELAY);
            hop.check()
                .map_err(|error| self.error(error.to_string(), None))?;
        }
        Ok(hops)
    }

    /// The TCP of a host, and the backlog of its listeners.
    pub(crate) fn host(&self) -> Result<(TransportConfig, Option<u32>), WordsError> {
        let mut overrides = Vec::new();
        for (key, value) in &self.0 {
            match key.as_str() {
                "congestion_control" | "initial_ssthresh" | "slow_start" | "max_ssthresh" => {
                    overrides.push(format!("flow.{key}={value}"));
                }
                "buffer" => overrides.push(format!("flow.window={value}")),
                _ => overrides.push(format!("sender.{key}={value}")),
            }
        }
        let scenario = self.parse(&overrides)?;
        let table = |key: &str| key.split('.').next().unwrap_or_default().to_owned();
        let is_absent = |(key, _): &&(String, String)| {
            let is_own = HOST_KEYS.contains(&key.as_str());
            !is_own && keys::HOST.find(&table(key)).is_some()
        };
        if let Some((key, _)) = self.0.iter().find(is_absent) {
            let message = format!("`{key}` has no effect: hosts here have no processor or card");
            let hint = "a link can have a rate, a queue and delays".to_owned();
            return Err(self.error(message, Some(hint)));
        }
        let (host, flow) = (&scenario.sender, &scenario.flows[0]);
        let config = TransportConfig {
            initial_ssthresh: flow.initial_ssthresh,
            slow_start: flow.slow_start,
            send_buffer: flow.send_buffer,
            receive_buffer: flow.receive_buffer,
            ..TransportConfig::default()
        };
        let config = config
            .with_profile(host.profile)
            .with_congestion(flow.congestion.of_engine())
            .with_mtu(host.mtu);
        Ok((config, host.backlog))
    }

    fn parse(&self, overrides: &[String]) -> Result<Scenario, WordsError> {
        let parsed =
            gigatcp_plan::parse_with("the words", BASE.as_bytes(), overrides, &WorkingDirectory);
        match parsed {
            Ok(Plan { mut series, .. }) => Ok(series.remove(0).scenario),
            Err(Diagnostics { list, .. }) => {
                let first = &list[0];
                let nearest = first.nearest.as_ref().map(|text| format!("`{text}`?"));
                Err(self.error(first.message.clone(), nearest.or(first.hint.clone())))
            }
        }
    }
}

/// Whether the word `known` says what the later word `key` says again.
fn is_said_again(known: &str, key: &str) -> bool {
    let bare = |word: &str| match word.rsplit('.').next() {
        Some("rtt") => "delay".to_owned(),
        last => last.unwrap_or_default().to_owned(),
    };
    let is_for_both = !key.contains('.');
    bare(known) == bare(key) && (is_for_both || known == key)
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (key, value)) in self.0.iter().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}{key}={value}")?;
        }
        Ok(())
    }
}

/// Keys that do nothing, or are an error, on a link without a rate.
const NEED_RATE: [&str; 4] = ["queue", "mark_above", "ack_filter", "rate_schedule"];

/// Keys of `[sender]` that are not settings of its TCP, and that hosts have.
const HOST_KEYS: [&str; 4] = ["mtu", "profile", "buffer", "backlog"];

/// Files that words name, such as the trace of a link. Cargo runs tests in the directory of their
/// package.
struct WorkingDirectory;

impl Files for WorkingDirectory {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(name).map_err(|error| {
            let place = std::env::current_dir().unwrap_or_default().join(name);
            format!("{}: {error}", place.display())
        })
    }

    fn directory(&self) -> &str {
        "the working directory, for tests that of their package"
    }
}

/// Names of the directions in plans.
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// The plan that words change.
const BASE: &str = "\
name = \"words\"
flow = { duration = \"1 s\" }
[[path.forward]]
name = \"forward\"
[[path.reverse]]
name = \"reverse\"
";

#[cfg(test)]
mod tests {
    use gigatcp_units::Rate;

    use super::*;

    fn link(text: &str) -> [HopConfig; 2] {
        Words::read(text).unwrap().link().unwrap()
    }

    #[test]
    fn words_of_the_guide_are_those_of_plans() {
        let [forward, reverse] = link("rate=100Mbit/s rtt=125ms loss=0.1% queue=1bdp");
        assert_eq!(forward.rate, Some(Rate::from_bps(100_000_000)));
        assert_eq!(
            forward.one_way_delay + reverse.one_way_delay,
            Duration::from_millis(125)
        );
        assert_eq!(forward.limit_bytes, Some(Bytes::new(1_562_500)));
        assert_eq!((forward.loss.len(), reverse.loss.len()), (1, 1));
    }

    #[test]
    fn values_with_spaces_need_no_quotes() {
        let [forward, _] = link("queue=fq_codel, 1000 packets rate=10 Mbit/s");
        assert_eq!(forward.queue.discipline.name, "fq_codel");
        assert_eq!(forward.limit_packets, Some(1000));
    }

    #[test]
    fn one_direction_has_its_own_words() {
        let [forward, reverse] = link("rate=10Mbit/s reverse.rate=1Mbit/s rtt=20ms");
        assert_eq!(forward.rate, Some(Rate::from_bps(10_000_000)));
        assert_eq!(reverse.rate, Some(Rate::from_bps(1_000_000)));
        // The default of plans: one BDP, at least 100 packets.
        assert_eq!(reverse.limit_bytes, Some(Bytes::new(150_000)));
    }

    #[test]
    fn wrong_words_are_answered_as_in_plans() {
        let error = Words::read("lss=1%").unwrap().link().unwrap_err();
        assert!(error.to_string().contains("loss"), "{error}");
        let error = Words::read("rate=fast").unwrap().link().unwrap_err();
        assert!(error.to_string().contains("fast"), "{error}");
        let error = Words::read("rate").unwrap_err();
        assert!(error.to_string().contains("KEY=VALUE"), "{error}");
    }

    #[test]
    fn host_has_a_profile_and_settings() {
        let words = Words::read("profile=freebsd congestion_control=bbr mtu=9000").unwrap();
        let (config, _) = words.host().unwrap();
        assert_eq!(config.congestion.name(), "bbr");
        assert_eq!(config.mtu, 9000);
        assert!(Words::read("profile=linux").unwrap().host().is_err());
    }
}
