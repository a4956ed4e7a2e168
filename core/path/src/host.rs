//! CPU of a host: one serial server of protocol work.
//!
//! A slow host has three effects: segments leave late, ACKs leave late, and a queue of unprocessed
//! arrivals grows. All three follow from one rule: a CPU does one thing at a time, in the order
//! given,
//!
//! ```text
//! finish = max(now, previous finish) + work                             (1)
//! work   = sum over events of their configured cost                     (2)
//! ```
//!
//! **Closeness class D**: this is a parameterized host, never *the* host of a published
//! measurement. Costs are declared inputs of a plan. With all of them zero, the default, the host
//! is ideal. Results support claims about shape and order (which cost limits, where the knee lies),
//! not about the number.
//!
//! # Back of the envelope
//!
//! * A flow of 7.25 Gbit/s in segments of 8948 bytes is 101 280 segments per second, one each 9.87
//!   µs. A sender reported 90 % busy spends 8.9 µs per segment in total, a receiver reported 53 %
//!   busy 5.2 µs. These two numbers do not separate per-packet from per-byte cost: at 300 ps/B the
//!   copy alone is 2.7 µs.
//! * At MTU 1500 the same 8.9 µs per segment allow 1.3 Gbit/s. So large frames, and later
//!   segmentation offload, mattered more than clock rate.
//! * Walking a list of 11 000 segments at each ACK takes 220 µs at 20 ns (a cache miss) per entry;
//!   11 000 ACKs of one window take 2.4 s. A sender that walks can be silent for seconds where an
//!   ideal one recovers in one RTT.
//!
//! * A chain of 2 KiB buffers whose headers miss the cache costs 100 ns each at memory of 2001: 49
//!   ps per byte queued. 2 MiB beyond the cache add 100 µs to every packet.
//!
//! Not modeled: locks between CPUs, and caches (except one list, see `queue_cached`). If locks or
//! caches matter to a host, do not quote results of this model for it. The order of work is in
//! [`Scheduling`](crate::Scheduling). CPU time taken by others is in [`Steal`](crate::Steal).

use core::fmt;
use core::ops::Add;

use gigatcp_units::{Bytes, Duration, Instant};

use crate::counters;

const PICOS_PER_NANO: u64 = 1000;

/// A memory page, the unit that zero copy moves.
pub const PAGE: Bytes = Bytes::new(4096);

/// A duration in picoseconds: costs per byte are fractions of a nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Picoseconds(u64);

impl fmt::Display for Picoseconds {
    /// Writes the form used in plans: `450 ps`, `1.5 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % PICOS_PER_NANO {
            0 => Duration::from_nanos(self.0 / PICOS_PER_NANO).fmt(f),
            _ => write!(f, "{} ps", self.0),
        }
    }
}

impl Picoseconds {
    /// A duration of `ps` picoseconds.
    pub const fn new(ps: u64) -> Self {
        Self(ps)
    }

    /// Duration as a plain number of picoseconds.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

/// Kinds of CPU work, as reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WorkKind {
    /// Protocol processing of sent segments and ACKs.
    Send,
    /// Protocol processing of received segments and ACKs.
    Receive,
    /// Moving bytes between the application and the stack.
    Copy,
    /// Walking lists that grow with the window.
    Walk,
    /// Handling interrupts of the network card.
    Interrupt,
    /// Entering and leaving a system call of the application.
    Call,
    /// Work of the application itself.
    User,
    /// Checksums of data, in a separate loop.
    Checksum,
    /// Waiting for memory during DMA by the network card.
    Dma,
}

impl WorkKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Send,
        Self::Receive,
        Self::Copy,
        Self::Walk,
        Self::Interrupt,
        Self::Call,
        Self::User,
        Self::Checksum,
        Self::Dma,
    ];
}

const _: () = {
    let mut place = 0;
    while place < WorkKind::ALL.len() {
        assert!(
            WorkKind::ALL[place] as usize == place,
            "work of a kind is found by its place"
        );
        place += 1;
    }
};

/// An amount of CPU time by kind of work; amounts can be added.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Work {
    picos: [u64; WorkKind::ALL.len()],
}

