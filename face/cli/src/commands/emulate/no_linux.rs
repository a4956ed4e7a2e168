//! Systems without network namespaces.

use super::Arguments;
use crate::commands::Outcome;
use crate::failure::Failure;

/// Says that it cannot be done, once the arguments are known to be right.
pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    super::path::find(arguments)?;
    Err(Failure::new("there are no network namespaces on this system").hint("run it on Linux"))
}
