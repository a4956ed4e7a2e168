//! Feeds readings into slices of time and loss events.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::host::{CardLosses, HostReading, HostUse};
use super::host_summary::HostSummary;
use super::loss::{LossEvent, Losses};
use super::reading::Reading;
use super::slice::{Slice, WAITS, Wait};

/// Default maximum number of slices.
const SLICES: usize = 128;

/// Bit of `tcpi_options`: both ends scale windows (`TCPI_OPT_WSCALE`).
pub(super) const WSCALE: u64 = 4;

/// Minimum length of a slice.
const GRAIN: Duration = Duration::from_millis(100);

/// Settings of the hosts that bound the counters, as far as known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Third value of `net.ipv4.tcp_rmem` at the receiver.
    pub tcp_rmem_max: Option<Bytes>,
    /// Third value of `net.ipv4.tcp_wmem` at the sender.
    pub tcp_wmem_max: Option<Bytes>,
    /// `net.core.rmem_max` at the receiver.
    pub rmem_max: Option<Bytes>,
    /// `net.core.wmem_max` at the sender.
    pub wmem_max: Option<Bytes>,
    /// Maximum of the receive buffer, if the receiver is this project's engine.
    pub engine_receive_max: Option<Bytes>,
    /// Maximum of the send buffer, if the sender is this project's engine.
    pub engine_send_max: Option<Bytes>,
    /// Whether the application requested the size of the receiver's buffer.
    pub receive_buffer_is_set: Option<bool>,
    /// Whether the application requested the size of the sender's buffer.
    pub send_buffer_is_set: Option<bool>,
    /// Rate that the user of a tester set for the sending application (`-b`).
    pub requested_rate: Option<Rate>,
}

/// The end of the connection that a reading is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The end whose data is explained.
    Sender,
    /// Its peer.
    Receiver,
}

/// Readings of one end.
#[derive(Debug)]
struct Readings {
    first: Reading,
    last: Reading,
}

/// Readings of a host: the first, the last, and its use before the last.
#[derive(Debug, Default)]
struct Host {
    first: Option<HostReading>,
    card: Option<CardLosses>,
    last: Option<HostReading>,
    used: HostUse,
    /// Drops not assigned to a slice yet.
    drops: u64,
}

/// Time attribution of a connection from counters; see the [module](super).
#[derive(Debug)]
pub struct CounterAccount {
    pub(super) congestion: Option<Box<str>>,
    pub(super) limits: Limits,
    /// Payload rate that the other streams of a test leave of what the path carries, measured.
    pub(super) path_rate: Option<Rate>,
    /// Payload rate that the path carries.
    pub(super) path_total: Option<Rate>,
    sender: Option<Box<Readings>>,
    receiver: Option<Box<Readings>>,
    hosts: [Host; 2],
    /// Time attributed so far to the waits that the kernel counts.
    spent: [Duration; WAITS],
    /// Fraction of the time in which the receiving application did not read, if known.
    not_reading: Option<f64>,
    /// Time between the receiver's last two readings.
    receiver_step: Duration,
    /// Time when data was last acknowledged.
    progress: Instant,
    pub(super) slices: Vec<Slice>,
    max_slices: usize,
    grain: Duration,
    pub(super) losses: Losses,
    first_loss: Option<Instant>,
    /// Extremes of the readings.
    pub(super) min_rtt: Option<Duration>,
    has_sender_rtt: bool,
    pub(super) max_window: Bytes,
    pub(super) max_send_queue: Bytes,
    /// Whether the connection has no window scaling; `None` if unknown.
    pub(super) is_unscaled: Option<bool>,
    /// Whether the counters are those of one reading, since the connection began.
    pub(super) is_total: bool,
    /// Whether as much is sent the other way at the same time.
    pub(super) is_opposed: bool,
    /// Whether the receiving application does nothing but read.
    pub(super) reads_at_once: bool,
    /// Whether small packets passed between the hosts while data did not.
    pub(super) has_small_passed: bool,
    /// Whether other connections show that the path which they share was full.
    pub(super) has_full_path: bool,
    /// Whether RTT and cwnd of the readings are those of one moment.
    pub(super) is_snapshot: bool,
}

impl Default for CounterAccount {
    fn default() -> Self {
        Self::with_slices(SLICES)
    }
}

