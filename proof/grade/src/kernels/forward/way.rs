//! One direction of a path, in virtual time.
//!
//! Impairments at the entrance (loss, policer, outage) come first, then a queue before a link of
//! one rate, then the propagation delay. The end of service follows from the arrival time alone,
//! so a forwarder that wakes up late does not change it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::config::DirectionConfig;
use super::counters::{DirectionCounters, FlowCounters, SLOT_NS, Slot};
use super::wire::{self, Tcp};
use crate::draw::Draw;

/// Wait beyond which a pure ACK counts as delayed.
const ACK_WAIT_NS: u64 = 1_000_000;

/// Maximum payload of a test program's control connection.
const SMALL: u64 = 2000;

/// Maximum length of a TCP header with only timestamps.
const PLAIN_HEADER: usize = 32;

/// One direction of a path.
pub struct Way {
    config: DirectionConfig,
    draw: Draw,
    is_bad: bool,
    tokens: f64,
    tokens_at: u64,
    /// End of service of the last packet.
    free_at: u64,
    /// Queued packets: end of service, bytes.
    queue: VecDeque<(u64, usize)>,
    queued_bytes: usize,
    pending: BinaryHeap<Reverse<(u64, u64, usize)>>,
    frames: Vec<Option<Vec<u8>>>,
    free: Vec<usize>,
    order: u64,
    /// Last pure ACK in the queue: frame, start of service, ports.
    last_ack: Option<(usize, u64, [u16; 2])>,
    acks_seen: u64,
    data_seen: u64,
    highest: BTreeMap<[u16; 2], u32>,
    first_seq: BTreeMap<[u16; 2], u32>,
    tail_drops: BTreeMap<u64, u64>,
    carried: BTreeMap<[u16; 2], u64>,
    flows: BTreeMap<[u16; 2], FlowCounters>,
    ack_wait_ns: f64,
    first_data: Option<u64>,
    last_data: u64,
    /// Arrival of the next cross-traffic packet.
    cross_at: Option<u64>,
    counters: DirectionCounters,
}

/// Facts about a packet on arrival.
struct Arrival {
    at: u64,
    since_s: f64,
    bytes: usize,
    tcp: Option<Tcp>,
    ports: [u16; 2],
    is_first: bool,
    index: u64,
}

impl Way {
    /// A direction at rest.
    pub fn new(config: DirectionConfig, seed: u64) -> Self {
        let tokens = config.policer.as_ref().map_or(0.0, |policer| policer.bytes);
        Self {
            config,
            draw: Draw::new(seed),
            is_bad: false,
            tokens,
            tokens_at: 0,
            free_at: 0,
            queue: VecDeque::new(),
            queued_bytes: 0,
            pending: BinaryHeap::new(),
            frames: Vec::new(),
            free: Vec::new(),
            order: 0,
            last_ack: None,
            acks_seen: 0,
            data_seen: 0,
            highest: BTreeMap::new(),
            first_seq: BTreeMap::new(),
            tail_drops: BTreeMap::new(),
            carried: BTreeMap::new(),
            flows: BTreeMap::new(),
            ack_wait_ns: 0.0,
            first_data: None,
            last_data: 0,
            cross_at: None,
            counters: DirectionCounters::default(),
        }
    }

    /// Changes the configuration from now on; queued packets stay.
    pub fn reconfigure(&mut self, config: DirectionConfig) {
        if self.config.policer != config.policer {
            self.tokens = config.policer.as_ref().map_or(0.0, |policer| policer.bytes);
        }
        self.config = config;
    }

