//! Tests with the peer: stored, and compared with later ones.

use std::fs;
use std::path::Path;

use gigatcp_report::prose::wrap_hanging;
use gigatcp_run::whatif::Transfer;
use gigatcp_run::whatif::model::Estimate;
use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_units::{Duration, Rate};
use serde::{Deserialize, Serialize};

use crate::atomic_file::AtomicFile;
use crate::failure::Failure;

/// The schema of stored tests.
const SCHEMA: &str = "gigatcp.doctor-test/3";

/// Result of a test in one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// Whether this host sent.
    pub(super) is_sending: bool,
    /// Rate of payload without slow start, if it settled; else of the whole test.
    pub(super) rate_bps: u64,
    /// Rate of payload of the whole test, slow start included.
    pub(super) goodput_bps: u64,
    /// Duration of the test.
    pub(super) duration_ns: u64,
    /// Minimum RTT, if an end measured it.
    pub(super) min_rtt_ns: Option<u64>,
    /// The limit, if it was measured.
    pub(super) answer: Option<TestAnswer>,
}

/// A test, and what predictions follow from.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// The result.
    pub(super) test: Test,
    /// Its connection; `None` if neither packets nor counters show one.
    pub(super) transfer: Option<Transfer>,
    /// Payload rate that the path carries, by packet trains.
    pub(super) capacity: Option<Estimate>,
    /// The same of a train within the burst of a token bucket, in bit/s.
    pub(super) within_burst: Option<f64>,
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

    /// `send 30.4 Mbit/s, minimum RTT 40.0 ms: Limited by ...`.
    pub(super) fn line(&self) -> String {
        let rtt = self
            .min_rtt_ns
            .map(Duration::from_nanos)
            .map(|rtt| format!(", minimum RTT {}", human_duration(rtt)));
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
    use super::*;

    fn sent(mbps: u64) -> Test {
        Test {
            is_sending: true,
            rate_bps: mbps * 1_000_000,
            goodput_bps: mbps * 1_000_000,
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
