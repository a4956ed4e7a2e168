//! The loop that carries packets: two devices, two directions, one clock, one thread.
//!
//! One thread, because a packet that is read and written on one CPU stays in its cache, and because
//! no state is shared. It reads until no packet waits, and delivers what is due, in batches if that
//! is cheaper ([`crate::outbox`]). It then sleeps until the next packet is due or a device is
//! readable. A sleeping thread wakes up late, by tens of microseconds. It therefore sleeps
//! [`EARLY`] less than it should and polls for the rest, which costs CPU time but no accuracy.
//!
//! If permitted, it runs with real-time priority, and leaves ordinary threads enough time that the
//! kernel does not suspend it ([`crate::rest`]). This is first the time between packets, sleeping
//! until [`SHARP`] before the next, and if that is not enough, short sleeps of a few microseconds
//! more.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gigatcp_linux::poll::{self, EventFd, Interest};
use gigatcp_linux::{CpuLatencyRequest, clock};
use gigatcp_path::{ConfigError, Delivery, Histogram, HopConfig, Network, Parcel};
use gigatcp_units::{Duration, Instant};

use crate::change::{Changed, Changes, HopChange, Order, Scheduled};
use crate::contention::Contention;
use crate::counters::Snapshot;
use crate::device::{Device, Read};
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::realtime_budget::RealtimeBudget;
use crate::side::Side;

/// Time before the next delivery at which it wakes up, if there is a spare CPU.
pub(crate) const EARLY: Duration = Duration::from_micros(60);
/// Such a time while ordinary threads are owed time. Half of all sleeps end no later than 15 us
/// after their time, and 99 of 100 no later than this.
const SHARP: Duration = Duration::from_micros(25);
/// Minimum time of a stall. It exceeds any work of the loop, so the thread was not scheduled.
const STALL: Duration = Duration::from_millis(10);
/// Packets read from one device before the other's turn.
const BATCH: usize = 32;
/// Time between two readings of the counters.
const LOOK: Duration = Duration::from_millis(50);
/// Time after the last packet for which CPUs are kept out of deep idle states.
pub(crate) const AWAKE: Duration = Duration::from_secs(1);
/// Sleep time while memory is full and nothing is due that would free some.
const FULL: Duration = Duration::from_millis(1);

/// Whether packets leave a hop later than they arrive, so that it matters when
/// that happens.
pub(crate) fn takes_time(hop: &HopConfig) -> bool {
    !hop.never_queues()
        || !hop.one_way_delay.is_zero()
        || hop.delay_schedule.is_some()
        || hop.jitter.is_some()
        || hop.slot.is_some()
        || hop.reorder.is_some()
}

/// A packet that enters or leaves the path.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent<'a> {
    /// Time since the path began.
    pub at: Instant,
    /// End that it passes.
    pub side: Side,
    /// Whether that end has sent it; otherwise it receives it.
    pub is_sent: bool,
    /// The packet.
    pub packet: &'a Packet,
}

/// Observer of all packets, such as a capture. The thread that carries packets calls it, so slow
/// observers make packets late.
pub trait Watch: Send {
    /// Handles the start of the path, at this time of the monotonic clock.
    fn on_start(&mut self, _at: Instant) {}

    /// Handles a packet.
    fn on_packet(&mut self, event: &PacketEvent<'_>);

    /// Handles changes of hops since the last packet.
    fn on_change(&mut self, _changed: &[Changed]) {}
}

/// State shared by the loop and its owner.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) stop: AtomicBool,
    pub(crate) event_fd: EventFd,
    pub(crate) snapshot: Mutex<Snapshot>,
    pub(crate) changes: Changes,
}

/// State of the path's thread. Pairs are by [`Side`]: devices by their place, the rest by the
/// source of packets.
pub(crate) struct Engine {
    pub(crate) devices: [Device; 2],
    /// Route 0 begins at the client, route 1 at the server.
    pub(crate) network: Network<Packet>,
    pub(crate) outboxes: [Outbox; 2],
    pub(crate) lateness: [Histogram; 2],
    /// Schedules of hops, by link.
    pub(crate) scheduled: Vec<Scheduled>,
    /// Time up to which steps of schedules have been listed.
    pub(crate) listed: Instant,
    /// Whether packets are delayed, so that delivery must be punctual.
    pub(crate) has_times: bool,
    pub(crate) watches: Vec<Box<dyn Watch>>,
    pub(crate) shared: Arc<Shared>,
    /// Monotonic clock when the path began.
    pub(crate) zero: i64,
    /// Time before the next delivery at which it wakes up.
    pub(crate) early: Duration,
    /// Whether it has real-time priority, so that it must leave time to ordinary threads.
    pub(crate) is_first: bool,
    /// Time owed to ordinary threads.
    pub(crate) budget: RealtimeBudget,
    /// Adaptation to paths that compete for CPUs.
    pub(crate) contention: Contention,
    /// Keeps CPUs out of deep idle states while packets come.
    pub(crate) idle_inhibitor: Option<CpuLatencyRequest>,
    /// Whether the system grants that request, which requires root.
    pub(crate) inhibits_idle: bool,
    /// End of that inhibition.
    pub(crate) awake_until: Instant,
    /// Packets read at the last update of that end.
    pub(crate) reads: u64,
    /// Number of stalls of its thread.
    pub(crate) stalls: u64,
    /// Total time of these stalls.
    pub(crate) stalled: Duration,
}

