//! A diagnosis in figures only: for tables of many connections, where sentences and evidence would
//! cost more than everything else.
//!
//! Its time attribution equals that of a [`crate::Diagnosis`], and so does its primary cause.

use gigatcp_flows::Side;
use gigatcp_units::{Bytes, Duration, Rate};

use crate::CapturePoint;
use crate::account::Scored;
use crate::calibration::leading;
use crate::causes::{CAUSES, Cause};
use crate::facts::Facts;
use crate::measures::{Measures, rate};
use crate::verdict::Diagnosis;

/// The main limit of one direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct DiagnosisSummary {
    /// The side that sent.
    pub sender: Side,
    /// Capture point.
    pub capture_point: CapturePoint,
    /// The connection's time in the capture.
    pub duration: Duration,
    /// Bytes acknowledged.
    pub delivered: Bytes,
    /// Their rate over the duration.
    pub throughput: Rate,
    /// Minimum RTT of the path.
    pub min_rtt: Duration,
    /// The primary cause, if it took more time than is unknown.
    pub primary: Option<PrimaryCause>,
    /// Time whose cause the capture does not show.
    pub unknown: Duration,
}

/// A cause and its attributed time.
#[derive(Clone, Copy, Debug)]
pub struct PrimaryCause {
    /// The cause.
    pub cause: &'static Cause,
    /// Time of the connection that was attributed to it.
    pub time: Duration,
    /// Probability that it is the first one, 0 to 1.
    pub confidence: f64,
}

impl DiagnosisSummary {
    pub(crate) fn of_diagnosis(diagnosis: &Diagnosis) -> Self {
        let first = diagnosis.primary();
        Self {
            sender: diagnosis.sender,
            capture_point: diagnosis.capture_point,
            duration: diagnosis.duration,
            delivered: diagnosis.delivered,
            throughput: diagnosis.throughput,
            min_rtt: diagnosis.min_rtt,
            primary: first.map(|first| PrimaryCause {
                cause: first.cause,
                time: first.time,
                confidence: first.confidence,
            }),
            unknown: diagnosis.unknown,
        }
    }

    pub(crate) fn of(m: &Measures<'_>) -> Self {
        let facts = Facts::of(m);
        let account = Scored::of(&facts).attribute(|_| {});
        let primary = account.most().map(|most| PrimaryCause {
            cause: CAUSES[most],
            time: account.causes[most].time,
            confidence: leading(m, &account, most),
        });
        let delivered = m.rounds.iter().map(|round| round.acked).sum();
        Self {
            sender: m.side,
            capture_point: m.view,
            duration: m.duration,
            delivered: Bytes::new(delivered),
            throughput: rate(m.mean_rate()),
            min_rtt: m.base,
            primary: primary.filter(|most| !most.time.is_zero() && most.time >= account.unknown),
            unknown: account.unknown,
        }
    }

    /// Fraction of time of its primary cause, or of the unknown time.
    #[must_use]
    pub fn share(&self) -> f64 {
        let time = self.primary.map_or(self.unknown, |primary| primary.time);
        time.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }
}
