//! Handles missing privileges in tests of this crate.

use crate::SetupError;

/// Returns what was made, or prints a message if a privilege is missing. It returns `None` in that
/// case.
///
/// # Panics
/// If it failed for another reason.
pub fn or_skip<T>(made: Result<T, SetupError>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error) => {
            assert!(error.is_missing_privilege(), "{error}");
            let hint = error.hint().unwrap_or_default();
            eprintln!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}");
            None
        }
    }
}
