//! Simulations of networks with more than a FIFO queue: elements drawn in addition to the cause.
//!
//! The elements are a managed queue, a link with changing rate, aggregated ACKs, loss bursts, a
//! dialog, and datagram cross traffic. An element by itself is no cause, but it may produce one.
//! Bursts are the random losses, a dialog is the application's limit, and many datagrams are cross
//! traffic. A managed queue that limits is a separate cause, in `impairments.rs`.

use super::causes::Site;
use super::draft::{BOTTLENECK, Table, Value};

/// Function that adds an element to a world.
type Add = fn(&mut Site<'_>);

/// Element with its name.
type Kind = (&'static str, Add);

const QUEUE: Kind = ("queue", queue);
const CHANGING: Kind = ("changing rate", changing);
const GROUPS: Kind = ("ACKs in groups", groups);
const BURSTS: Kind = ("bursts", bursts);
const REQUESTS: Kind = ("requests", requests);
const CHUNKS: Kind = ("on-off", chunks);
const FEW_DATAGRAMS: Kind = ("some datagrams", |site| datagrams(site, [0.05, 0.2]));
const MANY_DATAGRAMS: Kind = ("datagrams", |site| datagrams(site, [0.72, 0.85]));

/// Elements that may be added to worlds of a cause.
fn kinds(cause: &str) -> &'static [Kind] {
    match cause {
        "path-saturated" => &[QUEUE, CHANGING, GROUPS, FEW_DATAGRAMS],
        "random-loss" => &[BURSTS, BURSTS, GROUPS, FEW_DATAGRAMS],
        "application-limited" => &[REQUESTS, CHUNKS, QUEUE, CHANGING],
        "cross-traffic" => &[MANY_DATAGRAMS, QUEUE],
        "queue-overflow" | "policer" | "ack-path" => &[FEW_DATAGRAMS],
        "aqm-drops" => &[GROUPS, FEW_DATAGRAMS, CHANGING],
        // Elements that shift the packet numbers of a loss list are excluded.
        "rto-backoff" | "connection-setup" | "pmtu-black-hole" => &[QUEUE],
        _ => &[QUEUE, GROUPS, FEW_DATAGRAMS, CHANGING],
    }
}

/// Adds the element that the seed selects. Returns its name.
pub(crate) fn add(cause: &str, seed: u64, site: &mut Site<'_>) -> &'static str {
    let kinds = kinds(cause);
    let (name, add) = kinds[(seed % kinds.len() as u64) as usize];
    add(site);
    name
}

/// Sets a managed queue with equal limit, which drops before it is full.
fn queue(site: &mut Site<'_>) {
    let discipline = site.draw.pick(&[
        "codel",
        "fq_codel",
        "pie",
        "red, adaptive true, gentle true",
    ]);
    let queue = site.base.queue(site.draw.between(1.0, 4.0));
    let room = queue.number().unwrap_or_default().max(60.0) as u64;
    let queue = Value::Queue(discipline.into(), room);
    site.draft.bottleneck().set("queue", queue);
}

/// Changes the bottleneck's rate every 0.5 to 2 seconds, by at most a third.
fn changing(site: &mut Site<'_>) {
    let every = site.draw.between(0.5, 2.0);
    let words: Vec<String> = (1..8)
        .map(|number| {
            let rate = Value::bps(site.base.rate * site.draw.between(0.7, 1.3))
                .to_string()
                .replace('"', "");
            format!("{} ms: {rate}", (every * f64::from(number) * 1e3) as u64)
        })
        .collect();
    let schedule = format!("{}, every {} ms", words.join(", "), (every * 8e3) as u64);
    site.draft
        .bottleneck()
        .set("rate_schedule", Value::Word(schedule));
}

/// Aggregates ACKs like a cable modem or Wi-Fi. A group may wait for its turn.
fn groups(site: &mut Site<'_>) {
    let every = site.draft.receiver.number("ack_every").unwrap_or(2.0);
    let per_second = site.base.rate / 8.0 / f64::from(site.base.mtu) / every;
    let most = site.draw.pick(&[16_u64, 32, 64]);
    // Half of the time remains for the ACKs of all data.
    let overhead = (0.5 * most as f64 / per_second)
        .min(4e-3)
        .min(site.base.rtt / 8.0);
    site.draft.reverse[BOTTLENECK]
        .set("aggregate", Value::Count(most))
        .set("aggregate_overhead", Value::seconds(overhead));
}

/// Applies the same loss rate in bursts of consecutive losses.
fn bursts(site: &mut Site<'_>) {
    let hop = &mut site.draft.forward[2];
    let loss = hop.number("loss").unwrap_or_default();
    let length = site.draw.between(1.5, 6.0);
    hop.remove(&["loss"]);
    let share = (loss * length).min(0.05);
    hop.set("loss_burst", Value::Word(format!("{share:.7}:{length:.2}")));
}

/// Replaces the stream by successive requests. Each is a fraction of the BDP, with a response of
/// one packet.
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

/// Replaces the stream by bursts of several round trips, with pauses.
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

/// Adds datagrams of another host that occupy a share of the bottleneck.
fn datagrams(site: &mut Site<'_>, [min, max]: [f64; 2]) {
    let payload = 1_400.0;
    // Its headers and those of the link occupy the rest.
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
