//! Readings of the sockets and of the host during a test, and their form for the peer.
//!
//! Two ends of this project exchange them in the results, so that the end that explains a stream
//! has both of its sockets and both hosts. A long test keeps fewer readings per second, not more
//! memory.

use std::sync::atomic::Ordering;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::{CardLosses, CoreTimes, HostReading, Reading, WORDS};
use serde_json::{Value, json};

use super::connection::{BufferLimits, Connection};
use super::counters::Role;
use super::stream::{self, Stream};
use crate::{Boot, CardWatch, HostSampler, Sampler};

/// Maximum of readings kept of a stream, and of a host.
pub(super) const MAX_READINGS: usize = 1024;

/// Maximum of readings kept of all streams together.
pub(super) const MAX_KEPT: usize = 16_384;

/// Maximum of readings sent for all streams together: some 300 bytes each.
const MAX_SENT: usize = 8192;

/// Interval between readings of the host: CPU times of cores have steps of 10 ms.
const HOST_STEP: std::time::Duration = std::time::Duration::from_millis(100);

/// Maximum of counters kept of a peer's interface.
const MAX_COUNTERS: usize = 256;

/// Largest accepted number of a peer's core.
const MAX_CORE: u32 = 65_535;

/// Version of the private keys.
pub(super) const VERSION: u64 = 1;

/// Evenly spaced readings: a full list drops every second one.
#[derive(Clone, Debug)]
struct Decimated<T> {
    kept: Vec<T>,
    /// Number of readings of which one is kept.
    stride: u64,
    seen: u64,
}

impl<T> Default for Decimated<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            stride: 1,
            seen: 0,
        }
    }
}

impl<T> Decimated<T> {
    /// Keeps a reading; a list of `most` drops every second one.
    fn push(&mut self, reading: T, most: usize) {
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(reading);
        }
        self.seen += 1;
        if self.kept.len() >= most {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

/// Readings of one end's sockets and host.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// ID and readings of each stream, in order of time from the test's start.
    pub streams: Vec<(u64, Vec<Reading>)>,
    /// Readings of the host.
    pub host: Vec<HostReading>,
    /// Losses of the interface in use; `None`: unknown.
    pub card: Option<CardLosses>,
    /// The host's last boot; `None`: unknown.
    pub boot: Option<Boot>,
    /// Congestion control of the first stream.
    pub congestion: Option<String>,
    /// Buffer limits of the first stream.
    pub limits: BufferLimits,
}

/// Recorder of readings during a test.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    sampler: Sampler,
    host_sampler: HostSampler,
    streams: Vec<Decimated<Reading>>,
    host: Decimated<HostReading>,
    host_due: Instant,
    /// The interface towards the peer, with its counters before data flowed.
    card: Option<CardWatch>,
}

impl Recorder {
    /// Finds the interface of the streams, before data flows.
    pub(super) fn start(&mut self, streams: &[Stream]) {
        self.card = streams
            .first()
            .and_then(|stream| CardWatch::towards(stream.peer.ip()));
        if let Some(card) = &self.card {
            self.host_sampler = HostSampler::of_interface(card.name());
        }
    }

    /// Reads all streams, `at` after the start of the test; passes every reading to `each`.
    pub(super) fn sample(
        &mut self,
        at: Instant,
        streams: &[Stream],
        mut each: impl FnMut(usize, &Reading),
    ) {
        self.streams.resize_with(streams.len(), Decimated::default);
        let most = MAX_READINGS.min(MAX_KEPT / streams.len().max(1));
        for (index, stream) in streams.iter().enumerate() {
            if let Some(connection) = stream.socket.connection()
                && let Ok(mut reading) = connection.reading(&self.sampler, at)
            {
                // Threads of streams only send or receive, or wait for their rate.
                let idle = stream.counters.idle.load(Ordering::Acquire);
                match stream.role {
                    Role::Sender => reading.app_idle = Some(Duration::from_micros(idle)),
                    Role::Receiver => reading.app_not_reading = Some(Duration::ZERO),
                }
                each(index, &reading);
                self.streams[index].push(reading, most);
            }
        }
        if at >= self.host_due {
            let step = stream::spaced(HOST_STEP);
            self.host_due = at + step.into();
            self.host.push(self.host_sampler.read(at), MAX_READINGS);
        }
    }

    /// Readings.
    pub(super) fn samples(&self, streams: &[Stream]) -> Samples {
        let of = |(stream, decimated): (&Stream, &Decimated<Reading>)| {
            (stream.id, decimated.kept.clone())
        };
        let first = streams.first();
        Samples {
            streams: streams.iter().zip(&self.streams).map(of).collect(),
            host: self.host.kept.clone(),
            card: self.card.as_ref().map(CardWatch::losses),
            boot: Boot::of_this_host(),
            congestion: first.and_then(|stream| stream.options.congestion.clone()),
            limits: first
                .and_then(|stream| stream.socket.connection())
                .map_or_else(BufferLimits::default, Connection::limits),
        }
    }
}

