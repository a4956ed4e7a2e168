//! `cargo xtask duel --twins N`: profile `linux-6.18` in virtual time against the running kernel,
//! over plans drawn from a seed.
//!
//! Each plan has its own rate, RTT, queue, random loss, buffers, control, and number of flows. It
//! runs with the kernel at both ends, and in virtual time with the profile as it is: no other
//! setting. Both use the same seeds, one per repeat, so random losses are the same packets by
//! number.
//!
//! With `--store DIR` the kernel's records are kept there and read the next time. So an interrupted
//! measurement continues, and a changed engine is compared with the same runs of the kernel.
//!
//! Printed for each plan: goodput, retransmissions, ACKs per segment, and the smallest share among
//! several flows. A star marks a mean of virtual time outside the range of the kernel's own
//! repeats.

use std::fs;
use std::path::Path;

use gigatcp_plan::Plan;
use gigatcp_record::SeriesRecord;
use gigatcp_units::random::Stream;

use crate::words::Words;
use crate::{KERNELS, PAIRINGS, Pairing, VIRTUAL, least_disturbed};

/// Controls that the kernel has too, in turn.
const CONTROLS: [&str; 3] = ["reno", "cubic-linux", "bbr"];

/// Numbers of flows, in turn after each round of controls.
const FLOWS: [u32; 6] = [1, 2, 1, 4, 1, 8];

/// Buffers, drawn: the kernel's own, or requested.
const BUFFERS: [Option<&str>; 6] = [
    None,
    None,
    None,
    Some("128 KiB"),
    Some("512 KiB"),
    Some("2 MiB"),
];

/// Probability that a plan has random losses.
const LOSSY: f64 = 0.4;

/// Required ranges of goodput and of retransmissions, virtual time over kernel.
const GOODPUT: [f64; 2] = [0.95, 1.05];
const RESENT: [f64; 2] = [0.8, 1.25];

/// Text and title of a drawn plan.
struct Draw {
    text: String,
    title: String,
}

impl Draw {
    fn new(seed: u64, number: u32) -> Self {
        let mut stream = Stream::new(seed, "twins", u64::from(number));
        let mut between = |low: f64, high: f64| low * (high / low).powf(stream.uniform());
        let rate = between(3.0, 600.0);
        let rtt = between(2.0, 120.0);
        let queue = between(0.2, 4.0).max(10.0 * 12_000.0 / (rate * rtt * 1e3));
        let loss = between(2e-5, 2e-2);
        let loss = if stream.uniform() < LOSSY { loss } else { 0.0 };
        let buffer = BUFFERS[(stream.uniform() * BUFFERS.len() as f64) as usize];
        let control = CONTROLS[number as usize % CONTROLS.len()];
        let flows = FLOWS[number as usize / CONTROLS.len() % FLOWS.len()];
        let title = format!(
            "{control} x{flows}, {rate:.1} Mbit/s, {rtt:.1} ms, {queue:.2} BDP, loss {loss:.1e}, \
             buffers {}",
            buffer.unwrap_or("auto")
        );
        let requested = buffer.map_or(String::new(), |size| format!("buffer = \"{size}\"\n"));
        let text = format!(
            "name = \"twins\"\ntitle = \"{title}\"\nseed = {seed}\n\
             [path]\nrate = \"{rate:.2} Mbit/s\"\nrtt = \"{rtt:.2} ms\"\n\
             queue = \"{queue:.3} BDP\"\nloss = {loss:.7}\n\
             [sender]\nprofile = \"linux-6.18\"\n{requested}\
             [receiver]\nprofile = \"linux-6.18\"\n{requested}\
             [[flow]]\ncount = {flows}\nduration = \"8 s\"\ncongestion_control = \"{control}\"\n"
        );
        Self { text, title }
    }

    fn plan(&self, pairing: &Pairing, set: &[String]) -> Result<Plan, String> {
        let mut overrides = pairing.overrides();
        overrides.extend_from_slice(set);
        gigatcp_plan::parse("twins", self.text.as_bytes(), &overrides)
            .map_err(|found| found.to_string())
    }
}

/// Figures of one run, of all its flows.
#[derive(Clone, Copy)]
struct Run {
    mbps: f64,
    resent: f64,
    acks: f64,
    /// Smallest goodput of a flow over the mean.
    share: f64,
}

impl Run {
    fn of(record: &SeriesRecord) -> Self {
        let sum = |of: fn(&gigatcp_record::FlowRecord) -> f64| -> f64 {
            record.flows.iter().map(of).sum()
        };
        let total = sum(|flow| flow.goodput_bps);
        let goodputs = record.flows.iter().map(|flow| flow.goodput_bps);
        let least = goodputs.fold(f64::INFINITY, f64::min);
        Self {
            mbps: total / 1e6,
            resent: sum(|flow| flow.retransmitted_segments as f64),
            acks: sum(|flow| flow.acks_sent as f64)
                / sum(|flow| flow.segments_sent as f64).max(1.0),
            share: least * record.flows.len() as f64 / total.max(1.0),
        }
    }
}

