//! HTB: a hierarchy of token buckets. Each class has a rate of its own and borrows what others leave.
//!
//! Devera's "HTB Linux queuing discipline manual" (2002) and the rules of Linux (`sch_htb.c`),
//! defaults of `tc-htb(8)`. Each class has two buckets, `T` of `burst` bytes at `rate` and `C` of
//! `cburst` bytes at `ceil`. Both may be overdrawn by one packet:
//!
//! ```text
//! red     if C < 0                     neither sends nor lends                       (1)
//! yellow  if T < 0 <= C                sends if its parent lends                     (2)
//! green   otherwise                    sends, and lends to descendants               (3)
//! ```
//!
//! A green leaf sends whatever the colors of its ancestors: rates of leaves hold even where their sum
//! exceeds the ceil above. A leaf sends on behalf of the nearest green ancestor, reached through yellow classes only. The
//! deepest such level goes first, then the lowest `prio`, then classes take turns by `quantum`. The
//! packet is charged to `C` of the leaf and all its ancestors, and to `T` from the lender upward.
//!
//! **Classes** are listed behind the queue, each after a semicolon, and numbered from 1. A class
//! without `parent` borrows nothing; a class without children is a leaf with a FIFO. In
//! `tc` and here:
//!
//! ```text
//! tc class add dev D parent 1:  classid 1:1 htb rate 10mbit
//! tc class add dev D parent 1:1 classid 1:2 htb rate 6mbit ceil 10mbit
//! tc class add dev D parent 1:1 classid 1:3 htb rate 4mbit ceil 10mbit
//!
//! htb; rate 10 Mbit/s; parent 1, rate 6 Mbit/s, ceil 10 Mbit/s; parent 1, rate 4 Mbit/s, ceil 10 Mbit/s
//! ```
//!
//! **Packets** with the DSCP of a leaf go there. All others are divided among the leaves without
//! `dscp`: flow n goes to leaf n modulo their number (with `srchost` or `dsthost`: host n). Flows of
//! a simulation are numbered from 0, each between hosts of its own and with DSCP 0; in `gigatcp
//! emulate` n is a hash.
//!
//! The queue limit is that of each leaf, 1000 packets by default. A packet counts as its IP bytes and
//! `overhead`, 14 by default: Linux charges the Ethernet header.
//!
//! Not as in Linux:
//!
//! * each packet of a super-segment is charged and has its turn; Linux charges a super-segment whole;
//! * buckets are exact, Linux counts bursts in units of 64 ns;
//! * the limit of work per call (`htb_do_events`), hysteresis (off by default there as well),
//!   `linklayer`, `mpu`, offload, and other queues than a FIFO at a leaf do not exist;
//! * a packet that no filter takes has a leaf anyhow; Linux sends it unshaped without `default`.
//!
//! Checked against Linux 6.18 on a veth pair: `drive/emulate/tests/htb.rs` has rates, borrowing over two
//! levels and priorities within 2 %. Bursts and quanta are checked by hand (`tests/htb.rs`).

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::{Duration, Instant, Rate};

use super::waiting::Waiting;
use super::{
    Build, Conflict, Discipline, Drops, Entry, Limits, Link, QueueConfig, Settings, Ticket,
};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "htb",
    summary: "classes with a rate each that borrow what others leave (hierarchy of token buckets)",
    parameters: &[OVERHEAD, SRCHOST, DSTHOST],
    class_parameters: &[RATE, CEIL, PARENT, PRIO, BURST, CBURST, QUANTUM, DSCP],
    check,
    draws: false,
    build: |build| Box::new(Htb::new(&build)),
};

