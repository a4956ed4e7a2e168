//! `cargo xtask duel`: the engine against the kernel over the same paths.
//!
//! Every series of `experiments/duel/plan.toml` with five pairings of stacks:
//! both kernels, both engines, each against the other, and both engines in
//! virtual time. The random losses of a series are the same packets by number in
//! all of them, since path and seed are. Then what the issue of it is: engine
//! over kernel, goodput and share of segments sent again, and virtual time over
//! real time.
//!
//! Printed are all figures, then the middle and the extremes of each ratio, and
//! how many lie inside what is asked for. With `--store DIR` the whole records
//! are kept, cwnd and round trip by the plan's sampling step among them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use gigatcp_plan::Plan;
use gigatcp_record::{FlowRecord, SeriesRecord};
use gigatcp_sweep::{Ground, Job, Progress};

const PLAN: &str = include_str!("../../../../experiments/duel/plan.toml");

/// Whose TCP sends and receives, and by which clock.
struct Pairing {
    name: &'static str,
    ground: Ground,
    stacks: [&'static str; 2],
}

const fn pairing(name: &'static str, ground: Ground, stacks: [&'static str; 2]) -> Pairing {
    Pairing {
        name,
        ground,
        stacks,
    }
}

/// In the order in which they run for each series.
const PAIRINGS: [Pairing; 5] = [
    pairing("kernel-kernel", Ground::Live, ["kernel", "kernel"]),
    pairing("engine-engine", Ground::Live, ["engine", "engine"]),
    pairing("engine-kernel", Ground::Live, ["engine", "kernel"]),
    pairing("kernel-engine", Ground::Live, ["kernel", "engine"]),
    pairing("virtual", Ground::VirtualTime, ["engine", "engine"]),
];
const KERNELS: usize = 0;
const ENGINES: usize = 1;
const VIRTUAL: usize = 4;

/// What is looked at of a run.
#[derive(Clone, Copy)]
struct Figures {
    mbps: f64,
    /// Of the segments sent, those sent again, in thousandths.
    resent: f64,
    /// Means of the samples: milliseconds, and segments of 1448 octets.
    rtt: f64,
    cwnd: f64,
}

impl Figures {
    fn of(flow: &FlowRecord) -> Self {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let rtts = flow.samples.iter().filter_map(|sample| sample.srtt_ns);
        let cwnds = flow.samples.iter().map(|sample| sample.cwnd_bytes);
        Self {
            mbps: flow.goodput_bps / 1e6,
            resent: flow.retransmitted_segments as f64 / flow.segments_sent.max(1) as f64 * 1e3,
            rtt: mean(rtts.map(|rtt| rtt as f64 / 1e6).collect()),
            cwnd: mean(cwnds.map(|cwnd| cwnd as f64 / 1448.0).collect()),
        }
    }
}

/// Words of the command line.
struct Words {
    only: Vec<String>,
    repeat: u32,
    set: Vec<String>,
    store: Option<PathBuf>,
}

fn words() -> Result<Words, String> {
    let mut read = Words {
        only: Vec::new(),
        repeat: 1,
        set: Vec::new(),
        store: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
        match word.as_str() {
            "--series" => read.only.push(value()?),
            "--set" => read.set.push(value()?),
            "--store" => read.store = Some(value()?.into()),
            "--repeat" => {
                let value = value()?;
                let number = value.parse().ok().filter(|number| *number > 0);
                read.repeat = number.ok_or(format!("`{value}` is no number of runs"))?;
            }
            odd => {
                return Err(format!(
                    "what is `{odd}`? There are --series NAME, --repeat N, --set KEY=VALUE and \
                     --store DIR"
                ));
            }
        }
    }
    Ok(read)
}

fn main() -> ExitCode {
    let done = words().and_then(|words| measure(&words));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duel: {error}");
            ExitCode::from(2)
        }
    }
}

fn plan(pairing: &Pairing, set: &[String]) -> Result<Plan, String> {
    let [sender, receiver] = pairing.stacks;
    let mut overrides = vec![
        format!("sender.stack={sender}"),
        format!("receiver.stack={receiver}"),
    ];
    overrides.extend_from_slice(set);
    gigatcp_plan::parse("duel", PLAN.as_bytes(), &overrides).map_err(|found| found.to_string())
}

/// Runs one series with one pairing.
fn run(pairing: &Pairing, series: &str, words: &Words) -> Result<Vec<SeriesRecord>, String> {
    let plan = plan(pairing, &words.set)?;
    let job = Job {
        ground: pairing.ground,
        seed: plan.seed,
        repeat: words.repeat,
        plan,
        only: vec![series.to_owned()],
        captures: None,
    };
    if let Some(refusal) = job.refusal() {
        return Err(format!("{}\n  {}", refusal.message, refusal.hint));
    }
    let progress = Progress::of(&job);
    let records = gigatcp_sweep::run(&job, &AtomicBool::new(false), &progress, &|_| {});
    let records = records.map_err(|error| error.to_string())?;
    if let Some(folder) = &words.store {
        let file = folder.join(format!("{series}-{}.json", pairing.name));
        let text = serde_json::to_string(&records).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, text))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(records)
}

