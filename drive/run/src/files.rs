//! Files that a plan names, relative to its directory.

use std::fs;
use std::path::{Path, PathBuf};

use gigatcp_plan::Files;

/// Maximum size of a trace: an hour at 1 Gbit/s.
const LARGEST: u64 = 2 << 30;

/// Files that a plan names, in one directory.
#[derive(Clone, Copy, Debug)]
pub struct PlanDirectory<'a>(pub &'a Path);

impl PlanDirectory<'_> {
    /// In the directory of a stored run, a file has its name without directories.
    fn path(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        let alone = Path::new(name).file_name().map(|name| self.0.join(name));
        alone
            .filter(|alone| !path.exists() && alone.exists())
            .unwrap_or(path)
    }
}

impl Files for PlanDirectory<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        let path = self.path(name);
        let size = fs::metadata(&path).map(|about| about.len());
        if size.is_ok_and(|size| size > LARGEST) {
            return Err(format!("it is larger than {} MiB", LARGEST >> 20));
        }
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn locate(&self, name: &str) -> Result<String, String> {
        let path = self.path(name);
        let found =
            fs::canonicalize(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = found.into_os_string().into_string();
        text.map_err(|_| "its path is no UTF-8".to_owned())
    }
}
