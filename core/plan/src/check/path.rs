//! Reads `[path]` and everything else made of hops.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_path::{
    AckFilter, Aggregate, HopConfig, LossModel, MarkAbove, Period, Policer, RateSource, Reorder,
    Shaper, TRACE_OVERHEAD,
};
use gigatcp_units::{Bytes, Duration, Rate};

use super::{ethernet, section};
use crate::diagnostic::{Diagnostic, Findings, Place};
use crate::keys;
use crate::link_text;
use crate::model::{Ethernet, sum};
use crate::quantity::{self, QueueLimit};
use crate::reader::Reader;

/// A hop whose queue limit is not yet final: a BDP depends on all delays.
pub(crate) struct Hop {
    config: HopConfig,
    queue_limit: Option<QueueLimit>,
    name_place: Place,
    queue_limit_place: Place,
    /// Place of the marking threshold. `None`: it does not mark.
    mark_place: Option<Place>,
    burst_place: Place,
}

impl Hop {
    pub(crate) fn renamed(mut self, name: String) -> Self {
        self.config.name = name;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) const fn name_place(&self) -> &Place {
        &self.name_place
    }

    pub(crate) const fn delay(&self) -> Duration {
        self.config.one_way_delay
    }
}

/// Everything between the two TCPs.
#[derive(Default)]
pub(crate) struct Path {
    pub(crate) forward: Vec<HopConfig>,
    pub(crate) reverse: Vec<HopConfig>,
    pub(crate) ethernet: Option<Ethernet>,
    pub(crate) sender_link: Option<HopConfig>,
    pub(crate) receiver_link: Option<HopConfig>,
    /// Sum of all delays.
    pub(crate) rtt: Duration,
    /// Places of marking thresholds on the forward and on the reverse path.
    pub(crate) marks: [Vec<Place>; 2],
}

/// Longer than any run.
const FOREVER: Duration = Duration::from_nanos(u64::MAX);

/// Minimum default queue limit of a bottleneck, in packets. It applies where the bandwidth-delay
/// product is smaller.
const MIN_DEFAULT_QUEUE: u64 = 100;

/// Bytes that Ethernet adds to a packet: preamble 8, header 14, FCS 4, gap 12.
const ETHERNET_OVERHEAD: u32 = 38;

/// Reads `[path]` and computes all queue limits.
pub(crate) fn path(plan: &Reader, links: [Option<Hop>; 2], mtu: u32) -> Path {
    let reader = section(plan, "path", &keys::PATH);
    if let Some(key) = keys::PLAN.find("path").filter(|_| !plan.has("path")) {
        plan.report_missing(key);
    }
    let has_hops = reader.has("forward") || reader.has("reverse");
    let ethernet = ethernet::ethernet(&reader, mtu);
    let (forward, reverse) = if ethernet.is_some() {
        (Vec::new(), Vec::new())
    } else if has_hops {
        (hops(&reader, "forward"), hops(&reader, "reverse"))
    } else {
        shorthand(plan, &reader)
    };
    if has_hops && ethernet.is_none() {
        check_hops_alone(&reader);
    }
    let [sender_link, receiver_link] = links.map(Vec::from_iter);
    let chains = [forward, reverse, sender_link, receiver_link];
    check_names(&chains, reader.findings());
    let delays = chains.iter().flatten().map(|hop| hop.config.one_way_delay);
    let medium = ethernet
        .iter()
        .map(|ethernet| ethernet.medium.delay.saturating_mul(2));
    let rtt = sum(delays.chain(medium));
    let places = |hops: [&Vec<Hop>; 2]| -> Vec<Place> {
        hops.into_iter()
            .flatten()
            .filter_map(|hop| hop.mark_place.clone())
            .collect()
    };
    let marks = [
        places([&chains[0], &chains[2]]),
        places([&chains[1], &chains[3]]),
    ];
    // Only data packets are full-sized, and only on the forward path.
    let with_limits = |chain: Vec<Hop>, carries_data: bool| -> Vec<HopConfig> {
        let context = QueueLimitContext {
            rtt,
            mtu,
            carries_data,
            findings: reader.findings(),
        };
        chain
            .into_iter()
            .map(|hop| context.with_limits(hop))
            .collect()
    };
    let [forward, reverse, sender_link, receiver_link] = chains;
    Path {
        forward: with_limits(forward, true),
        reverse: with_limits(reverse, false),
        ethernet,
        sender_link: with_limits(sender_link, true).pop(),
        receiver_link: with_limits(receiver_link, false).pop(),
        rtt,
        marks,
    }
}

