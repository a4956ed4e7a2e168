//! A file that is replaced atomically.
//!
//! The content goes to a temporary file with a hidden name in the same directory, which is renamed
//! to the requested name at the end. On a full disk, after an error or Ctrl-C the previous file is
//! unchanged, and no partial file remains. A pipe or a device (`/dev/stdout`) is written directly.
//!
//! `kill -9` leaves the temporary file behind. The next command that writes a file of that name
//! removes it and reports that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use signal_hook::low_level::emulate_default_handler;

use gigatcp_run::leftover;

use crate::failure::Failure;
use crate::output;
use crate::signals;

/// The current temporary files, for code that must end this process immediately.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether another handler receives signals, ends in order, and so removes these files.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// Records that the caller handles Ctrl-C and SIGTERM.
///
/// After this they do not end the process within a file; the caller ends it in order.
pub(crate) fn signals_are_heard() {
    IS_HEARD.store(true, Ordering::SeqCst);
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    out: File,
    /// Marks the temporary file as in use.
    #[expect(dead_code, reason = "it is held as long as the value lives")]
    lock: Option<File>,
    /// The temporary file and its final name; `None` if the file is written directly.
    moves: Option<(PathBuf, PathBuf)>,
}

impl AtomicFile {
    /// Creates the temporary file for `place`.
    pub(crate) fn begin(place: &Path) -> Result<Self, Failure> {
        if place.as_os_str() == "-" {
            // stdout carries the command's result; a second document on it would corrupt both.
            return Err(
                Failure::new("`-` is standard output, which has something else on it")
                    .effect("nothing was written")
                    .hint("name a file; one of that name is `./-`"),
            );
        }
        if place.is_dir() {
            return Err(Failure::new(format!("{} is a directory", place.display()))
                .effect("nothing was written")
                .hint("name a file"));
        }
        Self::open(place).map_err(|error| refused(place, &error))
    }

    /// Checks that `place` can be written. Called before long work.
    pub(crate) fn check(place: &Path) -> Result<(), Failure> {
        // Opening a pipe may consume its only reader.
        let is_plain = !place.exists() || place.is_file() || place.is_dir();
        if is_plain {
            Self::begin(place)?;
        }
        Ok(())
    }

    /// Checks that `place` can be written and has no file that would be lost. Called before long
    /// work.
    pub(crate) fn check_new(place: &Path) -> Result<(), Failure> {
        if place.is_file() {
            return Err(exists(place));
        }
        Self::check(place)
    }

    /// Checks that `place` can be written and that nothing is there: neither a device nor a symbolic
    /// link that leads nowhere. Called before long work.
    pub(crate) fn check_absent(place: &Path) -> Result<(), Failure> {
        if fs::symlink_metadata(place).is_ok() {
            return Err(exists(place));
        }
        Self::check(place)
    }

    fn open(place: &Path) -> io::Result<Self> {
        if place.exists() && !place.is_file() {
            let out = OpenOptions::new().write(true).open(place)?;
            return Ok(Self {
                out,
                lock: None,
                moves: None,
            });
        }
        // A symbolic link is followed and stays a link.
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        if place.exists() {
            // Fails if the file is write-protected; the rename would replace it anyway.
            OpenOptions::new().write(true).open(&place)?;
        }
        Self::create(place, &mut OpenOptions::new())
    }

    /// Creates the temporary file that is renamed to `place`.
    fn create(place: PathBuf, options: &mut OpenOptions) -> io::Result<Self> {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        clear(&place, &name);
        let hidden = format!(".{name}.{}{PART}", process::id());
        let temporary = place.with_file_name(hidden);
        remember(&temporary);
        // In a directory of others a symbolic link of that name may lead anywhere.
        options.write(true).create_new(true);
        let out = options
            .open(&temporary)
            .or_else(|error| {
                // Of a process with the same ID, as in a container that starts again.
                let is_left = error.kind() == io::ErrorKind::AlreadyExists
                    && leftover::is_abandoned(&temporary, u32::MAX);
                if !is_left {
                    return Err(error);
                }
                fs::remove_file(&temporary)?;
                options.open(&temporary)
            })
            .inspect_err(|_| forget(&temporary))?;
        Ok(Self {
            lock: leftover::lock(&temporary),
            out,
            moves: Some((temporary, place)),
        })
    }

    /// The file as it is now, for who writes it from elsewhere.
    #[cfg(target_os = "linux")]
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.out.try_clone()
    }

    /// Renames the file to its final name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some((temporary, place)) = &self.moves {
            fs::rename(temporary, place)?;
            forget(temporary);
            self.moves = None;
        }
        Ok(())
    }

    /// Writes `octets` to `place` atomically.
    pub(crate) fn write(place: &Path, octets: &[u8]) -> Result<(), Failure> {
        let mut file = Self::begin(place)?;
        file.write_all(octets)
            .and_then(|()| file.finish())
            .map_err(|error| refused(place, &error))
    }

    /// Writes `octets` to `place` atomically, so that only this user reads them and a crash of the
    /// system does not lose them. Replaces a symbolic link, and does not follow it.
    pub(crate) fn write_private(place: &Path, octets: &[u8]) -> Result<(), Failure> {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = Self::create(place.to_owned(), &mut options).and_then(|mut file| {
            file.write_all(octets)?;
            file.out.sync_all()?;
            file.finish()
        });
        written.map_err(|error| refused(place, &error))?;
        // The new name. Some file systems refuse this for directories.
        let _ = File::open(folder(place)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.out.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = self.moves.take() {
            // A failure cannot be reported here; the file's name shows what it is.
            let _ = fs::remove_file(&temporary);
            forget(&temporary);
        }
    }
}

