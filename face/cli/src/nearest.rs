//! Finds the known word nearest to a mistyped one.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use gigatcp_plan::nearest;

/// Existing file or directory with the name nearest to the missing `path`. Only names that end in
/// `ending` count; the comparison ignores it.
pub(crate) fn neighbor(path: &Path, ending: &str) -> Option<PathBuf> {
    let file_name = path.file_name()?.to_str()?;
    let wanted = file_name.strip_suffix(ending).unwrap_or(file_name);
    let parent = path.parent()?;
    let here = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let entries = fs::read_dir(here).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    let name = nearest(wanted, names.iter().map(String::as_str))?;
    Some(parent.join(format!("{name}{ending}")))
}

/// Hint for an unknown `word`. It names the nearest known one, and all of them if they fit on a
/// line.
pub(crate) fn hint(word: &str, what: &str, known: &[&str]) -> String {
    const FITS: usize = 160;
    if known.is_empty() {
        return format!("there are no {what}");
    }
    let all = known.join(", ");
    let all = if all.len() <= FITS {
        format!("{what}: {all}")
    } else {
        format!("there are {} {what}", known.len())
    };
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? {all}"),
        None => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: [&str; 3] = ["reno-60MB", "cubic-60MB", "bic-60MB"];

    #[test]
    fn slips_and_beginnings_are_understood() {
        assert_eq!(nearest("reno-60Mb", SERIES), Some("reno-60MB"));
        assert_eq!(nearest("cubic", SERIES), Some("cubic-60MB"));
        assert_eq!(nearest("banana", SERIES), None);
        assert_eq!(nearest("", SERIES), None);
    }

    #[test]
    fn a_long_list_is_counted_not_shown() {
        let long = "x".repeat(100);
        let known = [long.as_str(), long.as_str()];
        assert_eq!(hint("banana", "series", &known), "there are 2 series");
        assert_eq!(hint("banana", "series", &[]), "there are no series");
    }
}
