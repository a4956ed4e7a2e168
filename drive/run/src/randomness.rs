//! Random elements of a run, and whether one seed is representative.
//!
//! The spread of a mean over loss events falls with the square root of their number: with
//! [`ENOUGH`] of them it is about a fifth. A flow with fewer, whose losses another seed would place
//! elsewhere, is one sample of a wide distribution.
//!
//! Losses are random if a link drops or marks packets at random, or if anything random (arrivals,
//! delays, CPU steal time, collisions, draws of a congestion control) determines which packets find
//! a queue full. The first kind counts whether or not a packet was lost; the second only if one
//! was.

use std::collections::{BTreeMap, BTreeSet};

use gigatcp_path::{HopConfig, LossModel};
use gigatcp_plan::record::{FlowRecord, SeriesRecord};
use gigatcp_plan::{Control, Flow, Scenario};
use gigatcp_units::Probability;

use crate::scenario::links_of;

/// Loss events of a flow with which one seed is representative.
pub const ENOUGH: u64 = 20;

/// Reason why one seed is not representative of a series.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FewLosses {
    /// Smallest number of loss events of a flow whose losses are random.
    pub loss_events: u64,
    /// Random elements, one line each.
    pub random: Vec<String>,
}

/// Why one seed is not representative of `record`, a run of `scenario`. `None` if it is.
pub fn few_losses(scenario: &Scenario, record: &SeriesRecord) -> Option<FewLosses> {
    let random = sources(scenario);
    let loses = |flow: &Flow| links_of(scenario, flow)[0].iter().any(|link| takes(link));
    let flows = scenario.flows.iter();
    let loses: BTreeMap<&str, bool> = flows.map(|flow| (&*flow.name, loses(flow))).collect();
    let events = record.flows.iter().filter_map(|connection| {
        let loses = flow_names(&connection.name).find_map(|name| loses.get(name));
        let events = loss_events(connection);
        loses
            .is_some_and(|loses| *loses || events > 0)
            .then_some(events)
    });
    let loss_events = events.filter(|events| *events < ENOUGH).min()?;
    (!random.is_empty()).then_some(FewLosses {
        loss_events,
        random,
    })
}

/// Whether anything in a scenario depends on its seed.
pub fn depends_on_seed(scenario: &Scenario) -> bool {
    !sources(scenario).is_empty()
}

/// Number of window reductions of a flow, for loss or for marks.
fn loss_events(flow: &FlowRecord) -> u64 {
    flow.loss_events + flow.mark_reductions
}

fn flow_names(connection: &str) -> impl Iterator<Item = &str> {
    let numbered = connection.rmatch_indices("-connection-");
    std::iter::once(connection).chain(numbered.map(|(at, _)| &connection[..at]))
}

/// Everything in a scenario that depends on its seed, one line each.
fn sources(scenario: &Scenario) -> Vec<String> {
    let hosts = [&scenario.sender, &scenario.receiver]
        .into_iter()
        .chain(scenario.nodes.iter().map(|node| &node.host));
    let links = hosts.clone().filter_map(|host| host.link.as_ref());
    let links = links
        .chain(&scenario.forward)
        .chain(&scenario.reverse)
        .chain(&scenario.links);
    let of_links = links.flat_map(|link| {
        let kinds = kinds(link).into_iter();
        kinds.map(|kind| format!("{kind} at `{}`", link.name))
    });
    let draw = |flow: &&Flow| {
        let application = flow.application.as_ref();
        application.is_some_and(|application| application.draws())
    };
    let of_flows = scenario
        .flows
        .iter()
        .filter(draw)
        .map(|flow| format!("traffic of `{}`", flow.name));
    let of_controls = scenario
        .flows
        .iter()
        .filter_map(|flow| match flow.congestion {
            Control::Engine(entry) if entry.draws => Some(format!("draws of `{}`", entry.name)),
            _ => None,
        });
    let steal = hosts
        .into_iter()
        .any(|host| host.steal.is_some())
        .then(|| "CPU steal time".to_owned());
    let collisions = scenario
        .has_media()
        .then(|| "backoff after collisions".to_owned());
    let all = of_links
        .chain(of_flows)
        .chain(of_controls)
        .chain(steal)
        .chain(collisions);
    let mut seen = BTreeSet::new();
    all.filter(|source| seen.insert(source.clone())).collect()
}

/// Returns whether the link drops or marks packets at random, even if rarely.
fn takes(link: &HopConfig) -> bool {
    link.loss.iter().any(is_random) || link.mark.is_some_and(happens)
}

fn is_random(model: &LossModel) -> bool {
    match model {
        LossModel::Bernoulli(probability) => happens(*probability),
        LossModel::GilbertElliott(_) => true,
        LossModel::Periodic { .. } | LossModel::Listed(_) => false,
    }
}

fn happens(probability: Probability) -> bool {
    probability.as_f64() > 0.0
}

/// Random actions of a link.
fn kinds(link: &HopConfig) -> Vec<String> {
    let reorders = link
        .reorder
        .is_some_and(|reorder| happens(reorder.probability));
    let all = [
        ("loss".to_owned(), link.loss.iter().any(is_random)),
        ("marks".to_owned(), link.mark.is_some_and(happens)),
        (
            format!("{} drops", link.queue.discipline.name),
            link.queue.discipline.draws,
        ),
        ("delay".to_owned(), link.jitter.is_some()),
        (
            "slots".to_owned(),
            link.slot.is_some_and(|slot| !slot.spread.is_zero()),
        ),
        ("reordering".to_owned(), reorders),
        (
            "duplication".to_owned(),
            link.duplicate.is_some_and(happens),
        ),
    ]
    .into_iter()
    .filter(|(_, is_so)| *is_so);
    all.map(|(kind, _)| kind).collect()
}