impl CounterAccount {
    /// Creates an account with at most that number of slices, at least 2.
    ///
    /// Beyond it, neighbors are merged: less detail, the same total.
    #[must_use]
    pub fn with_slices(max_slices: usize) -> Self {
        Self {
            congestion: None,
            limits: Limits::default(),
            path_rate: None,
            path_total: None,
            sender: None,
            receiver: None,
            hosts: [Host::default(), Host::default()],
            spent: [Duration::ZERO; WAITS],
            not_reading: None,
            receiver_step: Duration::MAX,
            progress: Instant::ZERO,
            slices: Vec::new(),
            max_slices: max_slices.max(2),
            grain: GRAIN,
            losses: Losses::default(),
            first_loss: None,
            min_rtt: None,
            has_sender_rtt: false,
            max_window: Bytes::ZERO,
            max_send_queue: Bytes::ZERO,
            is_unscaled: None,
            is_total: false,
            is_opposed: false,
            reads_at_once: false,
            has_small_passed: false,
            has_full_path: false,
            is_snapshot: false,
        }
    }

    /// Sets the sender's congestion control, by the kernel's name.
    pub fn set_congestion(&mut self, name: &str) {
        if self.congestion.as_deref() != Some(name) {
            self.congestion = Some(name.into());
        }
    }

    /// Says that as much is sent the other way at the same time, so that the RTT has the queues of
    /// both directions.
    pub const fn set_opposed(&mut self) {
        self.is_opposed = true;
    }

    /// Says that the receiving application does nothing but read, as a tester.
    pub const fn set_reads_at_once(&mut self) {
        self.reads_at_once = true;
    }

    /// Says that small packets passed between the hosts while the connection's data did not.
    pub const fn set_small_passed(&mut self) {
        self.has_small_passed = true;
    }

    /// Says that other connections show that the path which they share was full.
    pub const fn set_full_path(&mut self) {
        self.has_full_path = true;
    }

    /// Says that RTT and cwnd of the readings are those of one moment of the transfer.
    pub const fn set_snapshot(&mut self) {
        self.is_snapshot = true;
    }

    /// Sets the settings of the hosts, which determine the fix.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Sets the payload rate that the path carries, which packet trains measured, and what the other
    /// streams of the test leave of it.
    pub fn set_capacity(&mut self, total: Rate, left: Rate) {
        self.path_total = Some(total);
        self.path_rate = Some(left);
    }

    /// Last reading of an end.
    #[must_use]
    pub fn last(&self, end: End) -> Option<&Reading> {
        self.readings(end).map(|readings| &readings.last)
    }

    /// First reading of an end.
    #[must_use]
    pub fn first(&self, end: End) -> Option<&Reading> {
        self.readings(end).map(|readings| &readings.first)
    }

    fn readings(&self, end: End) -> Option<&Readings> {
        match end {
            End::Sender => self.sender.as_deref(),
            End::Receiver => self.receiver.as_deref(),
        }
    }

    /// Adds a reading. Readings of one end are in order of time; one that is not later than the
    /// previous one is ignored.
    pub fn on_reading(&mut self, end: End, reading: &Reading) {
        let slot = match end {
            End::Sender => &mut self.sender,
            End::Receiver => &mut self.receiver,
        };
        let Some(readings) = slot else {
            *slot = Some(Box::new(Readings {
                first: *reading,
                last: *reading,
            }));
            self.progress = self.progress.max(reading.at);
            self.bound(end, reading);
            return;
        };
        let last = core::mem::replace(&mut readings.last, *reading);
        if reading.at <= last.at {
            readings.last = last;
            return;
        }
        let first = readings.first;
        self.bound(end, reading);
        match end {
            End::Sender => self.on_sent([&first, &last, reading]),
            End::Receiver => {
                let step = reading.at.saturating_since(last.at);
                // One that is late does not make the next ones less due.
                self.receiver_step = step.min(self.receiver_step.saturating_mul(2));
                let time = step.as_secs_f64();
                let waited = difference(&last, reading, |reading| {
                    reading.app_not_reading.map(Duration::as_nanos)
                });
                self.not_reading = waited.map(|waited| waited as f64 / 1e9 / time);
                if self.sender.is_none() {
                    self.on_received([&last, reading]);
                }
            }
        }
    }

