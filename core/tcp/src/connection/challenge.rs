//! Challenge ACKs and their rate: RFC 5961, RFC 9293 section 3.10.7.4.
//!
//! * A reset counts only at exactly RCV.NXT; elsewhere in the window it is answered with a
//!   challenge ACK (section 3.2). Its two clauses leave SEG.SEQ = RCV.NXT + RCV.WND in neither:
//!   here that is outside, as in the table of RFC 9293 section 3.4, and dropped.
//! * A SYN in a synchronized state is challenged, whatever its number (section 4.2). That section
//!   does not cover SYN-RECEIVED after a passive open. There RFC 9293 section 3.10.7.4 returns to
//!   LISTEN without an answer. The peer has restarted, and its repeated SYN opens another
//!   connection. Linux also drops the connection, but answers with a reset, as RFC 793 did. An
//!   attacker who guesses a number in the window can thus end a passive open that awaits its
//!   acknowledgment. The client's next segment is then reset. A Fast Open connection is not
//!   dropped, as the application has its data. It is challenged as if synchronized.
//! * An acknowledgment is acceptable from SND.UNA - MAX.SND.WND up to SND.NXT; all else is
//!   challenged and its text dropped (section 5.2).
//! * Challenges are limited (section 7). So are acknowledgments of segments without data outside
//!   the window. An old segment that bounces between two sides, or a flood, costs at most
//!   `challenge_ack_limit` answers in `challenge_ack_interval` (Linux `tcp_invalid_ratelimit`: one
//!   in 500 ms).
//!
//! The limit is counted per connection. One counter for the whole host, as section 7 also allows,
//! reveals to an attacker on another connection whether his guess was right (CVE-2016-5696).
//! Answers to segments with data or FIN are not limited, as in Linux: a sender that repeats them
//! waits for exactly that answer.
//!
//! Without the switches: RFC 793. Any reset or SYN inside the window ends the connection, and the
//! acknowledgment number of a data segment may be arbitrarily old.

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use super::{Connection, Failure, Reset};
use crate::events::State;
use crate::profile::Profile;

/// Count of unsolicited answers in the current interval.
#[derive(Clone, Default, Debug)]
pub(super) struct ChallengeLimit {
    since: Instant,
    answers: u32,
}

impl ChallengeLimit {
    /// Whether one more answer may leave; if so, counts it.
    fn admits(&mut self, now: Instant, profile: &Profile) -> bool {
        if profile.defense.challenge_ack_limit == 0 {
            return true;
        }
        if self.answers == 0 || now >= self.since + profile.defense.challenge_ack_interval {
            self.since = now;
            self.answers = 0;
        }
        let admitted = self.answers < profile.defense.challenge_ack_limit;
        self.answers += u32::from(admitted);
        admitted
    }
}

impl<P: Payload> Connection<P> {
    /// Answers a possible attack, within the limit.
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.challenges.make().admits(now, &self.transport.profile) {
            self.counters.challenge_acks += 1;
            self.closing.is_challenge_due = true;
            self.ack.demand();
        } else {
            self.counters.challenge_acks_suppressed += 1;
        }
    }

    /// Answers a segment outside the window (RFC 9293 section 3.10.7.4 first). The limit does not
    /// apply if it has data or FIN.
    pub(super) fn answer_unacceptable(&mut self, now: Instant, segment: &Segment<P>) {
        let is_syn = segment.flags.contains(Flags::SYN);
        let waits_for_it = segment.seq_len() > 0 && !is_syn;
        // RFC 5961 section 4.2: a SYN is challenged whatever its number.
        self.closing.is_challenge_due |= is_syn;
        if waits_for_it || self.challenges.make().admits(now, &self.transport.profile) {
            self.ack.demand();
        } else {
            self.counters.challenge_acks_suppressed += 1;
        }
    }

    /// Handles a SYN inside the window, in SYN-RECEIVED or a synchronized state.
    pub(super) fn handle_syn_in_window(&mut self, now: Instant, syn: &Segment<P>) {
        let returns_to_listen = self.is_half_open() && !self.is_opened_fast();
        let profile = &self.transport.profile;
        if profile.defense.challenge_syn && returns_to_listen {
            self.fail(now, Failure::Reset);
        } else if profile.defense.challenge_syn {
            // RFC 5961 section 4.2: in every state. A peer that really restarted then answers with
            // a matching reset.
            self.challenge(now);
        } else {
            // RFC 793 section 3.9 fourth.
            if profile.timer.reset_on_giving_up {
                self.reset_at_end();
            } else {
                self.closing.reset_due = Some(Reset::answering(syn));
            }
            self.fail(now, Failure::Reset);
        }
    }

    /// Whether a listener's SYN-ACK awaits its acknowledgment.
    pub(super) fn is_half_open(&self) -> bool {
        self.state == State::SynReceived && !self.handshake.active_open
    }

    /// Whether `ack`, older than SND.UNA, is impossibly old (RFC 5961 section 5.2). No segment of
    /// this connection can carry it.
    pub(super) fn is_ack_impossible(&self, ack: u64) -> bool {
        self.transport.profile.defense.challenge_ack && self.snd.una - ack > self.snd.max_wnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::SettingValue;
    use gigatcp_units::Duration;

    #[test]
    fn so_many_answers_leave_in_an_interval_and_no_more() {
        let profile = Profile::MODERN.with(|profile| {
            profile.defense.challenge_ack_limit = 3;
            profile.defense.challenge_ack_interval = Duration::from_millis(500);
        });
        let mut limit = ChallengeLimit::default();
        let mut admitted = |ms| limit.admits(Instant::ZERO + Duration::from_millis(ms), &profile);
        let at = [100, 100, 200, 300, 599, 600, 601, 602, 1099, 1100];
        let expected = [
            true, true, true, false, false, true, true, true, false, true,
        ];
        assert_eq!(at.map(&mut admitted), expected);
    }

    #[test]
    fn the_limit_and_the_interval_are_those_that_were_set() {
        let mut profile = Profile::MODERN;
        for (name, value) in [
            ("challenge_ack_limit", SettingValue::Count(10)),
            (
                "challenge_ack_interval",
                SettingValue::Time(Duration::from_secs(5)),
            ),
        ] {
            profile.try_set(name, value).expect("a setting");
        }
        let mut limit = ChallengeLimit::default();
        for interval in 1..4 {
            let begin = Instant::ZERO + Duration::from_secs(5 * interval);
            let answered = (0..5000)
                .filter(|ms| limit.admits(begin + Duration::from_millis(*ms), &profile))
                .count();
            assert_eq!(answered, 10);
        }
    }

    #[test]
    fn a_limit_of_zero_is_none() {
        let profile = Profile::MODERN.with(|profile| {
            profile.defense.challenge_ack_limit = 0;
        });
        let mut limit = ChallengeLimit::default();
        assert!((0..1000).all(|_| limit.admits(Instant::ZERO, &profile)));
    }
}
