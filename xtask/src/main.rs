//! The project's own tasks: `cargo xtask <task>`.
//!
//! | task | what it does |
//! |---|---|
//! | `ci` | everything a change must pass: format, tidy, clippy, tests, documentation, the Python module, swarm, a short bench, and the host's network settings as before |
//! | `tidy` | the conventions that no compiler checks |
//! | `ledger` | requirements of RFCs, with the code that meets them and its tests |
//! | `fuzz` | libFuzzer looks for inputs that break a reader or the engine |
//! | `bench` | the simulator's workloads, compared with their goals |
//! | `bench-live` | the engine on a real device, and the emulator, compared with two kernels |
//! | `live-transfers` | random octets between the engine and the kernel over emulated paths |
//! | `live-garbage` | such transfers while packets are corrupted on the wire |
//! | `live-soak` | mixed traffic for a long time, and leaks |
//! | `duel` | the engine and the kernel over the same paths, one by one and against each other |
//! | `fink-today` | CUBIC of the running kernel, initial ssthresh of 100, predicted and measured |
//! | `grade` | how often `gigatcp why` finds the known cause of simulated and kernel captures |
//! | `proof` | the gradings that take too long for CI, each stored in `docs/` |
//! | `python` | the wheel of the Python module, and its tests |
//! | `book` | the pages as a site, with a reference generated from the program |
//! | `page` | the page that answers in the browser |
//! | `pictures` | the pictures of the README, from today's pages |
//! | `dist` | the packages of the program |
//! | `release` | all of a release but the button |
//! | `record-doc` | writes the tables of `docs/run-json.md` from the types |
//! | `controls-table` | puts an experiment's series under every congestion control into its README |
//! | `swarm` | random worlds, and the invariants of each |
//!
//! This crate depends on none of the others, and on few libraries, such as one that reads TOML.
//! The simulator's workloads and the swarm are examples of `gigatcp-sim`, the table of goodput is
//! one of `gigatcp-run`; they are built and run as processes. So tidy takes two seconds to build,
//! the memory of a benchmark can be measured, and a world that hangs can be killed. The cost:
//! results come back as text.

mod api;
mod bench;
mod bench_live;
mod book;
mod ci;
mod controls_table;
mod debian;
mod dist;
mod duel;
mod files;
mod fink_today;
mod fuzz;
mod grade;
mod host_settings;
mod installed;
mod ledger;
mod links;
mod live;
mod machine;
mod materials;
mod ndt;
mod net_suites;
mod page;
mod pictures;
mod process;
mod proof;
mod python;
mod recipes;
mod record_doc;
mod release;
mod swarm;
mod targets;
mod tasks;
mod tidy;
mod tools;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match words.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", &[][..]),
    };
    let done = match tasks::find(name) {
        Some(task) if tasks::ask_for_help(rest) => {
            print!("{}", task.usage());
            Ok(())
        }
        Some(task) => match task.mistake(rest) {
            Some(said) => Err(Failed::Usage(said)),
            None => (task.run)(rest),
        },
        None if matches!(name, "--help" | "-h" | "help") => {
            print!("{}", tasks::usage());
            Ok(())
        }
        None => Err(Failed::Usage(format!(
            "what is `{}`?\n{}",
            words.join(" "),
            tasks::usage().trim_end()
        ))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Found) => ExitCode::FAILURE,
        Err(Failed::Usage(what)) => {
            eprintln!("xtask: {what}");
            ExitCode::from(2)
        }
    }
}

/// Reason why a task failed.
#[derive(Debug)]
enum Failed {
    /// The task found a fault and has reported it.
    Found,
    /// The task could not begin: arguments or environment are wrong.
    Usage(String),
}

fn top() -> std::path::PathBuf {
    let xtask = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}