    /// Whether the sender's rwnd-limited and sndbuf-limited times are unknown. Reports of testers
    /// lack them.
    pub(super) fn is_coarse(&self) -> bool {
        let sender = self.last(End::Sender);
        sender.is_some_and(|reading| reading.busy.is_none())
    }

    /// Whether the sender's retransmissions are counted.
    pub(super) fn knows_losses(&self) -> bool {
        let sender = self.last(End::Sender);
        sender.is_some_and(|reading| reading.total_retrans.is_some())
    }

    /// Whether both ends were read.
    pub(super) fn has_both_ends(&self) -> bool {
        self.sender.is_some() && self.receiver.is_some()
    }

    /// Bytes that the receiver had not read in a slice, over the largest window of the connection.
    /// Without a window, over the bound of it.
    pub(super) fn unread(&self, slice: &Slice) -> Option<f64> {
        let receiver = self.last(End::Receiver);
        let bound = receiver.and_then(|reading| reading.rcv_ssthresh);
        let known = Some(self.max_window).filter(|window| *window > Bytes::ZERO);
        let room = known.or(bound).unwrap_or_default().as_u64().max(1);
        Some(slice.unread.value()? / room as f64)
    }

    /// Whether nothing was lost or marked before the end of a slice.
    pub(super) fn is_early(&self, slice: &Slice) -> bool {
        self.first_loss
            .is_none_or(|first| first > slice.start + slice.length)
    }

    /// Adds a reading of an end's host.
    pub fn on_host(&mut self, end: End, reading: &HostReading) {
        let host = &mut self.hosts[end as usize];
        if let Some(used) = host
            .last
            .as_ref()
            .and_then(|last| HostUse::between(last, reading))
        {
            host.used = used;
            host.drops += used.drops.unwrap_or(0);
        }
        host.first.get_or_insert_with(|| reading.clone());
        host.last = Some(reading.clone());
    }

    /// Sets the losses of the interface in use at an end.
    pub fn set_card(&mut self, end: End, card: CardLosses) {
        self.hosts[end as usize].card = Some(card);
    }

    /// Use of an end's host from its first reading to its last.
    #[must_use]
    pub fn host_summary(&self, end: End) -> Option<HostSummary> {
        let host = &self.hosts[end as usize];
        let (first, last) = (host.first.as_ref()?, host.last.as_ref()?);
        HostSummary::between(first, last, host.card.as_ref())
    }

    pub(super) fn bound(&mut self, end: End, reading: &Reading) {
        let sent = [reading.min_rtt, reading.rtt].into_iter().flatten().min();
        match end {
            // That of the receiver is an estimate, until the sender tells its own.
            End::Sender if sent.is_some() => {
                let earlier = self.min_rtt.filter(|_| self.has_sender_rtt);
                self.min_rtt = sent.into_iter().chain(earlier).min();
                self.has_sender_rtt = true;
            }
            End::Sender => {}
            End::Receiver => self.min_rtt = self.min_rtt.or(reading.rcv_rtt),
        }
        let window = match end {
            End::Sender => reading.snd_wnd,
            End::Receiver => reading.rcv_wnd,
        };
        let shifts = (reading.snd_wscale, reading.rcv_wscale);
        // A receiver's kernel may hold a larger window than it can advertise.
        let most = Bytes::new(if shifts == (Some(0), Some(0)) {
            65_535
        } else {
            u64::MAX
        });
        self.max_window = self.max_window.max(window.unwrap_or_default().min(most));
        if end == End::Sender {
            let queue = reading.unacknowledged.unwrap_or_default();
            self.max_send_queue = self.max_send_queue.max(queue);
        }
        if end == End::Sender || self.sender.is_none() {
            // Shifts of zero are no proof: a scale of zero is allowed.
            let lacks_option = reading.options.map(|options| options & WSCALE == 0);
            self.is_unscaled =
                lacks_option.map(|lacks| lacks && (1..=65_535).contains(&self.max_window.as_u64()));
        }
    }

