//! The feature `historic` is off: there are no such controls.

use super::Entry;

/// None.
pub(super) const ENTRIES: &[Entry] = &[];
