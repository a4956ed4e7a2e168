//! Bytes that all senders of a test share (`-n`, `-k`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes left to send.
#[derive(Debug)]
pub(super) struct Budget(Option<AtomicU64>);

impl Budget {
    /// A budget of this number of bytes; `None`: unlimited.
    pub(super) fn new(bytes: Option<u64>) -> Self {
        Self(bytes.map(AtomicU64::new))
    }

    /// Takes up to `bytes`; 0: none are left.
    pub(super) fn take(&self, bytes: usize) -> usize {
        let Some(left) = &self.0 else { return bytes };
        let take = |left: u64| Some(left.saturating_sub(bytes as u64));
        let (acquire, release) = (Ordering::Acquire, Ordering::AcqRel);
        let before = left.fetch_update(release, acquire, take).unwrap_or(0);
        before.min(bytes as u64) as usize
    }

    /// Bytes that could not be sent.
    pub(super) fn give_back(&self, bytes: usize) {
        if let Some(left) = &self.0 {
            left.fetch_add(bytes as u64, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_to_the_byte() {
        let budget = Budget::new(Some(25));
        assert_eq!(
            [10, 10, 10, 10].map(|bytes| budget.take(bytes)),
            [10, 10, 5, 0]
        );
        budget.give_back(3);
        assert_eq!(budget.take(10), 3);
        assert_eq!(Budget::new(None).take(10), 10);
        let large = Budget::new(Some(5_000_000_019));
        let taken = [4_000_000_000, 4_000_000_000].map(|bytes| large.take(bytes));
        assert_eq!(taken, [4_000_000_000, 1_000_000_019]);
    }
}
