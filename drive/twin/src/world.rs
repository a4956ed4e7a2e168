//! Runs a twin's plan with changes, and measures it like the capture.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_flows::{FlowTable, Observed, Side};
use gigatcp_run::scenario;
use gigatcp_sim::address::endpoints;
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Tap, World};
use gigatcp_units::Instant;
use gigatcp_wire::{Phantom, Segment};

use crate::measured::{Measured, Meter};

/// The result of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// Measures of the first flow.
    pub first: Measured,
    /// Goodput of all measured flows together, in bits per second.
    pub goodput_bps: f64,
}

/// Runs a plan with changes `KEY=VALUE` and this seed.
///
/// # Errors
/// The fault of a change, or that no data was acknowledged.
pub fn run(plan: &str, changes: &[String], seed: u64) -> Result<Ran, String> {
    let plan = gigatcp_plan::parse("twin", plan.as_bytes(), changes);
    let plan = plan.map_err(|findings| findings.to_string())?;
    let mut config = scenario::world_of(&plan, None, seed).ok_or("the plan has no series")?;
    config.observe.fingerprint = false;
    config.observe.account = false;
    measure(config, usize::MAX)
}

/// Runs a simulation and measures its first `count` flows at their sender's interface.
///
/// # Errors
/// It cannot be built, or no data was acknowledged.
pub fn measure(config: gigatcp_sim::WorldConfig, count: usize) -> Result<Ran, String> {
    let mut world = World::new(config).map_err(|error| error.to_string())?;
    let tap = MeterTap::default();
    world.set_tap(Box::new(tap.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    drop(world);
    let meters = Arc::into_inner(tap.0).ok_or("the world is still there")?;
    let meters = meters.into_inner().unwrap_or_else(PoisonError::into_inner);
    let flows = meters.flows.into_iter().take(count).flatten();
    let measured: Vec<Measured> = flows.filter_map(|(_, meter)| meter.finish()).collect();
    let bytes: u64 = measured.iter().map(|one| one.bytes).sum();
    let elapsed = measured.iter().map(|one| one.elapsed).fold(0.0, f64::max);
    let first = measured
        .into_iter()
        .next()
        .ok_or("no data was acknowledged")?;
    Ok(Ran {
        goodput_bps: bytes as f64 * 8.0 / elapsed.max(1e-9),
        first,
    })
}

/// Meters of the flows, each with the flow's table.
#[derive(Default)]
struct Meters {
    flows: Vec<Option<(FlowTable, Meter)>>,
}

#[derive(Clone, Default)]
struct MeterTap(Arc<Mutex<Meters>>);

impl Meters {
    fn see(&mut self, now: Instant, packet: &Packet, segment: &Segment<Phantom>) {
        let place = packet.flow as usize;
        if self.flows.len() <= place {
            self.flows.resize_with(place + 1, || None);
        }
        let new = || (FlowTable::new(1), Meter::new(Side::Client));
        let (table, meter) = self.flows[place].get_or_insert_with(new);
        let endpoints = endpoints(packet.ip.version(), packet.flow, packet.reverse());
        let observed = Observed::of_segment(now, endpoints, segment.ident, segment);
        let (verdict, _, connection) = table.follow(&observed);
        meter.handle_packet(&observed, &verdict, connection);
    }
}

impl Tap for MeterTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let (true, Some(segment)) = (at_sender, packet.segment()) else {
            return;
        };
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if segment.wire_segments() == 1 {
            return meters.see(now, packet, segment);
        }
        let mut rest = segment.clone();
        while rest.wire_segments() > 1 {
            let front = rest.split_front(1);
            meters.see(now, packet, &front);
        }
        meters.see(now, packet, &rest);
    }
}
