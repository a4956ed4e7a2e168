//! What a hop is made of, said once and checked once.

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

/// How super-packets leave a hop.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Release {
    /// A super-packet is cut into frames at the serializer, as segmentation
    /// hardware does: each wire packet leaves at its own instant, exactly as
    /// if it had come alone.
    #[default]
    PerPacket,
    /// A super-packet leaves in pieces of the wire packets that have been
    /// served together: a piece comes out with the last wire packet that has been
    /// served at most this long after its first, and no wire packet is later than
    /// that. Where a service takes longer, each comes out alone and on time. What
    /// a network card with interrupt moderation shows. A driver that comes late
    /// gets one larger piece instead of several.
    Within(Duration),
    /// A super-packet stays whole and leaves when its last wire packet has
    /// been served, at a fraction of the cost. Queue, limits, loss and
    /// duplication still act on the wire packets inside, and it is split only
    /// where their verdicts differ. What the receiver sees is what a network
    /// card with receive coalescing would show it: up to one super-packet's
    /// serialization time late, in fewer pieces.
    Whole,
}

/// Late delivery of single packets, which later ones overtake.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reorder {
    /// The probability that a wire packet is reordered.
    pub probability: Probability,
    /// What a reordered packet needs in addition to the one-way delay. It is
    /// overtaken by all that leave the serializer less than this after it.
    pub extra_delay: Duration,
}

/// From which backlog on a hop marks packets instead of letting the queue grow
/// silently: the step of RFC 8257 section 3.1, seen by the arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAbove {
    /// More IP bytes than this are waiting and in service, the arriving packet
    /// counting, as in [`HopConfig::limit_bytes`].
    Bytes(Bytes),
    /// More packets than this, the arriving one counting.
    Packets(u64),
    /// The packet will wait longer than this before its service begins: its
    /// sojourn in the queue, which a fixed rate tells on arrival.
    Sojourn(Duration),
}

/// A rate that changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RateSource {
    /// At moments known beforehand.
    Schedule(Schedule<Rate>),
    /// As it was recorded: opportunities to send, in place of a rate.
    Trace(Trace),
}

/// A shaper: packets wait for the tokens of a bucket before they are served at the
/// hop's rate. In any time t no more than `burst + rate * t` leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shaper {
    /// IP octets per second that come as tokens.
    pub rate: Rate,
    /// The most tokens there are, in octets.
    pub burst: Bytes,
}

/// Several packets are served together and arrive together, as in a frame aggregate
/// of Wi-Fi (A-MPDU) or a grant of a cable modem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aggregate {
    /// The most wire packets that are served together: what waits when the link is
    /// free, no more.
    pub packets: u32,
    /// What each group takes next to its packets: contention, preamble, block
    /// acknowledgment.
    pub overhead: Duration,
}

/// How a random delay is distributed about the hop's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JitterLaw {
    /// Evenly between the delay less the spread and the delay and the spread.
    Uniform,
    /// Normally, the spread being the standard deviation; no delay is below zero or
    /// more than four deviations from its mean.
    Normal,
}

/// A delay that is random.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jitter {
    /// How far the delay is from its mean.
    pub spread: Duration,
    /// How it is distributed.
    pub law: JitterLaw,
    /// How long a draw holds; zero: each wire packet has its own.
    pub hold: Duration,
    /// Whether a packet with a shorter delay overtakes one that left before it;
    /// otherwise it waits for that one.
    pub overtaking: bool,
}

/// A span of time, counted from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Period {
    /// Start, inclusive.
    pub from: Duration,
    /// End, exclusive.
    pub until: Duration,
}

impl Period {
    /// Returns whether `now` lies within the period.
    #[must_use]
    pub fn contains(&self, now: Instant) -> bool {
        let since = now.saturating_since(Instant::ZERO);
        self.from <= since && since < self.until
    }
}

