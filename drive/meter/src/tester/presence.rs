//! Whether a client that receives datagrams is still there.
//!
//! A receiver of UDP acknowledges nothing, so a server would send to a client that is gone until
//! the end of the test. During such a test the control connection is probed each second (TCP
//! keepalive), and the kernel tells when the peer last acknowledged. Datagrams far above the
//! path's rate can be why no answer comes, and that is a test like any other: so after
//! [`SILENCE`] the datagrams pause, and only if the pause brings no answer is the client gone. An
//! answer in the pause is trusted for [`TRUST`].

use std::net::TcpStream;
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

use super::counters::Role;
use super::socket::Socket;
use super::traffic::Traffic;
use crate::system::socket as kernel;

/// Time without an answer after which the datagrams pause.
pub(super) const SILENCE: Duration = Duration::from_secs(3);

/// Longest pause: a queue of the test's own datagrams drains, then a probe is answered.
pub(super) const PAUSE: Duration = Duration::from_secs(9);

/// Lost probes after which the kernel ends the control connection: more than of any pause, as a test
/// far above the path's rate loses most of them.
const PROBES: u32 = 60;

/// Time after an answer in a pause before there is another pause.
pub(super) const TRUST: Duration = Duration::from_secs(30);

/// Action of a test's senders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Send,
    Pause,
    End,
}

/// Watch over the client of a test.
#[derive(Clone, Debug, Default)]
pub(super) struct Presence {
    /// No pause begins before this time.
    trusted_until: Option<Instant>,
    paused_at: Option<Instant>,
}

impl Presence {
    /// Watches the client of a running test, and pauses its datagrams if needed. Returns whether
    /// the client is gone.
    pub(super) fn is_gone(&mut self, control: &TcpStream, traffic: &Traffic, now: Instant) -> bool {
        let is_datagrams = |stream: &super::stream::Stream| {
            stream.role == Role::Sender && matches!(*stream.socket, Socket::Udp(_))
        };
        if !traffic.streams.iter().any(is_datagrams) {
            return false;
        }
        if self.trusted_until.is_none() {
            let second = Duration::from_secs(1);
            let probes = TcpKeepalive::new()
                .with_time(second)
                .with_interval(second)
                .with_retries(PROBES);
            // Without probes, nothing is concluded from silence.
            if SockRef::from(control).set_tcp_keepalive(&probes).is_ok() {
                self.trusted_until = Some(now + SILENCE);
            }
            return false;
        }
        let Ok(silence) = kernel::since_acknowledgment(control) else {
            return false;
        };
        let action = self.action(now, silence);
        traffic.shared.switch.pause(action == Action::Pause);
        action == Action::End
    }

    fn action(&mut self, now: Instant, silence: Duration) -> Action {
        if let Some(since) = self.paused_at {
            if silence < now.saturating_duration_since(since) {
                self.paused_at = None;
                self.trusted_until = Some(now + TRUST);
                return Action::Send;
            }
            let is_over = now > since + PAUSE;
            return if is_over { Action::End } else { Action::Pause };
        }
        if silence <= SILENCE || self.trusted_until.is_none_or(|until| now < until) {
            return Action::Send;
        }
        self.paused_at = Some(now);
        Action::Pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn watched_since(start: Instant) -> Presence {
        Presence {
            trusted_until: Some(start + SILENCE),
            paused_at: None,
        }
    }

    #[test]
    fn client_that_does_not_answer_in_a_pause_is_gone() {
        let start = Instant::now();
        let mut presence = watched_since(start);
        assert_eq!(presence.action(start + ms(3000), ms(2900)), Action::Send);
        assert_eq!(presence.action(start + ms(3100), ms(3001)), Action::Pause);
        let paused = presence.action(start + ms(12_000), ms(11_900));
        assert_eq!(paused, Action::Pause);
        assert_eq!(presence.action(start + ms(12_200), ms(12_100)), Action::End);
    }

    #[test]
    fn client_that_answers_in_a_pause_is_sent_to_for_30_s_whatever_the_silence() {
        let start = Instant::now();
        let mut presence = watched_since(start);
        assert_eq!(presence.action(start + ms(4000), ms(3500)), Action::Pause);
        assert_eq!(presence.action(start + ms(4700), ms(100)), Action::Send);
        assert_eq!(
            presence.action(start + ms(34_000), ms(29_000)),
            Action::Send
        );
        assert_eq!(
            presence.action(start + ms(35_000), ms(30_000)),
            Action::Pause
        );
    }
}
