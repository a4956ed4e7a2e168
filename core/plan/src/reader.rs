//! Reads one table of a plan, key by key.
//!
//! A [`Reader`] has the [`KeyTable`] of its table. On creation it reports unknown keys; each read
//! checks the kind and bounds listed there. Mistakes go to the [`Findings`]. The read then returns
//! `None` and the caller continues with the default, so one pass finds all mistakes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use gigatcp_path::Trace;
use gigatcp_units::settings::TextError;
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::diagnostic::{Diagnostic, Findings, Place};
use crate::document::{Entry, Table, Value, ValueKind};
use crate::keys::{Fallback, Key, KeyTable, Kind, TABLES};
use crate::nearest::nearest;
use crate::quantity;
use gigatcp_units::grammar::shortened;

/// Requested size of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferRequest {
    /// No size: the buffer is autotuned.
    Auto,
    /// This size.
    Octets(Bytes),
}

impl BufferRequest {
    /// Size, if any.
    pub(crate) fn requested(self) -> Option<Bytes> {
        match self {
            BufferRequest::Auto => None,
            BufferRequest::Octets(octets) => Some(octets),
        }
    }
}

/// Bounds of a key of this kind.
macro_rules! bounds {
    ($key:expr, $kind:ident) => {
        match $key.kind {
            Kind::$kind(low, high) => (low, high),
            ref other => unreachable!("`{}` is listed as {other}", $key.name),
        }
    };
}

/// One table of the plan and its valid keys.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    keys: &'static KeyTable,
    table: &'a Table,
    place: &'a Place,
    findings: &'a Findings<'a>,
}

impl<'a> Reader<'a> {
    /// A reader of `table` at `place`; reports unknown and missing keys.
    pub(crate) fn new(
        keys: &'static KeyTable,
        table: &'a Table,
        place: &'a Place,
        findings: &'a Findings<'a>,
    ) -> Self {
        let reader = Self {
            keys,
            table,
            place,
            findings,
        };
        for entry in &table.entries {
            if !keys.names().any(|name| name == entry.key) {
                unknown_key(keys, entry).report(findings);
            }
        }
        for key in keys.keys() {
            if key.default == Fallback::Required && !reader.has(key.name) {
                reader.report_missing(key);
            }
        }
        reader
    }

    /// A reader of an absent table: every key is absent. Missing keys are reported in the table
    /// around it.
    pub(crate) fn empty(keys: &'static KeyTable, none: &'a Table, parent: &Self) -> Self {
        Self {
            keys,
            table: none,
            ..*parent
        }
    }

