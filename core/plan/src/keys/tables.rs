//! The tables of a plan and their keys: the only place where they are listed.
//!
//! Each key has two lines: `key = example, meaning:` as typed, then the kind of its value and its
//! default.

use gigatcp_path::Checksum;
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_units::{Bytes, Duration, Rate};

use super::Fallback::{Is, Required};
use super::{Key, KeyTable, Kind};
use crate::model::Stack;

macro_rules! keys {
    ($($name:ident = $example:literal, $summary:literal: $kind:expr, $default:expr;)*) => {
        &[$(Key {
            name: stringify!($name),
            kind: $kind,
            default: $default,
            example: $example,
            summary: $summary,
        }),*]
    };
}

const DAY: Duration = Duration::from_secs(86_400);
const ANY_TIME: Kind = Kind::Time(Duration::ZERO, DAY);
const SOME_TIME: Kind = Kind::Time(Duration::from_nanos(1), DAY);
const COST: Kind = Kind::Time(Duration::ZERO, Duration::from_secs(1));
const ANY_RATE: Kind = Kind::Rate(Rate::from_bps(1), Rate::from_bps(100_000_000_000_000));
/// RFC 7323 section 2.3: no window is larger than 2^30 bytes.
const BUFFER: Kind = Kind::Buffer(Bytes::new(1), Bytes::new(1 << 30));
/// Higher rates are distorted by service times in whole nanoseconds.
const PACKET_RATE: Kind = Kind::PacketRate(1, 10_000_000);

/// Maximum flows of a plan, and of one `[[flow]]`.
pub const MAX_FLOWS: u64 = 10_000;
/// Maximum flows of all series of a plan together.
pub const MAX_FLOWS_IN_ALL: usize = 200_000;
/// Maximum series of a plan.
pub const MAX_SERIES: usize = 1_000;
/// Maximum intervals or samples of a flow.
pub const MAX_RECORDS: u64 = 10_000_000;

/// The top of the plan.
pub const PLAN: KeyTable = KeyTable {
    heading: "the top of the plan",
    summary: "what it is called and how often it runs",
    groups: &[keys! {
        name = r#""long-path""#, "what results are filed under":
            Kind::Name, Required;
        title = r#""A long path""#, "one line for people":
            Kind::Text, Is("the name");
        description = r#""Why ...""#, "what the plan is to show":
            Kind::Text, Is("none");
        claims = r#"["E43"]"#, "ids of the published claims it tests":
            Kind::Texts, Is("none");
        fitted = r#"["sender.cpu"]"#, "inputs of all series that were chosen to match what was published, or []; required with `claims`":
            Kind::Texts, Is("none");
        seed = "7", "root of every random stream":
            Kind::Whole(0, u64::MAX), Is("1");
        repeat = "5", "runs per series, each with its own seed":
            Kind::Whole(1, 10_000), Is("1");
        duration = r#""60 s""#, "the run ends at the latest then; flows that say nothing run as long":
            SOME_TIME, Is("60 s after each flow's end, 1 h after its start where it ends by bytes");
        ip = r#""ipv6""#, "version of IP: headers, minimum MTU, ICMP messages":
            Kind::OneOf(&["ipv4", "ipv6"]), Is("ipv4");
        path = r#"{ rate = "1 Gbit/s", rtt = "20 ms" }"#, "what lies between the hosts":
            Kind::Table("[path]"), Is("required without [[link]]");
        node = r#"{ name = "a", mtu = 9000 }"#, "hosts by name, for flows from one node to another":
            Kind::Tables("[[node]]"), Is("none");
        link = r#"{ from = "a", to = "b", rate = "1 Gbit/s" }"#, "links between nodes, in place of path":
            Kind::Tables("[[link]]"), Is("none");
        sender = "{ mtu = 9000 }", "the host that sends data":
            Kind::Table("[sender] and [receiver]"), Is("{}");
        receiver = "{ mtu = 9000 }", "the host that receives data":
            Kind::Table("[sender] and [receiver]"), Is("{}");
        flow = r#"{ duration = "10 s" }"#, "the connections":
            Kind::Tables("[[flow]]"), Is("one flow, all default");
        tester = r#"{ interval = "1 s" }"#, "how throughput is reported":
            Kind::Table("[tester]"), Is("{}");
        record = r#"{ sample = "10 ms" }"#, "what is recorded in addition to throughput":
            Kind::Table("[record]"), Is("{}");
        series = r#"{ name = "a", set = {} }"#, "variations of the plan":
            Kind::Tables("[[series]]"), Is("one, named as the plan");
        sweep = r#"{ over = ["path.rtt=10 ms,20 ms"] }"#, "what `gigatcp sweep` varies":
            Kind::Table("[sweep]"), Is("what --over says");
    }],
    has_settings: false,
};