parameters! {
    OVERHEAD: Octets = "overhead", Some(14), [0, 10_000],
        "bytes that a packet counts in addition to its IP bytes";
    SRCHOST: Flag = "srchost", Some(false), [false, true],
        "divides sources among classes, in place of flows";
    DSTHOST: Flag = "dsthost", Some(false), [false, true],
        "divides destinations among classes, in place of flows";
    RATE: Rate = "rate", None, [Rate::from_bps(8), Rate::from_bps(1 << 50)],
        "of a class, required: its own rate";
    CEIL: Rate = "ceil", None, [Rate::from_bps(8), Rate::from_bps(1 << 50)],
        "of a class: rate up to which it borrows from its parent (default: its rate)";
    PARENT: Count = "parent", None, [1, MAX_CLASSES as u64],
        "of a class: number of the class it borrows from, counted from 1 (default: none)";
    PRIO: Count = "prio", Some(0), [0, PRIORITIES as u64 - 1],
        "of a class: lower ones are offered what is left first";
    BURST: Octets = "burst", Some(1600), [1, 1 << 40],
        "of a class: what may leave at once beyond its rate";
    CBURST: Octets = "cburst", Some(1600), [1, 1 << 40],
        "of a class: what may leave at once beyond its ceil";
    QUANTUM: Octets = "quantum", None, [1, 1 << 32],
        "of a class: bytes it sends in its turn (default: those of 100 ms of its rate, 1000 to 200,000)";
    DSCP: Count = "dscp", None, [0, 63],
        "of a class: packets with this DSCP go to it";
}

/// Most classes.
const MAX_CLASSES: usize = 1000;

/// Number of priorities.
const PRIORITIES: usize = 8;

/// Number of levels: leaves have 0, classes without parent the highest.
const LEVELS: usize = 8;

/// Queue limit of a leaf, in packets, if none is set: the usual `txqueuelen`.
const DEFAULT_LIMIT: u64 = 1000;

/// The longest time for which tokens arrive at once, and for which a bucket may be overdrawn.
const LONGEST: Duration = Duration::from_secs(60);

/// One byte, in the unit of tokens: bits times nanoseconds per second.
const BYTE: i128 = 8_000_000_000;

/// Checks that classes have rates, and parents that precede them and are not too deep.
fn check(config: &QueueConfig) -> Result<(), Conflict> {
    let conflict = |names, why, section| Conflict {
        names,
        why,
        section,
    };
    if config.classes.is_empty() {
        return Err(conflict(["htb"; 2], "HTB needs a class", 0));
    }
    if config.settings.flag(&SRCHOST) && config.settings.flag(&DSTHOST) {
        let why = "classes are divided among sources or among destinations, not both";
        return Err(conflict(["srchost", "dsthost"], why, 0));
    }
    if config.classes.len() > MAX_CLASSES {
        return Err(conflict(["htb"; 2], "HTB has 1000 classes at most", 0));
    }
    let is_inner = inner(&config.classes);
    let mut levels: Vec<usize> = Vec::new();
    for (class, section) in config.classes.iter().zip(1..) {
        if class.rate(&RATE).is_none() {
            return Err(conflict(
                ["rate"; 2],
                "a class of HTB has a `rate`",
                section,
            ));
        }
        if class.rate(&CEIL) < class.rate(&RATE) && class.rate(&CEIL).is_some() {
            let why = "`ceil` of a class is not below its `rate`";
            return Err(conflict(["ceil", "rate"], why, section));
        }
        let level = match class.maybe_whole(&PARENT) {
            None => LEVELS - 1,
            Some(parent) if (parent as usize) < section => {
                levels[parent as usize - 1].saturating_sub(1)
            }
            Some(_) => {
                let why = "`parent` is the number of an earlier class";
                return Err(conflict(["parent"; 2], why, section));
            }
        };
        levels.push(level);
        let is_inner = is_inner[section - 1];
        if is_inner && level == 0 {
            let why = "a hierarchy of HTB has 8 levels at most";
            return Err(conflict(["parent"; 2], why, section));
        }
        if is_inner && class.maybe_whole(&DSCP).is_some() {
            let why = "a class with children has no packets, and so no `dscp`";
            return Err(conflict(["dscp"; 2], why, section));
        }
        if is_inner && class.maybe_whole(&QUANTUM).is_some() {
            let why = "turns are those of leaves: a class with children has no `quantum`";
            return Err(conflict(["quantum"; 2], why, section));
        }
        if is_inner && class.iter().any(|setting| setting.name == PRIO.name) {
            let why = "leaves have priorities: a class with children has no `prio`";
            return Err(conflict(["prio"; 2], why, section));
        }
        let dscp = class.maybe_whole(&DSCP);
        let mut others = config
            .classes
            .iter()
            .take(section - 1)
            .filter_map(|other| other.maybe_whole(&DSCP));
        if others.any(|other| dscp == Some(other)) {
            let why = "each `dscp` has one class";
            return Err(conflict(["dscp"; 2], why, section));
        }
    }
    let has_dscp = |class: &Settings| class.maybe_whole(&DSCP).is_some();
    let mut others = config.classes.iter().zip(&is_inner);
    if !others.any(|(class, is_inner)| !is_inner && !has_dscp(class)) {
        let why = "a leaf without `dscp` is needed for all other packets";
        return Err(conflict(["dscp"; 2], why, config.classes.len()));
    }
    Ok(())
}

