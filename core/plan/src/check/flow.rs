//! `[[flow]]`.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_tcp::congestion::{self, Entry, REGISTRY, SlowStart};
use gigatcp_units::{Bytes, Duration};

use super::NO_TABLE;
use crate::diagnostic::{Diagnostic, Place};
use crate::keys::{self, MOST_FLOWS};
use crate::model::{Flow, Stop};
use crate::reader::Reader;

/// How long a flow sends when neither it nor the plan says.
const DURATION: Duration = Duration::from_secs(10);
/// Time for what is in flight when the last application stops.
const GRACE: Duration = Duration::from_secs(60);
/// Time for a flow that ends by bytes: nobody knows how long it takes.
const PATIENCE: Duration = Duration::from_secs(3600);
/// `max_ssthresh` of limited slow start, as RFC 3742 section 3 proposes.
const MAX_SSTHRESH: u32 = 100;
/// Control of a flow that names none.
const CONTROL: &str = "cubic";

/// What flows take from the rest of the plan.
pub(crate) struct Context {
    /// Send and receive buffer of flows that ask for none.
    pub(crate) buffers: [Bytes; 2],
    /// The larger MTU.
    pub(crate) mtu: u32,
    /// Whether flows are recorded unless they say otherwise.
    pub(crate) time_sequence: bool,
    /// When the run ends, if the plan says.
    pub(crate) end: Option<Duration>,
}

/// When the run ends if the plan does not say: every flow has had its time.
pub(crate) fn latest_end(flows: &[Flow]) -> Duration {
    let end = |flow: &Flow| match flow.stop {
        Stop::Duration(time) => flow.start + time + GRACE,
        Stop::Bytes(_) => flow.start + PATIENCE,
    };
    flows.iter().map(end).max().unwrap_or(DURATION)
}

impl Context {
    /// Reads all flows, each as often as it says.
    pub(crate) fn flows(&self, plan: &Reader) -> Vec<Flow> {
        let Some(tables) = plan.tables("flow") else {
            let reader = Reader::empty(&keys::FLOW, &NO_TABLE, plan);
            return self.flow(&reader, "flow".to_owned()).into_iter().collect();
        };
        let readers: Vec<Reader> = tables
            .iter()
            .filter_map(|value| Reader::of_value(&keys::FLOW, value, plan.findings()))
            .collect();
        if tables.is_empty() {
            let finding = Diagnostic::error(plan.place_of("flow"), "the plan has no flow");
            plan.findings().add(
                finding
                    .label("an empty list")
                    .hint("[[flow]], or no `flow` at all for one"),
            );
        }
        let counts: Vec<u64> = readers
            .iter()
            .map(|reader| reader.whole("count").unwrap_or(1))
            .collect();
        let total = counts
            .iter()
            .fold(0u64, |total, count| total.saturating_add(*count));
        if total > MOST_FLOWS {
            let message = format!("the plan has {total} flows, more than {MOST_FLOWS}");
            let finding = Diagnostic::error(plan.place_of("flow"), message);
            plan.findings().add(finding.label("too many in all"));
            return Vec::new();
        }
        let mut flows = Vec::new();
        let mut names = BTreeMap::new();
        for (reader, &count) in readers.iter().zip(&counts) {
            let named = reader.name("name");
            let first = flows.len();
            let name = |index: usize| match &named {
                Some(name) if count == 1 => name.clone(),
                Some(name) => format!("{name}-{}", index + 1),
                None if total == 1 => "flow".to_owned(),
                None => format!("flow-{}", first + index + 1),
            };
            let Some(flow) = self.flow(reader, String::new()) else {
                continue;
            };
            flows.extend(
                copies(&flow, reader, count)
                    .enumerate()
                    .map(|(index, flow)| Flow {
                        name: name(index),
                        ..flow
                    }),
            );
            self.check_times(&flows[first..], reader);
            check_names(&flows[first..], reader, &mut names);
        }
        flows
    }

    /// Reads one flow. Nothing only where there is no congestion control.
    fn flow(&self, reader: &Reader, name: String) -> Option<Flow> {
        let start = reader.time("start").unwrap_or(Duration::ZERO);
        let [send_buffer, receive_buffer] = self.buffers(reader);
        Some(Flow {
            name,
            start,
            stop: self.stop(reader, start),
            congestion: control(reader)?,
            initial_ssthresh: reader.count("initial_ssthresh"),
            slow_start: slow_start(reader),
            send_buffer,
            receive_buffer,
            extra_delay: reader.time("extra_delay").unwrap_or(Duration::ZERO),
            time_sequence: reader.flag("time_sequence").unwrap_or(self.time_sequence),
        })
    }

