//! Eifel detection by timestamps: RFC 3522.
//!
//! The first acceptable acknowledgment after a retransmission tells by its
//! echo whether it answers the retransmission or the original: an echo from
//! before the retransmission left means that the original arrived, and that
//! recovery, fast or after a timeout, began for nothing.
//!
//! Step by step, in the RFC's words: (1) a timeout or a fast retransmit sets
//! `SpuriousRecovery` false and remembers `RetransmitTS`, the TSval of the first
//! retransmission of the episode; (2) wait for the first acceptable ACK, one
//! that acknowledges something new; (3) TSecr < `RetransmitTS`: spurious.
//! An echo of a retransmission answers the question for the episode.
//!
//! An echo of an original speaks of the first hole alone. Where a fast recovery
//! repairs others next to it, which may be real, the next acknowledgment that
//! advances is asked too, as in Linux (`tcp_try_undo_partial`): only if every
//! hole was filled by an original, the engine takes the recovery back. Without
//! that, reordered packets would cost a window wherever two were repaired at once
//! and the next was suspected before D-SACK could clear them.
//!
//! The clock of timestamps ticks slowly (1 ms): an original and its
//! retransmission within one tick cannot be told apart, and count as loss.
//!
//! The response (RFC 4015) is the engine's: cwnd and ssthresh return, and after
//! a spurious timeout the timer becomes more careful.

/// Whether `older` comes before `newer` on the clock of timestamps, which
/// wraps (RFC 7323 section 5.2).
fn is_before(older: u32, newer: u32) -> bool {
    (older.wrapping_sub(newer) as i32) < 0
}

/// The question, while it is open.
#[derive(Clone, Copy, Default, Debug)]
pub struct Eifel {
    state: State,
}

#[derive(Clone, Copy, Default, Debug)]
enum State {
    /// Not asked, or answered.
    #[default]
    Idle,
    /// An episode began; nothing was retransmitted yet.
    Begun,
    /// `RetransmitTS`.
    Waiting(u32),
}

impl Eifel {
    /// An episode of recovery begins.
    pub fn begin(&mut self) {
        self.state = State::Begun;
    }

    /// The question is dropped.
    pub fn stop(&mut self) {
        self.state = State::Idle;
    }

    /// A retransmission leaves with this TSval.
    pub fn on_retransmit(&mut self, ts_val: u32) {
        if matches!(self.state, State::Begun) {
            self.state = State::Waiting(ts_val);
        }
    }

    /// Whether an acknowledgment is waited for.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting(_))
    }

    /// An acceptable acknowledgment echoes `ts_ecr`; whether an original filled
    /// what it covers. If not, nothing more is asked.
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
