//! HighSpeed TCP (RFC 3649): steps that grow with the window.
//!
//! Windows w are in segments. Up to `Low_Window` = 38 it is Reno. Above it:
//!
//! * growth per round trip a(w) = w²·p(w)·2·b(w)/(2 − b(w)), with p(w) = 0.078/w^1.2 (section 5);
//! * decrease b(w) = (0.1 − 0.5)·(ln w − ln 38)/(ln 83000 − ln 38) + 0.5.
//!
//! The mean window at loss rate p is then about 0.12/p^0.835 (table 3): 84 000 segments at 1e-7. That
//! formula fits a straight sawtooth around the mean, and p(w) above is its inverse rounded, so the
//! exact fixed point of a(w) and b(w) is lower. With one loss in 1/p segments the window W at the
//! loss follows from ∫ w/a(w) dw = 1/p, over w from (1 − b(W))·W to W; in a connection the round trip
//! of recovery, in which nothing grows, counts as well:
//!
//! | p    | table 3 | exact   | of table 3 | with recovery | of table 3 |
//! |------|---------|---------|------------|---------------|------------|
//! | 1e-4 |     263 |   262.0 |      0.998 |         256.1 |      0.976 |
//! | 1e-5 |   1 795 | 1 790.7 |      0.997 |       1 763.5 |      0.982 |
//! | 1e-6 |  12 279 |  12 214 |      0.995 |        12 088 |      0.984 |
//! | 1e-7 |  83 981 |  83 174 |      0.990 |        82 596 |      0.984 |
//!
//! Connections measured at 1e-4: 254.1 with an ACK for each segment, 251.8 with delayed ACKs, 0.958 of
//! the table (`drive/sim/tests/it/highspeed.rs`).
//!
//! A loss cycle leaves 0.56 of a deviation at 1e-4 and 0.88 at 1e-7: there ten are not enough to settle.
//!
//! This is the RFC's formula, not the integer table of its appendix B that Linux uses (73 rows,
//! steps of one segment per ACK whatever it covers). b(w) is constant from the table's last row
//! on, 94 717 segments, since the formula reaches zero at 568 000. The logarithm is calculated
//! when the window has moved by a segment, not per ACK.

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// `Low_Window` in segments, up to which it is Reno.
const LOW_WINDOW: f64 = 38.0;
/// `High_Window` in segments, where b is `High_Decrease`.
const HIGH_WINDOW: f64 = 83_000.0;
/// `High_Decrease`.
const HIGH_DECREASE: f64 = 0.1;
/// Last row of table 12, segments.
const LAST_ROW: f64 = 94_717.0;
/// Scale of the growth passed to the window.
const SCALE: u64 = 1 << 16;

/// Returns b(w): share of the window that a congestion event takes.
fn decrease(w: f64) -> f64 {
    let above = libm::log(w.clamp(LOW_WINDOW, LAST_ROW) / LOW_WINDOW);
    0.5 + (HIGH_DECREASE - 0.5) * above / libm::log(HIGH_WINDOW / LOW_WINDOW)
}

/// Returns a(w): growth in segments per round trip.
fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = decrease(w);
    (0.078 * libm::pow(w, 0.8) * 2.0 * b / (2.0 - b)).max(1.0)
}

/// A HighSpeed control.
pub(super) fn control(config: &Config) -> Windowed<HighSpeed> {
    Windowed::new(config, HighSpeed { at: 0, step: SCALE })
}

/// The law of HighSpeed TCP.
#[derive(Clone, Debug)]
pub(super) struct HighSpeed {
    /// Window in segments for which `step` was calculated.
    at: u64,
    /// a(w), in 1/[`SCALE`].
    step: u64,
}

impl Law for HighSpeed {
    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        let segments = window.segments();
        if segments as f64 <= LOW_WINDOW {
            window.grow_by_segments(segments, acked);
            return;
        }
        if segments != self.at {
            self.at = segments;
            self.step = (increase(segments as f64) * SCALE as f64) as u64;
        }
        window.grow_by_share(acked, self.step, SCALE);
    }

    fn reduced(&mut self, window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        let b = decrease(in_use as f64 / window.smss as f64);
        in_use - (in_use as f64 * b) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_reaches_the_next_whole_segment_where_table_12_does() {
        // Row n of table 12 has a(w) = n. Its program rounds 0.078 up to 1/12.8, by 0.2 %, and
        // windows to integers: within 1 %.
        let rows = [118, 221, 347, 495, 663, 851, 1058];
        for (row, w) in rows.into_iter().enumerate() {
            let expected = (row + 2) as f64;
            let got = increase(f64::from(w));
            assert!((got / expected - 1.0).abs() < 0.01, "{w}: {got}");
        }
        assert!((increase(LAST_ROW) / 73.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_share_taken_falls_from_a_half_to_a_tenth_and_never_below_the_last_rows() {
        assert_eq!(decrease(1.0), 0.5);
        assert_eq!(decrease(LOW_WINDOW), 0.5);
        assert!((decrease(HIGH_WINDOW) - HIGH_DECREASE).abs() < 1e-12);
        assert!((decrease(1e9) - 0.0931).abs() < 1e-4);
    }
}