/// One direction of one link, router port or emulator.
///
/// A wire packet meets, in this order: middlebox and bleaching; the loss models, the policer,
/// corruption, the random mark and the duplication; the hold limit; the tail-drop queue and its
/// marking threshold; the serializer (rate and packet ceiling); the delay line,
/// with extra delay when it is reordered. The default has none of all this: a
/// wire of no length.
///
/// Marks strike packets whose transport speaks ECN, and only those that find
/// room. Others pass unmarked until the queue is full: a hop that wants to
/// drop them early has a loss model for it.
///
/// Loss strikes at the *entrance*, before the queue: a lost packet takes
/// neither room nor service time. For loss on the line behind a bottleneck
/// (frames that were sent and arrive broken) put the loss model on a next hop
/// without rate.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct HopConfig {
    /// The element's name, unique in its run: it selects the random streams,
    /// so two hops of one name would lose the same packets.
    pub name: String,
    /// The serializer's rate; none is infinitely fast, [`Rate::ZERO`] stands
    /// still.
    pub rate: Option<Rate>,
    /// What the link adds to each wire packet while it is served, e.g. 38
    /// bytes on Ethernet (preamble 8, header 14, check 4, gap 12). It costs
    /// time but no room: limits and counts are in IP bytes.
    pub link_overhead: Bytes,
    /// The minimum service time of a wire packet: the inverse of a packet
    /// capacity, as of a software emulator or a router's processor. Service
    /// takes the longer of this and the time the rate asks for. The nanosecond
    /// grain matters from some 10 Mpacket/s up (67.2 ns for 64-byte frames at
    /// 10 Gbit/s): there use the rate.
    pub per_packet: Duration,
    /// Propagation from the end of service to the far end.
    pub one_way_delay: Duration,
    /// How the rate changes, if it does.
    pub rate_source: Option<RateSource>,
    /// A token bucket before the serializer.
    pub shaper: Option<Shaper>,
    /// Packets that are served together.
    pub aggregate: Option<Aggregate>,
    /// How the propagation delay changes, if it does.
    pub delay_schedule: Option<Schedule<Duration>>,
    /// How it varies at random.
    pub jitter: Option<Jitter>,
    /// The queue discipline and its settings; by default first in, first out.
    pub queue: QueueConfig,
    /// The most wire packets waiting and in service together; the arriving one
    /// counts. A packet whose service ends at the very instant of an arrival
    /// has made room. None: without limit.
    pub limit_packets: Option<u64>,
    /// The most IP bytes waiting and in service together (a packet in service
    /// counts whole until its last bit has left); counts as
    /// [`HopConfig::limit_packets`] does.
    pub limit_bytes: Option<Bytes>,
    /// The most wire packets inside the element, those in the delay line
    /// included: the `limit` of the Linux emulator netem. Packets count until
    /// they are handed out, so the driver of the hop collects what is due
    /// before handing in what arrives at the same instant.
    pub hold_limit: Option<u64>,
    /// Loss models, all of which see every wire packet.
    pub loss: Vec<LossModel>,
    /// When the loss models take packets; outside they only count. None: always.
    pub loss_period: Option<Period>,
    /// Models that corrupt packets instead of taking them; [`HopConfig::loss_period`] is
    /// not theirs. A damaged packet has its place in queue and service as any other, and
    /// the receiving host drops it: a checksum fails there.
    pub corrupt: Vec<LossModel>,
    /// A rate beyond which packets are dropped without a queue, or two. What a loss
    /// model takes costs no tokens; a copy needs none.
    pub policer: Option<Policer>,
    /// A filter that lets fewer ACKs through.
    pub ack_filter: Option<AckFilter>,
    /// Displacement of single packets.
    pub reorder: Option<Reorder>,
    /// The probability that a wire packet which is not lost is followed by a copy
    /// of itself. The copy queues as a packet of its own, may find no room,
    /// and is neither lost to a model, corrupted, reordered nor copied a second time.
    pub duplicate: Option<Probability>,
    /// Marking by backlog.
    pub mark_above: Option<MarkAbove>,
    /// The probability that a wire packet is marked, whatever the backlog.
    pub mark: Option<Probability>,
    /// Whether the ECN field of every packet is cleared on arrival.
    pub ecn_bleach: bool,
    /// Whether it answers requests for Quick-Start (RFC 4782).
    pub quick_start: bool,
    /// A middlebox that changes segments with SYN on arrival, before anything else.
    pub middlebox: Option<Middlebox>,
    /// Octets of the largest IP packet the element takes; larger ones are
    /// dropped as they arrive, before anything else happens to them. None:
    /// any size.
    pub mtu: Option<Bytes>,
    /// Whether what is larger is cut into fragments instead, as far as it may be: IPv4
    /// without DF. Each fragment then is a wire packet.
    pub fragments: bool,
    /// Whether the sender of a packet that is too large is notified (RFC 1191
    /// section 4). The element only drops; notification is the work of the
    /// driver.
    pub tells_too_big: bool,
    /// How super-packets leave.
    pub release: Release,
}

