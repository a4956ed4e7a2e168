//! Attributes the slices of an account to causes, and converts the result to a [`Diagnosis`].
//!
//! Every wait of every slice goes to its most probable cause, or to "unknown". The times add up to
//! the time between the first reading and the last one.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_flows::Side;
use gigatcp_theory::send_buffer::send_window;
use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::account::{CounterAccount, End};
use super::causes::COUNTER_CAUSES;
use super::conditions::open;
use super::explain::Context;
use super::features::{Features, Measures};
use super::score::{Basis, confidence, is_shown, probabilities};
use super::slice::{Slice, WAITS, Wait};
use crate::account::{DECIDED, MIN_PROBABILITY, Span, most};
use crate::calibration::as_found;
use crate::capture_point::CapturePoint;
use crate::causes::{CAUSES, Cause, Evidence, find, place, subject};
use crate::cost::Cost;
use crate::facts::takes_slow_start;
use crate::limits::{Limit, Quantities};
use crate::measures::{Capacity, CapacitySource, rate};
use crate::next_limit::NextLimit;
use crate::outcome::Outcome;
use crate::verdict::{Diagnosis, Verdict};

/// Causes that Little's law shows without the kernel's counters.
const HELD: [&str; 2] = ["receive-window-limited", "send-buffer-limited"];

/// Causes that intervals without data show without them.
const STALLED: [&str; 2] = ["outage", "pmtu-black-hole"];

/// Minimum probability of a cause for a wait of a report to be attributed to it: a report leaves several
/// causes open, and the two most probable ones are named as unsure.
const MIN_OF_REPORT: f64 = 0.2;

/// Minimum of the bytes unread, over the largest window, of a receiver whose sender is not read.
const BEHIND: f64 = 0.3;

/// A path that is full, and one that is full of other traffic.
const FULL_PATH: &str = "path-saturated";
const SHARED_PATH: &str = "cross-traffic";

/// Minimum fraction of a path's measured rate that the streams of a test leave if other traffic has it:
/// trains and slow start of other streams are less wrong.
const UNUSED: f64 = 0.2;

/// Time attributed to an entry.
#[derive(Clone, Default)]
struct Attributed {
    time: Duration,
    /// Probability times seconds.
    weight: f64,
    /// Seconds in which all its conditions hold.
    shown: f64,
    /// Bytes delivered in that time.
    bytes: f64,
    /// The slices with a part of it, merged.
    slices: Slice,
    /// The slice with most of it, and its part.
    largest: (usize, Duration),
    /// The wait in which it took most of that slice.
    wait: Option<Wait>,
}

/// Sums of the attributed slices.
struct Account {
    entries: Vec<Attributed>,
    unknown: Duration,
    /// Seconds of each entry, weighted by probability.
    expected: Vec<f64>,
    spans: Vec<Span>,
}

impl Account {
    fn of(account: &CounterAccount, m: &Measures, features: &[Features]) -> Self {
        let mut sum = Self {
            entries: vec![Attributed::default(); COUNTER_CAUSES.len()],
            unknown: Duration::ZERO,
            expected: vec![0.0; COUNTER_CAUSES.len()],
            spans: Vec::new(),
        };
        let min = if account.is_coarse() {
            MIN_OF_REPORT
        } else {
            MIN_PROBABILITY
        };
        for (index, slice) in account.slices.iter().enumerate() {
            let mut at = slice.start;
            for wait in Wait::ALL {
                let time = slice.waits[wait as usize];
                if !time.is_zero() {
                    // cwnd grows in the first interval of several.
                    let has_grown = index > 0 || account.is_total;
                    // What waits all the time waits for its reader, not for the sender.
                    let is_behind = account.unread(slice) >= Some(BEHIND);
                    let decided = match wait {
                        Wait::Rest if m.is_full_path && has_grown => Some(FULL_PATH),
                        Wait::Receiving if is_behind => Some("slow-reader"),
                        _ => None,
                    };
                    let is_decided = decided.is_some();
                    let probabilities =
                        decided.map_or_else(|| smoothed(account, features, index, wait), only);
                    sum.attribute(
                        (index, slice, &features[index], is_decided),
                        (wait, at, time),
                        (&probabilities, min),
                    );
                    at += time;
                }
            }
        }
        sum
    }