/// Reads `rate` and `rtt` in place of hops. The hops are a bottleneck and a reverse path of equal
/// rate.
fn shorthand(plan: &Reader, reader: &Reader) -> (Vec<Hop>, Vec<Hop>) {
    if plan.has("path") {
        for name in ["rate", "rtt"] {
            let has_trace = name == "rate" && reader.has("rate_trace");
            let key = keys::PATH.find(name);
            if let Some(key) = key.filter(|key| !has_trace && !reader.has(key.name)) {
                reader.report_missing(key);
            }
        }
    }
    let rtt = reader.time("rtt").unwrap_or(Duration::ZERO);
    let mut there = hop(reader, "bottleneck");
    there.config.one_way_delay = rtt.saturating_sub(rtt / 2);
    let back = Hop {
        config: HopConfig {
            name: "reverse".to_owned(),
            rate: there.config.rate,
            link_overhead: there.config.link_overhead,
            one_way_delay: rtt / 2,
            // A middlebox sees both SYNs of a connection.
            middlebox: there.config.middlebox,
            ..HopConfig::default()
        },
        queue_limit: Some(QueueLimit::Unlimited),
        name_place: there.name_place.clone(),
        queue_limit_place: there.queue_limit_place.clone(),
        mark_place: None,
        burst_place: there.burst_place.clone(),
    };
    (vec![there], vec![back])
}

/// Rejects other keys of a path of hops.
fn check_hops_alone(reader: &Reader) {
    let list = if reader.has("forward") {
        "forward"
    } else {
        "reverse"
    };
    for entry in reader.entries() {
        let is_list = ["forward", "reverse"].contains(&entry.key.as_str());
        if !is_list && keys::PATH.find(&entry.key).is_some() {
            let why = "a path is one bottleneck or a list of hops";
            reader.report_conflict(&entry.key, list, why);
        }
    }
}

/// Reads the hops of one direction; reports it if missing or empty.
fn hops(reader: &Reader, direction: &'static str) -> Vec<Hop> {
    let tables = reader.tables(direction).unwrap_or(&[]);
    if tables.is_empty() {
        let message = format!("the path has no hops in the direction `{direction}`");
        Diagnostic::error(reader.place_of(direction), message)
            .label("a path of hops needs both directions")
            .hint(format!("[[path.{direction}]] with rate and delay"))
            .report(reader.findings());
    }
    let readers = tables
        .iter()
        .filter_map(|value| Reader::of_value(&keys::HOP, value, reader.findings()));
    let named = readers.zip(1..);
    named
        .map(|(reader, n)| hop(&reader, &format!("{direction}-{n}")))
        .collect()
}

