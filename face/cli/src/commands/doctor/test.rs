//! Tests with the peer.

use gigatcp_run::whatif::Transfer;
use gigatcp_run::whatif::model::Estimate;
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