/// Whether each class has children.
fn inner(classes: &[Settings]) -> Vec<bool> {
    let mut is_inner = alloc::vec![false; classes.len()];
    for parent in classes
        .iter()
        .filter_map(|class| class.maybe_whole(&PARENT))
    {
        if let Some(is_inner) = is_inner.get_mut(parent as usize - 1) {
            *is_inner = true;
        }
    }
    is_inner
}

/// Number of leaves: each has a queue with its own limit.
pub(super) fn leaves(classes: &[Settings]) -> u64 {
    let is_leaf = inner(classes).into_iter().filter(|is_inner| !is_inner);
    is_leaf.count() as u64
}

/// The rate that the classes have together: the sum of those without parent. An inner class has the rate
/// of its children, or its own if that is higher and they may borrow it.
pub(super) fn total_rate(config: &QueueConfig) -> Option<Rate> {
    /// Of the children so far: what they have of their own, and up to their ceils.
    #[derive(Clone, Copy, Default)]
    struct Children {
        own: u64,
        ceil: u64,
    }
    let mut children = alloc::vec![Children::default(); config.classes.len()];
    let mut total = None;
    let is_inner = inner(&config.classes);
    // Children follow their parents.
    for (number, class) in config.classes.iter().enumerate().rev() {
        let rate = class.rate(&RATE)?.as_bps();
        let mut ceil = class.rate(&CEIL).map_or(rate, Rate::as_bps);
        let mut own = rate;
        if is_inner[number] {
            let below = children[number];
            own = below.own.max(rate.min(below.ceil));
            ceil = below.own.max(ceil.min(below.ceil));
        }
        let Some(parent) = class.maybe_whole(&PARENT) else {
            total = Some(own.saturating_add(total.unwrap_or(0)));
            continue;
        };
        let above = children.get_mut(parent as usize - 1)?;
        above.own = above.own.saturating_add(own);
        above.ceil = above.ceil.saturating_add(ceil);
    }
    total.map(Rate::from_bps)
}

/// What a class may do: equations (1) to (3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Color {
    Red,
    Yellow,
    Green,
}

/// A bucket that may be overdrawn.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: i128,
    most: i128,
    tokens: i128,
}

impl Bucket {
    fn new(rate: Rate, burst: u64) -> Self {
        let most = i128::from(burst) * BYTE;
        Self {
            rate: i128::from(rate.as_bps()),
            most,
            tokens: most,
        }
    }

    /// Tokens that have arrived in `passed`.
    fn arrived(&self, passed: Duration) -> i128 {
        self.rate * i128::from(passed.as_nanos())
    }

    /// Adds what has arrived and takes a packet.
    fn charge(&mut self, passed: Duration, cost: i128) {
        let least = -self.arrived(LONGEST);
        let tokens = (self.tokens + self.arrived(passed)).min(self.most);
        self.tokens = (tokens - cost).max(least);
    }