fn exists(place: &Path) -> Failure {
    Failure::new(format!("{} exists already", place.display()))
        .effect("nothing was written")
        .hint("name another file, or remove this one")
}

/// The directory of `place`.
fn folder(place: &Path) -> &Path {
    let folder = place.parent().filter(|path| !path.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Error for a file that could not be written.
pub(crate) fn refused(place: &Path, error: &io::Error) -> Failure {
    let failure = Failure::at("write", place, error);
    let failure = if place.exists() && !place.is_file() {
        failure.effect("what went there is not complete")
    } else {
        failure.effect("nothing was written there: what was there before still is")
    };
    match error.kind() {
        io::ErrorKind::NotFound => failure.hint("does the directory exist?"),
        io::ErrorKind::StorageFull => failure.hint("make room, or name a file on another disk"),
        io::ErrorKind::PermissionDenied => failure.hint("name a file that can be written"),
        _ => failure,
    }
}

/// Suffix of a temporary file's name.
const PART: &str = ".part";

/// Removes temporary files of `place`, with file name `name`, that no process writes anymore.
fn clear(place: &Path, name: &str) {
    let entries = fs::read_dir(folder(place));
    for entry in entries.into_iter().flatten().flatten() {
        let hidden = entry.file_name();
        let maker = hidden.to_str().and_then(|hidden| {
            let (stem, maker) = leftover::maker(hidden.strip_suffix(PART)?)?;
            (stem.strip_prefix('.')? == name).then_some(maker)
        });
        let path = entry.path();
        let is_abandoned = maker.is_some_and(|maker| leftover::is_abandoned(&path, maker));
        if is_abandoned && fs::remove_file(&path).is_ok() {
            output::warn(&format!(
                "removed {}, which a command that was killed had left half written",
                path.display()
            ));
        }
    }
}

fn remember(temporary: &Path) {
    static LISTENS: Once = Once::new();
    temporaries(|files| files.push(temporary.to_owned()));
    if IS_HEARD.load(Ordering::SeqCst) {
        return;
    }
    LISTENS.call_once(|| {
        // If this fails, Ctrl-C ends the process without removing the files.
        let _ = signals::hear(signals::USUAL, |signal| {
            if IS_HEARD.load(Ordering::SeqCst) {
                return;
            }
            // Under the lock, so no further file can be created.
            removing_all(|| drop(emulate_default_handler(signal)));
        });
    });
}

/// Removes all temporary files, and then does what ends the process.
pub(crate) fn removing_all(ends: impl FnOnce()) {
    temporaries(|files| {
        for temporary in files.iter() {
            let _ = fs::remove_file(temporary);
        }
        ends();
    });
}

fn forget(temporary: &Path) {
    temporaries(|files| files.retain(|file| file != temporary));
}

fn temporaries<T>(act: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    act(&mut TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_there_stays_until_all_of_the_new_is() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.csv");
        fs::write(&place, "before").unwrap();
        let mut file = AtomicFile::begin(&place).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"before");
        drop(file);
        assert_eq!(fs::read(&place).unwrap(), b"before");
        AtomicFile::write(&place, b"after").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"after");
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[test]
    fn what_a_killed_writer_has_left_is_removed_by_the_next_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let nobody = u32::MAX;
        let mine = format!(".a.csv.{nobody}.part");
        let others = [format!(".b.csv.{nobody}.part"), ".a.csv.part".into()];
        for name in others.iter().chain([&mine]) {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        let place = folder.path().join("a.csv");
        AtomicFile::begin(&place).unwrap().finish().unwrap();
        let [b, a] = &others;
        assert_eq!(names(folder.path()), [a, b, "a.csv"]);
    }

    #[test]
    fn a_place_that_cannot_be_is_told_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(AtomicFile::check(folder.path()).is_err());
        assert!(AtomicFile::check(&folder.path().join("none/a.csv")).is_err());
        assert!(AtomicFile::check(&folder.path().join("a.csv")).is_ok());
        assert!(AtomicFile::check(Path::new("-")).is_err());
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_pointing_where_it_does_and_a_device_is_written_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (place, link) = (folder.path().join("a.csv"), folder.path().join("link"));
        fs::write(&place, "before").unwrap();
        std::os::unix::fs::symlink(&place, &link).unwrap();
        AtomicFile::write(&link, b"after").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"after");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        AtomicFile::write(Path::new("/dev/null"), b"nobody").unwrap();
        assert!(Path::new("/dev/null").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_or_device_is_no_place_for_a_new_private_file() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (place, link) = (folder.path().join("a.json"), folder.path().join("link"));
        symlink(folder.path().join("none"), &link).unwrap();
        assert!(AtomicFile::check_absent(&link).is_err());
        assert!(AtomicFile::check_absent(Path::new("/dev/null")).is_err());
        assert!(AtomicFile::check_absent(&place).is_ok());
        AtomicFile::write_private(&link, b"mine").unwrap();
        let about = fs::symlink_metadata(&link).unwrap();
        assert!(about.is_file() && about.permissions().mode() & 0o777 == 0o600);
        assert_eq!(names(folder.path()), ["link"]);
    }

    #[cfg(unix)]
    #[test]
    fn temporary_file_of_the_same_process_id_is_replaced_and_a_link_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.csv");
        let temporary = folder
            .path()
            .join(format!(".a.csv.{}{PART}", process::id()));
        fs::write(&temporary, "half").unwrap();
        AtomicFile::write(&place, b"new").unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "theirs").unwrap();
        std::os::unix::fs::symlink(&other, &temporary).unwrap();
        assert!(AtomicFile::write(&place, b"newer").is_err());
        assert_eq!(fs::read(&other).unwrap(), b"theirs");
    }
}
