//! `[[flow]]`.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_app::{AppConfig, Make, Stop, Supply};
use gigatcp_tcp::Profile;
use gigatcp_tcp::congestion::{self, Family, REGISTRY, SlowStart};
use gigatcp_units::grammar::human_rate;
use gigatcp_units::{Bytes, Duration, Rate};

use super::{NO_TABLE, fidelity, path};
use crate::diagnostic::{Diagnostic, Place};
use crate::keys::{self, MAX_FLOWS};
use crate::model::{Control, Ends, Flow, FlowKind};
use crate::reader::Reader;

/// Default sending time of a flow, if neither flow nor plan sets one.
const DURATION: Duration = Duration::from_secs(10);
/// Time for data in flight when the last application stops.
const GRACE: Duration = Duration::from_secs(60);
/// Time for a flow that ends by bytes, whose duration is not known in advance.
const PATIENCE: Duration = Duration::from_secs(3600);
/// `max_ssthresh` of limited slow start, as RFC 3742 section 3 proposes.
const MAX_SSTHRESH: u32 = 100;
/// Control of a flow of the kernel that names none.
const CONTROL: &str = "cubic";

/// Values from the rest of the plan that flows depend on.
pub(crate) struct Context {
    /// Send and receive buffer of flows that request none.
    pub(crate) buffers: [Buffer; 2],
    /// Payload bytes of the largest possible segment.
    pub(crate) segment: u32,
    /// RTT of the empty path.
    pub(crate) rtt: Duration,
    /// Whether flows are recorded by default.
    pub(crate) time_sequence: Option<bool>,
    /// End of the run, if the plan sets it.
    pub(crate) end: Option<Duration>,
    /// Queue disciplines on the forward path.
    pub(crate) routers: Vec<&'static str>,
    /// Profile of the sender.
    pub(crate) profile: Profile,
    /// Profiles of the senders of each table, in a plan with `[[link]]`.
    pub(crate) senders: Vec<Profile>,
    /// Whether the kernel's TCP sends.
    pub(crate) kernel_sends: bool,
    /// Nodes and routes of the flows of each table, in a plan with `[[link]]`.
    pub(crate) ends: Vec<Option<Ends>>,
}

/// Buffer that a host has for flows that request none.
pub(crate) struct Buffer {
    /// Size requested, if any.
    pub(crate) requested: Option<Bytes>,
    /// Place of the request in the plan.
    pub(crate) place: Place,
    /// Maximum size that the host grants.
    pub(crate) limit: Bytes,
}

/// Default end of the run. Every flow has had its time by then.
pub(crate) fn latest_end(flows: &[Flow]) -> Duration {
    let end = |flow: &Flow| match flow.stop {
        Stop::After(time) => flow.start + flow.start_jitter + time + GRACE,
        Stop::Bytes(_) => flow.start + flow.start_jitter + PATIENCE,
    };
    flows.iter().map(end).max().unwrap_or(DURATION)
}

impl Context {
    /// Reads all flows, each table `count` times.
    pub(crate) fn flows(&self, plan: &Reader, readers: &[Reader]) -> Vec<Flow> {
        let count = |reader: &Reader| reader.whole("count").unwrap_or(1);
        let total = readers.iter().map(count).fold(0, u64::saturating_add);
        if total > MAX_FLOWS {
            let message = format!("the plan has {total} flows, more than {MAX_FLOWS}");
            Diagnostic::error(plan.place_of("flow"), message)
                .label("too many in all")
                .report(plan.findings());
            return Vec::new();
        }
        let mut flows = Vec::new();
        let mut names = BTreeMap::new();
        for (table, reader) in readers.iter().enumerate() {
            let group = FlowGroup {
                name: reader.name("name"),
                count: count(reader),
                first: flows.len(),
                total,
            };
            let first = flows.len();
            let profile = self.senders.get(table).unwrap_or(&self.profile);
            flows.extend(self.copies(reader, &group, profile));
            for flow in &mut flows[first..] {
                flow.ends = self.ends.get(table).cloned().flatten();
            }
            self.check_times(&flows[first..], reader);
            check_names(&flows[first..], reader, &mut names);
        }
        flows
    }

