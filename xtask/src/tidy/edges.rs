//! Allowed dependencies between crates, in three rings, checked from the manifests.
//!
//! face -> drive -> core, and inside the core only inward. Development dependencies count: a test
//! of two crates that may not depend on each other belongs to a crate that depends on both.
//! Manifests are read line by line, in the two forms in which dependencies are written here:
//! `name.workspace = true` and `name = ...` under a `[...dependencies]` heading, or a separate
//! heading.

use super::Finding;
use super::tree::File;

/// Common prefix of our crates' names.
const OURS: &str = "gigatcp-";

/// Crates of the core, each with its allowed dependencies, transitively closed.
const CORE: [(&str, &[&str]); 10] = [
    ("units", &[]),
    ("wire", &["units"]),
    ("tcp", &["units", "wire"]),
    ("path", &["units"]),
    ("app", &["units"]),
    ("flows", &["units", "wire"]),
    ("why", &["units", "wire", "tcp", "path", "flows", "theory"]),
    ("theory", &["units"]),
    ("protocol", &["units"]),
    ("plan", &["units", "tcp", "path", "app", "theory"]),
];

/// Crates of the ring that runs the core.
const DRIVE: [&str; 8] = [
    "linux", "sim", "live", "emulate", "capture", "meter", "analyze", "run",
];

/// Crates of the user interfaces.
const FACE: [&str; 7] = ["cli", "stack", "net", "net-macro", "report", "py", "web"];

/// Crates that grade and test the others; no other crate may use them.
const PROOF: [&str; 4] = ["conformance", "grade", "interop", "programs"];

const WHY: &str = "dependencies point inward only: face -> drive -> core, and in the core \
                   units <- wire <- tcp; path, app and theory see units alone; nothing depends on proof; drive crates \
                   meet in run, analyze sees capture, meter sees live, and on Linux all of them may ask gigatcp-linux";
const FIX: &str = "move what both need inward, or let the crate that sees both join them";

/// Checks one manifest.
pub fn check(file: &File) -> Vec<Finding> {
    let mut parts = file.path.split('/');
    let (Some(ring), Some(name)) = (parts.next(), parts.next()) else {
        return vec![];
    };
    if !["core", "drive", "face", "proof"].contains(&ring) {
        return vec![];
    }
    if ring_of(name) != Some(ring) {
        return vec![Finding::new(
            (&file.path, 1),
            format!("crate `{name}` in {ring}"),
            "this crate has no place in the design's table of dependencies",
            "give it one in xtask/src/tidy/edges.rs, with what it may depend on",
        )];
    }
    dependencies(&file.text)
        .into_iter()
        .filter(|(_, dependency)| !is_allowed(ring, name, dependency))
        .map(|(line, dependency)| {
            let read = format!("{ring}/{name} depends on {OURS}{dependency}");
            Finding::new((&file.path, line), read, WHY, FIX)
        })
        .collect()
}

/// Ring of a crate.
fn ring_of(name: &str) -> Option<&'static str> {
    if CORE.iter().any(|(core, _)| *core == name) {
        Some("core")
    } else if DRIVE.contains(&name) {
        Some("drive")
    } else if FACE.contains(&name) {
        Some("face")
    } else if PROOF.contains(&name) {
        Some("proof")
    } else {
        None
    }
}

fn is_allowed(ring: &str, name: &str, dependency: &str) -> bool {
    if dependency == name {
        return true;
    }
    match (ring, ring_of(dependency)) {
        (_, None) => false,
        ("core", _) => CORE
            .iter()
            .any(|(core, allowed)| *core == name && allowed.contains(&dependency)),
        ("drive", Some("core")) => true,
        // System calls are wrapped once, for all crates that need them.
        ("drive", Some("drive")) => {
            name == "run"
                || dependency == "linux"
                || [("analyze", "capture"), ("meter", "live")].contains(&(name, dependency))
        }
        ("face", Some(ring)) => ring != "proof",
        ("proof", Some(_)) => true,
        _ => false,
    }
}

