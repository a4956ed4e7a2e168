//! Plan under construction: tables of typed values that are written as TOML.
//!
//! Causes and their lifting edit worlds here. [`Draft::to_toml`] returns the text for the plan
//! reader.

use std::fmt::{self, Write};

/// Value of a key, in the unit of its variant.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number of bytes.
    Bytes(u64),
    /// A time in nanoseconds.
    Nanos(u64),
    /// A cost in picoseconds.
    Picos(u64),
    /// A rate in bits per second.
    Bps(u64),
    /// A queue limit in packets.
    Packets(u64),
    /// A queue discipline with its settings, and its limit in packets.
    Queue(String, u64),
    /// A rate in packets per second.
    PacketRate(u64),
    /// A probability.
    Probability(f64),
    /// A word.
    Word(String),
    /// Whole numbers.
    List(Vec<u64>),
}

impl Value {
    /// A time from seconds.
    pub(crate) fn seconds(seconds: f64) -> Self {
        Self::Nanos((seconds * 1e6).round().max(0.0) as u64 * 1_000)
    }

    /// A rate in bits per second, rounded to kbit/s.
    pub(crate) fn bps(bps: f64) -> Self {
        Self::Bps((bps / 1e3).round().max(1.0) as u64 * 1_000)
    }

    pub(crate) fn cost(seconds: f64) -> Self {
        Self::Picos((seconds * 1e12).round().max(0.0) as u64)
    }

    /// Number in the unit of the variant; `None` for words, flags and lists.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Count(n)
            | Self::Bytes(n)
            | Self::Nanos(n)
            | Self::Picos(n)
            | Self::Bps(n)
            | Self::Packets(n)
            | Self::Queue(_, n)
            | Self::PacketRate(n) => Some(*n as f64),
            Self::Probability(p) => Some(*p),
            Self::Flag(_) | Self::Word(_) | Self::List(_) => None,
        }
    }

    /// Value with its number multiplied, if it has one.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let scaled = |n: u64| ((n as f64 * factor).round() as u64).max(1);
        match self {
            Self::Count(n) => Self::Count(scaled(*n)),
            Self::Bytes(n) => Self::Bytes(scaled(*n)),
            Self::Nanos(n) => Self::Nanos(scaled(*n)),
            Self::Picos(n) => Self::Picos(scaled(*n)),
            Self::Bps(n) => Self::Bps(scaled(*n)),
            Self::Packets(n) => Self::Packets(scaled(*n)),
            Self::Queue(discipline, n) => Self::Queue(discipline.clone(), scaled(*n)),
            Self::PacketRate(n) => Self::PacketRate(scaled(*n)),
            Self::Probability(p) => Self::Probability((p * factor).min(1.0)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(on) => write!(f, "{on}"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Bytes(n) => write!(f, "\"{n} B\""),
            Self::Nanos(n) if n % 1_000_000 == 0 => write!(f, "\"{} ms\"", n / 1_000_000),
            Self::Nanos(n) if n % 1_000 == 0 => write!(f, "\"{} us\"", n / 1_000),
            Self::Nanos(n) => write!(f, "\"{n} ns\""),
            Self::Picos(n) if n % 1_000 == 0 => write!(f, "\"{} ns\"", n / 1_000),
            Self::Picos(n) => write!(f, "\"{n} ps\""),
            Self::Bps(n) => write!(f, "\"{} kbit/s\"", n / 1_000),
            Self::Packets(n) => write!(f, "\"{n} packets\""),
            Self::Queue(discipline, n) => write!(f, "\"{discipline}, {n} packets\""),
            Self::PacketRate(n) => write!(f, "\"{n} packet/s\""),
            Self::Probability(p) => write!(f, "{p:.7}"),
            Self::Word(word) => write!(f, "\"{word}\""),
            Self::List(list) => {
                let words: Vec<String> = list.iter().map(u64::to_string).collect();
                write!(f, "[{}]", words.join(", "))
            }
        }
    }
}

/// Keys of one table, in the order in which they were set.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Table(Vec<(&'static str, Value)>);

impl Table {
    /// Sets a key, replacing its earlier value.
    pub(crate) fn set(&mut self, key: &'static str, value: Value) -> &mut Self {
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
        self
    }

    /// Sets a switch.
    pub(crate) fn flag(&mut self, key: &'static str, on: bool) -> &mut Self {
        self.set(key, Value::Flag(on))
    }