    fn attribute(
        &mut self,
        (index, slice, features, is_decided): (usize, &Slice, &Features, bool),
        (wait, start, length): (Wait, Instant, Duration),
        (all, min): (&[f64], f64),
    ) {
        let seconds = length.as_secs_f64();
        for (sum, probability) in self.expected.iter_mut().zip(all) {
            *sum += probability * seconds;
        }
        let best = most(all).filter(|(_, probability)| *probability >= min);
        let cause = best.and_then(|(entry, _)| place(COUNTER_CAUSES[entry].id));
        match self.spans.last_mut() {
            Some(last) if last.cause == cause => last.length += length,
            _ => self.spans.push(Span {
                start,
                length,
                cause,
            }),
        }
        let Some((entry, probability)) = best else {
            self.unknown += length;
            return;
        };
        let to = &mut self.entries[entry];
        to.time += length;
        to.weight += probability * seconds;
        if is_decided || is_shown(entry, features, wait) {
            to.shown += seconds;
        }
        if !matches!(wait, Wait::Idle | Wait::Stalled) {
            to.bytes += slice.acked as f64 * seconds / slice.delivering().as_secs_f64().max(1e-9);
        }
        to.slices.merge(slice);
        if length > to.largest.1 {
            to.largest = (index, length);
            to.wait = Some(wait);
        }
    }

    fn primary(&self) -> Option<usize> {
        let times = self.entries.iter().map(|entry| entry.time);
        let all = times.fold(self.unknown, |sum, time| sum + time);
        // A pause leads from a part of the time on, as of packets.
        let leads = |entry: &usize| {
            let cause = COUNTER_CAUSES[*entry].cause();
            let share = self.entries[*entry].time.as_secs_f64() / all.as_secs_f64().max(1e-9);
            cause.is_pause && cause.leads_from.is_some_and(|from| share >= from)
        };
        let entries = 0..COUNTER_CAUSES.len();
        let first = entries
            .clone()
            .find(leads)
            .or_else(|| entries.max_by_key(|entry| self.entries[*entry].time))?;
        (!self.entries[first].time.is_zero()).then_some(first)
    }
}

/// Probabilities where facts decide.
fn only(id: &str) -> Vec<f64> {
    let entries = COUNTER_CAUSES.iter();
    entries
        .map(|entry| if entry.id == id { DECIDED } else { 0.0 })
        .collect()
}

/// Probabilities of a wait, smoothed over neighboring slices. The same wait of the previous and
/// next slice is included: single slices are noisy, and a limit seldom changes from one to the
/// next.
fn smoothed(account: &CounterAccount, features: &[Features], index: usize, wait: Wait) -> Vec<f64> {
    let mut mean = vec![0.0; COUNTER_CAUSES.len()];
    let mut total = 0.0;
    let from = index.saturating_sub(1);
    let near = features.iter().enumerate().skip(from);
    for (other, features) in near.take(index + 2 - from) {
        let weight = account.slices[other].waits[wait as usize].as_secs_f64();
        let weight = if other == index { 2.0 * weight } else { weight };
        if weight > 0.0 {
            total += weight;
            for (sum, one) in mean.iter_mut().zip(probabilities(features, wait)) {
                *sum += weight * one;
            }
        }
    }

    mean.iter_mut()
        .for_each(|probability| *probability /= f64::max(total, 1e-12));
    debug_assert!(
        mean.iter().sum::<f64>() <= 1.0 + 1e-9,
        "probabilities of all entries are at most 1 together: {mean:?}"
    );
    mean
}

/// Spans with the name of a full path that is shared.
fn spans(mut spans: Vec<Span>, is_shared: bool) -> Vec<Span> {
    let [full, shared] = [FULL_PATH, SHARED_PATH].map(place);
    for span in &mut spans {
        if is_shared && span.cause == full {
            span.cause = shared;
        }
    }
    spans
}

/// A slice as the score sees it, to fit the weights.
#[derive(Clone, Debug)]
pub struct ScoredSlice {
    /// Its features.
    pub features: Features,
    /// Seconds in each [`Wait`], in their order.
    pub waits: [f64; WAITS],
}

impl CounterAccount {
    /// Slices as the score sees them.
    #[must_use]
    pub fn scored_slices(&self) -> Vec<ScoredSlice> {
        let m = Measures::of(self);
        let slices = self.slices.iter().enumerate();
        slices
            .map(|(index, slice)| ScoredSlice {
                features: m.features(self, index),
                waits: slice.waits.map(Duration::as_secs_f64),
            })
            .collect()
    }

    /// Current limit: the most probable cause of the last slice, and its probability. `None` before
    /// two readings, or if nothing is probable.
    #[must_use]
    pub fn now(&self) -> Option<(&'static Cause, f64)> {
        let last = self.slices.len().checked_sub(1)?;
        let features = Measures::of(self).features(self, last);
        let slice = &self.slices[last];
        let wait = Wait::ALL
            .into_iter()
            .max_by_key(|wait| slice.waits[*wait as usize])?;
        let all = probabilities(&features, wait);
        let best = all.into_iter().enumerate();
        let (entry, probability) = best.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let cause = COUNTER_CAUSES[entry].cause();
        (probability >= MIN_PROBABILITY).then_some((cause, probability))
    }