/// Reads the keys of a hop, from its table or from `[path]`.
pub(crate) fn hop(reader: &Reader, name: &str) -> Hop {
    let is_table = reader.knows("delay");
    let given_name = if is_table { reader.name("name") } else { None };
    let delay = if is_table { reader.time("delay") } else { None };
    let per_packet = reader.packet_rate("packet_rate").map(service_time);
    let overhead = match reader.has("rate_trace") {
        true => TRACE_OVERHEAD as u32,
        false => ETHERNET_OVERHEAD,
    };
    let config = HopConfig {
        name: given_name.unwrap_or_else(|| name.to_owned()),
        rate: reader.rate("rate"),
        link_overhead: Bytes::new(u64::from(
            reader.octets("link_overhead").unwrap_or(overhead),
        )),
        per_packet: per_packet.unwrap_or(Duration::ZERO),
        one_way_delay: delay.unwrap_or(Duration::ZERO),
        rate_source: rate_source(reader),
        shaper: shaper(reader),
        aggregate: aggregate(reader),
        delay_schedule: reader.parsed("delay_schedule", link_text::schedule),
        jitter: reader.parsed("jitter", link_text::jitter),
        slot: reader.parsed("slot", link_text::slot),
        hold_limit: reader.whole("hold_limit"),
        loss: losses(reader),
        corrupt: corruptions(reader),
        loss_period: loss_period(reader),
        policer: policer(reader),
        reorder: reorder(reader),
        ack_filter: reader.parsed("ack_filter", link_text::ack_filter),
        duplicate: reader.probability("duplicate"),
        mark_above: reader.parsed("mark_above", quantity::threshold),
        mark: reader.probability("mark").filter(|p| p.as_f64() > 0.0),
        ecn_bleach: reader.flag("ecn_bleach").unwrap_or(false),
        quick_start: reader.flag("quick_start").unwrap_or(false),
        middlebox: reader.parsed("middlebox", link_text::middlebox),
        mtu: reader
            .octets("mtu")
            .map(|octets| Bytes::new(u64::from(octets))),
        fragments: reader.flag("fragment").unwrap_or(false),
        notifies_too_big: reader.flag("icmp").unwrap_or(true),
        ..HopConfig::default()
    };
    check_marks(reader, &config);
    check_icmp(reader, &config);
    check_changes(reader, &config);
    check_slot(reader, &config);
    let queue = reader.parsed("queue", link_text::queue);
    let queue_limit = match &queue {
        None if is_table => Some(QueueLimit::Unlimited),
        None => None,
        // A discipline without a queue limit in the plan has a default limit.
        Some(queue) => Some(queue.limit.unwrap_or(QueueLimit::Unlimited)),
    };
    let config = HopConfig {
        queue: queue.map(|queue| queue.config).unwrap_or_default(),
        ..config
    };
    check_queue(reader, &config);
    Hop {
        queue_limit,
        name_place: reader.place_of_value("name").clone(),
        queue_limit_place: reader.place_of_value("queue").clone(),
        mark_place: marking_key(&config).map(|key| reader.place_of_value(key).clone()),
        burst_place: reader.place_of_value("policer_burst").clone(),
        config,
    }
}

/// Inverse of a packet rate, to the nearest nanosecond.
fn service_time(packets_per_second: u64) -> Duration {
    const SECOND: u64 = 1_000_000_000;
    let rate = packets_per_second.max(1);
    Duration::from_nanos((SECOND + rate / 2) / rate)
}

fn losses(reader: &Reader) -> Vec<LossModel> {
    let is_limited = reader.has("loss_from") || reader.has("loss_until");
    let keys = ["loss", "lose_every", "lose_packets", "loss_burst"];
    let certain = (!is_limited).then_some("every packet is lost");
    models(reader, keys, certain)
}

fn corruptions(reader: &Reader) -> Vec<LossModel> {
    let keys = [
        "corrupt",
        "corrupt_every",
        "corrupt_packets",
        "corrupt_burst",
    ];
    models(reader, keys, Some("every packet is damaged"))
}

/// Loss models of four keys: probability, period, list and bursts. `certain` is the warning for a
/// probability of 1.
fn models(
    reader: &Reader,
    [random, every, packets, burst]: [&str; 4],
    certain: Option<&str>,
) -> Vec<LossModel> {
    let probability = reader.probability(random);
    if let Some(message) = certain
        && probability.is_some_and(|p| p.as_f64() == 1.0)
    {
        Diagnostic::warning(reader.place_of_value(random), message)
            .label("nothing arrives")
            .effect("no flow can open")
            .report(reader.findings());
    }
    let random = probability
        .filter(|p| p.as_f64() > 0.0)
        .map(LossModel::Bernoulli);
    let periodic = reader
        .whole(every)
        .map(|every| LossModel::Periodic { every });
    let listed = reader.numbers(packets).map(LossModel::Listed);
    let bursts = reader
        .parsed(burst, link_text::bursts)
        .map(LossModel::GilbertElliott);
    let all = [random, periodic, listed, bursts];
    all.into_iter().flatten().collect()
}

