//! Systems without network namespaces.

use super::Arguments;
use super::set::Request;
use crate::commands::Outcome;
use crate::failure::Failure;

/// Checks the arguments, then returns the error that this system is not supported.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    super::path::Source::of(arguments)?.find_aloud()?;
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}

/// An error: no path can have left anything.
pub(super) fn clean() -> Result<Outcome, Failure> {
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}

/// Error that no path can be running.
pub(super) fn send_request(_name: Option<&str>, _request: &Request) -> Result<Outcome, Failure> {
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}
