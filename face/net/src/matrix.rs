//! Tests over a matrix of paths and seeds: what `#[gigatcp_net::test]` expands to.
//!
//! Cells run in the order in which the attribute lists them, each with all seeds. The first that
//! fails ends the test and is named, with the command that repeats it: `GIGATCP_SEED` and
//! `GIGATCP_CELL` select one. `GIGATCP_PCAP=DIRECTORY` writes a capture of it there. A run that a test
//! starts by itself tells the same of its failure ([`run_told`]).

use std::any::Any;
use std::env;
use std::fmt::Write;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::net::{Net, RunError, SEED_VARIABLE};
use crate::report::Report;

/// Environment variable that selects one cell, as a failure prints it.
const CELL_VARIABLE: &str = "GIGATCP_CELL";

/// Environment variable with the directory for captures of failing tests.
const PCAP_VARIABLE: &str = "GIGATCP_PCAP";

/// Matrix of a test.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Name of the test, with its module.
    pub name: &'static str,
    /// Words of every link that the test does not describe, and of the loopback.
    pub link: &'static str,
    /// Keys, each with its values.
    pub axes: &'static [(&'static str, &'static [&'static str])],
    /// Number of seeds, from 1.
    pub seeds: u64,
}

impl Matrix {
    /// The words of each cell.
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.link.to_owned()];
        for (key, values) in self.axes {
            let with = |cell: &String| {
                let words = values.iter().map(|value| format!("{cell} {key}={value}"));
                words.collect::<Vec<_>>()
            };
            cells = cells.iter().flat_map(with).collect();
        }
        cells.iter().map(|cell| cell.trim().to_owned()).collect()
    }
}

/// Runs a test in every cell, with every seed.
///
/// # Panics
/// If the test fails in one.
pub fn run_matrix<F, T>(matrix: &Matrix, body: impl Fn(Net) -> F)
where
    F: Future<Output = T>,
    T: Verdict,
{
    let cells = matrix.cells();
    let chosen = env::var(CELL_VARIABLE).ok();
    let seed = env::var(SEED_VARIABLE).ok();
    if let Some(chosen) = chosen.as_ref().filter(|chosen| !cells.contains(chosen)) {
        panic!(
            "{CELL_VARIABLE}={chosen} is no cell of {}: {}",
            matrix.name,
            cells.join(", ")
        );
    }
    let count = cells.len();
    for (index, cell) in cells.iter().enumerate() {
        if chosen.as_ref().is_some_and(|chosen| chosen != cell) {
            continue;
        }
        for number in 1..=matrix.seeds {
            run_cell(matrix, cell, (index + 1, count), number, &body);
            if seed.is_some() {
                break;
            }
        }
    }
}

/// Whether a test has passed.
pub trait Verdict {
    /// The error of a failed test.
    fn failure(self) -> Option<String>;
}

impl Verdict for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: std::fmt::Debug> Verdict for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

fn run_cell<F, T>(
    matrix: &Matrix,
    cell: &str,
    place: (usize, usize),
    number: u64,
    body: &impl Fn(Net) -> F,
) where
    F: Future<Output = T>,
    T: Verdict,
{
    let net = Net::new(number);
    if !cell.is_empty() {
        net.default_link(cell);
        net.loopback(cell);
    }
    let capture = begin_capture(&net, matrix.name, cell);
    let ran = catch_unwind(AssertUnwindSafe(|| net.run_with(|| body(net.clone())).0));
    let failure = match ran {
        Ok(Ok(output)) => output.failure().map(Failure::Error),
        Ok(Err(RunError::TimeLimit(text))) => Some(Failure::Error(text)),
        Ok(Err(error)) => Some(Failure::Error(error.to_string())),
        Err(panic) => Some(Failure::Panic(panic)),
    };
    let Some(failure) = failure else {
        end_capture(&net, capture, false);
        return;
    };
    let written = end_capture(&net, capture, true);
    let title = title(matrix, cell, place, net.seed());
    let name = matrix.name;
    let short = name.split_once("::").map_or(name, |(_, inner)| inner);
    eprintln!("{}", describe(&title, short, cell, &net, written));
    match failure {
        Failure::Error(error) => panic!("{error}"),
        Failure::Panic(panic) => std::panic::resume_unwind(panic),
    }
}

enum Failure {
    Error(String),
    Panic(Box<dyn Any + Send>),
}

