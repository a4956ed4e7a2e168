//! Runs cases: a plan, changed by overrides, under one or more seeds.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gigatcp_path::LossModel;
use gigatcp_plan::{Plan, Scenario};
use gigatcp_record::SeriesRecord;
use gigatcp_run::{Job, Progress};
use gigatcp_theory::cubic::Cubic;
use gigatcp_theory::mathis::{self, MathisConstant};
use gigatcp_units::{Bytes, Duration, Probability};

/// What all cases have in common.
const PLAN: &str = include_str!("path.toml");

/// Octets of IP and TCP headers with timestamps, which are in every segment.
const HEADERS: u32 = 52;

/// What shall run.
pub struct Case {
    /// Unique among those that run together.
    pub name: String,
    /// What is different from the common plan.
    pub overrides: Vec<String>,
}

/// What has run: the scenario it became, and one record per seed.
pub struct Ran {
    pub scenario: Scenario,
    pub records: Vec<SeriesRecord>,
}

/// The plan of a case; `set` are overrides for every case and win.
pub fn plan(case: &Case, set: &[String]) -> Result<Plan, String> {
    let overrides = [&case.overrides[..], set].concat();
    let plan = gigatcp_plan::parse("path.toml", PLAN.as_bytes(), &overrides);
    plan.map_err(|findings| format!("{}:\n{findings}", case.name))
}

/// Runs every case with the seeds 1 to `seeds`, on all cores, and says on a
/// terminal how far it is. The results do not depend on how many cores.
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
    let (done, worlds) = (AtomicUsize::new(0), progress.tasks().len());
    let records = gigatcp_run::run(&job, &AtomicBool::new(false), &progress, &|_| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if std::io::stderr().is_terminal() {
            let end = if done == worlds { "\r" } else { "" };
            eprint!("\r{done} of {worlds} worlds{end}");
            let _ = std::io::stderr().flush();
        }
    });
    let mut records = records.map_err(|error| error.to_string())?.into_iter();
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

/// Octets of application data in a full segment.
pub fn mss(scenario: &Scenario) -> Bytes {
    Bytes::new(u64::from(scenario.sender.mtu - HEADERS))
}

/// The most that theory permits a scenario of one bottleneck, Mbit/s. A round
/// trip is that of the empty path and the service of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// What the link carries of application bytes.
    pub link: f64,
    /// The receive buffer per round trip. Infinite where the buffer fits itself
    /// to the path.
    pub window: f64,
    /// The response function of the congestion control, per round trip: RFC
    /// 9438 section 5, or for Reno the square-root law for random loss.
    /// Infinite without loss.
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

    /// The smallest, and the letter it goes by.
    pub fn least(self) -> (f64, char) {
        let named = [(self.link, 'l'), (self.window, 'w'), (self.response, 'r')];
        let least = named.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        least.expect("three of them")
    }
}

/// Mean window in segments that a control keeps at this loss.
fn response(control: &str, rtt: Duration, p: Probability) -> f64 {
    match control {
        "cubic" => Cubic::default().mean_window(rtt, p),
        _ => mathis::mean_window(MathisConstant::RandomEverySegment, p),
    }
}

/// The random loss of the whole path, small enough to be added up.
pub fn loss(scenario: &Scenario) -> Probability {
    let models = scenario.forward.iter().flat_map(|hop| &hop.loss);
    let each = models.map(|model| match model {
        LossModel::Bernoulli(p) => p.as_f64(),
        _ => 0.0,
    });
    Probability::try_new(each.sum()).unwrap_or_default()
}
