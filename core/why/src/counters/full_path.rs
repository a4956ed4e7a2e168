//! Finds a full path by rate, RTT and cwnd, in a report and in a single reading.
//!
//! A report has no times of the kernel's own, and a single reading no others to compare its rate with.
//! A sender that fills a path has in flight what cwnd allows, is delivered at one rate, and finds its
//! RTT above the minimum: a queue holds the rest. A larger cwnd then only lengthens the queue. Where
//! an application or a buffer limits, cwnd is not in use; where losses without a queue do, the RTT
//! stays at its minimum. A control that paces by a model (BBR) has a cwnd of twice the path's
//! content, and retransmits more where it fills a short queue.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::account::{CounterAccount, End, bytes_per_second};
use super::slice::{Slice, Wait};
use crate::measures::quartile;

/// Minimum number of intervals, without the first, in which cwnd grows.
const MIN_INTERVALS: usize = 4;

/// Minimum of the median flight over cwnd: by loss, and by a model.
const IN_USE: [f64; 2] = [0.6, 0.42];

/// Minimum of the median RTT over the shortest one, and the difference in seconds.
const LONGER: f64 = 1.07;
const LONGER_BY: f64 = 0.3e-3;

/// Maximum standard deviation of the rates over their mean.
const SPREAD: f64 = 0.25;

/// Maximum fraction of segments retransmitted: by loss, and by a model.
const LOSSES: [f64; 2] = [0.02, 0.1];

/// Maximum of the median flight over the window that the receiver advertises.
const OF_WINDOW: f64 = 0.8;

/// Delivery rate at the moment of a single reading over the mean.
const OF_MEAN: core::ops::Range<f64> = 0.75..1.35;

/// Minimum of its RTT over the shortest one.
const MUCH_LONGER: f64 = 1.2;

/// Maximum fraction of the time that a window or a buffer limited.
const LIMITED: f64 = 0.3;

/// Whether the connection filled its path for most of the time.
pub(super) fn is_full(account: &CounterAccount, is_model: Option<bool>, loss_rate: f64) -> bool {
    if account.is_total {
        return is_full_now(account, is_model, loss_rate).unwrap_or(false);
    }
    let intervals = account.slices.get(1..).unwrap_or_default();
    let control = usize::from(is_model == Some(true));
    let median =
        |of: fn(&Slice) -> Option<f64>| quartile(intervals.iter().filter_map(of).collect(), 2);
    let known = |of: fn(&Slice) -> Option<f64>| intervals.iter().filter_map(of).count();
    let is_measured = account.is_coarse()
        && known(|slice| slice.rtt.value()).min(known(|slice| slice.cwnd_fill.value()))
            >= MIN_INTERVALS;
    if !is_measured || loss_rate > LOSSES[control] {
        return false;
    }
    let is_used = median(|slice| slice.cwnd_fill.value()) >= Some(IN_USE[control]);
    let is_open = median(|slice| slice.window_fill.value()) < Some(OF_WINDOW);
    let rtts = median(|slice| slice.rtt.value()).zip(account.min_rtt);
    let has_queue = rtts.is_some_and(|(rtt, min)| is_longer(rtt, min, LONGER));
    let is_waiting = intervals.iter().all(|slice| slice.share(Wait::Rest) > 0.0);
    is_used && is_open && has_queue && is_waiting && is_steady(intervals)
}

/// Whether a single reading shows a full path, and the mean rate since the connection began is that of
/// the moment.
fn is_full_now(account: &CounterAccount, is_model: Option<bool>, loss_rate: f64) -> Option<bool> {
    let control = usize::from(is_model == Some(true));
    let slice = account.slices.first()?;
    let now = account.last(End::Sender)?;
    let rate = bytes_per_second(now.delivery_rate?);
    let limited = slice.share(Wait::Window) + slice.share(Wait::Buffer);
    let is_open = slice
        .window_fill
        .value()
        .is_none_or(|fill| fill < OF_WINDOW);
    let is_used = slice.cwnd_fill.value()? >= IN_USE[control];
    let has_queue = is_longer(slice.rtt.value()?, account.min_rtt?, MUCH_LONGER);
    let is_usual = OF_MEAN.contains(&(rate / slice.rate().max(1.0)));
    let is_clean = limited <= LIMITED && loss_rate <= LOSSES[control];
    Some(is_used && is_open && has_queue && is_usual && is_clean)
}

/// Whether an RTT in seconds exceeds the shortest one by that factor, and by more than hosts do.
fn is_longer(rtt: f64, min_rtt: Duration, factor: f64) -> bool {
    let min = min_rtt.as_secs_f64();
    rtt >= factor * min && rtt >= min + LONGER_BY
}

fn is_steady(intervals: &[Slice]) -> bool {
    let rates: Vec<f64> = intervals.iter().map(Slice::rate).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let squares = rates.iter().map(|rate| (rate - mean) * (rate - mean));
    libm::sqrt(squares.sum::<f64>() / rates.len() as f64) <= SPREAD * mean
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Instant;

    use super::*;
    use crate::counters::Reading;

    /// Ten seconds of a report: 10 Mbit/s, a minimum RTT of 20 ms, MSS 1000.
    struct Report {
        rtt_ms: i64,
        /// cwnd over rate times RTT, percent.
        cwnd: i64,
        /// Percent by which the rates of odd seconds exceed those of even ones.
        uneven: i64,
        retransmitted: i64,
    }

    const FULL: Report = Report {
        rtt_ms: 40,
        cwnd: 105,
        uneven: 5,
        retransmitted: 2,
    };

    impl Report {
        fn is_full(&self) -> bool {
            let mut account = CounterAccount::default();
            account.set_congestion("cubic");
            let mut acked = 0;
            for second in 0..11_i64 {
                let rate = 1_250_000 * (100 + self.uneven * (second % 2)) / 100;
                acked += if second > 0 { rate } else { 0 };
                let flight = rate * self.rtt_ms / 1_000_000;
                let words = [
                    ("tcpi_snd_mss", 1000),
                    ("tcpi_unacked", flight),
                    ("tcpi_snd_cwnd", flight * self.cwnd / 100),
                    ("tcpi_snd_wnd", 3_000_000),
                    ("tcpi_rtt", self.rtt_ms * 1000),
                    ("tcpi_min_rtt", 20_000),
                    ("tcpi_bytes_acked", acked),
                    ("tcpi_bytes_sent", acked),
                    ("tcpi_total_retrans", self.retransmitted * second),
                ];
                let at = Instant::ZERO + Duration::from_secs(second.unsigned_abs() + 1);
                account.on_reading(End::Sender, &Reading::of_words(at, words));
            }
            let diagnosis = account.diagnose().expect("eleven readings");
            let is_path = diagnosis
                .primary()
                .is_some_and(|first| first.cause.id == "path-saturated");
            let is_found = is_full(&account, Some(false), 1e-3);
            assert!(!is_found || is_path && !diagnosis.is_unsure());
            is_found
        }
    }

    #[test]
    fn cwnd_in_use_and_a_longer_rtt_at_one_rate_are_a_full_path() {
        assert!(FULL.is_full());
        // An RTT at its minimum, a cwnd that is not in use, and a rate that varies are none.
        assert!(!Report { rtt_ms: 20, ..FULL }.is_full());
        assert!(!Report { cwnd: 200, ..FULL }.is_full());
        assert!(
            !Report {
                uneven: 150,
                ..FULL
            }
            .is_full()
        );
    }
}
