//! `[sender]` and `[receiver]`.

use alloc::format;

use alloc::vec::Vec;

use gigatcp_path::{
    Checksum, ClustersConfig, CpuCosts, HopConfig, Picoseconds, RingConfig, RingsConfig,
    Scheduling, StealConfig,
};
use gigatcp_tcp::Profile;
use gigatcp_tcp::profile::{SETTINGS, Setting, SettingValue};
use gigatcp_units::settings::TextError;
use gigatcp_units::{Bytes, Duration};

use super::path::{self, Hop};
use super::{fidelity, section};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::{Entry, ValueKind};
use crate::keys;
use crate::model::{Host, Stack};
use crate::quantity;
use crate::reader::{BufferRequest, Reader};

/// A host and the values that depend on other sections.
pub(crate) struct Draft {
    /// The host without its link.
    pub(crate) host: Host,
    /// Its link; the queue may depend on the whole path.
    pub(crate) link: Option<Hop>,
    /// Buffer requested for flows that set none. `None`: not requested.
    pub(crate) buffer: Option<Bytes>,
    /// Place of the buffer request in the plan.
    pub(crate) buffer_place: Place,
    /// Place of the backlog in the plan.
    pub(crate) backlog_place: Place,
}

/// Default queue limit of a network card, in packets (Linux `txqueuelen`).
const TX_QUEUE: u64 = 1000;

/// Reads the host of that section.
pub(crate) fn host(plan: &Reader, name: &'static str) -> Draft {
    read(&section(plan, name, &keys::HOST), name)
}

/// Reads a host from its table.
pub(crate) fn read(reader: &Reader, name: &str) -> Draft {
    let names = Profile::ALL.iter().map(|profile| profile.name);
    let mut profile = reader
        .choice("profile", "profile", names, Profile::find)
        .unwrap_or(Profile::MODERN);
    let mut settings = Vec::new();
    for entry in reader.entries() {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == entry.key) {
            set(&mut profile, setting, entry, reader);
            settings.push(setting.name);
        }
    }
    check_settings(&profile, reader);
    let link = reader.value("link").and_then(|value| {
        let link = Reader::of_value(&keys::HOP, value, reader.findings())?;
        Some(path::hop(&link, &format!("{name}-link")))
    });
    let rings_table = section(reader, "rings", &keys::RINGS);
    let cpu = section(reader, "cpu", &keys::CPU);
    let costs = costs(&cpu);
    let stack = reader.choice("stack", "stack", Stack::NAMES.into_iter(), Stack::find);
    let host = Host {
        stack: stack.unwrap_or_default(),
        rings: reader.has("rings").then(|| rings(&rings_table)).flatten(),
        reneges: rings_table.flag("reneges").unwrap_or(false),
        backlog: reader.count("backlog"),
        clusters: clusters(reader),
        reader: reading(&section(reader, "reader", &keys::READER)),
        mtu: reader.octets("mtu").unwrap_or(1500),
        profile,
        settings,
        costs,
        scheduling: scheduling(&cpu, &costs),
        steal: steal(&cpu),
        coalesce: reader
            .time("coalesce")
            .unwrap_or(profile.segments.interrupt_interval),
        coalesce_packets: reader.count("coalesce_packets"),
        tx_queue: reader.whole("tx_queue").unwrap_or(TX_QUEUE),
        link: None,
    };
    let pools = host.rings.is_some();
    warn_idle(&cpu, "per_drop", pools, "the card has rings");
    let listens = host.backlog.is_some();
    warn_idle(&cpu, "per_accept", listens, "backlog is set");
    fidelity::check_host(&host, reader);
    let moderates = !host.coalesce.is_zero();
    warn_idle(reader, "coalesce_packets", moderates, "coalesce is set");
    let buffer = reader.buffer("buffer").unwrap_or(BufferRequest::Auto);
    Draft {
        buffer: buffer.requested(),
        buffer_place: reader.place_of_value("buffer").clone(),
        backlog_place: reader.place_of("backlog").clone(),
        host,
        link,
    }
}

pub(crate) fn with_link(host: Host, link: Option<HopConfig>) -> Host {
    Host { link, ..host }
}

