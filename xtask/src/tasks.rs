//! Table of the tasks: names and functions; `usage.txt` has their usage.
//!
//! The usage serves both `--help` and the check of arguments.

use crate::{
    Failed, api, bench, bench_live, book, ci, controls_table, dist, duel, fink_today, fuzz, grade,
    ledger, live, page, pictures, proof, python, record_doc, release, swarm, tidy,
};

/// Usage of all tasks: the forms of each command, each with lines that explain it.
const USAGE: &str = include_str!("usage.txt");

/// A task of `cargo xtask`.
pub struct Task {
    /// Name on the command line.
    pub name: &'static str,
    /// Runs the task with the words after its name.
    pub run: fn(&[String]) -> Result<(), Failed>,
}

const fn task(name: &'static str, run: fn(&[String]) -> Result<(), Failed>) -> Task {
    Task { name, run }
}

/// All tasks.
pub const TASKS: [Task; 23] = [
    task("ci", |_| ci::run()),
    task("tidy", |_| tidy::run()),
    task("ledger", ledger::run),
    task("api", api::run),
    task("fuzz", fuzz::run),
    task("bench", bench::run),
    task("bench-live", bench_live::run),
    task("live-transfers", live::transfers),
    task("live-garbage", live::garbage),
    task("live-soak", live::soak),
    task("duel", duel::run),
    task("fink-today", |_| fink_today::run()),
    task("grade", grade::run),
    task("proof", proof::run),
    task("python", python::run),
    task("book", |_| book::run()),
    task("page", page::run),
    task("pictures", |_| pictures::run()),
    task("dist", dist::run),
    task("release", release::run),
    task("record-doc", |_| record_doc::run()),
    task("controls-table", controls_table::run),
    task("swarm", swarm::run),
];

/// Task named `name`.
pub fn find(name: &str) -> Option<&'static Task> {
    TASKS.iter().find(|task| task.name == name)
}

/// Usage of every task.
pub fn usage() -> String {
    format!(
        "usage: cargo xtask <task>\n\n{USAGE}\n`cargo xtask <task> --help` is about one task.\n"
    )
}

/// Whether these words request help.
pub fn ask_for_help(words: &[String]) -> bool {
    words
        .iter()
        .any(|word| matches!(word.as_str(), "--help" | "-h"))
}

impl Task {
    /// Usage of the task.
    pub fn usage(&self) -> String {
        let lines: String = self.lines().flat_map(|line| [line, "\n"]).collect();
        format!("usage: cargo xtask {}\n\n{lines}", self.name)
    }

    /// Mistake in these words, before minutes of building. The task itself checks words other than
    /// flags.
    pub fn mistake(&self, words: &[String]) -> Option<String> {
        let bare = |token: &str| token.trim_matches(['[', ']']).to_owned();
        let all = || self.forms().map(|form| form.split(' ').skip(1));
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
            let takes = forms
                .get(place + 1)
                .map(|token| bare(token))
                .filter(|token| !token.starts_with("--"));
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
        // A task without arguments has none.
        let word = words.first().filter(|_| forms.is_empty())?;
        Some(format!("what is `{word}`? {} takes no words", self.name))
    }

    fn lines(&self) -> impl Iterator<Item = &'static str> {
        let mut is_own = false;
        USAGE.lines().filter(move |line| {
            if let Some(form) = form(line) {
                is_own = form.split(' ').next() == Some(self.name);
            }
            is_own
        })
    }

    fn forms(&self) -> impl Iterator<Item = &'static str> {
        self.lines().filter_map(form)
    }
}

/// Form of a command with which a line of the usage begins. Other lines only explain.
fn form(line: &'static str) -> Option<&'static str> {
    let form = line.strip_prefix("  ")?;
    form.split("  ").next().filter(|form| !form.is_empty())
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
        for form in USAGE.lines().filter_map(form) {
            assert!(find(form.split(' ').next().unwrap()).is_some(), "{form}");
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
        let said = mistake("tidy", "here").unwrap();
        assert_eq!(said, "what is `here`? tidy takes no words");
    }

    #[test]
    fn help_is_asked_for_anywhere_after_the_task() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(ask_for_help(&words("--seed 1 --help")));
        assert!(ask_for_help(&words("-h")));
        assert!(!ask_for_help(&words("--seed 1")));
    }
}