impl Work {
    /// No work.
    pub const NONE: Self = Self {
        picos: [0; WorkKind::ALL.len()],
    };

    /// `span` of work of one kind.
    pub const fn new(kind: WorkKind, span: Duration) -> Self {
        Self::from_picos(kind, span.as_nanos().saturating_mul(PICOS_PER_NANO))
    }

    const fn from_picos(kind: WorkKind, picos: u64) -> Self {
        let mut work = Self::NONE;
        work.picos[kind as usize] = picos;
        work
    }

    /// Part of one kind, rounded up to the nanosecond.
    pub const fn of(&self, kind: WorkKind) -> Duration {
        Duration::from_nanos(self.picos[kind as usize].div_ceil(PICOS_PER_NANO))
    }

    /// Sum of all kinds, rounded up to the nanosecond.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total_picos().div_ceil(PICOS_PER_NANO))
    }

    fn total_picos(&self) -> u64 {
        self.picos
            .iter()
            .fold(0, |total, &part| total.saturating_add(part))
    }
}

impl Add for Work {
    type Output = Work;

    /// Sum by kind, saturating at 213 days.
    fn add(mut self, other: Work) -> Work {
        for (mine, more) in self.picos.iter_mut().zip(other.picos) {
            *mine = mine.saturating_add(more);
        }
        self
    }
}

/// Place where checksums of data are computed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Checksum {
    /// In the network card, at no cost.
    #[default]
    Card,
    /// In a separate loop, with protocol work.
    Apart,
    /// In the loop that copies to or from the application.
    Copy,
}

impl Checksum {
    /// Names in plans, in the order of the variants.
    pub const NAMES: [&'static str; 3] = ["card", "apart", "copy"];

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Variant of that name.
    pub fn find(name: &str) -> Option<Self> {
        [Self::Card, Self::Apart, Self::Copy]
            .into_iter()
            .find(|place| place.name() == name)
    }
}

/// CPU cost of each event at a host. By default nothing costs CPU time.
///
/// A *segment* here is the unit that crosses between stack and card: with offload a super-segment.
/// *Packets* are the wire packets inside. Without offload both are one, and only the sum of their
/// costs matters.
///
/// Closeness class D: declared inputs, see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CpuCosts {
    /// Per data segment sent; segmentation offload reduces their number.
    pub per_segment_sent: Duration,
    /// Per wire packet of data sent; segmentation offload does not reduce their number.
    pub per_packet_sent: Duration,
    /// Per data segment received; receive coalescing reduces their number.
    pub per_segment_received: Duration,
    /// Per wire packet of data received; receive coalescing does not reduce their number.
    pub per_packet_received: Duration,
    /// Per ACK without data sent.
    pub per_ack_sent: Duration,
    /// Per ACK without data received.
    pub per_ack_received: Duration,
    /// Per interrupt of the network card, independent of the number of packets. Interrupt
    /// moderation and polling reduce their number.
    pub per_interrupt: Duration,
    /// Per wire packet taken from the card, in its interrupt.
    pub per_packet_interrupt: Duration,
    /// Per packet that the driver drops because it has no buffer: cost of reporting it.
    pub per_drop: Duration,
    /// Per read or write of an application, or piece of one.
    pub per_call: Duration,
    /// Per accepted connection, in addition to the call.
    pub per_accept: Duration,
    /// Per byte copied to or from the application. 1000 is 1 ns per byte: at most 8 Gbit/s of
    /// copying.
    pub per_byte_copied: Picoseconds,
    /// Per byte of data sent or received, for its checksum, if that is [`Checksum::Apart`].
    pub per_byte_checksummed: Picoseconds,
    /// Per byte copied and checksummed in one loop, in place of `per_byte_copied`. Applies with
    /// [`Checksum::Copy`].
    pub per_byte_copied_summed: Picoseconds,
    /// Per page of [`PAGE`] bytes moved without a copy, in place of `per_byte_copied`. Applies with
    /// `zero_copy`.
    pub per_page_mapped: Duration,
    /// Place where checksums of data are computed.
    pub checksum: Checksum,
    /// Whether pages are remapped instead of copied.
    pub zero_copy: bool,
    /// Per byte of IP packet transferred by DMA of the card. The CPU waits meanwhile.
    pub per_byte_dma: Picoseconds,
    /// Per byte that the application reads or writes: the application's own processing.
    pub per_byte_application: Picoseconds,
    /// Per entry walked in a list that grows with the window. An example is the retransmission
    /// queue, in stacks that search it at each selective ACK.
    pub per_entry_walked: Duration,
    /// Per data packet and per byte waiting in its socket buffer, beyond `queue_cached`. For stacks
    /// that walk the chain of a buffer to find the packet's place or the end.
    pub per_byte_queued: Picoseconds,
    /// Bytes waiting in a socket buffer whose chain fits in the CPU cache. Walking over them costs
    /// nothing.
    pub queue_cached: Bytes,
}

