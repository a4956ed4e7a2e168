//! A model as a plan with the hosts of Linux, simulated.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64};

use gigatcp_sim::{World, WorldConfig};
use gigatcp_units::Instant;

use super::model::Model;
use crate::scenario;

/// Maximum packets of a run: longer transfers are simulated in part.
pub const MAX_PACKETS: f64 = 60_000.0;

/// Minimum simulated time, in RTTs.
const MIN_ROUNDS: f64 = 60.0;

/// Bytes that an Ethernet link adds to a packet.
const FRAME: f64 = 38.0;

/// Payload of segments for which a receive buffer is tuned; for others it is given.
const ETHERNET: std::ops::Range<f64> = 1000.0..2000.0;

/// Such a buffer, in bytes.
const AMPLE: f64 = 16e6;

/// One choice of everything that a model leaves open.
#[derive(Clone, PartialEq, Debug)]
pub struct Draw {
    /// Payload rate of the bottleneck in bit/s.
    pub path: f64,
    /// Queue limit in bytes.
    pub queue: f64,
    /// Probability of a random loss.
    pub loss: f64,
    /// Congestion control.
    pub control: String,
    /// Seed of the losses.
    pub seed: u64,
    /// Simulated time in seconds.
    pub time: f64,
    /// Whether the transfer ends by bytes, and not by time.
    pub ends_by_bytes: bool,
}

/// Time of a transfer that a run may simulate, in seconds.
pub fn time(model: &Model, path: f64) -> f64 {
    let packets = path / 8.0 / model.mss;
    let most = (MAX_PACKETS / packets.max(1.0)).max(MIN_ROUNDS * model.base);
    model.elapsed.min(most).max(4.0 * model.base)
}

/// The plan of a model with these choices, as TOML.
pub fn plan(model: &Model, draw: &Draw) -> String {
    let mut text = String::from("name = \"transfer\"\nduration = \"3600 s\"\n");
    let wire = draw.path * (model.mss + model.headers + FRAME) / model.mss;
    let mtu = (model.mss + model.headers).max(576.0);
    let mut put = |heading: &str, keys: &[(&str, String)]| {
        let _ = writeln!(text, "\n{heading}");
        for (key, value) in keys {
            let is_bare =
                value.parse::<f64>().is_ok() || matches!(value.as_str(), "true" | "false");
            let quote = if is_bare { "" } else { "\"" };
            let _ = writeln!(text, "{key} = {quote}{value}{quote}");
        }
    };
    let mut path = vec![
        ("rate", format!("{:.0} kbit/s", (wire / 1e3).max(1.0))),
        ("rtt", format!("{:.0} us", (model.base * 1e6).max(1.0))),
        ("queue", format!("{:.0} B", draw.queue.max(2.0 * mtu))),
    ];
    if draw.loss > 0.0 {
        path.push(("loss", format!("{:.8}", draw.loss.min(0.5))));
    }
    put("[path]", &path);
    let host = |buffer: f64, request: Option<f64>| {
        let mut keys = vec![
            ("profile", "linux-6.18".to_owned()),
            ("mtu", format!("{mtu:.0}")),
        ];
        if let Some(request) = request {
            keys.push(("buffer_limit", "1 GB".into()));
            keys.push(("buffer", format!("{request:.0} B")));
        } else if buffer.is_finite() {
            // The limit is in bytes already: neither doubled nor diminished by bookkeeping.
            keys.push(("truesize", "false".into()));
            keys.push(("buffer_doubling", "false".into()));
            keys.push(("buffer_limit", "1 GB".into()));
            keys.push(("buffer", format!("{:.0} B", buffer.max(2.0 * model.mss))));
        }
        keys
    };
    let mut sender = host(model.flight.mid, model.send_request);
    if let Some(segments) = model.initial_window {
        sender.push(("initial_window", segments.to_string()));
    }
    if let Some((_, bps)) = model.host {
        sender.push((
            "max_pacing_rate",
            format!("{:.0} kbit/s", (bps.mid / 1e3).max(1.0)),
        ));
        sender.push(("pacing", "true".into()));
    }
    put("[sender]", &sender);
    // The engine does not tune a buffer for other packets than those of Ethernet as Linux does.
    let window = if ETHERNET.contains(&model.mss) {
        model.window.mid
    } else {
        model.window.mid.min(AMPLE)
    };
    let mut receiver = host(window, None);
    if let Some(every) = model.ack_every.filter(|_| model.is_stretching()) {
        receiver.push(("ack_every", every.to_string()));
    }
    put("[receiver]", &receiver);
    let mut flow = vec![
        ("congestion_control", draw.control.clone()),
        ("count", model.flows.to_string()),
    ];
    if let Some(segments) = model.ssthresh {
        flow.push(("initial_ssthresh", segments.to_string()));
    }
    flow.push(if draw.ends_by_bytes {
        (
            "bytes",
            format!("{:.0} B", (model.bytes / model.flows as f64).max(1.0)),
        )
    } else {
        ("duration", format!("{:.0} ms", (draw.time * 1e3).max(1.0)))
    });
    put("[[flow]]", &flow);
    text
}

/// Simulates a model with these choices. Returns the goodput of all its flows, in bit/s.
///
/// # Errors
/// The fault of a key.
pub fn goodput(model: &Model, draw: &Draw) -> Result<f64, String> {
    let plan = plan(model, draw);
    let plan = gigatcp_plan::parse("transfer", plan.as_bytes(), &model.others)
        .map_err(|findings| findings.to_string())?;
    let config = scenario::world_of(&plan, None, draw.seed).ok_or("the plan has no series")?;
    measure(config, usize::MAX)
}

/// Simulates a world and measures its first `count` flows together, in bit/s: from the opening of
/// the first of them to the last byte that was read, as a capture shows a transfer.
///
/// # Errors
/// It cannot be built.
pub fn measure(mut config: WorldConfig, count: usize) -> Result<f64, String> {
    config.observe.fingerprint = false;
    config.observe.account = false;
    let opened_at = |flow: usize| Instant::ZERO + config.flows[flow].start;
    let opened: Vec<Instant> = (0..config.flows.len()).map(opened_at).collect();
    let mut world = World::new(config).map_err(|error| error.to_string())?;
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    let outcome = world.outcome();
    let flows = || outcome.flows.iter().filter(|flow| flow.flow < count);
    let bytes: u64 = flows().map(|flow| flow.bytes().as_u64()).sum();
    let ended = flows().filter_map(|flow| {
        let established = flow.receiver.meter()?.started_at()?;
        Some(established + flow.elapsed())
    });
    let begun = opened.into_iter().take(count).min().unwrap_or_default();
    let elapsed = ended.max().unwrap_or(begun).saturating_since(begun);
    Ok(bytes as f64 * 8.0 / elapsed.as_secs_f64().max(1e-9))
}
