//! Configuration of a hop ([`HopConfig`]) and its validation.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};

use crate::ack_filter::AckFilter;
use crate::middlebox::Middlebox;
use crate::queue::QueueConfig;
use crate::schedule::Schedule;
use crate::trace::Trace;
use crate::{LossModel, Policer};

/// Form in which super-packets leave a hop.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Release {
    /// A super-packet is cut into frames at the serializer, as by segmentation offload. Each wire
    /// packet leaves at its own instant, exactly as if it had arrived alone.
    #[default]
    PerPacket,
    /// A super-packet leaves in pieces, as from a network card with interrupt moderation. A piece
    /// holds wire packets served within this time of its first one. It leaves with its last wire
    /// packet; no wire packet leaves later than that. If one service takes longer, each leaves
    /// alone and on time. A driver that polls late gets one larger piece instead of several.
    Within(Duration),
    /// A super-packet stays whole and leaves when its last wire packet has been served. This costs
    /// a fraction of the other forms. Queue, limits, loss and duplication still act on the wire
    /// packets inside. It is split only where their outcomes differ. The receiver sees what a
    /// network card with receive coalescing delivers: fewer pieces, up to one super-packet's
    /// serialization time late.
    Whole,
}

/// Reordering: single packets are delayed and later ones overtake them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reorder {
    /// Probability that a wire packet is reordered.
    pub probability: Probability,
    /// Delay of a reordered packet in addition to the one-way delay. Packets that leave the
    /// serializer less than this after it overtake it.
    pub extra_delay: Duration,
}

/// Backlog above which a hop marks packets: the step of RFC 8257 section 3.1. It applies to the
/// arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAbove {
    /// More IP bytes than this are waiting and in service, including the arriving packet. Counted
    /// as in [`HopConfig::limit_bytes`].
    Bytes(Bytes),
    /// More packets than this, including the arriving one.
    Packets(u64),
    /// The packet will wait longer than this before its service begins. With a fixed rate this
    /// sojourn time is known on arrival.
    Sojourn(Duration),
}

/// A variable rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RateSource {
    /// Rate changes at times known beforehand.
    Schedule(Schedule<Rate>),
    /// A recorded trace of opportunities to send, in place of a rate.
    Trace(Trace),
}

/// A shaper: packets wait for tokens of a bucket before they are served. Service is at the hop's
/// rate. In any time t no more than `burst + rate * t` leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shaper {
    /// Token rate, in IP bytes per second.
    pub rate: Rate,
    /// Bucket size, in bytes.
    pub burst: Bytes,
}

/// Aggregation: several packets are served together and arrive together. Examples are a frame
/// aggregate of Wi-Fi (A-MPDU) and a grant of a cable modem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aggregate {
    /// Maximum number of wire packets served together. A group takes only what is waiting when the
    /// link becomes free.
    pub packets: u32,
    /// Overhead time of each group: contention, preamble, block acknowledgment.
    pub overhead: Duration,
}

/// Distribution of a random delay about the hop's own delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JitterLaw {
    /// Uniform, from the delay minus the spread to the delay plus the spread.
    Uniform,
    /// Normal, with the spread as standard deviation. No delay is below zero or more than four
    /// deviations from its mean.
    Normal,
    /// Pareto with shape 3, as netem's table `pareto`: most delays are below the hop's by up to 0.67
    /// spreads, few above by up to 4. Mean -0.03, standard deviation 0.82 spreads.
    Pareto,
    /// As netem's table `paretonormal`: three quarters of a Pareto and one of a normal variate of the
    /// same rank. Mean -0.03, standard deviation 0.83 spreads.
    ParetoNormal,
}

impl JitterLaw {
    /// Name in plans and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
        }
    }
}

/// Random variation of the delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jitter {
    /// Spread of the delay about its mean.
    pub spread: Duration,
    /// Distribution of the delay.
    pub law: JitterLaw,
    /// Time for which a drawn delay holds; zero: each wire packet draws its own.
    pub hold: Duration,
    /// Whether a packet with a shorter delay overtakes an earlier one. If not, it waits for that
    /// one.
    pub overtaking: bool,
}

