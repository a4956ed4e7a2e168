//! Derives the bottleneck rate from trains of segments that it stretched.
//!
//! If segments were sent faster than they were acknowledged, or a queue delayed all of them, the
//! bottleneck was busy, and their ACKs arrive at its rate. Trains acknowledged as fast as they were
//! sent show only the pace of the sender.

/// An ACK that advanced, and the send time of the data that it covers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Advance {
    /// Time of the ACK, in seconds.
    pub at: f64,
    /// End of the data it acknowledges.
    pub position: u64,
    /// Send time of the last segment; `None` if one of those it covers was retransmitted.
    pub sent: Option<f64>,
}

/// Minimum long train, in full segments and in seconds. Shorter ones depend on batches of ACKs.
const LONG: (f64, f64) = (8.0, 1.0e-3);

/// Minimum short train, used if there are no long ones.
const SHORT: (f64, f64) = (3.0, 0.2e-3);

/// Maximum sending time of a train, as a share of the time of its ACKs.
const STRETCHED: f64 = 0.8;

/// Queueing delay that indicates a busy bottleneck: a share of the RTT, and seconds.
const QUEUED: f64 = 0.15;
const QUEUED_TIME: f64 = 0.5e-3;

/// Minimum trains for a rate.
const MIN_TRAINS: usize = 4;

/// Minimum share of the trains with one rate.
///
/// A pace that varies does not show a bottleneck.
const COMMON: f64 = 0.3;

/// Width of a bin of the logarithms of rates; three bins together are compared.
const BIN: f64 = 0.03;

/// Rates at which most trains were acknowledged, in bytes per second.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct TrainRates {
    /// Rate of long trains.
    pub long: Option<f64>,
    /// Rate of all trains except pairs.
    pub short: Option<f64>,
}

impl TrainRates {
    /// Measures the trains between these ACKs.
    #[must_use]
    pub fn of(advances: &[Advance], segment: f64, min_rtt: f64) -> Self {
        let of = |smallest| most_common(&mut rates(advances, smallest, segment, min_rtt));
        Self {
            long: of(LONG),
            short: of(SHORT),
        }
    }
}

/// Returns the rate of the shortest train from each ACK, while the bottleneck was busy.
fn rates(
    advances: &[Advance],
    (segments, time): (f64, f64),
    segment: f64,
    min_rtt: f64,
) -> Vec<f64> {
    let queued = (QUEUED * min_rtt).max(QUEUED_TIME);
    let mut rates = Vec::new();
    let mut to = 0;
    // Of the ACKs before `looked`: the first after the last one without a queue, and after
    // the last one of a retransmission.
    let (mut looked, mut queued_from, mut whole_from) = (0, 0, 0);
    for (from, first) in advances.iter().enumerate() {
        let is_long = |last: &Advance| {
            (last.position - first.position) as f64 >= segments * segment
                && last.at - first.at >= time
        };
        while to < advances.len() && !is_long(&advances[to]) {
            to += 1;
        }
        let Some(last) = advances.get(to) else {
            break;
        };
        while looked <= to {
            let one = advances[looked];
            looked += 1;
            match one.sent.map(|sent| one.at - sent - min_rtt) {
                None => (queued_from, whole_from) = (looked, looked),
                Some(delay) if delay < queued => queued_from = looked,
                Some(_) => {}
            }
        }
        let (Some(begun), Some(ended)) = (first.sent, last.sent) else {
            continue;
        };
        let time = last.at - first.at;
        let is_busy = queued_from <= from || ended - begun <= STRETCHED * time;
        if whole_from <= from && is_busy {
            rates.push((last.position - first.position) as f64 / time);
        }
    }
    rates
}

/// Returns the middle of the densest bins.
fn most_common(rates: &mut [f64]) -> Option<f64> {
    if rates.len() < MIN_TRAINS {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let width = (3.0 * BIN).exp();
    let (mut best, mut to) = (0..1, 0);
    for from in 0..rates.len() {
        while to < rates.len() && rates[to] <= rates[from] * width {
            to += 1;
        }
        if to - from > best.len() {
            best = from..to;
        }
    }
    let is_common = best.len() as f64 >= COMMON * rates.len() as f64;
    is_common.then(|| rates[best.start + best.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns ACKs of bursts of 20 segments over a bottleneck of 1 ms per segment.
    ///
    /// There is a burst for each RTT of 50 ms, with a `pace` between its segments.
    fn bursts(pace: f64) -> Vec<Advance> {
        let mut all = Vec::new();
        for burst in 0..10_u64 {
            let begun = burst as f64 * 0.05;
            let mut served = begun;
            for segment in 0..20_u64 {
                let sent = begun + segment as f64 * pace;
                served = sent.max(served) + 0.001;
                all.push(Advance {
                    at: served + 0.02,
                    position: (burst * 20 + segment + 1) * 1000,
                    sent: Some(sent),
                });
            }
        }
        all
    }

    #[test]
    fn bursts_are_acknowledged_at_the_rate_of_the_bottleneck() {
        let rates = TrainRates::of(&bursts(0.0001), 1000.0, 0.021);
        for rate in [rates.long, rates.short] {
            assert!(
                (rate.expect("trains") / 1e6 - 1.0).abs() < 0.02,
                "{rates:?}"
            );
        }
    }

    #[test]
    fn segments_that_are_paced_below_the_bottleneck_show_no_rate() {
        let rates = TrainRates::of(&bursts(0.002), 1000.0, 0.021);
        assert_eq!(rates, TrainRates::default());
    }
}