    /// Adds a step of the sender: its first reading, the previous one, and this one.
    fn on_sent(&mut self, [first, from, to]: [&Reading; 3]) {
        let length = to.at.saturating_since(from.at);
        let time = length.as_secs_f64();
        let more = |of: fn(&Reading) -> Option<u64>| difference(from, to, of);
        let acked = more(|reading| reading.bytes_acked.map(Bytes::as_u64));
        let retransmitted = more(|reading| reading.total_retrans).unwrap_or(0);
        let mut slice = Slice {
            start: from.at,
            length,
            waits: self.waits([first, from, to], length),
            cwnd_ends: from.cwnd_segments.zip(to.cwnd_segments),
            acked: acked.unwrap_or(0),
            sent: more(|reading| reading.data_segs_out.or(reading.segs_out))
                .or_else(|| segments(to, more(|reading| reading.bytes_sent.map(Bytes::as_u64))))
                .unwrap_or(0),
            received: more(|reading| reading.bytes_received.map(Bytes::as_u64)).unwrap_or(0),
            retransmitted,
            timeouts: more(|reading| reading.total_rto)
                .or_else(|| more(|reading| reading.backoff))
                .unwrap_or(0),
            spurious: more(|reading| reading.dsack_dups).unwrap_or(0),
            reordered: more(|reading| reading.reord_seen).unwrap_or(0),
            delivered: more(|reading| reading.delivered)
                .or_else(|| segments(to, acked))
                .unwrap_or(0),
            marked: more(|reading| reading.delivered_ce).unwrap_or(0),
            ..Slice::default()
        };
        if to.bytes_acked != from.bytes_acked {
            self.progress = to.at;
        }
        let is_acked = slice.acked > 0;
        let samples = [to.delivery_rate.filter(|_| is_acked)];
        slice.best_sample = samples.into_iter().flatten().map(bytes_per_second).next();
        slice.sample_sender(from, to, time);
        let receiver = self.receiver_at(to.at);
        let is_stale = receiver.is_none();
        slice.sample_receiver(receiver, time);
        slice.arrived.add(
            receiver.and_then(|receiver| arrived(from, receiver, to)),
            time,
        );
        if retransmitted > 0 || slice.marked > 0 {
            self.first_loss.get_or_insert(to.at);
            let event = LossEvent::of(from, to);
            slice.events = u64::from(self.losses.add(event, from.rtt.unwrap_or_default()));
        }
        slice
            .app_not_reading
            .add(self.not_reading.filter(|_| !is_stale), time);
        self.sample_hosts(&mut slice, time);
        self.push(slice);
    }

    /// The receiver's last reading, if it is not overdue: a process that is stopped reads nothing, and
    /// what it read before is no evidence.
    fn receiver_at(&self, now: Instant) -> Option<&Reading> {
        let last = self.last(End::Receiver)?;
        let longest = self.receiver_step.saturating_mul(4).max(GRAIN * 2);
        (now.saturating_since(last.at) <= longest).then_some(last)
    }

    /// Adds a step of a receiver whose sender is unknown.
    fn on_received(&mut self, [from, to]: [&Reading; 2]) {
        let length = to.at.saturating_since(from.at);
        let time = length.as_secs_f64();
        let received = difference(from, to, |reading| {
            reading.bytes_received.map(Bytes::as_u64)
        })
        .unwrap_or(0);
        // Whether a silent sender has no data, or waits, does not show here.
        let mut slice = Slice {
            start: from.at,
            length,
            acked: received,
            ..Slice::default()
        };
        slice.waits[Wait::Receiving as usize] = length;
        let fill = to.rcv_rtt.zip(to.rcv_wnd).map(|(rtt, window)| {
            received as f64 / time * rtt.as_secs_f64() / (window.as_u64() as f64).max(1.0)
        });
        slice.receive_fill.add(fill, time);
        let window = to.rcv_wnd.map(|window| window.as_u64() as f64);
        slice.window.add(window, time);
        let is_closed = window.map(|window| f64::from(u8::from(window == 0.0)));
        slice.zero_window.add(is_closed, time);
        slice.sample_receiver(Some(to), time);
        slice.socket_drops = difference(from, to, |reading| reading.sock_drops).unwrap_or(0);
        slice.app_not_reading.add(self.not_reading, time);
        self.sample_hosts(&mut slice, time);
        self.push(slice);
    }

