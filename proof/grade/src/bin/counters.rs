//! Grades the explanation from counters, and fits its weights.
//!
//! * `counters DIR [--show] [--of NAME]`: grades the explanation.
//! * `counters --fit KERNELS TESTS [--write]`: fits its weights.
//! * `counters --tests TESTS`: grades stored runs of `tester`.
//!
//! KERNELS has labeled captures (`cargo xtask grade --make`), TESTS stored runs of `tester`.

use std::path::Path;
use std::process::ExitCode;

use gigatcp_grade::counters::{Graded, account, diagnose, grade, merged, report};
use gigatcp_grade::fit_counters::{self, Example, Model};
use gigatcp_grade::kernels::corpus::Corpus;
use gigatcp_grade::tester::kept::{self, Known, StoredRun};
use gigatcp_why::counters::End;
use gigatcp_why::counters::weights::WEIGHTS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "--fit") {
        let given: Vec<&Path> = arguments[1..].iter().map(Path::new).collect();
        let [kernels, tests, rest @ ..] = &given[..] else {
            eprintln!("error: no examples; hint: counters --fit KERNELS TESTS [--write]");
            return ExitCode::from(2);
        };
        return match fit(kernels, tests, rest.contains(&Path::new("--write"))) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(2)
            }
        };
    }
    if arguments.first().is_some_and(|word| word == "--tests") {
        return match arguments.get(1).map(|at| kept::read(Path::new(at))) {
            Some(Ok(all)) => {
                print!("{}", graded_tests(&all));
                ExitCode::SUCCESS
            }
            Some(Err(error)) => {
                eprintln!("error: {error}");
                ExitCode::from(2)
            }
            None => {
                eprintln!("error: no runs; hint: counters --tests TESTS");
                ExitCode::from(2)
            }
        };
    }
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
                        .for_each(|evidence| println!("    {}", evidence.text));
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

/// Views of an example, with the weight of each.
const VIEWS: [(Known, f64); 4] = [
    (Known::Both, 1.0),
    (Known::Sender, 0.7),
    (Known::Receiver, 0.6),
    (Known::Report, 0.4),
];

/// Grades today's diagnosis of stored `tester` runs, by view.
fn graded_tests(all: &[StoredRun]) -> String {
    let mut text = String::new();
    for (known, _) in VIEWS {
        let (mut right, mut sure, mut sure_right, mut silent) = (0, 0, 0, 0);
        for one in all {
            let diagnosis = one.account(known).and_then(|account| account.diagnose());
            let (cause, acceptable) = one.right(known);
            let first = diagnosis.as_ref().and_then(|diagnosis| diagnosis.primary());
            let said = first.map_or("nothing", |first| first.cause.id);
            let is_right = said == cause || acceptable.contains(&said);
            let is_sure = first.is_some_and(|first| first.confidence >= 0.825);
            right += usize::from(is_right);
            sure += usize::from(is_sure);
            sure_right += usize::from(is_sure && is_right);
            silent += usize::from(first.is_none());
            if is_sure && !is_right {
                let label = &one.label;
                text += &format!(
                    "  {known:?} {}-{} is {cause}, said {said}\n",
                    label.family, label.seed
                );
            }
        }
        text += &format!(
            "{known:?}: {right} right of {}, {silent} without an answer; with 0.85 and more {sure_right} of {sure}\n",
            all.len()
        );
    }
    text
}

/// Folds of the cross-validation.
const FOLDS: u64 = 4;

/// File of the weights.
const PLACE: &str = "core/why/src/counters/weights.rs";

