//! Goodput on known paths, compared with the theoretical maximum: goals, and the grid.
//!
//! An example of `gigatcp-run` prints both tables. The grid is stored in the checkout: a change
//! of behavior changes its file, and review shows by how much. With `--set` or `--only` it is
//! another grid, which is not stored.

use std::process::Command;

use crate::{Failed, files, process, top};

/// File of the grid.
const KEPT: &str = "docs/grid.txt";

/// Prints the goals; `words` are arguments of the example.
pub fn goals(words: &[String]) -> Result<(), Failed> {
    let mut program = figures()?;
    program.arg("goals").args(words);
    process::succeed(program)
}

/// Prints the grid and stores it, or compares it with the stored one.
pub fn grid(words: &[String]) -> Result<(), Failed> {
    let (checks, words): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| *word == "--check");
    let mut program = figures()?;
    program.arg("grid").args(&words);
    let said = process::spelled(&program);
    let (status, text) = process::shown(program)?;
    if !status.success() {
        return Err(Failed::Usage(format!("`{said}` failed (see above)")));
    }
    let file = top().join(KEPT);
    if !checks.is_empty() {
        return compare(&files::read(&file)?, &text);
    }
    if !words.is_empty() {
        println!("\n{KEPT} is left as it is: this is another grid");
        return Ok(());
    }
    files::write(&file, text)
}

/// Fails if a line differs from the stored grid.
fn compare(kept: &str, lines: &str) -> Result<(), Failed> {
    let differ = differences(kept, lines);
    if differ.is_empty() {
        println!("\nas kept in {KEPT}");
        return Ok(());
    }
    println!("\n{} lines are not kept so in {KEPT}:", differ.len());
    for (kept, line) in differ {
        println!("- {}\n+ {line}", kept.unwrap_or("(no such line)"));
    }
    println!("accept them with `cargo xtask bench --grid`, if they are meant");
    Err(Failed::Found)
}

/// Lines that differ, each with the stored one at its place.
fn differences<'a>(kept: &'a str, lines: &'a str) -> Vec<(Option<&'a str>, &'a str)> {
    // Loss, RTT and its unit, MTU.
    let place = |line: &'a str| line.split_whitespace().take(4).collect::<Vec<&str>>();
    let beside = |line: &'a str| kept.lines().find(|kept| place(kept) == place(line));
    let new = lines.lines();
    new.filter(|line| !kept.lines().any(|kept| kept == *line))
        .map(|line| (beside(line), line))
        .collect()
}

/// Program that prints the tables.
fn figures() -> Result<Command, Failed> {
    let program = process::build_example("gigatcp-run", "figures", "release")?;
    Ok(Command::new(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_kept_is_shown_beside_the_one_in_its_place() {
        let kept = "loss RTT\n   0    1 ms  1500   503.1\n1e-5    1 ms  1500   501.7\n";
        let same = "   0    1 ms  1500   503.1\n";
        let other = "1e-5    1 ms  1500   400.0";
        let lines = format!("{same}{other}\n");
        let expected = [(Some("1e-5    1 ms  1500   501.7"), other)];
        assert_eq!(differences(kept, &lines), expected);
        assert!(differences(kept, same).is_empty());
        let new = "1e-2    1 ms  1500    9.0";
        assert_eq!(differences(kept, new), [(None, new)]);
    }
}
