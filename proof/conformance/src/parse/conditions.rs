//! Conditional lines: `#ifdef NAME`, `#ifndef NAME`, `#if 0`, `#if 1`, `#else`,
//! `#endif`, `#define NAME`, `#undef NAME`.
//!
//! A name is defined by an earlier `#define` line, by `-D NAME=value` or by `--define=NAME`. Other
//! lines that begin with `#` are comments.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::Parsed;
use crate::source::Mistake;

/// An open `#if`.
struct Branch {
    /// Location of its beginning.
    at: usize,
    /// Whether the surrounding lines are used.
    outer: bool,
    /// Whether its current branch is chosen.
    chosen: bool,
    has_else: bool,
}

/// Text with the unchosen lines blanked; all octets keep their positions.
///
/// # Errors
/// An unknown condition, an `#if` without its `#endif` or vice versa.
pub fn chosen_lines(text: &str) -> Parsed<Cow<'_, str>> {
    if !text.contains("#if") && !text.contains("#endif") {
        return Ok(Cow::Borrowed(text));
    }
    let mut names = BTreeSet::new();
    let mut open: Vec<Branch> = Vec::new();
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let at = kept.len();
        let is_read = open
            .last()
            .is_none_or(|branch| branch.outer && branch.chosen);
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        let mistake = |expected: &str| {
            let start = at + line.find('#').unwrap_or(0);
            Mistake::new(start..at + line.trim_end().len(), expected)
        };
        let mut is_directive = true;
        match (first, second) {
            ("#ifdef" | "#ifndef" | "#if", word) => {
                let chosen = match (first, word) {
                    ("#ifdef", Some(name)) => names.contains(name),
                    ("#ifndef", Some(name)) => !names.contains(name),
                    ("#if", Some("0")) => false,
                    ("#if", Some("1")) => true,
                    _ => {
                        return Err(mistake(
                            "a condition: #ifdef NAME, #ifndef NAME, #if 0, #if 1",
                        ));
                    }
                };
                open.push(Branch {
                    at,
                    outer: is_read,
                    chosen,
                    has_else: false,
                });
            }
            ("#else", _) => match open.last_mut().filter(|branch| !branch.has_else) {
                Some(branch) => {
                    branch.chosen = !branch.chosen;
                    branch.has_else = true;
                }
                None => return Err(mistake("an #if before it that has no #else")),
            },
            ("#endif", _) => {
                if open.pop().is_none() {
                    return Err(mistake("an #if before it"));
                }
            }
            _ => is_directive = false,
        }
        if is_read && !is_directive {
            note_names(&mut names, first, second, line);
            kept.push_str(line);
        } else {
            // Blanked octet by octet: positions in the text are unchanged.
            kept.extend(
                line.bytes()
                    .map(|octet| if octet == b'\n' { '\n' } else { ' ' }),
            );
        }
    }
    match open.pop() {
        Some(branch) => Err(Mistake::new(branch.at..branch.at + 3, "an #endif after it")),
        None => Ok(Cow::Owned(kept)),
    }
}

/// Records names defined by `line`.
fn note_names<'a>(
    names: &mut BTreeSet<&'a str>,
    first: &'a str,
    second: Option<&'a str>,
    line: &'a str,
) {
    let of = |definition: &'a str| definition.split('=').next().unwrap_or_default();
    match (first, second) {
        ("#define", Some(name)) => {
            names.insert(name);
        }
        ("#undef", Some(name)) => {
            names.remove(name);
        }
        _ if first.starts_with("-D") || first.starts_with("--define=") => {
            for word in line.split_whitespace() {
                let definition = word
                    .strip_prefix("-D")
                    .or(word.strip_prefix("--define="))
                    .unwrap_or(word);
                names.insert(of(definition));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_branch_is_kept_and_every_octet_keeps_its_place() {
        let text = "-D A=01\n#ifdef A\none\n#else\ntwö\n#endif\n#ifndef A\nthree\n#ifdef A\nfour\n\
                    #endif\n#else\nfive\n#endif\n# a comment\n";
        let kept = chosen_lines(text).unwrap();
        assert_eq!(kept.len(), text.len());
        let words: Vec<&str> = kept.split_whitespace().collect();
        assert_eq!(words, ["-D", "A=01", "one", "five", "#", "a", "comment"]);
        assert_eq!(kept.find("five"), text.find("five"));
    }

    #[test]
    fn conditions_that_are_not_known_or_not_closed_are_mistakes() {
        for text in [
            "#if A > 1\n#endif\n",
            "#ifdef\n#endif\n",
            "#ifdef A\n",
            "#endif\n",
        ] {
            assert!(chosen_lines(text).is_err(), "{text}");
        }
        let twice = "#ifdef A\n#else\n#else\n#endif\n";
        assert!(chosen_lines(twice).is_err());
        assert_eq!(chosen_lines("# if A\n").unwrap(), "# if A\n");
    }
}
