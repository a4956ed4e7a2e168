//! The causes, one file each, and the table of them.
//!
//! A cause names the states in which it can hold and the features that speak for or
//! against it. Its weights stand in `weights.rs`, where `cargo xtask grade --fit` puts
//! them. What was attributed to it, it explains in words with evidence. To add one: a
//! file here and a line in [`CAUSES`].

mod ack_path;
mod application;
mod aqm_drops;
mod capture_artifact;
mod connection_setup;
mod cross_traffic;
mod cwnd_growth;
mod delayed_ack;
mod dupacks_masked;
mod ecn_marks;
mod exchange;
mod local_queue;
mod losses;
mod mss_clamped;
mod no_window_scaling;
mod outage;
mod pacing;
mod path_saturated;
mod pmtu_black_hole;
mod policer;
mod queue_overflow;
mod random_loss;
mod receive_window;
mod receiver_cpu;
mod reordering;
mod reset_on_edge;
mod rto_backoff;
mod rx_ring;
mod send_buffer;
mod sender_cpu;
mod slow_reader;
mod text;

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;

pub(crate) use text::{counted, verb};

use crate::account::Attributed;
use crate::features::{Feature, Features};
use crate::measures::Measures;
use crate::round::State;

/// A cause: what it means, and by what it is found.
pub struct Cause {
    /// Its id in records and on the command line.
    pub id: &'static str,
    /// What limits, in a few words that follow "limited by".
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What is looked for.
    pub detection: &'static str,
    /// How reliable it is, and what it is indistinguishable from.
    pub confidence: &'static str,
    /// Capture points from which it can be seen.
    pub capture_points: &'static str,
    /// What to change.
    pub fix: &'static str,
    /// RFCs with sections, papers, experiments.
    pub references: &'static [&'static str],
    /// Whether it is what to look at first even if it took little time.
    pub is_fault: bool,
    /// What the sender can be waiting for when this cause holds.
    pub states: &'static [State],
    /// Whether away from the sender it can hold while nothing seems to be in flight: what
    /// was lost before the capture point leaves no trace there.
    pub is_hidden: bool,
    /// Groups of features that speak for or against it.
    /// What must be known and above zero for it to be possible, if anything.
    pub(crate) needs: Option<Feature>,
    pub(crate) features: &'static [&'static [Feature]],
    /// Confidence that it is there, for what takes no time of its own.
    pub(crate) note: Option<fn(&Measures<'_>) -> Option<f64>>,
    pub(crate) explain: fn(&Measures<'_>, &Attributed) -> Explanation,
}

impl Cause {
    /// Whether it can hold in a round while the sender waits for that. Nothing in the
    /// network or a host limits a sender with nothing outstanding; what seems so away from
    /// it may be a loss, if the sender goes on as after a timeout. Nor can it hold where
    /// what it cannot be without was not seen.
    #[must_use]
    pub fn holds(&self, state: State, features: &Features, is_away: bool) -> bool {
        let value = |feature| features.value(feature).unwrap_or(0.0);
        let may_hide = is_away && self.is_hidden && state == State::Idle;
        let may_be = self.states.contains(&state) || may_hide && value(Feature::HiddenLoss) == 1.0;
        may_be && self.needs.is_none_or(|needed| value(needed) > 0.0)
    }

    /// The features that speak for or against it.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        self.features.iter().copied().flatten().copied()
    }
}

impl core::fmt::Debug for Cause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.id)
    }
}

/// What a cause explains of a connection.
pub(crate) struct Explanation {
    /// What follows "limited by", with the decisive figure.
    pub subject: String,
    /// The finding in a sentence.
    pub finding: String,
    pub evidence: Vec<Evidence>,
    /// What to change, with figures for this path.
    pub fix: String,
}

/// A fact, and where in the capture it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// The number of a packet, the first of the file being 1.
    pub packet: Option<u64>,
    /// Time since the first packet of the connection.
    pub at: Option<Duration>,
    /// Whether that is when a round began, as the sender experienced it: the packet is
    /// then the first that passed in it, maybe later.
    pub is_round: bool,
    /// What it shows.
    pub text: String,
}