impl CpuCosts {
    /// Every cost with its name in plans, per byte or per piece of work.
    pub fn named(&self) -> [(&'static str, Picoseconds); 19] {
        let span = |span: Duration| Picoseconds(span.as_nanos().saturating_mul(PICOS_PER_NANO));
        [
            ("per_segment_sent", span(self.per_segment_sent)),
            ("per_packet_sent", span(self.per_packet_sent)),
            ("per_segment_received", span(self.per_segment_received)),
            ("per_packet_received", span(self.per_packet_received)),
            ("per_ack_sent", span(self.per_ack_sent)),
            ("per_ack_received", span(self.per_ack_received)),
            ("per_interrupt", span(self.per_interrupt)),
            ("per_packet_interrupt", span(self.per_packet_interrupt)),
            ("per_drop", span(self.per_drop)),
            ("per_call", span(self.per_call)),
            ("per_accept", span(self.per_accept)),
            ("per_byte_copied", self.per_byte_copied),
            ("per_byte_checksummed", self.per_byte_checksummed),
            ("per_byte_copied_summed", self.per_byte_copied_summed),
            ("per_page_mapped", span(self.per_page_mapped)),
            ("per_byte_dma", self.per_byte_dma),
            ("per_byte_application", self.per_byte_application),
            ("per_entry_walked", span(self.per_entry_walked)),
            ("per_byte_queued", self.per_byte_queued),
        ]
    }

    /// Work of sending one data segment of `wire_packets`.
    pub fn data_sent(&self, wire_packets: usize) -> Work {
        let packets = self.per_packet_sent.saturating_mul(wire_packets as u64);
        Work::new(WorkKind::Send, self.per_segment_sent) + Work::new(WorkKind::Send, packets)
    }

    /// Work of receiving one data segment of `wire_packets`.
    pub fn data_received(&self, wire_packets: usize) -> Work {
        let packets = self.per_packet_received.saturating_mul(wire_packets as u64);
        Work::new(WorkKind::Receive, self.per_segment_received)
            + Work::new(WorkKind::Receive, packets)
    }

    /// Work of sending one ACK without data.
    pub const fn ack_sent(&self) -> Work {
        Work::new(WorkKind::Send, self.per_ack_sent)
    }

    /// Work of receiving one ACK without data.
    pub const fn ack_received(&self) -> Work {
        Work::new(WorkKind::Receive, self.per_ack_received)
    }

    /// Whether the card's interrupts cost CPU time.
    pub const fn has_interrupts(&self) -> bool {
        !(self.per_interrupt.is_zero()
            && self.per_packet_interrupt.is_zero()
            && self.per_drop.is_zero())
    }

    /// Work of entering the interrupt handler.
    pub const fn interrupted(&self) -> Work {
        Work::new(WorkKind::Interrupt, self.per_interrupt)
    }

    /// Work of taking a frame of `wire_packets` from the network card.
    pub fn taken(&self, wire_packets: usize) -> Work {
        let span = self
            .per_packet_interrupt
            .saturating_mul(wire_packets as u64);
        Work::new(WorkKind::Interrupt, span)
    }

    /// Work of dropping a packet because there is no buffer.
    pub const fn dropped(&self) -> Work {
        Work::new(WorkKind::Interrupt, self.per_drop)
    }

    /// Work of a read or write of `amount`. It consists of the call, the copy, and the
    /// application's processing.
    pub fn called(&self, amount: Bytes) -> Work {
        let own = self.per_byte_application.0.saturating_mul(amount.as_u64());
        Work::new(WorkKind::Call, self.per_call)
            + self.copied(amount)
            + Work::from_picos(WorkKind::User, own)
    }

    /// Work of accepting a connection.
    pub fn accepted(&self) -> Work {
        Work::new(WorkKind::Call, self.per_call) + Work::new(WorkKind::Call, self.per_accept)
    }

    /// Work of moving `amount` to or from the application.
    pub const fn copied(&self, amount: Bytes) -> Work {
        if self.zero_copy {
            let pages = amount.as_u64().div_ceil(PAGE.as_u64());
            return Work::new(WorkKind::Copy, self.per_page_mapped.saturating_mul(pages));
        }
        let each = match self.checksum {
            Checksum::Copy => self.per_byte_copied_summed.0,
            Checksum::Card | Checksum::Apart => self.per_byte_copied.0,
        };
        Work::from_picos(WorkKind::Copy, each.saturating_mul(amount.as_u64()))
    }

    /// Work of checksumming `amount` of data sent or received, with protocol work.
    pub const fn checksummed(&self, amount: u64) -> Work {
        let picos = match self.checksum {
            Checksum::Apart => self.per_byte_checksummed.0.saturating_mul(amount),
            Checksum::Card | Checksum::Copy => 0,
        };
        Work::from_picos(WorkKind::Checksum, picos)
    }

    /// CPU time spent waiting for DMA of `ip_bytes`.
    pub const fn dma(&self, ip_bytes: u64) -> Work {
        Work::from_picos(WorkKind::Dma, self.per_byte_dma.0.saturating_mul(ip_bytes))
    }

    /// Work of walking a socket buffer of `queued` bytes, once per wire packet.
    pub fn queue_walked(&self, queued: Bytes, wire_packets: usize) -> Work {
        let beyond = queued
            .as_u64()
            .saturating_sub(self.queue_cached.as_u64())
            .saturating_mul(wire_packets as u64);
        let picos = self.per_byte_queued.0.saturating_mul(beyond);
        Work::from_picos(WorkKind::Walk, picos)
    }

    /// Work of walking over `entries` of a list.
    pub const fn walked(&self, entries: u64) -> Work {
        let span = self.per_entry_walked.saturating_mul(entries);
        Work::new(WorkKind::Walk, span)
    }
}

/// One serial CPU: equation (1).
///
/// Fractions of a nanosecond carry over from one piece of work to the next. Only the returned
/// finishing instant is rounded up.
#[derive(Clone, Default, Debug)]
pub struct Cpu {
    free_nanos: u64,
    free_picos: u64,
    /// Time spent without work before `free`.
    idle: Duration,
    /// Part of `idle` during which others used the CPU.
    taken: Duration,
    accepted: Work,
}

impl Cpu {
    /// A CPU that has never worked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts `work` at `now`, after all accepted before; returns when it is done. On an ideal
    /// host that is `now`.
    pub fn start(&mut self, now: Instant, work: Work) -> Instant {
        let free_at = self.busy_until();
        if now >= free_at {
            self.idle += now.saturating_since(free_at);
            self.free_nanos = now.as_nanos();
            self.free_picos = 0;
        }
        let picos = work.total_picos();
        let rest = self.free_picos + picos % PICOS_PER_NANO;
        self.free_nanos = self
            .free_nanos
            .saturating_add(picos / PICOS_PER_NANO)
            .saturating_add(rest / PICOS_PER_NANO);
        self.free_picos = rest % PICOS_PER_NANO;
        self.accepted = self.accepted + work;
        debug_assert!(
            self.busy_until() >= now.max(free_at),
            "work accepted at {now:?} behind what is done at {free_at:?} is done at {:?}",
            self.busy_until()
        );
        self.busy_until()
    }

