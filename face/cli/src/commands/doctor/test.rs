//! Tests with the peer: compares their rates with the calculated ceilings, and stores them.

use std::fs;
use std::path::Path;

use gigatcp_doctor::{CostedFinding, Direction, Report};
use gigatcp_report::prose::wrap_hanging;
use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

use crate::atomic_file::AtomicFile;
use crate::failure::Failure;

/// The schema of stored tests.
const SCHEMA: &str = "gigatcp.doctor-test/2";

/// Maximum difference between a rate and a ceiling that agree, as a share of the ceiling.
const AGREES: f64 = 0.2;

/// Result of a test in one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// Whether this host sent.
    pub(super) is_sending: bool,
    /// Rate of payload without slow start, if it settled; else of the whole test.
    pub(super) rate_bps: u64,
    /// Duration of the test.
    pub(super) duration_ns: u64,
    /// Minimum RTT, if an end measured it.
    pub(super) min_rtt_ns: Option<u64>,
    /// The limit, if it was measured.
    pub(super) answer: Option<TestAnswer>,
}

/// Limit of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TestAnswer {
    /// Id of the cause (`gigatcp explain ID`); null if the sentence names none.
    pub(super) cause: Option<String>,
    /// The sentence of `gigatcp why`.
    pub(super) sentence: String,
}

/// Tests in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    destination: String,
    tests: Vec<Test>,
}

impl Test {
    fn name(&self) -> &'static str {
        if self.is_sending { "send" } else { "receive" }
    }

    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate_bps)
    }

    /// Whether the test applies to a finding of this direction.
    fn is_about(&self, direction: Direction) -> bool {
        let of_test = match self.is_sending {
            true => Direction::Send,
            false => Direction::Receive,
        };
        direction.overlaps(of_test)
    }

    /// `send 30.4 Mbit/s, minimum RTT 40.0 ms: Limited by ...`.
    pub(super) fn line(&self) -> String {
        let rtt = self.min_rtt_ns.map(Duration::from_nanos);
        let rtt = rtt.map(|rtt| format!(", minimum RTT {}", human_duration(rtt)));
        format!(
            "{} {}{}{}",
            self.name(),
            human_rate(self.rate()),
            rtt.unwrap_or_default(),
            self.sentence()
        )
    }

    /// The answer after a colon; empty if there is none.
    fn sentence(&self) -> String {
        let answer = self.answer.as_ref();
        answer.map_or_else(String::new, |answer| format!(": {}", answer.sentence))
    }
}

/// The minimum RTT that tests measured.
pub(super) fn min_rtt(tests: &[Test]) -> Option<Duration> {
    let all = tests.iter().filter_map(|test| test.min_rtt_ns);
    all.min().map(Duration::from_nanos)
}