/// Every cause. Of two with the same probability the earlier one is attributed.
pub const CAUSES: &[&Cause] = &[
    &path_saturated::CAUSE,
    &cross_traffic::CAUSE,
    &local_queue::CAUSE,
    &pacing::CAUSE,
    &receive_window::CAUSE,
    &no_window_scaling::CAUSE,
    &slow_reader::CAUSE,
    &receiver_cpu::CAUSE,
    &send_buffer::CAUSE,
    &application::CAUSE,
    &exchange::CLIENT_THINK,
    &exchange::SERVER_THINK,
    &exchange::RTT,
    &cwnd_growth::CAUSE,
    &sender_cpu::CAUSE,
    &random_loss::CAUSE,
    &queue_overflow::CAUSE,
    &aqm_drops::CAUSE,
    &policer::CAUSE,
    &ecn_marks::CAUSE,
    &reordering::CAUSE,
    &rto_backoff::CAUSE,
    &outage::CAUSE,
    &rx_ring::CAUSE,
    &pmtu_black_hole::CAUSE,
    &delayed_ack::CAUSE,
    &ack_path::CAUSE,
    &connection_setup::CAUSE,
    &mss_clamped::CAUSE,
    &capture_artifact::CAUSE,
    &reset_on_edge::CAUSE,
    &dupacks_masked::CAUSE,
];

/// Ids of why/1, and what became of them.
pub const ALIASES: &[(&str, &str)] = &[
    ("rto-ladder", "rto-backoff"),
    ("window-clamped", "no-window-scaling"),
    ("cpu-limited-receiver", "receiver-cpu-limited"),
    ("cpu-limited-sender", "sender-cpu-limited"),
    ("reordering-taken-for-loss", "reordering-mistaken-for-loss"),
    ("slow-start-too-slow", "cwnd-growth-limited"),
    ("capture-artefact", "capture-artifact"),
    (
        "window-updates-not-duplicates",
        "dupacks-masked-by-window-updates",
    ),
    ("opening", "connection-setup"),
];

/// The cause with this id, or with this alias.
#[must_use]
pub fn find(id: &str) -> Option<&'static Cause> {
    let alias = ALIASES.iter().find(|(old, _)| *old == id);
    let id = alias.map_or(id, |(_, new)| new);
    CAUSES.iter().copied().find(|cause| cause.id == id)
}

/// The place of a cause in [`CAUSES`].
#[must_use]
pub fn place(id: &str) -> Option<usize> {
    CAUSES.iter().position(|cause| cause.id == id)
}

/// While segments are in flight and nothing is being repaired.
const SENDING: &[State] = &[State::Full, State::Slack];

/// The same, and while the receive window is full.
const IN_FLIGHT: &[State] = &[State::Full, State::Slack, State::Window];

/// While something lost is missing, and after it.
const AFTER_LOSS: &[State] = &[
    State::Full,
    State::Slack,
    State::Window,
    State::Recovery,
    State::Timeout,
];

/// For what takes no time of its own.
const NEVER: &[State] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_every_cause_says_what_it_is() {
        for (index, cause) in CAUSES.iter().enumerate() {
            let is_first = CAUSES[..index].iter().all(|other| other.id != cause.id);
            assert!(is_first, "{}", cause.id);
            for text in [
                cause.name,
                cause.meaning,
                cause.detection,
                cause.confidence,
                cause.capture_points,
                cause.fix,
            ] {
                assert!(text.len() > 5, "{}: {text}", cause.id);
            }
            assert!(!cause.references.is_empty(), "{}", cause.id);
        }
    }

    #[test]
    fn no_cause_in_the_network_or_a_host_holds_while_nothing_is_outstanding() {
        // Away from the sender what was lost may be lost without a trace here.
        let may = [
            "application-limited",
            "client-think-time",
            "server-think-time",
            "request-response-rtt",
        ];
        for cause in CAUSES {
            let is_idle = |state: &State| matches!(state, State::Idle | State::Closing);
            let holds = cause.states.iter().any(is_idle);
            assert!(!holds || may.contains(&cause.id), "{}", cause.id);
        }
    }

    #[test]
    fn old_ids_find_what_became_of_them() {
        for (old, new) in ALIASES {
            assert_eq!(find(old).map(|cause| cause.id), Some(*new));
        }
    }
}
