//! Mean waits in front of a link, compared with queueing theory.
//!
//! Packets arrive as a Poisson process at load `rho`. In units of the mean service time
//! the mean wait is `rho/(1 - rho)` if sizes are exponential (M/M/1), half of that if they
//! are equal (M/D/1): Pollaczek and Khinchine.
//!
//! At a load of 0.9 the plain mean needs 4*10^7 packets for three standard errors within
//! 1 %. Here each wait W is weighted by U/E[U], with U the service time minus the gap to
//! the next arrival. U is independent of W, so the expectation stays the mean wait, while
//! most of the variance goes. The standard error is measured by batches.

use gigatcp_path::{Hop, HopConfig, Parcel};
use gigatcp_units::random::Stream;
use gigatcp_units::{Instant, Rate};

/// Mean IP bytes of a packet. At 8 Gbit/s its service takes as many nanoseconds.
const SIZE: f64 = 1e6;

/// Batches from which the standard error is measured.
const BATCHES: usize = 20;

/// A packet that carries the data for weighting its wait.
#[derive(Clone, Copy, Debug)]
struct Customer {
    arrived: Instant,
    bytes: u64,
    /// Nanoseconds from its arrival to the next one.
    gap: f64,
}

impl Parcel for Customer {
    fn wire_packets(&self) -> usize {
        1
    }

    fn ip_bytes(&self) -> u64 {
        self.bytes
    }

    fn leading_ip_bytes(&self) -> u64 {
        self.bytes
    }

    fn split_front(&mut self, _: usize) -> Self {
        unreachable!("one wire packet")
    }
}

/// Distribution of packet sizes.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    Equal,
    Exponential,
}

impl Sizes {
    fn draw(self, random: &mut Stream) -> u64 {
        match self {
            Self::Equal => SIZE as u64,
            Self::Exponential => random.exponential(SIZE).round() as u64,
        }
    }

    /// Mean wait in service times.
    fn mean_wait(self, load: f64) -> f64 {
        match self {
            Self::Equal => load / (2.0 * (1.0 - load)),
            Self::Exponential => load / (1.0 - load),
        }
    }
}

/// Mean and standard error of equally long batches' means.
fn mean_and_error(batches: &[f64]) -> (f64, f64) {
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// Estimates the mean wait in service times, with its standard error.
fn measure(mut hop: Hop<Customer>, sizes: Sizes, load: f64, packets: usize) -> (f64, f64) {
    let mut random = Stream::new(1, "customers", 0);
    let drift = SIZE - SIZE / load;
    let mut batches = [0.0; BATCHES];
    let per_batch = packets / BATCHES;
    let (mut now, mut served) = (0.0, 0);
    while served < packets {
        let arrived = Instant::from_nanos(now as u64);
        while let Some(due) = hop.poll_timeout().filter(|due| *due <= arrived) {
            let Some(customer) = hop.poll_delivery(due) else {
                continue;
            };
            let inside = due.saturating_since(customer.arrived).as_nanos();
            let wait = inside as f64 - customer.bytes as f64;
            let weight = (customer.bytes as f64 - customer.gap) / drift;
            if served < packets {
                batches[served / per_batch] += wait * weight / SIZE / per_batch as f64;
            }
            served += 1;
        }
        let bytes = sizes.draw(&mut random);
        let gap = random.exponential(SIZE / load);
        let customer = Customer {
            arrived,
            bytes,
            gap,
        };
        hop.handle_arrival(arrived, customer);
        now += gap;
    }
    mean_and_error(&batches)
}

fn link() -> HopConfig {
    HopConfig {
        rate: Some(Rate::from_bps(8_000_000_000)),
        ..HopConfig::default()
    }
}

/// Both the estimate and three standard errors of it must be within 1 %.
fn check(hop: Hop<Customer>, sizes: Sizes, load: f64, packets: usize) {
    let expected = sizes.mean_wait(load);
    let (mean, error) = measure(hop, sizes, load, packets);
    assert!(
        3.0 * error <= 0.01 * expected,
        "{sizes:?} {load}: {packets} packets give {mean} +- {error}"
    );
    assert!(
        (mean / expected - 1.0).abs() <= 0.01,
        "{sizes:?} {load}: {mean} +- {error} instead of {expected}"
    );
}

#[test]
fn packets_of_one_size_wait_as_in_an_m_d_1_queue() {
    for (load, packets) in [(0.5, 1_000_000), (0.75, 700_000), (0.9, 1_000_000)] {
        check(Hop::new(link(), 1).unwrap(), Sizes::Equal, load, packets);
    }
}

/// Uses the form of the link whose departures are not known on arrival.
#[test]
fn packets_of_exponential_sizes_wait_as_in_an_m_m_1_queue() {
    for (load, packets) in [(0.5, 1_400_000), (0.75, 1_400_000), (0.9, 2_000_000)] {
        let hop = Hop::changeable(link(), 1).unwrap();
        check(hop, Sizes::Exponential, load, packets);
    }
}