    /// Splits a step by the kernel's counters. The ticks of the kernel may overstate a wait in one
    /// step and understate it in the next. So each wait is adjusted to its counter, as far as the
    /// step has room.
    fn waits(&mut self, [first, from, to]: [&Reading; 3], length: Duration) -> [Duration; WAITS] {
        let since = |of: fn(&Reading) -> Option<Duration>| Some(of(to)?.saturating_sub(of(first)?));
        let whole = to.at.saturating_since(first.at);
        let idle = since(|socket| socket.busy).map(|busy| whole.saturating_sub(busy));
        let counted = [
            (Wait::Window, since(|socket| socket.rwnd_limited)),
            (Wait::Buffer, since(|socket| socket.sndbuf_limited)),
            (Wait::Idle, idle),
        ];
        let mut waits = [Duration::ZERO; WAITS];
        let mut left = length;
        for (wait, counted) in counted {
            let spent = &mut self.spent[wait as usize];
            let missing = counted.unwrap_or_default().saturating_sub(*spent).min(left);
            *spent += missing;
            waits[wait as usize] = missing;
            left -= missing;
        }
        if to.busy.is_none() && is_empty(from) && is_empty(to) {
            waits[Wait::Idle as usize] += left;
            left = Duration::ZERO;
        }
        let wait = if self.is_stalled(from, to) {
            Wait::Stalled
        } else {
            Wait::Rest
        };
        waits[wait as usize] += left;
        waits
    }

    /// Whether only the expiry of a timer can end the stall.
    fn is_stalled(&self, from: &Reading, to: &Reading) -> bool {
        let is_still = from.bytes_acked.is_some() && from.bytes_acked == to.bytes_acked;
        let has_backed_off = [from, to].iter().any(|reading| {
            reading.backoff.is_some_and(|times| times > 0) || reading.ca_state == Some(4)
        });
        // A timer backs off for data in flight.
        let is_out = |reading: &Reading| {
            reading
                .unacked
                .map_or(has_backed_off, |segments| segments > 0)
        };
        let usual = to.rtt.unwrap_or_default() * 2 + Duration::from_millis(50);
        let waited = to.at.saturating_since(self.progress);
        is_still && is_out(from) && is_out(to) && (has_backed_off || waited > usual)
    }

    fn sample_hosts(&mut self, slice: &mut Slice, time: f64) {
        let [sender, receiver] = &mut self.hosts;
        slice.sender_process.add(sender.used.process, time);
        slice.sender_core.add(sender.used.core, time);
        slice.sender_throttled.add(sender.used.throttled, time);
        slice.receiver_process.add(receiver.used.process, time);
        slice.receiver_core.add(receiver.used.core, time);
        slice.receiver_throttled.add(receiver.used.throttled, time);
        slice.host_drops += core::mem::take(&mut receiver.drops);
    }

    /// Appends a step; merges neighbors if there are too many slices.
    fn push(&mut self, step: Slice) {
        debug_assert_eq!(
            step.waits
                .iter()
                .fold(Duration::ZERO, |sum, wait| sum + *wait),
            step.length,
            "the waits of a step take all its time"
        );
        let grain = self.grain;
        match self.slices.last_mut() {
            Some(last) if last.length < grain => last.merge(&step),
            _ => self.slices.push(step),
        }
        if self.slices.len() > self.max_slices {
            let mut pairs = core::mem::take(&mut self.slices).into_iter();
            while let Some(mut one) = pairs.next() {
                if let Some(next) = pairs.next() {
                    one.merge(&next);
                }
                self.slices.push(one);
            }
            self.grain = self.grain.saturating_mul(2);
        }
        debug_assert!(
            self.slices.len() <= self.max_slices
                && self.slices.is_sorted_by_key(|slice| slice.start),
            "at most {} slices, in the order of time",
            self.max_slices
        );
    }
}

