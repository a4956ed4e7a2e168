//! The directory of a recording: names, permissions, one writer, and the total size.
//!
//! Files are those that this module names; nothing else in the directory is read, written or removed,
//! and no symbolic link in it is followed.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gigatcp_linux::file::open_no_link;
use gigatcp_linux::process;
use gigatcp_units::Bytes;

use super::format::MAGIC;

const BEGIN: &str = "watch-";
const END: &str = ".gigatcp";

/// Largest file that is read: one that a recorder did not write may have any size.
const MAX_FILE: u64 = 256 << 20;

/// Why a directory is not recorded in.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Another recorder writes there.
    #[error("another recorder writes to it")]
    Taken,
    /// Others could exchange the files.
    #[error("other users may write to it (mode {mode:o})")]
    Writable {
        /// Its permissions.
        mode: u32,
    },
    /// It belongs to another user.
    #[error("it belongs to user {owner}")]
    Foreign {
        /// Its owner.
        owner: u32,
    },
    /// The system's error.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A directory that this process alone records in.
#[derive(Debug)]
pub(super) struct Directory {
    place: PathBuf,
    /// Holds the lock.
    #[expect(dead_code, reason = "it is held as long as the value lives")]
    lock: File,
}

impl Directory {
    /// Makes the directory, readable by this user only, unless it exists.
    pub fn open(place: &Path) -> Result<Self, Refused> {
        match DirBuilder::new().mode(0o700).create(place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let lock = File::open(place)?;
        let about = lock.metadata()?;
        if !about.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
        }
        let mode = about.mode() & 0o7777;
        if mode & 0o022 != 0 {
            return Err(Refused::Writable { mode });
        }
        let owner = about.uid();
        // Root too: the owner may replace a directory while it is recorded into.
        if owner != process::user() {
            return Err(Refused::Foreign { owner });
        }
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Refused::Taken),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        try_to_write(place)?;
        Ok(Self {
            place: place.to_owned(),
            lock,
        })
    }

    /// Begins the next file, readable by this user only; removes old ones until all have at most
    /// `most` bytes.
    pub fn next_file(&self, most: Bytes) -> io::Result<File> {
        let mut files = files(&self.place)?;
        let last = files.last().map_or(0, |(number, _)| *number);
        let size = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
        let mut total: u64 = files.iter().map(|(_, path)| size(path)).sum();
        files.reverse();
        while total > most.as_u64()
            && let Some((_, oldest)) = files.pop()
        {
            total -= size(&oldest);
            fs::remove_file(&oldest)?;
        }
        let place = self.place.join(format!("{BEGIN}{:08}{END}", last + 1));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&place)?;
        if let Err(error) = file.write_all(MAGIC) {
            // As on a full disk, where the next try would leave one more.
            let _ = fs::remove_file(&place);
            return Err(error);
        }
        Ok(file)
    }
}

/// Writes a page to the directory and removes it: an error now is seen, one after a night is not.
fn try_to_write(place: &Path) -> io::Result<()> {
    let trial = place.join(format!("{BEGIN}trial"));
    // Of a recorder that was killed.
    let _ = fs::remove_file(&trial);
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&trial);
    let written = file?.write_all(&[0; 4096]);
    fs::remove_file(&trial)?;
    written
}

/// The files of a directory with their numbers, the oldest first.
pub(super) fn files(place: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| {
                name.strip_prefix(BEGIN)?
                    .strip_suffix(END)?
                    .parse::<u32>()
                    .ok()
            })
            .map(u64::from);
        // A symbolic link is not a file here.
        if let Some(number) = number
            && entry.file_type()?.is_file()
        {
            files.push((number, entry.path()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Reads a file; `None` if it is not of this format.
pub(super) fn read(place: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = open_no_link(place)?;
    let mut octets = Vec::new();
    if file.metadata()?.is_file() {
        file.take(MAX_FILE).read_to_end(&mut octets)?;
    }
    Ok(octets.starts_with(MAGIC).then_some(octets))
}

/// Whether a directory has files of a recording.
pub fn is_recording(place: &Path) -> bool {
    place.is_dir() && files(place).is_ok_and(|files| !files.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const NO_BOUND: Bytes = Bytes::new(u64::MAX);

    #[test]
    fn second_recorder_of_a_directory_is_refused_until_the_first_ends() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("recording");
        let first = Directory::open(&place).unwrap();
        assert_eq!(place.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(matches!(Directory::open(&place), Err(Refused::Taken)));
        drop(first);
        Directory::open(&place).unwrap();
    }

    #[test]
    fn directory_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o770)).unwrap();
        let refused = Directory::open(folder.path()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "other users may write to it (mode 770)"
        );
    }

    #[test]
    fn files_are_private_numbered_and_bounded_and_links_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        let secret = folder.path().join("other");
        fs::write(&secret, "theirs").unwrap();
        symlink(&secret, folder.path().join("watch-00000002.gigatcp")).unwrap();
        for _ in 0..2 {
            let mut file = directory.next_file(NO_BOUND).unwrap();
            assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
            let written = file.write_all(&[0; 1000]);
            written.unwrap();
            if files(folder.path()).unwrap().len() == 1 {
                // The next name is that of the link.
                assert!(directory.next_file(NO_BOUND).is_err());
                fs::remove_file(folder.path().join("watch-00000002.gigatcp")).unwrap();
            }
        }
        directory.next_file(Bytes::new(1500)).unwrap();
        let numbers: Vec<u64> = files(folder.path())
            .unwrap()
            .iter()
            .map(|file| file.0)
            .collect();
        assert_eq!(numbers, [2, 3]);
        assert_eq!(fs::read(&secret).unwrap(), b"theirs");
    }
}