/// The runs of one series: by pairing, then by repeat.
type Rows = Vec<Vec<Figures>>;

fn measure(words: &Words) -> Result<(), String> {
    let all = plan(&PAIRINGS[VIRTUAL], &words.set)?.series;
    let wanted = |name: &String| words.only.is_empty() || words.only.contains(name);
    println!(
        "{:<10} {:<46} {:<14} {:>9} {:>9} {:>8} {:>8}  notes",
        "series", "", "", "Mbit/s", "resent ‰", "RTT ms", "cwnd"
    );
    let mut found = Vec::new();
    for series in all.iter().filter(|series| wanted(&series.name)) {
        let mut rows = Rows::new();
        for pairing in &PAIRINGS {
            let records = run(pairing, &series.name, words)?;
            let mut figures = Vec::new();
            for record in &records {
                let row = Figures::of(&record.flows[0]);
                let Figures {
                    mbps,
                    resent,
                    rtt,
                    cwnd,
                } = row;
                println!(
                    "{:<10} {:<46} {:<14} {mbps:9.1} {resent:9.3} {rtt:8.2} {cwnd:8.1}  {}",
                    series.name,
                    series.title,
                    pairing.name,
                    notes(record)
                );
                figures.push(row);
            }
            rows.push(figures);
        }
        found.push(rows);
    }
    if found.is_empty() {
        return Err(format!(
            "no series of those names: {}",
            words.only.join(", ")
        ));
    }
    summary(&found);
    Ok(())
}

/// What disturbed a run.
fn notes(record: &SeriesRecord) -> String {
    let Some(live) = &record.live else {
        return String::new();
    };
    let dropped = live.ways.iter().filter_map(|way| way.dropped_before_path);
    let dropped: u64 = dropped.sum();
    let mut notes = Vec::new();
    if live.stalls > 0 {
        let ms = live.stalled_ns as f64 / 1e6;
        notes.push(format!("the path stood still for {ms:.0} ms"));
    }
    if dropped > 0 {
        notes.push(format!("{dropped} dropped before the path"));
    }
    notes.extend(record.flows[0].failure.clone());
    notes.join("; ")
}

/// A ratio that is asked for: its name, who over whom, of what, and between
/// what.
struct Ratio {
    name: &'static str,
    above: usize,
    below: usize,
    of: fn(&Figures) -> f64,
    between: [f64; 2],
}

const GOODPUT: fn(&Figures) -> f64 = |figures| figures.mbps;
const RESENT: fn(&Figures) -> f64 = |figures| figures.resent;

const RATIOS: [Ratio; 7] = [
    ratio(
        "goodput, both engines / both kernels",
        ENGINES,
        KERNELS,
        GOODPUT,
        [0.95, 1.05],
    ),
    ratio(
        "goodput, engine to kernel / both kernels",
        2,
        KERNELS,
        GOODPUT,
        [0.95, 1.05],
    ),
    ratio(
        "goodput, kernel to engine / both kernels",
        3,
        KERNELS,
        GOODPUT,
        [0.95, 1.05],
    ),
    ratio(
        "resent, both engines / both kernels",
        ENGINES,
        KERNELS,
        RESENT,
        [0.8, 1.25],
    ),
    ratio(
        "resent, engine to kernel / both kernels",
        2,
        KERNELS,
        RESENT,
        [0.8, 1.25],
    ),
    ratio(
        "resent, kernel to engine / both kernels",
        3,
        KERNELS,
        RESENT,
        [0.8, 1.25],
    ),
    ratio(
        "goodput, virtual time / both engines",
        VIRTUAL,
        ENGINES,
        GOODPUT,
        [0.97, 1.03],
    ),
];

const fn ratio(
    name: &'static str,
    above: usize,
    below: usize,
    of: fn(&Figures) -> f64,
    between: [f64; 2],
) -> Ratio {
    Ratio {
        name,
        above,
        below,
        of,
        between,
    }
}

/// The ratios over all series, each of the middles of its repeats.
fn summary(found: &[Rows]) {
    println!(
        "\n{:<44} {:>7} {:>7} {:>7}   inside",
        "ratio", "least", "middle", "most"
    );
    for Ratio {
        name,
        above,
        below,
        of,
        between: [low, high],
    } in &RATIOS
    {
        let middle = |runs: &Vec<Figures>| middle(runs.iter().map(of).collect());
        let pairs = found
            .iter()
            .map(|rows| (middle(&rows[*above]), middle(&rows[*below])));
        // Where nobody sends anything again, both are alike.
        let each = pairs.map(|(above, below)| if above == below { 1.0 } else { above / below });
        let mut each: Vec<f64> = each.collect();
        each.sort_by(f64::total_cmp);
        let inside = each.iter().filter(|value| (*low..=*high).contains(*value));
        println!(
            "{name:<44} {:7.3} {:7.3} {:7.3}   {} of {} in {low} to {high}",
            each[0],
            each[each.len() / 2],
            each[each.len() - 1],
            inside.count(),
            each.len()
        );
    }
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
