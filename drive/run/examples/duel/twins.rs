//! `cargo xtask duel --twins N`: profile `linux-6.18` in virtual time against the running kernel,
//! over plans drawn from a seed.
//!
//! Each plan has its own path and transfers, of ten kinds (`twins/draw.rs`). It runs with the kernel
//! at both ends, and in virtual time with the profile as it is: no other setting. Both use the same
//! seeds, one per repeat, so random losses are the same packets by number.
//!
//! With `--store DIR` the kernel's records are kept there and read the next time. So an interrupted
//! measurement continues, and a changed engine is compared with the same runs of the kernel. Several
//! measurements may share a store: plans of at most [`TOGETHER`] run next to each other, faster
//! ones alone.
//!
//! Plans with even numbers are shown, those with odd ones held (`--half`). Plans faster than
//! `--rate-at-most` are left out and counted, and so are those of which the machine's path dropped
//! packets before it carried them.
//!
//! Printed for each plan and quantity (`twins/figures.rs`): the kernel's mean and range, virtual
//! time, their ratio, and a star outside the goal (two outside the kernel's range as well). Then by
//! kind: plans within the goal + those only within the kernel's own range / all. `--pairing
//! kernel-kernel` only fills the store. `--plan FILE` measures the given plan.

mod draw;
mod figures;

use std::fs::{self, File};
use std::path::Path;

use gigatcp_plan::Plan;
use gigatcp_plan::record::SeriesRecord;
use gigatcp_run::files::PlanDirectory;

pub(crate) use draw::Half;
use draw::{Draw, Kind};
use figures::{Agreement, Compared, Figures, QUANTITIES, Tally};

use crate::words::Words;
use crate::{KERNELS, PAIRINGS, Pairing, VIRTUAL, least_disturbed};

/// Rate up to which paths may be emulated next to each other, Mbit/s.
const TOGETHER: f64 = 150.0;

/// A plan to compare.
struct Twin {
    /// Name of its records in the store.
    name: String,
    title: String,
    text: String,
    /// Rate of the path, Mbit/s; unknown for a given plan.
    rate: Option<f64>,
}

impl Twin {
    fn drawn(draw: Draw, seed: u64) -> Self {
        Self {
            name: format!("{seed}-{}", draw.number),
            title: format!("{:<3} {:?}: {}", draw.number, draw.kind, draw.title),
            text: draw.text,
            rate: Some(draw.rate),
        }
    }

