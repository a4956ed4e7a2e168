//! Hops, links and media as they are shown.

use gigatcp_path::{
    AckFilter, HopConfig, LossModel, Middlebox, Policer, RateSource, SharedMediumConfig,
    WindowScale,
};
use gigatcp_plan::Ethernet;
use gigatcp_units::{Bytes, Rate};
use serde::Serialize;

use super::{NONE, time_text};

/// A hop, link or emulator.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub(super) struct HopView {
    name: String,
    rate_bps: Option<u64>,
    per_packet_ns: u64,
    delay_ns: u64,
    limit_packets: Option<u64>,
    limit_bytes: Option<u64>,
    hold_limit_packets: Option<u64>,
    /// In words, as the plan writes them.
    impairments: Vec<String>,
}

impl HopView {
    pub(super) fn of(hop: &HopConfig) -> Self {
        let losses = hop.loss.iter().map(|loss| harm_text(loss, "lost"));
        let mut impairments: Vec<String> = losses.collect();
        impairments.extend(hop.loss_period.map(|period| {
            let (from, until) = (period.from, period.until);
            match until.as_nanos() {
                u64::MAX => format!("losses from {from}"),
                _ => format!("losses from {from} until {until}"),
            }
        }));
        let corruptions = hop.corrupt.iter();
        impairments.extend(corruptions.map(|harm| harm_text(harm, "corrupted")));
        impairments.extend(hop.reorder.map(|reorder| {
            let (chance, delay) = (reorder.probability, reorder.extra_delay);
            format!("{chance} reordered by {delay}")
        }));
        impairments.extend(hop.duplicate.map(|chance| format!("{chance} duplicated")));
        impairments.extend(hop.policer.map(|policer| {
            let Policer { rate, burst, peak } = policer;
            match peak {
                None => format!("dropped beyond {rate}, bursts of {burst}"),
                Some(peak) => format!(
                    "dropped beyond {}, bursts of {}; {} beyond {rate}, bursts of {burst}",
                    peak.rate,
                    peak.burst,
                    peak.yellow.name(),
                ),
            }
        }));
        impairments.extend(changes(hop));
        impairments.extend(hop.mtu.map(|mtu| {
            let told = match (hop.fragments, hop.notifies_too_big) {
                (true, _) => "fragments",
                (false, true) => "told",
                (false, false) => "silent",
            };
            format!("packets of at most {} octets, {told}", mtu.as_u64())
        }));
        Self {
            name: hop.name.clone(),
            rate_bps: hop.rate.map(Rate::as_bps),
            per_packet_ns: hop.per_packet.as_nanos(),
            delay_ns: hop.one_way_delay.as_nanos(),
            limit_packets: hop.limit_packets,
            limit_bytes: hop.limit_bytes.map(Bytes::as_u64),
            hold_limit_packets: hop.hold_limit,
            impairments,
        }
    }

    /// View of a half-duplex Ethernet shared by both directions.
    pub(super) fn of_ethernet(ethernet: &Ethernet) -> Self {
        let recoveries = ["sender's", "receiver's"]
            .into_iter()
            .zip(ethernet.recoveries)
            .filter(|(_, span)| !span.is_zero());
        let recoveries =
            recoveries.map(|(whose, span)| format!("{span} after a collision of the {whose}"));
        let mut view = Self::of_shared(&ethernet.medium);
        view.impairments.extend(recoveries);
        view
    }

    /// A medium.
    pub(super) fn of_shared(medium: &SharedMediumConfig) -> Self {
        let recovery = medium
            .recoveries
            .iter()
            .max()
            .filter(|span| !span.is_zero())
            .map(|span| format!("up to {span} after a collision"));
        Self {
            name: medium.name.clone(),
            rate_bps: Some(medium.rate.as_bps()),
            per_packet_ns: 0,
            delay_ns: medium.delay.as_nanos(),
            limit_packets: medium.limit_packets,
            limit_bytes: None,
            hold_limit_packets: None,
            impairments: std::iter::once("half-duplex, shared".to_owned())
                .chain(recovery)
                .collect(),
        }
    }

    pub(super) fn cells(&self, way: &str) -> Vec<String> {
        let hold = self.hold_limit_packets;
        let mut besides: Vec<String> = hold
            .map(|packets| format!("holds {packets} packets"))
            .into_iter()
            .collect();
        besides.extend(self.impairments.iter().cloned());
        vec![
            way.to_owned(),
            self.name.clone(),
            self.rate_bps
                .map_or_else(|| NONE.to_owned(), |bps| Rate::from_bps(bps).to_string()),
            time_text(self.per_packet_ns),
            time_text(self.delay_ns),
            self.queue_text(),
            besides.join(", "),
        ]
    }

