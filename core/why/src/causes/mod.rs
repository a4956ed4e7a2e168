//! The causes, one file each, and the table of them.
//!
//! A cause names the states in which it can hold and the features for or against it. Its weights
//! are in `weights/`, which `cargo xtask grade --fit` writes. It explains its attributed time in
//! words with evidence. To add one: a file here and a line in [`CAUSES`].

mod ack_path;
mod application;
mod aqm_drops;
mod capture_artifact;
mod connection_setup;
mod cross_traffic;
mod cwnd_growth;
mod delayed_ack;
mod ecn_marks;
mod exchange;
mod local_queue;
mod losses;
pub(crate) mod mss_clamped;
pub(crate) mod no_sack;
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
pub(crate) mod rx_ring;
mod send_buffer;
mod sender_cpu;
mod slow_reader;
mod text;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;

/// Names that most causes use.
mod prelude {
    pub(super) use alloc::{format, string::String, vec, vec::Vec};

    pub(super) use gigatcp_flows::Kind;
    pub(super) use gigatcp_units::Duration;

    pub(super) use super::losses::Losses;
    pub(super) use super::text::*;
    pub(super) use super::{AFTER_LOSS, Cause, Evidence, Explanation, IN_FLIGHT, NEVER, SENDING};
    pub(super) use crate::account::Attributed;
    pub(super) use crate::conditions::*;
    pub(super) use crate::features::{
        ACKS, EXCHANGE, LOSS, ONE_WAY, PATH, PATTERN, SENDER, TIMES, WINDOW,
    };
    pub(super) use crate::measures::Measures;
    pub(super) use crate::round::{Round, State};
}

pub(crate) use text::{clauses, counted, flowing, subject, verb};

use crate::account::Attributed;
use crate::conditions::Condition;
use crate::features::{Feature, Features};
use crate::measures::Measures;
use crate::round::State;

/// A cause: its meaning, and how it is found.
pub struct Cause {
    /// Its id in records and on the command line.
    pub id: &'static str,
    /// The limit, in a few words that follow "limited by".
    pub name: &'static str,
    /// Meaning of the limit.
    pub meaning: &'static str,
    /// Reliability, and indistinguishable causes.
    pub confidence: &'static str,
    /// Capture points from which it can be seen.
    pub capture_points: &'static str,
    /// Change that removes the limit.
    pub fix: &'static str,
    /// RFCs with sections, papers, experiments.
    pub references: &'static [&'static str],
    /// Whether it is the first thing to examine even if it took little time.
    pub is_fault: bool,
    /// Minimum of its time, as a fraction of a saturated path's, for it to lead over that path:
    /// a host, its operator or its application can remove it. `None` if it never leads.
    pub leads_from: Option<f64>,
    /// Whether neither host nor path could have sent in its time.
    pub(crate) is_idle_by_wish: bool,
    /// The same as a fraction of such pauses, after which the window began small again.
    pub(crate) leads_over_pauses_from: Option<f64>,
    /// Whether it is a cause of losses: it can hold during loss recovery and rests on a loss event.
    pub(crate) is_loss: bool,
    /// Whether a larger advertised window would lift it.
    pub(crate) is_window: bool,
    /// Whether it is a saturated bottleneck of the path.
    pub(crate) is_path: bool,
    /// Whether the delivery rate in its time is that of a link.
    pub(crate) is_busy_link: bool,
    /// Whether its time would vanish without it.
    pub(crate) is_pause: bool,
    /// Whether it is a part of a dialog, whose time it shares with the other parts.
    pub(crate) is_dialog: bool,
    /// Whether fewer packets show it than a limit needs.
    pub shows_in_few_packets: bool,
    /// Whether it can hold although nothing was delivered.
    pub(crate) delivers_nothing: bool,
    /// States of the sender in which this cause can hold.
    pub states: &'static [State],
    /// Whether away from the sender it can hold while nothing seems in flight. Data lost before the
    /// capture point leaves no trace there.
    pub is_hidden: bool,
    /// Whether it is what TCP does with a loss: no note of its own where the chain says it.
    pub is_reaction: bool,
    /// Conditions that must hold for it.
    pub requires: &'static [&'static Condition],
    /// Conditions that must not hold.
    pub refuted_by: &'static [&'static Condition],
    /// Conditions that distinguish it from other causes; without them the answer is unsure.
    pub observable: &'static [&'static Condition],
    /// Id of the cause that it cannot be told from without them.
    pub twin: Option<&'static str>,
    /// Groups of features for or against it, where conditions leave a choice.
    pub(crate) features: &'static [&'static [Feature]],
    /// Confidence that it is present, for a cause that takes no time.
    pub(crate) note: Option<fn(&Measures<'_>) -> Option<f64>>,
    pub(crate) explain: Explain,
}

