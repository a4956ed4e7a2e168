//! The rules, one file each, and the table of them.
//!
//! A rule judges a case: it bids for stretches of time with how sure it is, or
//! remarks on something that takes none. What it has been given it tells in a
//! sentence with its evidence. To add one: a file, and a line in [`RULES`].

mod ack_path;
mod application;
mod capture_artefact;
mod cpu_receiver;
mod cpu_sender;
mod delayed_ack;
mod handshake;
mod local_queue;
mod mss_clamped;
mod pmtu_black_hole;
mod policer;
mod queue_overflow;
mod random_loss;
mod receive_window;
mod reordering;
mod reset_on_edge;
mod rto_ladder;
mod rx_ring;
mod saturated;
mod send_buffer;
mod slow_start;
mod updates;
mod window_clamped;

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;
use crate::round::State;
use crate::words::{counted, verb};

/// A rule: what it means, and how it is found.
pub struct Rule {
    /// What it is asked for by.
    pub id: &'static str,
    /// What limits, in a few words that follow "limited by".
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What is looked for.
    pub looks_for: &'static str,
    /// How sure it is, and what it is mistaken for.
    pub how_sure: &'static str,
    /// From where it can be seen.
    pub views: &'static str,
    /// What to change.
    pub change: &'static str,
    /// RFCs with sections, papers, experiments.
    pub references: &'static [&'static str],
    /// Whether, where it is only remarked on, it is what to look at first.
    pub is_fault: bool,
    pub(crate) judge: fn(&Case<'_>, &mut Hearing),
    pub(crate) tell: fn(&Case<'_>, &Won) -> Told,
}

impl core::fmt::Debug for Rule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.id)
    }
}

/// What a rule has to say.
pub(crate) struct Told {
    pub finding: String,
    pub evidence: Vec<Evidence>,
}

/// A fact, and where in the capture it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// The number of a packet, the first of the file being 1.
    pub packet: Option<u64>,
    /// When, since the first packet of the connection.
    pub at: Option<Duration>,
    /// Whether that is when a round began, as the sender lived it: the packet is then
    /// the first that passed in it, maybe later.
    pub is_round: bool,
    /// What it shows.
    pub text: String,
}

impl Evidence {
    pub(crate) const fn new(packet: u64, at: Duration, text: String) -> Self {
        Self {
            packet: Some(packet),
            at: Some(at),
            is_round: false,
            text,
        }
    }

    const fn of_round(packet: u64, start: Duration, text: String) -> Self {
        Self {
            packet: Some(packet),
            at: Some(start),
            is_round: true,
            text,
        }
    }

    pub(crate) const fn figure(text: String) -> Self {
        Self {
            packet: None,
            at: None,
            is_round: false,
            text,
        }
    }
}

/// Every rule. Where two are equally sure, the earlier one has it.
pub const RULES: [&Rule; 23] = [
    &pmtu_black_hole::RULE,
    &rx_ring::RULE,
    &rto_ladder::RULE,
    &window_clamped::RULE,
    &cpu_receiver::RULE,
    &receive_window::RULE,
    &delayed_ack::RULE,
    &application::RULE,
    &send_buffer::RULE,
    &cpu_sender::RULE,
    &reordering::RULE,
    &ack_path::RULE,
    &policer::RULE,
    &queue_overflow::RULE,
    &random_loss::RULE,
    &saturated::RULE,
    &slow_start::RULE,
    &mss_clamped::RULE,
    &capture_artefact::RULE,
    &reset_on_edge::RULE,
    &updates::RULE,
    &local_queue::RULE,
    &handshake::RULE,
];

/// The rule with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.into_iter().find(|rule| rule.id == id)
}

