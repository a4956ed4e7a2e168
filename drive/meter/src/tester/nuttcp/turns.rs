//! The order in which the streams of a test take buffers to send.
//!
//! nuttcp's receiver reads one buffer of each stream in turn, and ends at the first stream that
//! has no more. Buffer `j` is therefore sent on stream `j mod N`, and a transfer ends after the
//! same buffer on all streams: then the receiver has read every byte.

use crate::system::lock;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Maximum of buffers by which a stream may be ahead of the slowest.
const LEAD: u64 = 16;

/// Maximum wait for the slowest stream between checks for the end of the test.
const WAIT: Duration = Duration::from_millis(20);

/// Buffers taken by each stream.
#[derive(Debug)]
pub(in super::super) struct Turns {
    taken: Mutex<Vec<u64>>,
    moved: Condvar,
    block: u64,
    limit: u64,
}

impl Turns {
    /// State before the first buffer. All streams together send `limit` bytes in buffers of `block`
    /// bytes.
    pub(super) fn new(streams: usize, block: usize, limit: Option<u64>) -> Self {
        Self {
            taken: Mutex::new(vec![0; streams.max(1)]),
            moved: Condvar::new(),
            block: block as u64,
            limit: limit.unwrap_or(u64::MAX),
        }
    }

    /// Takes the next buffer of a stream and returns its length. `None` after the last one.
    pub(super) fn take(&self, place: usize, is_stopped: &dyn Fn() -> bool) -> Option<usize> {
        let mut taken = lock(&self.taken);
        let streams = taken.len() as u64;
        loop {
            let next = taken[place] * streams + place as u64;
            let left = self.limit.saturating_sub(next.saturating_mul(self.block));
            let length = left.min(self.block);
            let is_last = is_stopped() && next >= end(&taken);
            if length == 0 || is_last {
                return None;
            }
            let min = taken.iter().copied().min().unwrap_or(0);
            if is_stopped() || taken[place] < min + LEAD {
                taken[place] += 1;
                if streams > 1 {
                    self.moved.notify_all();
                }
                return Some(length as usize);
            }
            let waited = self.moved.wait_timeout(taken, WAIT);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Number after that of the last buffer taken.
fn end(taken: &[u64]) -> u64 {
    let streams = taken.len() as u64;
    let of = |(place, count): (usize, &u64)| match count {
        0 => 0,
        count => (count - 1) * streams + place as u64 + 1,
    };
    taken.iter().enumerate().map(of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_dealt_out_in_turn_to_the_byte() {
        let turns = Turns::new(2, 10, Some(35));
        let take = |place| turns.take(place, &|| false);
        assert_eq!([take(0), take(0), take(0)], [Some(10), Some(10), None]);
        assert_eq!([take(1), take(1), take(1)], [Some(10), Some(5), None]);
    }

    #[test]
    fn all_streams_end_after_the_same_buffer() {
        let turns = Turns::new(3, 10, None);
        for place in [0, 1, 1, 1] {
            assert_eq!(turns.take(place, &|| false), Some(10));
        }
        // Buffers 0 to 7: stream 1 has sent the last one.
        let left = |place| std::iter::from_fn(|| turns.take(place, &|| true)).count();
        assert_eq!([left(0), left(1), left(2)], [2, 0, 2]);
    }
}
