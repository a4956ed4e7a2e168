//! Makes hosts with wrong settings, follows the advice of `doctor`, and counts what came true.
//!
//! `mistuned GIGATCP DIR FROM..TO [JOBS]`: each seed is a host with network namespaces of its
//! own; what DIR has already is graded again and not run. Two tests of the same settings that
//! differ by more than 10 % show that the machine was too busy: the host is run again, up to
//! three times, and counted. Needs root, `ip`, `tc`, `ethtool` and `sysctl`.

use std::env;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use gigatcp_grade::mistuned::host;
use gigatcp_grade::mistuned::score::{Row, Score};
use gigatcp_grade::mistuned::world::World;
use rayon::prelude::*;

/// The row of a host, and how often it was run.
type Graded = Result<(Row, u32), String>;

/// Runs of a host that is too noisy.
const MAX_RUNS: u32 = 3;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["inside", program, seed] => seed
            .parse()
            .map_err(|_| format!("`{seed}` is no seed"))
            .and_then(|seed| host::run(seed, program)),
        [program, directory, seeds] => make(program, directory, seeds, "1"),
        [program, directory, seeds, jobs] => make(program, directory, seeds, jobs),
        _ => Err("usage: mistuned GIGATCP DIR FROM..TO [JOBS]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn range(text: &str) -> Option<Range<u64>> {
    let (from, to) = text.split_once("..")?;
    Some(from.parse().ok()?..to.parse().ok()?)
}

fn make(program: &str, directory: &str, seeds: &str, jobs: &str) -> Result<(), String> {
    let program = fs::canonicalize(program).map_err(|error| format!("{program}: {error}"))?;
    let harness = env::current_exe().map_err(|error| error.to_string())?;
    let seeds =
        range(seeds).ok_or_else(|| format!("`{seeds}` is not a range of seeds, as 1..81"))?;
    let jobs = jobs
        .parse()
        .map_err(|_| format!("`{jobs}` is not a number of hosts at a time"))?;
    fs::create_dir_all(directory).map_err(|error| format!("{directory}: {error}"))?;
    let directory = fs::canonicalize(directory).map_err(|error| error.to_string())?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|error| error.to_string())?;
    let seeds: Vec<u64> = seeds.collect();
    let rows: Vec<(World, Graded)> = pool.install(|| {
        let made = seeds.par_iter().with_max_len(1).map(|seed| {
            let world = World::new(*seed);
            let row = graded(
                &world,
                &harness,
                &program,
                &directory.join(seed.to_string()),
            );
            (world, row)
        });
        made.collect()
    });
    let mut score = Score::default();
    let mut repeated = 0;
    for (world, row) in &rows {
        if let Ok((row, runs)) = row {
            score.add(world, row);
            repeated += runs - 1;
        }
    }
    for (world, row) in &rows {
        println!("{}", line(world, row));
    }
    println!(
        "{}\n{repeated} runs repeated because of noise",
        score.text()
    );
    Ok(())
}

fn line(world: &World, row: &Graded) -> String {
    let text = match row {
        Ok((row, _)) => row.text(),
        Err(error) => format!("failed: {error}"),
    };
    format!(
        "{:4} {:7} {:5.1} Mbit/s {:4.1} ms {}: {text}",
        world.seed,
        world.direction(),
        world.rate / 1e6,
        world.rtt * 1e3,
        world.names()
    )
}

/// Runs a host, unless its results are kept, and reads them.
fn graded(world: &World, harness: &Path, program: &Path, directory: &Path) -> Graded {
    let mut row = Err(String::new());
    for run in 1..=MAX_RUNS {
        let at = directory.join(run.to_string());
        if !at.join(host::RESULT).exists() {
            let _ = fs::remove_dir_all(&at);
            world.run(harness, program, &at)?;
        }
        row = Row::read(world, &at).map(|row| (row, run));
        if !matches!(&row, Ok((row, _)) if row.is_noisy) {
            break;
        }
    }
    eprintln!("{}", line(world, &row));
    row
}
