//! What limited a connection of which one direction was captured, as far as that shows.
//!
//! Rules only, the most certain first. What the other direction would tell apart is named as two causes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_flows::{Connection, Side};
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration, Rate};

use super::{OneDirection, Progress, Wait, Waits};
use crate::CapturePoint;
use crate::account::Span;
use crate::capture_context::shown_bytes;
use crate::causes::{CAUSES, counted, find, place};
use crate::cost::Cost;
use crate::facts::MIN_DATA_PACKETS;
use crate::icmp_errors::IcmpErrors;
use crate::limits::Quantities;
use crate::measures::{Capacity, ratio};
use crate::outcome::Outcome;
use crate::verdict::{Diagnosis, Verdict, percent};

/// Confidence where one direction is enough to tell: 77 of 87 such answers were right, of halves of the
/// captures of two left-out generators.
const SURE: f64 = 0.82;

/// Confidence in the first of two causes that the other direction would tell apart: it was right in 404 of
/// 1,000 answers, one of both in 600.
const OPEN: f64 = 0.4;

/// A connection and what was followed of it.
#[derive(Clone, Copy, Debug)]
struct Seen<'a> {
    one: &'a OneDirection,
    connection: &'a Connection,
    /// Whether these are ACKs, and the data was sent by the other host.
    is_of_acks: bool,
    progress: &'a Progress,
    waits: &'a Waits,
}

/// The first cause, and the one that it is not told from.
struct Found {
    cause: &'static str,
    other: Option<&'static str>,
    time: Duration,
    finding: String,
}

impl Found {
    fn sure(cause: &'static str, time: Duration, finding: String) -> Self {
        let other = None;
        Self {
            cause,
            other,
            time,
            finding,
        }
    }

    fn open(causes: [&'static str; 2], time: Duration, finding: String) -> Self {
        let [cause, other] = causes;
        let other = Some(other);
        Self {
            cause,
            other,
            time,
            finding,
        }
    }
}

impl<'a> Seen<'a> {
    fn of(one: &'a OneDirection, connection: &'a Connection, is_of_acks: bool) -> Self {
        let (progress, waits) = if is_of_acks {
            (&one.acked, &one.acked_waits)
        } else {
            (&one.sent, &one.sent_waits)
        };
        Self {
            one,
            connection,
            is_of_acks,
            progress,
            waits,
        }
    }

    /// Whether data waited on its way here for most of the time: 5 ms, and a quarter of the RTT.
    fn is_queued(&self) -> bool {
        let trip = self.one.trip.unwrap_or_default();
        let least = (trip / 4).max(Duration::from_millis(5));
        self.progress.queue() >= Some(least)
    }

    /// Whether data came nearly all the time.
    fn is_busy(&self) -> bool {
        let progress = self.progress;
        progress.busy() * 10 >= progress.elapsed() * 9
    }

    fn is_even(&self) -> bool {
        /// Fraction of the time at one rate.
        const EVEN: f64 = 0.6;
        self.progress.evenness() >= EVEN
    }

    /// Whether the rate stayed the same, over RTTs.
    fn is_steady(&self) -> bool {
        /// Fraction of the intervals.
        const STEADY: f64 = 0.7;
        self.progress.steadiness(self.one.trip.unwrap_or_default()) >= STEADY
    }

    /// Nothing limited what came within a second, without losses, before a longer silence. ACKs alone do
    /// not tell that from an outage.
    fn outcome(&self) -> Outcome {
        const SECOND: Duration = Duration::from_secs(1);
        let (took, is_of_acks) = (self.progress.elapsed(), self.is_of_acks);
        let end = self.progress.last().unwrap_or(self.one.last);
        let idle = self.one.last.saturating_since(end);
        let is_brief = idle >= SECOND.max(took) && took < SECOND && self.losses_seen() == 0;
        if is_brief && !is_of_acks && took > Duration::ZERO {
            Outcome::Idle { took, idle }
        } else {
            Outcome::OneDirection { is_of_acks }
        }
    }

    fn found(&self) -> Option<Found> {
        let progress = self.progress;
        if progress.count() < MIN_DATA_PACKETS || progress.elapsed().is_zero() {
            return None;
        }
        self.pauses()
            .or_else(|| self.marks())
            .or_else(|| self.losses())
            .or_else(|| self.window())
            .or_else(|| Some(self.steady()))
    }