    /// Diagnoses the connection from the first reading to the last. `None` before two readings of
    /// the sender, or of the receiver if there are none of the sender.
    #[must_use]
    pub fn diagnose(&self) -> Option<Diagnosis> {
        let start = self.slices.first()?.start;
        let m = Measures::of(self);
        let slices = 0..self.slices.len();
        let features: Vec<Features> = slices.map(|index| m.features(self, index)).collect();
        let sum = Account::of(self, &m, &features);
        let is_shared = self.is_path_shared(&sum);
        let lengths = self.slices.iter().map(|slice| slice.length);
        let duration = lengths.fold(Duration::ZERO, |sum, length| sum + length);
        let throughput = rate(m.delivered as f64 / m.time.max(1e-9));
        let capacity = self.capacity(&m, &sum);
        let next = self.next_limit(&m, &sum);
        let allowed = next.map_or(f64::MAX, |next| next.rate.as_bps() as f64 / 8.0);
        let target = allowed.min(capacity.bytes_per_second);
        let mut verdicts: Vec<Verdict> = (0..COUNTER_CAUSES.len())
            .filter(|entry| !sum.entries[*entry].time.is_zero())
            .filter_map(|entry| {
                let rates = (&capacity, target);
                let verdict = self.verdict(&m, &sum.entries[entry], (entry, &features), rates)?;
                let is_full_path = verdict.cause.id == FULL_PATH;
                let total = self.path_total.filter(|_| is_full_path && is_shared);
                Some(match total {
                    Some(total) => self.of_shared_path(verdict, &sum.entries[entry], total),
                    None => verdict,
                })
            })
            .collect();
        verdicts.sort_by_key(|verdict| core::cmp::Reverse(verdict.time));
        let first = verdicts.first().map(|verdict| verdict.cause.id);
        let others = sum.expected.iter().enumerate();
        // Several entries may be of one cause.
        let named = |entry: usize| match COUNTER_CAUSES[entry].id {
            FULL_PATH if is_shared => SHARED_PATH,
            id => id,
        };
        let others = others.filter(|(entry, time)| Some(named(*entry)) != first && **time > 0.0);
        let second = others.max_by(|(_, a), (_, b)| a.total_cmp(b));
        // The longest cause may be another than the one that leads.
        let next = next.filter(|next| {
            verdicts.first().is_none_or(|first| {
                let is_window = first.cause.is_window && next.cause.is_window;
                first.cause.id != next.cause.id && !is_window
            })
        });
        let diagnosis = Diagnosis {
            sender: Side::Client,
            capture_point: CapturePoint::Counters,
            start,
            duration,
            delivered: Bytes::new(m.delivered),
            throughput,
            capacity,
            bottleneck: None,
            min_rtt: self.min_rtt.unwrap_or_default(),
            outcome: self.outcome(&m),
            next,
            limits: next.map(Limit::of_counters).into_iter().collect(),
            quantities: self.quantities(&m),
            verdicts,
            alternative: second.and_then(|(entry, _)| Some(CAUSES[place(named(entry))?])),
            unknown: sum.unknown,
            spans: spans(sum.spans, is_shared),
            chain: Vec::new(),
            icmp_errors: Vec::new(),
            is_restarted: false,
            shared: None,
            against: None,
            lookup: None,
            joined: None,
            cut: None,
        };
        debug_assert_eq!(
            diagnosis.contradictions(),
            [""; 0],
            "a diagnosis agrees with itself"
        );
        Some(diagnosis)
    }

    /// Whether a tester's transfer was over as soon as a new connection's is.
    fn outcome(&self, m: &Measures) -> Outcome {
        let reading = self.last(End::Sender);
        let smss = reading.and_then(|reading| reading.smss).unwrap_or_default();
        let rtt = self.min_rtt.unwrap_or_default();
        let took = Duration::from_secs_f64(m.time);
        let is_clean = m.retransmitted == 0 && m.delivered > 0 && self.is_coarse();
        // What an initial window carries (RFC 6928) takes one RTT, whatever that is.
        // A tester that sends for a time sends for a second at least.
        let fits_initial_window = m.delivered <= smss.as_u64().saturating_mul(10)
            && took <= Duration::from_millis(900)
            && reading.is_some_and(|reading| reading.app_idle.unwrap_or_default().is_zero());
        let is_short = takes_slow_start(m.delivered, smss.as_u64(), rtt, took)
            || rtt.is_zero() && fits_initial_window;
        if is_clean && is_short {
            Outcome::SlowStart
        } else {
            Outcome::Limited
        }
    }

