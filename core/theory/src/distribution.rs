//! Student's t and F: tail probabilities and quantiles.
//!
//! The incomplete beta function is evaluated by its continued fraction, and quantiles are found
//! by bisection.

/// Quantile of Student's t distribution at `p` of one half and above.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    debug_assert!(
        (0.5..1.0).contains(&p) && freedom > 0.0,
        "the upper half of a distribution with freedom: {p} at {freedom}"
    );
    let tails = 2.0 * (1.0 - p);
    bisected(|t| t_two_tails(t, freedom) > tails)
}

/// Two-sided tail probability of a t.
fn t_two_tails(t: f64, freedom: f64) -> f64 {
    debug_assert!(
        freedom > 0.0,
        "Student's t has a degree of freedom: {freedom}"
    );
    beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// Upper tail probability of an F.
pub fn f_tail(f: f64, above: f64, below: f64) -> f64 {
    debug_assert!(
        above > 0.0 && below > 0.0,
        "both variances have a degree of freedom: {above}, {below}"
    );
    match f.is_nan() {
        true => f64::NAN,
        false if f.is_infinite() => 0.0,
        false => beta(below / 2.0, above / 2.0, below / (below + above * f)),
    }
}

/// Positive value below which `is_below` holds, by bisection.
fn bisected(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while is_below(high) && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    debug_assert!(low < high, "a value between two others: {low}, {high}");
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Regularized incomplete beta function, by its continued fraction. Abramowitz and Stegun 26.5.8,
/// evaluated from the front (Lentz 1976).
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = libm::exp(front + a * libm::log(x) + b * libm::log1p(-x));
    // The continued fraction converges fast on one side of the mean.
    let share = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    };
    debug_assert!(
        (-1e-9..=1.0 + 1e-9).contains(&share),
        "the regularized beta function is a probability: {share} at {x} with {a}, {b}"
    );
    share
}

/// Continued fraction of the incomplete beta function.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| {
        if libm::fabs(value) < TINY {
            TINY
        } else {
            value
        }
    };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for step in 1..500 {
        let m = f64::from(step);
        let terms = [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ];
        let mut change = 1.0;
        for term in terms {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            change = d * c;
            h *= change;
        }
        if libm::fabs(change - 1.0) < 1e-15 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::assert_close;

    /// Table of Student's t, 95 and 99 % two-sided (Fisher and Yates).
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (5.0, 2.571, 4.032),
            (10.0, 2.228, 3.169),
            (30.0, 2.042, 2.750),
            (120.0, 1.980, 2.617),
        ];
        for (df, p95, p99) in table {
            assert_close(t_quantile(0.975, df), p95, 3e-4);
            assert_close(t_quantile(0.995, df), p99, 3e-4);
        }
    }
}
