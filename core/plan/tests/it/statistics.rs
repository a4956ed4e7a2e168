//! Statistics compared with scipy 1.17.1 and statsmodels 0.15.0; `python figures.py` in this
//! directory prints the figures.

use gigatcp_plan::design::effects::{Effects, Unbalanced};
use gigatcp_plan::design::grid::{Arm, Grid, Scale};
use gigatcp_plan::design::statistics::{CONFIDENCE, batches, bootstrap, paired};
use gigatcp_theory::distribution::{f_tail, t_quantile};
use gigatcp_theory::sample::Summary;
use gigatcp_units::random::Stream;

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let error = (found / expected - 1.0).abs();
    assert!(error < tolerance, "{found} and not {expected}");
}

const X: [f64; 6] = [9.1, 9.7, 8.8, 10.4, 9.9, 9.3];
const Y: [f64; 6] = [9.9, 10.1, 9.6, 10.9, 10.8, 9.8];

#[test]
fn quantiles_of_t_and_tails_of_f_are_those_of_scipy() {
    close(t_quantile(0.975, 1.0), 12.706204736174694, 1e-10);
    close(t_quantile(0.975, 4.0), 2.7764451051977934, 1e-10);
    close(t_quantile(0.975, 19.5), 2.089397620972246, 1e-10);
    close(t_quantile(0.995, 200.0), 2.600634436191558, 1e-10);
    close(f_tail(3.5, 1.0, 12.0), 0.0859456325506251, 1e-10);
    close(f_tail(0.2, 4.0, 7.0), 0.9305148174758058, 1e-10);
    close(f_tail(40.0, 2.0, 30.0), 3.435014252937534e-09, 1e-9);
}

#[test]
fn intervals_of_means_and_of_paired_differences_are_those_of_scipy() {
    let summary = Summary::of(X).unwrap();
    close(summary.mean, 9.533333333333333, 1e-12);
    close(
        summary.half_width(CONFIDENCE).unwrap(),
        0.6107198498167108,
        1e-10,
    );
    close(summary.median, 9.5, 1e-12);
    let paired = paired(&X, &Y).unwrap();
    close(paired.mean, 0.65, 1e-12);
    close(
        paired.half_width(CONFIDENCE).unwrap(),
        0.21761560600795027,
        1e-10,
    );
    let failed = Summary::of([1.0, f64::NAN, 3.0]).unwrap();
    assert_eq!((failed.n, failed.mean), (2, 2.0));
    assert!(Summary::of([f64::NAN]).is_none());
    assert_eq!(Summary::of([4.0]).unwrap().half_width(CONFIDENCE), None);
}

#[test]
fn bootstrap_intervals_are_those_of_scipy_and_repeat_with_their_seed() {
    let (low, high) = bootstrap(&X, 50_000, 1).unwrap();
    // 200,000 resamples of scipy; the bounds are quantiles of means of six values.
    close(low, 9.116666666666669, 0.002);
    close(high, 9.966666666666667, 0.002);
    assert_eq!(bootstrap(&X, 500, 3), bootstrap(&X, 500, 3));
    assert_ne!(bootstrap(&X, 500, 3), bootstrap(&X, 500, 4));
}

#[test]
fn intervals_cover_a_known_mean_as_often_as_they_say() {
    let mut stream = Stream::new(5, "samples", 1);
    let mut covered = [0; 2];
    for _ in 0..2_000 {
        let values: Vec<f64> = (0..20).map(|_| stream.uniform()).collect();
        let summary = Summary::of(&values).unwrap();
        let half = summary.half_width(CONFIDENCE).unwrap();
        covered[0] += u32::from((summary.mean - 0.5).abs() <= half);
        let (low, high) = bootstrap(&values, 200, 1).unwrap();
        covered[1] += u32::from(low <= 0.5 && 0.5 <= high);
    }
    // Of 2000 intervals 95 % are 1900, with a deviation of 10. A percentile bootstrap of
    // 20 values falls short by about two points.
    assert!((1870..=1930).contains(&covered[0]), "{covered:?}");
    assert!((1830..=1920).contains(&covered[1]), "{covered:?}");
}

fn scale(name: &str, labels: &[&str]) -> Scale {
    Scale {
        name: name.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
    }
}

fn arm(levels: &[u32], values: &[f64]) -> Arm {
    Arm {
        cell: 0,
        levels: levels.iter().map(|level| Some(*level)).collect(),
        values: values.to_vec(),
        failures: 0,
    }
}