impl HopConfig {
    /// Whether a hop can be built from this.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, see [`ConfigError`].
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
        match self.aggregate {
            Some(Aggregate { packets: 0, .. }) => Err(ConfigError::AggregateOfNone),
            _ => Ok(()),
        }
    }

    /// The rate that its queue is measured by: its own, a shaper's if that is less, or
    /// the mean of its trace.
    #[must_use]
    pub fn nominal_rate(&self) -> Option<Rate> {
        let own = match &self.rate_source {
            Some(RateSource::Trace(trace)) => Some(Rate::from_bps(trace.mean_bps())),
            Some(RateSource::Schedule(_)) | None => self.rate,
        };
        let shaped = self.shaper.map(|shaper| shaper.rate);
        own.into_iter().chain(shaped).min()
    }

    /// Whether nothing ever waits before this link: it has no rate of any kind.
    #[must_use]
    pub fn never_queues(&self) -> bool {
        self.rate.is_none()
            && self.rate_source.is_none()
            && self.per_packet.is_zero()
            && self.shaper.is_none()
            && self.aggregate.is_none()
    }

    /// Whether departures are known on arrival: a fixed rate and delay, first in,
    /// first out.
    #[must_use]
    pub fn is_closed_form(&self) -> bool {
        self.rate_source.is_none()
            && self.shaper.is_none()
            && self.aggregate.is_none()
            && self.delay_schedule.is_none()
            && self.jitter.is_none()
            && self.ack_filter != Some(AckFilter::Queue)
            && !self.quick_start
            && self.queue.is_fifo()
    }
}

/// Why a hop cannot be built.
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
    /// A schedule that goes back in time or stands still.
    ScheduleNotAscending,
    /// A schedule that begins anew before its last step.
    SchedulePeriod,
    /// Groups of no packets.
    AggregateOfNone,
    /// Settings of a queue discipline that cannot be together.
    QueueSettings(&'static str),
    /// An ACK filter with period zero.
    AckFilterPeriodZero,
    /// A shared medium without a rate.
    MediumStandsStill,
    /// A shared medium on which a collision may be heard too late.
    MediumTooLong,
    /// A route over a link that does not exist.
    NoSuchLink,
    /// A route whose answers have no route, or leave it at a link it does not have.
    NoWayBack,
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
            Self::AckFilterPeriodZero => "an ACK filter lets every n-th pass, n being 1 or more",
            Self::MediumStandsStill => "a shared medium needs a rate",
            Self::MediumTooLong => {
                "a shared medium must be short enough for a collision to be heard in 512 bit times"
            }
            Self::NoSuchLink => "a route needs links that exist",
            Self::NoWayBack => {
                "the answers to a route need a route that exists and for each link a place on it"
            }
            Self::RouteTooLong => "a route has 255 links at most",
            Self::TooManyRoutes => "flows have 32767 different pairs of routes at most",
        })
    }
}

impl core::error::Error for ConfigError {}