/// [`HopConfig::hold_limit`] of a slot with a maximum, if none is set: the `limit` of netem.
const SLOT_HOLD_LIMIT: u64 = 1000;

/// Slots in which packets come out together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Time from the packet that opens a slot, or from a full slot, to the slot: its mean.
    pub delay: Duration,
    /// Spread of that time about its mean.
    pub spread: Duration,
    /// Its distribution.
    pub law: JitterLaw,
    /// Maximum number of wire packets in a slot. `None`: any.
    pub packets: Option<u64>,
    /// IP bytes after which a slot takes no further packet. `None`: any.
    pub bytes: Option<Bytes>,
}

/// A period, counted from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Period {
    /// Start, inclusive.
    pub from: Duration,
    /// End, exclusive.
    pub until: Duration,
}

impl Period {
    /// Whether `now` lies within the period.
    pub fn contains(&self, now: Instant) -> bool {
        let since = now.saturating_since(Instant::ZERO);
        self.from <= since && since < self.until
    }
}

/// One direction of one link, router port or emulator.
///
/// A wire packet passes, in this order: middlebox and bleaching; the loss models, the policer,
/// corruption, the random mark and the duplication; the hold limit; the tail-drop queue and its
/// marking threshold; the serializer (rate and packet ceiling); the delay line, with extra delay if
/// it is reordered. The default has none of these: a wire of zero length.
///
/// Marks apply only to packets of an ECN-capable transport that are not dropped by the queue limit.
/// Other packets pass unmarked until the queue is full. To drop those early, add a loss model.
///
/// Loss applies at the *entrance*, before the queue: a lost packet takes neither queue space nor
/// service time. For loss after a bottleneck (frames that were sent and arrive corrupted), put the
/// loss model on a next hop without rate.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct HopConfig {
    /// Name of the element, unique in its run. It selects the random streams: two hops of one name
    /// would lose the same packets.
    pub name: String,
    /// Rate of the serializer. `None` is infinitely fast; [`Rate::ZERO`] serves nothing.
    pub rate: Option<Rate>,
    /// Bytes the link adds to each wire packet during its service. E.g. 38 bytes on Ethernet
    /// (preamble 8, header 14, check 4, gap 12). They cost time but no queue space: limits and
    /// counts are in IP bytes.
    pub link_overhead: Bytes,
    /// Minimum service time of a wire packet. It is the inverse of a packet capacity, as of a
    /// software emulator or a router's CPU. Service takes the longer of this and the serialization
    /// time at the rate. The nanosecond resolution matters from about 10 Mpacket/s up (67.2 ns for
    /// 64-byte frames at 10 Gbit/s): use the rate there.
    pub per_packet: Duration,
    /// Propagation delay from the end of service to the far end.
    pub one_way_delay: Duration,
    /// Variable rate, if any.
    pub rate_source: Option<RateSource>,
    /// Token bucket before the serializer.
    pub shaper: Option<Shaper>,
    /// Aggregation of packets, if any.
    pub aggregate: Option<Aggregate>,
    /// Changes of the propagation delay, if any.
    pub delay_schedule: Option<Schedule<Duration>>,
    /// Random variation of the delay, if any.
    pub jitter: Option<Jitter>,
    /// Slots at the far end, if any. Packets wait there after their delay.
    pub slot: Option<Slot>,
    /// Queue discipline and its settings; default: first in, first out.
    pub queue: QueueConfig,
    /// Maximum number of wire packets waiting and in service, including the arriving one. A packet
    /// whose service ends at the very instant of an arrival no longer counts. `None`: unlimited.
    pub limit_packets: Option<u64>,
    /// Maximum IP bytes waiting and in service, counted as in [`HopConfig::limit_packets`]. A
    /// packet in service counts whole until its last bit has left.
    pub limit_bytes: Option<Bytes>,
    /// Maximum number of wire packets inside the element, including the delay line. It is the
    /// `limit` of the Linux emulator netem. Packets count until the driver has collected them. At
    /// one instant, the driver therefore collects what is due before it hands in arrivals. `None`:
    /// unlimited, or 1000 with a slot that has a maximum, see [`HopConfig::most_inside`].
    pub hold_limit: Option<u64>,
    /// Loss models. Each of them sees every wire packet.
    pub loss: Vec<LossModel>,
    /// Period in which the loss models drop packets; outside it they only count. `None`: always.
    pub loss_period: Option<Period>,
    /// Loss models that corrupt packets instead of dropping them. [`HopConfig::loss_period`] does
    /// not apply to them. A corrupted packet passes queue and service as any other. The receiving
    /// host drops it for a wrong checksum.
    pub corrupt: Vec<LossModel>,
    /// Policer: drops packets above one rate, or two, without a queue. Packets dropped by a loss
    /// model cost no tokens; a duplicate needs none.
    pub policer: Option<Policer>,
    /// Filter that drops redundant ACKs.
    pub ack_filter: Option<AckFilter>,
    /// Reordering of single packets.
    pub reorder: Option<Reorder>,
    /// Probability that a wire packet that is not lost is followed by a duplicate. The duplicate
    /// queues as its own packet and may be tail-dropped. It is neither dropped by a model,
    /// corrupted, reordered nor duplicated a second time.
    pub duplicate: Option<Probability>,
    /// Marking by backlog.
    pub mark_above: Option<MarkAbove>,
    /// Probability that a wire packet is marked, independent of the backlog.
    pub mark: Option<Probability>,
    /// Whether the ECN field of every packet is cleared on arrival.
    pub ecn_bleach: bool,
    /// Whether it answers Quick-Start requests (RFC 4782).
    pub quick_start: bool,
    /// Middlebox that changes segments with SYN on arrival, before anything else.
    pub middlebox: Option<Middlebox>,
    /// Size of the largest IP packet the element accepts, in bytes. Larger ones are dropped on
    /// arrival, before anything else happens to them. `None`: any size.
    pub mtu: Option<Bytes>,
    /// Whether packets above the MTU are fragmented where this is permitted: IPv4 without DF. Each
    /// fragment then is a wire packet.
    pub fragments: bool,
    /// Whether the sender of a packet above the MTU is notified (RFC 1191 section 4). The element
    /// only drops; the driver sends the notification.
    pub notifies_too_big: bool,
    /// Form in which super-packets leave.
    pub release: Release,
}