    /// Flows of one table, each one step further than the last.
    fn copies(&self, reader: &Reader, group: &FlowGroup, profile: &Profile) -> Vec<Flow> {
        let start_step = reader.time("start_step").unwrap_or(Duration::ZERO);
        let delay_step = reader.time("extra_delay_step").unwrap_or(Duration::ZERO);
        for step in ["start_step", "extra_delay_step"] {
            if reader.has(step) && group.count == 1 {
                let message = format!("`{step}` does nothing for one flow");
                Diagnostic::warning(reader.place_of(step), message)
                    .label("count is 1")
                    .report(reader.findings());
            }
        }
        let stop = stop(reader);
        let Some(flow) = self.flow(reader, profile) else {
            return Vec::new();
        };
        check_extra_delay(reader, &flow);
        // 10 000 steps of a day do not overflow 64-bit nanoseconds.
        let copy = |n: u64| {
            let start = flow.start + start_step * n;
            Flow {
                name: group.name(n),
                group: group.group(),
                start,
                stop: stop.unwrap_or_else(|| self.rest_of_run(start)),
                application: flow.application.clone().map(|application| {
                    match stop.unwrap_or_else(|| self.rest_of_run(start)) {
                        Stop::After(span) => application.until(span),
                        Stop::Bytes(_) => application,
                    }
                }),
                extra_delay: flow.extra_delay + delay_step * n,
                ..flow.clone()
            }
        };
        (0..group.count).map(copy).collect()
    }

    /// Reads what the flows of one table have in common. `None` only if there is no congestion
    /// control.
    fn flow(&self, reader: &Reader, profile: &Profile) -> Option<Flow> {
        let start = reader.time("start").unwrap_or(Duration::ZERO);
        let [send_buffer, receive_buffer] = self.buffers(reader);
        let congestion = control(reader, self.kernel_sends, profile)?;
        self.check_routers(&congestion, reader);
        if !self.kernel_sends {
            fidelity::check_flow(profile, congestion.name(), reader);
        }
        Some(Flow {
            name: String::new(),
            group: None,
            ends: None,
            application: application(reader),
            start,
            start_jitter: reader.time("start_jitter").unwrap_or(Duration::ZERO),
            stop: self.rest_of_run(start),
            supply: supply(reader),
            congestion,
            initial_ssthresh: reader.count("initial_ssthresh"),
            slow_start: slow_start(reader),
            send_buffer,
            receive_buffer,
            extra_delay: reader.time("extra_delay").unwrap_or(Duration::ZERO),
            time_sequence: reader.flag("time_sequence").or(self.time_sequence),
        })
    }

    /// Rejects a control that needs router support on a path without it.
    fn check_routers(&self, control: &Control, reader: &Reader) {
        let Control::Engine(entry) = control else {
            return;
        };
        let name = entry.name;
        if entry.family != Family::Explicit || self.routers.contains(&name) {
            return;
        }
        let message = format!("`{name}` asks routers, and no queue of the path is one");
        let hint = format!("path.queue = \"{name}, 1 BDP\"");
        Diagnostic::warning(reader.place_of_value("congestion_control"), message)
            .label("no answer will come")
            .effect("the flow is `reno`, with 16 bytes less in each segment")
            .hint(hint)
            .report(reader.findings());
    }

    /// Returns the end of a flow that begins at `start` and sets none.
    fn rest_of_run(&self, start: Duration) -> Stop {
        let rest = self.end.map(|end| end.saturating_sub(start));
        Stop::After(rest.unwrap_or(DURATION))
    }

    fn buffers(&self, reader: &Reader) -> [Option<Bytes>; 2] {
        let window = reader.buffer("window");
        [("send_buffer", 0), ("receive_buffer", 1)].map(|(key, side)| {
            if reader.has("window") && reader.has(key) {
                reader.report_conflict(key, "window", "it sets both buffers");
            }
            let host = &self.buffers[side];
            let (requested, place) = match (reader.buffer(key), window) {
                (Some(own), _) => (own.requested(), reader.place_of_value(key)),
                (None, Some(both)) => (both.requested(), reader.place_of_value("window")),
                (None, None) => (host.requested, &host.place),
            };
            if let Some(buffer) = requested {
                self.check_buffer(buffer, side, place, reader);
            }
            requested
        })
    }