    /// Time until it is not overdrawn any more, `passed` after its last update; zero: it is not.
    fn overdrawn(&self, passed: Duration) -> Duration {
        let missing = -(self.tokens + self.arrived(passed));
        if missing <= 0 {
            return Duration::ZERO;
        }
        let nanos = missing.unsigned_abs().div_ceil(self.rate.unsigned_abs());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Classes that take turns.
#[derive(Clone, Default, Debug)]
struct Round {
    classes: BTreeSet<u16>,
    /// The first class from here on is next.
    from: u16,
}

impl Round {
    /// Adds a class, or removes it.
    fn set(&mut self, class: usize, is_member: bool) {
        if is_member {
            self.classes.insert(class as u16);
        } else {
            self.classes.remove(&(class as u16));
        }
    }
}

/// A class.
#[derive(Debug)]
struct Class {
    parent: Option<u16>,
    level: usize,
    own: Bucket,
    ceil: Bucket,
    /// Time of the last update of both buckets.
    at: Instant,
    color: Color,
    /// Priorities at which packets wait in its leaves that would be sent on its behalf.
    active: u8,
    /// Of an inner class: active children that borrow, by priority.
    borrowing: [Round; PRIORITIES],
    // Of a leaf:
    prio: u8,
    quantum: i64,
    /// What is left of its turn, by the level that lends.
    deficits: [i64; LEVELS],
    waiting: Waiting,
}

impl Class {
    fn new(settings: &Settings, level: usize, start: Instant) -> Self {
        let rate = settings.rate(&RATE).unwrap_or(Rate::MAX);
        let ceil = settings.rate(&CEIL).unwrap_or(rate);
        let hundred_ms = (rate.as_bps() / 80).clamp(1000, 200_000);
        let quantum = settings.maybe_whole(&QUANTUM).unwrap_or(hundred_ms);
        Self {
            parent: settings
                .maybe_whole(&PARENT)
                .map(|number| number as u16 - 1),
            level,
            own: Bucket::new(rate, settings.whole(&BURST)),
            ceil: Bucket::new(ceil, settings.whole(&CBURST)),
            at: start,
            color: Color::Green,
            active: 0,
            borrowing: Default::default(),
            prio: settings.whole(&PRIO) as u8,
            quantum: quantum as i64,
            deficits: [0; LEVELS],
            waiting: Waiting::default(),
        }
    }

    /// Time for which tokens have arrived since the last update.
    fn passed(&self, now: Instant) -> Duration {
        now.saturating_since(self.at).min(LONGEST)
    }

    /// Its color, and the time until the next one.
    fn color_at(&self, passed: Duration) -> (Color, Duration) {
        let until_yellow = self.ceil.overdrawn(passed);
        if !until_yellow.is_zero() {
            return (Color::Red, until_yellow);
        }
        let until_green = self.own.overdrawn(passed);
        if until_green.is_zero() {
            (Color::Green, Duration::ZERO)
        } else {
            (Color::Yellow, until_green)
        }
    }
}

/// Green and active classes of one level, and when its other classes change.
#[derive(Default, Debug)]
struct Level {
    lending: [Round; PRIORITIES],
    changes: BTreeSet<(Instant, u16)>,
}

/// The hierarchy.
#[derive(Debug)]
struct Htb {
    classes: Vec<Class>,
    levels: [Level; LEVELS],
    /// When each class that is not green changes: its entry in `changes`.
    due: Vec<Option<Instant>>,
    /// Leaf of each DSCP that has one.
    by_dscp: Box<[Option<u16>; 64]>,
    /// Leaves of all other packets.
    leaves: Vec<u16>,
    /// Side of a packet that selects the leaf: source or destination; `None`: the flow.
    side: Option<usize>,
    has_dscp: bool,
    overhead: u32,
    limits: Limits,
    backlog: Tally,
    /// Whether packets wait and none may leave.
    is_held: bool,
}

impl Htb {
    fn new(build: &Build<'_>) -> Self {
        let mut classes: Vec<Class> = Vec::new();
        for (settings, is_inner) in build.classes.iter().zip(inner(build.classes)) {
            let parent = settings.maybe_whole(&PARENT);
            let above = parent.and_then(|number| classes.get(number as usize - 1));
            let level = match above {
                _ if !is_inner => 0,
                Some(above) => above.level - 1,
                None => LEVELS - 1,
            };
            classes.push(Class::new(settings, level, build.start));
        }
        let mut by_dscp = Box::new([None; 64]);
        let mut leaves = Vec::new();
        for (number, class) in classes.iter().enumerate() {
            let settings = build.classes.get(number);
            match settings.and_then(|settings| settings.maybe_whole(&DSCP)) {
                _ if class.level > 0 => {}
                Some(dscp) => by_dscp[dscp as usize & 63] = Some(number as u16),
                None => leaves.push(number as u16),
            }
        }
        let sides = [&SRCHOST, &DSTHOST];
        Self {
            due: alloc::vec![None; classes.len()],
            classes,
            levels: Default::default(),
            has_dscp: by_dscp.iter().any(Option::is_some),
            by_dscp,
            leaves,
            side: sides.iter().position(|side| build.settings.flag(side)),
            overhead: build.settings.whole(&OVERHEAD) as u32,
            limits: build.limits.or_packets(DEFAULT_LIMIT),
            backlog: Tally::default(),
            is_held: false,
        }
    }

    /// The leaf of a packet.
    fn leaf_of(&self, ticket: &Ticket) -> usize {
        if let Some(leaf) = self.by_dscp[usize::from(ticket.dscp & 63)] {
            return usize::from(leaf);
        }
        // In simulations the lowest bit of a flow and the highest of a host are the direction.
        let number = match self.side {
            Some(side) => u32::from(ticket.hosts[side] & 0x7fff),
            None => ticket.flow >> 1,
        };
        usize::from(self.leaves[number as usize % self.leaves.len()])
    }

    /// Lets a class send, or borrow, at the priorities `mask`, or lets it no longer.
    fn set_active(&mut self, number: usize, mask: u8, is_active: bool) {
        let (mut number, mut mask) = (number, mask);
        while self.classes[number].color == Color::Yellow
            && let Some(parent) = self.classes[number].parent
        {
            let parent = usize::from(parent);
            let above = &mut self.classes[parent];
            for prio in priorities(mask) {
                let borrowing = &mut above.borrowing[prio];
                borrowing.set(number, is_active);
                if borrowing.classes.len() > usize::from(is_active) {
                    // Others borrow at this priority: nothing changes above.
                    mask &= !(1 << prio);
                }
            }
            if is_active {
                above.active |= mask;
            } else {
                above.active &= !mask;
            }
            if mask == 0 {
                return;
            }
            number = parent;
        }
        if self.classes[number].color == Color::Green {
            let level = &mut self.levels[self.classes[number].level];
            for prio in priorities(mask) {
                level.lending[prio].set(number, is_active);
            }
        }
    }

    /// Updates the color of a class, and the time at which to do so again. That may be early: a
    /// packet delays it.
    fn recolor(&mut self, number: usize, now: Instant, passed: Duration) {
        let class = &self.classes[number];
        let (color, until_next) = class.color_at(passed);
        let (level, active) = (class.level, class.active);
        if color != class.color {
            self.set_active(number, active, false);
            self.classes[number].color = color;
            self.set_active(number, active, true);
        } else if self.due[number].is_none_or(|due| due > now) {
            return;
        }
        let due = (color != Color::Green).then(|| now + until_next.max(Duration::from_nanos(1)));
        let before = core::mem::replace(&mut self.due[number], due);
        if before != due {
            let changes = &mut self.levels[level].changes;
            if let Some(before) = before {
                changes.remove(&(before, number as u16));
            }
            changes.extend(due.map(|due| (due, number as u16)));
        }
    }

    /// Updates the classes of a level whose color changes by `now`.
    fn catch_up(&mut self, level: usize, now: Instant) {
        while let Some((due, number)) = self.levels[level].changes.first().copied()
            && due <= now
        {
            let number = usize::from(number);
            let passed = self.classes[number].passed(now);
            self.recolor(number, now, passed);
        }
    }

    /// The leaf whose turn it is at a level and priority; one is active there.
    fn choose(&mut self, level: usize, prio: usize) -> Option<usize> {
        // The inner classes above the round that is looked at.
        let mut above: [usize; LEVELS] = [0; LEVELS];
        let mut depth = 0;
        loop {
            let round = match depth {
                0 => &mut self.levels[level].lending[prio],
                depth => &mut self.classes[above[depth - 1]].borrowing[prio],
            };
            let next = round.classes.range(round.from..).next().copied();
            let Some(next) = next else {
                // The end of the round: it begins anew, and above the next has its turn.
                debug_assert!(
                    !round.classes.is_empty(),
                    "no class at level {level} and priority {prio}, depth {depth}"
                );
                if round.classes.is_empty() {
                    return None;
                }
                round.from = 0;
                if depth > 0 {
                    let ended = above[depth - 1] as u16;
                    depth -= 1;
                    let round = match depth {
                        0 => &mut self.levels[level].lending[prio],
                        depth => &mut self.classes[above[depth - 1]].borrowing[prio],
                    };
                    round.from = ended + 1;
                }
                continue;
            };
            round.from = next;
            let next = usize::from(next);
            if self.classes[next].level == 0 {
                return Some(next);
            }
            above[depth] = next;
            depth += 1;
        }
    }

    /// Takes a packet of a leaf, which sends on behalf of its ancestor at `level`.
    fn send(&mut self, leaf: usize, level: usize, now: Instant) -> Option<Ticket> {
        let class = &mut self.classes[leaf];
        let ticket = class.waiting.pop()?;
        self.backlog.subtract(ticket.tally());
        let octets = i64::from(ticket.octets) + i64::from(self.overhead);
        let deficit = &mut class.deficits[level];
        *deficit -= octets;
        let (prio, parent) = (usize::from(class.prio), class.parent);
        if *deficit < 0 {
            *deficit += class.quantum;
            let round = match parent.filter(|_| level > 0) {
                Some(parent) => &mut self.classes[usize::from(parent)].borrowing[prio],
                None => &mut self.levels[0].lending[prio],
            };
            round.from = leaf as u16 + 1;
        }
        if self.classes[leaf].waiting.is_empty() {
            self.set_active(leaf, 1 << prio, false);
            self.classes[leaf].active = 0;
        }
        self.charge(leaf, level, i128::from(octets) * BYTE, now);
        Some(ticket)
    }

    /// Charges a packet to a leaf and its ancestors, the lender being at `level`.
    fn charge(&mut self, leaf: usize, level: usize, cost: i128, now: Instant) {
        let mut next = Some(leaf as u16);
        while let Some(number) = next {
            let class = &mut self.classes[usize::from(number)];
            let passed = class.passed(now);
            if class.level >= level {
                class.own.charge(passed, cost);
            } else {
                class.own.tokens += class.own.arrived(passed);
            }
            class.ceil.charge(passed, cost);
            class.at = class.at.max(now);
            next = class.parent;
            self.recolor(usize::from(number), now, Duration::ZERO);
        }
    }
}

fn priorities(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |prio| mask >> prio & 1 == 1)
}

impl Discipline for Htb {
    fn enqueue(&mut self, _now: Instant, _link: &Link, ticket: Ticket, drops: &mut Drops) {
        let leaf = self.leaf_of(&ticket);
        let class = &mut self.classes[leaf];
        if !self
            .limits
            .admit(class.waiting.backlog().plus(ticket.tally()))
        {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        class.waiting.push(ticket);
        self.backlog.add(ticket.tally());
        if class.active == 0 {
            class.active = 1 << class.prio;
            let active = class.active;
            self.set_active(leaf, active, true);
        }
    }

    fn dequeue(&mut self, now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        self.is_held = false;
        if self.backlog.is_zero() {
            return None;
        }
        for level in 0..LEVELS {
            self.catch_up(level, now);
            let rounds = self.levels[level].lending.iter();
            let Some(prio) = rounds
                .map(|round| &round.classes)
                .position(|set| !set.is_empty())
            else {
                continue;
            };
            let leaf = self.choose(level, prio)?;
            return self.send(leaf, level, now);
        }
        self.is_held = true;
        None
    }

    fn drain(&mut self, out: &mut Vec<Ticket>) {
        for number in 0..self.classes.len() {
            if self.classes[number].level == 0 {
                self.classes[number].waiting.drain(out);
                let active = core::mem::take(&mut self.classes[number].active);
                self.set_active(number, active, false);
            }
        }
        self.backlog = Tally::default();
    }

    fn backlog(&self) -> Tally {
        self.backlog
    }

    fn poll_release(&self) -> Option<Instant> {
        let changes = self.levels.iter().filter_map(|level| level.changes.first());
        changes.map(|(due, _)| *due).min().filter(|_| self.is_held)
    }

    fn classifies(&self) -> bool {
        self.side.is_some() || self.has_dscp
    }
}
