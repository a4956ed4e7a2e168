//! Stub for systems without the counters that a recording has.

use std::path::Path;

use super::Arguments;
use crate::commands::Outcome;
use crate::failure::Failure;

pub(super) fn is_recording(_place: &Path) -> bool {
    false
}

pub(super) fn without_time(_place: &Path) -> Failure {
    unsupported()
}

/// Error that this system is not supported.
pub(super) fn run(_at: &str, _arguments: &Arguments) -> Result<Outcome, Failure> {
    Err(unsupported())
}

fn unsupported() -> Failure {
    Failure::new("--at: reading a recording needs Linux")
        .effect("nothing was explained")
        .hint("copy the directory to a Linux host and run it there")
}