    fn queue_text(&self) -> String {
        let packets = self
            .limit_packets
            .map(|packets| format!("{packets} packets"));
        let bytes = self.limit_bytes.map(|bytes| Bytes::new(bytes).to_string());
        let limits: Vec<String> = packets.into_iter().chain(bytes).collect();
        if limits.is_empty() {
            return "unlimited".to_owned();
        }
        limits.join(", ")
    }
}

/// Formats a loss model; `harmed` is "lost" or "corrupted".
fn harm_text(model: &LossModel, harmed: &str) -> String {
    /// More packets than this are counted, not listed.
    const LISTED: usize = 4;
    match model {
        LossModel::Bernoulli(chance) => format!("{chance} {harmed}"),
        LossModel::GilbertElliott(chain) => format!(
            "{:.4} % {harmed} in bursts of {:.1}",
            100.0 * chain.mean_loss(),
            1.0 / chain.to_good.as_f64()
        ),
        LossModel::Periodic { every } => format!("every {every}. packet {harmed}"),
        LossModel::Listed(packets) if packets.len() > LISTED => {
            format!("{} listed packets {harmed}", packets.len())
        }
        LossModel::Listed(packets) => {
            let words: Vec<String> = packets.iter().map(u64::to_string).collect();
            format!("{harmed}: packet {}", words.join(", "))
        }
    }
}

/// Lists properties of a hop other than queue limit and impairments of single packets.
fn changes(hop: &HopConfig) -> Vec<String> {
    let mut said = Vec::new();
    if !hop.queue.is_fifo() {
        let mut queue = hop.queue.discipline.name.to_owned();
        for setting in hop.queue.settings.iter() {
            queue.push_str(&format!(", {} {}", setting.name, setting.value));
        }
        said.push(queue);
    }
    if let Some(RateSource::Schedule(schedule)) = &hop.rate_source {
        said.push(format!("rate changes {} times", schedule.steps.len()));
    }
    if let Some(RateSource::Trace(trace)) = &hop.rate_source {
        let rate = Rate::from_bps(trace.mean_bps());
        said.push(format!("trace of {rate} on average"));
    }
    if let Some(schedule) = &hop.delay_schedule {
        said.push(format!("delay changes {} times", schedule.steps.len()));
    }
    if let Some(jitter) = hop.jitter {
        said.push(format!("jitter {}", jitter.spread));
    }
    if let Some(slot) = hop.slot {
        said.push(format!("slots {} apart", slot.delay));
    }
    said.extend(hop.middlebox.iter().flat_map(rewritten));
    match hop.ack_filter {
        Some(AckFilter::Queue) => said.push("ACKs filtered in the queue".to_owned()),
        Some(AckFilter::Every(n)) => said.push(format!("ACKs filtered to 1 of {n}")),
        None => {}
    }
    if let Some(shaper) = hop.shaper {
        said.push(format!(
            "shaped to {}, bursts of {}",
            shaper.rate, shaper.burst
        ));
    }
    if let Some(group) = hop.aggregate {
        let (packets, overhead) = (group.packets, group.overhead);
        said.push(format!("groups of {packets}, {overhead} each"));
    }
    said
}

/// Lists the changes that a middlebox makes to segments with SYN.
fn rewritten(middlebox: &Middlebox) -> Vec<String> {
    let Middlebox {
        mss,
        window_scale,
        clears_sack,
        clears_timestamps,
        clears_ecn,
    } = middlebox;
    let mut said: Vec<String> = Vec::new();
    said.extend(mss.map(|most| format!("MSS clamped to {most}")));
    match window_scale {
        WindowScale::Pass => {}
        WindowScale::Clamp(most) => said.push(format!("window scale clamped to {most}")),
        WindowScale::Clear => said.push("window scale cleared".to_owned()),
    }
    let cleared = [
        (clears_sack, "SACK"),
        (clears_timestamps, "timestamps"),
        (clears_ecn, "ECN"),
    ]
    .into_iter()
    .filter(|(is_cleared, _)| **is_cleared);
    said.extend(cleared.map(|(_, what)| format!("{what} cleared")));
    said
}
