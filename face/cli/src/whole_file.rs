//! A file that is there when all of it is, or not at all.
//!
//! What is written goes to a neighbour with a hidden name, which takes the
//! wanted one's place at the end. On a full disk, after an error or Ctrl-C
//! whatever stood there before still stands, and nothing half written does.
//! What is no file (a pipe, `/dev/stdout`) is written as it is.
//!
//! `kill -9` leaves the neighbour behind. Whoever next writes a file of that name
//! finds it, removes it, and says so.

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

/// The neighbours there are now, for whoever must end this process at once.
static NEIGHBOURS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether signals are somebody's who ends in order, files and all.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C and SIGTERM do not end the process in the middle of a file:
/// who calls this hears them and ends in order.
pub(crate) fn signals_are_heard() {
    IS_HEARD.store(true, Ordering::SeqCst);
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct WholeFile {
    out: File,
    /// Says that somebody writes the neighbour.
    #[expect(dead_code, reason = "it is held as long as the value lives")]
    lock: Option<File>,
    /// The neighbour, and whose place it takes; nothing where the place itself
    /// is written.
    moves: Option<(PathBuf, PathBuf)>,
}

impl WholeFile {
    /// Begins the file that is to stand at `place`.
    pub(crate) fn begin(place: &Path) -> Result<Self, Failure> {
        if place.as_os_str() == "-" {
            // Stdout has what is said; two things there would be of use to nobody.
            return Err(
                Failure::new("`-` is standard output, which has something else on it")
                    .effect("nothing was written")
                    .hint("name a file; one of that name is `./-`"),
            );
        }
        if place.is_dir() {
            return Err(Failure::new(format!("{} is a folder", place.display()))
                .effect("nothing was written")
                .hint("name a file"));
        }
        Self::open(place).map_err(|error| refused(place, &error))
    }

    /// Whether it can be begun: said before long work.
    pub(crate) fn check(place: &Path) -> Result<(), Failure> {
        // What is no file may be somebody's only look at it.
        let is_plain = !place.exists() || place.is_file() || place.is_dir();
        if is_plain {
            Self::begin(place)?;
        }
        Ok(())
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
        // A link keeps pointing where it does.
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        if place.exists() {
            // A neighbour could take the place of what is not to be changed.
            OpenOptions::new().write(true).open(&place)?;
        }
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        clear(&place, &name);
        let hidden = format!(".{name}.{}{PART}", process::id());
        let neighbour = place.with_file_name(hidden);
        remember(&neighbour);
        let out = File::create(&neighbour).inspect_err(|_| forget(&neighbour))?;
        Ok(Self {
            lock: leftover::lock(&neighbour),
            out,
            moves: Some((neighbour, place)),
        })
    }

    /// The file as it is now, for who writes it from elsewhere.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.out.try_clone()
    }

    /// Puts it where it belongs.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some((neighbour, place)) = &self.moves {
            fs::rename(neighbour, place)?;
            forget(neighbour);
            self.moves = None;
        }
        Ok(())
    }

    /// Writes all of it at once.
    pub(crate) fn write(place: &Path, octets: &[u8]) -> Result<(), Failure> {
        let mut file = Self::begin(place)?;
        file.write_all(octets)
            .and_then(|()| file.finish())
            .map_err(|error| refused(place, &error))
    }
}

impl Write for WholeFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.out.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((neighbour, _)) = self.moves.take() {
            // There is nobody to be told; its name says what it is.
            let _ = fs::remove_file(&neighbour);
            forget(&neighbour);
        }
    }
}

/// Why a file could not be written.
pub(crate) fn refused(place: &Path, error: &io::Error) -> Failure {
    let failure = Failure::io(&format!("write {}", place.display()), error);
    let failure = if place.exists() && !place.is_file() {
        failure.effect("what went there is not complete")
    } else {
        failure.effect("nothing was written there: what was there before still is")
    };
    match error.kind() {
        io::ErrorKind::NotFound => failure.hint("is there such a folder?"),
        io::ErrorKind::StorageFull => failure.hint("make room, or name a file on another disk"),
        io::ErrorKind::PermissionDenied => failure.hint("name a file that can be written"),
        _ => failure,
    }
}

/// The end of a neighbour's name.
const PART: &str = ".part";

/// Removes neighbours of `place`, a file called `name`, that nobody writes any
/// more.
fn clear(place: &Path, name: &str) {
    let folder = place.parent().filter(|path| !path.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
    for entry in entries.into_iter().flatten().flatten() {
        let hidden = entry.file_name();
        let maker = hidden.to_str().and_then(|hidden| {
            let (stem, maker) = leftover::maker(hidden.strip_suffix(PART)?)?;
            (stem.strip_prefix('.')? == name).then_some(maker)
        });
        let path = entry.path();
        let is_abandoned = maker.is_some_and(|maker| leftover::is_abandoned(&path, maker));
        if is_abandoned && fs::remove_file(&path).is_ok() {
            output::say(&format!(
                "removed {}, which a command that was killed had left half written",
                path.display()
            ));
        }
    }
}

fn remember(neighbour: &Path) {
    static LISTENS: Once = Once::new();
    neighbours(|all| all.push(neighbour.to_owned()));
    if IS_HEARD.load(Ordering::SeqCst) {
        return;
    }
    LISTENS.call_once(|| {
        // Without a listener Ctrl-C ends the process all the same.
        let _ = signals::hear(|signal| {
            neighbours(|all| {
                for neighbour in all.iter() {
                    let _ = fs::remove_file(neighbour);
                }
                // Still under the lock: nobody begins another.
                let _ = emulate_default_handler(signal);
            });
        });
    });
}

fn forget(neighbour: &Path) {
    neighbours(|all| all.retain(|one| one != neighbour));
}

fn neighbours<T>(act: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    act(&mut NEIGHBOURS.lock().unwrap_or_else(PoisonError::into_inner))
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
        let mut file = WholeFile::begin(&place).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"before");
        drop(file);
        assert_eq!(fs::read(&place).unwrap(), b"before");
        WholeFile::write(&place, b"after").unwrap();
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
        WholeFile::begin(&place).unwrap().finish().unwrap();
        let [b, a] = &others;
        assert_eq!(names(folder.path()), [a, b, "a.csv"]);
    }

    #[test]
    fn a_place_that_cannot_be_is_told_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(WholeFile::check(folder.path()).is_err());
        assert!(WholeFile::check(&folder.path().join("none/a.csv")).is_err());
        assert!(WholeFile::check(&folder.path().join("a.csv")).is_ok());
        assert!(WholeFile::check(Path::new("-")).is_err());
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_keeps_pointing_where_it_does_and_a_device_is_written_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (place, link) = (folder.path().join("a.csv"), folder.path().join("link"));
        fs::write(&place, "before").unwrap();
        std::os::unix::fs::symlink(&place, &link).unwrap();
        WholeFile::write(&link, b"after").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"after");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        WholeFile::write(Path::new("/dev/null"), b"nobody").unwrap();
        assert!(Path::new("/dev/null").exists());
    }
}