/// Bids for what losses of this cause cost: their repair, the silence of
/// timers, and the time in which the window was smaller for them.
fn bid_losses(case: &Case<'_>, hearing: &mut Hearing, cause: Cause) {
    // Most connections lose nothing.
    if case.causes.is_empty() {
        return;
    }
    for index in 0..case.rounds.len() {
        let Some(episode) = case.after[index] else {
            continue;
        };
        let (found, sure) = case.causes[episode];
        if found != cause {
            continue;
        }
        hearing.bid(index, State::Recovery, sure);
        hearing.bid(index, State::Timeout, sure * 0.9);
        if case.is_queued(index) {
            continue;
        }
        if case.rate(index) < 0.9 * case.peak {
            hearing.bid(index, State::Full, sure * 0.95);
            hearing.bid(index, State::Slack, sure * 0.7);
        } else if (case.sees_queues() || case.is_below_line(index)) && case.reopens(index) {
            // On a long fat path the window may never again be what it takes: no
            // round shows how fast it could be, but none has a queue either.
            hearing.bid(index, State::Full, sure * 0.93);
            hearing.bid(index, State::Slack, sure * 0.7);
        }
    }
}

/// Where the losses of this cause were: the first ones.
fn show_losses(case: &Case<'_>, cause: Cause) -> (u64, u64, Vec<Evidence>) {
    let list = &case.trail.episodes.list;
    let of = || {
        list.iter()
            .zip(&case.causes)
            .filter(|(_, (found, _))| *found == cause)
            .map(|(episode, _)| episode)
    };
    let segments = of().map(|episode| episode.again).sum();
    let shown = of().take(3).map(|episode| {
        let queue = case
            .queue_before(episode)
            .map_or_else(String::new, |queue| {
                alloc::format!(
                    ", round trip {} above its least",
                    gigatcp_units::grammar::human_duration(queue)
                )
            });
        let text = alloc::format!(
            "{} sent again from {}, {} in flight{queue}",
            counted(episode.again, "segment"),
            case.place(episode.start),
            octets(episode.flight),
        );
        Evidence::new(episode.packet, case.since_start(episode.at), text)
    });
    (of().count() as u64, segments, shown.collect())
}

/// An amount of octets.
fn octets(octets: u64) -> String {
    gigatcp_units::grammar::human_bytes(gigatcp_units::Bytes::new(octets))
}

/// A span.
fn span(span: Duration) -> String {
    gigatcp_units::grammar::human_duration(span)
}

/// A rate in octets per second.
fn speed(octets_per_second: f64) -> String {
    gigatcp_units::grammar::human_rate(crate::case::rate(octets_per_second))
}

/// What so much in flight allows, where the round trip is known.
fn allows(case: &Case<'_>, flight: u64) -> String {
    if case.base.is_zero() {
        return String::new();
    }
    alloc::format!(
        ", which allows {} at a round trip of {}",
        speed(flight as f64 / case.base.as_secs_f64()),
        span(case.base)
    )
}

/// The windows that a receiver offered, from the least to the most.
fn windows(least: u64, most: u64) -> String {
    let (least, most) = (octets(least), octets(most));
    if least == most {
        alloc::format!("a window of {most}")
    } else {
        alloc::format!("windows from {least} to {most}")
    }
}

/// Time spent in `state` of a round that has been given to a rule, as evidence.
fn round_evidence(case: &Case<'_>, index: usize, text: String) -> Evidence {
    match case.rounds.get(index) {
        Some(round) => Evidence::of_round(round.packet, case.since_start(round.start), text),
        None => Evidence::figure(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_every_rule_says_what_it_is() {
        for (index, rule) in RULES.into_iter().enumerate() {
            let is_first = RULES[..index].iter().all(|other| other.id != rule.id);
            assert!(is_first, "{}", rule.id);
            for text in [
                rule.name,
                rule.meaning,
                rule.looks_for,
                rule.how_sure,
                rule.views,
                rule.change,
            ] {
                assert!(text.len() > 5, "{}: {text}", rule.id);
            }
            assert!(!rule.references.is_empty(), "{}", rule.id);
        }
    }
}
