//! Flows that begin during a run: their times and sizes.
//!
//! Times between flows are exponential (a Poisson process) or fixed. They are given as
//! a mean time, or as a load of a link of rate C (goodput, without headers):
//!
//! ```text
//! every = 8 mean / (load C)                                             (1)
//! ```
//!
//! with the mean of the size distribution ([`draws`](crate::draws)). The sizes of N
//! flows vary around their mean by cv/sqrt(N): with web search (cv 2.32) 10^4 flows
//! offer the load within 2.3 % (one standard deviation).

use gigatcp_units::random::Stream;
use gigatcp_units::settings::Parameter;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::dialog::purpose;
use crate::draws::{DATA_MINING, Draws, Law, WEB_SEARCH};
use crate::registry::{Build, Entry, Make};

/// Entry of the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "arrivals",
    summary: "flows that begin at random times, with sizes from a distribution",
    parameters: &[
        EVERY,
        LOAD,
        RATE,
        FIXED,
        SIZE,
        WEB_SEARCH_SIZES,
        DATA_MINING_SIZES,
        PARETO,
        EXPONENTIAL,
        COUNT,
        FOR,
    ],
    make: Make::Arrivals(Arrivals::of),
};

const EVERY: Parameter = Parameter::time(
    "every",
    Some(Duration::from_millis(10)),
    "mean time between flows, unless a load is given",
);
const LOAD: Parameter = Parameter::number(
    "load",
    None,
    (1e-6, 10.0),
    "mean goodput of all flows, as a share of `rate`",
);
const RATE: Parameter = Parameter::rate(
    "rate",
    Some(Rate::from_bps(1_000_000_000)),
    "rate that the load is a share of",
);
const FIXED: Parameter = Parameter::flag("fixed", "times between flows are equal");
const SIZE: Parameter = Parameter::octets("size", Some(100_000), "mean bytes of a flow");
const WEB_SEARCH_SIZES: Parameter = Parameter::flag(
    "web_search",
    "sizes of web search (DCTCP, 2010), mean 1.71 MB",
);
const DATA_MINING_SIZES: Parameter = Parameter::flag(
    "data_mining",
    "sizes of data mining (VL2, 2009), mean 12.66 MB",
);
const PARETO: Parameter = Parameter::number(
    "pareto",
    None,
    (1.01, 100.0),
    "sizes have a Pareto distribution with this index",
);
const EXPONENTIAL: Parameter = Parameter::flag("exponential", "sizes are exponential");
const COUNT: Parameter = Parameter::count("count", None, 1 << 40, "number of flows");
const FOR: Parameter = Parameter::time(
    "for",
    None,
    "how long flows begin; off: to the end of the run",
);

/// A flow that begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Time at which it begins.
    pub at: Instant,
    /// Bytes that it carries.
    pub size: Bytes,
}

/// Flows in the order in which they begin. The first begins at zero plus one draw.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrivals {
    every: Draws,
    sizes: Draws,
    last: Instant,
    left: u64,
    until: Instant,
}

impl Arrivals {
    /// An unlimited sequence of flows with these distributions (times in seconds, sizes in bytes).
    pub fn new(every: Law, sizes: Law, seed: u64, name: &str) -> Self {
        let draws = |law, purpose| Draws::new(law, Stream::new(seed, name, purpose));
        Self {
            every: draws(every, purpose::ARRIVAL),
            sizes: draws(sizes, purpose::SIZE),
            last: Instant::ZERO,
            left: u64::MAX,
            until: Instant::FAR_FUTURE,
        }
    }