/// Runs the programs of hosts. If the run fails, prints what a test of the attribute does; its name
/// is that of the thread, as the test harness sets it.
pub(crate) fn run_told(
    net: &Net,
    run: impl FnOnce() -> Result<Report, RunError>,
) -> Result<Report, RunError> {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("main").to_owned();
    let capture = if net.is_capturing() {
        None
    } else {
        begin_capture(net, &name, "")
    };
    let ran = catch_unwind(AssertUnwindSafe(run));
    let has_failed = !matches!(ran, Ok(Ok(_)));
    let written = end_capture(net, capture, has_failed);
    if has_failed {
        let title = format!("{name}: the run failed with seed {}", net.seed());
        eprintln!("{}", describe(&title, &name, "", net, written));
    }
    ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn title(matrix: &Matrix, cell: &str, (index, count): (usize, usize), seed: u64) -> String {
    let place = if cell.is_empty() {
        String::new()
    } else {
        format!(" in cell {index} of {count}, `{cell}`,")
    };
    let (name, seeds) = (matrix.name, matrix.seeds);
    format!("{name} failed{place} with seed {seed} of {seeds}")
}

/// What a failing test prints: its title, how to repeat it, and what limited its connections.
fn describe(title: &str, test: &str, cell: &str, net: &Net, capture: Option<String>) -> String {
    let seed = net.seed();
    let mut text = format!("{title}\n");
    let select = if cell.is_empty() {
        String::new()
    } else {
        format!(" {CELL_VARIABLE}='{cell}'")
    };
    // Writing to a string cannot fail. A thread of that name is a program's, not a test's.
    if test != "main" {
        let _ = writeln!(
            text,
            "repeat: {SEED_VARIABLE}={seed}{select} cargo test {test} -- --exact"
        );
    }
    let _ = match capture {
        Some(capture) => writeln!(text, "capture: {capture}"),
        None => writeln!(text, "a capture: {PCAP_VARIABLE}=DIRECTORY before that"),
    };
    let _ = write!(text, "{}", net.report());
    text
}

fn begin_capture(net: &Net, test: &str, cell: &str) -> Option<PathBuf> {
    let directory = env::var_os(PCAP_VARIABLE)?;
    let plain = |text: &str| {
        let keep = |c: char| {
            if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        };
        text.chars().map(keep).collect::<String>()
    };
    let seed = net.seed();
    let name = format!("{}-{}-{seed}", plain(test), plain(cell));
    let path = |name: &str| Path::new(&directory).join(format!("{name}.pcapng"));
    // A test may run several networks.
    let mut names = (2..).map(|number| path(&format!("{name}-{number}")));
    let first = Some(path(&name)).filter(|path| !path.exists());
    let path = first.or_else(|| names.find(|path| !path.exists()))?;
    net.capture_to(&path, &format!("{test} {cell} seed {seed}"));
    Some(path)
}

/// Ends the capture; keeps the file of a failed test only.
fn end_capture(net: &Net, path: Option<PathBuf>, has_failed: bool) -> Option<String> {
    let path = path?;
    let done = net.finish_capture()?;
    if !has_failed {
        // A file that cannot be removed is harmless.
        let _ = std::fs::remove_file(&path);
        return None;
    }
    Some(match done {
        Ok(path) => path.display().to_string(),
        Err(error) => format!("incomplete: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: Matrix = Matrix {
        name: "crate_name::module::transfer_arrives",
        link: "rate=10Mbit/s",
        axes: &[("rtt", &["0ms", "50ms"]), ("loss", &["0", "0.01"])],
        seeds: 20,
    };

    #[test]
    fn cells_are_all_combinations_in_the_order_written() {
        let words = |rtt, loss| format!("rate=10Mbit/s rtt={rtt}ms loss={loss}");
        let expected = [
            words(0, "0"),
            words(0, "0.01"),
            words(50, "0"),
            words(50, "0.01"),
        ];
        assert_eq!(MATRIX.cells(), expected);
        let plain = Matrix {
            link: "",
            axes: &[],
            ..MATRIX
        };
        assert_eq!(plain.cells(), [""]);
    }

    #[test]
    fn failure_names_the_cell_and_the_command_that_repeats_it() {
        let cell = &MATRIX.cells()[3];
        let net = Net::with_seed(7);
        let title = title(&MATRIX, cell, (4, 4), 7);
        let text = describe(&title, "module::transfer_arrives", cell, &net, None);
        let expected = "crate_name::module::transfer_arrives failed in cell 4 of 4, \
                        `rate=10Mbit/s rtt=50ms loss=0.01`, with seed 7 of 20\n\
                        repeat: GIGATCP_SEED=7 \
                        GIGATCP_CELL='rate=10Mbit/s rtt=50ms loss=0.01' \
                        cargo test module::transfer_arrives -- --exact\n";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn first_failing_cell_ends_the_matrix() {
        let runs = std::cell::Cell::new(0);
        let ran = catch_unwind(AssertUnwindSafe(|| {
            run_matrix(&MATRIX, |net| {
                runs.set(runs.get() + 1);
                let is_last = net.seed() == 20;
                async move {
                    if is_last {
                        Err("the last seed")
                    } else {
                        Ok(())
                    }
                }
            });
        }));
        assert!(ran.is_err());
        assert_eq!(runs.get(), 20);
    }
}