/// Our crates that a manifest depends on, with their lines. The names are without the common
/// prefix.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(manifest.lines()) {
        let entry = line.split('#').next().unwrap_or_default().trim();
        if let Some(heading) = entry.strip_prefix('[') {
            let parts: Vec<&str> = heading.trim_end_matches(']').split('.').collect();
            let kind = |part: &&str| part.ends_with("dependencies");
            inside = parts.last().is_some_and(kind);
            if parts.iter().rev().nth(1).is_some_and(kind) {
                found.extend(ours(number, parts[parts.len() - 1]));
            }
        } else if inside {
            found.extend(ours(number, entry));
            // A crate under another name: `name = { package = "..." }`.
            if let Some((_, rest)) = entry.split_once("package") {
                found.extend(ours(number, rest.trim_start_matches([' ', '=', '"'])));
            }
        }
    }
    found
}

/// Our crates that a manifest's crate is built from. Dependencies of tests and of the build do not
/// count.
pub fn built_from(manifest: &str) -> std::collections::BTreeSet<String> {
    let mut kept = String::new();
    let mut is_test = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_test = line.contains("dev-dependencies") || line.contains("build-dependencies");
        }
        if !is_test {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    dependencies(&kept)
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

/// Our crate whose name `text` begins with.
fn ours(line: usize, text: &str) -> Option<(usize, String)> {
    let name = text.trim_start_matches('"').strip_prefix(OURS)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    Some((line, name[..end.unwrap_or(name.len())].to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(path: &str, manifest: &str) -> Vec<String> {
        let findings = check(&File::new(path, manifest));
        findings.into_iter().map(|finding| finding.read).collect()
    }

    #[test]
    fn the_engine_and_the_path_may_not_know_each_other() {
        let manifest = "[dependencies]\ngigatcp-units.workspace = true\n\
                        gigatcp-path.workspace = true\n";
        let expected = ["core/tcp depends on gigatcp-path"];
        assert_eq!(reads("core/tcp/Cargo.toml", manifest), expected);
        let manifest = "[dev-dependencies]\ngigatcp-wire = { path = \"../wire\" }\n";
        let expected = ["core/path depends on gigatcp-wire"];
        assert_eq!(reads("core/path/Cargo.toml", manifest), expected);
    }

    #[test]
    fn the_core_may_not_depend_on_what_runs_it() {
        let manifest = "[dependencies.gigatcp-sim]\nworkspace = true\n";
        let expected = ["core/plan depends on gigatcp-sim"];
        assert_eq!(reads("core/plan/Cargo.toml", manifest), expected);
    }

    #[test]
    fn drive_crates_meet_in_run_alone() {
        let manifest = "[dependencies]\ngigatcp-sim.workspace = true # why\n";
        assert_eq!(reads("drive/run/Cargo.toml", manifest), [""; 0]);
        let expected = ["drive/capture depends on gigatcp-sim"];
        assert_eq!(reads("drive/capture/Cargo.toml", manifest), expected);
    }

    #[test]
    fn system_calls_are_open_to_the_whole_ring_and_to_it_alone() {
        let manifest = "[dependencies]\ngigatcp-linux.workspace = true\n";
        assert_eq!(reads("drive/emulate/Cargo.toml", manifest), [""; 0]);
        let expected = ["core/tcp depends on gigatcp-linux"];
        assert_eq!(reads("core/tcp/Cargo.toml", manifest), expected);
    }

    #[test]
    fn a_crate_under_another_name_is_found_all_the_same() {
        let manifest = "[target.'cfg(unix)'.dependencies]\n\
                        engine = { workspace = true, package = \"gigatcp-tcp\" }\n";
        let expected = ["core/units depends on gigatcp-tcp"];
        assert_eq!(reads("core/units/Cargo.toml", manifest), expected);
    }

    #[test]
    fn a_crate_without_a_place_in_the_table_is_found() {
        let expected = ["crate `magic` in core"];
        assert_eq!(reads("core/magic/Cargo.toml", ""), expected);
    }

    #[test]
    fn a_heading_that_is_no_dependency_ends_the_list() {
        let manifest = "[dependencies]\nlibm = \"0.2\"\n[features]\ngigatcp-sim = []\n";
        assert_eq!(reads("core/units/Cargo.toml", manifest), [""; 0]);
    }
}