fn two_by_three() -> Grid {
    let cells: [[f64; 3]; 6] = [
        [10.0, 12.0, 11.0],
        [14.0, 15.0, 13.0],
        [19.0, 17.0, 18.0],
        [11.0, 10.0, 12.0],
        [20.0, 22.0, 21.0],
        [29.0, 31.0, 33.0],
    ];
    let arms = (0..)
        .zip(&cells)
        .map(|(at, values)| arm(&[at / 3, at % 3], values));
    Grid {
        metric: "v".to_owned(),
        scales: vec![scale("x.f", &["a", "b"]), scale("y.g", &["0", "1", "2"])],
        arms: arms.collect(),
    }
}

/// Grid with other cells.
fn changed(change: impl FnOnce(&mut Vec<Arm>)) -> Grid {
    let grid = two_by_three();
    let mut arms: Vec<Arm> = grid.arms.iter().map(Arm::from).collect();
    change(&mut arms);
    Grid {
        arms: arms.into_iter().collect(),
        ..grid
    }
}

#[test]
fn shares_of_variance_and_their_tests_are_those_of_statsmodels() {
    let effects = Effects::of(&two_by_three()).unwrap();
    let expected = [
        (vec![0], 0.2242152466367713, 7.415948439701098e-08),
        (vec![1], 0.6132286995515697, 1.045548886169988e-09),
        (vec![0, 1], 0.1423766816143496, 3.6595443708233635e-06),
    ];
    for (source, (factors, share, p)) in effects.sources.iter().zip(expected) {
        assert_eq!(source.factors, factors);
        close(source.share, share, 1e-10);
        close(source.p.unwrap(), p, 1e-8);
    }
    close(effects.within, 0.02017937219730941, 1e-10);
    assert!(effects.beyond < 1e-12);
    let effect = effects.sources[0].effect.unwrap();
    close(effect.mean, 6.666666666666667, 1e-12);
    close(
        effect.half_width(CONFIDENCE).unwrap(),
        2.9855619650098673,
        1e-10,
    );
    assert!(effects.sources[1].effect.is_none());
}

#[test]
fn effects_of_a_two_level_design_are_twice_the_coefficients_of_a_regression() {
    let values = [60.0, 72.0, 54.0, 68.0, 52.0, 83.0, 45.0, 80.0];
    let levels = |at: u32| [at >> 2 & 1, at >> 1 & 1, at & 1];
    let arms = (0..)
        .zip(values)
        .map(|(at, value)| arm(&levels(at), &[value]));
    let two = ["low", "high"];
    let grid = Grid {
        metric: "v".to_owned(),
        scales: vec![scale("a", &two), scale("b", &two), scale("c", &two)],
        arms: arms.collect(),
    };
    let effects = Effects::of(&grid).unwrap();
    let found: Vec<f64> = effects
        .sources
        .iter()
        .map(|source| source.effect.unwrap().mean)
        .collect();
    assert_eq!(found, [1.5, -5.0, 23.0, 0.0, 10.0, 1.5]);
    let shares: f64 = effects.sources.iter().map(|source| source.share).sum();
    close(shares + effects.beyond, 1.0, 1e-12);
    assert!(effects.sources[0].p.is_none());
}

#[test]
fn a_design_with_a_missing_cell_has_no_effects() {
    let grid = changed(|arms| arms[2].values[1] = f64::NAN);
    assert_eq!(Effects::of(&grid), Err(Unbalanced::Missing));
    let grid = changed(|arms| drop(arms.remove(4)));
    assert_eq!(Effects::of(&grid), Err(Unbalanced::Missing));
}

#[test]
fn a_table_pools_what_is_not_in_it_and_counts_failures() {
    let grid = changed(|arms| {
        arms[0].values[0] = f64::NAN;
        arms[0].failures = 1;
    });
    let pivot = grid.pivot(&[1], Some(0));
    assert_eq!(pivot.columns, [Some(0), Some(1)]);
    assert_eq!(pivot.cells.len(), 3);
    let (row, cells) = &pivot.cells[0];
    assert_eq!(row, &[Some(0)]);
    assert_eq!((cells[0].failures, cells[0].summary.unwrap().n), (1, 2));
    let first = grid.first_rows(&[1], Some(0), 2);
    assert_eq!((&first.cells[..], first.left_out), (&pivot.cells[..2], 1));
    let all = grid.pivot(&[1], None);
    assert_eq!(all.cells[2].1[0].summary.unwrap().mean, 24.5);
    assert_eq!(grid.factor("g"), Some(1));
    assert_eq!(grid.factor("x.f"), Some(0));
    assert_eq!(grid.factor("h"), None);
}

#[test]
fn variance_between_batches_is_that_of_an_analysis_of_variance() {
    let values: [&[f64]; 3] = [&[10.1, 10.3, 9.9], &[11.2, 11.0, 11.5], &[9.0, 9.4, 9.1]];
    let found = batches(&values).unwrap();
    close(found.within, 0.048888888888888954, 1e-10);
    close(found.between, 1.0548148148148166, 1e-10);
    close(found.p, 8.317186368962613e-05, 1e-9);
}
