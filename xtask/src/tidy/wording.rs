//! Phrases that must not occur in prose.
//!
//! Prose is comments and literals of Rust outside tests, pages (`*.md`), the assets of the report
//! and plans. Wrapped lines are joined before matching. Code in backticks, fenced code,
//! placeholders of format strings and quotations are exempt.
//!
//! `wording.toml` has the phrases as regular expressions, and the exceptions: a file and a phrase
//! that is correct there.

use regex::{Regex, RegexSet};
use serde::Deserialize;

use super::tree::File;
use super::{Finding, Masked};

/// File with the phrases.
const RULES: &str = include_str!("wording.toml");

/// Content of `wording.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    phrases: Vec<String>,
    exceptions: Vec<Exception>,
}

/// Phrase that is correct in one file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    path: String,
    phrase: String,
}

/// Kind of a piece of prose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// `///`.
    ItemDoc,
    /// `//!`.
    ModuleDoc,
    /// Another comment.
    Comment,
    /// A literal of Rust.
    Literal,
    /// A paragraph of another file.
    Page,
}

/// Piece of prose whose wrapped lines are joined.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Prose {
    kind: Kind,
    text: String,
    /// Start of each line in `text`, and its number.
    lines: Vec<(usize, usize)>,
}

impl Prose {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            text: String::new(),
            lines: Vec::new(),
        }
    }

    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line.trim_start());
    }

    /// Number of the line with the octet at `offset`.
    fn line(&self, offset: usize) -> usize {
        let after = self.lines.partition_point(|(start, _)| *start <= offset);
        self.lines[after.saturating_sub(1)].1
    }
}

/// Checks the wording of all files.
pub fn check(files: &[File]) -> Vec<Finding> {
    let rules: Rules = toml::from_str(RULES).expect("wording.toml is valid");
    rules.check(files)
}

impl Rules {
    fn check(&self, files: &[File]) -> Vec<Finding> {
        let set = RegexSet::new(&self.phrases).expect("the phrases are regular expressions");
        let phrases = self.phrases.iter().map(|phrase| Regex::new(phrase));
        let each: Vec<Regex> = phrases.map(|phrase| phrase.expect("in the set")).collect();
        let exempt = Exempt::new();
        let mut findings = Vec::new();
        for file in files {
            for mut prose in prose(file) {
                exempt.blank(&mut prose);
                self.except(&file.path, &mut prose.text);
                for number in set.matches(&prose.text) {
                    let found = each[number].find_iter(&prose.text);
                    findings.extend(
                        found.map(|hit| finding(&file.path, &prose, hit.start(), hit.as_str())),
                    );
                }
            }
        }
        findings
    }

    /// Blanks the phrases that are correct in this file.
    fn except(&self, path: &str, text: &mut String) {
        for exception in self
            .exceptions
            .iter()
            .filter(|exception| exception.path == path)
        {
            let blank = "x".repeat(exception.phrase.len());
            *text = text.replace(&exception.phrase, &blank);
        }
    }
}

fn finding(path: &str, prose: &Prose, offset: usize, phrase: &str) -> Finding {
    Finding::new(
        (path, prose.line(offset)),
        format!("`{phrase}`"),
        "the phrase is not clear at first reading, or not the usual term",
        "say it with the usual term, one idea per sentence (GLOSSARY.md), or add an exception",
    )
}

/// Text inside prose that is not prose.
struct Exempt {
    code: Regex,
    quotation: Regex,
    placeholder: Regex,
}

