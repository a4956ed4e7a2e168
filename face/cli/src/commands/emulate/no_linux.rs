//! Systems without network namespaces.

use super::Arguments;
use super::set::Request;
use crate::commands::Outcome;
use crate::failure::Failure;

/// Says that it cannot be done, once the arguments are known to be right.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    super::path::Source::of(arguments)?.find_aloud()?;
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}

/// Nothing can be running.
pub(super) fn ask(_name: Option<&str>, _request: &Request) -> Result<Outcome, Failure> {
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}
