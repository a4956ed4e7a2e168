//! Bursts with pauses between them: the chunks of a video and its player.
//!
//! The sending end writes a burst, waits until its period is over, and writes the next one. A burst
//! that takes longer than the period is followed by the next one without a pause, and delays are
//! not made up for: `start(n+1) = max(start(n) + period, end(n))`. The first `ahead` bursts have no
//! pause between them; they fill the player's buffer.
//!
//! The reading end is the player. It begins when `ahead` bursts are complete (one, if
//! `ahead` is 0) and plays each for its period. If the next burst is not complete then,
//! playback stalls until it is: the report counts these pauses.
//!
//! With `exponential`, sizes and periods are exponentially distributed: the classic
//! on-off source.
//!
//! Out of scope: bitrates that adapt to the throughput. A stall costs time, never
//! quality.

use alloc::boxed::Box;

use gigatcp_units::random::Stream;
use gigatcp_units::settings::Parameter;
use gigatcp_units::{Bytes, Duration, Instant};

use crate::application::{Application, Role};
use crate::dialog::purpose;
use crate::draws::{Draws, Law};
use crate::registry::{Build, Entry, Make};
use crate::report::Report;

/// Entry of the registry.
pub(crate) const ENTRY: Entry = Entry {
    name: "on-off",
    summary: "bursts with pauses, as the chunks of a video; the other end plays them",
    parameters: &[BURST, EVERY, AHEAD, EXPONENTIAL, COUNT, FOR],
    make: Make::Stream(|build, role| match role {
        Role::Client => Box::new(Bursts::new(build)),
        Role::Server => Box::new(Player::new(build)),
    }),
};

const BURST: Parameter = Parameter::octets("burst", Some(4_000_000), "bytes of a burst");
const EVERY: Parameter = Parameter::time(
    "every",
    Some(Duration::from_secs(4)),
    "time from the start of a burst to the start of the next one, and time that it plays",
);
const AHEAD: Parameter = Parameter {
    least: gigatcp_units::settings::Value::Count(0),
    ..Parameter::count(
        "ahead",
        Some(2),
        1_000_000,
        "bursts at the beginning that have no pause between them",
    )
};
const EXPONENTIAL: Parameter = Parameter::flag(
    "exponential",
    "sizes and periods are exponentially distributed, with these means",
);
const COUNT: Parameter = Parameter::count("count", None, 1 << 40, "bursts after which it closes");
const FOR: Parameter = Parameter::time(
    "for",
    None,
    "how long it begins bursts; off: to the end of the run",
);

/// Sizes and periods of bursts, the same at both ends.
#[derive(Clone, PartialEq, Debug)]
struct Script {
    sizes: Draws,
    periods: Draws,
}

impl Script {
    fn new(build: &Build<'_>) -> Self {
        let is_exponential = build.settings.flag(&EXPONENTIAL);
        let draws = |mean: f64, purpose: u64| {
            let stream = Stream::new(build.seed, build.name, purpose);
            Draws::new(Law::of_mean(mean, is_exponential), stream)
        };
        Self {
            sizes: draws(build.settings.whole(&BURST) as f64, purpose::BURST),
            periods: draws(build.settings.time(&EVERY).as_secs_f64(), purpose::PERIOD),
        }
    }
}

/// Sending end.
#[derive(Clone, PartialEq, Debug)]
struct Bursts {
    script: Script,
    ahead: u64,
    count: Option<u64>,
    span: Option<Duration>,
    opened_at: Instant,
    /// Start of the next burst; far future while one is written.
    next_at: Instant,
    /// End of the period of the current burst.
    period_ends: Instant,
    to_write: u64,
    done: bool,
    report: Report,
}

impl Bursts {
    fn new(build: &Build<'_>) -> Self {
        Self {
            script: Script::new(build),
            ahead: build.settings.whole(&AHEAD),
            count: build.settings.maybe_whole(&COUNT),
            span: build.settings.maybe_time(&FOR),
            opened_at: Instant::ZERO,
            next_at: Instant::FAR_FUTURE,
            period_ends: Instant::ZERO,
            to_write: 0,
            done: false,
            report: Report::default(),
        }
    }

    /// Begins the next burst, or ends.
    fn begin(&mut self, now: Instant) {
        self.next_at = Instant::FAR_FUTURE;
        let begun = self.report.requests;
        if self.count.is_some_and(|count| begun >= count)
            || self.span.is_some_and(|span| now >= self.opened_at + span)
        {
            self.done = true;
            return;
        }
        self.report.requests += 1;
        self.to_write = self.script.sizes.octets();
        let period = self.script.periods.time();
        let fills = begun + 1 < self.ahead;
        self.period_ends = if fills { now } else { now + period };
    }
}

impl Application for Bursts {
    fn handle_opened(&mut self, now: Instant, _socket: u32) {
        self.opened_at = now;
        self.begin(now);
    }

    fn handle_read(&mut self, _now: Instant, _socket: u32, octets: u64) {
        self.report.read += Bytes::new(octets);
    }

    fn handle_written(&mut self, now: Instant, _socket: u32, octets: u64) {
        self.report.written += Bytes::new(octets);
        self.to_write -= octets;
        if self.to_write > 0 {
            return;
        }
        self.report.answered += 1;
        if self
            .count
            .is_some_and(|count| self.report.requests >= count)
        {
            self.done = true;
        } else if self.period_ends <= now {
            self.begin(now);
        } else {
            self.next_at = self.period_ends;
        }
    }