    /// Takes the CPU away for `span`, from `now` or from the end of accepted work. Returns when it
    /// is available again. The time is not counted as work.
    pub fn take_away(&mut self, now: Instant, span: Duration) -> Instant {
        self.start(now, Work::NONE);
        self.free_nanos = self.free_nanos.saturating_add(span.as_nanos());
        self.idle += span;
        self.taken += span;
        self.busy_until()
    }

    /// When all accepted work is done; not after `now` when idle.
    pub const fn busy_until(&self) -> Instant {
        Instant::from_nanos(self.free_nanos.saturating_add((self.free_picos > 0) as u64))
    }

    /// Time from zero to `now` in which there was work.
    pub fn busy_time(&self, now: Instant) -> Duration {
        let total = now.saturating_since(Instant::ZERO);
        let idle_now = now.saturating_since(self.busy_until());
        debug_assert!(
            self.taken <= self.idle && self.idle <= self.busy_until() - Instant::ZERO,
            "others had the processor for {:?} of {:?} without work before {:?}",
            self.taken,
            self.idle,
            self.busy_until()
        );
        total.saturating_sub(self.idle).saturating_sub(idle_now)
    }

    /// Time from zero to `now` in which no more work could begin. This is the host's work and the
    /// time taken by [`Cpu::take_away`] (counted when it begins).
    pub fn occupied_time(&self, now: Instant) -> Duration {
        let total = now.saturating_since(Instant::ZERO);
        (self.busy_time(now) + self.taken).min(total)
    }

