//! Checks whether a test network namespace can be built.

use crate::kernel::test_netns::{TestNetns, TestNetnsConfig};
use gigatcp_linux::SetupError;

pub use gigatcp_linux::privilege::restart_in_user_namespace;

/// Builds a test network namespace and removes it. This is the most reliable check that it can be
/// done.
///
/// # Errors
/// [`SetupError`], with the step that fails.
pub fn probe() -> Result<(), SetupError> {
    TestNetns::run(&TestNetnsConfig::default(), |_| ())
}
