//! `cargo xtask tidy`: the conventions that no compiler checks.
//!
//! * [`edges`]: allowed dependencies between crates.
//! * [`diagram`]: the arrows of ARCHITECTURE.md are those of the manifests.
//! * [`shape`]: first line of a file, length of files and functions, declarations of a crate of
//!   the core.
//! * [`words`]: forbidden names and words: `utils`, `get_`, unfinished work, commented-out code,
//!   clocks in the core, published results outside the report, names of tests.
//! * [`wording`]: phrases that must not occur in comments, literals and pages.
//! * [`cited`]: files, crates and their targets that pages and comments name.
//! * [`asserts`]: the number of assertions in the core, which may only rise.
//! * Relative links of Markdown pages lead to files and headings that exist.
//! * The tables of `docs/run-json.md` are those of the types.
//! * [`tree`]: paths of one machine and registries in any file.
//!
//! The rules read text, not syntax trees: [`masked`] separates code from comments and literals,
//! the rest is lines and words. That costs a rare false alarm, which is cheaper than a Rust
//! parser in every build of this crate.
//!
//! A rule's own tests contain pieces of incorrect code in strings. Therefore literals are exempt
//! from rules about code.

mod asserts;
mod cited;
mod diagram;
mod edges;
mod masked;
mod shape;
mod tree;
mod wording;
mod words;

use crate::{Failed, links, record_doc, top};
use masked::Masked;
use tree::File;

/// Violation of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// File, relative to the checkout's top directory, with forward slashes.
    path: String,
    /// Line, counted from 1.
    line: usize,
    /// Text that was found there.
    read: String,
    /// Reason why it is wrong.
    why: &'static str,
    /// Instruction for correcting it.
    fix: &'static str,
    /// Whether it fails the check or is only a warning.
    fatal: bool,
}

impl Finding {
    /// A finding that fails the check.
    fn new(
        (path, line): (&str, usize),
        read: impl Into<String>,
        why: &'static str,
        fix: &'static str,
    ) -> Self {
        Self {
            path: path.into(),
            line,
            read: read.into(),
            why,
            fix,
            fatal: true,
        }
    }

    /// Finding as a warning.
    fn into_warning(mut self) -> Self {
        self.fatal = false;
        self
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.fatal { "error" } else { "warning" };
        writeln!(f, "{}:{}: {kind}: {}", self.path, self.line, self.read)?;
        writeln!(f, "    why: {}", self.why)?;
        write!(f, "    do:  {}", self.fix)
    }
}

/// Checks the whole tree and prints the findings.
pub fn run() -> Result<(), Failed> {
    let files = tree::files(&top())
        .map_err(|error| Failed::Usage(format!("cannot read the tree: {error}")))?;
    let mut findings = check(&files);
    findings.extend(wording::check(&files));
    findings.extend(asserts::check(&files));
    findings.extend(cited::check(&files));
    if !record_doc::is_up_to_date()? {
        findings.push(Finding::new(
            ("docs/run-json.md", 1),
            "tables of an older record",
            "the page and the types say different things",
            "run `cargo xtask record-doc`",
        ));
    }
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.fatal).count();
    println!(
        "tidy: {} files, {errors} errors, {} warnings",
        files.len(),
        findings.len() - errors
    );
    if errors == 0 {
        Ok(())
    } else {
        Err(Failed::Found)
    }
}

fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        findings.extend(tree::check(file));
        if file.path.ends_with(".md") {
            findings.extend(dead_links(file));
        }
        if file.path.ends_with("Cargo.toml") {
            findings.extend(edges::check(file));
        }
        if file.path.ends_with(".rs") {
            let masked = Masked::new(&file.text);
            findings.extend(shape::check(file, &masked));
            findings.extend(words::check(file, &masked));
        }
    }
    if let Some(page) = files.iter().find(|file| file.path == diagram::PAGE) {
        let manifests: Vec<&File> = files
            .iter()
            .filter(|file| file.path.ends_with("Cargo.toml"))
            .collect();
        findings.extend(diagram::check(page, &manifests));
    }
    findings
}

/// Links of a page that lead nowhere.
fn dead_links(file: &File) -> Vec<Finding> {
    let links = links::links(&file.path, &file.text).into_iter();
    let dead = links.filter_map(|link| Some((links::fault(&top(), &link)?, link)));
    dead.map(|(why, link)| {
        let fix = "name a file and a heading that exist, from the page's own directory";
        Finding::new((&file.path, link.line), link.written, why, fix)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_where_what_why_and_what_to_do() {
        let finding = Finding::new(("a/b.rs", 7), "`x`", "it is wrong", "change it");
        let text = finding.to_string();
        assert_eq!(
            text,
            "a/b.rs:7: error: `x`\n    why: it is wrong\n    do:  change it"
        );
        assert!(finding.into_warning().to_string().contains("warning"));
    }

    #[test]
    fn a_file_that_keeps_the_rules_gives_no_finding() {
        let file = File::new(
            "drive/sim/src/clock.rs",
            "//! A clock.\n\n/// Ticks.\npub fn ticks() -> u64 {\n    7\n}\n",
        );
        assert_eq!(check(&[file]), []);
    }
}