fn costs(reader: &Reader) -> CpuCosts {
    let time = |key| reader.time(key).unwrap_or(Duration::ZERO);
    let walks = reader.cost("per_byte_queued").unwrap_or_default();
    let does_walk = walks != Picoseconds::default();
    warn_idle(
        reader,
        "queue_cached",
        does_walk,
        "per_byte_queued is more than nothing",
    );
    let checksum = reader
        .choice(
            "checksum",
            "place for checksums",
            Checksum::NAMES.into_iter(),
            Checksum::find,
        )
        .unwrap_or_default();
    let zero_copy = reader.flag("zero_copy").unwrap_or(false);
    if zero_copy && checksum == Checksum::Copy {
        let why = "there is no copy to compute it in";
        reader.report_conflict("checksum", "zero_copy", why);
    }
    for (key, works, condition) in [
        (
            "per_byte_checksummed",
            checksum == Checksum::Apart,
            "checksum is \"apart\"",
        ),
        (
            "per_byte_copied_summed",
            checksum == Checksum::Copy,
            "checksum is \"copy\"",
        ),
        (
            "per_byte_copied",
            checksum != Checksum::Copy && !zero_copy,
            "data is copied without its checksum",
        ),
        ("per_page_mapped", zero_copy, "zero_copy is on"),
    ] {
        warn_idle(reader, key, works, condition);
    }
    CpuCosts {
        per_segment_sent: time("per_segment_sent"),
        per_packet_sent: time("per_packet_sent"),
        per_segment_received: time("per_segment_received"),
        per_packet_received: time("per_packet_received"),
        per_ack_sent: time("per_ack_sent"),
        per_ack_received: time("per_ack_received"),
        per_interrupt: time("per_interrupt"),
        per_packet_interrupt: time("per_packet_interrupt"),
        per_drop: time("per_drop"),
        per_call: time("per_call"),
        per_accept: time("per_accept"),
        per_byte_copied: reader.cost("per_byte_copied").unwrap_or_default(),
        per_byte_checksummed: reader.cost("per_byte_checksummed").unwrap_or_default(),
        per_byte_copied_summed: reader.cost("per_byte_copied_summed").unwrap_or_default(),
        per_page_mapped: time("per_page_mapped"),
        checksum,
        zero_copy,
        per_byte_dma: reader.cost("per_byte_dma").unwrap_or_default(),
        per_byte_application: reader.cost("per_byte_application").unwrap_or_default(),
        per_entry_walked: time("per_entry_walked"),
        per_byte_queued: walks,
        queue_cached: reader.amount("queue_cached").unwrap_or(Bytes::ZERO),
    }
}

/// Reads the distribution of work over the CPUs.
fn scheduling(reader: &Reader, costs: &CpuCosts) -> Scheduling {
    let [processors, receive_queues] = processors(reader);
    let scheduling = Scheduling {
        processors,
        receive_queues,
        receive_budget: reader.count("receive_budget"),
        input_queue: reader.count("input_queue"),
        polls: reader.flag("polls").unwrap_or(false),
    };
    let has_costs = *costs != CpuCosts::default();
    let keys = [
        "processors",
        "receive_queues",
        "polls",
        "receive_budget",
        "input_queue",
    ];
    for key in keys {
        warn_idle(
            reader,
            key,
            has_costs,
            "work of the processor costs something",
        );
    }
    if has_costs {
        let share = scheduling.application_processors() == 0;
        warn_idle(reader, "receive_budget", share, "both share one processor");
        let why = "the card interrupts: one that polls leaves packets in its rings";
        warn_idle(reader, "input_queue", !scheduling.polls, why);
    }
    scheduling
}

/// Reads the numbers of CPUs and of receive queues; each queue has a CPU.
fn processors(reader: &Reader) -> [u16; 2] {
    let count = |key| {
        reader
            .whole(key)
            .and_then(|count| u16::try_from(count).ok())
    };
    let processors = count("processors").unwrap_or(1);
    let queues = count("receive_queues").unwrap_or(1);
    if queues > processors {
        let place = reader.place_of_value("receive_queues");
        let message = format!("{queues} receive queues need as many processors");
        let label = match processors {
            1 => "there is one".into(),
            _ => format!("there are {processors}"),
        };
        let hint = format!("`processors = {queues}`");
        Diagnostic::error(place, message)
            .label(label)
            .hint(hint)
            .report(reader.findings());
    }
    [processors, queues.min(processors)]
}

/// Reads the interval and length of steal times.
fn steal(reader: &Reader) -> Option<StealConfig> {
    let (every, span) = (reader.time("steal_every"), reader.time("steal"));
    for (key, other) in [("steal", "steal_every"), ("steal_every", "steal")] {
        warn_idle(reader, key, reader.has(other), &format!("{other} is set"));
    }
    let (every, span) = every.zip(span)?;
    Some(StealConfig { every, span })
}

fn reading(reader: &Reader) -> gigatcp_app::Reader {
    let usual = gigatcp_app::Reader::default();
    let (after, span) = (reader.amount("pause_after"), reader.time("pause"));
    for (key, other) in [("pause", "pause_after"), ("pause_after", "pause")] {
        warn_idle(reader, key, reader.has(other), &format!("{other} is set"));
    }
    gigatcp_app::Reader {
        read_size: reader.amount("read_size").unwrap_or(usual.read_size),
        pause: after.zip(span),
        rate: reader.rate("rate"),
    }
}

/// Reads the rings, if `descriptors` is set.
fn rings(reader: &Reader) -> Option<RingsConfig> {
    let descriptors = reader.count("descriptors")?;
    let pool = reader.count("pool");
    check_pool(reader, "pool", pool, descriptors);
    let small_frames = reader.octets("small_frames");
    for key in ["small_descriptors", "small_pool"] {
        warn_idle(reader, key, small_frames.is_some(), "small_frames is set");
    }
    let small_descriptors = reader.count("small_descriptors").unwrap_or(descriptors);
    let small_pool = reader.count("small_pool");
    check_pool(reader, "small_pool", small_pool, small_descriptors);
    Some(RingsConfig {
        large: RingConfig { descriptors, pool },
        small: small_frames.map(|most| {
            let ring = RingConfig {
                descriptors: small_descriptors,
                pool: small_pool,
            };
            (u64::from(most), ring)
        }),
        copy_break: reader.octets("copy_break").map_or(0, u64::from),
    })
}