    fn of(build: &Build<'_>) -> Self {
        let settings = build.settings;
        let mean = settings.whole(&SIZE) as f64;
        let shape = settings.number(&PARETO);
        let sizes = if settings.flag(&WEB_SEARCH_SIZES) {
            Law::Table(WEB_SEARCH)
        } else if settings.flag(&DATA_MINING_SIZES) {
            Law::Table(DATA_MINING)
        } else if shape > 1.0 {
            Law::Pareto { mean, shape }
        } else {
            Law::of_mean(mean, settings.flag(&EXPONENTIAL))
        };
        let load = settings.number(&LOAD);
        let every = match settings.rate(&RATE) {
            Some(rate) if load > 0.0 => Self::time_for_load(load, rate, sizes),
            _ => settings.time(&EVERY),
        };
        let every = Law::of_mean(every.as_secs_f64(), !settings.flag(&FIXED));
        let until = settings.maybe_time(&FOR);
        Self {
            left: settings.maybe_whole(&COUNT).unwrap_or(u64::MAX),
            until: until.map_or(Instant::FAR_FUTURE, |span| Instant::ZERO + span),
            ..Self::new(every, sizes, build.seed, build.name)
        }
    }

    /// Mean time between flows of these sizes that load a link, equation (1).
    pub fn time_for_load(load: f64, rate: Rate, sizes: Law) -> Duration {
        Duration::from_secs_f64(8.0 * sizes.mean() / (load * rate.as_bps() as f64))
    }

    /// Whether their number or duration is limited.
    pub fn is_finite(&self) -> bool {
        self.left != u64::MAX || self.until != Instant::FAR_FUTURE
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.left = self.left.checked_sub(1)?;
        self.last = self.every.next_after(self.last);
        let size = Bytes::new(self.sizes.octets());
        let at = self.last;
        (at < self.until).then_some(Arrival { at, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn arrivals(text: &str) -> Arrivals {
        registry::read(text).unwrap().arrivals(1, "mice").unwrap()
    }

    #[test]
    fn a_load_is_offered_within_its_deviation() {
        let flows = arrivals("arrivals, load 60 %, rate 10 Gbit/s, web_search, count 100000");
        assert_eq!(libm::round(flows.sizes.law().mean()), 1_711_250.0);
        let all: alloc::vec::Vec<Arrival> = flows.collect();
        assert_eq!(all.len(), 100_000);
        let octets: u64 = all.iter().map(|flow| flow.size.as_u64()).sum();
        let bps = octets as f64 * 8.0 / all.last().unwrap().at.as_secs_f64();
        assert!((bps / 6e9 - 1.0).abs() < 0.02, "{bps}");
    }

    /// Exponential distances: their coefficient of variation is one. The number of flows per second
    /// has the variance of its mean.
    #[test]
    fn arrivals_are_poisson_unless_fixed() {
        let mut counts = [0_u32; 1000];
        let mut last = Instant::ZERO;
        let (mut sum, mut squares) = (0.0, 0.0);
        for flow in arrivals("arrivals, every 10 ms, for 1000 s") {
            let gap = (flow.at - last).as_secs_f64();
            sum += gap;
            squares += gap * gap;
            last = flow.at;
            counts[flow.at.as_secs_f64() as usize] += 1;
        }
        let n = f64::from(counts.iter().sum::<u32>());
        assert!((n / 100_000.0 - 1.0).abs() < 0.01, "{n}");
        let cv = (squares / n / (sum / n).powi(2) - 1.0).sqrt();
        assert!((cv - 1.0).abs() < 0.02, "{cv}");
        let mean = n / 1000.0;
        let deviations = counts.iter().map(|c| (f64::from(*c) - mean).powi(2));
        let dispersion = deviations.sum::<f64>() / 1000.0 / mean;
        assert!((dispersion - 1.0).abs() < 0.15, "{dispersion}");
        let fixed = arrivals("arrivals, every 10 ms, fixed, count 3");
        let times: alloc::vec::Vec<u64> = fixed.map(|flow| flow.at.as_nanos()).collect();
        assert_eq!(times, [10_000_000, 20_000_000, 30_000_000]);
    }

    #[test]
    fn sizes_have_the_mean_that_is_set() {
        for law in ["exponential", "pareto 3", "fixed"] {
            let flows = arrivals(&alloc::format!("arrivals, size 50 kB, {law}, count 200000"));
            let octets: u64 = flows.map(|flow| flow.size.as_u64()).sum();
            let mean = octets as f64 / 200_000.0;
            assert!((mean / 50e3 - 1.0).abs() < 0.01, "{law}: {mean}");
        }
    }
}
