//! Reduces points without changing the picture.
//!
//! A graph is about a thousand pixels wide; a run may have a hundred thousand samples. Time is cut
//! into equal buckets, and the first, lowest, highest and last point of each are kept (M4: Jugel,
//! Jerzak, Hackenbroich, Markl, "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB
//! 2014). A line through them at that width is identical in every pixel. It differs when a reader
//! zooms in, so the page says how many points were reduced to how many.

/// A point: time in ns, value.
pub type Point = (u64, u64);

/// First of 1, 2, 5, 10, 20 … that is not below `least`.
pub(crate) fn round_step(least: usize) -> usize {
    let mut tens = 1;
    while 5 * tens < least {
        tens *= 10;
    }
    let steps = [tens, 2 * tens, 5 * tens];
    steps[steps.partition_point(|&step| step < least)]
}

/// At most `budget` (at least 4) of `points`, which are in order of time.
pub fn thin(points: &[Point], budget: usize) -> Vec<Point> {
    if points.len() <= budget.max(4) {
        return points.to_vec();
    }
    let buckets = (budget / 4).max(1) as u128;
    let start = points[0].0;
    let span = u128::from(points[points.len() - 1].0.saturating_sub(start)) + 1;
    let bucket_of =
        |point: &Point| u128::from(point.0.saturating_sub(start)).min(span - 1) * buckets / span;
    let mut kept = Vec::with_capacity(budget);
    for bucket in points.chunk_by(|a, b| bucket_of(a) == bucket_of(b)) {
        keep_corners(bucket, &mut kept);
    }
    // Time that steps backwards starts new buckets and may exceed the budget.
    kept.truncate(budget.max(4));
    kept
}

/// Adds four points of `bucket` to `kept`: the first, lowest, highest and last, in order, each
/// once.
fn keep_corners(bucket: &[Point], kept: &mut Vec<Point>) {
    let mut lowest = 0;
    let mut highest = 0;
    for (index, point) in bucket.iter().enumerate() {
        if point.1 < bucket[lowest].1 {
            lowest = index;
        }
        if point.1 > bucket[highest].1 {
            highest = index;
        }
    }
    let mut corners = [0, lowest, highest, bucket.len() - 1];
    corners.sort_unstable();
    let mut before = None;
    for index in corners {
        if before != Some(index) {
            kept.push(bucket[index]);
        }
        before = Some(index);
    }
}

/// Difference of each value to the one before, the first to 0. The numbers in the embedded data are
/// then short.
pub fn deltas(values: impl IntoIterator<Item = u64>) -> Vec<i64> {
    let mut before = 0;
    let difference = |value: u64| {
        let delta = value.wrapping_sub(before).cast_signed();
        before = value;
        delta
    };
    values.into_iter().map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_stay_as_they_are() {
        let points = [(0, 5), (10, 7)];
        assert_eq!(thin(&points, 100), points);
        assert!(thin(&[], 100).is_empty());
    }

    #[test]
    fn a_single_spike_and_a_single_hole_survive() {
        let mut points: Vec<Point> = (0..100_000).map(|i| (i * 1000, 50)).collect();
        points[31_234].1 = 900;
        points[77_777].1 = 1;
        let thinned = thin(&points, 1000);
        assert!(thinned.len() <= 1000);
        assert!(thinned.contains(&(31_234_000, 900)));
        assert!(thinned.contains(&(77_777_000, 1)));
        assert_eq!(thinned.first(), points.first());
        assert_eq!(thinned.last(), points.last());
        assert!(thinned.is_sorted_by_key(|point| point.0));
    }

    #[test]
    fn time_that_steps_backwards_does_no_harm() {
        let points: Vec<Point> = (0..10_000).map(|i| ((i * 7919) % 10_007, i)).collect();
        assert!(thin(&points, 200).len() <= 200);
    }

    #[test]
    fn differences_add_up_again() {
        let values = [5, 7, 3, u64::MAX, 0];
        let mut sum: u64 = 0;
        for (delta, value) in deltas(values).into_iter().zip(values) {
            sum = sum.wrapping_add(delta.cast_unsigned());
            assert_eq!(sum, value);
        }
    }
}