    fn verdict(
        &self,
        m: &Measures,
        attributed: &Attributed,
        (entry, features): (usize, &[Features]),
        (capacity, target): (&Capacity, f64),
    ) -> Option<Verdict> {
        let cause = COUNTER_CAUSES[entry].cause();
        let seconds = attributed.time.as_secs_f64();
        let probability = attributed.weight / seconds.max(1e-9);
        let context = Context {
            account: self,
            m,
            target,
            slice: attributed.slices.clone(),
            features: features[attributed.largest.0],
            spent: attributed.time,
        };
        let explanation = (COUNTER_CAUSES[entry].explain)(&context);
        let is_held = HELD.contains(&cause.id) && m.held.is_some()
            || STALLED.contains(&cause.id) && attributed.wait == Some(Wait::Stalled);
        let basis = Basis {
            shown: attributed.shown / seconds.max(1e-9),
            is_coarse: self.is_coarse() && !is_held,
            has_both_ends: self.has_both_ends(),
            is_loss: cause.is_loss,
        };
        let achieved = m.delivered as f64 / m.time.max(1e-9);
        let missed = capacity.bytes_per_second * seconds - attributed.bytes;
        let missed = if cause.is_path {
            0.0
        } else {
            missed.max(0.0) / m.time.max(1e-9)
        };
        let features = &features[attributed.largest.0];
        let conditions = COUNTER_CAUSES[entry].conditions;
        let names = attributed.wait.map(|wait| open(conditions, features, wait));
        let unknown = names
            .into_iter()
            .flatten()
            .map(|name| format!("not known whether {name}"));
        let texts = explanation.evidence.into_iter().chain(unknown);
        let evidence = texts.filter(|text| !text.is_empty());
        Some(Verdict {
            cause,
            subject: subject(cause.name, explanation.figure),
            evidence: evidence.map(Evidence::figure).collect(),
            finding: explanation.finding,
            fix: explanation.fix,
            confidence: as_found(confidence(probability, basis)),
            probability,
            is_note: false,
            time: attributed.time,
            share: seconds / m.time.max(1e-9),
            cost: Cost {
                rate: rate(missed.min(capacity.bytes_per_second - achieved).max(0.0)),
                at_least: capacity.is_lower_bound(),
            },
        })
    }

    /// Whether the streams of the test left much of what the path carries while it was full: other
    /// traffic had it.
    fn is_path_shared(&self, sum: &Account) -> bool {
        let full = COUNTER_CAUSES
            .iter()
            .zip(&sum.entries)
            .find(|(entry, attributed)| entry.id == FULL_PATH && !attributed.time.is_zero());
        let (Some((_, full)), Some(left), Some(total)) = (full, self.path_rate, self.path_total)
        else {
            return false;
        };
        let achieved = 8.0 * full.bytes / full.time.as_secs_f64();
        left.as_bps() as f64 - achieved > UNUSED * total.as_bps() as f64
    }

    /// The verdict of a full path that other traffic shared.
    fn of_shared_path(&self, verdict: Verdict, full: &Attributed, total: Rate) -> Verdict {
        let cause = find(SHARED_PATH).expect("a cause of packets");
        let own = human_rate(rate(full.bytes / full.time.as_secs_f64()));
        let total = human_rate(total);
        let (others, fix) = if self.is_opposed {
            (
                "the other direction of the test, its ACKs included, or other traffic",
                "test one direction alone: it shows whether the other one, or other traffic, took the \
                 rest",
            )
        } else {
            (
                "other traffic",
                "more rate at the bottleneck, or per-flow queueing there (fq_codel, cake)",
            )
        };
        let left = format!("{others} took what this stream left of {total}");
        Verdict {
            cause,
            subject: subject(cause.name, Some(format!("share of this stream {own}"))),
            finding: format!(
                "The path was full for {}: {left}.",
                human_duration(full.time)
            ),
            evidence: [Evidence::figure(left)]
                .into_iter()
                .chain(verdict.evidence)
                .collect(),
            fix: fix.into(),
            ..verdict
        }
    }

    /// What packet trains measured, in bytes per second. A connection that was faster refutes it.
    fn measured_path_rate(&self, m: &Measures) -> Option<f64> {
        let mean = m.delivered as f64 / m.time.max(1e-9);
        let measured = self.path_rate?.as_bps() as f64 / 8.0;
        (measured >= 0.95 * mean).then_some(measured)
    }