/// Mean and range of one quantity over the repeats.
#[derive(Clone, Copy)]
struct Spread {
    mean: f64,
    range: [f64; 2],
}

impl Spread {
    fn of(runs: &[Run], quantity: fn(&Run) -> f64) -> Self {
        let values = || runs.iter().map(quantity);
        Self {
            mean: values().sum::<f64>() / runs.len() as f64,
            range: [
                values().fold(f64::INFINITY, f64::min),
                values().fold(0.0, f64::max),
            ],
        }
    }

    fn contains(&self, value: f64) -> bool {
        (self.range[0]..=self.range[1]).contains(&value)
    }
}

/// Runs all plans and prints the comparison.
pub(crate) fn measure(count: u32, words: &Words) -> Result<(), String> {
    let mut inside = [0_u32; 4];
    println!(
        "each: kernel's mean [range], virtual time, ratio; * outside the kernel's range\n{:<3} {:<78}",
        "", "plan"
    );
    for number in 0..count {
        let draw = Draw::new(words.seed, number);
        let runs = |pairing| runs_of(pairing, &draw, number, words);
        let kernel = runs(&PAIRINGS[KERNELS])?;
        let twin = runs(&PAIRINGS[VIRTUAL])?;
        let compare = |quantity: fn(&Run) -> f64| {
            let (kernel, twin) = (Spread::of(&kernel, quantity), Spread::of(&twin, quantity));
            let ratio = if kernel.mean == twin.mean {
                1.0
            } else {
                twin.mean / kernel.mean
            };
            (kernel, twin.mean, ratio)
        };
        let goodput = compare(|run| run.mbps);
        let resent = compare(|run| run.resent);
        println!("{number:<3} {}", draw.title);
        for (name, (kernel, twin, ratio)) in [
            ("Mbit/s", goodput),
            ("resent", resent),
            ("ACKs/seg", compare(|run| run.acks)),
            ("min share", compare(|run| run.share)),
        ] {
            let [low, high] = kernel.range;
            let star = if kernel.contains(twin) { "" } else { "*" };
            println!(
                "    {name:<10} {:9.3} [{low:9.3} {high:9.3}] {twin:9.3}  {ratio:6.3}{star}",
                kernel.mean
            );
        }
        let is_in = |[low, high]: [f64; 2], ratio: f64| u32::from((low..=high).contains(&ratio));
        inside[0] += is_in(GOODPUT, goodput.2);
        inside[1] += is_in(RESENT, resent.2);
        inside[2] += u32::from(goodput.0.contains(goodput.1));
        inside[3] += u32::from(resent.0.contains(resent.1));
    }
    let [goodput, resent, own_goodput, own_resent] = inside;
    println!(
        "\nof {count}: goodput within {GOODPUT:?}: {goodput}, retransmissions within {RESENT:?}: \
         {resent}\ninside the kernel's own range: goodput {own_goodput}, retransmissions {own_resent}"
    );
    Ok(())
}

/// Returns the runs of a plan with one pairing. Those of the kernel come from the store if they are
/// there.
fn runs_of(pairing: &Pairing, draw: &Draw, number: u32, words: &Words) -> Result<Vec<Run>, String> {
    let is_live = pairing.stacks[0] == "kernel";
    let kept = words.store.as_ref().filter(|_| is_live);
    (0..words.repeat)
        .map(|repeat| {
            let file = kept.map(|store| store.join(format!("{}-{number}-{repeat}", words.seed)));
            if let Some(record) = file.as_deref().and_then(|file| stored(file, draw)) {
                return record.map(|record| Run::of(&record));
            }
            let set: &[String] = if is_live { &[] } else { &words.set };
            let plan = draw.plan(pairing, set)?;
            let record = least_disturbed(pairing, &plan, None, repeat, words)?.record;
            if let Some(file) = &file {
                store(file, draw, &record)?;
            }
            Ok(Run::of(&record))
        })
        .collect()
}

/// Returns the stored record of a run; `None` if there is none.
fn stored(file: &Path, draw: &Draw) -> Option<Result<SeriesRecord, String>> {
    let text = fs::read_to_string(file.with_extension("toml")).ok()?;
    if text != draw.text {
        let what = format!("{} has another plan: use another --store", file.display());
        return Some(Err(what));
    }
    let json = fs::read_to_string(file.with_extension("json")).ok()?;
    Some(serde_json::from_str(&json).map_err(|error| format!("{}: {error}", file.display())))
}

fn store(file: &Path, draw: &Draw, record: &SeriesRecord) -> Result<(), String> {
    let json = serde_json::to_string(record).map_err(|error| error.to_string())?;
    let directory = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(file.with_extension("json"), json))
        .and_then(|()| fs::write(file.with_extension("toml"), &draw.text))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}