/// Impairments of a hop, also keys of `[path]`.
const IMPAIRMENTS: &[Key] = keys! {
    link_overhead = "38", "bytes the link adds to each packet while it is served":
        Kind::Octets(0, 10_000), Is("38, as Ethernet adds");
    packet_rate = r#""130600 packet/s""#, "most packets served per second, whatever their size":
        PACKET_RATE, Is("no ceiling");
    hold_limit = "20000", "most packets inside, with those in propagation, as the `limit` of netem":
        Kind::Whole(1, 1_000_000_000), Is("no limit; 1000 with a `slot` that limits packets or bytes");
    loss = r#""1e-5""#, "probability that a packet is lost, independently":
        Kind::Probability, Is("0");
    lose_every = "100000", "every n-th packet is lost":
        Kind::Whole(1, u64::MAX), Is("none");
    lose_packets = "[1000, 1001]", "these packets are lost, counted from 1 as they arrive":
        Kind::Numbers, Is("none");
    loss_burst = r#""0.01:4""#, "share of packets lost, and how many in a row on average":
        Kind::Bursts, Is("none");
    loss_from = r#""2 s""#, "start of the time in which packets are lost (needs a loss)":
        ANY_TIME, Is("0 s");
    loss_until = r#""3 s""#, "end of that time":
        SOME_TIME, Is("the end of the run");
    corrupt = r#""1e-6""#, "probability that a packet is damaged; its receiver finds the checksum wrong and drops it":
        Kind::Probability, Is("0");
    corrupt_every = "100000", "every n-th packet is damaged":
        Kind::Whole(1, u64::MAX), Is("none");
    corrupt_packets = "[1000, 1001]", "these packets are damaged, counted from 1 as they arrive":
        Kind::Numbers, Is("none");
    corrupt_burst = r#""0.001:4""#, "share of packets damaged, and how many in a row on average":
        Kind::Bursts, Is("none");
    reorder = r#""1e-4""#, "probability that a packet is reordered (needs reorder_delay)":
        Kind::Probability, Is("0");
    reorder_delay = r#""1 ms""#, "by how much it comes late":
        SOME_TIME, Is("none");
    rate_schedule = r#""10 s: 1 Mbit/s, 20 s: 5 Mbit/s""#, "the rate from each moment on; before the first, `rate`":
        Kind::Rates, Is("none");
    rate_trace = r#""lte.trace""#, "file of the moments at which packets may leave, in place of a rate":
        Kind::Trace, Is("none");
    delay_schedule = r#""15 s: 60 ms, 30 s: 35 ms""#, "the one-way delay from each moment on":
        Kind::Delays, Is("none");
    jitter = r#""2 ms""#, "by how much delays vary at random":
        Kind::Jitter, Is("none");
    slot = r#""10 ms..30 ms, packets 32""#, "packets come out together in slots: this long after one is due, or after a full slot (`packets`, `bytes`: most in one)":
        Kind::Slot, Is("none");
    shaper = r#""80 Mbit/s""#, "rate of the tokens that packets wait for (needs shaper_burst)":
        ANY_RATE, Is("none");
    shaper_burst = r#""256 KiB""#, "what may leave at once beyond that rate":
        Kind::Amount(Bytes::new(68), Bytes::new(1 << 40)), Is("none");
    aggregate = "64", "most packets served together, as Wi-Fi does (needs aggregate_overhead)":
        Kind::Whole(1, 1_000_000), Is("1");
    aggregate_overhead = r#""200 us""#, "time of each group in addition to its packets":
        COST, Is("0 s");
    policer = r#""80 Mbit/s""#, "rate beyond which packets are dropped, without a queue (needs policer_burst)":
        ANY_RATE, Is("none");
    policer_burst = r#""256 KiB""#, "what may pass at once beyond that rate":
        Kind::Amount(Bytes::new(68), Bytes::new(1 << 40)), Is("none");
    ack_filter = r#""queue""#, "ACKs that a newer one makes redundant are dropped: in the queue (RFC 3449), or all but every n-th":
        Kind::AckFilter, Is("none");
    duplicate = r#""1e-5""#, "probability that a packet is duplicated":
        Kind::Probability, Is("0");
    mark_above = r#""65 packets""#, "backlog beyond which packets that speak ECN are marked (RFC 3168)":
        Kind::Threshold, Is("none");
    mark = r#""1e-4""#, "probability that an ECN-capable packet is marked":
        Kind::Probability, Is("0");
    ecn_bleach = "true", "whether the ECN field of every packet is cleared":
        Kind::Flag, Is("false");
    quick_start = "true", "whether it answers requests for Quick-Start (RFC 4782), see `quick_start` of a host":
        Kind::Flag, Is("false");
    middlebox = r#""mss 1400, no timestamps""#, "what is clamped or cleared on segments with SYN":
        Kind::Middlebox, Is("nothing");
    mtu = "1492", "largest IP packet the link takes; larger ones are dropped":
        Kind::Octets(68, 65_535), Is("any");
    fragment = "true", "whether larger ones are cut into fragments where they may be: IPv4 without DF (needs mtu)":
        Kind::Flag, Is("false");
    icmp = "false", "whether the sender of a larger one is told (needs mtu)":
        Kind::Flag, Is("true");
};

