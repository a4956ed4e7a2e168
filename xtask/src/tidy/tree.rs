//! Files of the checkout, and forbidden text in any of them.
//!
//! Paths of one machine break on every other. Registries have many names and mirrors; the
//! manifest names packages, the configuration of the machine names the registry. The lock file is
//! exempt: cargo writes it.

use std::io;
use std::path::Path;

use super::Finding;

/// Text file of the checkout.
#[derive(Clone, Debug)]
pub struct File {
    /// Path relative to the checkout's top directory, with forward slashes.
    pub path: String,
    /// Content of the file.
    pub text: String,
}

#[cfg(test)]
impl File {
    /// A file with that path and text.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }
}

/// Directories that begin with a dot and belong to the project.
const DOTTED: [&str; 3] = [".ci", ".cargo", ".github"];

/// Every text file below `top`, in order of path. Without those that version control ignores at the
/// top, and without other dotted directories.
pub fn files(top: &Path) -> io::Result<Vec<File>> {
    let ignored = std::fs::read_to_string(top.join(".gitignore")).unwrap_or_default();
    let mut files = Vec::new();
    collect(top, top, &ignored, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(top: &Path, folder: &Path, ignored: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let relative = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ignored = ignored.lines().any(|line| {
            let pattern = line.trim().trim_end_matches('/');
            pattern.strip_prefix('/') == Some(&relative) || (!pattern.is_empty() && pattern == name)
        });
        let kind = entry.file_type()?;
        let is_dotted = name.starts_with('.') && kind.is_dir() && !DOTTED.contains(&&*name);
        // In a linked work tree `.git` is a file that names the main one.
        if is_ignored || is_dotted || name == ".git" {
            continue;
        }
        if kind.is_dir() {
            collect(top, &path, ignored, files)?;
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            // A file that is not UTF-8 is a capture or an image: there is no text to check.
            files.push(File {
                path: relative,
                text,
            });
        }
    }
    Ok(())
}

/// Beginnings of paths that exist on only one machine.
const MACHINE: [&str; 6] = ["/home/", "/root/", "/work/", "/Users/", "/mnt/", "C:\\"];

/// Hosts of package registries.
const REGISTRIES: [&str; 5] = [
    "crates.io",
    "static.rust-lang.org",
    "pypi.org",
    "registry.npmjs.org",
    "proxy.golang.org",
];

/// Checks one file of any kind.
pub fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    // These two files would be findings themselves.
    if file.path.ends_with("Cargo.lock") || file.path == "xtask/src/tidy/tree.rs" {
        return findings;
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        let place = (file.path.as_str(), number);
        for path in MACHINE {
            if begins_path(line, path) {
                findings.push(Finding::new(
                    place,
                    format!("`{}`", line.trim()),
                    "this path exists on one machine only",
                    "say it relative to the checkout, or take it as an argument",
                ));
            }
        }
        for registry in REGISTRIES {
            if line.contains(registry) {
                findings.push(Finding::new(
                    place,
                    format!("`{registry}` in `{}`", line.trim()),
                    "a registry has mirrors; its name belongs to the machine's configuration",
                    "name the package, not the place it comes from",
                ));
            }
        }
    }
    findings
}

/// Whether `path` occurs in `line` as the beginning of a path.
fn begins_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-/~$}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&File::new("docs/a.md", text)).len()
    }

    #[test]
    fn paths_of_one_machine_are_found_and_parts_of_others_are_not() {
        assert_eq!(found("see /home/someone/notes"), 1);
        assert_eq!(found("include \"/work/x\""), 1);
        assert_eq!(found("https://example.org/home/page"), 0);
        assert_eq!(found("network/work/flow and $HOME/home/"), 0);
    }

    #[test]
    fn registries_are_found_everywhere_but_in_the_lock_file() {
        assert_eq!(found("index = \"https://crates.io/\""), 1);
        let lock = File::new(
            "Cargo.lock",
            "registry+https://github.com/rust-lang/crates.io-index",
        );
        assert_eq!(check(&lock), []);
    }

    #[test]
    fn the_tree_is_listed_without_what_version_control_ignores() {
        let files = files(&crate::top()).expect("the checkout can be read");
        let has = |path: &str| files.iter().any(|file| file.path == path);
        assert!(has("Cargo.toml") && has("xtask/src/main.rs") && has(".cargo/config.toml"));
        assert!(!files.iter().any(|file| file.path.starts_with("target/")));
        assert!(!files.iter().any(|file| file.path.starts_with(".git/")));
    }
}