    /// Share of the time from zero to `now` with work, 0 to 1. This is the %CPU of testers. For
    /// printing only.
    pub fn utilization(&self, now: Instant) -> f64 {
        counters::utilization(self.busy_time(now), now)
    }

    /// All work accepted so far, by kind. It exceeds the busy time by accepted work that is not yet
    /// done.
    pub const fn accepted(&self) -> &Work {
        &self.accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn sending(ns: u64) -> Work {
        Work::new(WorkKind::Send, Duration::from_nanos(ns))
    }

    #[test]
    fn an_ideal_host_takes_no_time() {
        let costs = CpuCosts::default();
        let mut cpu = Cpu::new();
        let work = costs.data_sent(45) + costs.copied(Bytes::new(65_536)) + costs.walked(1000);
        assert_eq!(work, Work::NONE);
        assert_eq!(cpu.start(at(17), work), at(17));
        assert!(cpu.busy_time(at(100)).is_zero());
    }

    #[test]
    fn a_queue_costs_only_what_lies_beyond_the_cache_and_every_packet_pays() {
        let costs = CpuCosts {
            per_byte_queued: Picoseconds::new(50),
            queue_cached: Bytes::new(1000),
            ..CpuCosts::default()
        };
        assert_eq!(costs.queue_walked(Bytes::new(1000), 4), Work::NONE);
        let walked = costs.queue_walked(Bytes::new(3000), 4);
        assert_eq!(walked.of(WorkKind::Walk).as_nanos(), 400);
    }

    /// Budget of 1988 (E72): 140 us to copy a kilobyte, 130 us to sum it. Both in one loop take 200
    /// us; 193 us for 1408 bytes, 184 us for 1448.
    #[test]
    fn copies_and_checksums_cost_what_the_budget_of_1988_says() {
        let per_kilobyte = |us: u64| Picoseconds::new(us * 1_000_000 / 1024);
        let apart = CpuCosts {
            per_byte_copied: per_kilobyte(140),
            per_byte_checksummed: per_kilobyte(130),
            per_byte_copied_summed: per_kilobyte(200),
            per_page_mapped: Duration::from_micros(30),
            checksum: Checksum::Apart,
            ..CpuCosts::default()
        };
        let micros = |work: Work| work.total().as_nanos().div_ceil(1000);
        let both = |costs: &CpuCosts, bytes: u64| {
            micros(costs.copied(Bytes::new(bytes)) + costs.checksummed(bytes))
        };
        assert_eq!(micros(apart.copied(Bytes::new(1408))), 193);
        assert_eq!(micros(apart.checksummed(1448)), 184);
        assert_eq!(both(&apart, 1024), 270);
        let fused = CpuCosts {
            checksum: Checksum::Copy,
            ..apart
        };
        assert_eq!(both(&fused, 1024), 200);
        let card = CpuCosts {
            checksum: Checksum::Card,
            ..apart
        };
        assert_eq!(both(&card, 1024), 140);
        let mapped = CpuCosts {
            zero_copy: true,
            ..card
        };
        assert_eq!(both(&mapped, 4096), 30);
        assert_eq!(both(&mapped, 4097), 60);
    }

    #[test]
    fn work_is_done_one_piece_after_the_other() {
        let mut cpu = Cpu::new();
        assert_eq!(cpu.start(at(100), sending(50)), at(150));
        assert_eq!(cpu.start(at(120), sending(10)), at(160));
        assert_eq!(cpu.start(at(300), sending(5)), at(305));
        assert_eq!(cpu.busy_until(), at(305));
        assert_eq!(cpu.busy_time(at(305)).as_nanos(), 65);
        assert_eq!(cpu.busy_time(at(302)).as_nanos(), 62);
        assert_eq!(cpu.utilization(at(650)), 0.1);
    }

    #[test]
    fn fractions_of_a_nanosecond_are_not_lost() {
        let costs = CpuCosts {
            per_byte_copied: Picoseconds::new(333),
            ..CpuCosts::default()
        };
        let mut cpu = Cpu::new();
        for _ in 0..1_000_000 {
            cpu.start(at(0), costs.copied(Bytes::new(1)));
        }
        assert_eq!(cpu.busy_until(), at(333_000));
    }

    #[test]
    fn a_processor_that_is_away_works_later_and_not_more() {
        let mut cpu = Cpu::new();
        assert_eq!(cpu.start(at(100), sending(50)), at(150));
        assert_eq!(cpu.take_away(at(120), Duration::from_nanos(500)), at(650));
        assert_eq!(cpu.start(at(200), sending(10)), at(660));
        assert_eq!(cpu.busy_time(at(1000)).as_nanos(), 60);
        assert_eq!(cpu.occupied_time(at(1000)).as_nanos(), 560);
        assert_eq!(cpu.take_away(at(2000), Duration::from_nanos(7)), at(2007));
        assert_eq!(cpu.busy_time(at(3000)).as_nanos(), 60);
    }

    #[test]
    fn busy_time_is_reported_by_kind() {
        let costs = CpuCosts {
            per_segment_sent: Duration::from_nanos(500),
            per_packet_sent: Duration::from_nanos(10),
            per_ack_received: Duration::from_nanos(200),
            per_byte_copied: Picoseconds::new(100),
            per_entry_walked: Duration::from_nanos(5),
            ..CpuCosts::default()
        };
        let mut cpu = Cpu::new();
        cpu.start(at(0), costs.data_sent(4) + costs.copied(Bytes::new(5792)));
        cpu.start(at(0), costs.ack_received() + costs.walked(3));
        let spent = WorkKind::ALL.map(|kind| cpu.accepted().of(kind).as_nanos());
        assert_eq!(spent, [540, 200, 580, 15, 0, 0, 0, 0, 0]);
        assert_eq!(cpu.busy_until(), at(1335));
    }

    /// 8.9 µs per segment carry 7.25 Gbit/s of 8948-byte segments at 90 % CPU. The rate never
    /// exceeds 8.04 Gbit/s.
    #[test]
    fn a_cost_per_segment_is_a_ceiling_on_goodput() {
        let mut cpu = Cpu::new();
        let costs = CpuCosts {
            per_segment_sent: Duration::from_nanos(8_890),
            ..CpuCosts::default()
        };
        let gap = 8948.0 * 8.0 / 7.25;
        for segment in 0..101_280 {
            cpu.start(at((f64::from(segment) * gap) as u64), costs.data_sent(1));
        }
        let utilization = cpu.utilization(at(1_000_000_000));
        assert!((utilization - 0.9).abs() < 0.001, "{utilization}");
    }

    #[test]
    fn absurd_costs_do_not_overflow() {
        let costs = CpuCosts {
            per_packet_sent: Duration::MAX,
            per_byte_copied: Picoseconds::new(u64::MAX),
            ..CpuCosts::default()
        };
        let mut cpu = Cpu::new();
        for _ in 0..2000 {
            cpu.start(at(1), costs.data_sent(9) + costs.copied(Bytes::MAX));
        }
        assert!(cpu.busy_until() > at(u64::MAX / 2));
    }
}