/// The path.
pub const PATH: KeyTable = KeyTable {
    heading: "[path]",
    summary: "what lies between the hosts: rate and rtt, or hops in both directions; \
              impairments here strike data, not ACKs",
    groups: &[
        keys! {
            rate = r#""10 Gbit/s""#, "of the bottleneck and of the reverse path":
                ANY_RATE, Is("none; required without hops");
            rtt = r#""80 ms""#, "round-trip time of the empty path, half in each direction":
                ANY_TIME, Is("none; required without hops");
            queue = r#""1 BDP""#, "queue limit of the bottleneck, or its discipline (the reverse path has no limit)":
                Kind::Queue, Is("1 BDP, at least 100 packets");
            forward = r#"{ delay = "40 ms" }"#, "hops that data cross, in order":
                Kind::Tables("[[path.forward]]"), Is("none");
            reverse = r#"{ delay = "40 ms" }"#, "hops that ACKs cross, in order":
                Kind::Tables("[[path.forward]]"), Is("none");
            ethernet = r#"{ rate = "10 Mbit/s" }"#, "one medium for both directions, in place of all this":
                Kind::Table("[path.ethernet]"), Is("none");
        },
        IMPAIRMENTS,
    ],
    has_settings: false,
};

/// The shared Ethernet of a path or link.
pub const ETHERNET: KeyTable = KeyTable {
    heading: "[path.ethernet], ethernet of [[link]]",
    summary: "half-duplex Ethernet: who hears another waits, who collides tries again \
              (IEEE 802.3 clause 4)",
    groups: &[keys! {
        rate = r#""10 Mbit/s""#, "how fast bits are sent":
            Kind::Rate(Rate::from_bps(1_000_000), Rate::from_bps(1_000_000_000)), Is("10 Mbit/s");
        delay = r#""5 us""#, "from any host to any other; a collision must be heard in 512 bit times":
            ANY_TIME, Is("0 s");
        queue = "50", "packets each host's card queues; one more is dropped":
            Kind::Whole(1, 1_000_000), Is("no limit");
        sender_recovery = r#""1 ms""#, "what a sender's card needs after a collision before its backoff":
            COST, Is("0 s");
        receiver_recovery = r#""1 ms""#, "what the card of a receiver, or of a node at which no flow begins, needs":
            COST, Is("0 s");
    }],
    has_settings: false,
};

