//! Packets between a device and the engine, as `docs/guide/embed.md` shows.

use gigatcp_stack::wire::PacketPool;
use gigatcp_stack::{Bytes, Endpoint, Instant};

/// Handles a packet that arrived. One that is corrupted, or not TCP, is dropped.
pub fn receive(host: &mut Endpoint, pool: &PacketPool, now: Instant, packet: Bytes) {
    if let Ok((endpoints, segment)) = pool.decode(packet) {
        host.handle_segment(now, endpoints, segment);
    }
}

/// Collects the packets that may leave.
pub fn send(host: &mut Endpoint, pool: &mut PacketPool, now: Instant, packets: &mut Vec<Bytes>) {
    while let Some((endpoints, segment)) = host.poll_transmit(now) {
        packets.extend(pool.encode(endpoints, segment).expect("its options fit"));
    }
}
