//! Runs cases: a plan, changed by overrides, under one or more seeds.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gigatcp_path::LossModel;
use gigatcp_plan::record::SeriesRecord;
use gigatcp_plan::{Plan, Scenario};
use gigatcp_run::{Job, Progress};
use gigatcp_theory::cubic::Cubic;
use gigatcp_theory::mathis::{self, MathisConstant};
use gigatcp_units::{Bytes, Duration, Probability};

/// Common plan of all cases.
const PLAN: &str = include_str!("path.toml");

/// Bytes of IP and TCP headers with timestamps, which are in every segment.
const HEADERS: u32 = 52;

/// A case to be run.
pub struct Case {
    /// Unique name in a run.
    pub name: String,
    /// Differences from the common plan.
    pub overrides: Vec<String>,
}

/// A case that was run: its scenario, and one record per seed.
pub struct Ran {
    pub scenario: Scenario,
    pub records: Vec<SeriesRecord>,
}

/// Plan of a case; `set` are overrides for every case and take precedence.
pub fn plan(case: &Case, set: &[String]) -> Result<Plan, String> {
    let overrides = [&case.overrides[..], set].concat();
    let plan = gigatcp_plan::parse("path.toml", PLAN.as_bytes(), &overrides);
    plan.map_err(|findings| format!("{}:\n{findings}", case.name))
}

/// Runs every case with the seeds 1 to `seeds`, on all cores.
///
/// It prints progress to a terminal. The results do not depend on the number of cores.
pub fn run(cases: &[Case], set: &[String], seeds: u32) -> Result<Vec<Ran>, String> {
    let mut all = plan(&cases[0], set)?;
    all.series.clear();
    for case in cases {
        let mut series = plan(case, set)?.series;
        series.truncate(1);
        series[0].name = case.name.clone();
        all.series.append(&mut series);
    }
    let scenarios: Vec<Scenario> = all.series.iter().map(|s| s.scenario.clone()).collect();
    let job = Job {
        repeat: seeds,
        ..Job::of(all)
    };
    let progress = Progress::of(&job);
    let (finished, worlds) = (AtomicUsize::new(0), progress.tasks().len());
    let mut records = gigatcp_run::run(&job, &AtomicBool::new(false), &progress, &|_| {
        let done = finished.fetch_add(1, Ordering::Relaxed) + 1;
        if std::io::stderr().is_terminal() {
            let end = if done == worlds { "\r" } else { "" };
            eprint!("\r{done} of {worlds} worlds{end}");
            let _ = std::io::stderr().flush();
        }
    })
    .map_err(|error| error.to_string())?
    .into_iter();
    let ran = scenarios.into_iter().map(|scenario| Ran {
        scenario,
        records: records.by_ref().take(seeds as usize).collect(),
    });
    Ok(ran.collect())
}

/// Goodput of the only flow in Mbit/s.
pub fn goodput(record: &SeriesRecord) -> f64 {
    record.flows[0].goodput_bps / 1e6
}

/// Bytes of application data in a full segment.
pub fn mss(scenario: &Scenario) -> Bytes {
    Bytes::new(u64::from(scenario.sender.mtu - HEADERS))
}

/// Theoretical limits of a scenario with one bottleneck, in Mbit/s.
///
/// An RTT is that of the empty path plus the service time of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Application bytes that the link carries.
    pub link: f64,
    /// Receive buffer per RTT. Infinite if the buffer is autotuned.
    pub window: f64,
    /// Response function of the congestion control, per RTT. Infinite without loss.
    ///
    /// RFC 9438 section 5, or for Reno the square-root law for random loss.
    pub response: f64,
}

impl Bounds {
    pub fn of(scenario: &Scenario) -> Self {
        let hop = &scenario.forward[0];
        let rate = hop.rate.map_or(f64::INFINITY, |rate| rate.as_bps() as f64);
        let mss = mss(scenario);
        let packet = Bytes::new(u64::from(scenario.sender.mtu)) + hop.link_overhead;
        let rtt = scenario.base_rtt();
        let round_trip = rtt.as_secs_f64() + packet.as_bits_f64() / rate;
        let flow = &scenario.flows[0];
        let window = flow
            .receive_buffer
            .map_or(f64::INFINITY, Bytes::as_bits_f64);
        let segments = response(flow.congestion.name(), rtt, loss(scenario));
        Self {
            link: rate * mss.as_bits_f64() / packet.as_bits_f64() / 1e6,
            window: window / round_trip / 1e6,
            response: segments * mss.as_bits_f64() / round_trip / 1e6,
        }
    }

    /// Smallest limit, and its letter.
    pub fn least(self) -> (f64, char) {
        let named = [(self.link, 'l'), (self.window, 'w'), (self.response, 'r')];
        let least = named.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        least.expect("three of them")
    }
}

/// Mean window in segments of a control at this loss.
fn response(control: &str, rtt: Duration, p: Probability) -> f64 {
    match control {
        "cubic" => Cubic::default().mean_window(rtt, p),
        _ => mathis::mean_window(MathisConstant::RandomEverySegment, p),
    }
}

/// Random loss of the whole path, small enough to be added up.
pub fn loss(scenario: &Scenario) -> Probability {
    let models = scenario.forward.iter().flat_map(|hop| &hop.loss);
    let each = models.map(|model| match model {
        LossModel::Bernoulli(p) => p.as_f64(),
        _ => 0.0,
    });
    Probability::try_new(each.sum()).unwrap_or_default()
}
