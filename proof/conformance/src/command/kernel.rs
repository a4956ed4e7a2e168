//! Scripts against the kernel of this machine, many side by side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use gigatcp_conformance::kernel::SetupError;
use gigatcp_conformance::kernel::differences::{Comparison, Differences, is_shared};
use gigatcp_conformance::kernel::privilege;
use gigatcp_conformance::kernel::runner::{self, Case, IpVersion};
use gigatcp_conformance::run::{Report, Settings, Verdict};
use gigatcp_conformance::stack::Unsupported;

use super::collect::{ScriptFile, unreadable};
use super::view::Judged;
use super::{Arguments, USAGE};

/// The file that lists where Linux differs, in the parent of the script directory.
const LIST: &str = "differences.toml";

/// The directory of shared scripts, next to the list.
const SCRIPTS: &str = "script";

/// Runs all scripts against the kernel. If a second process ran them with the privilege that this
/// one lacks, returns its exit status.
pub(super) fn judge(
    found: &[ScriptFile],
    arguments: &Arguments,
    settings: &Settings,
) -> Result<Result<Vec<Judged>, u8>, String> {
    if let Some(status) = privilege::restart_in_user_namespace().map_err(failure)? {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        return Ok(Err(code.unwrap_or(USAGE)));
    }
    let lists = Lists::of(found)?;
    let mut judged = Vec::new();
    let mut places: Vec<(usize, &ScriptFile)> = Vec::new();
    let mut cases = Vec::new();
    for file in found {
        let script = match gigatcp_conformance::parse(&file.text) {
            Ok(script) => script,
            Err(mistake) => {
                judged.push(Judged::unreadable(file, &mistake));
                continue;
            }
        };
        if lists.of_script(&file.path).is_some() && !is_shared(&script) {
            judged.push(Judged::of(file, &not_asked()));
            continue;
        }
        let chosen = script.option("ip_version").map(|option| &option.value);
        for version in versions(arguments, chosen.map(String::as_str)) {
            // The index keeps results in the order of the scripts.
            places.push((judged.len(), file));
            judged.push(Judged::of(file, &not_asked()));
            cases.push(Case {
                script: script.clone(),
                text: file.text.clone(),
                folder: file.path.parent().unwrap_or(Path::new(".")).to_owned(),
                version,
                settings: settings.clone(),
            });
        }
    }
    let results = ask(&cases, &places, arguments)?;
    for (((place, found), case), result) in places.into_iter().zip(&cases).zip(results) {
        let name = arguments.every_version.then(|| case.version.name());
        let result_of_script = Judged::of_kernel(found, name, &result);
        judged[place] = match lists.compare(found, &result.report) {
            Some(Comparison::AsListed(difference)) => result_of_script.listed(&difference.why),
            Some(Comparison::Stale(_)) => result_of_script.stale(),
            _ => result_of_script,
        };
    }
    Ok(Ok(judged))
}

/// IP versions for a script: its own, or the requested ones.
fn versions(arguments: &Arguments, chosen: Option<&str>) -> Vec<IpVersion> {
    match chosen {
        Some(name) => IpVersion::from_name(name).into_iter().collect(),
        None if arguments.every_version => IpVersion::ALL.to_vec(),
        None if arguments.ipv6 => vec![IpVersion::V6],
        None => vec![IpVersion::V4],
    }
}

/// Report for scripts that apply to the engine only.
fn not_asked() -> Report {
    Report {
        verdict: Verdict::Unsupported {
            span: 0..0,
            what: Unsupported::new("script", "for the engine alone"),
        },
        printed: Vec::new(),
    }
}

/// Runs the cases against the kernel and prints a line for each.
fn ask(
    cases: &[Case],
    places: &[(usize, &ScriptFile)],
    arguments: &Arguments,
) -> Result<Vec<runner::ScriptResult>, String> {
    let finished = AtomicUsize::new(0);
    let print = |index: usize, judged: &runner::ScriptResult| {
        let number = finished.fetch_add(1, Ordering::Relaxed) + 1;
        let how = match judged.report.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Unsupported { .. } => "unsupported",
        };
        let file = places[index].1.path.display();
        let version = cases[index].version.name();
        eprintln!("[{number}/{}] {file} over {version}: {how}", cases.len());
    };
    runner::run_scripts(cases, arguments.jobs.get(), &print).map_err(failure)
}

fn failure(error: SetupError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\n  effect: no script was run\n  hint: {hint}"),
        None => format!("{error}\n  effect: no script was run"),
    }
}

/// The lists of differences, one per tree of scripts, each read once.
struct Lists {
    lists: BTreeMap<PathBuf, Differences>,
}

impl Lists {
    fn of(found: &[ScriptFile]) -> Result<Self, String> {
        let mut lists = BTreeMap::new();
        for file in found {
            if let Some(folder) = list_folder(&file.path)
                && !lists.contains_key(&folder)
            {
                let path = folder.join(LIST);
                let text =
                    std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
                let list = Differences::read(&text, &folder.join(SCRIPTS))
                    .map_err(|fault| format!("{}: {fault}", path.display()))?;
                lists.insert(folder, list);
            }
        }
        Ok(Self { lists })
    }

    /// List for a script, and its name within the shared directory.
    fn of_script(&self, path: &Path) -> Option<(&Differences, String)> {
        let folder = list_folder(path)?;
        let name = path
            .strip_prefix(folder.join(SCRIPTS))
            .ok()?
            .to_str()?
            .to_owned();
        Some((self.lists.get(&folder)?, name))
    }

    fn compare(&self, found: &ScriptFile, report: &Report) -> Option<Comparison<'_>> {
        let (list, name) = self.of_script(&found.path)?;
        Some(list.compare(&name, &found.text, report))
    }
}

/// The directory above a script that contains a list and the script directory.
fn list_folder(path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().skip(1);
    let holds =
        |folder: &&Path| folder.join(LIST).is_file() && path.starts_with(folder.join(SCRIPTS));
    above.into_iter().find(holds).map(Path::to_owned)
}