/// A hop.
pub const HOP: KeyTable = KeyTable {
    heading: "[[path.forward]], [[path.reverse]], [sender.link], [receiver.link]",
    summary: "one direction of a link, router port or emulator: impairments, queue, \
              serializer, delay",
    groups: &[
        keys! {
            name = r#""netem""#, "unique; it selects the hop's random streams":
                Kind::Name, Is("its place, as forward-1");
        },
        HOP_KEYS,
        IMPAIRMENTS,
    ],
    has_settings: false,
};

/// Common keys of hops and links.
const HOP_KEYS: &[Key] = keys! {
    rate = r#""10 Gbit/s""#, "of the serializer":
        ANY_RATE, Is("infinitely fast");
    delay = r#""40 ms""#, "one way, from the end of service to the far end":
        ANY_TIME, Is("0 s");
    queue = r#""1000 packets""#, "room for packets waiting and in service, or a discipline":
        Kind::Queue, Is("unlimited");
};

/// A host.
pub const HOST: KeyTable = KeyTable {
    heading: "[sender], [receiver]",
    summary: "a host: its TCP, its buffers, its processor and its link",
    groups: &[HOST_KEYS],
    has_settings: true,
};

/// Common keys of hosts.
const HOST_KEYS: &[Key] = keys! {
        stack = r#""kernel""#, "whose TCP it has; the kernel's runs with `--on live` alone":
            Kind::OneOf(&Stack::NAMES), Is(r#""engine""#);
        mtu = "9000", "largest IP packet":
            Kind::Octets(68, 65_535), Is("1500");
        profile = r#""modern""#, "switches and constants of its TCP":
            Kind::Profile, Is(r#""modern""#);
        buffer = r#""60 MiB""#, "socket buffer requested where a flow requests none":
            BUFFER, Is("\"auto\": it fits itself to the path");
        cpu = r#"{ per_packet_sent = "3 us" }"#, "what protocol work costs its processor":
            Kind::Table("[sender.cpu]"), Is("{}");
        coalesce = r#""25 us""#, "shortest time between two interrupts of its network card":
            COST, Is("0 s");
        coalesce_packets = "32", "packets that wait in the card until it interrupts before that time (needs coalesce)":
            Kind::Whole(1, 1_000_000), Is("any number");
        tx_queue = "1000", "packets its network card queues before the host holds back":
            Kind::Whole(1, 1_000_000), Is("1000");
        rings = "{ descriptors = 256, pool = 384 }", "what its network card can receive":
            Kind::Table("[receiver.rings]"), Is("everything");
        backlog = "128", "connections half open at its listening socket, and as many to be accepted; further SYNs are dropped or get cookies":
            Kind::Whole(1, 1_000_000), Is("unlimited");
        clusters = "1024", "buffers of the kernel for what is received and sent; without one packets are dropped and writes wait":
            Kind::Whole(1, 1_000_000_000), Is("unlimited");
        cluster_size = "2048", "bytes in each (needs clusters)":
            Kind::Octets(128, 65_535), Is("2048");
        reader = r#"{ read_size = "8 KiB" }"#, "how its application reads":
            Kind::Table("[receiver.reader]"), Is("{}");
        link = r#"{ rate = "10 Gbit/s" }"#, "what everything it sends crosses first":
            Kind::Table("[[path.forward]]"), Is("none");
};

/// CPU costs of a host.
pub const CPU: KeyTable = KeyTable {
    heading: "[sender.cpu], [receiver.cpu]",
    summary: "what each piece of work costs; declared, never measured by us; and what comes first: interrupts, then protocol work, then applications",
    groups: &[keys! {
        processors = "2", "those beyond receive_queues are for applications alone, which take them in turn":
            Kind::Whole(1, 128), Is("1");
        receive_queues = "2", "receive queues of its network card, each with a processor of its own; the hash of a flow leads to one (RSS)":
            Kind::Whole(1, 128), Is("1");
        per_interrupt = r#""10 us""#, "per interrupt of the network card, however many packets it brings":
            COST, Is("0 s");
        per_packet_interrupt = r#""5 us""#, "per packet taken from the card, in its interrupt":
            COST, Is("0 s");
        per_drop = r#""15 us""#, "per packet that finds no buffer in its rings, for the driver's message (needs rings)":
            COST, Is("0 s");
        polls = "true", "whether the card interrupts once and is then polled while it has packets, as by Linux":
            Kind::Flag, Is("false");
        receive_budget = "5", "packets that a processor handles in a row while an application waits for it":
            Kind::Whole(1, 1_000_000), Is("any number: applications wait until none is left");
        input_queue = "50", "packets that wait for protocol work of a processor; one more is dropped":
            Kind::Whole(1, 1_000_000), Is("no limit");
        per_segment_sent = r#""1 us""#, "per data segment handed down, a super-segment counting once":
            COST, Is("0 s");
        per_packet_sent = r#""3 us""#, "per packet of data sent":
            COST, Is("0 s");
        per_segment_received = r#""1 us""#, "per data segment handed up, a super-segment counting once":
            COST, Is("0 s");
        per_packet_received = r#""3 us""#, "per packet of data received":
            COST, Is("0 s");
        per_ack_sent = r#""1 us""#, "per ACK without data sent":
            COST, Is("0 s");
        per_ack_received = r#""5 us""#, "per ACK without data received":
            COST, Is("0 s");
        per_call = r#""2 us""#, "per read or write of an application, or piece of one":
            COST, Is("0 s");
        per_accept = r#""200 us""#, "per connection accepted, in addition to the call: a process or thread for it (needs backlog)":
            COST, Is("0 s");
        per_byte_copied = r#""450 ps""#, "per byte copied to or from the application":
            Kind::Cost, Is("0 s");
        checksum = r#""apart""#, "where checksums of data are computed: by the card, in a loop apart, in the copy":
            Kind::OneOf(&Checksum::NAMES), Is(r#""card", at no cost"#);
        per_byte_checksummed = r#""130 ps""#, "per byte of data sent or received (needs checksum = \"apart\")":
            Kind::Cost, Is("0 s");
        per_byte_copied_summed = r#""200 ps""#, "in place of per_byte_copied (needs checksum = \"copy\")":
            Kind::Cost, Is("0 s");
        zero_copy = "true", "whether pages change hands in place of copies":
            Kind::Flag, Is("false");
        per_page_mapped = r#""2 us""#, "per page of 4096 bytes, in place of per_byte_copied (needs zero_copy)":
            COST, Is("0 s");
        per_byte_dma = r#""200 ps""#, "per byte of packet that the card reads or writes in memory, while the processor waits":
            Kind::Cost, Is("0 s");
        per_byte_application = r#""100 ps""#, "per byte read or written, for the application's own work on it":
            Kind::Cost, Is("0 s");
        per_entry_walked = r#""20 ns""#, "per entry walked in a list that grows with the window":
            COST, Is("0 s");
        per_byte_queued = r#""49 ps""#, "per packet of data and byte waiting in its socket buffer, beyond queue_cached":
            Kind::Cost, Is("0 s");
        queue_cached = r#""2 MiB""#, "bytes waiting in a socket buffer that cost nothing (needs per_byte_queued)":
            Kind::Amount(Bytes::new(0), Bytes::new(1 << 30)), Is("0 B");
        steal_every = r#""200 ms""#, "others take the processor away after so long, a mean (needs steal)":
            SOME_TIME, Is("never");
        steal = r#""2 ms""#, "and keep it for so long, a mean: nothing is received or sent (needs steal_every)":
            SOME_TIME, Is("none");
    }],
    has_settings: false,
};

/// The receive side of a network card.
pub const RINGS: KeyTable = KeyTable {
    heading: "[sender.rings], [receiver.rings]",
    summary: "buffers posted to the network card, and the pool they come from: a frame that finds \
              none to put in its place is dropped, and what is unread keeps its buffers",
    groups: &[keys! {
        descriptors = "256", "buffers posted: packets the card takes before the host looks":
            Kind::Whole(1, 1_000_000), Required;
        pool = "384", "buffers in all, posted ones included":
            Kind::Whole(1, 1_000_000_000), Is("as many as needed");
        small_frames = "1500", "packets up to this size have a ring of their own":
            Kind::Octets(1, 65_535), Is("none");
        small_descriptors = "256", "its buffers posted (needs small_frames)":
            Kind::Whole(1, 1_000_000), Is("as descriptors");
        small_pool = "512", "its buffers in all (needs small_frames)":
            Kind::Whole(1, 1_000_000_000), Is("as many as needed");
        copy_break = "256", "packets up to this size are copied out and keep no buffer":
            Kind::Octets(0, 65_535), Is("0, none");
        reneges = "true", "where a packet finds no buffer, what lies beyond a hole is given back":
            Kind::Flag, Is("false");
    }],
    has_settings: false,
};

/// The reading application.
pub const READER: KeyTable = KeyTable {
    heading: "[receiver.reader]",
    summary: "how the receiving application reads",
    groups: &[keys! {
        read_size = r#""8 KiB""#, "bytes it takes at once, at most":
            Kind::Amount(Bytes::new(1), Bytes::new(1 << 30)), Is("64 KiB");
        pause_after = r#""8 KiB""#, "it pauses once, after this number of bytes (needs pause)":
            Kind::Amount(Bytes::new(1), Bytes::new(1_000_000_000_000_000)), Is("none");
        pause = r#""170 ms""#, "for so long (needs pause_after)":
            SOME_TIME, Is("none");
        rate = r#""40 Mbit/s""#, "maximum rate at which it reads":
            ANY_RATE, Is("unlimited");
    }],
    has_settings: false,
};

/// A node that is a host.
pub const NODE: KeyTable = KeyTable {
    heading: "[[node]]",
    summary: "a host among nodes and links: a name, and all keys of [sender]; a node that only \
              forwards needs none",
    groups: &[
        keys! {
            name = r#""client""#, "unique; what links and flows call it":
                Kind::Name, Required;
        },
        HOST_KEYS,
    ],
    has_settings: true,
};

/// A link between nodes.
pub const LINK: KeyTable = KeyTable {
    heading: "[[link]]",
    summary: "a link between two nodes, alike in both directions: queue, serializer, delay and \
              impairments of each; or an Ethernet that nodes share",
    groups: &[
        keys! {
            from = r#""client""#, "a node":
                Kind::Name, Is("required without nodes");
            to = r#""router""#, "another":
                Kind::Name, Is("required without nodes");
            nodes = r#"["client", "server", "router"]"#, "all nodes on one Ethernet, in place of from and to (needs ethernet)":
                Kind::Texts, Is("none");
            ethernet = r#"{ rate = "10 Mbit/s" }"#, "a medium that all `nodes` send on, for packets of at most 1500 bytes":
                Kind::Table("[path.ethernet]"), Is("none");
            one_way = "true", "whether there is no way from `to` to `from`; say that with a second link":
                Kind::Flag, Is("false");
            name = r#""access""#, "unique; it selects random streams; the other direction is access-reverse":
                Kind::Name, Is("the nodes, as client-router");
        },
        HOP_KEYS,
        IMPAIRMENTS,
    ],
    has_settings: false,
};

/// A flow, or several equal ones.
pub const FLOW: KeyTable = KeyTable {
    heading: "[[flow]]",
    summary: "a connection from sender to receiver, or many alike",
    groups: &[keys! {
        name = r#""bulk""#, "unique; with count, each gets a number behind it":
            Kind::Name, Is("flow, with a number where there are several");
        from = r#""client""#, "the node that sends (needs [[link]])":
            Kind::Name, Is("required with [[link]]");
        to = r#""server""#, "the node that receives":
            Kind::Name, Is("required with [[link]]");
        via = r#"["router"]"#, "nodes on its way, in order":
            Kind::Texts, Is("the fewest links");
        via_reverse = r#"["router"]"#, "nodes on the way of its ACKs, in order; [] for the fewest links":
            Kind::Texts, Is("those of via, in reverse order");
        application = r#""on-off, burst 4 MB, every 4 s""#, "what runs at both ends (`gigatcp list applications`)":
            Kind::Application, Is("one that sends as much as it can");
        start = r#""2 s""#, "when it opens, from the start of the run":
            ANY_TIME, Is("0 s");
        bytes = r#""1 GB""#, "ends when the application has sent this amount":
            Kind::Amount(Bytes::new(1), Bytes::new(1_000_000_000_000_000)), Is("none");
        duration = r#""10 s""#, "ends when the application has sent for so long":
            SOME_TIME, Is("the rest of the run, or 10 s");
        supply = r#""64 KiB""#, "data that becomes available to its application at a time (needs supply_every)":
            Kind::Amount(Bytes::new(1), Bytes::new(1_000_000_000_000_000)), Is("everything at the start");
        supply_every = r#""20 ms""#, "time from one supply to the next (needs supply)":
            SOME_TIME, Is("none");
        supply_until = r#""3 s""#, "when the rest becomes available, after the first write (needs supply)":
            SOME_TIME, Is("never");
        congestion_control = r#""cubic""#, "how much may be in flight":
            Kind::Congestion, Is(r#""cubic""#);
        initial_ssthresh = "100", "first slow-start threshold in segments; 0 is none":
            Kind::Whole(0, 1_000_000), Is("the control's own");
        slow_start = r#""limited""#, "how cwnd grows in slow start, and what ends it other than loss":
            Kind::OneOf(&SlowStart::NAMES), Is("the control's own, or the sender's profile's");
        max_ssthresh = "100", "window in segments above which limited slow start slows down":
            Kind::Whole(2, 1_000_000), Is("100");
        window = r#""60 MiB""#, "both buffers at once":
            BUFFER, Is("none");
        send_buffer = r#""60 MiB""#, "send buffer requested":
            BUFFER, Is("the sender's buffer");
        receive_buffer = r#""60 MiB""#, "receive buffer requested":
            BUFFER, Is("the receiver's buffer");
        extra_delay = r#""5 ms""#, "one-way delay of data that only this flow has":
            ANY_TIME, Is("0 s");
        count = "100", "number of identical flows":
            Kind::Whole(1, MAX_FLOWS), Is("1");
        start_step = r#""10 ms""#, "delay between the starts of successive flows":
            ANY_TIME, Is("0 s");
        start_jitter = r#""20 ms""#, "maximum additional delay of a start, drawn uniformly":
            ANY_TIME, Is("0 s");
        extra_delay_step = r#""1 ms""#, "extra_delay added for each successive flow":
            ANY_TIME, Is("0 s");
        time_sequence = "true", "whether its time-sequence graph is recorded":
            Kind::Flag, Is("as [record] says");
    }],
    has_settings: false,
};

/// The tester.
pub const TESTER: KeyTable = KeyTable {
    heading: "[tester]",
    summary: "how throughput is reported",
    groups: &[keys! {
        interval = r#""1 s""#, "time between two lines":
            SOME_TIME, Is("1 s");
        omit = r#""2 s""#, "time at the start left out of the average":
            ANY_TIME, Is("0 s");
    }],
    has_settings: false,
};

/// Records in addition to throughput.
pub const RECORD: KeyTable = KeyTable {
    heading: "[record]",
    summary: "what is recorded in addition to throughput",
    groups: &[keys! {
        time_sequence = "true", "the time-sequence graph of every flow: its segments and ACKs, or the most telling of a long flow":
            Kind::Flag, Is("in `gigatcp run`, of the first flow");
        sample = r#""10 ms""#, "time between samples of window, queue and rate":
            SOME_TIME, Is("10 ms, or longer so that the samples of a run stay below 16 MB");
    }],
    has_settings: false,
};

/// A series.
pub const SERIES: KeyTable = KeyTable {
    heading: "[[series]]",
    summary: "a named variation of the plan",
    groups: &[keys! {
        name = r#""reno-60MB""#, "unique; what its results are filed under":
            Kind::Name, Required;
        title = r#""Reno, 60 MB""#, "one line for people":
            Kind::Text, Is("the name");
        fitted = r#"["receiver.ack_every"]"#, "inputs that were chosen to match what was published, in addition to the plan's":
            Kind::Texts, Is("none");
        fit_of = r#""reno-60MB""#, "the series this one is a fit of":
            Kind::Name, Is("none");
        unset = r#"["path.loss"]"#, "keys of the plan that this series does without, before `set`":
            Kind::Texts, Is("none");
        set = r#"{ "flow.congestion_control" = "reno" }"#, "what is different in this series":
            Kind::Changes, Is("{}");
        over = r#"["flow.window = small: 1 MB, large: 4 MB"]"#, "axes: one series for each combination of levels; in name, title and fit_of {1} is the name of the level of the first axis, {=1} its value, {#1} its number":
            Kind::Texts, Is("none: one series");
        order = r#""random""#, "order of the series that `over` makes; random is the same each time":
            Kind::OneOf(&["random", "written"]), Is("written");
    }],
    has_settings: false,
};

/// A sweep.
pub const SWEEP: KeyTable = KeyTable {
    heading: "[sweep]",
    summary: "what `gigatcp sweep` varies, and how; the common keys are options of the command too",
    groups: &[keys! {
        over = r#"["path.rtt = 10 ms..160 ms log 5", "flow.window = 0.5*bdp, 2*bdp"]"#, "axes, the first varying slowest: KEY=LEVELS, `KEY+KEY=LEVELS` together, `... when KEY=VALUE` nested":
            Kind::Texts, Is("none");
        exclude = r#"["path.rtt < 20 ms and flow.window > 1 MB"]"#, "combinations that are left out":
            Kind::Texts, Is("none");
        design = r#""fractional 4""#, "which combinations run: factorial, fractional RESOLUTION":
            Kind::Text, Is("factorial");
        order = r#""written""#, "order in which cells run":
            Kind::OneOf(&["random", "written"]), Is("random, by the seed");
        repeat = "20", "repetitions of each cell; repetition k has the same seed in every cell":
            Kind::Whole(1, 1_000_000), Is("the plan's");
        draw = r#"["sender.cpu.per_packet_sent = 148 us..161 us"]"#, "what each batch draws once, the same in all cells (needs batches): KEY=FROM..TO, or one of KEY=LEVELS":
            Kind::Texts, Is("none");
        batches = "5", "batches of repetitions, each with seeds of its own":
            Kind::Whole(1, 10_000), Is("1");
        metric = r#""goodput_bps""#, "column of cells that tables and `until` are about":
            Kind::Text, Is("goodput_bps");
        until = r#""2 %""#, "repeats each cell until half the 95 % confidence interval of the metric is below this share of its mean":
            Kind::Probability, Is("never: `repeat` alone");
        most = "1000", "repetitions of a cell at most (needs until)":
            Kind::Whole(2, 1_000_000), Is("200");
    }],
    has_settings: false,
};

/// Every table of a plan, in the order of help.
pub const TABLES: &[KeyTable] = &[
    PLAN, PATH, HOP, ETHERNET, NODE, LINK, HOST, CPU, RINGS, READER, FLOW, TESTER, RECORD, SERIES,
    SWEEP,
];