impl Samples {
    /// JSON for a peer of this project.
    pub(super) fn to_json(&self) -> Value {
        let total: usize = self
            .streams
            .iter()
            .map(|(_, readings)| readings.len())
            .sum();
        let step = total.div_ceil(MAX_SENT).max(1);
        let row = |reading: &Reading| {
            let numbers = (0..WORDS.len()).map(|place| reading.number(place).into());
            let at = [Value::from(reading.at.as_nanos() / 1000)];
            Value::Array(at.into_iter().chain(numbers).collect())
        };
        let streams = self.streams.iter().map(|(id, readings)| {
            let rows: Vec<Value> = readings.iter().step_by(step).map(row).collect();
            json!({"id": id, "readings": rows})
        });
        json!({
            "version": VERSION,
            "words": WORDS,
            "streams": streams.collect::<Vec<_>>(),
            "host": self.host.iter().map(host_to_json).collect::<Vec<_>>(),
            "card": self.card.as_ref().map(card_to_json),
            "boot": self.boot.as_ref().map(|boot| json!({"id": boot.id, "started": boot.started})),
            "congestion": self.congestion,
            "limits": limits_to_json(&self.limits),
        })
    }

    /// Parses a peer's readings; `None` if they have another version. Malformed ones are left out.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        if value["version"].as_u64()? != VERSION {
            return None;
        }
        let words: Vec<&str> = value["words"]
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let reading = |row: &Value| {
            let numbers = row.as_array()?;
            let known = words
                .iter()
                .zip(numbers.get(1..)?)
                .filter_map(|(name, number)| Some((*name, number.as_i64()?)));
            Some(Reading::of_words(instant(numbers.first()?)?, known))
        };
        let stream = |one: &Value| {
            let rows = one["readings"].as_array()?;
            Some((
                one["id"].as_u64()?,
                rows.iter().filter_map(reading).collect(),
            ))
        };
        let mut limits = [None; 4];
        if let Some(sent) = value["limits"].as_array() {
            for (limit, sent) in limits.iter_mut().zip(sent) {
                *limit = sent.as_u64().map(Bytes::new);
            }
        }
        let limits = BufferLimits::Kernel(limits);
        Some(Self {
            streams: value["streams"]
                .as_array()?
                .iter()
                .filter_map(stream)
                .collect(),
            host: value["host"]
                .as_array()?
                .iter()
                .filter_map(host_from_json)
                .collect(),
            card: card_from_json(&value["card"]),
            boot: boot_from_json(&value["boot"]),
            congestion: value["congestion"].as_str().map(str::to_owned),
            limits,
        })
    }
}

/// A kernel's limits as JSON. Servers send no others.
fn limits_to_json(limits: &BufferLimits) -> Value {
    match limits {
        BufferLimits::Kernel(limits) => json!(limits.map(|limit| limit.map(Bytes::as_u64))),
        BufferLimits::Engine(_) => Value::Null,
    }
}

fn instant(value: &Value) -> Option<Instant> {
    let micros = value.as_u64()?;
    Some(Instant::from_nanos(micros.checked_mul(1000)?))
}

fn host_to_json(reading: &HostReading) -> Value {
    let micros = |time: Option<Duration>| time.map(Duration::as_micros);
    let cores = reading.cores.iter().map(|core| {
        [
            core.user,
            core.system,
            core.softirq,
            core.irq,
            core.idle,
            core.steal,
            core.iowait,
        ]
        .map(Duration::as_micros)
    });
    let numbers = reading.cores.iter().map(|core| core.number);
    json!({
        "at": reading.at.as_nanos() / 1000,
        "cores": cores.collect::<Vec<_>>(),
        "core_numbers": numbers.collect::<Vec<_>>(),
        "process": micros(reading.process),
        "thread": micros(reading.thread),
        "throttled": micros(reading.throttled),
        "softnet_drops": reading.softnet_drops,
        "time_squeeze": reading.time_squeeze,
        "nic_drops": reading.nic_drops,
        "socket_drops": reading.socket_drops,
    })
}

