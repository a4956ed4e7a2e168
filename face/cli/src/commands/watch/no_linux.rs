//! Systems without `sock_diag`.

use super::Arguments;
use crate::commands::Outcome;
use crate::failure::Failure;

/// Says that it cannot be done.
pub(super) fn run(_arguments: &Arguments) -> Result<Outcome, Failure> {
    Err(
        Failure::new("this system does not list the counters of its connections")
            .hint("run it on Linux"),
    )
}
