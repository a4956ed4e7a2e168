//! Checks whether a test network namespace can be built.

use crate::lab::{Lab, LabConfig};
use gigatcp_linux::LabError;

pub use gigatcp_linux::privilege::begin_again;

/// Builds a test network namespace and removes it: the most reliable check that it can be done.
///
/// # Errors
/// [`LabError`], with the step that fails.
pub fn probe() -> Result<(), LabError> {
    Lab::run(&LabConfig::default(), |_| ())
}
