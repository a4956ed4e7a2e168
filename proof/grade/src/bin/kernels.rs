//! Makes labeled captures of the running kernel's TCP.
//!
//! * `kernels make --out DIR --seeds A..B [--family F] [--jobs N] [--gigatcp FILE]`: makes them.
//!   The family `agents` is all those of `proof --agents`.
//! * `kernels list`: lists the families.
//! * `kernels relabel DIR`: checks the counters of a corpus again.
//!
//! The other commands are the programs of a case.

use std::collections::VecDeque;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use gigatcp_grade::kernels::corpus::{CaseDir, Corpus};
use gigatcp_grade::kernels::families::{self, Family, agents};
use gigatcp_grade::kernels::run::{self, Tools};
use gigatcp_grade::kernels::{apps, emulated, forward, group, labeling, process, tools};

/// Options of `make`.
struct Make {
    out: PathBuf,
    seeds: [u64; 2],
    family: Option<String>,
    jobs: usize,
    gigatcp: Option<PathBuf>,
    /// Repeats cases whose label does not bind.
    again: bool,
}

const USAGE: &str = "usage: kernels make --out DIR --seeds A..B [--family F] [--jobs N] \
                     [--gigatcp FILE] [--again no|yes]\n       kernels relabel DIR\n       kernels list";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["forward", config] => forward_path(config),
        ["app", spec] => app(spec),
        ["idle", port, _] => {
            emulated::idle(port.parse().unwrap_or(0)).map_err(|error| error.to_string())
        }
        ["list"] => {
            for family in families::all() {
                println!("{:22} {}", family.name, family.cause);
            }
            Ok(())
        }
        ["relabel", at] => relabel(Path::new(at)),
        ["make", ..] => options(&words[1..]).and_then(|make| make_all(&make)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn forward_path(config: &str) -> Result<(), String> {
    let text = fs::read_to_string(config).map_err(|error| format!("{config}: {error}"))?;
    let config = serde_json::from_str(&text).map_err(|error| format!("{config}: {error}"))?;
    forward::run(&config).map_err(|error| error.to_string())
}

fn app(spec: &str) -> Result<(), String> {
    let app: apps::App = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let done = apps::run(&app).map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&done).map_err(|error| error.to_string())?;
    println!("{text}");
    Ok(())
}

fn options(words: &[&str]) -> Result<Make, String> {
    let mut make = Make {
        out: PathBuf::new(),
        seeds: [1, 2],
        family: None,
        jobs: 1,
        gigatcp: None,
        again: false,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} lacks a value\n{USAGE}", pair[0]));
        };
        match *name {
            "--out" => make.out = PathBuf::from(value),
            "--seeds" => {
                let parsed = value
                    .split_once("..")
                    .and_then(|(from, to)| Some([from.parse().ok()?, to.parse().ok()?]));
                make.seeds = parsed.ok_or_else(|| format!("`{value}` is not A..B"))?;
            }
            "--family" => make.family = Some((*value).to_owned()),
            "--jobs" => {
                let jobs = value.parse().ok().filter(|jobs| *jobs > 0);
                make.jobs = jobs.ok_or_else(|| format!("`{value}` is not a number of jobs"))?;
            }
            "--again" => make.again = *value == "yes",
            "--gigatcp" => make.gigatcp = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option {name}\n{USAGE}")),
        }
    }
    if make.out.as_os_str().is_empty() {
        return Err(USAGE.to_owned());
    }
    Ok(make)
}

