//! Files that tasks read and write, with errors that name them.

use std::fs;
use std::io::Error;
use std::path::Path;

use crate::Failed;

/// Reads a text.
pub fn read(path: &Path) -> Result<String, Failed> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

/// Writes a file, and creates its directory.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failed> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, content))
        .map_err(|error| failed("write", path, &error))
}

/// Copies a file, and creates the directory of the copy.
pub fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::copy(from, to).map(drop))
        .map_err(|error| failed("copy", from, &error))
}

/// Error that a file or directory cannot be used.
pub fn failed(what: &str, path: &Path, error: &Error) -> Failed {
    Failed::Usage(format!("cannot {what} {}: {error}", path.display()))
}
