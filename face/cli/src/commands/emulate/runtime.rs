//! Sockets of running paths, in a directory of their user.
//!
//! The directory is `gigatcp` in `$XDG_RUNTIME_DIR`; otherwise in `/run` for root, in
//! `/run/user/UID` if that exists, or else `/tmp/gigatcp-UID`. It has mode 0700 and the sockets
//! 0600: only the user who started a path may change it.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process;

use crate::failure::Failure;

/// Extension of a socket's file name.
const ENDING: &str = "sock";

/// User's ID outside the user namespace, inside which it is 0.
fn user() -> u32 {
    let inside = fs::metadata("/proc/self").map_or(0, |about| about.uid());
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let outside = map.lines().find_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let (first, outside, count) = (
            numbers.next()?.ok()?,
            numbers.next()?.ok()?,
            numbers.next()?.ok()?,
        );
        let place = inside.checked_sub(first).filter(|place| *place < count)?;
        outside.checked_add(place)
    });
    outside.unwrap_or(inside)
}

fn folder() -> PathBuf {
    let own = |folder: &PathBuf| {
        let us = fs::metadata("/proc/self").map(|about| about.uid());
        let owner = fs::metadata(folder).map(|about| about.uid());
        matches!((us, owner), (Ok(us), Ok(owner)) if us == owner)
    };
    let told = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let user = user();
    let usual = match user {
        0 => PathBuf::from("/run"),
        user => PathBuf::from(format!("/run/user/{user}")),
    };
    match told.filter(own).or(Some(usual).filter(own)) {
        Some(folder) => folder.join("gigatcp"),
        None => env::temp_dir().join(format!("gigatcp-{user}")),
    }
}

/// Creates the directory if it is missing, and refuses one that other users can enter.
fn make_folder() -> io::Result<PathBuf> {
    let folder = folder();
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&folder)?;
    let us = fs::metadata("/proc/self")?.uid();
    if !about.is_dir() || about.uid() != us || about.mode() & 0o077 != 0 {
        let message = format!("{} is not a directory of this user alone", folder.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    Ok(folder)
}

/// Place of a file of this user, in the directory of the sockets.
pub(super) fn make_file(name: &str, extension: &str) -> io::Result<PathBuf> {
    Ok(make_folder()?.join(format!("{name}.{extension}")))
}

/// Files of this user with an extension; none if others can write to the directory.
pub(super) fn files(extension: &str) -> Vec<PathBuf> {
    let folder = make_folder()
        .ok()
        .and_then(|folder| fs::read_dir(folder).ok());
    let entries = folder.into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|place| place.extension().is_some_and(|found| found == extension))
        .collect()
}

/// Removes the sockets of paths that were killed; returns how many.
pub(super) fn remove_orphans() -> u64 {
    let before = files(ENDING).len();
    drop(running());
    before.saturating_sub(files(ENDING).len()) as u64
}

fn place(folder: PathBuf, name: &str) -> PathBuf {
    folder.join(format!("{name}.{ENDING}"))
}

/// The socket of a path, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) listener: UnixListener,
    place: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.place);
    }
}

/// Listens for requests to the path of that name.
pub(super) fn listen(name: &str) -> Result<Listening, Failure> {
    let failed = |error: &io::Error| Failure::io("listen for `gigatcp emulate set`", error);
    let place = place(make_folder().map_err(|error| failed(&error))?, name);
    if UnixStream::connect(&place).is_ok() {
        return Err(
            Failure::not_run(format!("a path of the name `{name}` is running"))
                .hint("another `--name`, or none: then it is the number of the process"),
        );
    }
    // Bound under a temporary name first: a socket that does not listen yet refuses connections,
    // and `running` would take it for that of a killed path.
    let unfinished = place.with_extension(process::id().to_string());
    let _ = fs::remove_file(&unfinished);
    let bound = UnixListener::bind(&unfinished).and_then(|listener| {
        fs::set_permissions(&unfinished, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        fs::rename(&unfinished, &place)?;
        Ok(listener)
    });
    if bound.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    let listener = bound.map_err(|error| failed(&error))?;
    Ok(Listening { listener, place })
}

/// Names of the running paths, with a connection to each.
fn running() -> Vec<(String, UnixStream)> {
    let entries = fs::read_dir(folder()).into_iter().flatten().flatten();
    let mut running: Vec<(String, UnixStream)> = entries
        .filter_map(|entry| {
            let place = entry.path();
            if place.extension().is_none_or(|ending| ending != ENDING) {
                return None;
            }
            let name = place.file_stem()?.to_str()?.to_owned();
            match UnixStream::connect(&place) {
                Ok(stream) => Some((name, stream)),
                Err(error) => {
                    if error.kind() == ErrorKind::ConnectionRefused {
                        // The socket is that of a killed path.
                        let _ = fs::remove_file(&place);
                    }
                    None
                }
            }
        })
        .collect();
    running.sort_by(|(a, _), (b, _)| a.cmp(b));
    running
}

/// Path of that name; without a name, the only one.
pub(super) fn find(name: Option<&str>) -> Result<(String, UnixStream), Failure> {
    let mut running = running();
    let names: Vec<String> = running.iter().map(|(name, _)| name.clone()).collect();
    let told = names.join(", ");
    let found = match name {
        Some(wanted) => names.iter().position(|name| name == wanted),
        None => (names.len() == 1).then_some(0),
    };
    if let Some(found) = found {
        return Ok(running.swap_remove(found));
    }
    let failure = match (names.first(), name) {
        (None, _) => Failure::new("no path is running that this user has started").hint(
            "`gigatcp emulate --rtt '20 ms' -- bash` in another terminal; a path that root started \
             answers root only",
        ),
        (Some(_), Some(wanted)) => {
            Failure::new(format!("no path of the name `{wanted}` is running"))
                .hint(format!("`--name` is one of: {told}"))
        }
        (Some(first), None) => {
            let count = names.len();
            Failure::new(format!("{count} paths are running: {told}")).hint(format!(
                "say which, as in `gigatcp emulate set --name {first} …`"
            ))
        }
    };
    Err(failure.effect("nothing was changed"))
}
