//! Connections whose state for a diagnosis is held while a capture is read.
//!
//! That state is several kilobytes for each, ten times its counts. With a limit only the largest
//! connections keep it. The state of others is released once they are quiet, in groups, so that the
//! work grows with the number of connections only. [`crate::Capture::diagnoses`] reads them once
//! more. Which ones are released changes no answer but one: a window scale that no SYN shows is read
//! from connections that are held.

use std::cmp::Reverse;

use gigatcp_flows::Connection;
use gigatcp_units::Duration;

use crate::connections::data_bytes;
use crate::tracker::{LINGER, Tracker};

/// Time without a packet after which an open connection is quiet.
const QUIET: Duration = Duration::from_secs(1);

/// The connections of one thread whose state is held.
pub(crate) struct Held {
    /// Quiet connections that keep it.
    limit: usize,
    /// Those that were left by the latest release, and the number of connections known then.
    left: Vec<usize>,
    known: usize,
    /// Number of connections of which some are released again.
    due: usize,
}

impl Held {
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            limit,
            left: Vec::new(),
            known: 0,
            due: limit.saturating_mul(2),
        }
    }

    /// Releases the state of all quiet connections but the largest, if many are held.
    pub(crate) fn release_small(&mut self, tracker: &mut Tracker<'_>) {
        let count = tracker.watcher.table().len();
        if self.left.len() + count - self.known <= self.due {
            return;
        }
        let mut held = std::mem::take(&mut self.left);
        held.extend(self.known..count);
        self.known = count;
        let table = tracker.watcher.table();
        let connection = |index: &usize| table.connection(*index).expect("none is retired");
        let (ended, open) = [LINGER, QUIET].map(|age| tracker.before(age)).into();
        let is_quiet = |connection: &Connection| {
            let by = if connection.has_ended() { ended } else { open };
            connection.last_at() < by
        };
        let (mut quiet, mut busy): (Vec<_>, Vec<_>) = held
            .into_iter()
            .partition(|index| is_quiet(connection(index)));
        if quiet.len() > self.limit {
            let rank = |index: &usize| (Reverse(data_bytes(connection(index))), *index);
            quiet.select_nth_unstable_by_key(self.limit, rank);
            for index in quiet.split_off(self.limit) {
                // One without data so far may have some later.
                if !tracker.watcher.release(index) {
                    busy.push(index);
                }
            }
        }
        quiet.extend(busy);
        self.due = quiet.len().max(self.limit).saturating_mul(2);
        self.left = quiet;
    }
}
