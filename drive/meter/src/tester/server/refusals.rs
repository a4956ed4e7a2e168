//! Notices of refusals, at a rate that no client sets.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Notify, ServerNotice};

/// Maximum number of notices in a [`WINDOW`].
pub(super) const MAX_NOTICES: u64 = 10;

/// Time in which notices are counted.
pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// The refusals of a window.
#[derive(Default)]
pub(super) struct Refusals {
    since: Option<Instant>,
    count: u64,
}

impl Refusals {
    /// Reports a refusal, or counts it.
    pub(super) fn report(&mut self, notify: &Notify, peer: SocketAddr, reason: String) {
        let now = Instant::now();
        self.close_window(notify, now);
        self.since.get_or_insert(now);
        self.count += 1;
        if self.count <= MAX_NOTICES {
            notify(ServerNotice::Refused { peer, reason });
        }
    }

    /// Reports the number of refusals that a window had beyond its notices, once it is over.
    pub(super) fn close_window(&mut self, notify: &Notify, now: Instant) {
        if self.since.is_none_or(|since| now < since + WINDOW) {
            return;
        }
        if self.count > MAX_NOTICES {
            let refusals = self.count - MAX_NOTICES;
            notify(ServerNotice::Unlisted { refusals });
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn refusals_above_ten_are_counted_and_their_number_is_reported() {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&notices);
        let notify = move |notice: ServerNotice<'_>| {
            kept.lock().unwrap().push(match notice {
                ServerNotice::Refused { .. } => 0,
                ServerNotice::Unlisted { refusals } => refusals,
                _ => unreachable!(),
            });
        };
        let mut refusals = Refusals::default();
        for _ in 0..1000 {
            refusals.report(&notify, "192.0.2.1:1".parse().unwrap(), "busy".into());
        }
        assert_eq!(*notices.lock().unwrap(), [0; 10]);
        refusals.close_window(&notify, Instant::now() + WINDOW);
        assert_eq!(notices.lock().unwrap().last(), Some(&990));
    }
}