    /// A reader of the table in `value`.
    pub(crate) fn of_value(
        keys: &'static KeyTable,
        value: &'a Value,
        findings: &'a Findings<'a>,
    ) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(table) => Some(Self::new(keys, table, &value.place, findings)),
            _ => {
                let message = format!("{} stands where a table is wanted", value.describe());
                let hint = format!("a table with keys of {}", keys.heading);
                Diagnostic::error(&value.place, message)
                    .label("not a table")
                    .hint(hint)
                    .report(findings);
                None
            }
        }
    }

    pub(crate) const fn findings(&self) -> &'a Findings<'a> {
        self.findings
    }

    /// Whether such a key is valid here.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.keys.find(name).is_some()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.entry(name).is_some()
    }

    /// Place of the key, or of the table if it is absent.
    pub(crate) fn place_of(&self, name: &str) -> &'a Place {
        self.table
            .entry(name)
            .map_or(self.place, |entry| &entry.key_place)
    }

    /// Place of the key's value, or of the table if it is absent.
    pub(crate) fn place_of_value(&self, name: &str) -> &'a Place {
        self.table
            .value(name)
            .map_or(self.place, |value| &value.place)
    }

    /// Keys that are present, in the order of writing.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        self.table.entries.iter()
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.table.value(name)
    }

    pub(crate) fn report_missing(&self, key: &Key) {
        let message = format!("`{}` is missing from {}", key.name, self.keys.heading);
        Diagnostic::error(self.place, message)
            .label(format!("`{}` is wanted here", key.name))
            .hint(format!("{} = {}", key.name, key.example))
            .report(self.findings);
    }

    /// Reports that `key` cannot be combined with `other`.
    pub(crate) fn report_conflict(&self, key: &str, other: &str, why: &str) {
        Diagnostic::error(
            self.place_of(key),
            format!("`{key}` cannot be combined with `{other}`: {why}"),
        )
        .label(format!("take out this or `{other}`"))
        .related(self.place_of(other), format!("`{other}` is set here"))
        .report(self.findings);
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let (key, value) = self.find(name)?;
        match &value.kind {
            ValueKind::Text(text) => Some(text.clone()),
            _ => self.wrong_type(key, value),
        }
    }

    /// A word that is valid in a file name.
    pub(crate) fn name(&self, name: &str) -> Option<String> {
        let (key, value) = self.find(name)?;
        match &value.kind {
            ValueKind::Text(text) if is_name(text) => Some(text.clone()),
            ValueKind::Text(text) => {
                let why = if text.is_empty() {
                    "it is empty"
                } else {
                    "it cannot name a file"
                };
                self.wrong_value(key, value, &format!("\"{}\"", shortened(text)), why)
            }
            _ => self.wrong_type(key, value),
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let Some((key, value)) = self.find(name) else {
            return Vec::new();
        };
        let ValueKind::Array(elements) = &value.kind else {
            self.wrong_type::<()>(key, value);
            return Vec::new();
        };
        let texts = elements.iter().filter_map(|element| match &element.kind {
            ValueKind::Text(text) => Some(text.clone()),
            _ => self.wrong_type(key, element),
        });
        texts.collect()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let (key, value) = self.find(name)?;
        match value.kind {
            ValueKind::Flag(flag) => Some(flag),
            _ => self.wrong_type(key, value),
        }
    }

    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, Whole);
        let number = self.integer(key, value)?;
        self.bounded(key, value, number, low, high, "")
    }

    /// A whole number whose bounds fit 32 bits.
    pub(crate) fn count(&self, name: &str) -> Option<u32> {
        self.whole(name)
            .and_then(|number| u32::try_from(number).ok())
    }

    pub(crate) fn octets(&self, name: &str) -> Option<u32> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, Octets);
        let number = match &value.kind {
            ValueKind::Text(text) => self
                .understood(key, value, text, quantity::octets(text))?
                .as_u64(),
            _ => self.integer(key, value)?,
        };
        let (low, high) = (u64::from(low), u64::from(high));
        let number = self.bounded(key, value, number, low, high, " bytes")?;
        u32::try_from(number).ok()
    }

    pub(crate) fn time(&self, name: &str) -> Option<Duration> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, Time);
        let time = self.quantity(key, value, quantity::common)?;
        self.bounded(key, value, time, low, high, "")
    }

    pub(crate) fn amount(&self, name: &str) -> Option<Bytes> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, Amount);
        let amount = self.quantity(key, value, quantity::common)?;
        self.bounded(key, value, amount, low, high, "")
    }

    /// A buffer request. `None` if the key is absent or wrong.
    pub(crate) fn buffer(&self, name: &str) -> Option<BufferRequest> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, Buffer);
        if matches!(&value.kind, ValueKind::Text(text) if text == "auto") {
            return Some(BufferRequest::Auto);
        }
        let amount = self.quantity(key, value, quantity::common)?;
        let amount = self.bounded(key, value, amount, low, high, "")?;
        Some(BufferRequest::Octets(amount))
    }

    pub(crate) fn rate(&self, name: &str) -> Option<Rate> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, Rate);
        let rate = self.quantity(key, value, quantity::common)?;
        self.bounded(key, value, rate, low, high, "")
    }

    /// A number of packets per second.
    pub(crate) fn packet_rate(&self, name: &str) -> Option<u64> {
        let (key, value) = self.find(name)?;
        let (low, high) = bounds!(key, PacketRate);
        let rate = self.quantity(key, value, quantity::packet_rate)?;
        self.bounded(key, value, rate, low, high, " packet/s")
    }

    /// A cost in picoseconds, of at most a second.
    pub(crate) fn cost(&self, name: &str) -> Option<gigatcp_path::Picoseconds> {
        let (key, value) = self.find(name)?;
        let cost = self.quantity(key, value, quantity::cost)?;
        let second = 1_000_000_000_000;
        self.bounded(key, value, cost.as_u64(), 0, second, " ps")
            .map(|_| cost)
    }

    pub(crate) fn probability(&self, name: &str) -> Option<Probability> {
        let (key, value) = self.find(name)?;
        let number = match &value.kind {
            ValueKind::Text(text) => {
                return self.understood(key, value, text, quantity::common(text));
            }
            ValueKind::Integer(Some(number)) => *number as f64,
            ValueKind::Float(number) => *number,
            _ => return self.wrong_type(key, value),
        };
        let probability = Probability::try_new(number);
        if probability.is_none() {
            self.wrong_value::<()>(key, value, &number.to_string(), "it is not within 0 and 1");
        }
        probability
    }

    /// Value that `read` has for the text of a key.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Result<T, TextError>,
    ) -> Option<T> {
        let (key, value) = self.find(name)?;
        self.quantity(key, value, read)
    }

    /// Trace in the file that the key names.
    pub(crate) fn trace(&self, name: &str) -> Option<Trace> {
        let (key, value) = self.find(name)?;
        let ValueKind::Text(file) = &value.kind else {
            return self.wrong_type(key, value);
        };
        let text = self.findings.read(file);
        let trace = text.and_then(|text| Trace::parse(&text).map_err(|error| error.to_string()));
        trace
            .inspect_err(|why| {
                let message = format!("`{}` gives no trace: {why}", shortened(file));
                Diagnostic::error(&value.place, message)
                    .label("one number of milliseconds a line, none before the last")
                    .hint(format!("a path relative to {}", self.findings.directory()))
                    .report(self.findings);
            })
            .ok()
    }

    /// A list of whole numbers from 1, ascending.
    pub(crate) fn numbers(&self, name: &str) -> Option<Vec<u64>> {
        let (key, value) = self.find(name)?;
        let ValueKind::Array(elements) = &value.kind else {
            return self.wrong_type(key, value);
        };
        let mut numbers = Vec::with_capacity(elements.len());
        for element in elements {
            let number = self.integer(key, element)?;
            let low = numbers
                .last()
                .map_or(1, |last: &u64| last.saturating_add(1));
            if number < low {
                let why = if number == 0 {
                    "counting begins at 1"
                } else {
                    "it does not ascend"
                };
                return self.wrong_value(key, element, &number.to_string(), why);
            }
            numbers.push(number);
        }
        Some(numbers)
    }

    /// Value that `find` has for one of the words `candidates`.
    pub(crate) fn choice<T>(
        &self,
        name: &str,
        what: &str,
        candidates: impl Iterator<Item = &'static str> + Clone,
        find: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let (key, value) = self.find(name)?;
        let ValueKind::Text(text) = &value.kind else {
            return self.wrong_type(key, value);
        };
        let found = find(text);
        if found.is_none() {
            let message = format!("there is no {what} `{}`", shortened(text));
            Diagnostic::error(&value.place, message)
                .label(format!("unknown {what}"))
                .nearest(nearest(text, candidates).map(|near| format!("\"{near}\"")))
                .hint(key.kind.to_string())
                .report(self.findings);
        }
        found
    }

    /// Tables of a key that takes one or several, each with its place.
    pub(crate) fn tables(&self, name: &str) -> Option<&'a [Value]> {
        let value = self.value(name)?;
        match &value.kind {
            ValueKind::Array(elements) => Some(elements),
            _ => Some(core::slice::from_ref(value)),
        }
    }

    fn find(&self, name: &str) -> Option<(&'static Key, &'a Value)> {
        let value = self.value(name)?;
        match self.keys.find(name) {
            Some(key) => Some((key, value)),
            None => unreachable!("`{name}` is not listed in {}", self.keys.heading),
        }
    }

    fn integer(&self, key: &Key, value: &Value) -> Option<u64> {
        match value.kind {
            ValueKind::Integer(Some(number)) => match u64::try_from(number) {
                Ok(number) => Some(number),
                Err(_) if number < 0 => {
                    self.wrong_value(key, value, &number.to_string(), "it is negative")
                }
                Err(_) => self.wrong_value(key, value, &number.to_string(), "it is too large"),
            },
            ValueKind::Integer(None) => {
                self.wrong_value(key, value, "this number", "it is too large")
            }
            _ => self.wrong_type(key, value),
        }
    }

    fn quantity<T>(
        &self,
        key: &Key,
        value: &Value,
        parse: impl Fn(&str) -> Result<T, TextError>,
    ) -> Option<T> {
        match &value.kind {
            ValueKind::Text(text) => self.understood(key, value, text, parse(text)),
            ValueKind::Integer(_) | ValueKind::Float(_) => {
                Diagnostic::error(&value.place, format!("`{}` has no unit", key.name))
                    .label("a number without a unit")
                    .hint(format!(
                        "{}, as in {} = {}",
                        key.kind, key.name, key.example
                    ))
                    .report(self.findings);
                None
            }
            _ => self.wrong_type(key, value),
        }
    }

    /// Returns the value read from `text`, or reports why there is none.
    fn understood<T>(
        &self,
        key: &Key,
        value: &Value,
        text: &str,
        read: Result<T, TextError>,
    ) -> Option<T> {
        let error = match read {
            Ok(it) => return Some(it),
            Err(error) => error,
        };
        let place = value.place_within(text, error.span);
        Diagnostic::error(&place, format!("`{}`: {}", key.name, error.why))
            .label(key.kind.to_string())
            .nearest(error.nearest)
            .hint(error.hint)
            .report(self.findings);
        None
    }

    fn bounded<T: PartialOrd + Display>(
        &self,
        key: &Key,
        value: &Value,
        it: T,
        low: T,
        high: T,
        unit: &str,
    ) -> Option<T> {
        let why = if it < low {
            format!("it is below {low}{unit}")
        } else if it > high {
            format!("it is above {high}{unit}")
        } else {
            return Some(it);
        };
        self.wrong_value(key, value, &format!("{it}{unit}"), &why)
    }

    fn wrong_value<T>(&self, key: &Key, value: &Value, read: &str, why: &str) -> Option<T> {
        Diagnostic::error(
            &value.place,
            format!("`{}` cannot be {read}: {why}", key.name),
        )
        .label(why)
        .hint(format!(
            "{}, as in {} = {}",
            key.kind, key.name, key.example
        ))
        .report(self.findings);
        None
    }

    /// Reports that the value of a key has the wrong type.
    pub(crate) fn report_wrong_type(&self, name: &str) {
        if let Some((key, value)) = self.find(name) {
            self.wrong_type::<()>(key, value);
        }
    }

    fn wrong_type<T>(&self, key: &Key, value: &Value) -> Option<T> {
        let message = format!("`{}` cannot be {}", key.name, value.describe());
        Diagnostic::error(&value.place, message)
            .label(key.kind.to_string())
            .hint(format!("{} = {}", key.name, key.example))
            .report(self.findings);
        None
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=100).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(is_plain)
}

fn unknown_key(keys: &KeyTable, entry: &Entry) -> Diagnostic {
    let message = format!(
        "`{}` is not a key of {}",
        shortened(&entry.key),
        keys.heading
    );
    let finding = Diagnostic::error(&entry.key_place, message).label("unknown key");
    let near = nearest(&entry.key, keys.names());
    if near.is_some() {
        return finding.nearest(near);
    }
    let elsewhere = TABLES
        .iter()
        .find(|table| table.names().any(|name| name == entry.key));
    finding.hint(match elsewhere {
        Some(table) => format!("`{}` is a key of {}", entry.key, table.heading),
        None => {
            let names: Vec<&str> = keys.names().collect();
            format!("keys here: {}", names.join(", "))
        }
    })
}