fn make_all(make: &Make) -> Result<(), String> {
    tools::install()?;
    let programs = Tools {
        gigatcp: tools::gigatcp(make.gigatcp.as_deref())?,
        own: std::env::current_exe().map_err(|error| error.to_string())?,
    };
    fs::create_dir_all(&make.out).map_err(|error| format!("{}: {error}", make.out.display()))?;
    process::catch_signals();
    group::sweep();
    let _prompt = process::PromptSoftirqs::new();
    let families: Vec<Family> = match make.family.as_deref() {
        None => families::all(),
        Some("agents") => agents::FAMILIES.to_vec(),
        Some(wanted) => {
            let all = families::all()
                .into_iter()
                .chain(agents::FAMILIES.iter().copied());
            all.filter(|family| wanted.split(',').any(|name| name == family.name))
                .collect()
        }
    };
    let mut queue = VecDeque::new();
    for seed in make.seeds[0]..make.seeds[1] {
        queue.extend(families.iter().map(|family| (*family, seed)));
    }
    if queue.is_empty() {
        return Err("no such family, or no seeds; `kernels list` names the families".into());
    }
    let total = queue.len();
    let queue = Mutex::new((queue, 0));
    std::thread::scope(|scope| {
        for _ in 0..make.jobs {
            scope.spawn(|| work(&queue, total, make, &programs));
        }
    });
    Ok(())
}

fn work(
    queue: &Mutex<(VecDeque<(Family, u64)>, usize)>,
    total: usize,
    make: &Make,
    programs: &Tools,
) {
    while !process::is_interrupted() {
        let next = queue.lock().ok().and_then(|mut queue| {
            queue.1 += 1;
            let number = queue.1;
            queue.0.pop_front().map(|case| (case, number))
        });
        let Some(((family, seed), number)) = next else {
            return;
        };
        let name = format!("{}-{seed}", family.name);
        let said = one(&family, seed, make, &name, programs);
        if !said.is_empty() {
            // If the log is closed, the run continues.
            let _ = writeln!(std::io::stdout(), "[{number}/{total}] {name}: {said}");
        }
    }
}

/// Makes one case. Returns the text to print.
fn one(family: &Family, seed: u64, make: &Make, name: &str, programs: &Tools) -> String {
    let out = &make.out;
    let at = out.join(name);
    if at.exists() {
        let binds = CaseDir::open(&at).is_ok_and(|case| case.label.binding);
        if binds || !make.again {
            return String::new();
        }
        let _ = fs::remove_dir_all(&at);
    }
    let part = out.join(format!(".{name}.part"));
    let _ = fs::remove_dir_all(&part);
    let spec = family.case(seed);
    let made = run::run(&spec, programs, &part);
    if process::is_interrupted() {
        let _ = fs::remove_dir_all(&part);
        return "interrupted".into();
    }
    match made {
        Ok(label) => {
            if let Err(error) = fs::rename(&part, &at) {
                return format!("{error}");
            }
            let binding = if label.binding {
                "binding"
            } else {
                "NOT BINDING"
            };
            format!(
                "{binding} {}: {:.1} of {:.1} Mbit/s in {:.2} s, RTT {:.1} ms; {}",
                label.cause,
                label.goodput_bps / 1e6,
                label.capacity_bps / 1e6,
                label.elapsed_s,
                spec.rtt_s * 1e3,
                label.reason
            )
        }
        Err(error) => {
            let _ = fs::remove_dir_all(&part);
            format!("FAILED {error}")
        }
    }
}

/// Checks all labels of a corpus again.
fn relabel(at: &Path) -> Result<(), String> {
    let cases = Corpus::open(at).map_err(|error| format!("{}: {error}", at.display()))?;
    let families = families::all();
    let (mut binding, mut changed) = (0, 0);
    for mut case in cases {
        let family = families
            .iter()
            .find(|family| family.name == case.label.family);
        let Some(family) = family else {
            println!("{}: no such family any more", case.at.display());
            continue;
        };
        let before = case.label.binding;
        let spec = family.case(case.label.seed);
        if !labeling::relabel(&spec, &mut case.label, &case.at)? {
            println!("{}: made with other parameters", case.at.display());
        }
        binding += usize::from(case.label.binding);
        changed += usize::from(case.label.binding != before);
    }
    println!("{binding} binding, {changed} changed");
    Ok(())
}