impl HopConfig {
    /// Checks whether a hop can be built from this.
    ///
    /// # Errors
    ///
    /// The first invalid setting, see [`ConfigError`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut models = self.loss.iter().chain(&self.corrupt);
        models.try_for_each(LossModel::check)?;
        if let Some(RateSource::Schedule(schedule)) = &self.rate_source {
            schedule.check()?;
        }
        if let Some(schedule) = &self.delay_schedule {
            schedule.check()?;
        }
        self.queue.check()?;
        if self.ack_filter == Some(AckFilter::Every(0)) {
            return Err(ConfigError::AckFilterPeriodZero);
        }
        let overtakes = self.reorder.is_some() || self.jitter.is_some_and(|law| law.overtaking);
        if self.slot.is_some() && overtakes {
            return Err(ConfigError::SlotOvertaken);
        }
        match self.aggregate {
            Some(Aggregate { packets: 0, .. }) => Err(ConfigError::AggregateOfNone),
            _ => Ok(()),
        }
    }

    /// Rate used to measure its queue. It is the minimum of the rates of a shaper and of the queue,
    /// and its own or the mean rate of its trace.
    pub fn nominal_rate(&self) -> Option<Rate> {
        let own = match &self.rate_source {
            Some(RateSource::Trace(trace)) => Some(Rate::from_bps(trace.mean_bps())),
            Some(RateSource::Schedule(_)) | None => self.rate,
        };
        let shaped = self.shaper.map(|shaper| shaper.rate);
        let by_queue = self.queue.shaped_rate();
        own.into_iter().chain(shaped).chain(by_queue).min()
    }

    /// Maximum number of wire packets inside. Slots of limited size are a rate behind the queue,
    /// whose limit does not count what waits for them. They therefore have the default limit of
    /// netem. `None`: unlimited.
    pub fn most_inside(&self) -> Option<u64> {
        let limits = |slot: &Slot| slot.packets.is_some() || slot.bytes.is_some();
        let by_slot = self.slot.as_ref().filter(|slot| limits(slot));
        self.hold_limit.or(by_slot.map(|_| SLOT_HOLD_LIMIT))
    }

    /// Whether packets never wait before this link: it has no rate of any kind.
    pub fn never_queues(&self) -> bool {
        self.rate.is_none()
            && self.rate_source.is_none()
            && self.per_packet.is_zero()
            && self.shaper.is_none()
            && self.aggregate.is_none()
            && !self.queue.holds_back()
    }

    /// Whether departures are known on arrival. This requires a fixed rate and delay and a FIFO
    /// queue.
    pub fn is_closed_form(&self) -> bool {
        self.rate_source.is_none()
            && self.shaper.is_none()
            && self.aggregate.is_none()
            && self.delay_schedule.is_none()
            && self.jitter.is_none()
            && self.slot.is_none()
            && self.ack_filter != Some(AckFilter::Queue)
            && !self.quick_start
            && self.queue.is_fifo()
    }
}

