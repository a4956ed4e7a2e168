//! The first line of a diagnosis: its result.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Duration;
use gigatcp_units::grammar::{human_bytes, human_duration};

use crate::capture_point::CapturePoint;
use crate::measures::CapacitySource;
use crate::outcome::Outcome;
use crate::verdict::{Diagnosis, MIN_CONFIDENCE, Verdict, percent};

impl Diagnosis {
    /// Result in one sentence. It names the cause, its fraction of the time and its confidence. Or
    /// it states that the diagnosis is unsure, the two most probable causes, and what to capture to
    /// decide. A reset that ended the transfer is stated first.
    #[must_use]
    pub fn sentence(&self) -> String {
        let limited = self.limited();
        match &self.cut {
            Some(cut) => format!("{} {limited}", cut.sentence()),
            None => limited,
        }
    }

    fn limited(&self) -> String {
        if let Some(decided) = self.outcome.sentence(self.delivered) {
            return decided;
        }
        if let Outcome::OneDirection { is_of_acks } = self.outcome {
            return self.of_one_direction(is_of_acks);
        }
        match self.headline() {
            Some(first) if self.is_unsure() && first.is_certain_note() => format!(
                "Fault found: {} (confidence {:.2}).",
                first.subject, first.confidence
            ),
            Some(first) if !self.is_unsure() => format!(
                "Limited by {} for {} of the transfer (confidence {:.2}).",
                first.subject,
                percent(first.share),
                first.confidence
            ),
            Some(first) => self.unsure(first),
            None if self.outcome == Outcome::SlowStart => {
                let rtt = match self.min_rtt {
                    Duration::ZERO => String::new(),
                    rtt => format!(" at an RTT of {}", human_duration(rtt)),
                };
                format!(
                    "Nothing limited it: {} in {} is what a new connection delivers{rtt}.",
                    human_bytes(self.delivered),
                    human_duration(self.duration),
                )
            }
            None => self.unknown(),
        }
    }

    /// Describes a diagnosis of which only the data or only its ACKs were captured.
    fn of_one_direction(&self, is_of_acks: bool) -> String {
        let (seen, unseen) = if is_of_acks {
            ("ACKs", "no data")
        } else {
            ("data", "no ACKs")
        };
        match self.headline() {
            Some(first) if !self.is_unsure() => format!(
                "One direction was captured, {seen} and {unseen}. Limited by {} for {} of the \
                 transfer (confidence {:.2}).",
                first.subject,
                percent(first.share),
                first.confidence
            ),
            Some(first) => format!(
                "Unsure: {} or {}, since the capture has {seen} and {unseen} of it; capture both \
                 directions.",
                first.cause.name,
                self.alternative.map_or("another cause", |other| other.name)
            ),
            None => format!(
                "Unsure: the capture has {seen} and {unseen} of it, which does not show what \
                 limited it; capture both directions."
            ),
        }
    }

    /// Describes a diagnosis of which most of the time is unknown, with the causes found.
    fn unknown(&self) -> String {
        let found = self.verdicts.first().filter(|first| !first.time.is_zero());
        let subject = match (found, self.alternative) {
            (Some(first), Some(other)) if first.cause.id != other.id => {
                format!("{}, {} or neither: ", first.cause.name, other.name)
            }
            (Some(first), _) => format!("{} or another cause: ", first.cause.name),
            (None, _) => String::new(),
        };
        let source = match self.capture_point {
            CapturePoint::Counters => "the counters do",
            _ => "the capture does",
        };
        format!(
            "Unsure: {subject}{source} not show what limited it for {} of {}; {}.",
            percent(self.unknown.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)),
            human_duration(self.duration),
            self.decides()
        )
    }

    fn unsure(&self, first: &Verdict) -> String {
        let other = self
            .alternative
            .map_or("another cause", |second| second.name);
        format!(
            "Unsure: {} or {other} ({} of the transfer, confidence {:.2}); {}.",
            first.cause.name,
            percent(first.share),
            first.confidence,
            self.decides()
        )
    }

    /// Capture that would decide between two causes.
    fn decides(&self) -> &'static str {
        match (self.capture_point, self.joined.is_some()) {
            (_, true) => "a longer capture may decide",
            (CapturePoint::Counters, _) => "a capture of the connection may decide",
            (CapturePoint::Sender, _) => "a second capture at the receiver may decide",
            _ => "a second capture at the sender may decide",
        }
    }
}

impl Verdict {
    /// Whether it is a fault that the capture shows, however little time it took.
    pub(crate) fn is_certain_note(&self) -> bool {
        self.is_note && self.confidence >= MIN_CONFIDENCE
    }
}

impl CapacitySource {
    /// Source of a capacity's rate, in words that follow it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::FullLink => "while the path was full",
            Self::PacketTrains => "measured by packet trains",
            Self::BestRound => "in its best RTT",
        }
    }
}
