//! Simulations in which one flow passes 4 GiB: sequence numbers wrap once, and every counter of 32
//! bits shows its limit.
//!
//! Payload is phantom, so the bytes cost nothing. The number of packets is kept small: one flow,
//! large segments, fast hops, little loss, and windows of megabytes.

use gigatcp_path::LossModel;
use gigatcp_sim::{Stop, WorldConfig};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use super::draw::Draw;

/// Payload of a segment at an MTU of 9000, over either version of IP.
const MSS: u16 = 9000 - 40 - 20;

/// Bytes of buffer on both sides.
const BUFFER: u64 = 64 << 20;

/// Reduces the simulation to a single flow of more than 4 GiB.
pub fn lengthen(draw: &mut Draw, world: &mut WorldConfig) {
    world.flows.truncate(1);
    let few = Probability::try_new(1e-5).unwrap_or(Probability::NEVER);
    for hop in world.forward.iter_mut().chain(&mut world.reverse) {
        hop.rate = Some(Rate::from_bps(draw.between(1, 100) * 1_000_000_000));
        (hop.rate_source, hop.shaper, hop.aggregate) = (None, None, None);
        hop.per_packet = Duration::ZERO;
        hop.one_way_delay = draw.span(Duration::from_micros(1), Duration::from_millis(5));
        hop.limit_packets = Some(draw.between(1000, 10_000));
        hop.limit_bytes = None;
        hop.hold_limit = None;
        hop.loss = vec![LossModel::Bernoulli(few)];
        hop.reorder = None;
        hop.duplicate = None;
        hop.policer = None;
        if let Some(middlebox) = &mut hop.middlebox {
            // Segments of its size would be a multiple of the packets.
            middlebox.mss = None;
        }
    }
    for flow in &mut world.flows {
        let total = (1 << 32) + draw.between(1, 1 << 29);
        flow.stop = Stop::Bytes(Bytes::new(total));
        flow.write_size = Bytes::new(draw.between(1 << 20, 1 << 24));
        flow.interval = Duration::from_secs(1);
        for host in [&mut flow.sender, &mut flow.receiver] {
            host.costs = Default::default();
            host.coalesce = Duration::ZERO;
            host.link = None;
            let headers = host.tcp.ip.header_len() + 20;
            let transport = host.tcp.transport_mut();
            transport.mtu = u32::from(MSS) + headers;
            transport.send_buffer = Some(Bytes::new(BUFFER));
            transport.receive_buffer = Some(Bytes::new(BUFFER));
            let profile = &mut transport.profile;
            profile.buffers.buffer_limit = Bytes::new(1 << 30);
            profile.buffers.window_reserve_shift = 0;
            // A route MTU of 78 bytes makes 90 million packets of it.
            profile.path_mtu.route_mtu = 0;
            // Remembered route buffers would take days for it.
            (
                profile.buffers.route_send_buffer,
                profile.buffers.route_receive_buffer,
            ) = (None, None);
            // Written seven bytes at a time, it takes minutes.
            profile.buffers.write_chunk = 0;
            // By a clock of 500 ms an RTT of 1 ms seems to be 440 ms: what is paced by that takes
            // days.
            profile.timer.rto_tick = profile.timer.rto_tick.min(Duration::from_millis(1));
            // Without these, thousands of losses are repaired one timeout at a time, or the window
            // is 64 KiB: a matter of days.
            profile.recovery.sack = true;
            profile.options.window_scaling = true;
            profile.recovery.fast_retransmit = true;
        }
    }
}
