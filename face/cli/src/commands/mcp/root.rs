//! Files below the root.
//!
//! On Linux the kernel resolves a name below the root (`openat2` with `RESOLVE_BENEATH`), and the
//! child opens what was resolved and checked: nothing can be put in its place meanwhile. On other
//! systems the resolved path is checked, and then opened.

use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;

/// Maximum bytes of a file.
const MAX_FILE: u64 = 2 << 30;

/// Directory of the files that tools may read.
pub(super) struct Root {
    /// As it was named.
    named: PathBuf,
    /// Without symbolic links.
    resolved: PathBuf,
}

/// A regular file below the root.
pub(super) struct Admitted {
    /// As the agent named it.
    name: String,
    /// What the child opens.
    pub(super) path: PathBuf,
    /// Keeps `path` valid.
    #[cfg(target_os = "linux")]
    _file: std::os::fd::OwnedFd,
}

impl Root {
    pub(super) fn new(named: &Path) -> Result<Self, Failure> {
        let cannot = |error| {
            Failure::io(&format!("use {} as root", named.display()), &error)
                .effect("nothing is served")
                .hint("name a directory of captures")
        };
        let resolved = named.canonicalize().map_err(cannot)?;
        if !resolved.is_dir() {
            return Err(cannot(io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self {
            named: named.to_owned(),
            resolved,
        })
    }

    /// Resolves `name` below the root, and checks it.
    pub(super) fn admit(&self, name: &str) -> Result<Admitted, String> {
        let refused = |cause: &str| {
            format!("`{name}` {cause}; nothing was read; hint: name a file below the root")
        };
        let path = Path::new(name);
        let relative = path
            .strip_prefix(&self.resolved)
            .or_else(|_| path.strip_prefix(&self.named))
            .unwrap_or(path);
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if relative.as_os_str().is_empty() || !relative.components().all(is_below) {
            return Err(refused("is not below the root"));
        }
        let (admitted, about) = self.resolve(relative, name).map_err(|error| {
            refused(&match error.kind() {
                io::ErrorKind::CrossesDevices => "is not below the root: a link leaves it".into(),
                _ => format!("cannot be resolved: {error}"),
            })
        })?;
        if !about.is_file() {
            return Err(refused("is not a regular file"));
        }
        if about.len() > MAX_FILE {
            let cause = format!("has {} bytes, more than {MAX_FILE}", about.len());
            return Err(refused(&cause));
        }
        Ok(admitted)
    }

    #[cfg(target_os = "linux")]
    fn resolve(&self, relative: &Path, name: &str) -> io::Result<(Admitted, Metadata)> {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
        use std::os::fd::AsRawFd;

        let path_only = OFlags::PATH | OFlags::CLOEXEC;
        let root = openat(
            CWD,
            &self.resolved,
            path_only | OFlags::DIRECTORY,
            Mode::empty(),
        )?;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(root, relative, path_only, Mode::empty(), within)?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let about = std::fs::metadata(&path)?;
        let admitted = Admitted {
            name: name.to_owned(),
            path: path.into(),
            _file: file,
        };
        Ok((admitted, about))
    }

    #[cfg(not(target_os = "linux"))]
    fn resolve(&self, relative: &Path, name: &str) -> io::Result<(Admitted, Metadata)> {
        let path = self.resolved.join(relative).canonicalize()?;
        if !path.starts_with(&self.resolved) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let about = std::fs::metadata(&path)?;
        let admitted = Admitted {
            name: name.to_owned(),
            path,
        };
        Ok((admitted, about))
    }
}

impl Admitted {
    /// `text` with the agent's name in place of what the child opened.
    pub(super) fn rename(&self, text: &str) -> String {
        // As in JSON, without the quotes.
        let name = serde_json::Value::from(self.name.as_str()).to_string();
        text.replace(&*self.path.to_string_lossy(), name.trim_matches('"'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with a file, and a file next to it.
    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a directory");
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("inner")).expect("directories");
        std::fs::write(root.join("inner/in.pcap"), "x").expect("a file");
        std::fs::write(folder.path().join("out.pcap"), "x").expect("a file");
        let root = Root::new(&root).expect("a root");
        (folder, root)
    }

    #[test]
    fn a_file_below_the_root_is_admitted_by_either_name() {
        let (folder, root) = root();
        let whole = folder.path().join("root/inner/in.pcap");
        for name in ["inner/in.pcap", "./inner/in.pcap", whole.to_str().unwrap()] {
            assert!(root.admit(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_name_that_leaves_the_root_is_refused() {
        let (folder, root) = root();
        let out = folder.path().join("out.pcap");
        let names = [
            "",
            ".",
            "..",
            "../out.pcap",
            "inner/../inner/in.pcap",
            "/etc/passwd",
            "inner",
        ];
        for name in names.into_iter().chain(out.to_str()) {
            assert!(root.admit(name).is_err(), "{name}");
        }
        assert!(root.admit("inner/in.pcap\0").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_only_within_the_root() {
        use std::os::unix::fs::symlink;
        let (folder, root) = root();
        let place = |name: &str| folder.path().join("root").join(name);
        symlink("inner/in.pcap", place("near")).unwrap();
        symlink("../out.pcap", place("far")).unwrap();
        symlink(folder.path(), place("parent")).unwrap();
        symlink("/proc/self/root", place("magic")).unwrap();
        assert!(root.admit("near").is_ok());
        for name in ["far", "parent/out.pcap", "magic/etc/passwd"] {
            assert!(root.admit(name).is_err(), "{name}");
        }
    }
}
