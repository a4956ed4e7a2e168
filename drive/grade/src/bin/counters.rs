//! Grades the explanation from counters: `counters DIR [--show] [--of NAME]`.

use std::path::Path;
use std::process::ExitCode;

use gigatcp_grade::counters::{Graded, diagnose, grade, report};
use gigatcp_grade::kernels::corpus::Corpus;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(directory) = arguments.first() else {
        eprintln!("error: no directory of labeled captures; hint: counters DIR [--show]");
        return ExitCode::from(2);
    };
    let cases = match Corpus::open(Path::new(directory)) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("error: cannot read {directory}: {error}");
            return ExitCode::from(2);
        }
    };
    let named = arguments.iter().position(|word| word == "--of");
    if let Some(name) = named.and_then(|at| arguments.get(at + 1)) {
        for case in cases.iter().filter(|case| case.at.ends_with(name)) {
            if let Some(diagnosis) = diagnose(&case.label) {
                println!("{}\n{}", diagnosis.sentence(), diagnosis.limited_by());
                for verdict in &diagnosis.verdicts {
                    println!(
                        "{} {:.2}: {}",
                        verdict.cause.id, verdict.probability, verdict.finding
                    );
                    verdict
                        .evidence
                        .iter()
                        .for_each(|one| println!("    {}", one.text));
                }
            }
        }
        return ExitCode::SUCCESS;
    }
    let all: Vec<Graded> = cases.iter().filter_map(|case| grade(&case.label)).collect();
    print!(
        "{}",
        report(&all, arguments.iter().any(|word| word == "--show"))
    );
    ExitCode::SUCCESS
}