    /// Processes a frame that arrived `at`; `origin` is the time of the first data packet.
    pub fn handle(&mut self, at: u64, origin: Option<u64>, mut frame: Vec<u8>) {
        if let Some(origin) = origin {
            self.cross(origin, at);
        }
        let arrival = self.arrival(at, origin, &frame);
        self.counters.packets += 1;
        self.counters.bytes += arrival.bytes as u64;
        let flow = self.flows.entry(arrival.ports).or_default();
        flow.packets += 1;
        flow.bytes += arrival.bytes as u64;
        if arrival.is_pure_ack() {
            self.counters.acks += 1;
        }
        if let Some(reason) = self.fate(&arrival) {
            return self.dropped(&arrival, reason);
        }
        let copies = 1 + usize::from(self.draw.chance(self.config.duplicate));
        self.counters.duplicated += copies as u64 - 1;
        for _ in 1..copies {
            self.enqueue(&arrival, frame.clone());
        }
        if self.mark(&arrival, &mut frame) {
            self.counters.marked += 1;
            self.slot(at).marked += 1;
        }
        self.enqueue(&arrival, frame);
    }

    /// Time at which the next frame is due.
    pub fn next_due(&self) -> Option<u64> {
        self.pending.peek().map(|Reverse((due, ..))| *due)
    }

