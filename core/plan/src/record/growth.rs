//! Growth metrics of a transfer: plateau and time to 90 % of it.
//!
//! The same metrics apply to simulated and to published transfers.
//!
//! * The *fastest growth* is the largest rise from one interval to the next, the rise from zero to
//!   the first interval included.
//! * The *plateau* is the median rate of the interval it ends in and all later
//!   ones. A transfer whose fastest growth is its last interval was still
//!   growing and has none.
//! * The *time to 90 %* is the end of the first interval, of the whole
//!   transfer, at 90 % of the plateau or more.
//!
//! A median over what follows the growth is not moved by a dip, and needs no
//! The median after the growth is robust against a dip and needs no knowledge of the path's rate.
//! The cost: the resolution is one interval, and a transfer that grows, stalls and grows faster is
//! analyzed by the second growth.

use alloc::vec::Vec;

/// Share of the plateau at which a transfer is up to speed.
const UP_TO_SPEED: f64 = 0.9;

/// Median of `values`; `None` if there are none. For an even number of values it is the mean of the
/// middle two. NaN sorts last.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some((values[middle - 1] + upper) / 2.0)
}

/// Plateau of the intervals `rates`, (end, rate) each; `None` while still growing. It is in the
/// unit of the rates.
pub fn plateau(rates: &[(f64, f64)]) -> Option<f64> {
    let mut before = 0.0;
    let mut fastest = (0, f64::NEG_INFINITY);
    for (index, &(_, rate)) in rates.iter().enumerate() {
        if rate - before > fastest.1 {
            fastest = (index, rate - before);
        }
        before = rate;
    }
    if fastest.0 + 1 >= rates.len() {
        return None;
    }
    median(rates[fastest.0..].iter().map(|&(_, rate)| rate))
}

/// End of the first interval at 90 % of the [`plateau`]; `None` while growing. It is in the unit of
/// the ends.
pub fn seconds_to_90(rates: &[(f64, f64)]) -> Option<f64> {
    let bar = plateau(rates)? * UP_TO_SPEED;
    let reached = rates.iter().find(|&&(_, rate)| rate >= bar);
    reached.map(|&(end, _)| end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn seconds(rates: &[f64]) -> Vec<(f64, f64)> {
        let at = |(index, &rate)| ((index + 1) as f64, rate);
        rates.iter().enumerate().map(at).collect()
    }

    #[test]
    fn a_transfer_that_jumps_in_the_second_interval_is_up_to_speed_after_two() {
        let rates = seconds(&[583.0, 7083.0, 7237.0, 7210.0, 7215.0]);
        assert_eq!(plateau(&rates), Some(7212.5));
        assert_eq!(seconds_to_90(&rates), Some(2.0));
    }

    #[test]
    fn a_transfer_that_still_grows_in_its_last_interval_has_no_plateau() {
        let rates = seconds(&[57.0, 136.0, 214.0, 325.0, 500.0]);
        assert_eq!(plateau(&rates), None);
        assert_eq!(seconds_to_90(&rates), None);
    }

    #[test]
    fn a_flat_transfer_is_up_to_speed_after_its_first_interval() {
        let rates = seconds(&[7000.0, 7001.0, 6990.0]);
        assert_eq!(seconds_to_90(&rates), Some(1.0));
    }

    #[test]
    fn a_dip_after_the_growth_does_not_move_the_time() {
        let rates = seconds(&[100.0, 7000.0, 300.0, 7000.0, 7000.0]);
        assert_eq!(seconds_to_90(&rates), Some(2.0));
    }

    #[test]
    fn no_intervals_and_one_interval_have_no_plateau() {
        assert_eq!(seconds_to_90(&[]), None);
        assert_eq!(seconds_to_90(&seconds(&[7000.0])), None);
    }
}
