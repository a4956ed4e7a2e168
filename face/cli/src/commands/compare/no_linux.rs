//! Systems without network namespaces.

use super::{Arguments, paths};
use crate::commands::Outcome;
use crate::failure::Failure;

/// Checks the paths, then returns the error that this system is not supported.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    paths::read(&arguments.paths)?;
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}