fn examples(kernels: &Path, tests: &Path) -> std::io::Result<Vec<(Known, Example)>> {
    let mut all = Vec::new();
    for kept in kept::read(tests)? {
        for (known, weight) in VIEWS {
            let (cause, acceptable) = kept.right(known);
            let label = &kept.label;
            let name = format!("{}-{} {known:?}", label.family, label.seed);
            let account = kept.account(known);
            let made = account.and_then(|account| {
                fit_counters::example((name, label.seed, weight), &account, cause, &acceptable)
            });
            all.extend(made.map(|made| (known, made)));
        }
    }
    for case in &Corpus::open(kernels)? {
        let label = &case.label;
        for (known, weight) in &VIEWS[..3] {
            let ends: &[End] = match known {
                Known::Both => &[End::Sender, End::Receiver],
                Known::Receiver => &[End::Receiver],
                _ => &[End::Sender],
            };
            let name = format!("{}-{} {known:?}", label.family, label.seed);
            let account = account(label, ends);
            let cause = merged(&label.cause, *known);
            let acceptable: Vec<&str> = label.acceptable.iter().map(String::as_str).collect();
            let made =
                fit_counters::example((name, label.seed, *weight), &account, cause, &acceptable);
            all.extend(made.filter(|_| label.binding).map(|made| (*known, made)));
        }
    }
    Ok(all)
}

fn fit(kernels: &Path, tests: &Path, writes: bool) -> Result<(), String> {
    let all = examples(kernels, tests).map_err(|error| error.to_string())?;
    println!("{} examples", all.len());
    let used = Model::in_use();
    let mut outcomes = Vec::new();
    for fold in 0..FOLDS {
        let (held, fitted): (Vec<_>, Vec<_>) =
            all.iter().partition(|(_, one)| one.seed % FOLDS == fold);
        let fitted: Vec<&Example> = fitted.iter().map(|(_, one)| one).collect();
        let model = used.fitted(&fitted);
        for (known, one) in held {
            let (said, probability) = model.primary(one);
            let is_right = said == one.right || one.acceptable.contains(&said);
            let (before, _) = used.primary(one);
            let was_right = before == one.right || one.acceptable.contains(&before);
            outcomes.push((*known, one, said, probability, is_right, was_right));
        }
    }
    for (known, _) in VIEWS {
        for is_kernel in [false, true] {
            let of = || {
                outcomes
                    .iter()
                    .filter(|outcome| outcome.0 == known && (outcome.1.seed > 40) == is_kernel)
            };
            let right = of().filter(|outcome| outcome.4).count();
            let before = of().filter(|outcome| outcome.5).count();
            println!(
                "{known:?} kernels {is_kernel}: {right} of {} (weights in use {before})",
                of().count()
            );
        }
    }
    for (known, one, said, probability, is_right, _) in &outcomes {
        if !is_right
            && (matches!(known, Known::Both | Known::Sender)
                || WEIGHTS[one.right].card == "slow-reader")
        {
            println!(
                "  {} is {}, said {} ({probability:.2})",
                one.name, WEIGHTS[one.right].card, WEIGHTS[*said].card
            );
        }
    }
    for is_coarse in [false, true] {
        let mut of: Vec<_> = outcomes
            .iter()
            .filter(|outcome| {
                (outcome.0 == Known::Report) == is_coarse && outcome.0 != Known::Receiver
            })
            .collect();
        of.sort_by(|a, b| a.3.total_cmp(&b.3));
        for bin in of.chunks(of.len().div_ceil(8).max(1)) {
            let right = bin.iter().filter(|outcome| outcome.4).count() as f64 / bin.len() as f64;
            let mean = bin.iter().map(|outcome| outcome.3).sum::<f64>() / bin.len() as f64;
            println!(
                "coarse {is_coarse} probability {mean:.3}: {right:.3} right of {}",
                bin.len()
            );
        }
    }
    if writes {
        let every: Vec<&Example> = all.iter().map(|(_, one)| one).collect();
        let table = used.fitted(&every).table();
        let text = std::fs::read_to_string(PLACE).map_err(|error| format!("{PLACE}: {error}"))?;
        let start = text.find("&[Weights] = &[\n").ok_or("no table")? + "&[Weights] = &[\n".len();
        let text = format!("{}{table}];\n", &text[..start]);
        std::fs::write(PLACE, text).map_err(|error| format!("{PLACE}: {error}"))?;
    }
    Ok(())
}