    /// Removes the next due frame. Returns it with its due time.
    pub fn poll(&mut self, now: u64) -> Option<(u64, Vec<u8>)> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse((due, _, slot)) = self.pending.pop()?;
        self.free.push(slot);
        if self.last_ack.is_some_and(|(last, ..)| last == slot) {
            self.last_ack = None;
        }
        let frame = self.frames[slot].take()?;
        Some((due, frame))
    }

    /// Time of the first data packet in this direction.
    pub const fn first_data(&self) -> Option<u64> {
        self.first_data
    }

    /// Counters.
    pub fn counters(&self) -> DirectionCounters {
        let mut counters = self.counters.clone();
        counters.flows = self
            .flows
            .iter()
            .map(|(ports, flow)| FlowCounters {
                ports: *ports,
                ..flow.clone()
            })
            .collect();
        let first = self.first_data.unwrap_or(self.last_data);
        counters.first_data_ns = self.first_data.unwrap_or(0);
        counters.span_us = self.last_data.saturating_sub(first) as f64 / 1e3;
        let kept = (counters.acks - counters.acks_lost.min(counters.acks)).max(1);
        counters.ack_wait_mean_us = self.ack_wait_ns / kept as f64 / 1e3;
        counters
    }

    /// Enqueues cross-traffic packets that arrived before `now`.
    fn cross(&mut self, origin: u64, now: u64) {
        let Some(cross) = self.config.cross.clone() else {
            self.cross_at = None;
            return;
        };
        let gap = (cross.bytes as f64 * 8e9 / cross.rate_bps) as u64;
        let mut at = self.cross_at.unwrap_or(origin);
        while at < now {
            let [on, off] = cross.on_off_s;
            let within = (at - origin.min(at)) as f64 / 1e9 % (on + off).max(1e-3);
            if off <= 0.0 || within < on {
                self.put_cross(at, cross.bytes);
            }
            // Irregular enough that arrivals do not lock to the link's clock.
            at += (gap as f64 * (0.5 + self.draw.unit())) as u64 + 1;
        }
        self.cross_at = Some(at);
    }

    fn put_cross(&mut self, at: u64, bytes: usize) {
        self.leave(at);
        let is_full = self.is_full(bytes);
        let flow = self.flows.entry([0, 0]).or_default();
        flow.packets += 1;
        flow.bytes += bytes as u64;
        if is_full {
            flow.dropped += 1;
            return;
        }
        flow.delivered_bytes += bytes as u64;
        let start = self.free_at.max(at);
        self.free_at = start + (bytes as f64 * 8e9 / self.config.rate_bps) as u64;
        let arrival = Arrival {
            at,
            since_s: 0.0,
            bytes,
            tcp: None,
            ports: [0, 0],
            is_first: false,
            index: 0,
        };
        self.on_served(&arrival, start, self.free_at);
    }

    fn arrival(&mut self, at: u64, origin: Option<u64>, frame: &[u8]) -> Arrival {
        let tcp = wire::tcp(frame);
        let ports = wire::ports(frame);
        let mut is_first = false;
        if let Some(tcp) = tcp.filter(|tcp| tcp.payload > 0) {
            let carried = self.carried.entry(ports).or_default();
            *carried += tcp.payload as u64;
            if self.first_data.is_none() && *carried > SMALL {
                self.first_data = Some(at);
            }
            let end = tcp.seq.wrapping_add(tcp.payload as u32);
            let highest = self.highest.entry(ports).or_insert(tcp.seq);
            is_first = (end.wrapping_sub(*highest) as i32) > 0;
            if is_first {
                *highest = end;
            }
        }
        if let Some(tcp) = tcp.filter(Tcp::is_syn) {
            self.first_seq.insert(ports, tcp.seq.wrapping_add(1));
        }
        let index = self.data_seen;
        // Control connections are small; the indices count packets of real transfers.
        if is_first && tcp.is_some_and(|tcp| tcp.payload >= 500) {
            self.data_seen += 1;
        } else {
            is_first = false;
        }
        Arrival {
            at,
            since_s: origin.map_or(-1.0, |origin| at.saturating_sub(origin) as f64 / 1e9),
            bytes: frame.len(),
            tcp,
            ports,
            is_first,
            index,
        }
    }

    /// Reason if the packet does not enter the queue.
    fn fate(&mut self, arrival: &Arrival) -> Option<&'static str> {
        let since = arrival.since_s;
        let outages = &self.config.outages;
        if outages
            .iter()
            .any(|span| since >= span[0] && since < span[1])
        {
            return Some("outage");
        }
        let ip_bytes = arrival.bytes - wire::ETHERNET;
        let from = self.config.mtu_from_s;
        let is_narrow = self.config.mtu > 0 && (from <= 0.0 || since >= from);
        if is_narrow && ip_bytes > self.config.mtu {
            return Some("mtu");
        }
        if arrival.is_first && self.config.listed.contains(&arrival.index) {
            return Some("listed");
        }
        if self.strikes_tail(arrival) {
            return Some("tail");
        }
        if arrival.is_pure_ack() {
            self.acks_seen += 1;
            let keep = self.config.ack_keep;
            if keep > 1 && !self.acks_seen.is_multiple_of(keep) {
                return Some("ack-thinning");
            }
            if self.draw.chance(self.config.ack_loss) {
                return Some("ack-loss");
            }
        }
        if self.polices(arrival) {
            return Some("policer");
        }
        if !self.config.loss_behind {
            return self.lost();
        }
        None
    }

    fn lost(&mut self) -> Option<&'static str> {
        let is_lost = self.draw.chance(self.config.loss);
        if let Some(burst) = &self.config.burst {
            let change = if self.is_bad {
                burst.leave
            } else {
                burst.enter
            };
            if self.draw.chance(change) {
                self.is_bad = !self.is_bad;
            }
            if self.is_bad && self.draw.chance(burst.loss) {
                return Some("burst");
            }
        }
        is_lost.then_some("random")
    }

    fn polices(&mut self, arrival: &Arrival) -> bool {
        let Some(policer) = &self.config.policer else {
            return false;
        };
        let elapsed = arrival.at.saturating_sub(self.tokens_at) as f64 / 1e9;
        self.tokens_at = arrival.at;
        self.tokens = (self.tokens + elapsed * policer.rate_bps / 8.0).min(policer.bytes);
        if self.tokens < arrival.bytes as f64 {
            return true;
        }
        self.tokens -= arrival.bytes as f64;
        false
    }

    fn strikes_tail(&mut self, arrival: &Arrival) -> bool {
        let (Some(tail), Some(tcp)) = (&self.config.tail, arrival.tcp) else {
            return false;
        };
        let Some(first) = self.first_seq.get(&arrival.ports) else {
            return false;
        };
        if tcp.payload == 0 {
            return false;
        }
        let end = u64::from(tcp.seq.wrapping_sub(*first)) + tcp.payload as u64;
        let (response, within) = ((end - 1) / tail.response, (end - 1) % tail.response);
        if within + tail.bytes < tail.response {
            return false;
        }
        let drops = match self.tail_drops.get(&response) {
            Some(drops) => *drops,
            None if self.draw.chance(tail.probability) => 0,
            None => tail.packets,
        };
        let strikes = drops < tail.packets;
        self.tail_drops.insert(response, drops + u64::from(strikes));
        strikes
    }

    fn mark(&mut self, arrival: &Arrival, frame: &mut [u8]) -> bool {
        self.leave(arrival.at);
        let above = self.config.mark_above > 0 && self.queue.len() >= self.config.mark_above;
        let at_random = self.draw.chance(self.config.mark);
        let has_data = arrival.tcp.is_some_and(|tcp| tcp.payload > 0);
        (above || at_random) && has_data && wire::mark_ce(frame)
    }

    /// Removes packets served by `now` from the queue.
    fn leave(&mut self, now: u64) {
        while let Some((end, bytes)) = self.queue.front().copied() {
            if end > now {
                break;
            }
            self.queued_bytes -= bytes;
            self.queue.pop_front();
        }
    }

    fn is_full(&self, bytes: usize) -> bool {
        let config = &self.config;
        (config.queue_packets > 0 && self.queue.len() >= config.queue_packets)
            || (config.queue_bytes > 0 && self.queued_bytes + bytes > config.queue_bytes)
    }

    fn enqueue(&mut self, arrival: &Arrival, frame: Vec<u8>) {
        self.leave(arrival.at);
        if self.filters(arrival, &frame) {
            return;
        }
        if self.config.rate_bps > 0.0 && self.is_full(arrival.bytes) {
            return self.dropped(arrival, "queue");
        }
        let start = self.free_at.max(arrival.at);
        let service = if self.config.rate_bps > 0.0 {
            (arrival.bytes as f64 * 8e9 / self.config.rate_bps) as u64
        } else {
            0
        };
        let end = start + service;
        self.free_at = end;
        self.on_served(arrival, start, end);
        if self.config.loss_behind
            && let Some(reason) = self.lost()
        {
            return self.dropped(arrival, reason);
        }
        let mut due = end + (self.config.delay_us * 1e3) as u64;
        if let Some(reorder) = &self.config.reorder
            && self.draw.chance(reorder.probability)
        {
            due += (reorder.extra_us * 1e3) as u64;
            self.counters.reordered += 1;
        }
        self.counters.delivered += 1;
        self.counters.delivered_bytes += arrival.bytes as u64;
        let flow = self.flows.entry(arrival.ports).or_default();
        flow.delivered_bytes += arrival.bytes as u64;
        if arrival.tcp.is_some_and(|tcp| tcp.payload > 0) {
            self.last_data = self.last_data.max(end);
        }
        let slot = self.store(due, frame);
        if arrival.is_pure_ack() {
            self.last_ack = Some((slot, start, arrival.ports));
        }
    }

    fn store(&mut self, due: u64, frame: Vec<u8>) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.frames.push(None);
            self.frames.len() - 1
        });
        self.frames[slot] = Some(frame);
        self.order += 1;
        self.pending.push(Reverse((due, self.order, slot)));
        slot
    }

    /// Counts service, queue length and wait of a packet.
    fn on_served(&mut self, arrival: &Arrival, start: u64, end: u64) {
        self.queue.push_back((end, arrival.bytes));
        self.queued_bytes += arrival.bytes;
        let (packets, bytes) = (self.queue.len() as u64, self.queued_bytes as u64);
        let wait = start - arrival.at;
        let counters = &mut self.counters;
        counters.busy_us += (end - start) as f64 / 1e3;
        counters.max_queue_packets = counters.max_queue_packets.max(packets);
        counters.max_queue_bytes = counters.max_queue_bytes.max(bytes);
        counters.max_wait_us = counters.max_wait_us.max(wait as f64 / 1e3);
        if arrival.is_pure_ack() {
            counters.acks_delayed += u64::from(wait > ACK_WAIT_NS);
            counters.ack_wait_max_us = counters.ack_wait_max_us.max(wait as f64 / 1e3);
            self.ack_wait_ns += wait as f64;
        }
        let slot = self.slot(start);
        slot.busy_us += (end - start) / 1000;
        slot.bytes += arrival.bytes as u64;
        slot.queue_packets = slot.queue_packets.max(packets);
    }

    /// Replaces a waiting pure ACK by this later one. Returns whether it did.
    fn filters(&mut self, arrival: &Arrival, frame: &[u8]) -> bool {
        let Some((slot, start, ports)) = self.last_ack else {
            return false;
        };
        let is_plain = arrival.tcp.is_some_and(|tcp| {
            let header = tcp.payload_at - wire::ETHERNET - 20;
            tcp.is_pure_ack() && header <= PLAIN_HEADER
        });
        let waits = start > arrival.at && ports == arrival.ports;
        if !self.config.ack_filter || !is_plain || !waits {
            return false;
        }
        self.frames[slot] = Some(frame.to_vec());
        self.dropped(arrival, "ack-filter");
        true
    }

    fn dropped(&mut self, arrival: &Arrival, reason: &str) {
        *self.counters.dropped.entry(reason.to_owned()).or_default() += 1;
        self.flows.entry(arrival.ports).or_default().dropped += 1;
        self.counters.acks_lost += u64::from(arrival.is_pure_ack());
        let slot = self.slot(arrival.at);
        slot.dropped += 1;
        slot.overflowed += u64::from(reason == "queue");
    }

    fn slot(&mut self, at: u64) -> &mut Slot {
        let first = self.first_data.unwrap_or(at);
        let index = (at.saturating_sub(first) / SLOT_NS).min(600) as usize;
        let timeline = &mut self.counters.timeline;
        if timeline.len() <= index {
            timeline.resize(index + 1, Slot::default());
        }
        &mut timeline[index]
    }
}

