//! Finds the packet scripts below the paths given.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A script that was found.
#[derive(Debug)]
pub(super) struct ScriptFile {
    /// Directory under which its result is counted.
    pub folder: String,
    /// Its file.
    pub path: PathBuf,
    /// Text of the script. Bytes that are not UTF-8 become replacement characters, which the parser
    /// rejects where they matter.
    pub text: String,
}

impl ScriptFile {
    /// Text of the `defaults.sh` that the script calls by a relative path, if there is one.
    pub(super) fn defaults(&self) -> Option<String> {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '`' | ';' | '"');
        let mut words = self.text.split(is_end);
        let name = words.find(|word| word.ends_with("/defaults.sh") && word.starts_with('.'))?;
        fs::read_to_string(self.path.parent()?.join(name)).ok()
    }
}

/// Scripts below `paths`, sorted by name.
pub(super) fn collect(paths: &[PathBuf]) -> Result<Vec<ScriptFile>, String> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        walk(path, &mut files).map_err(|error| unreadable(path, &error))?;
        if files.len() == before {
            return Err(format!("{}: contains no file `*.pkt`", path.display()));
        }
    }
    files.sort();
    files.dedup();
    files.into_iter().map(read).collect()
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        // A file named explicitly needs no `.pkt` ending; a missing one is an error.
        fs::metadata(path)?;
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "pkt") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: PathBuf) -> Result<ScriptFile, String> {
    let octets = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
    let folder = path
        .parent()
        .map_or_else(String::new, |folder| folder.display().to_string());
    Ok(ScriptFile {
        folder,
        path,
        text: String::from_utf8_lossy(&octets).into_owned(),
    })
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}
