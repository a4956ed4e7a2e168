//! Who may build a laboratory.

use crate::lab::{Lab, LabConfig};
use gigatcp_linux::LabError;

pub use gigatcp_linux::privilege::begin_again;

/// Builds a laboratory and takes it apart: the surest way to know whether it
/// can be done.
///
/// # Errors
/// [`LabError`], with the step that fails.
pub fn probe() -> Result<(), LabError> {
    Lab::run(&LabConfig::default(), |_| ())
}