impl Engine {
    /// Carries packets until stopped.
    ///
    /// # Errors
    /// The error of a device that is gone, or of waiting.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.become_punctual();
        self.stay_awake(Instant::ZERO);
        let mut looked = Instant::ZERO;
        let mut before = self.now();
        while !self.shared.stop.load(Ordering::Relaxed) {
            let mut is_idle = true;
            while let Some(order) = self.shared.changes.take() {
                self.change(order);
            }
            for side in Side::ALL {
                is_idle &= self.carry(side)?;
            }
            let now = self.now();
            let took = now.saturating_since(before);
            self.budget.pass(now);
            if took > STALL {
                self.stalls += 1;
                self.stalled += took;
                self.budget.learn(took);
            }
            if now.saturating_since(looked) >= LOOK {
                self.look(now);
                if self.is_first {
                    self.contention.look(now);
                }
                self.stay_awake(now);
                looked = now;
            }
            before = if self.is_first && self.budget.is_due() {
                self.pause(now)
            } else if is_idle {
                self.sleep(now)?
            } else {
                now
            };
        }
        let now = self.now();
        self.look(now);
        Ok(())
    }

    /// Requests real-time priority, as far as permitted.
    fn become_punctual(&mut self) {
        if !self.has_times {
            let _ = clock::minimize_timer_slack();
        } else if !self.is_first {
            self.is_first = clock::request_realtime(clock::Rank::Path).is_ok();
            let has_processors = self.early > Duration::ZERO;
            let request = has_processors.then(|| CpuLatencyRequest::ask().ok());
            self.idle_inhibitor = request.flatten();
            self.inhibits_idle = self.idle_inhibitor.is_some();
        }
    }

    /// Applies a requested change.
    fn change(&mut self, order: Order) {
        let now = self.now();
        self.list_steps(now);
        let routes = self.network.routes();
        let link = |change: &HopChange| routes[change.from.index()].links.get(change.hop).copied();
        let links: Option<Vec<usize>> = order.hops.iter().map(link).collect();
        let Some(links) = links else {
            let _ = order.reply.send(Err(ConfigError::NoSuchLink));
            return;
        };
        let mut all = Vec::new();
        for (HopChange { from, config, .. }, link) in order.hops.into_iter().zip(links) {
            let before = self.network.links()[link].config().clone();
            let config = HopConfig {
                release: before.release,
                ..config
            };
            self.has_times |= takes_time(&config);
            let result = self
                .network
                .with_link(now, link, |hop| hop.reconfigure(now, config));
            if let Err(error) = result {
                let _ = order.reply.send(Err(error));
                return;
            }
            let after = self.network.links()[link].config();
            self.scheduled[link].reconfigure(now, after);
            let differences = before.differences(after);
            all.extend(differences.into_iter().map(|difference| Changed {
                at: now,
                from,
                hop: before.name.clone(),
                difference,
            }));
        }
        self.become_punctual();
        self.tell(&all);
        // The requester may be gone.
        let _ = order.reply.send(Ok(all));
    }

    /// Lists the steps of schedules up to `now`.
    fn list_steps(&mut self, now: Instant) {
        let before = std::mem::replace(&mut self.listed, now);
        let hops = self.scheduled.iter_mut();
        let mut steps: Vec<Changed> = hops.flat_map(|hop| hop.steps(before, now)).collect();
        steps.sort_by_key(|changed| changed.at);
        self.tell(&steps);
    }

    fn tell(&mut self, changed: &[Changed]) {
        if changed.is_empty() {
            return;
        }
        self.shared.changes.list(changed);
        for watch in &mut self.watches {
            watch.on_change(changed);
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos((clock::monotonic() - self.zero).unsigned_abs())
    }

    /// Reads what `side` has sent, and delivers what is due. Returns whether there was nothing to
    /// do.
    fn carry(&mut self, side: Side) -> io::Result<bool> {
        let now = self.now();
        let mut is_idle = self.deliver_until(now);
        self.hand_over_all()?;
        for _ in 0..BATCH {
            let Read::Packet(mut packet) = self.devices[side.index()].read()? else {
                break;
            };
            is_idle = false;
            packet.route = side.index() as u8;
            let at = self.now();
            self.deliver_until(at);
            self.see(at, side, true, &packet);
            self.network.handle_arrival(at, packet);
            self.deliver_until(at);
            for from in Side::ALL {
                if self.outboxes[from.index()].is_due(at) {
                    self.hand_over(from)?;
                }
            }
            while self.network.poll_known_dropped().is_some() {}
        }
        self.hand_over_all()?;
        Ok(is_idle)
    }

    /// Moves packets due by `now` to the outboxes; returns whether there were none.
    fn deliver_until(&mut self, now: Instant) -> bool {
        let mut is_nothing = true;
        while let Some(Delivery { due, mut parcel }) = self.network.poll_delivery(now) {
            is_nothing = false;
            let outbox = &mut self.outboxes[usize::from(parcel.route)];
            // No offload joins fragments.
            while parcel.is_fragments && parcel.wire_packets() > 1 {
                outbox.put(now, due, parcel.split_front(1));
            }
            outbox.put(now, due, parcel);
        }
        is_nothing
    }

    fn hand_over_all(&mut self) -> io::Result<()> {
        Side::ALL
            .into_iter()
            .try_for_each(|from| self.hand_over(from))
    }

    /// Delivers the packets of an outbox.
    fn hand_over(&mut self, from: Side) -> io::Result<()> {
        if self.outboxes[from.index()].is_empty() {
            return Ok(());
        }
        let now = self.now();
        let (packets, due) = self.outboxes[from.index()].packets();
        for due in due {
            self.lateness[from.index()].count(now.saturating_since(*due));
        }
        for watch in &mut self.watches {
            for packet in packets {
                watch.on_packet(&PacketEvent {
                    at: now,
                    side: from.other(),
                    is_sent: false,
                    packet,
                });
            }
        }
        self.devices[from.other().index()].write(packets)?;
        self.outboxes[from.index()].clear();
        Ok(())
    }

    fn see(&mut self, at: Instant, side: Side, is_sent: bool, packet: &Packet) {
        for watch in &mut self.watches {
            watch.on_packet(&PacketEvent {
                at,
                side,
                is_sent,
                packet,
            });
        }
    }

    /// Sleeps to leave time to others; returns the wake-up time.
    fn pause(&mut self, now: Instant) -> Instant {
        clock::sleep_until(self.zero + (now + self.budget.pause()).as_nanos().cast_signed());
        self.woken(now)
    }

    /// Accounts for a sleep since `since`; returns its end.
    fn woken(&mut self, since: Instant) -> Instant {
        let now = self.now();
        self.budget.pass(now);
        self.budget.pay(now.saturating_since(since));
        now
    }

    /// Sleeps until a device is readable or a delivery nearly due. Returns the wake-up time.
    fn sleep(&mut self, now: Instant) -> io::Result<Instant> {
        let grain = self.contention.grain();
        let due = self.network.poll_timeout();
        let early = if !grain.is_zero() {
            Duration::ZERO
        } else if self.is_first && self.budget.is_owing() {
            self.early.min(SHARP)
        } else {
            self.early
        };
        let mut longest = due.map_or(LOOK, |due| {
            due.saturating_since(now).saturating_sub(early).min(LOOK)
        });
        if !grain.is_zero() {
            clock::sleep_until(self.zero + (now + grain).as_nanos().cast_signed());
            longest = longest.saturating_sub(grain);
        } else if longest.is_zero() {
            std::hint::spin_loop();
            return Ok(now);
        }
        let interests = self.devices.each_mut().map(|device| Interest {
            read: device.has_room(),
            write: false,
        });
        if interests.iter().any(|interest| !interest.read) {
            longest = longest.min(FULL);
        }
        let [client, server] = &self.devices;
        let event_fd = Interest {
            read: true,
            write: false,
        };
        let [.., woken] = poll::wait(
            [
                (client.as_fd(), interests[0]),
                (server.as_fd(), interests[1]),
                (self.shared.event_fd.as_fd(), event_fd),
            ],
            Some(longest.into()),
        )?;
        if woken.read {
            self.shared.event_fd.clear();
        }
        Ok(self.woken(now))
    }

    /// Keeps all CPUs out of deep idle states while packets come. Those of the hosts at both ends
    /// must wake up as well; the cost is electricity.
    fn stay_awake(&mut self, now: Instant) {
        if !self.inhibits_idle {
            return;
        }
        let reads = self
            .devices
            .iter()
            .map(|device| device.counters().reads)
            .sum();
        if self.reads != reads {
            self.reads = reads;
            self.awake_until = now + AWAKE;
        }
        if now >= self.awake_until {
            self.idle_inhibitor = None;
        } else if self.idle_inhibitor.is_none() {
            self.idle_inhibitor = CpuLatencyRequest::ask().ok();
        }
    }

    /// Publishes the present counters.
    fn look(&mut self, now: Instant) {
        self.list_steps(now);
        let shared = &self.shared.snapshot;
        let mut snapshot = shared.lock().unwrap_or_else(PoisonError::into_inner);
        snapshot.at = now.saturating_since(Instant::ZERO);
        snapshot.stalls = self.stalls;
        snapshot.stalled = self.stalled;
        snapshot.inhibits_idle = self.inhibits_idle;
        snapshot.processor = Duration::from_nanos(clock::thread().unsigned_abs());
        snapshot.memory = self.devices.iter().map(Device::memory).sum();
        // Includes packets that queues dropped by themselves.
        while self.network.poll_dropped().is_some() {}
        for (side, way) in snapshot.directions.iter_mut().enumerate() {
            way.look(&mut self.network, side, now);
            way.device = self.devices[side].counters();
            way.lateness.clone_from(&self.lateness[side]);
        }
    }
}
