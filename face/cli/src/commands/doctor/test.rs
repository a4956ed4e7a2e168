//! Tests with the peer.

use gigatcp_units::Duration;
use serde::Serialize;

/// Result of a test in one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
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

/// Limit of a test.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct TestAnswer {
    /// Id of the cause (`gigatcp explain ID`); null if the sentence names none.
    pub(super) cause: Option<String>,
    /// The sentence of `gigatcp why`.
    pub(super) sentence: String,
}

/// The minimum RTT that tests measured.
pub(super) fn min_rtt(tests: &[Test]) -> Option<Duration> {
    let all = tests.iter().filter_map(|test| test.min_rtt_ns);
    all.min().map(Duration::from_nanos)
}