    /// Time in which no data came.
    fn pauses(&self) -> Option<Found> {
        let elapsed = self.progress.elapsed();
        let of = |wait| self.waits.of(wait);
        let is_most = |time: Duration| time * 2 >= elapsed;
        let closed = self.one.closed();
        if self.is_of_acks && closed * 10 >= elapsed {
            let finding = format!("The window was closed for {}.", human_duration(closed));
            return Some(if is_most(closed) {
                Found::sure("slow-reader", closed, finding)
            } else {
                Found::open(["slow-reader", "receive-window-limited"], elapsed, finding)
            });
        }
        let recovery = of(Wait::Recovery);
        if is_most(recovery) {
            let finding = format!(
                "{} passed in silences that retransmissions ended.",
                human_duration(recovery)
            );
            return Some(Found::open(["outage", "rto-backoff"], recovery, finding));
        }
        if is_most(of(Wait::Peer) + of(Wait::Own)) && !self.one.is_in_both_directions() {
            return Some(self.turns());
        }
        let is_timed = self.one.echoes.is_timed() && self.progress.is_timed();
        let late = of(Wait::Application);
        (is_timed && is_most(late)).then(|| {
            let finding = format!(
                "Data was sent later than the latest ACK allowed, by {} in all.",
                human_duration(late)
            );
            // ACKs that wait on their way make it late as well.
            let is_one = self.one.longest_late * 2 >= late;
            let other = if is_one { "outage" } else { "ack-path" };
            Found::open(["application-limited", other], late, finding)
        })
    }

    /// Two hosts that take turns.
    fn turns(&self) -> Found {
        let of = |wait| self.waits.of(wait);
        let (peer, own) = (of(Wait::Peer), of(Wait::Own));
        let is_peer = peer >= own;
        let time = if is_peer { peer } else { own };
        let thinks = if is_peer {
            self.one.side.other()
        } else {
            self.one.side
        };
        let whose = if is_peer {
            "the other host's"
        } else {
            "this host's"
        };
        let finding = format!(
            "{} of {} were {whose} turns.",
            human_duration(time),
            human_duration(self.progress.elapsed())
        );
        let cause = match thinks {
            Side::Client => "client-think-time",
            Side::Server => "server-think-time",
        };
        let other = if is_peer {
            "request-response-rtt"
        } else {
            "application-limited"
        };
        Found::open([cause, other], time, finding)
    }

    fn marks(&self) -> Option<Found> {
        let one = self.one;
        let marks = if self.is_of_acks {
            one.marked
        } else {
            one.reduced
        };
        let is_marked = marks >= 3 && self.losses_seen() == 0;
        is_marked.then(|| {
            let what = if self.is_of_acks { "ACK" } else { "segment" };
            let finding = format!("{} reported congestion marks.", counted(marks, what));
            let causes = ["ecn-marks", "path-saturated"];
            Found::open(causes, self.progress.elapsed(), finding)
        })
    }

    /// Losses that retransmissions or SACK report; without SACK, duplicate ACKs.
    fn losses_seen(&self) -> u64 {
        let one = self.one;
        match (self.is_of_acks, one.holes) {
            (true, 0) => one.duplicates / 3,
            (true, holes) => holes,
            (false, _) => one.repeated,
        }
    }

    /// Losses, told apart by the queue before them.
    fn losses(&self) -> Option<Found> {
        let lost = self.losses_seen();
        let count = self.progress.count();
        if lost < 3 || lost * 2_000 < count {
            return None;
        }
        let what = if self.is_of_acks {
            "hole"
        } else {
            "retransmission"
        };
        let lost_of = format!("{} in {}", counted(lost, what), counted(count, "segment"));
        let (time, busy) = (self.progress.elapsed(), self.progress.busy());
        let is_constant = self.is_even() || self.is_steady();
        let late = self.one.disproved;
        Some(match (self.is_queued(), is_constant) {
            (true, true) if !self.is_of_acks && self.is_busy() => {
                let finding = format!("{lost_of}, behind a standing queue at a constant rate.");
                Found::sure("path-saturated", busy, finding)
            }
            (true, _) => {
                let finding = format!("{lost_of}, behind a standing queue.");
                Found::open(["path-saturated", "queue-overflow"], time, finding)
            }
            (false, true) => {
                let finding = format!("{lost_of}, at a constant rate.");
                Found::open(["path-saturated", "policer"], time, finding)
            }
            (false, false) if late * 2 >= lost => {
                let finding = format!("{lost_of}, and {late} of them arrived late.");
                let causes = ["reordering-mistaken-for-loss", "random-loss"];
                Found::open(causes, time, finding)
            }
            (false, false) => {
                let finding = format!("{lost_of}, without a queue that shows here.");
                Found::open(["random-loss", "queue-overflow"], time, finding)
            }
        })
    }

    /// A window that the rate fills in the RTT of the handshake.
    fn window(&self) -> Option<Found> {
        /// Windows below this were not kept small by missing scaling.
        const HALF: u64 = 32_768;
        let (one, progress) = (self.one, self.progress);
        let scale = self.connection.direction(one.side).options()?.window_scale;
        let window = u64::from(one.window) << scale.unwrap_or(0);
        let trip = one.trip? + progress.queue().unwrap_or_default();
        let rate = ratio(progress.bytes() as f64, progress.elapsed().as_secs_f64());
        let flight = rate * trip.as_secs_f64();
        let is_full = (0.7..1.3).contains(&ratio(flight, window as f64));
        let cause = if scale.is_none() && window >= HALF {
            "no-window-scaling"
        } else {
            "receive-window-limited"
        };
        (self.is_of_acks && is_full).then(|| {
            let finding = format!(
                "{} in an RTT of {} fill the window of {}.",
                human_bytes(Bytes::new(flight as u64)),
                human_duration(trip),
                human_bytes(Bytes::new(window))
            );
            Found::sure(cause, progress.elapsed(), finding)
        })
    }