    /// Rate while the path was saturated, or what packet trains measured, or else the best of a
    /// slice.
    fn capacity(&self, m: &Measures, sum: &Account) -> Capacity {
        let mean = m.delivered as f64 / m.time.max(1e-9);
        let longest = COUNTER_CAUSES
            .iter()
            .zip(&sum.entries)
            .filter(|(entry, _)| entry.cause().is_busy_link)
            .map(|(_, attributed)| attributed)
            .max_by_key(|attributed| attributed.time);
        let enough = self.min_rtt.unwrap_or_default() * 4;
        // A path that is saturated seldom and with low probability does not show the capacity.
        let is_enough = |attributed: &&Attributed| {
            let seconds = attributed.time.as_secs_f64();
            let is_shown = attributed.shown >= 0.5 * seconds;
            attributed.time > enough
                && seconds >= 0.1 * m.time
                && attributed.weight >= 0.6 * seconds
                && is_shown
        };
        let full = longest
            .filter(|longest| is_enough(longest) && !self.is_path_shared(sum))
            .map(|attributed| attributed.bytes / attributed.time.as_secs_f64())
            .filter(|rate| *rate >= 0.95 * mean);
        let (best, source) = match (full, self.measured_path_rate(m)) {
            (Some(full), _) => (full, CapacitySource::FullLink),
            (None, Some(measured)) => (measured, CapacitySource::PacketTrains),
            (None, None) => (m.peak, CapacitySource::BestRound),
        };
        Capacity {
            bytes_per_second: best.max(mean),
            source,
        }
    }

    /// Quantities that the limits follow from, as far as counters show them.
    fn quantities(&self, m: &Measures) -> Quantities {
        let last = self.last(End::Sender);
        let flights = self.losses.events.iter().filter_map(|event| event.flight);
        let flight = flights.fold(self.max_send_queue.as_u64() as f64, f64::max);
        Quantities {
            mss: last.and_then(|last| last.smss).unwrap_or_default(),
            headers: 52,
            rtt: last
                .and_then(|last| last.rtt)
                .or(self.min_rtt)
                .unwrap_or_default(),
            window: Some(self.max_window).filter(|window| *window > Bytes::ZERO),
            flight: Bytes::new(flight as u64),
            lost: m.retransmitted,
            loss_events: m.events,
            queue: Duration::from_secs_f64(m.loss_queue.unwrap_or(0.0)),
            control: self.congestion.as_deref().map(Into::into),
            ..Quantities::default()
        }
    }

    /// Lowest of the advertised window and the largest send buffer over the minimum RTT, and what
    /// packet trains measured, if something else limits.
    fn next_limit(&self, m: &Measures, sum: &Account) -> Option<NextLimit> {
        let window = self.next_window(m, sum);
        let first = COUNTER_CAUSES[sum.primary()?].cause();
        let mean = m.delivered as f64 / m.time.max(1e-9);
        let is_next = |path: &f64| *path > mean && !first.is_busy_link && !first.is_path;
        let path = self.measured_path_rate(m).filter(is_next).and_then(|path| {
            Some(NextLimit {
                cause: CAUSES[place("path-saturated")?],
                rate: rate(path),
                is_lower_bound: false,
            })
        });
        [window, self.next_send_buffer(m, sum), path]
            .into_iter()
            .flatten()
            .min_by_key(|next| next.rate)
    }

    /// Largest send buffer that the host grants over the minimum RTT, if something else limits.
    fn next_send_buffer(&self, m: &Measures, sum: &Account) -> Option<NextLimit> {
        let first = COUNTER_CAUSES[sum.primary()?].cause();
        let limits = &self.limits;
        let is_tuned = limits.send_buffer_is_set != Some(true) && limits.engine_send_max.is_none();
        let buffer = limits.tcp_wmem_max.filter(|_| is_tuned)?;
        let window = send_window(buffer.as_u64()).as_u64() as f64;
        let most = window / m.min_rtt.filter(|rtt| *rtt > 0.0)?;
        let mean = m.delivered as f64 / m.time.max(1e-9);
        let is_near = (mean..100.0 * mean).contains(&most);
        let is_next = first.id != "send-buffer-limited" && !first.is_path && is_near;
        is_next.then_some(NextLimit {
            cause: CAUSES[place("send-buffer-limited")?],
            rate: rate(most),
            is_lower_bound: false,
        })
    }

