//! The engine's goodput on known paths, compared with theoretical limits.
//!
//!     cargo run --release -p gigatcp-run --example figures -- grid [--set KEY=VALUE ...]
//!     cargo run --release -p gigatcp-run --example figures -- goals [--seeds N] [--set ...]
//!
//! `grid` prints loss x RTT x MTU x window as one table (docs/grid.txt). `goals` prints goals for
//! loss recovery and congestion control with the measured results. `--set` changes every run, as in
//! `gigatcp run`: `--set sender.rack=false`. `--only TEXT` runs cases with the text in their name.

mod goals;
mod grid;
mod lab;

/// Options of the command line.
struct Options {
    seeds: u32,
    set: Vec<String>,
    only: String,
}

fn options(words: &[String]) -> Result<Options, String> {
    let mut options = Options {
        seeds: 5,
        set: Vec::new(),
        only: String::new(),
    };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--set" => options.set.push(value.clone()),
            "--only" => options.only.clone_from(value),
            "--seeds" => {
                let seeds = value.parse().ok().filter(|&seeds| seeds > 0);
                options.seeds = seeds.ok_or_else(|| format!("{value} is no number of seeds"))?;
            }
            _ => return Err(format!("what is {word}?")),
        }
    }
    Ok(options)
}

fn print_grid(options: &Options) -> Result<(), String> {
    let mut lines = grid::lines();
    lines.retain(|line| format!("{line:?}").contains(&options.only));
    if lines.is_empty() {
        return Err(format!("no line of the grid has {:?}", options.only));
    }
    let table = grid::run(&lines, &options.set)?;
    print!("{}", grid::heading());
    for line in table {
        println!("{line}");
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((table, rest)) if table == "grid" => options(rest).and_then(|w| print_grid(&w)),
        Some((table, rest)) if table == "goals" => {
            options(rest).and_then(|w| goals::print(w.seeds, &w.set, &w.only))
        }
        _ => Err("which table: grid or goals?".to_owned()),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("figures: {what}");
            std::process::ExitCode::from(2)
        }
    }
}