    /// Data that came without losses and without pauses.
    fn steady(&self) -> Found {
        let progress = self.progress;
        let (time, share) = (progress.elapsed(), percent(progress.evenness()));
        let queue = progress.queue().map(human_duration).unwrap_or_default();
        let evenly = format!("data came at one rate for {share} of the time");
        let waited = format!("data waited {queue} above the minimum");
        match (self.is_queued(), self.is_even()) {
            (true, true) => {
                let finding = format!("{evenly}, and {waited}.");
                if self.is_of_acks || !self.is_busy() {
                    Found::open(["path-saturated", "cross-traffic"], time, finding)
                } else {
                    Found::sure("path-saturated", progress.busy(), finding)
                }
            }
            (true, false) => Found::open(
                ["cross-traffic", "path-saturated"],
                time,
                format!("{waited}."),
            ),
            (false, true) => Found::open(
                ["path-saturated", "pacing-limited"],
                time,
                format!("{evenly}."),
            ),
            (false, false) if self.is_steady() => {
                let finding = "data came in bursts at a steady rate, without losses.".into();
                let causes = ["receive-window-limited", "send-buffer-limited"];
                Found::open(causes, time, finding)
            }
            (false, false) => {
                let finding = "data came at a varying rate, without losses.".into();
                let causes = ["application-limited", "cwnd-growth-limited"];
                Found::open(causes, time, finding)
            }
        }
    }
}

/// Diagnosis of a connection of which one direction was captured. `None` if it carried no data.
pub(crate) fn diagnosis(
    one: &OneDirection,
    connection: &Connection,
    icmp_errors: Vec<IcmpErrors>,
) -> Option<Diagnosis> {
    let [own, peers] = [one.side, one.side.other()].map(|side| shown_bytes(connection, side));
    let (bytes, is_of_acks) = (own.max(peers), peers > own);
    if bytes == 0 {
        return None;
    }
    let seen = Seen::of(one, connection, is_of_acks);
    let duration = one.last.saturating_since(one.first);
    let is_most = |found: &Found| found.time * 2 >= duration;
    let found = seen.found().filter(is_most);
    let alternative = found.as_ref().and_then(|found| find(found.other?));
    let verdict = found.and_then(|found| verdict(found, duration));
    let time = verdict.as_ref().map_or(Duration::ZERO, |first| first.time);
    let unknown = duration.saturating_sub(time);
    let cause = verdict.as_ref().and_then(|first| place(first.cause.id));
    let span = |start, length, cause| Span {
        start,
        length,
        cause,
    };
    let spans = [
        span(one.first, time, cause),
        span(one.first + time, unknown, None),
    ];
    let throughput = ratio(bytes as f64 * 8.0, duration.as_secs_f64());
    Some(Diagnosis {
        sender: if is_of_acks {
            one.side.other()
        } else {
            one.side
        },
        capture_point: CapturePoint::Unknown,
        start: one.first,
        duration,
        delivered: Bytes::new(bytes),
        throughput: Rate::from_bps(throughput as u64),
        capacity: Capacity {
            bytes_per_second: throughput / 8.0,
            ..Capacity::default()
        },
        bottleneck: None,
        min_rtt: one.trip.unwrap_or_default(),
        outcome: seen.outcome(),
        verdicts: verdict.into_iter().collect(),
        alternative,
        next: None,
        limits: Vec::new(),
        quantities: Quantities::default(),
        unknown,
        spans: spans
            .into_iter()
            .filter(|span| !span.length.is_zero())
            .collect(),
        cut: None,
        chain: Vec::new(),
        icmp_errors,
        is_restarted: false,
        shared: None,
        against: None,
        lookup: None,
        joined: None,
    })
}

fn verdict(found: Found, duration: Duration) -> Option<Verdict> {
    let cause = CAUSES[place(found.cause)?];
    let time = found.time.min(duration);
    let confidence = if found.other.is_some() { OPEN } else { SURE };
    Some(Verdict {
        cause,
        subject: cause.name.into(),
        evidence: Vec::new(),
        finding: capitalized(&found.finding),
        fix: cause.fix.into(),
        confidence,
        probability: confidence,
        is_note: false,
        time,
        share: ratio(time.as_secs_f64(), duration.as_secs_f64()),
        cost: Cost {
            rate: Rate::ZERO,
            at_least: true,
        },
    })
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