    /// Advertised window over the minimum RTT, if something else limits.
    fn next_window(&self, m: &Measures, sum: &Account) -> Option<NextLimit> {
        let first = sum.primary()?;
        let window = self.last(End::Sender)?.snd_wnd?.as_u64() as f64;
        let most = window / m.min_rtt.filter(|rtt| *rtt > 0.0)?;
        let own = &sum.entries[first];
        let mean = m.delivered as f64 / m.time.max(1e-9);
        let achieved = (own.bytes / own.time.as_secs_f64().max(1e-9)).max(mean);
        // A window that allows a hundred times the rate is not the next limit.
        let is_near = (achieved..100.0 * achieved).contains(&most);
        let is_next = !COUNTER_CAUSES[first].cause().is_window && is_near;
        is_next.then_some(NextLimit {
            cause: CAUSES[place("receive-window-limited")?],
            rate: rate(most),
            is_lower_bound: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::reading::{Reading, WORDS};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whatever_kernels_say_the_times_add_up(
            steps in prop::collection::vec(
                (0_u64..400, any::<bool>(), prop::collection::vec(0_i64..2_000_000, WORDS.len())),
                2..40,
            ),
            max_slices in 2_usize..12,
        ) {
            let mut account = CounterAccount::with_slices(max_slices);
            account.set_congestion("bbr");
            let mut at = Instant::ZERO;
            for (ms, is_sender, numbers) in steps {
                at += Duration::from_millis(ms);
                let words = WORDS.iter().copied().zip(numbers);
                let reading = Reading::of_words(at, words);
                let end = if is_sender { End::Sender } else { End::Receiver };
                account.on_reading(end, &reading);
                let _ = account.now();
            }
            if let Some(diagnosis) = account.diagnose() {
                prop_assert_eq!(diagnosis.contradiction(), None);
                prop_assert!(diagnosis.verdicts.iter().all(|verdict| verdict.confidence < 0.9));
            }
        }
    }

    #[test]
    fn a_window_that_is_full_on_a_full_path_is_the_paths() {
        // Rate at its best, RTT twice its minimum: a larger window would only lengthen the queue.
        let of = |rtt_us: i64, is_opposed: bool, closes: bool| {
            let mut account = CounterAccount::default();
            account.set_congestion("cubic");
            if is_opposed {
                account.set_opposed();
            }
            for step in 0..40_i64 {
                let words = [
                    ("tcpi_snd_mss", 1448),
                    ("tcpi_unacked", 138),
                    ("tcpi_snd_cwnd", 200),
                    (
                        "tcpi_snd_wnd",
                        if closes && step % 2 == 0 { 0 } else { 200_000 },
                    ),
                    ("tcpi_rtt", rtt_us),
                    ("tcpi_min_rtt", 20_000),
                    ("tcpi_bytes_acked", 500_000 * step),
                    ("tcpi_notsent_bytes", 100_000),
                    ("tcpi_busy_time", 100_000 * step),
                    ("tcpi_rwnd_limited", 99_000 * step),
                    ("tcpi_snd_wscale", 7),
                    ("tcpi_rcv_wscale", 7),
                ];
                let at = Instant::ZERO + Duration::from_millis(100 * step.unsigned_abs());
                account.on_reading(End::Sender, &Reading::of_words(at, words));
            }
            account.diagnose().unwrap().primary().unwrap().cause.id
        };
        assert_eq!(of(20_100, false, false), "receive-window-limited");
        assert_eq!(of(40_000, false, false), "path-saturated");
        // The queue may be that of the other direction, and no path closes a window.
        assert_eq!(of(40_000, true, false), "receive-window-limited");
        assert_eq!(of(40_000, false, true), "slow-reader");
    }

    #[test]
    fn a_full_path_that_carries_more_than_the_streams_is_shared() {
        let of = |total_mbps: u64, left_mbps: u64, is_opposed: bool| {
            let mut account = CounterAccount::default();
            account.set_congestion("cubic");
            account.set_capacity(
                Rate::from_bps(total_mbps * 1_000_000),
                Rate::from_bps(left_mbps * 1_000_000),
            );
            if is_opposed {
                account.set_opposed();
            }
            for step in 0..40_i64 {
                let words = [
                    ("tcpi_snd_mss", 1448),
                    ("tcpi_unacked", 310),
                    ("tcpi_snd_cwnd", 320),
                    ("tcpi_snd_wnd", 3_000_000),
                    ("tcpi_rtt", 58_000),
                    ("tcpi_min_rtt", 30_000),
                    ("tcpi_bytes_acked", 772_500 * step),
                    ("tcpi_data_segs_out", 533 * step),
                    ("tcpi_notsent_bytes", 1_000_000),
                    ("tcpi_busy_time", 100_000 * step),
                ];
                let at = Instant::ZERO + Duration::from_millis(100 * step.unsigned_abs());
                account.on_reading(End::Sender, &Reading::of_words(at, words));
            }
            let diagnosis = account.diagnose().unwrap();
            let answer = diagnosis.answer();
            (
                answer.cause.unwrap().id,
                answer.could_be,
                answer.fix.unwrap_or_default(),
            )
        };
        // 61.8 Mbit/s of 94.2; of 94.2 with another stream that has the rest; of 65.
        let (cause, could_be, _) = of(94, 94, false);
        assert_eq!(cause, "cross-traffic");
        assert!(
            could_be.contains("94.0 Mbit/s") && !could_be.contains("no more"),
            "{could_be}"
        );
        assert!(of(94, 94, true).2.contains("one direction"));
        assert_eq!(of(94, 63, false).0, "path-saturated");
        let (cause, could_be, _) = of(65, 65, false);
        assert!(
            cause == "path-saturated" && could_be.starts_with("no more"),
            "{could_be}"
        );
    }

    #[test]
    fn a_single_reading_of_a_silent_peer_is_an_outage() {
        let of = |backoff: i64, last_ack_ms: i64| {
            let words = [
                ("tcpi_snd_mss", 1448),
                ("tcpi_unacked", 141),
                ("tcpi_lost", 141),
                ("tcpi_snd_cwnd", 1),
                ("tcpi_snd_wnd", 3_591_168),
                ("tcpi_rtt", 29_767),
                ("tcpi_min_rtt", 28_000),
                ("tcpi_bytes_acked", 12_492_273),
                ("tcpi_bytes_sent", 14_224_456),
                ("tcpi_total_retrans", 1056),
                ("tcpi_data_segs_out", 9825),
                ("tcpi_busy_time", 14_312_000),
                ("tcpi_notsent_bytes", 800_000),
                ("tcpi_backoff", backoff),
                ("tcpi_last_ack_recv", last_ack_ms),
            ];
            let mut account = CounterAccount::default();
            let reading = Reading::of_words(Instant::ZERO + Duration::from_secs(20), words);
            assert!(account.on_total(&reading));
            account
                .diagnose()
                .unwrap()
                .primary()
                .map(|first| first.cause.id)
        };
        assert_eq!(of(5, 9084), Some("outage"));
        assert_ne!(of(0, 12), Some("outage"));
    }

    #[test]
    fn spurious_retransmissions_that_cost_no_cwnd_are_not_the_cause() {
        // A loopback: 4 GB/s at 30 us. At 3 in a million the square-root law allows 34 GB/s; at
        // 3 in a hundred 340 MB/s.
        let of = |control: &str, retransmitted: i64, cwnd: i64| {
            let mut account = CounterAccount::default();
            account.set_congestion(control);
            for step in 0..30_i64 {
                let words = [
                    ("tcpi_snd_mss", 1448),
                    ("tcpi_unacked", 80),
                    ("tcpi_snd_cwnd", cwnd),
                    ("tcpi_snd_ssthresh", 60),
                    ("tcpi_snd_wnd", 6_000_000),
                    ("tcpi_rtt", 30),
                    ("tcpi_min_rtt", 30),
                    ("tcpi_bytes_acked", 400_000_000 * step),
                    ("tcpi_data_segs_out", 276_000 * step),
                    ("tcpi_delivered", 276_000 * step),
                    ("tcpi_total_retrans", retransmitted * step),
                    ("tcpi_dsack_dups", retransmitted * step),
                    ("tcpi_reord_seen", retransmitted * step),
                    ("tcpi_notsent_bytes", 1_000_000),
                    ("tcpi_busy_time", 100_000 * step),
                ];
                let at = Instant::ZERO + Duration::from_millis(100 * step.unsigned_abs());
                account.on_reading(End::Sender, &Reading::of_words(at, words));
            }
            let diagnosis = account.diagnose().unwrap();
            diagnosis.primary().map(|first| first.cause.id)
        };
        let reordering = Some("reordering-mistaken-for-loss");
        assert_eq!(of("cubic", 8_000, 90), reordering);
        assert_ne!(of("cubic", 1, 3_000), reordering);
        // Most of cwnd is not in use.
        assert_ne!(of("cubic", 8_000, 3_000), reordering);
        // BBR keeps its cwnd.
        assert_ne!(of("bbr", 1_000, 90), reordering);
    }

    #[test]
    fn a_receiver_alone_shows_a_reader_and_not_what_its_sender_waits_for() {
        let of = |unread: i64| {
            let mut account = CounterAccount::default();
            for step in 0..30_i64 {
                let words = [
                    ("tcpi_bytes_received", 100_000 * step),
                    ("tcpi_rcv_rtt", 20_000),
                    ("tcpi_rcv_wnd", 300_000 - unread * i64::from(step > 0)),
                    ("recv_q", unread * i64::from(step > 0)),
                ];
                let at = Instant::ZERO + Duration::from_millis(100 * step.unsigned_abs());
                account.on_reading(End::Receiver, &Reading::of_words(at, words));
            }
            let diagnosis = account.diagnose().unwrap();
            diagnosis.primary().map(|first| first.cause.id)
        };
        assert_eq!(of(280_000), Some("slow-reader"));
        assert_eq!(of(0), None);
    }

    #[test]
    fn a_full_window_that_falls_is_a_slow_readers_and_one_that_stays_is_the_buffers() {
        let of = |windows: [i64; 4]| {
            let mut account = CounterAccount::default();
            account.set_congestion("cubic");
            for (step, window) in (0_i64..).zip(windows.into_iter().cycle().take(6)) {
                let words = [
                    ("tcpi_snd_mss", 1448),
                    ("tcpi_unacked", window / 1448),
                    ("tcpi_snd_cwnd", 7000),
                    ("tcpi_snd_wnd", window),
                    ("tcpi_rtt", 50_000),
                    ("tcpi_min_rtt", 40_105),
                    ("tcpi_bytes_acked", 12_000_000 * step),
                    ("tcpi_notsent_bytes", 1_000_000),
                    ("tcpi_busy_time", 1_000_000 * step),
                    ("tcpi_rwnd_limited", 870_000 * step),
                    ("tcpi_snd_wscale", 7),
                    ("tcpi_rcv_wscale", 7),
                ];
                let at = Instant::ZERO + Duration::from_secs(step.unsigned_abs());
                account.on_reading(End::Sender, &Reading::of_words(at, words));
            }
            account.diagnose().unwrap().primary().unwrap().cause.id
        };
        // Of `ss`, once a second.
        let reads_slowly = [2_036_992, 558_080, 757_632, 1_157_760];
        assert_eq!(of(reads_slowly), "slow-reader");
        assert_eq!(of([600_000; 4]), "receive-window-limited");
        assert_eq!(
            of([600_000, 610_000, 590_000, 608_000]),
            "receive-window-limited"
        );
    }

    #[test]
    fn the_fix_of_a_small_cwnd_is_that_of_its_phase_and_control() {
        let of = |control: &str, ssthresh: i64| {
            let mut account = CounterAccount::default();
            account.set_congestion(control);
            for step in 0..10_i64 {
                let cwnd = 10 + 10 * step;
                let words = [
                    ("tcpi_snd_mss", 1448),
                    ("tcpi_unacked", cwnd),
                    ("tcpi_snd_cwnd", cwnd),
                    ("tcpi_snd_ssthresh", ssthresh),
                    ("tcpi_snd_wnd", 6_000_000),
                    ("tcpi_rtt", 100_000),
                    ("tcpi_min_rtt", 100_000),
                    ("tcpi_bytes_acked", 10_000 * step * step),
                    ("tcpi_notsent_bytes", 1_000_000),
                    ("tcpi_busy_time", 100_000 * step),
                ];
                let at = Instant::ZERO + Duration::from_millis(100 * step.unsigned_abs());
                account.on_reading(End::Sender, &Reading::of_words(at, words));
            }
            let diagnosis = account.diagnose().unwrap();
            let first = diagnosis.primary().unwrap();
            assert_eq!(first.cause.id, "cwnd-growth-limited");
            first.fix.clone()
        };
        let slow_start = of("cubic", 2_147_483_647);
        assert!(slow_start.contains("initcwnd") && !slow_start.contains("CUBIC"));
        assert!(!slow_start.contains("metrics"), "{slow_start}");
        let avoidance = of("cubic", 5);
        assert!(avoidance.contains("tcp_no_metrics_save=1") && avoidance.ends_with("or BBR"));
        assert!(of("reno", 5).ends_with("or CUBIC or BBR"));
    }

    #[test]
    fn bytes_unread_are_those_of_recv_q_however_the_window_changes() {
        let mut account = CounterAccount::default();
        for step in 0..30_i64 {
            let words = [
                ("tcpi_bytes_received", 100_000 * step),
                ("tcpi_rcv_rtt", 20_000),
                ("tcpi_rcv_wnd", if step < 20 { 6_000 } else { 183_000 }),
                ("recv_q", 5_200_000),
            ];
            let at = Instant::ZERO + Duration::from_millis(100 * step.unsigned_abs());
            account.on_reading(End::Receiver, &Reading::of_words(at, words));
        }
        let diagnosis = account.diagnose().unwrap();
        let subject = &diagnosis.primary().unwrap().subject;
        assert!(subject.contains("5.20 MB unread"), "{subject}");
    }
}
