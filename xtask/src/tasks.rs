//! Table of the tasks: names, usage, functions.
//!
//! The table serves both dispatch and `--help`, so no task can be without its usage.

use crate::{
    Failed, api, bench, bench_live, ci, controls_table, dist, docs, duel, fink_today, fuzz, grade,
    ledger, live, proof, python, record_doc, swarm, tidy,
};

/// Column in which explanations begin.
const COLUMN: usize = 39;

/// A task of `cargo xtask`.
pub struct Task {
    /// Name on the command line.
    pub name: &'static str,
    /// Forms of the command after the name, each with lines that explain it.
    forms: &'static [(&'static str, &'static [&'static str])],
    /// Runs the task with the words after its name.
    pub run: fn(&[String]) -> Result<(), Failed>,
}

/// All tasks.
pub const TASKS: [Task; 20] = [
    Task {
        name: "ci",
        forms: &[("", &["everything a change must pass"])],
        run: |words| alone("ci", words).and_then(|()| ci::run()),
    },
    Task {
        name: "tidy",
        forms: &[("", &["the conventions"])],
        run: |words| alone("tidy", words).and_then(|()| tidy::run()),
    },
    Task {
        name: "ledger",
        forms: &[
            (
                "[ID ...] [--all]",
                &["requirements of the RFCs, where they are met"],
            ),
            (
                "--mutate N [--seed S]",
                &["removes N cited functions in turn; a cited test must fail"],
            ),
        ],
        run: ledger::run,
    },
    Task {
        name: "api",
        forms: &[(
            "[--install]",
            &[
                "the public interface of the library, compared with",
                "the last tag; --install: and the tool for it",
            ],
        )],
        run: api::run,
    },
    Task {
        name: "fuzz",
        forms: &[(
            "TARGET [--seconds N]",
            &["inputs that break packet, options, engine, script, capture, …"],
        )],
        run: fuzz::run,
    },
    Task {
        name: "bench",
        forms: &[
            (
                "[--short] [--instructions] [--networks]",
                &["the workloads, compared with their goals"],
            ),
            (
                "--why [--short]",
                &[
                    "`gigatcp why --summary` on large captures,",
                    "compared with tcptrace, tshark and cat",
                ],
            ),
            (
                "--goals [--seeds N] [--only TEXT] [--set KEY=VALUE]",
                &["goodput on known paths, compared with goals"],
            ),
            (
                "--grid [--check] [--only TEXT] [--set KEY=VALUE]",
                &[
                    "goodput by loss, round trip, MTU, window:",
                    "docs/grid.txt, written or compared",
                ],
            ),
        ],
        run: bench::run,
    },
    Task {
        name: "bench-live",
        forms: &[(
            "[--short]",
            &[
                "the engine on a real device, and the",
                "emulator, and two kernels; requires root",
            ],
        )],
        run: bench_live::run,
    },
    Task {
        name: "live-transfers",
        forms: &[
            (
                "[--seed N] [--count M] [--show]",
                &[
                    "random octets between engine and kernel over",
                    "random emulated paths; needs root",
                ],
            ),
            ("--row N", &["a row of the set that the tests run; 0: all"]),
        ],
        run: live::transfers,
    },
    Task {
        name: "live-garbage",
        forms: &[(
            "[--seed N] [--seconds S]",
            &["the same while packets are corrupted on the wire"],
        )],
        run: live::garbage,
    },
    Task {
        name: "live-soak",
        forms: &[(
            "[--minutes N] [--seed N]",
            &["mixed traffic for long, and what it leaves"],
        )],
        run: live::soak,
    },
    Task {
        name: "duel",
        forms: &[
            (
                "[--series NAME] [--pairing NAME] [--repeat N] [--set KEY=VALUE] [--store DIR] \
                 [--steal-at-most P]",
                &[
                    "engine and kernel over the same paths;",
                    "half an hour, needs root; runs of which P %",
                    "and more of the processors was stolen are made",
                    "again",
                ],
            ),
            (
                "--rivals [--series NAME] [--seconds N] [--phases N]",
                &["a flow of each on one path"],
            ),
        ],
        run: duel::run,
    },
    Task {
        name: "fink-today",
        forms: &[(
            "",
            &["CUBIC with initial_ssthresh 100, on the running kernel"],
        )],
        run: |words| alone("fink-today", words).and_then(|()| fink_today::run()),
    },
    Task {
        name: "grade",
        forms: &[
            (
                "[--fat] [--shared] [--elements] [--seeds N] [--first SEED] [--cause ID] [--show] [--write]",
                &[
                    "does `gigatcp why` find the known cause?",
                    "--fat: over paths of thousands of segments;",
                    "--shared: over paths that others use as well;",
                    "--elements: managed queues, changing links, dialogs;",
                    "--write keeps it: docs/grade.txt, -fat, -shared",
                ],
            ),
            (
                "--next [--seeds N]",
                &["does it find the limit that follows the primary cause?"],
            ),
            (
                "--kernels DIR [--metamorphic] [--two] [--show] [--write]",
                &[
                    "the same of captures of a kernel's TCP;",
                    "--metamorphic: after changes that mean nothing;",
                    "--two: where two causes take their time",
                ],
            ),
            (
                "--make DIR --seeds RANGE [--family NAME]",
                &["makes such captures with this kernel; needs root"],
            ),
            (
                "--fit [--seeds N] [--kernels DIR] [--continue STRENGTH]",
                &["fits the weights of causes to both"],
            ),
            (
                "--counterfactual [--seeds N] [--first SEED]",
                &["does lifting the named cause help, and no other more?"],
            ),
            (
                "--whatif [--seeds N] [--first SEED] [--cause ID] [--kernels DIR] [--show] [--write]",
                &[
                    "are predictions of `gigatcp whatif` right?",
                    "--kernels: are fits of a kernel's captures?",
                ],
            ),
        ],
        run: grade::run,
    },
    Task {
        name: "proof",
        forms: &[(
            "[--kernels DIR] [--doctor] [--responses] [--targets] [--packages]",
            &[
                "the gradings that take too long for CI;",
                "each result is kept in docs/grade*.txt; the Python",
                "module on dask and MPI;",
                "--doctor: what `gigatcp doctor` states, alone",
                "(docs/doctor.txt); needs root;",
                "--responses: long runs of the congestion",
                "controls, alone (docs/responses.txt);",
                "--targets: the command line for other systems,",
                "and with the oldest compiler;",
                "--packages: what `dist` made, in clean roots",
            ],
        )],
        run: proof::run,
    },
    Task {
        name: "python",
        forms: &[(
            "[--executors]",
            &[
                "the wheel of the Python module, and its tests;",
                "--executors: also on dask and MPI",
            ],
        )],
        run: python::run,
    },
    Task {
        name: "docs",
        forms: &[(
            "",
            &[
                "docs/ as a book, with a reference generated",
                "from the program; target/book",
            ],
        )],
        run: |words| alone("docs", words).and_then(|()| docs::run()),
    },
    Task {
        name: "dist",
        forms: &[(
            "[--twice] [--program FILE] [--target TRIPLE]",
            &[
                "static program, .deb, .rpm, wheel, checksums,",
                "libraries;",
                "target/packages;",
                "--twice: builds again elsewhere and compares;",
                "--program: packs a program that was built;",
                "--target: for aarch64-unknown-linux-gnu",
            ],
        )],
        run: dist::run,
    },
    Task {
        name: "record-doc",
        forms: &[("", &["the tables of docs/run-json.md, from the types"])],
        run: |words| alone("record-doc", words).and_then(|()| record_doc::run()),
    },
    Task {
        name: "controls-table",
        forms: &[(
            "EXPERIMENT...",
            &[
                "its series under every congestion control,",
                "between the marks of its README",
            ],
        )],
        run: controls_table::run,
    },
    Task {
        name: "swarm",
        forms: &[(
            "[--seed N] [--count M] [--plant BUG]",
            &[
                "random worlds; the same seed, the same world;",
                "a wrong BUG lists the right ones",
            ],
        )],
        run: swarm::run,
    },
];