/// Default bytes of a cluster (`MCLBYTES` of BSD).
const CLUSTER_SIZE: u32 = 2048;

/// Reads the kernel's pool of clusters, if it is limited.
fn clusters(reader: &Reader) -> Option<ClustersConfig> {
    let count = reader.count("clusters");
    warn_idle(reader, "cluster_size", count.is_some(), "clusters is set");
    let size = reader.octets("cluster_size").unwrap_or(CLUSTER_SIZE);
    count.map(|count| ClustersConfig { count, size })
}

/// Rejects a pool no larger than its ring: no packet could pass.
fn check_pool(reader: &Reader, key: &str, pool: Option<u32>, descriptors: u32) {
    if let Some(pool) = pool
        && pool <= descriptors
    {
        let message = format!("a pool of {pool} is used up by {descriptors} posted buffers");
        let hint = format!(
            "at least {} let one packet through at a time",
            descriptors + 1
        );
        Diagnostic::error(reader.place_of_value(key), message)
            .label("no packet can be received")
            .hint(hint)
            .report(reader.findings());
    }
}

fn warn_idle(reader: &Reader, key: &str, works: bool, condition: &str) {
    if !works && reader.has(key) {
        let message = format!("`{key}` has no effect unless {condition}");
        Diagnostic::warning(reader.place_of(key), message)
            .label("does nothing here")
            .report(reader.findings());
    }
}

/// Changes one setting of the profile.
fn set(profile: &mut Profile, setting: &Setting, entry: &Entry, reader: &Reader) {
    let refusal = match setting_value(&entry.value.kind, setting) {
        Ok(value) => match profile.try_set(setting.name, value) {
            Ok(()) => return,
            Err(_) => None,
        },
        Err(error) => error,
    };
    let value = &entry.value;
    let message = format!("`{}` takes {}", setting.name, setting.expects);
    let finding = Diagnostic::error(&value.place, message).label(value.describe());
    match refusal {
        None => finding,
        Some(error) => Diagnostic {
            message: format!("`{}`: {}", setting.name, error.why),
            ..finding.nearest(error.nearest).hint(error.hint)
        },
    }
    .report(reader.findings());
}

/// Converts a plan value for the setting. The error is [`TextError`] for a malformed text, `None` for
/// a wrong type.
fn setting_value(value: &ValueKind, setting: &Setting) -> Result<SettingValue, Option<TextError>> {
    match value {
        ValueKind::Flag(flag) => Ok(SettingValue::Switch(*flag)),
        ValueKind::Integer(Some(number)) => u32::try_from(*number)
            .map(SettingValue::Count)
            .map_err(|_| None),
        ValueKind::Text(text) if setting.expects.starts_with("a time") => {
            quantity::common(text).map(SettingValue::Time).map_err(Some)
        }
        ValueKind::Text(text) if setting.expects.starts_with("a rate") => {
            quantity::common(text).map(SettingValue::Rate).map_err(Some)
        }
        ValueKind::Text(text) if setting.expects.starts_with("an amount") => quantity::common(text)
            .map(SettingValue::Amount)
            .map_err(Some),
        ValueKind::Text(text) if setting.words().next().is_some() => {
            let words: Vec<&str> = setting.words().collect();
            let word = setting.words().find(|word| word == text);
            word.map(SettingValue::Word)
                .ok_or_else(|| Some(quantity::no_such_word(text, &words)))
        }
        _ => Err(None),
    }
}

/// Warns about settings that do nothing without another.
fn check_settings(profile: &Profile, reader: &Reader) {
    let by_window = profile.pacing.enabled && profile.pacing.pacing_by_window;
    let idle = [
        (
            "ack_every_later",
            profile.acknowledgments.ack_every_switch.is_none(),
            "ack_every_switch is set",
        ),
        (
            "dsack",
            profile.recovery.dsack && !profile.recovery.sack,
            "sack is on",
        ),
        (
            "pacing_ss_ratio",
            !by_window,
            "pacing and pacing_by_window are on",
        ),
        (
            "pacing_ca_ratio",
            !by_window,
            "pacing and pacing_by_window are on",
        ),
        (
            "tso_win_divisor",
            profile.segments.tso_win_divisor > 0 && !profile.segments.segmentation_offload,
            "segmentation_offload is on",
        ),
        ("max_pacing_rate", !profile.pacing.enabled, "pacing is on"),
        (
            "quick_acks",
            !profile.acknowledgments.quick_ack,
            "quick_ack is on",
        ),
    ];
    for (key, is_idle, condition) in idle {
        warn_idle(reader, key, !is_idle, condition);
    }
}
