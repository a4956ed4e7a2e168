//! Rate of a test without its beginning: slow start recognized from the counters.

use std::time::Duration;

use gigatcp_theory::sample;
use gigatcp_why::counters::Reading;

use super::counters::Role;
use super::outcome::Outcome;

/// Length of an observation: several RTTs of a long path, longer than a burst.
const STEP: Duration = Duration::from_millis(100);

/// Steady part of a direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steady {
    /// Time left out, from the start of the test.
    pub warm_up: Duration,
    /// Rate of the rest, of all streams together, in bit/s of payload.
    pub rate: f64,
}

/// Finds the steady part of a direction with MSER-5.
///
/// The input is the bytes acknowledged (or received, at a receiver) in each 100 ms. `None`: there
/// is none, the test is shorter than 2 s, or it is of UDP.
pub fn steady(outcome: &Outcome, role: Role) -> Option<Steady> {
    let ids = outcome
        .streams
        .iter()
        .filter(|stream| stream.role == role)
        .map(|stream| stream.id);
    let mut sums: Vec<f64> = Vec::new();
    for id in ids {
        let (_, readings) = outcome.samples.streams.iter().find(|(of, _)| *of == id)?;
        let steps = bytes_in_steps(readings, role);
        let length = if sums.is_empty() {
            steps.len()
        } else {
            sums.len().min(steps.len())
        };
        sums.resize(length, 0.0);
        for (sum, bytes) in sums.iter_mut().zip(steps) {
            *sum += bytes;
        }
    }
    let cut = sample::warm_up(&sums)?;
    let rest = &sums[cut..];
    let seconds = STEP.as_secs_f64() * rest.len() as f64;
    Some(Steady {
        warm_up: STEP * cut as u32,
        rate: 8.0 * rest.iter().sum::<f64>() / seconds,
    })
}

/// Bytes in each step, interpolated between readings.
fn bytes_in_steps(readings: &[Reading], role: Role) -> Vec<f64> {
    let points = readings.iter().filter_map(|reading| {
        let bytes = match role {
            Role::Sender => reading.bytes_acked,
            Role::Receiver => reading.bytes_received,
        };
        Some((reading.at.as_secs_f64(), bytes?.as_u64() as f64))
    });
    let points: Vec<(f64, f64)> = points.collect();
    let Some((last, _)) = points.last() else {
        return Vec::new();
    };
    let steps = (last / STEP.as_secs_f64()) as usize;
    let at = |time: f64| {
        let after = points.partition_point(|(at, _)| *at < time);
        match (
            after.checked_sub(1).map(|before| points[before]),
            points.get(after),
        ) {
            (Some((t0, b0)), Some((t1, b1))) if *t1 > t0 => {
                b0 + (b1 - b0) * (time - t0) / (t1 - t0)
            }
            (Some((_, bytes)), _) => bytes,
            (None, Some((_, bytes))) => *bytes,
            (None, None) => 0.0,
        }
    };
    let edges: Vec<f64> = (0..=steps)
        .map(|step| at(step as f64 * STEP.as_secs_f64()))
        .collect();
    edges.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[cfg(test)]
mod tests {
    use gigatcp_units::{Bytes, Duration as Span, Instant};

    use super::*;

    #[test]
    fn bytes_between_readings_are_interpolated() {
        let reading = |ms: u64, bytes: u64| Reading {
            at: Instant::ZERO + Span::from_millis(ms),
            bytes_acked: Some(Bytes::new(bytes)),
            ..Reading::default()
        };
        let readings = [reading(0, 0), reading(150, 1500), reading(300, 1500)];
        let steps = bytes_in_steps(&readings, Role::Sender);
        assert_eq!(steps.len(), 2);
        assert!((steps[0] - 1000.0).abs() < 1e-6 && (steps[1] - 500.0).abs() < 1e-6);
    }
}