    /// Warns about a buffer above what the host grants, or of little use.
    fn check_buffer(&self, buffer: Bytes, side: usize, place: &Place, reader: &Reader) {
        let host = ["sender", "receiver"][side];
        let limit = self.buffers[side].limit;
        if buffer > limit {
            let message = format!("the {host} grants {limit} of the requested buffer of {buffer}");
            let carried = |amount| human_rate(Rate::from_amount(amount, self.rtt));
            let effect = format!(
                "{limit} per round trip of {} carry {}, {buffer} would carry {}",
                self.rtt,
                carried(limit),
                carried(buffer)
            );
            let finding = Diagnostic::warning(place, message)
                .label(format!("more than buffer_limit of the {host}"))
                .hint(format!("{host}.buffer_limit = \"{buffer}\""));
            match self.rtt.is_zero() {
                true => finding,
                false => finding.effect(effect),
            }
            .report(reader.findings());
        }
        if buffer.as_u64() < u64::from(self.segment) {
            let message = format!("a buffer of {buffer} holds less than one full-sized segment");
            Diagnostic::warning(place, message)
                .label(format!("it holds {} bytes", self.segment))
                .effect("the flow sends small segments, one per round trip at most")
                .report(reader.findings());
        }
    }

    /// Reports flows that would not begin, or not end, within the run.
    fn check_times(&self, copies: &[Flow], reader: &Reader) {
        let (Some(end), Some(last)) = (self.end, copies.last()) else {
            return;
        };
        let keys = ["start", "start_step", "start_jitter"];
        let key = keys.into_iter().find(|key| reader.has(key));
        let place = reader.place_of_value(key.unwrap_or("start"));
        let last_start = last.start + last.start_jitter;
        if last_start >= end {
            let message = format!("a flow that starts at {last_start} never runs");
            Diagnostic::error(place, message)
                .label(format!("the run ends at {end}"))
                .hint("let it start earlier, or give the plan a longer `duration`")
                .report(reader.findings());
        } else if let Stop::After(time) = last.stop
            && reader.has("duration")
            && last_start + time > end
        {
            let message = format!("a flow of {time} from {last_start} on is cut off at {end}");
            Diagnostic::warning(reader.place_of_value("duration"), message)
                .label("longer than what is left of the run")
                .report(reader.findings());
        }
    }
}

/// Rejects an extra delay without a separate sender and a connection.
fn check_extra_delay(reader: &Reader, flow: &Flow) {
    for key in ["extra_delay", "extra_delay_step"]
        .into_iter()
        .filter(|key| reader.has(key))
    {
        if reader.has("from") {
            let why = "flows share the sender; a [[link]] of its own has its delay";
            reader.report_conflict(key, "from", why);
        } else if flow.kind() == FlowKind::Datagrams {
            let why = "datagrams have the delay of the path alone";
            reader.report_conflict(key, "application", why);
        }
    }
}

/// Reads the application of a flow, which itself defines what it sends.
fn application(reader: &Reader) -> Option<AppConfig> {
    let application = reader.parsed("application", gigatcp_app::read)?;
    if matches!(application.entry.make, Make::Reader(_)) {
        let message = format!(
            "`{}` says how to read, and sends nothing",
            application.entry.name
        );
        Diagnostic::error(reader.place_of_value("application"), message)
            .label(application.entry.make.kind())
            .hint("[receiver.reader], or another of `gigatcp list applications`")
            .report(reader.findings());
    }
    for key in ["bytes", "supply"]
        .into_iter()
        .filter(|key| reader.has(key))
    {
        let why = "the application says what is sent";
        reader.report_conflict(key, "application", why);
    }
    Some(application)
}

/// Readers of the flow tables; one empty table if the plan has no `flow`.
pub(crate) fn readers<'a>(plan: &Reader<'a>) -> Vec<Reader<'a>> {
    let Some(tables) = plan.tables("flow") else {
        return vec![Reader::empty(&keys::FLOW, &NO_TABLE, plan)];
    };
    if tables.is_empty() {
        let hint = "[[flow]], or no `flow` at all for one";
        Diagnostic::error(plan.place_of("flow"), "the plan has no flow")
            .label("an empty list")
            .hint(hint)
            .report(plan.findings());
    }
    let readers = tables
        .iter()
        .filter_map(|value| Reader::of_value(&keys::FLOW, value, plan.findings()));
    readers.collect()
}

/// Common properties of the flows of one table.
struct FlowGroup {
    /// Their name, if set.
    name: Option<String>,
    count: u64,
    /// Number of flows from the tables before.
    first: usize,
    /// Number of flows of all tables.
    total: u64,
}

impl FlowGroup {
    /// Name of the flow with that index, counted from 0.
    fn name(&self, n: u64) -> String {
        match &self.name {
            Some(name) if self.count == 1 => name.clone(),
            Some(name) => format!("{name}-{}", n + 1),
            None if self.total == 1 => "flow".to_owned(),
            None => format!("flow-{}", self.first as u64 + n + 1),
        }
    }