/// Returns the task named `name`.
pub fn find(name: &str) -> Option<&'static Task> {
    TASKS.iter().find(|task| task.name == name)
}

/// Returns the usage of every task.
pub fn usage() -> String {
    let tasks: String = TASKS.iter().map(Task::lines).collect();
    format!(
        "usage: cargo xtask <task>\n\n{tasks}\n`cargo xtask <task> --help` is about one task.\n"
    )
}

/// Returns whether these words request help.
pub fn ask_for_help(words: &[String]) -> bool {
    let mut words = words.iter();
    words.any(|word| matches!(word.as_str(), "--help" | "-h"))
}

impl Task {
    /// Returns the usage of the task.
    pub fn usage(&self) -> String {
        format!("usage: cargo xtask {}\n\n{}", self.name, self.lines())
    }

    /// Returns the mistake in these words, before minutes of building. The task itself checks
    /// words other than flags.
    pub fn mistake(&self, words: &[String]) -> Option<String> {
        let bare = |token: &str| token.trim_matches(['[', ']']).to_owned();
        let all = || self.forms.iter().map(|form| form.0.split(' '));
        // An option of two forms is that of the form to which the first word belongs.
        let first = words.first().map_or("", String::as_str);
        let (own, others): (Vec<_>, Vec<_>) =
            all().partition(|form| form.clone().any(|token| bare(token) == first));
        let forms: Vec<&str> = own.into_iter().chain(others).flatten().collect();
        for (index, word) in words.iter().enumerate() {
            if !word.starts_with("--") {
                continue;
            }
            let Some(place) = forms.iter().position(|token| bare(token) == *word) else {
                return Some(format!("what is `{word}`? {}", self.usage().trim_end()));
            };
            // `--flag VALUE`, and not `[--flag]`.
            let takes = forms.get(place + 1).map(|token| bare(token));
            let takes = takes.filter(|token| !token.starts_with("--"));
            let is_closed = forms[place].ends_with(']');
            let Some(takes) = takes.filter(|_| !is_closed) else {
                continue;
            };
            let value = words.get(index + 1).filter(|next| !next.starts_with("--"));
            let Some(value) = value else {
                return Some(format!("`{word}` needs a value: {word} {takes}"));
            };
            let is_number = matches!(takes.as_str(), "N" | "M" | "S" | "SEED");
            if is_number && value.parse::<u64>().is_err() {
                return Some(format!("`{word} {value}`: `{value}` is not a whole number"));
            }
        }
        None
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        for (words, explained) in self.forms {
            let form = format!("  {} {words}", self.name);
            let mut left = form.trim_end();
            // A form that is too long for its column has its own line.
            if left.chars().count() >= COLUMN {
                text += &format!("{left}\n");
                left = "";
            }
            for line in *explained {
                text += &format!("{left:<width$}{line}\n", width = COLUMN);
                left = "";
            }
        }
        text
    }
}

