//! `cargo xtask grade`: how often `gigatcp why` finds the cause it should.
//!
//! The grading is an example of `gigatcp-sweep`, which sees the simulator, the
//! captures and the diagnosis. Its worlds have one known cause each; they are
//! captured from three places and diagnosed from the capture alone. With `--live`
//! they are connections of this machine's kernel over emulated paths, which needs
//! root, or a user namespace of one's own; with `--fat` the paths are long and fat;
//! with `--shared` others use them as well. `--write` keeps what came out as
//! `docs/grade.txt`, `docs/grade-live.txt`, `docs/grade-fat.txt` or
//! `docs/grade-shared.txt`; arguments else are handed on.

use std::process::Command;

use crate::{Failed, process, top};

/// Where the kept grades are.
fn kept(words: &[String]) -> &'static str {
    let has = |option: &str| words.iter().any(|word| word == option);
    if has("--live") {
        "docs/grade-live.txt"
    } else if has("--fat") {
        "docs/grade-fat.txt"
    } else if has("--shared") {
        "docs/grade-shared.txt"
    } else {
        "docs/grade.txt"
    }
}

/// Runs the grading with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let program = process::build_example("gigatcp-sweep", "grade", "test")?;
    let kept = kept(words);
    let keeps = words.iter().any(|word| word == "--write");
    let rest: Vec<&String> = words.iter().filter(|word| *word != "--write").collect();
    let mut command = Command::new(program);
    command.args(&rest).current_dir(top());
    let mut text = String::from("# cargo xtask grade --write");
    for word in rest {
        text.push_str(&format!(" {word}"));
    }
    text.push('\n');
    let status = process::run_lines(command, |line| {
        println!("{line}");
        text.push_str(line);
        text.push('\n');
    })?;
    match status.code() {
        Some(0) if keeps => std::fs::write(top().join(kept), text)
            .map_err(|error| Failed::Usage(format!("cannot write {kept}: {error}"))),
        Some(0) => Ok(()),
        _ => Err(Failed::Usage(
            "the grading did not begin (see above)".into(),
        )),
    }
}
