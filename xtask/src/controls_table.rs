//! `cargo xtask controls-table EXPERIMENT`: an experiment's series under every control.
//!
//! The table is in the experiment's README between two marks. The first one has the arguments of
//! the example of `gigatcp-run` that creates it. So the same command updates it after a control
//! was added:
//!
//! ```text
//! <!-- controls: --series deep-cubic --series codel-cubic -->
//! <!-- controls: end -->
//! ```

use std::process::Command;

use crate::{Failed, files, process, top};

const BEGIN: &str = "<!-- controls: ";
const END: &str = "<!-- controls: end -->";

/// Updates the tables of the named experiments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    if words.is_empty() {
        return Err(Failed::Usage("which experiment? bufferbloat".into()));
    }
    let program = process::build_example("gigatcp-run", "controls", "release")?;
    for name in words {
        let file = top().join("experiments").join(name).join("README.md");
        let page = files::read(&file)?;
        let (head, arguments, tail) = parts(&page).ok_or_else(|| {
            Failed::Usage(format!(
                "{}: lacks `{BEGIN}... -->` and `{END}`",
                file.display()
            ))
        })?;
        let mut command = Command::new(&program);
        command.arg(name).args(arguments.split_whitespace());
        let mut table = String::new();
        let status = process::run_lines(command, |line| table += &format!("{line}\n"))?;
        if !status.success() {
            return Err(Failed::Usage("no table was made (see above)".into()));
        }
        let page = format!("{head}{BEGIN}{arguments} -->\n\n{table}\n{END}{tail}");
        files::write(&file, page)?;
    }
    Ok(())
}

/// Text before the marks, in the first one, and behind the last one.
fn parts(page: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (arguments, rest) = rest.split_once(" -->\n")?;
    let (_, tail) = rest.split_once(END)?;
    Some((head, arguments, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_between_marks_that_say_how_it_is_made() {
        let page = "a\n<!-- controls: --series b -->\n\nold\n\n<!-- controls: end -->\nc\n";
        assert_eq!(parts(page), Some(("a\n", "--series b", "\nc\n")));
        assert_eq!(parts("a <!-- controls: --series b -->\n"), None);
    }
}
