//! Without the feature `historic` there are no such controls.

use super::Entry;

/// Empty list.
pub(super) const ENTRIES: &[Entry] = &[];
