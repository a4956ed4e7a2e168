//! Opening a file that others may have placed, and files that are only locked.

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

/// Opens an existing `place` for a lock: nothing is written. Only who may write it can hold the lock.
///
/// # Errors
///
/// As `open(2)`.
pub fn open_to_lock(place: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(place)
}

/// Opens `place` for a lock that no other user can hold; creates it if it is not there.
///
/// # Errors
///
/// As `open(2)`.
pub fn create_private_to_lock(place: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(place)
}