fn host_from_json(value: &Value) -> Option<HostReading> {
    let time = |value: &Value| value.as_u64().map(Duration::from_micros);
    let numbers = &value["core_numbers"];
    let core = |(place, value): (usize, &Value)| {
        let mut kinds = value
            .as_array()?
            .iter()
            .map(|kind| time(kind).unwrap_or_default());
        let mut next = || kinds.next().unwrap_or_default();
        // An older peer sends no numbers: its cores are in order.
        let number = numbers[place].as_u64().unwrap_or(place as u64);
        Some(CoreTimes {
            number: u32::try_from(number).ok()?.min(MAX_CORE),
            user: next(),
            system: next(),
            softirq: next(),
            irq: next(),
            idle: next(),
            steal: next(),
            iowait: next(),
        })
    };
    let cores = value["cores"].as_array()?.iter().enumerate();
    Some(HostReading {
        at: instant(&value["at"])?,
        cores: cores.filter_map(core).collect(),
        process: time(&value["process"]),
        thread: time(&value["thread"]),
        throttled: time(&value["throttled"]),
        softnet_drops: value["softnet_drops"].as_u64(),
        time_squeeze: value["time_squeeze"].as_u64(),
        nic_drops: value["nic_drops"].as_u64(),
        socket_drops: value["socket_drops"].as_u64(),
    })
}

fn card_to_json(card: &CardLosses) -> Value {
    let grown: serde_json::Map<String, Value> = card
        .grown
        .iter()
        .map(|(name, count)| (name.clone(), (*count).into()))
        .collect();
    json!({"name": card.name, "grown": grown})
}

/// Parses a boot, whose ID must be hexadecimal digits and hyphens.
fn boot_from_json(value: &Value) -> Option<Boot> {
    let is_name = |id: &&str| {
        let is_digit = |c: char| c.is_ascii_hexdigit() || c == '-';
        (1..=64).contains(&id.len()) && id.chars().all(is_digit)
    };
    Some(Boot {
        id: value["id"].as_str().filter(is_name)?.into(),
        started: value["started"].as_u64()?,
    })
}

/// Parses a card's losses. Names with characters special to a terminal or shell are left out.
fn card_from_json(value: &Value) -> Option<CardLosses> {
    let is_plain = |name: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:[]".contains(c);
        (1..=64).contains(&name.len()) && name.chars().all(is_plain)
    };
    let grown = value["grown"]
        .as_object()?
        .iter()
        .filter(|(name, _)| is_plain(name))
        .take(MAX_COUNTERS);
    Some(CardLosses {
        name: value["name"].as_str().filter(|name| is_plain(name))?.into(),
        grown: grown
            .filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_keeps_every_second_reading_and_goes_on_so() {
        let mut list = Decimated::default();
        for number in 0..3000 {
            list.push(number, MAX_READINGS);
        }
        assert_eq!(list.stride, 4);
        assert!(list.kept.len() < MAX_READINGS);
        assert!(list.kept.windows(2).all(|pair| pair[1] - pair[0] == 4));
    }

    #[test]
    fn samples_are_read_as_they_were_written() {
        let reading = Reading {
            at: Instant::from_nanos(5000),
            rtt: Some(Duration::from_micros(80_000)),
            bytes_acked: Some(Bytes::new(1 << 40)),
            ..Reading::default()
        };
        let host = HostReading {
            at: Instant::from_nanos(7000),
            cores: vec![CoreTimes {
                number: 5,
                user: Duration::from_micros(9),
                iowait: Duration::from_micros(2),
                ..CoreTimes::default()
            }],
            thread: Some(Duration::from_micros(3)),
            nic_drops: Some(2),
            ..HostReading::default()
        };
        let samples = Samples {
            streams: vec![(3, vec![reading])],
            host: vec![host],
            card: Some(CardLosses {
                name: "eth0.7".into(),
                grown: vec![("rx_missed_errors".into(), 4)],
            }),
            boot: Boot::of_this_host(),
            congestion: Some("cubic".into()),
            limits: BufferLimits::Kernel([Some(Bytes::new(6 << 20)), None, None, None]),
        };
        let read = Samples::from_json(&samples.to_json()).unwrap();
        assert_eq!(read.streams, samples.streams);
        assert_eq!(read.host, samples.host);
        assert_eq!(read.card, samples.card);
        assert_eq!(read.boot, samples.boot);
        assert_eq!(read.limits, samples.limits);
    }

    #[test]
    fn what_is_odd_is_left_out() {
        assert!(Samples::from_json(&json!({"version": 2})).is_none());
        let odd = json!({"version": 1, "words": [1, "tcpi_rtt"], "host": [3, {}],
            "streams": [{"id": 1, "readings": [[], 7, [10, "x"], [11, 5, 6]]}, null]});
        let read = Samples::from_json(&odd).unwrap();
        assert_eq!(read.host, []);
        let odd = json!({"name": "eth0; reboot", "grown": {}});
        assert_eq!(card_from_json(&odd), None);
        assert_eq!(read.streams.len(), 1);
    }
}
