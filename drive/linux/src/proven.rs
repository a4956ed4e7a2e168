//! What tests of this crate do where a machine does not let them.

use crate::SetupError;

/// What was made; nothing, and a word on stderr, where it takes a privilege that
/// is missing here.
///
/// # Panics
/// Where it failed for another reason.
pub fn unless_forbidden<T>(made: Result<T, SetupError>) -> Option<T> {
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