    fn handle_failed(&mut self, _now: Instant, _socket: u32) {
        self.report.failures += 1;
        self.next_at = Instant::FAR_FUTURE;
        self.done = true;
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_at <= now {
            self.begin(now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_at.if_due()
    }

    fn poll_write(&self, _now: Instant, _socket: u32) -> u64 {
        self.to_write
    }

    fn poll_close(&self, _now: Instant, _socket: u32) -> bool {
        self.done
    }

    fn report(&self, _now: Instant) -> Report {
        self.report.clone()
    }
}

/// Playing end.
#[derive(Clone, PartialEq, Debug)]
struct Player {
    script: Script,
    ahead: u64,
    /// Octets of the current burst that are missing.
    missing: u64,
    /// Complete bursts not yet playing.
    waiting: u64,
    /// Whether playback has begun.
    is_playing: bool,
    /// End of the burst being played.
    plays_until: Instant,
    peer_closed: bool,
    report: Report,
}

impl Player {
    fn new(build: &Build<'_>) -> Self {
        let mut script = Script::new(build);
        Self {
            missing: script.sizes.octets(),
            script,
            ahead: build.settings.whole(&AHEAD).max(1),
            waiting: 0,
            is_playing: false,
            plays_until: Instant::ZERO,
            peer_closed: false,
            report: Report::default(),
        }
    }

    /// Processes a complete burst.
    fn on_burst(&mut self, now: Instant) {
        self.report.answered += 1;
        if !self.is_playing {
            self.waiting += 1;
            if self.waiting < self.ahead {
                return;
            }
            self.is_playing = true;
            self.plays_until = now;
            for _ in 0..core::mem::take(&mut self.waiting) {
                self.plays_until += self.script.periods.time();
            }
            return;
        }
        // All complete bursts are part of `plays_until`: after it, playback stalled.
        if now > self.plays_until {
            self.report.pauses += 1;
            self.report.paused += now.saturating_since(self.plays_until);
        }
        self.plays_until = self.plays_until.max(now) + self.script.periods.time();
    }
}

impl Application for Player {
    fn handle_read(&mut self, now: Instant, _socket: u32, octets: u64) {
        self.report.read += Bytes::new(octets);
        let mut left = octets;
        loop {
            let taken = left.min(self.missing);
            self.missing -= taken;
            left -= taken;
            if self.missing > 0 {
                return;
            }
            self.missing = self.script.sizes.octets();
            self.on_burst(now);
        }
    }

    fn handle_written(&mut self, _now: Instant, _socket: u32, octets: u64) {
        self.report.written += Bytes::new(octets);
    }

    fn handle_peer_closed(&mut self, _now: Instant, _socket: u32, _unread: u64) {
        self.peer_closed = true;
    }

    fn handle_failed(&mut self, _now: Instant, _socket: u32) {
        self.report.failures += 1;
    }

    fn poll_close(&self, _now: Instant, _socket: u32) -> bool {
        self.peer_closed
    }

    fn report(&self, _now: Instant) -> Report {
        self.report.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;
    use crate::registry;
    use crate::testbed::Testbed;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn end(role: Role, text: &str) -> Box<dyn Application> {
        let config = registry::read(text).unwrap();
        config.stream(role, 1, "video", Reader::default()).unwrap()
    }

    #[test]
    fn bursts_begin_with_their_periods_and_the_first_ones_at_once() {
        let mut bursts = end(
            Role::Client,
            "on-off, burst 1 kB, every 4 s, ahead 3, count 5",
        );
        bursts.handle_opened(at(0), 0);
        for _ in 0..3 {
            assert_eq!(bursts.poll_write(at(0), 0), 1000);
            bursts.handle_written(at(0), 0, 1000);
        }
        assert_eq!(
            (bursts.poll_write(at(0), 0), bursts.poll_timeout()),
            (0, Some(at(4000)))
        );
        bursts.handle_timeout(at(4000));
        // It is late by half a second: the next begins immediately, and the delay is not made up
        // for.
        bursts.handle_written(at(8500), 0, 1000);
        assert_eq!(bursts.poll_write(at(8500), 0), 1000);
        bursts.handle_written(at(8600), 0, 1000);
        assert!(bursts.poll_close(at(8600), 0));
    }

    #[test]
    fn the_player_stalls_until_a_late_burst_is_complete() {
        let mut player = end(Role::Server, "on-off, burst 1 kB, every 4 s, ahead 2");
        player.handle_read(at(100), 0, 1000);
        // Playback begins here and has eight seconds.
        player.handle_read(at(200), 0, 1000);
        player.handle_read(at(5000), 0, 1000);
        player.handle_read(at(12_200), 0, 999);
        player.handle_read(at(12_700), 0, 1);
        let report = player.report(at(13_000));
        assert_eq!((report.answered, report.pauses), (4, 1));
        assert_eq!(report.paused, Duration::from_millis(500));
    }

    #[test]
    fn both_ends_know_the_sizes_of_random_bursts() {
        let text = "on-off, burst 100 kB, every 1 s, exponential, count 2000";
        let mut testbed = Testbed::new(text, Duration::from_millis(20));
        let end = testbed.run(Duration::from_secs(100_000));
        let (sent, played) = (testbed.client_report(), testbed.server_report());
        assert_eq!((sent.answered, played.answered), (2000, 2000));
        assert_eq!(sent.written, played.read);
        let mean = sent.written.as_u64() as f64 / 2000.0;
        assert!((mean / 100e3 - 1.0).abs() < 0.08, "{mean}");
        assert!((end.as_secs_f64() / 2000.0 - 1.0).abs() < 0.08);
    }
}