/// Period in which the losses of a hop occur. `None`: always.
fn loss_period(reader: &Reader) -> Option<Period> {
    let (from, until) = (reader.time("loss_from"), reader.time("loss_until"));
    let key = ["loss_from", "loss_until"]
        .into_iter()
        .find(|key| reader.has(key))?;
    let losses = ["loss", "lose_every", "lose_packets", "loss_burst"];
    if !losses.into_iter().any(|loss| reader.has(loss)) {
        let message = format!("`{key}` has no effect on a hop without losses");
        Diagnostic::warning(reader.place_of(key), message)
            .label("no packet is lost")
            .report(reader.findings());
    }
    let period = Period {
        from: from.unwrap_or(Duration::ZERO),
        until: until.unwrap_or(FOREVER),
    };
    if period.until <= period.from {
        let (from, until) = (period.from, period.until);
        let message = format!("losses from {from} until {until} last no time");
        Diagnostic::error(reader.place_of_value(key), message)
            .label("the end is not after the start")
            .hint("let `loss_until` be later than `loss_from`")
            .report(reader.findings());
    }
    Some(period)
}

/// Rejects one key of a pair without the other.
pub(super) fn check_pair(reader: &Reader, pair: [&str; 2]) {
    for (key, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
        if reader.has(key) && !reader.has(other) {
            report_idle(reader, key, other);
        }
    }
}

/// Rejects a key that has no effect without another.
fn report_idle(reader: &Reader, key: &str, other: &str) {
    let message = format!("`{key}` does nothing without `{other}`");
    Diagnostic::error(reader.place_of(key), message)
        .label(format!("`{other}` is needed with it"))
        .report(reader.findings());
}

fn policer(reader: &Reader) -> Option<Policer> {
    check_pair(reader, ["policer", "policer_burst"]);
    let rate = reader.rate("policer")?;
    let burst = reader.amount("policer_burst")?;
    Some(Policer { rate, burst })
}

fn rate_source(reader: &Reader) -> Option<RateSource> {
    let mut others = ["rate", "rate_schedule", "packet_rate"]
        .into_iter()
        .filter(|key| reader.has(key));
    if reader.has("rate_trace")
        && let Some(other) = others.next()
    {
        reader.report_conflict("rate_trace", other, "the trace says when packets leave");
        return None;
    }
    let schedule = reader
        .parsed("rate_schedule", link_text::schedule)
        .map(RateSource::Schedule);
    schedule.or_else(|| reader.trace("rate_trace").map(RateSource::Trace))
}

fn shaper(reader: &Reader) -> Option<Shaper> {
    check_pair(reader, ["shaper", "shaper_burst"]);
    let rate = reader.rate("shaper")?;
    let burst = reader.amount("shaper_burst")?;
    Some(Shaper { rate, burst })
}

fn aggregate(reader: &Reader) -> Option<Aggregate> {
    check_pair(reader, ["aggregate", "aggregate_overhead"]);
    let packets = reader.whole("aggregate")?;
    let overhead = reader.time("aggregate_overhead")?;
    Some(Aggregate {
        packets: u32::try_from(packets).unwrap_or(u32::MAX),
        overhead,
    })
}

/// Rejects a schedule for a rate or a delay that the hop does not have.
fn check_changes(reader: &Reader, config: &HopConfig) {
    let is_scheduled = matches!(config.rate_source, Some(RateSource::Schedule(_)));
    if is_scheduled && config.rate.is_none() {
        let place = reader.place_of("rate_schedule");
        let message = "`rate_schedule` needs a `rate` for the time before its first moment";
        Diagnostic::error(place, message)
            .label("and before that?")
            .hint("add rate = \"10 Mbit/s\"")
            .report(reader.findings());
    }
}

/// Rejects slots behind a delay that lets packets overtake.
fn check_slot(reader: &Reader, config: &HopConfig) {
    let overtakes = config.jitter.is_some_and(|jitter| jitter.overtaking);
    let why = "packets of a slot keep their order";
    if config.slot.is_some() && overtakes {
        reader.report_conflict("slot", "jitter", why);
    }
    if config.slot.is_some() && config.reorder.is_some() {
        reader.report_conflict("slot", "reorder", why);
    }
}