type Explain = fn(&Measures<'_>, &Attributed) -> Explanation;

impl Cause {
    /// What most causes have in common: no fault, not hidden, and no required feature.
    const fn explained_by(explain: Explain) -> Self {
        Self {
            id: "",
            name: "",
            meaning: "",
            confidence: "",
            capture_points: "",
            fix: "",
            references: &[],
            is_fault: false,
            leads_from: None,
            is_idle_by_wish: false,
            leads_over_pauses_from: None,
            is_reaction: false,
            is_loss: false,
            is_window: false,
            is_path: false,
            is_busy_link: false,
            is_pause: false,
            is_dialog: false,
            shows_in_few_packets: false,
            delivers_nothing: false,
            states: &[],
            is_hidden: false,
            requires: &[],
            refuted_by: &[],
            observable: &[],
            twin: None,
            features: &[],
            note: None,
            explain,
        }
    }

    /// Whether it can hold in a round while the sender is in that state. Nothing in the network or
    /// a host limits a sender with nothing outstanding. Away from the sender, that may in fact be a
    /// loss, if the sender continues as after a timeout.
    #[must_use]
    pub fn holds(&self, state: State, features: &Features, is_away: bool) -> bool {
        let may_hide = is_away && self.is_hidden && state == State::Idle;
        self.states.contains(&state) || may_hide && features.value(Feature::HiddenLoss) == Some(1.0)
    }

    /// Its conditions, and the features that are weighed where they leave a choice.
    #[must_use]
    pub fn detection(&self) -> String {
        let list = |conditions: &[&Condition]| {
            let texts: Vec<&str> = conditions.iter().map(|condition| condition.text).collect();
            texts.join("; ")
        };
        let part = |heading: &str, conditions: &[&Condition]| {
            (!conditions.is_empty()).then(|| format!("{heading}: {}.", list(conditions)))
        };
        let weighed = match self.features().count() {
            0 => "Decided by rule.".into(),
            count => {
                format!("Among the causes that remain, {count} features of each round are weighed.")
            }
        };
        let parts = [
            part("Required", self.requires),
            part("Refuted by", self.refuted_by),
            part("Can be told only if", self.observable),
            Some(weighed),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Features for or against it.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        self.features.iter().copied().flatten().copied()
    }
}

impl core::fmt::Debug for Cause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.id)
    }
}

/// Explanation of a cause for a connection.
pub(crate) struct Explanation {
    /// The limit with its decisive figure, after "limited by".
    pub subject: String,
    /// The finding in a sentence.
    pub finding: String,
    pub evidence: Vec<Evidence>,
    /// The change, with figures for this path.
    pub fix: String,
}

/// A fact, and its place in the capture.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// The number of a packet, the first of the file being 1.
    pub packet: Option<u64>,
    /// Time since the first packet of the connection.
    pub at: Option<Duration>,
    /// Whether `at` is the beginning of a round, as the sender experienced it. The packet is then
    /// the first that passed in it, maybe later.
    pub is_round: bool,
    /// The fact as text.
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
    &no_sack::CAUSE,
];

/// The cause with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Cause> {
    CAUSES.iter().copied().find(|cause| cause.id == id)
}

/// Place of a cause in [`CAUSES`].
#[must_use]
pub fn place(id: &str) -> Option<usize> {
    CAUSES.iter().position(|cause| cause.id == id)
}

/// States with segments in flight and no loss recovery.
const SENDING: &[State] = &[State::Full, State::Slack];

/// States with segments in flight, including a full receive window.
const IN_FLIGHT: &[State] = &[State::Full, State::Slack, State::Window];

/// States during and after loss recovery.
const AFTER_LOSS: &[State] = &[
    State::Full,
    State::Slack,
    State::Window,
    State::Recovery,
    State::Timeout,
];

/// For a cause that takes no time.
const NEVER: &[State] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_every_cause_says_what_it_is() {
        for (index, cause) in CAUSES.iter().enumerate() {
            let is_first = CAUSES[..index].iter().all(|earlier| earlier.id != cause.id);
            assert!(is_first, "{}", cause.id);
            for text in [
                cause.name,
                cause.meaning,
                &cause.detection(),
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
    fn no_text_contains_the_name_of_a_type() {
        let is_upper = |c: char| c.is_ascii_uppercase();
        let is_type = |word: &str| {
            let inner = word.get(1..).unwrap_or_default();
            word.len() > 9 && word.starts_with(is_upper) && inner.contains(is_upper)
        };
        for cause in CAUSES {
            for text in [
                cause.name,
                cause.meaning,
                &cause.detection(),
                cause.confidence,
                cause.fix,
            ] {
                let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
                assert_eq!(
                    words.find(|word| is_type(word)),
                    None,
                    "{}: {text}",
                    cause.id
                );
            }
        }
    }

    #[test]
    fn no_cause_in_the_network_or_a_host_holds_while_nothing_is_outstanding() {
        // Away from the sender a loss may leave no trace here.
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
}
