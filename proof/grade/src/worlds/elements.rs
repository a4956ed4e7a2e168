//! Simulations of networks with more than a FIFO queue: elements drawn in addition to the cause.
//!
//! A queue that manages itself, a link whose rate changes, ACKs in groups, losses in
//! bursts, a dialog instead of a stream, cross traffic of datagrams. None of them is the cause
//! except where it makes one: bursts are the random losses, a dialog is the application's
//! limit, and many datagrams are cross traffic. (A managed queue that limits is a cause of its
//! own, in `impairments.rs`.)

use super::causes::Site;
use super::draft::{BOTTLENECK, Table, Value};

/// What is added to a world.
type Add = fn(&mut Site<'_>);

/// By name, for a reader.
type Kind = (&'static str, Add);

const QUEUE: Kind = ("queue", queue);
const CHANGING: Kind = ("changing rate", changing);
const GROUPS: Kind = ("ACKs in groups", groups);
const BURSTS: Kind = ("bursts", bursts);
const REQUESTS: Kind = ("requests", requests);
const CHUNKS: Kind = ("on-off", chunks);
const FEW_DATAGRAMS: Kind = ("some datagrams", |site| datagrams(site, [0.05, 0.2]));
const MANY_DATAGRAMS: Kind = ("datagrams", |site| datagrams(site, [0.72, 0.85]));

/// What may be added to worlds of a cause.
fn kinds(cause: &str) -> &'static [Kind] {
    match cause {
        "path-saturated" => &[QUEUE, CHANGING, GROUPS, FEW_DATAGRAMS],
        "random-loss" => &[BURSTS, BURSTS, GROUPS, FEW_DATAGRAMS],
        "application-limited" => &[REQUESTS, CHUNKS, QUEUE, CHANGING],
        "cross-traffic" => &[MANY_DATAGRAMS, QUEUE],
        "queue-overflow" | "policer" | "ack-path" => &[FEW_DATAGRAMS],
        "aqm-drops" => &[GROUPS, FEW_DATAGRAMS, CHANGING],
        // Nothing may be added there that moves the packets of a list.
        "rto-backoff" | "connection-setup" | "pmtu-black-hole" => &[QUEUE],
        _ => &[QUEUE, GROUPS, FEW_DATAGRAMS, CHANGING],
    }
}

/// Adds to a world what its seed selects, and returns its name.
pub(crate) fn add(cause: &str, seed: u64, site: &mut Site<'_>) -> &'static str {
    let kinds = kinds(cause);
    let (name, add) = kinds[(seed % kinds.len() as u64) as usize];
    add(site);
    name
}

/// The bottleneck has as much room, and drops before that is full.
fn queue(site: &mut Site<'_>) {
    let discipline = site.draw.pick(&[
        "codel",
        "fq_codel",
        "pie",
        "red, adaptive true, gentle true",
    ]);
    let room = site.base.queue(site.draw.between(1.0, 4.0)).number();
    let room = room.unwrap_or_default().max(60.0) as u64;
    let queue = Value::Queue(discipline.into(), room);
    site.draft.bottleneck().set("queue", queue);
}

/// The bottleneck's rate changes every half second to two seconds, by a third at most.
fn changing(site: &mut Site<'_>) {
    let every = site.draw.between(0.5, 2.0);
    let words: Vec<String> = (1..8)
        .map(|number| {
            let rate = Value::bps(site.base.rate * site.draw.between(0.7, 1.3));
            let rate = rate.to_string().replace('"', "");
            format!("{} ms: {rate}", (every * f64::from(number) * 1e3) as u64)
        })
        .collect();
    let schedule = format!("{}, every {} ms", words.join(", "), (every * 8e3) as u64);
    site.draft
        .bottleneck()
        .set("rate_schedule", Value::Word(schedule));
}

/// ACKs come back in groups, as over a cable modem or Wi-Fi: a group may wait for its turn.
fn groups(site: &mut Site<'_>) {
    let every = site.draft.receiver.number("ack_every").unwrap_or(2.0);
    let per_second = site.base.rate / 8.0 / f64::from(site.base.mtu) / every;
    let most = site.draw.pick(&[16_u64, 32, 64]);
    // Half of the time is left for the ACKs of all data.
    let overhead = (0.5 * most as f64 / per_second)
        .min(4e-3)
        .min(site.base.rtt / 8.0);
    site.draft.reverse[BOTTLENECK]
        .set("aggregate", Value::Count(most))
        .set("aggregate_overhead", Value::seconds(overhead));
}

/// As many losses, several in a row.
fn bursts(site: &mut Site<'_>) {
    let hop = &mut site.draft.forward[2];
    let loss = hop.number("loss").unwrap_or_default();
    let length = site.draw.between(1.5, 6.0);
    hop.remove(&["loss"]);
    let share = (loss * length).min(0.05);
    hop.set("loss_burst", Value::Word(format!("{share:.7}:{length:.2}")));
}

/// One request after the other, each of a fraction of what the path holds, with an answer
/// of a packet.
fn requests(site: &mut Site<'_>) {
    let size = (site.base.bdp * site.draw.between(0.1, 0.5)).max(2_000.0);
    let think = site.base.rtt * site.draw.between(0.0, 1.0);
    let words = format!(
        "request-response, request {} B, answer 200 B, think {} us",
        size as u64,
        (think * 1e6) as u64 + 1
    );
    application(site, words);
}

/// Pieces of some round trips, with pauses.
fn chunks(site: &mut Site<'_>) {
    let every = site.draw.between(0.2, 0.6);
    let size = site.base.rate / 8.0 * every * site.draw.between(0.05, 0.3);
    let words = format!(
        "on-off, burst {} B, every {} ms",
        size.max(3_000.0) as u64,
        (every * 1e3) as u64
    );
    application(site, words);
}

fn application(site: &mut Site<'_>, words: String) {
    let flow = site.draft.flow();
    flow.remove(&["supply", "supply_every", "supply_until"]);
    flow.set("application", Value::Word(words));
}

/// Datagrams of another host take a share of the bottleneck.
fn datagrams(site: &mut Site<'_>, [min, max]: [f64; 2]) {
    let payload = 1_400.0;
    // What its headers and those of the link take besides.
    let share = payload / (payload + 28.0 + 38.0);
    let rate = site.base.rate * site.draw.between(min, max) * share;
    let burst = site.draw.pick(&[1, 1, 4, 20]);
    let words = format!(
        "datagrams, rate {} kbit/s, size 1400 B, burst {burst}",
        (rate / 1e3) as u64
    );
    let mut flow = Table::default();
    flow.set("name", Value::Word("datagrams".into()))
        .set("application", Value::Word(words))
        .set("duration", Value::seconds(site.base.length));
    site.draft.flows.push(flow);
}
