//! Stored captures of kernel connections in `kept/`: one small case of each family. No weight was
//! fitted to their seeds. Counters prove each cause (`label.json`); `cargo xtask grade --make`
//! makes such cases, and `--kernels` grades many more.

use std::path::Path;
use std::sync::OnceLock;

use gigatcp_grade::dataset::{Observed, PLACES, of_case};
use gigatcp_grade::kernels::corpus::{CaseDir, Corpus};
use gigatcp_grade::matrix::Matrix;
use gigatcp_grade::rates::RateScore;
use rayon::prelude::*;

fn cases() -> Vec<CaseDir> {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("kept");
    Corpus::open(&at).expect("the cases are there")
}

/// Results of all cases, computed once for all tests.
fn observed() -> &'static [(CaseDir, Vec<Observed>)] {
    static ALL: OnceLock<Vec<(CaseDir, Vec<Observed>)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let each = cases().into_par_iter().map(|case| {
            let observed = of_case(&case).expect("a case that can be read");
            (case, observed)
        });
        each.collect()
    })
}

/// Minimum share of correct answers at each capture point, in the order of [`PLACES`]. It is the
/// share reached, minus one case. The goals are higher: 0.95, 0.9, 0.9, 0.95.
const MIN_RIGHT: [f64; 4] = [0.85, 0.81, 0.85, 0.87];

/// Minimum precision of answers with a confidence of at least 0.825; the goal is 0.97.
const MIN_PRECISION: f64 = 0.94;

#[test]
fn causes_of_kernels_connections_are_found_at_every_place() {
    let cases = observed();
    assert!(cases.len() >= 50, "{} cases", cases.len());
    for (place, name) in PLACES.into_iter().enumerate() {
        let mut matrix = Matrix::new(name);
        let observed = cases.iter().flat_map(|(_, observed)| observed);
        let asked = observed.filter(|capture| capture.second.is_none());
        for one in asked.filter(|capture| capture.place == place) {
            matrix.add(one);
        }
        let (_, precision) = matrix.precision(0.825);
        assert!(matrix.right() >= MIN_RIGHT[place], "{matrix}");
        assert!(precision >= MIN_PRECISION, "{matrix}");
    }
}

#[test]
fn the_path_of_acks_is_never_blamed_where_no_ack_was_lost_or_late() {
    let healthy = observed()
        .iter()
        .filter(|(case, _)| case.label.acks_lost + case.label.acks_delayed == 0);
    assert!(healthy.clone().count() >= 30);
    for one in healthy.flat_map(|(_, observed)| observed) {
        assert_ne!(one.said, "ack-path", "{}: {}", one.name, one.account);
    }
}

#[test]
fn rates_are_finite_and_never_below_the_connections_own() {
    let mut score = RateScore::default();
    for one in observed().iter().flat_map(|(_, observed)| observed) {
        score.add(one);
        let is_finite = one
            .capacity
            .is_none_or(|(capacity, _)| capacity.is_finite());
        assert!(is_finite, "{}", one.name);
    }
    assert_eq!(score.below_own, 0, "{score}");
    let (stated, right) = score.bounds;
    assert!(right * 100 >= stated * 90, "{score}");
    let (stated, right) = score.costs;
    assert!(right * 100 >= stated * 90, "{score}");
}