impl Exempt {
    fn new() -> Self {
        let regex = |text| Regex::new(text).expect("a regular expression");
        Self {
            code: regex(r"`[^`]*`"),
            quotation: regex(r#"(^|[\s(])"[^"]{1,300}"($|[\s).,;:?!])"#),
            placeholder: regex(r"\{[^{}\s]*\}"),
        }
    }

    fn blank(&self, prose: &mut Prose) {
        let blank = |found: &regex::Captures<'_>| "x".repeat(found[0].len());
        let text = self.code.replace_all(&prose.text, blank).into_owned();
        prose.text = match prose.kind {
            Kind::Literal => self.placeholder.replace_all(&text, blank),
            _ => self.quotation.replace_all(&text, blank),
        }
        .into_owned();
    }
}

/// Prose of a file; none if it is out of scope.
fn prose(file: &File) -> Vec<Prose> {
    let path = &*file.path;
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    let is_asset = path.starts_with("face/report/assets/");
    if is_test || path == "CHANGELOG.md" {
        vec![]
    } else if path.ends_with(".rs") {
        of_rust(&Masked::new(&file.text))
    } else if path.ends_with(".md") || path.ends_with("plan.toml") || is_asset {
        paragraphs(&file.text)
    } else {
        vec![]
    }
}

/// Comments and literals outside tests.
fn of_rust(masked: &Masked) -> Vec<Prose> {
    let mut all: Vec<Prose> = Vec::new();
    // Whether the previous line belongs to the last comment, and whether that is in fenced code.
    let (mut goes_on, mut is_fenced) = (false, false);
    for (index, line) in masked.comments.iter().enumerate() {
        let Some((kind, text)) = comment(line).filter(|_| !masked.is_test[index]) else {
            (goes_on, is_fenced) = (false, false);
            continue;
        };
        if !goes_on || all.last().is_none_or(|last| last.kind != kind) {
            all.push(Prose::new(kind));
            is_fenced = false;
        }
        goes_on = true;
        if text.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && let Some(last) = all.last_mut() {
            last.push(index + 1, text);
        }
    }
    let literals = masked.literals.iter();
    for (first, text) in literals.filter(|(first, _)| !masked.is_test[first - 1]) {
        let mut literal = Prose::new(Kind::Literal);
        for (number, line) in (*first..).zip(text.lines()) {
            literal.push(number, line.trim_end_matches('\\'));
        }
        all.push(literal);
    }
    all
}

fn comment(line: &str) -> Option<(Kind, &str)> {
    let trimmed = line.trim();
    let kinds = [
        ("///", Kind::ItemDoc),
        ("//!", Kind::ModuleDoc),
        ("//", Kind::Comment),
        ("", Kind::Comment),
    ];
    let (mark, kind) = kinds
        .into_iter()
        .find(|(mark, _)| trimmed.starts_with(mark))?;
    (!trimmed.is_empty()).then(|| (kind, &trimmed[mark.len()..]))
}

/// Paragraphs of any other file, without fenced code.
fn paragraphs(text: &str) -> Vec<Prose> {
    let mut all: Vec<Prose> = vec![Prose::new(Kind::Page)];
    let mut is_fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if is_fence || line.trim().is_empty() {
            all.push(Prose::new(Kind::Page));
        } else if !is_fenced && let Some(last) = all.last_mut() {
            last.push(number, line);
        }
    }
    all.retain(|prose| !prose.text.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let text = "phrases = ['\\b[Ff]olders?\\b', '\\bso many\\b']\nexceptions = []\n";
        toml::from_str(text).expect("rules")
    }

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = rules().check(&[File::new(path, text)]);
        findings
            .into_iter()
            .map(|finding| (finding.line, finding.read))
            .collect()
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        found(path, text)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn a_phrase_is_found_in_comments_literals_and_pages_with_its_line() {
        let rust = "//! A folder.\nfn f() {\n    g(\"one \\\n      folder\"); // the folder\n}\n";
        assert_eq!(lines("drive/a/src/b.rs", rust), [1, 4, 4]);
        assert_eq!(lines("docs/a.md", "# A\n\nIn a\nfolder.\n"), [4]);
        assert_eq!(lines("face/report/assets/a.js", "// a folder\n"), [1]);
        assert_eq!(lines("experiments/a/plan.toml", "# a folder\n"), [1]);
    }

    #[test]
    fn a_phrase_that_is_wrapped_is_found() {
        assert_eq!(
            found("a/b.rs", "/// In so\n/// many words.\n"),
            [(1, "`so many`".into())]
        );
        assert_eq!(
            found("a/b.rs", "f(\"in so \\\n   many\");\n"),
            [(1, "`so many`".into())]
        );
        assert_eq!(lines("docs/a.md", "one so\nmany\n"), [1]);
        assert_eq!(lines("docs/a.md", "one so\n\nmany\n"), [0; 0]);
    }

    #[test]
    fn code_quotations_and_placeholders_are_exempt() {
        assert_eq!(
            lines(
                "a/b.rs",
                "let folder = 1;\n/// `folder` is \"the folder\".\n"
            ),
            [0; 0]
        );
        assert_eq!(lines("a/b.rs", "f(\"{folder} {folder:?}\");\n"), [0; 0]);
        assert_eq!(
            lines("a/b.rs", "//! ```\n//! folder();\n//! ```\n//! folder\n"),
            [4]
        );
        assert_eq!(lines("docs/a.md", "```text\nfolder\n```\nfolder\n"), [4]);
    }

    #[test]
    fn tests_and_the_changelog_are_out_of_scope() {
        let text = "#[cfg(test)]\nmod tests {\n    // folder\n    fn f() {\n        g(\"folder\");\n    }\n}\n";
        assert_eq!(lines("a/b.rs", text), [0; 0]);
        assert_eq!(lines("drive/a/tests/b.rs", "// folder\n"), [0; 0]);
        assert_eq!(lines("CHANGELOG.md", "folder\n"), [0; 0]);
        assert_eq!(lines("docs/grid.txt", "folder\n"), [0; 0]);
    }

    #[test]
    fn an_exception_holds_for_one_phrase_of_one_file() {
        let mut rules = rules();
        rules.exceptions.push(Exception {
            path: "docs/a.md".into(),
            phrase: "folder view".into(),
        });
        let page = |path| File::new(path, "the folder view of a folder\n");
        assert_eq!(rules.check(&[page("docs/a.md")]).len(), 1);
        assert_eq!(rules.check(&[page("docs/b.md")]).len(), 2);
    }

    #[test]
    fn the_phrases_of_the_tree_are_found_and_its_exceptions_occur() {
        let rules: Rules = toml::from_str(RULES).expect("wording.toml");
        let file = File::new("new/a.md", "It was sent again, and nobody knows of it.\n");
        assert_eq!(
            rules
                .check(&[file])
                .iter()
                .filter(|finding| finding.fatal)
                .count(),
            3
        );
        for one in &rules.exceptions {
            let text = std::fs::read_to_string(crate::top().join(&one.path))
                .unwrap_or_default()
                .replace('\n', " ");
            assert!(text.contains(&one.phrase), "{}: {}", one.path, one.phrase);
        }
    }
}
