//! Opening a file that others may have placed.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens `place` for reading. Fails for a symbolic link, and does not wait for the writer of a pipe.
///
/// # Errors
///
/// As `open(2)`.
pub fn open_no_link(place: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(place)
}
