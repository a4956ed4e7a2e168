//! Eifel detection by timestamps: RFC 3522.
//!
//! The echo in the first acceptable acknowledgment after a retransmission shows which transmission
//! it answers. An echo from before the retransmission left means that the original arrived, and
//! that recovery, fast or after a timeout, was spurious.
//!
//! Steps in the terms of the RFC:
//!
//! 1. A timeout or a fast retransmit sets `SpuriousRecovery` false. It stores `RetransmitTS`, the
//!    TSval of the first retransmission of the episode.
//! 2. Wait for the first acceptable ACK, which acknowledges new data.
//! 3. If TSecr < `RetransmitTS`, the recovery is spurious. An echo of a retransmission decides the
//!    episode.
//!
//! An echo of an original covers only the first gap. If a fast recovery also retransmits others,
//! which may be real losses, the next acknowledgment that advances is also tested, as in Linux
//! (`tcp_try_undo_partial`). The engine undoes the recovery only if every gap was filled by an
//! original. Without that, reordered packets would cost a window whenever two were retransmitted
//! together and the next was suspected before D-SACK could clear them.
//!
//! The timestamp clock ticks slowly (1 ms): an original and its retransmission within one tick are
//! indistinguishable, and count as loss.
//!
//! The engine does the response (RFC 4015): cwnd and ssthresh are restored, and after a spurious
//! timeout the RTO becomes more conservative.

/// Whether `older` precedes `newer` on the timestamp clock, which wraps (RFC 7323 section 5.2).
fn is_before(older: u32, newer: u32) -> bool {
    (older.wrapping_sub(newer) as i32) < 0
}

/// State of Eifel detection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Eifel {
    state: State,
}

#[derive(Clone, Copy, Default, Debug)]
enum State {
    /// No detection, or decided.
    #[default]
    Idle,
    /// A recovery episode began; nothing was retransmitted yet.
    Begun,
    /// Waiting for an acceptable ACK; the value is `RetransmitTS`.
    Waiting(u32),
}

impl Eifel {
    /// Begins a recovery episode.
    pub fn begin(&mut self) {
        self.state = State::Begun;
    }

    /// Stops detection.
    pub fn stop(&mut self) {
        self.state = State::Idle;
    }

    /// Notes a retransmission with this TSval.
    pub fn on_retransmit(&mut self, ts_val: u32) {
        if matches!(self.state, State::Begun) {
            self.state = State::Waiting(ts_val);
        }
    }

    /// Whether the next acceptable acknowledgment is tested.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting(_))
    }

    /// Whether an original filled what an acceptable acknowledgment with echo `ts_ecr` covers. If
    /// not, detection ends.
    pub fn on_acceptable_ack(&mut self, ts_ecr: u32) -> bool {
        let State::Waiting(retransmit_ts) = self.state else {
            return false;
        };
        let original_came = is_before(ts_ecr, retransmit_ts);
        if !original_came {
            self.state = State::Idle;
        }
        original_came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(retransmit_ts: u32) -> Eifel {
        let mut eifel = Eifel::default();
        eifel.begin();
        eifel.on_retransmit(retransmit_ts);
        eifel.on_retransmit(retransmit_ts.wrapping_add(100));
        assert!(eifel.is_waiting());
        eifel
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_means_that_the_original_arrived() {
        assert!(waiting(500).on_acceptable_ack(499));
        assert!(!waiting(500).on_acceptable_ack(500));
        assert!(!waiting(500).on_acceptable_ack(550));
    }

    #[test]
    fn the_clock_may_wrap() {
        assert!(waiting(3).on_acceptable_ack(u32::MAX));
        assert!(!waiting(u32::MAX).on_acceptable_ack(3));
    }

    #[test]
    fn nothing_is_asked_after_an_echo_of_a_retransmission() {
        let mut eifel = waiting(500);
        assert!(eifel.on_acceptable_ack(400));
        assert!(eifel.is_waiting(), "there may be another hole");
        assert!(!eifel.on_acceptable_ack(510));
        assert!(!eifel.on_acceptable_ack(400));
        eifel.on_retransmit(600);
        assert!(!eifel.is_waiting(), "nor is a later retransmission");
    }
}