impl Arrival {
    fn is_pure_ack(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.is_pure_ack())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(way: &mut Way, count: u64, gap_ns: u64) {
        for number in 0..count {
            way.handle(1_000_000 + number * gap_ns, None, vec![0; 1000]);
        }
    }

    #[test]
    fn packets_leave_at_the_rate_of_the_link_and_after_the_delay() {
        let config = DirectionConfig {
            rate_bps: 8e6,
            delay_us: 5000.0,
            ..DirectionConfig::default()
        };
        let mut way = Way::new(config, 1);
        packets(&mut way, 3, 0);
        let due: Vec<u64> = std::iter::from_fn(|| way.poll(u64::MAX))
            .map(|(due, _)| due)
            .collect();
        assert_eq!(due, [7_000_000, 8_000_000, 9_000_000]);
    }

    #[test]
    fn a_full_queue_drops_and_everything_is_counted() {
        let config = DirectionConfig {
            rate_bps: 8e6,
            queue_packets: 4,
            ..DirectionConfig::default()
        };
        let mut way = Way::new(config, 1);
        packets(&mut way, 10, 0);
        let counters = way.counters();
        assert_eq!(counters.dropped["queue"], 6);
        assert_eq!(counters.delivered, 4);
        assert_eq!(counters.max_queue_packets, 4);
    }

    #[test]
    fn a_policer_lets_pass_what_its_tokens_allow_without_delay() {
        let config = DirectionConfig {
            policer: Some(super::super::config::Bucket {
                rate_bps: 8e6,
                bytes: 2000.0,
            }),
            ..DirectionConfig::default()
        };
        let mut way = Way::new(config, 1);
        packets(&mut way, 100, 500_000);
        let counters = way.counters();
        // 2 immediately, then 1 of 2: 1000 bytes each 0.5 ms at 1 MB/s.
        assert_eq!(counters.delivered, 51);
        assert_eq!(way.poll(1_000_000).unwrap().0, 1_000_000);
    }
}