/// Checks that a task without arguments has none.
fn alone(name: &str, words: &[String]) -> Result<(), Failed> {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(Failed::Usage(format!(
            "what is `{word}`? {name} takes no words"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_says_how_it_is_called() {
        let all = usage();
        for task in &TASKS {
            let one = task.usage();
            assert!(one.starts_with(&format!("usage: cargo xtask {}\n", task.name)));
            let lines: Vec<_> = one.lines().skip(2).collect();
            assert!(!lines.is_empty());
            for line in lines {
                assert!(all.contains(line), "{line}");
                assert!(line.chars().count() <= 105, "{line}");
            }
            assert!(find(task.name).is_some_and(|found| found.name == task.name));
        }
        assert!(find("no such task").is_none());
    }

    #[test]
    fn what_a_task_does_not_know_is_told_before_anything_is_built() {
        let mistake = |task: &str, text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            find(task).unwrap().mistake(&words)
        };
        assert_eq!(mistake("grade", "--seeds 20 --cause policer --show"), None);
        assert_eq!(mistake("bench", "--goals --only reno --set a=b"), None);
        assert_eq!(mistake("bench", "--networks --short"), None);
        assert_eq!(mistake("ledger", "MUST-36"), None);
        assert_eq!(mistake("grade", "--write --fat --seeds 20"), None);
        assert_eq!(mistake("grade", "--kernels captures --show --write"), None);
        assert_eq!(mistake("grade", "--make captures --seeds 1..9"), None);
        assert_eq!(mistake("duel", "--steal-at-most 1.5"), None);
        assert_eq!(mistake("duel", "--rivals --seconds 7 --phases 4"), None);
        let said = mistake("grade", "--sedes 20").unwrap();
        assert!(said.starts_with("what is `--sedes`? usage: cargo xtask grade"));
        let said = mistake("grade", "--seeds banana").unwrap();
        assert_eq!(said, "`--seeds banana`: `banana` is not a whole number");
        let said = mistake("duel", "--rivals --seconds").unwrap();
        assert_eq!(said, "`--seconds` needs a value: --seconds N");
    }

    #[test]
    fn help_is_asked_for_anywhere_after_the_task() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(ask_for_help(&words("--seed 1 --help")));
        assert!(ask_for_help(&words("-h")));
        assert!(!ask_for_help(&words("--seed 1")));
    }
}