    fn given(file: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(file);
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            title: file.display().to_string(),
            text: text.map_err(|error| format!("{}: {error}", file.display()))?,
            rate: None,
        })
    }

    fn plan(&self, pairing: &Pairing, words: &Words) -> Result<Plan, String> {
        let mut overrides = pairing.overrides();
        if !pairing.is_live() {
            overrides.extend_from_slice(&words.set);
        }
        let directory = words.plan.as_deref().and_then(Path::parent);
        let files = PlanDirectory(directory.unwrap_or(Path::new(".")));
        gigatcp_plan::parse_with("twins", self.text.as_bytes(), &overrides, &files)
            .map_err(|found| found.to_string())
    }

    /// Records of all repeats with one pairing. Those of the kernel come from the store if they are
    /// there.
    fn records(&self, pairing: &Pairing, words: &Words) -> Result<Vec<SeriesRecord>, String> {
        let plan = self.plan(pairing, words)?;
        let kept = words.store.as_deref().filter(|_| pairing.is_live());
        (0..words.repeat)
            .map(|repeat| {
                let run = || Ok(least_disturbed(pairing, &plan, None, repeat, words)?.record);
                let Some(store) = kept else { return run() };
                let file = store.join(format!("{}-{repeat}", self.name));
                if let Some(record) = self.stored(&file) {
                    return record;
                }
                let _turn = self.turn(store).map_err(|error| {
                    format!("cannot lock the store {}: {error}", store.display())
                })?;
                let record = run()?;
                self.store(&file, &record)?;
                Ok(record)
            })
            .collect()
    }

    /// Waits until no other measurement of this store disturbs this one, as long as the value lives.
    fn turn(&self, store: &Path) -> std::io::Result<File> {
        fs::create_dir_all(store)?;
        let lock = File::create(store.join("lock"))?;
        match self.rate {
            Some(rate) if rate <= TOGETHER => lock.lock_shared()?,
            _ => lock.lock()?,
        }
        Ok(lock)
    }

    /// Stored record of a run; `None` if there is none.
    fn stored(&self, file: &Path) -> Option<Result<SeriesRecord, String>> {
        let text = fs::read_to_string(file.with_extension("toml")).ok()?;
        if text != self.text {
            let what = format!("{} has another plan: use another --store", file.display());
            return Some(Err(what));
        }
        let json = fs::read_to_string(file.with_extension("json")).ok()?;
        Some(serde_json::from_str(&json).map_err(|error| format!("{}: {error}", file.display())))
    }

    fn store(&self, file: &Path, record: &SeriesRecord) -> Result<(), String> {
        let json = serde_json::to_string(record).map_err(|error| error.to_string())?;
        fs::write(file.with_extension("json"), json)
            .and_then(|()| fs::write(file.with_extension("toml"), &self.text))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Runs it and prints the comparison. `None` if there is nothing to compare.
    fn measure(&self, words: &Words) -> Result<Option<Tally>, String> {
        println!("{}", self.title);
        let kernels = self.records(&PAIRINGS[KERNELS], words)?;
        if words
            .pairings
            .iter()
            .any(|name| name == PAIRINGS[KERNELS].name)
        {
            return Ok(None);
        }
        if kernels.iter().any(|record| lost_before_path(record) > 0) {
            println!("    left out: packets were dropped before the path");
            return Ok(None);
        }
        let twins = self.records(&PAIRINGS[VIRTUAL], words)?;
        let figures = |records: &[SeriesRecord]| -> Vec<Figures> {
            records.iter().map(Figures::of).collect()
        };
        let (kernels, twins) = (figures(&kernels), figures(&twins));
        let mut tally = Tally::default();
        for (place, quantity) in QUANTITIES.iter().enumerate() {
            let Some(compared) = Compared::new(quantity, &kernels, &twins) else {
                continue;
            };
            let stars = match compared.agreement {
                None | Some(Agreement::Good) => "",
                Some(Agreement::Spread) => " *",
                Some(Agreement::Outside) => " **",
            };
            let Compared {
                kernel,
                range: [low, high],
                twin,
                ..
            } = compared;
            println!(
                "    {:<10} {kernel:9.3} [{low:9.3} {high:9.3}] {twin:9.3}  {:6.3}{stars}",
                quantity.name,
                if twin == kernel { 1.0 } else { twin / kernel },
            );
            if let Some(agreement) = compared.agreement {
                tally.count(place, agreement);
            }
        }
        Ok(Some(tally))
    }
}

/// Number of packets that the machine was too slow to bring to the path.
fn lost_before_path(record: &SeriesRecord) -> u64 {
    let directions = record.live.iter().flat_map(|live| &live.directions);
    directions.filter_map(|way| way.dropped_before_path).sum()
}

/// Compares the given plan.
pub(crate) fn measure_given(file: &Path, words: &Words) -> Result<(), String> {
    Twin::given(file)?.measure(words).map(|_| ())
}

/// Runs all drawn plans and prints the comparison.
pub(crate) fn measure(count: u32, words: &Words) -> Result<(), String> {
    println!(
        "each: kernel's mean [range], virtual time, ratio; * outside the goal, ** and the range"
    );
    let mut by_kind = [(Tally::default(), [0_u32; 2]); Kind::ALL.len()];
    for number in 0..count {
        let draw = Draw::new(words.seed, number);
        if words.half.is_some_and(|half| half != draw.half()) {
            continue;
        }
        let (tally, [compared, left_out]) = &mut by_kind[draw.kind as usize];
        if draw.rate * 1e6 > words.rate_at_most.as_bps() as f64 {
            *left_out += 1;
            continue;
        }
        match Twin::drawn(draw, words.seed).measure(words)? {
            Some(more) => {
                tally.add(&more);
                *compared += 1;
            }
            None => *left_out += 1,
        }
    }
    let row = |name: String, tally: &Tally, [compared, left_out]: [u32; 2]| {
        let cells = (0..QUANTITIES.len() - 1).map(|place| format!("{:>10}", tally.cell(place)));
        let cells: String = cells.collect();
        println!("{name:<12}{compared:>9}{left_out:>9}{cells}");
    };
    let names = QUANTITIES[..QUANTITIES.len() - 1].iter();
    let names: String = names
        .map(|quantity| format!("{:>10}", quantity.name))
        .collect();
    println!("\n{:<12}{:>9}{:>9}{names}", "kind", "compared", "left out");
    let mut all = (Tally::default(), [0; 2]);
    for (kind, (tally, counts)) in Kind::ALL.iter().zip(&by_kind) {
        row(format!("{kind:?}"), tally, *counts);
        all.0.add(tally);
        all.1 = [all.1[0] + counts[0], all.1[1] + counts[1]];
    }
    row("all".to_owned(), &all.0, all.1);
    Ok(())
}
