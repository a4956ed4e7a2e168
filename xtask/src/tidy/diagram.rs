//! Check of the diagram of ARCHITECTURE.md against the manifests.
//!
//! An arrow must be a dependency of the built crate, and a dependency must be an arrow or follow
//! from arrows. Dependencies of tests are not drawn.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::File;

/// Page with the diagram.
pub const PAGE: &str = "ARCHITECTURE.md";

/// Arrows of each crate: target crates, each with its line.
type Arrows = BTreeMap<String, BTreeMap<String, usize>>;

/// Compares the page with the manifests of the rings.
pub fn check(page: &File, manifests: &[&File]) -> Vec<Finding> {
    let (arrows, end) = arrows(&page.text);
    let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for file in manifests {
        if let Some(name) = crate_of(&file.path) {
            uses.insert(name, super::edges::built_from(&file.text));
        }
    }
    let drawn = arrows.iter().flat_map(|(from, to)| {
        let used = uses.get(from.as_str());
        let is_false = move |to: &&String| !used.is_some_and(|used| used.contains(*to));
        to.keys()
            .filter(is_false)
            .map(move |name| {
                let read = format!("{from} --> {name}");
                (
                    to[name],
                    read,
                    "no manifest has this dependency",
                    "take the arrow out",
                )
            })
            .collect::<Vec<_>>()
    });
    let missing = uses.iter().flat_map(|(from, uses)| {
        let reached = reached(&arrows, from);
        let absent: Vec<_> = uses.difference(&reached).cloned().collect();
        absent.into_iter().map(move |to| {
            let read = format!("{from} --> {to}");
            (
                end,
                read,
                "the manifest has it, the diagram does not",
                "draw the arrow",
            )
        })
    });
    let finding = |(line, read, why, fix)| Finding::new((page.path.as_str(), line), read, why, fix);
    drawn.chain(missing).map(finding).collect()
}

/// Crate of a manifest: `core/tcp/Cargo.toml` is `tcp`.
fn crate_of(path: &str) -> Option<&str> {
    let mut parts = path.split('/');
    let ring = parts.next()?;
    let name = parts.next()?;
    let is_ours = ["core", "drive", "face", "proof"].contains(&ring);
    (is_ours && parts.next() == Some("Cargo.toml")).then_some(name)
}

/// Arrows of the first Mermaid block, and the line of its end.
fn arrows(text: &str) -> (Arrows, usize) {
    let mut found = Arrows::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim() {
            "```mermaid" => is_inside = true,
            "```" if is_inside => return (found, number),
            line if is_inside => {
                let names: Vec<&str> = line.split("-->").map(str::trim).collect();
                for pair in names.windows(2) {
                    let to = found.entry(pair[0].to_owned()).or_default();
                    to.insert(pair[1].to_owned(), number);
                }
            }
            _ => {}
        }
    }
    (found, 1)
}

/// All crates that arrows lead to from `from`.
fn reached(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(name) = next.pop() {
        for to in arrows.get(&name).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(diagram: &str, manifests: &[(&str, &str)]) -> Vec<String> {
        let page = File::new(PAGE, &format!("```mermaid\n{diagram}\n```\n"));
        let files: Vec<File> = manifests
            .iter()
            .map(|(path, text)| File::new(path, text))
            .collect();
        let findings = check(&page, &files.iter().collect::<Vec<_>>());
        findings.into_iter().map(|finding| finding.read).collect()
    }

    const TCP: (&str, &str) = (
        "core/tcp/Cargo.toml",
        "[dependencies]\ngigatcp-wire.workspace = true\n[dev-dependencies]\ngigatcp-x = \"1\"\n",
    );
    const SIM: (&str, &str) = (
        "drive/sim/Cargo.toml",
        "[dependencies]\ngigatcp-tcp.workspace = true\ngigatcp-wire.workspace = true\n",
    );

    #[test]
    fn what_follows_from_arrows_need_not_be_drawn() {
        assert_eq!(reads("sim --> tcp --> wire", &[TCP, SIM]), [""; 0]);
    }

    #[test]
    fn an_arrow_without_a_dependency_and_a_dependency_without_an_arrow_are_found() {
        let found = reads("sim --> path\ntcp --> wire", &[TCP, SIM]);
        assert_eq!(found, ["sim --> path", "sim --> tcp", "sim --> wire"]);
    }
}