/// Rejects a discipline or an ACK filter on a hop without a queue.
fn check_queue(reader: &Reader, config: &HopConfig) {
    if config.never_queues() && config.ack_filter == Some(AckFilter::Queue) {
        let message = "the ACK filter has nothing to do: without a rate nothing ever waits";
        Diagnostic::error(reader.place_of_value("ack_filter"), message)
            .label("no ACK finds an older one in a queue")
            .hint("give the hop a rate, or use \"every 4\"")
            .report(reader.findings());
    }
    if config.never_queues() && !config.queue.is_fifo() {
        let name = config.queue.discipline.name;
        let message = format!("`{name}` has nothing to do: without a rate nothing ever waits");
        Diagnostic::error(reader.place_of_value("queue"), message)
            .label("no packet is ever queued")
            .hint("give the hop a rate, a packet_rate or a shaper")
            .report(reader.findings());
    }
}

fn reorder(reader: &Reader) -> Option<Reorder> {
    check_pair(reader, ["reorder", "reorder_delay"]);
    let probability = reader.probability("reorder")?;
    let extra_delay = reader.time("reorder_delay")?;
    Some(Reorder {
        probability,
        extra_delay,
    })
}

/// Key by which a hop marks packets, if it does.
fn marking_key(config: &HopConfig) -> Option<&'static str> {
    let has_queue = config.rate.is_some() || !config.per_packet.is_zero();
    if config.ecn_bleach {
        None
    } else if config.mark_above.is_some() && has_queue {
        Some("mark_above")
    } else {
        config.mark.map(|_| "mark")
    }
}

/// Reports marking keys that can mark no packet.
fn check_marks(reader: &Reader, config: &HopConfig) {
    let has_no_queue = config.rate.is_none() && config.per_packet.is_zero();
    if has_no_queue && reader.has("mark_above") {
        let message = "`mark_above` needs a queue, and without a rate nothing ever waits";
        Diagnostic::error(reader.place_of("mark_above"), message)
            .label("no packet would be marked")
            .hint("give the hop a rate or a packet_rate, or use `mark`")
            .report(reader.findings());
    }
    for key in ["mark_above", "mark"] {
        if config.ecn_bleach && reader.has(key) {
            let message = format!("`{key}` does nothing on a hop with `ecn_bleach`");
            Diagnostic::warning(reader.place_of(key), message)
                .label("the ECN field is cleared before")
                .effect("no packet is marked")
                .report(reader.findings());
        }
    }
}

/// Warns about ICMP keys on a hop without an MTU, which sends no ICMP errors.
fn check_icmp(reader: &Reader, config: &HopConfig) {
    if config.mtu.is_none() && reader.has("fragment") {
        let message = "`fragment` does nothing on a hop without `mtu`";
        Diagnostic::warning(reader.place_of("fragment"), message)
            .label("every packet fits")
            .effect("no packet is ever cut")
            .report(reader.findings());
    }
    if config.mtu.is_none() && reader.has("icmp") {
        let message = "`icmp` does nothing on a hop without `mtu`";
        Diagnostic::warning(reader.place_of("icmp"), message)
            .label("every packet fits")
            .effect("no ICMP error is ever sent")
            .report(reader.findings());
    }
}

/// Rejects two hops with one name. Names select random streams, so both would lose the same
/// packets.
fn check_names(chains: &[Vec<Hop>], findings: &Findings) {
    let mut seen: BTreeMap<&String, &Place> = BTreeMap::new();
    for hop in chains.iter().flatten() {
        let (name, place) = (&hop.config.name, &hop.name_place);
        if let Some(first) = seen.insert(name, place) {
            Diagnostic::error(place, format!("two hops are called `{name}`"))
                .label("a second one")
                .related(first, "the first one")
                .effect("both would draw from one random stream and lose the same packets")
                .report(findings);
        }
    }
}

/// Inputs for turning the queue limit in a plan into limits in bytes or packets.
pub(crate) struct QueueLimitContext<'a> {
    pub(crate) rtt: Duration,
    pub(crate) mtu: u32,
    pub(crate) carries_data: bool,
    pub(crate) findings: &'a Findings<'a>,
}