impl Slice {
    fn sample_sender(&mut self, from: &Reading, to: &Reading, time: f64) {
        let octets = |bytes: Bytes| bytes.as_u64() as f64;
        let truth = |is: bool| f64::from(u8::from(is));
        let flight = to.flight_size().map(octets);
        let over = |whole: Option<f64>| Some(flight? / whole.filter(|whole| *whole > 0.0)?);
        let cwnd = to.cwnd().map(octets);
        let window = to.snd_wnd.map(octets);
        // Less than a segment is offered only by a receiver whose buffer is full (RFC 9293 section
        // 3.8.6.2.2).
        let is_waiting = to.notsent > Some(Bytes::ZERO);
        let least = to.smss.filter(|_| is_waiting).unwrap_or(Bytes::new(1));
        let is_closed = to.snd_wnd.map(|window| truth(window < least));
        self.zero_window.add(is_closed, time);
        let pacing = to.pacing_rate.map(bytes_per_second);
        let cap = to.max_pacing_rate.map(bytes_per_second);
        self.rtt.add(to.rtt.map(Duration::as_secs_f64), time);
        self.flight.add(flight, time);
        self.cwnd.add(cwnd, time);
        self.cwnd_fill.add(over(cwnd), time);
        self.window.add(window, time);
        self.window_fill.add(over(window), time);
        self.pacing.add(pacing, time);
        self.pacing_of_cap
            .add(pacing.zip(cap).map(|(rate, cap)| rate / cap), time);
        let rates = from.pacing_rate.zip(to.pacing_rate);
        let is_still = rates.map(|(a, b)| truth(a == b));
        self.pacing_still.add(is_still, time);
        self.send_queue.add(to.unacknowledged.map(octets), time);
        let smss = to.smss.unwrap_or(Bytes::new(1460));
        self.nothing_unsent
            .add(to.notsent.map(|bytes| truth(bytes <= smss + smss)), time);
        self.app_limited.add(to.app_limited.map(truth), time);
        self.slow_start.add(to.is_slow_start().map(truth), time);
        let queued = to.wmem_queued.map(octets).filter(|queued| *queued > 0.0);
        let local = to.wmem_alloc.map(octets).zip(queued);
        self.local.add(local.map(|(local, all)| local / all), time);
        let fill = queued.zip(to.sndbuf.map(octets));
        self.buffer_fill
            .add(fill.map(|(octets, room)| octets / room), time);
        self.rest_held.add(to.holds_rest().map(truth), time);
        let idle = difference(from, to, |reading| reading.app_idle.map(Duration::as_nanos));
        self.app_idle
            .add(idle.map(|idle| idle as f64 / 1e9 / time), time);
    }

    fn sample_receiver(&mut self, reading: Option<&Reading>, time: f64) {
        let unread = reading.and_then(|reading| reading.unread);
        let unread = unread.map(|unread| unread.as_u64() as f64);
        self.unread.add(unread, time);
    }
}

/// Fraction of the flight that has arrived without its ACKs. The receiver's reading lies between
/// two of the sender; `None` if it does not, or nothing is in flight.
fn arrived(from: &Reading, receiver: &Reading, to: &Reading) -> Option<f64> {
    let span = to.at.saturating_since(from.at).as_secs_f64();
    let since = receiver.at.as_nanos().checked_sub(from.at.as_nanos())?;
    let part = Some(since as f64 / 1e9 / span).filter(|part| *part <= 1.0)?;
    let between = |of: fn(&Reading) -> Option<Bytes>| {
        let [from, to] = [of(from)?, of(to)?].map(|bytes| bytes.as_u64() as f64);
        Some(from + (to - from) * part)
    };
    let acked = between(|reading| reading.bytes_acked)?;
    let flight = between(Reading::flight_size).filter(|flight| *flight > 0.0)?;
    let received = receiver.bytes_received?.as_u64() as f64;
    Some(((received - acked) / flight).clamp(0.0, 1.0))
}

/// Converts a rate to bytes per second.
pub(super) fn bytes_per_second(rate: gigatcp_units::Rate) -> f64 {
    rate.as_bps() as f64 / 8.0
}

/// Growth of a counter; `None` if it is unknown at either end.
fn difference(from: &Reading, to: &Reading, of: fn(&Reading) -> Option<u64>) -> Option<u64> {
    Some(of(to)?.saturating_sub(of(from)?))
}

/// Number of segments that these bytes fill.
fn segments(reading: &Reading, bytes: Option<u64>) -> Option<u64> {
    bytes?.checked_div(reading.smss?.as_u64())
}

/// Whether nothing is unsent or in flight.
fn is_empty(reading: &Reading) -> bool {
    let is_none = |bytes: Option<Bytes>| bytes.is_none_or(|bytes| bytes == Bytes::ZERO);
    let known = reading.unacked.is_some() || reading.unacknowledged.is_some();
    known
        && reading.unacked.unwrap_or(0) == 0
        && is_none(reading.notsent)
        && is_none(reading.unacknowledged)
}