    /// Removes keys. Returns whether any of them existed.
    pub(crate) fn remove(&mut self, keys: &[&str]) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _)| !keys.contains(name));
        self.0.len() < before
    }

    /// Removes every key.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(name, _)| *name == key)?;
        Some(&found.1)
    }

    /// Number of a key, in the unit of its variant.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.find(key).and_then(Value::number)
    }

    /// Multiplies the number of a key. Returns whether the key existed.
    pub(crate) fn scale(&mut self, key: &str, factor: f64) -> bool {
        let found = self.0.iter_mut().find(|(name, _)| *name == key);
        found.is_some_and(|(_, value)| {
            *value = value.times(factor);
            true
        })
    }

    /// Multiplies every number. Returns whether the table had keys.
    pub(crate) fn scale_all(&mut self, factor: f64) -> bool {
        for (_, value) in &mut self.0 {
            *value = value.times(factor);
        }
        !self.0.is_empty()
    }

    /// Whether no key is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn write(&self, heading: &str, text: &mut String) {
        if self.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{heading}");
        for (key, value) in &self.0 {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
}

/// Index of the bottleneck among the forward hops, and among the reverse hops.
pub(crate) const BOTTLENECK: usize = 1;

/// Plan: hosts at both ends of three hops in each direction, and its flows.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Draft {
    /// Name and times of the plan.
    pub(crate) top: Table,
    /// Forward hops: access, bottleneck, far side.
    pub(crate) forward: [Table; 3],
    /// Reverse hops: far side, bottleneck, access.
    pub(crate) reverse: [Table; 3],
    /// The sending host.
    pub(crate) sender: Table,
    /// CPU costs of the sending host.
    pub(crate) sender_cpu: Table,
    /// Own link of the sending host.
    pub(crate) sender_link: Table,
    /// The receiving host.
    pub(crate) receiver: Table,
    /// CPU costs of the receiving host.
    pub(crate) receiver_cpu: Table,
    /// Receive rings of the receiving host.
    pub(crate) rings: Table,
    /// The receiving application.
    pub(crate) reader: Table,
    /// Graded flow, then others.
    pub(crate) flows: Vec<Table>,
}

impl Draft {
    /// Plan as text.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.top.0 {
            let _ = writeln!(text, "{key} = {value}");
        }
        for (hops, heading) in [
            (&self.forward, "[[path.forward]]"),
            (&self.reverse, "[[path.reverse]]"),
        ] {
            for hop in hops {
                hop.write(heading, &mut text);
            }
        }
        for (table, heading) in [
            (&self.sender, "[sender]"),
            (&self.sender_cpu, "[sender.cpu]"),
            (&self.sender_link, "[sender.link]"),
            (&self.receiver, "[receiver]"),
            (&self.receiver_cpu, "[receiver.cpu]"),
            (&self.rings, "[receiver.rings]"),
            (&self.reader, "[receiver.reader]"),
        ] {
            table.write(heading, &mut text);
        }
        for flow in &self.flows {
            flow.write("[[flow]]", &mut text);
        }
        text
    }

    pub(crate) fn bottleneck(&mut self) -> &mut Table {
        &mut self.forward[BOTTLENECK]
    }

    /// Graded flow.
    pub(crate) fn flow(&mut self) -> &mut Table {
        &mut self.flows[0]
    }

    /// Sets a key of both hosts.
    pub(crate) fn both(&mut self, key: &'static str, value: Value) {
        self.sender.set(key, value.clone());
        self.receiver.set(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_a_plan_in_toml_and_keys_are_replaced() {
        let mut draft = Draft {
            flows: vec![Table::default()],
            ..Draft::default()
        };
        draft.top.set("name", Value::Word("x".into()));
        draft.sender.set("mtu", Value::Count(1500));
        draft.sender.set("mtu", Value::Count(9000));
        draft.flow().set("duration", Value::seconds(2.5));
        draft.bottleneck().set("rate", Value::bps(1_234_567.0));
        let text = draft.to_toml();
        assert_eq!(
            text,
            "name = \"x\"\n\n[[path.forward]]\nrate = \"1235 kbit/s\"\n\n[sender]\nmtu = 9000\n\n\
             [[flow]]\nduration = \"2500 ms\"\n"
        );
        assert!(draft.bottleneck().scale("rate", 2.0));
        assert_eq!(draft.bottleneck().number("rate"), Some(2_470_000.0));
        assert!(draft.sender.remove(&["mtu"]) && !draft.sender.remove(&["mtu"]));
    }
}