/// Reason why a hop cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// A periodic loss with period zero.
    PeriodZero,
    /// A list of lost packets names packet 0; they are counted from 1.
    ListedZero,
    /// A list of lost packets is not strictly ascending.
    ListNotAscending,
    /// A schedule without a step.
    ScheduleEmpty,
    /// A schedule whose times do not strictly ascend.
    ScheduleNotAscending,
    /// A schedule that repeats before its last step.
    SchedulePeriod,
    /// Aggregation of zero packets.
    AggregateOfNone,
    /// Settings of a queue discipline that are mutually exclusive.
    QueueSettings(&'static str),
    /// Slots after a delay that lets packets overtake.
    SlotOvertaken,
    /// An ACK filter with period zero.
    AckFilterPeriodZero,
    /// A shared medium without a rate.
    MediumWithoutRate,
    /// A shared medium on which a collision may be detected too late.
    MediumTooLong,
    /// A route over a link that does not exist.
    NoSuchLink,
    /// A route whose answers have no route or enter it at a missing link.
    NoReverseRoute,
    /// A route over more links than a packet can count.
    RouteTooLong,
    /// More routes than a packet can number.
    TooManyRoutes,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PeriodZero => "a periodic loss needs a period of 1 packet or more",
            Self::ListedZero => "lost packets are counted from 1, packet 0 does not exist",
            Self::ListNotAscending => "the list of lost packets must be strictly ascending",
            Self::ScheduleEmpty => "a schedule needs a step",
            Self::ScheduleNotAscending => "the steps of a schedule must be in order of time",
            Self::SchedulePeriod => "a schedule must begin anew after its last step",
            Self::AggregateOfNone => "a group of packets needs one or more",
            Self::QueueSettings(why) => why,
            Self::SlotOvertaken => "packets of a slot keep their order, none overtakes",
            Self::AckFilterPeriodZero => "an ACK filter lets every n-th pass, n being 1 or more",
            Self::MediumWithoutRate => "a shared medium needs a rate",
            Self::MediumTooLong => {
                "a shared medium must be short enough for a collision to be heard in 512 bit times"
            }
            Self::NoSuchLink => "a route needs links that exist",
            Self::NoReverseRoute => {
                "the answers to a route need a route that exists and for each link a place on it"
            }
            Self::RouteTooLong => "a route has 255 links at most",
            Self::TooManyRoutes => "flows have 32767 different pairs of routes at most",
        })
    }
}

impl core::error::Error for ConfigError {}
