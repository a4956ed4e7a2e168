//! Grades `gigatcp test`.
//!
//! `tester --seeds A..B [--peer gigatcp|iperf3] [--of FAMILY] [--out DIR] [--gigatcp FILE]`

use std::path::PathBuf;
use std::process::ExitCode;

use gigatcp_grade::kernels::{group, tools};
use gigatcp_grade::tester::run::Peer;
use gigatcp_grade::tester::{cases, kept, run, verdict};

fn main() -> ExitCode {
    match graded() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn graded() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let given = |option: &str| {
        let place = words.iter().position(|word| word == option)?;
        words.get(place + 1).map(String::as_str)
    };
    let seeds = given("--seeds").unwrap_or("1..8");
    let span = seeds.split_once("..").ok_or("--seeds takes A..B")?;
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("--seeds: no number: {text}"))
    };
    let span = number(span.0)?..number(span.1)?;
    let peer = match given("--peer") {
        None | Some("gigatcp") => Peer::Own,
        Some("iperf3") => Peer::Iperf3,
        Some(other) => return Err(format!("--peer takes gigatcp or iperf3, not {other}")),
    };
    let out = PathBuf::from(given("--out").unwrap_or("target/tester"));
    tools::install()?;
    group::sweep();
    let gigatcp = tools::gigatcp(given("--gigatcp").map(std::path::Path::new))?;
    let mut all = Vec::new();
    for seed in span {
        for case in cases::of_seed(seed) {
            if given("--of").is_some_and(|family| family != case.family) {
                continue;
            }
            let at = out.join(format!("{}-{seed}", case.family));
            let graded = match run::run(&case, peer, &gigatcp, &at) {
                Ok(run) => verdict::grade(&case, peer, &run),
                Err(error) => {
                    eprintln!("{}-{seed}: {error}", case.family);
                    continue;
                }
            };
            kept::keep(&at, &case, seed, graded.is_binding).map_err(|error| error.to_string())?;
            println!("{}", verdict::line(&case, seed, &graded));
            all.push((case, graded));
        }
    }
    print!("{}", verdict::report(&all));
    Ok(())
}
