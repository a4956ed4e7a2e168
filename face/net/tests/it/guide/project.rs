//! Empty projects with the lines of `Cargo.toml` that the guides show.

use std::fs;
use std::path::Path;
use std::process::Command;

const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const EMBED: &str = include_str!("../../../../../docs/guide/embed.md");

/// The first block of a kind on a page.
fn block<'a>(page: &'a str, kind: &str) -> &'a str {
    let start = format!("```{kind}\n");
    let (_, rest) = page.split_once(&start).expect("a block of that kind");
    rest.split_once("```").expect("its end").0
}

/// A project of these lines, next to a checkout that they call `../gigatcp`, in which cargo finds all
/// packages: what `cargo tree` prints.
fn resolved(name: &str, lines: &str) -> String {
    let directory = std::env::temp_dir().join(format!("gigatcp-{name}-{}", std::process::id()));
    fs::create_dir_all(directory.join("src")).unwrap();
    let top = fs::canonicalize(TOP).unwrap();
    let lines = lines.replace("../gigatcp", &top.display().to_string());
    let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{lines}");
    fs::write(directory.join("Cargo.toml"), package).unwrap();
    fs::write(directory.join("src/lib.rs"), "").unwrap();
    // The versions that this workspace was built with are on the machine.
    fs::copy(top.join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "all"])
        .current_dir(&directory)
        .output()
        .unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{lines}\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn lines_of_the_pages_are_enough_for_an_empty_project() {
    let net = resolved("uses-net", block(super::PAGE, "toml"));
    assert!(net.contains("gigatcp-net"));
    let lines = block(EMBED, "toml");
    resolved("uses-stack", lines);
    // The driver that the page points at is copied into such a project.
    let driver = Path::new(TOP).join("face/stack/examples/network/mod.rs");
    for line in fs::read_to_string(driver).unwrap().lines() {
        let used = line
            .strip_prefix("use ")
            .and_then(|rest| rest.split("::").next());
        let package = used.unwrap_or("std").replace('_', "-");
        let is_known = package == "std" || lines.contains(&format!("{package} ="));
        assert!(is_known, "`{package}` is not among the lines of embed.md");
    }
}