/// Compares the rates of the tests with the ceiling of a finding, in words.
pub(super) fn shown(found: &CostedFinding, tests: &[Test]) -> Option<String> {
    let about = tests
        .iter()
        .filter(|test| test.is_about(found.finding.direction));
    let words: Vec<String> = about.map(|test| against_ceiling(test, found)).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn against_ceiling(test: &Test, found: &CostedFinding) -> String {
    let (name, rate) = (test.name(), human_rate(test.rate()));
    let Some(ceiling) = found.finding.ceiling else {
        return format!("{name} {rate}; no ceiling is calculated");
    };
    let share = test.rate_bps as f64 / ceiling.as_bps().max(1) as f64;
    let meaning = if share > 1.0 + AGREES {
        "above this ceiling, so it did not limit this test"
    } else if share < 1.0 - AGREES {
        "below this ceiling: something else limits more"
    } else {
        "it agrees"
    };
    let percent = 100.0 * share;
    let ceiling = human_rate(ceiling);
    format!("{name} {rate}, {percent:.0} % of the calculated {ceiling}: {meaning}")
}

/// Returns the limits that the tests found, if the settings are not what limited them; else empty.
/// They come before what the settings allow.
pub(super) fn headline(report: &Report, tests: &[Test]) -> String {
    let certain = || report.findings.iter().filter(|found| found.is_certain());
    let is_setting = |test: &Test| {
        let mut ceilings = certain()
            .filter(|found| test.is_about(found.finding.direction))
            .filter_map(|found| found.finding.ceiling);
        ceilings.any(|ceiling| {
            let share = test.rate_bps as f64 / ceiling.as_bps().max(1) as f64;
            (1.0 - AGREES..=1.0 + AGREES).contains(&share)
        })
    };
    let mut text = String::new();
    for test in tests.iter().filter(|test| !is_setting(test)) {
        let found = match &test.answer {
            Some(answer) => answer.sentence.clone(),
            None => "What limited it was not measured.".into(),
        };
        let words = format!(
            "Tested: {} {}. {found}",
            test.name(),
            human_rate(test.rate())
        );
        text.push_str(&wrap_hanging(&words, 0, 2));
    }
    if !text.is_empty() && certain().next().is_some() {
        text.push_str(&wrap_hanging(
            "The settings below did not limit this test; they are calculated for the path:",
            0,
            2,
        ));
    }
    text
}

/// Returns a line for each test, then one for each finding that always limits. The latter compares
/// its ceiling with the tests.
pub(super) fn text(tests: &[Test], report: &Report) -> String {
    let mut text = String::from("Test\n");
    for test in tests {
        text.push_str(&wrap_hanging(&test.line(), 2, 4));
    }
    for found in report.findings.iter().filter(|found| found.is_certain()) {
        if let Some(words) = shown(found, tests) {
            text.push_str(&wrap_hanging(&format!("{}: {words}", found.rule.id), 2, 4));
        }
    }
    text
}

/// Returns a line per direction: tests before and after a change.
pub(super) fn change(before: &[Test], after: &[Test]) -> String {
    let mut text = String::from("Before and after\n");
    for new in after {
        let Some(old) = before.iter().find(|old| old.is_sending == new.is_sending) else {
            text.push_str(&format!("  {}: not tested before\n", new.line()));
            continue;
        };
        let percent = 100.0 * (new.rate_bps as f64 / old.rate_bps.max(1) as f64 - 1.0);
        text.push_str(&format!(
            "  {} {} -> {} ({percent:+.0} %)\n",
            new.name(),
            human_rate(old.rate()),
            human_rate(new.rate()),
        ));
        for (when, test) in [("before", old), ("after", new)] {
            text.push_str(&wrap_hanging(&format!("{when}{}", test.sentence()), 4, 6));
        }
    }
    text
}

/// Reads tests that [`write()`] stored.
pub(super) fn read(file: &Path) -> Result<Vec<Test>, Failure> {
    let name = file.display();
    let refused = |failure: Failure| {
        failure
            .effect("nothing was tested")
            .hint("`gigatcp doctor HOST --verify --save-test FILE` writes one")
    };
    let text = fs::read(file)
        .map_err(|error| refused(Failure::io(&format!("read tests from {name}"), &error)))?;
    let stored: Stored = serde_json::from_slice(&text).map_err(|error| {
        refused(Failure::new(format!(
            "{name} is not a file of tests: {error}"
        )))
    })?;
    if stored.schema != SCHEMA {
        let read = &stored.schema;
        let words = format!("{name} has the schema `{read}`, not `{SCHEMA}`");
        return Err(refused(Failure::new(words)));
    }
    Ok(stored.tests)
}

/// Stores tests with a host.
pub(super) fn write(file: &Path, destination: &str, tests: &[Test]) -> Result<(), Failure> {
    let stored = Stored {
        schema: SCHEMA.into(),
        destination: destination.into(),
        tests: tests.to_vec(),
    };
    let text = serde_json::to_string_pretty(&stored)
        .map_err(|error| Failure::fault(format!("tests cannot be stored: {error}")))?;
    AtomicFile::write(file, (text + "\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use gigatcp_doctor::{HostFacts, Path as Route, examine};
    use gigatcp_units::Bytes;

    use super::*;

    fn sent(mbps: u64) -> Test {
        Test {
            is_sending: true,
            rate_bps: mbps * 1_000_000,
            duration_ns: 5_000_000_000,
            min_rtt_ns: Some(40_000_000),
            answer: Some(TestAnswer {
                cause: Some("receive-window-limited".into()),
                sentence: "Limited by the receive window (160 kB) for 97 % of the transfer \
                           (confidence 0.94)."
                    .into(),
            }),
        }
    }

    /// 65535 bytes over 40 ms: 13.1 Mbit/s.
    fn without_scaling() -> Report {
        let mut facts = HostFacts::default();
        let name = "net.ipv4.tcp_window_scaling";
        facts.sysctls.insert(name.into(), "0".into());
        let path = Route {
            rtt: Duration::from_millis(40),
            rate: Rate::from_bps(94_000_000),
            loss: None,
            direction: Direction::Send,
            mss: Bytes::new(1448),
        };
        examine(&facts, &path)
    }

    #[test]
    fn a_test_at_below_and_above_a_ceiling_is_told_apart() {
        let report = without_scaling();
        let words = |mbps| shown(&report.findings[0], &[sent(mbps)]).unwrap_or_default();
        assert!(words(13).ends_with("it agrees"), "{}", words(13));
        assert!(words(5).contains("something else limits more"));
        assert!(words(40).contains("did not limit this test"));
    }

    #[test]
    fn a_test_in_the_other_direction_shows_nothing_of_a_finding() {
        let mut report = without_scaling();
        report.findings[0].finding.direction = Direction::Receive;
        assert_eq!(shown(&report.findings[0], &[sent(13)]), None);
    }

    #[test]
    fn before_and_after_are_compared_by_direction() {
        let other = Test {
            is_sending: false,
            ..sent(50)
        };
        let text = change(&[sent(20)], &[sent(30), other]);
        assert!(
            text.contains("send 20.0 Mbit/s -> 30.0 Mbit/s (+50 %)"),
            "{text}"
        );
        assert!(text.contains("not tested before"), "{text}");
    }
}