    fn group(&self) -> Option<String> {
        let first = self.first as u64 + 1;
        let last = self.first as u64 + self.count;
        (self.count > 1).then(|| match &self.name {
            Some(name) => name.clone(),
            None if self.count == self.total => "flow".to_owned(),
            None => format!("flow-{first} to {last}"),
        })
    }
}

fn stop(reader: &Reader) -> Option<Stop> {
    if reader.has("bytes") && reader.has("duration") {
        reader.report_conflict("duration", "bytes", "a flow ends in one way");
    }
    let bytes = reader.amount("bytes").map(Stop::Bytes);
    bytes.or(reader.time("duration").map(Stop::After))
}

/// How data become available to the application. `None`: all of it immediately.
fn supply(reader: &Reader) -> Option<Supply> {
    path::check_pair(reader, ["supply", "supply_every"]);
    if reader.has("supply_until") && !reader.has("supply") {
        Diagnostic::error(
            reader.place_of("supply_until"),
            "`supply_until` has no effect without `supply`",
        )
        .label("`supply` is required with it")
        .report(reader.findings());
    }
    Some(Supply {
        amount: reader.amount("supply")?,
        every: reader.time("supply_every")?,
        until: reader.time("supply_until"),
    })
}

fn control(reader: &Reader, kernel_sends: bool, profile: &Profile) -> Option<Control> {
    let key = "congestion_control";
    let object = reader.text(key).filter(|name| name.starts_with(BPF));
    if let Some(name) = object {
        return bpf(reader, kernel_sends, name);
    }
    if kernel_sends {
        let name = reader.text(key).unwrap_or_else(|| CONTROL.into());
        if !is_name_of_kernel(&name) {
            let message = "no kernel has a congestion control of such a name";
            Diagnostic::error(reader.place_of_value(key), message)
                .label("1 to 15 characters, without spaces, are expected")
                .hint("sysctl net.ipv4.tcp_available_congestion_control")
                .report(reader.findings());
        }
        return Some(Control::Kernel(name));
    }
    let names = congestion::entries().map(|entry| entry.name);
    let named = reader.choice(key, "congestion control", names, congestion::find);
    let control = named.or_else(|| congestion::find(profile.congestion.default_control));
    control.or(REGISTRY.first()).map(Control::Engine)
}

/// Prefix of the file of a BPF object.
const BPF: &str = "bpf:";

fn bpf(reader: &Reader, kernel_sends: bool, name: String) -> Option<Control> {
    let place = reader.place_of_value("congestion_control");
    if !kernel_sends {
        Diagnostic::error(place, "a BPF object runs in a kernel only")
            .label("the engine sends here")
            .hint("sender.stack = \"kernel\", and `run --on live`")
            .report(reader.findings());
        return None;
    }
    match reader.findings().locate(&name[BPF.len()..]) {
        Ok(object) => Some(Control::Bpf { name, object }),
        Err(why) => {
            Diagnostic::error(place, format!("there is no BPF object: {why}"))
                .label("`bpf:` and the path of an object, relative to the directory of the plan")
                .report(reader.findings());
            None
        }
    }
}

/// Whether Linux could have a control with that name (`TCP_CA_NAME_MAX`).
fn is_name_of_kernel(name: &str) -> bool {
    (1..16).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic())
}

fn slow_start(reader: &Reader) -> SlowStart {
    let max_ssthresh = reader.count("max_ssthresh");
    let find = |name: &str| SlowStart::find(name, max_ssthresh.unwrap_or(MAX_SSTHRESH));
    let names = SlowStart::NAMES.into_iter();
    let chosen = reader
        .choice("slow_start", "slow start", names, find)
        .unwrap_or_default();
    let is_limited = matches!(chosen, SlowStart::Limited { .. });
    if !is_limited && reader.has("max_ssthresh") {
        let message = "`max_ssthresh` has an effect with limited slow start only";
        Diagnostic::error(reader.place_of("max_ssthresh"), message)
            .label(format!("{} slow start has no such limit", chosen.name()))
            .hint("slow_start = \"limited\"")
            .report(reader.findings());
    }
    chosen
}

fn check_names(copies: &[Flow], reader: &Reader, seen: &mut BTreeMap<String, Place>) {
    let place = reader.place_of_value("name");
    for flow in copies {
        if let Some(first) = seen.insert(flow.name.clone(), place.clone()) {
            Diagnostic::error(place, format!("two flows are called `{}`", flow.name))
                .label("a second one")
                .related(&first, "the first one")
                .report(reader.findings());
        }
    }
}