    fn stop(&self, reader: &Reader, start: Duration) -> Stop {
        let bytes = reader.amount("bytes");
        let duration = reader.time("duration");
        if reader.has("bytes") && reader.has("duration") {
            reader.report_conflict("duration", "bytes", "a flow ends in one way");
        }
        match (bytes, duration, self.end) {
            (Some(bytes), ..) => Stop::Bytes(bytes),
            (None, Some(duration), _) => Stop::Duration(duration),
            (None, None, Some(end)) => Stop::Duration(end.saturating_sub(start)),
            (None, None, None) => Stop::Duration(DURATION),
        }
    }

    fn buffers(&self, reader: &Reader) -> [Bytes; 2] {
        let window = reader.amount("window");
        let buffers = ["send_buffer", "receive_buffer"].map(|key| {
            if reader.has("window") && reader.has(key) {
                reader.report_conflict(key, "window", "it sets both buffers");
            }
            reader.amount(key).or(window)
        });
        for (key, buffer) in ["send_buffer", "receive_buffer"].into_iter().zip(buffers) {
            let key = if reader.has(key) { key } else { "window" };
            if let Some(buffer) = buffer.filter(|buffer| buffer.as_u64() < u64::from(self.mtu)) {
                let message =
                    format!("a buffer of {buffer} holds less than one full-sized segment");
                reader.findings().add(
                    Diagnostic::warning(reader.place_of_value(key), message)
                        .label(format!("the MTU is {} bytes", self.mtu))
                        .effect("the flow sends small segments, one per round trip at most"),
                );
            }
        }
        let [send, receive] = buffers;
        [
            send.unwrap_or(self.buffers[0]),
            receive.unwrap_or(self.buffers[1]),
        ]
    }

    /// Flows that would not begin, or not end, within the run.
    fn check_times(&self, copies: &[Flow], reader: &Reader) {
        let (Some(end), Some(last)) = (self.end, copies.last()) else {
            return;
        };
        let place = reader.place_of_value(if reader.has("start") {
            "start"
        } else {
            "start_step"
        });
        if last.start >= end {
            let message = format!("a flow that starts at {} never runs", last.start);
            reader.findings().add(
                Diagnostic::error(place, message)
                    .label(format!("the run ends at {end}"))
                    .hint("let it start earlier, or give the plan a longer `duration`"),
            );
        } else if let Stop::Duration(time) = last.stop
            && reader.has("duration")
            && last.start + time > end
        {
            let message = format!(
                "a flow of {time} from {} on is cut off at {end}",
                last.start
            );
            reader.findings().add(
                Diagnostic::warning(reader.place_of_value("duration"), message)
                    .label("longer than what is left of the run"),
            );
        }
    }
}

/// The flow `count` times, each one step further.
fn copies(flow: &Flow, reader: &Reader, count: u64) -> impl Iterator<Item = Flow> + use<> {
    let start_step = reader.time("start_step").unwrap_or(Duration::ZERO);
    let delay_step = reader.time("extra_delay_step").unwrap_or(Duration::ZERO);
    for step in ["start_step", "extra_delay_step"] {
        if reader.has(step) && count == 1 {
            let message = format!("`{step}` does nothing for one flow");
            let finding = Diagnostic::warning(reader.place_of(step), message);
            reader.findings().add(finding.label("count is 1"));
        }
    }
    let flow = flow.clone();
    (0..count).map(move |n| Flow {
        // 10 000 steps of a day are far from the end of 64-bit nanoseconds.
        start: flow.start + start_step * n,
        extra_delay: flow.extra_delay + delay_step * n,
        ..flow.clone()
    })
}

fn control(reader: &Reader) -> Option<&'static Entry> {
    let names = REGISTRY.iter().map(|entry| entry.name);
    let what = "congestion control";
    let named = reader.choice("congestion_control", what, names, congestion::find);
    named
        .or_else(|| congestion::find(CONTROL))
        .or(REGISTRY.first())
}

fn slow_start(reader: &Reader) -> SlowStart {
    let words = ["standard", "limited"];
    let find = |word: &str| words.iter().position(|known| *known == word);
    let is_limited = reader.choice("slow_start", "slow start", words.into_iter(), find) == Some(1);
    let max_ssthresh = reader.count("max_ssthresh");
    if !is_limited && reader.has("max_ssthresh") {
        reader.findings().add(
            Diagnostic::error(
                reader.place_of("max_ssthresh"),
                "`max_ssthresh` does nothing in standard slow start",
            )
            .label("only limited slow start has it")
            .hint("slow_start = \"limited\""),
        );
    }
    if is_limited {
        SlowStart::Limited {
            max_ssthresh: max_ssthresh.unwrap_or(MAX_SSTHRESH),
        }
    } else {
        SlowStart::Standard
    }
}

fn check_names(copies: &[Flow], reader: &Reader, seen: &mut BTreeMap<String, Place>) {
    let place = reader.place_of_value("name");
    for flow in copies {
        if let Some(first) = seen.insert(flow.name.clone(), place.clone()) {
            reader.findings().add(
                Diagnostic::error(place, format!("two flows are called `{}`", flow.name))
                    .label("a second one")
                    .related(&first, "the first one"),
            );
        }
    }
}