impl QueueLimitContext<'_> {
    pub(crate) fn with_limits(&self, hop: Hop) -> HopConfig {
        let mut config = hop.config;
        match hop.queue_limit {
            Some(QueueLimit::Unlimited) => {}
            Some(QueueLimit::Packets(packets)) => {
                self.check_packets(packets, &hop.queue_limit_place);
                config.limit_packets = Some(packets);
            }
            Some(QueueLimit::Bytes(limit)) => {
                self.check_bytes(limit, &hop.queue_limit_place);
                config.limit_bytes = Some(limit);
            }
            Some(QueueLimit::MilliBdp(share)) => {
                let limit = self.bdp(config.nominal_rate(), share, &hop.queue_limit_place);
                if let Some(limit) = limit {
                    self.check_bytes(limit, &hop.queue_limit_place);
                }
                config.limit_bytes = limit;
            }
            None => {
                let least = Bytes::new(MIN_DEFAULT_QUEUE * u64::from(self.mtu));
                let bdp = config.nominal_rate().map(|rate| rate.amount_in(self.rtt));
                config.limit_bytes = bdp.map(|bdp| bdp.max(least));
            }
        }
        if let Some(place) = &hop.mark_place {
            self.check_threshold(&config, place);
        }
        if let Some(policer) = config.policer {
            self.check_burst(policer.burst, &hop.burst_place);
        }
        config
    }

    /// Warns about a burst smaller than a packet: no full-sized packet would pass.
    fn check_burst(&self, burst: Bytes, place: &Place) {
        if self.carries_data && burst < Bytes::new(u64::from(self.mtu)) {
            let message = format!(
                "the policer's burst is smaller than a packet of {} B",
                self.mtu
            );
            Diagnostic::warning(place, message)
                .label("the maximum number of tokens")
                .effect("no full segment ever passes")
                .report(self.findings);
        }
    }

    /// Reports a queue whose limit is not above its marking threshold: it drops instead.
    fn check_threshold(&self, config: &HopConfig, place: &Place) {
        let full_before = match config.mark_above {
            Some(MarkAbove::Bytes(threshold)) => {
                config.limit_bytes.is_some_and(|limit| limit <= threshold)
            }
            Some(MarkAbove::Packets(threshold)) => {
                config.limit_packets.is_some_and(|limit| limit <= threshold)
            }
            Some(MarkAbove::Sojourn(_)) | None => false,
        };
        if full_before {
            let message = "the queue is full before it marks";
            Diagnostic::warning(place, message)
                .label("not less than `queue`")
                .effect("packets are dropped and none is marked")
                .hint("a threshold below the room of the queue")
                .report(self.findings);
        }
    }

    fn check_packets(&self, packets: u64, place: &Place) {
        if packets == 0 {
            Diagnostic::error(place, "a queue of 0 packets lets nothing through")
                .label("1 packet is the packet being served")
                .hint("\"1 packet\" or more")
                .report(self.findings);
        }
    }

    fn check_bytes(&self, limit: Bytes, place: &Place) {
        let least = if self.carries_data {
            u64::from(self.mtu)
        } else {
            1
        };
        if limit.as_u64() < least {
            Diagnostic::error(place, format!("a queue of {limit} is less than one packet"))
                .label(format!("the MTU is {} bytes", self.mtu))
                .effect("every full-sized packet would be dropped")
                .hint("a queue counts the packet being served; say \"100 packets\" or more")
                .report(self.findings);
        }
    }

    /// Thousandths of the bandwidth-delay product.
    fn bdp(&self, rate: Option<Rate>, share: u64, place: &Place) -> Option<Bytes> {
        let Some(rate) = rate else {
            Diagnostic::error(place, "a BDP needs a rate, and this hop has none")
                .label("rate times round-trip time of what rate?")
                .hint("give the hop a rate, or its queue in packets or bytes")
                .report(self.findings);
            return None;
        };
        let bdp = u128::from(rate.amount_in(self.rtt).as_u64()) * u128::from(share) / 1000;
        let bdp = u64::try_from(bdp).unwrap_or(u64::MAX);
        Some(Bytes::new(bdp))
    }
}
