//! Stub for systems without `sock_diag`.

use super::Arguments;
use crate::commands::Outcome;
use crate::failure::Failure;

/// Error that this system is not supported.
pub(super) fn run(_arguments: &Arguments) -> Result<Outcome, Failure> {
    Err(
        Failure::new("this system does not list the counters of its connections")
            .hint("run it on Linux"),
    )
}
