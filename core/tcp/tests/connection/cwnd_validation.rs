//! Windows that were not in use: RFC 7661, and what it replaces, the restart
//! after idle time of RFC 5681 section 4.1.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{CwndCause, Event, Phase};

use crate::script::{MSS, Script, segments, with};

/// Round-trip time of every script, in milliseconds.
const RTT: u64 = 100;

fn config(cwnd_validation: bool) -> ConnectionConfig {
    with(|profile| {
        profile.congestion.cwnd_validation = cwnd_validation;
        profile.congestion.half_used_opens = false;
        profile.options.window_scaling = true;
    })
}

/// A connection and how many segments it has sent.
struct Sender {
    t: Script,
    sent: u64,
}

impl Sender {
    /// Slow start has brought cwnd from 10 to 80 segments, each round full;
    /// the last one acknowledged 40.
    fn of_80_segments(config: &ConnectionConfig) -> Self {
        let t = Script::established(config);
        let mut sender = Self { t, sent: 0 };
        sender.t.inject(". 1:1(0) ack 1");
        for segments in [10, 20, 40] {
            sender.round(segments);
        }
        assert_eq!(sender.t.cwnd(), 80.0);
        sender
    }

    /// Writes so many segments, which all leave.
    fn send(&mut self, count: u64) {
        self.t.write(count as usize * usize::from(MSS));
        // The last one written is pushed.
        let last = self.sent + count - 1;
        let pushed = segments(last..last + 1, 1).map(|text| format!("P{text}"));
        self.t
            .expect_all(segments(self.sent..last, 1).chain(pushed));
        self.sent += count;
    }

    /// Everything sent is acknowledged.
    fn acknowledge(&mut self) {
        let ack = 1 + self.sent * u64::from(MSS);
        self.t.inject(&format!(". 1:1(0) ack {ack}"));
    }

    /// A round trip in which the application writes so many segments.
    fn round(&mut self, count: u64) {
        self.send(count);
        self.t.wait_ms(RTT);
        self.acknowledge();
    }

    fn unvalidated(&mut self) -> usize {
        let events = self.t.tcp.events();
        let unvalidated = |cause| cause == CwndCause::Unvalidated;
        events
            .filter(|stamped| match stamped.event {
                Event::CwndMoved { cause, .. } => unvalidated(cause),
                _ => false,
            })
            .count()
    }
}

#[test]
fn without_validation_a_timeout_of_silence_brings_the_window_back_to_the_initial_one() {
    let mut sender = Sender::of_80_segments(&config(false));
    sender.t.wait_ms(2_000);
    sender.t.write(100 * usize::from(MSS));
    sender.t.expect_all(segments(70..80, 1));
    assert_eq!(sender.t.cwnd(), 10.0);
}

#[test]
fn with_validation_a_pause_of_less_than_five_minutes_leaves_the_window_as_it_was() {
    let mut sender = Sender::of_80_segments(&config(true));
    sender.t.wait_ms(299_000);
    sender.t.write(100 * usize::from(MSS));
    sender.t.expect_all(segments(70..150, 1));
    assert_eq!(sender.t.cwnd(), 80.0);
}

#[test]
fn every_five_minutes_of_pause_halve_the_window_down_to_the_initial_one() {
    for (minutes, cwnd) in [(6, 40), (11, 20), (16, 10), (600, 10)] {
        let mut sender = Sender::of_80_segments(&config(true));
        sender.t.wait_ms(minutes * 60_000);
        sender.t.write(100 * usize::from(MSS));
        sender.t.expect_all(segments(70..70 + cwnd, 1));
        assert_eq!(sender.t.cwnd(), cwnd as f64, "{minutes} min");
        assert!(sender.unvalidated() > 0);
    }
}

#[test]
fn a_window_at_least_half_in_use_grows_and_one_less_than_half_in_use_does_not() {
    let mut sender = Sender::of_80_segments(&config(true));
    // 40 of 80 were acknowledged in a round trip lately.
    sender.round(30);
    assert_eq!(sender.t.cwnd(), 110.0);
    for _ in 0..5 {
        sender.round(30);
        assert_eq!(sender.t.cwnd(), 110.0);
    }
}

#[test]
fn in_slow_start_a_window_grows_while_it_is_more_than_half_in_use() {
    let mut settings = config(false);
    settings.transport_mut().profile.congestion.half_used_opens = true;
    let mut sender = Sender::of_80_segments(&settings);
    sender.round(40);
    assert_eq!(sender.t.cwnd(), 80.0, "half of it is not more than half");
    sender.round(60);
    assert_eq!(sender.t.cwnd(), 140.0);
    sender.round(60);
    assert_eq!(sender.t.cwnd(), 140.0, "60 are less than half of it");
}

#[test]
fn without_validation_only_a_full_window_grows() {
    let mut sender = Sender::of_80_segments(&config(false));
    sender.round(79);
    assert_eq!(sender.t.cwnd(), 80.0);
    sender.round(80);
    assert_eq!(sender.t.cwnd(), 160.0);
}

#[test]
fn a_window_that_is_not_validated_still_grows_when_it_is_full() {
    let mut sender = Sender::of_80_segments(&config(true));
    sender.t.wait_ms(2_000);
    sender.round(80);
    assert_eq!(sender.t.cwnd(), 160.0);
}

/// A window of 110 segments, of which 40 were in use lately, and a loss with 10
/// in flight: the first of them is missing.
fn loss_in_the_non_validated_phase() -> Sender {
    let mut sender = Sender::of_80_segments(&config(true));
    sender.round(30);
    sender.send(10);
    sender.t.wait_ms(RTT);
    for _ in 0..3 {
        sender.t.inject(". 1:1(0) ack 100001");
    }
    sender.t.expect_all(segments(100..101, 1));
    sender
}

#[test]
fn a_loss_leaves_half_of_what_was_in_use_lately_and_not_of_the_window_or_the_flight() {
    let mut sender = loss_in_the_non_validated_phase();
    assert_eq!(sender.t.tcp.info().phase, Phase::Recovery);
    assert_eq!((sender.t.cwnd(), sender.t.ssthresh()), (20.0, 20.0));
    // Repaired: less what was retransmitted, halved.
    sender.t.wait_ms(RTT);
    sender.acknowledge();
    assert_eq!((sender.t.cwnd(), sender.t.ssthresh()), (19.5, 19.5));
    // pipeACK was undefined and is more than half of it now: it grows.
    sender.round(15);
    sender.round(15);
    assert_eq!(sender.t.cwnd(), 20.5);
}

#[test]
fn a_loss_of_a_validated_window_leaves_half_of_the_flight() {
    let mut sender = Sender::of_80_segments(&config(true));
    sender.send(60);
    sender.t.wait_ms(RTT);
    for _ in 0..3 {
        sender.t.inject(". 1:1(0) ack 70001");
    }
    sender.t.expect_all(segments(70..71, 1));
    assert_eq!(sender.t.cwnd(), 30.0);
    sender.t.wait_ms(RTT);
    sender.acknowledge();
    assert_eq!(sender.t.cwnd(), 30.0);
}

#[test]
fn a_timeout_is_answered_as_ever() {
    let mut sender = Sender::of_80_segments(&config(true));
    sender.round(30);
    sender.send(10);
    while sender.t.tcp.counters().timeouts == 0 {
        let until = sender.t.tcp.poll_timeout().unwrap();
        sender.t.wait(until - sender.t.now);
    }
    sender.t.leaving();
    assert_eq!((sender.t.cwnd(), sender.t.ssthresh()), (1.0, 5.0));
}
