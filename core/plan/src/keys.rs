//! Every key of a plan: one table, from which plans are checked and help is printed.
//!
//! A [`Key`] defines its valid values, their bounds and the default. The reader rejects keys that
//! are not listed here and reads no others. [`KeyTable`] prints itself, so help and checks agree.
//!
//! The switches and constants of a [`Profile`] are also keys of `[sender]` and `[receiver]`. They
//! are defined with the profiles, in [`SETTINGS`].

use core::fmt;

use gigatcp_tcp::congestion;
use gigatcp_tcp::profile::{Profile, SETTINGS};
use gigatcp_units::{Bytes, Duration, Rate};

pub use tables::*;

pub mod lookup;
mod tables;

/// Kind of a key's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// A word that is valid in a file name.
    Name,
    /// A list of texts.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A whole number within these bounds.
    Whole(u64, u64),
    /// A whole number of bytes within these bounds; the unit is optional.
    Octets(u32, u32),
    /// A text with a time within these bounds.
    Time(Duration, Duration),
    /// A text with a time of up to a second, down to picoseconds.
    Cost,
    /// A text with an amount of data within these bounds.
    Amount(Bytes, Bytes),
    /// A text with an amount of data within these bounds, or `auto`.
    Buffer(Bytes, Bytes),
    /// A text with a rate within these bounds.
    Rate(Rate, Rate),
    /// A text with a number of packets per second within these bounds.
    PacketRate(u64, u64),
    /// A number from 0 to 1, or a text with that or a percentage.
    Probability,
    /// A text with an application and its settings.
    Application,
    /// A text with a queue limit, a discipline and its settings.
    Queue,
    /// A text with moments and the rate from each moment.
    Rates,
    /// The name of a file with a link's delivery opportunities.
    Trace,
    /// A text with moments and the delay from each moment.
    Delays,
    /// A text with a time by which delays vary.
    Jitter,
    /// Slots: time to the next, and what it takes.
    Slot,
    /// A text with a share of packets and a mean burst.
    Bursts,
    /// A text with the options that a middlebox clears or clamps.
    Middlebox,
    /// A text with the ACK filter.
    AckFilter,
    /// A text with the backlog above which packets are marked.
    Threshold,
    /// A list of whole numbers from 1, ascending.
    Numbers,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The name of a profile.
    Profile,
    /// The name of a congestion control.
    Congestion,
    /// A table with the keys listed under that heading.
    Table(&'static str),
    /// One or several tables with the keys listed under that heading.
    Tables(&'static str),
    /// Dotted keys and the values they are set to.
    Changes,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Text => f.write_str("a text"),
            Kind::Name => f.write_str("a word of letters, digits, `-`, `_` and `.`"),
            Kind::Texts => f.write_str("a list of texts"),
            Kind::Flag => f.write_str("true or false"),
            Kind::Whole(low, high) => write!(f, "a whole number from {low} to {high}"),
            Kind::Octets(low, high) => write!(f, "a number of bytes from {low} to {high}"),
            Kind::Time(low, high) => write!(f, "a time from \"{low}\" to \"{high}\""),
            Kind::Cost => f.write_str("a time from \"0 ps\" to \"1 s\""),
            Kind::Amount(low, high) => write!(f, "an amount of data from \"{low}\" to \"{high}\""),
            Kind::Buffer(low, high) => {
                write!(
                    f,
                    "an amount of data from \"{low}\" to \"{high}\", or \"auto\""
                )
            }
            Kind::Rate(low, high) => write!(f, "a rate from \"{low}\" to \"{high}\""),
            Kind::PacketRate(low, high) => {
                write!(f, "a rate from \"{low} packet/s\" to \"{high} packet/s\"")
            }
            Kind::Probability => f.write_str("a probability from 0 to 1"),
            Kind::Queue => f.write_str(
                "\"1 BDP\", \"100 packets\", \"2 MB\" or \"unlimited\", and a discipline: \
                 \"fq_codel\", \"codel, 1000 packets, target 5 ms\" (`gigatcp list queues`)",
            ),
            Kind::Application => f.write_str(
                "an application and settings: \"on-off, burst 4 MB, every 4 s\" \
                 (`gigatcp list applications`)",
            ),
            Kind::Rates => f.write_str("\"10 s: 1 Mbit/s, 20 s: 5 Mbit/s, every 40 s\""),
            Kind::Trace => f.write_str("a file with milliseconds, in mahimahi's format"),
            Kind::Delays => f.write_str("\"10 s: 30 ms, 20 s: 80 ms, every 40 s\""),
            Kind::Jitter => f.write_str("\"2 ms\" or \"2 ms, normal, hold 10 ms, overtaking\""),
            Kind::Slot => f.write_str(
                "\"20 ms\", \"10 ms..30 ms, packets 32, bytes 64 kB\" or \"20 ms, spread 5 ms, normal\"",
            ),
            Kind::Bursts => f.write_str("share lost and mean burst, as in \"0.01:4\""),
            Kind::Middlebox => f.write_str(
                "\"mss 1400\", \"window_scale 7\", \"no window_scale\", \"no sack\", \
                 \"no timestamps\", \"no ecn\", or several between commas",
            ),
            Kind::AckFilter => f.write_str("\"queue\" or \"every 4\""),
            Kind::Threshold => f.write_str("\"65 packets\", \"100 kB\" or \"1 ms\" of waiting"),
            Kind::Numbers => f.write_str("a list of whole numbers from 1, ascending"),
            Kind::OneOf(words) => write_words(f, words.iter().copied()),
            Kind::Profile => write_words(f, Profile::ALL.iter().map(|profile| profile.name)),
            Kind::Congestion => {
                write_words(f, congestion::entries().map(|entry| entry.name))?;
                f.write_str(
                    "; with sender.stack = \"kernel\" any that the kernel has, or \"bpf:FILE.o\"",
                )
            }
            Kind::Table(heading) => write!(f, "a table, see {heading}"),
            Kind::Tables(heading) => write!(f, "one or more tables, see {heading}"),
            Kind::Changes => f.write_str("a table of dotted keys and values"),
        }
    }
}

fn write_words<'a>(
    f: &mut fmt::Formatter<'_>,
    words: impl Iterator<Item = &'a str>,
) -> fmt::Result {
    for (i, word) in words.enumerate() {
        let separator = if i == 0 { "" } else { ", " };
        write!(f, "{separator}\"{word}\"")?;
    }
    Ok(())
}

/// Default of an absent key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// None: the key is required.
    Required,
    /// This value, or what these words describe.
    Is(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key as it is typed.
    pub name: &'static str,
    /// Kind of its value.
    pub kind: Kind,
    /// Its default.
    pub default: Fallback,
    /// A valid value, as typed.
    pub example: &'static str,
    /// Its meaning.
    pub summary: &'static str,
}

/// The keys of one table of the plan.
#[derive(Clone, Copy, Debug)]
pub struct KeyTable {
    /// Heading of the table in a plan.
    pub heading: &'static str,
    /// Subject of the table.
    pub summary: &'static str,
    /// Its keys. Groups let tables share keys.
    pub groups: &'static [&'static [Key]],
    /// Whether the names in [`SETTINGS`] are keys here too.
    pub has_settings: bool,
}

impl KeyTable {
    /// Keys, without the settings of a profile.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone + use<> {
        self.groups.iter().copied().flatten()
    }

    /// Key of that name, unless it is a setting of a profile.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// Every valid name, the settings of a profile included.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let settings = if self.has_settings { SETTINGS } else { &[] };
        self.keys()
            .map(|key| key.name)
            .chain(settings.iter().map(|setting| setting.name))
    }
}

/// Prints the help text of a table: heading, summary, and each key.
impl fmt::Display for KeyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}  {}", self.heading, self.summary)?;
        for key in self.keys() {
            writeln!(f, "\n  {} = {}", key.name, key.example)?;
            writeln!(f, "      {}", key.summary)?;
            write!(f, "      {}", key.kind)?;
            match key.default {
                Fallback::Required => writeln!(f, "; required")?,
                Fallback::Is(value) => writeln!(f, "; default: {value}")?,
            }
        }
        if self.has_settings {
            writeln!(f, "\n  and any setting of the profile, which overrides it:")?;
            for setting in SETTINGS {
                writeln!(f, "  {}: {}", setting.name, setting.expects)?;
            }
        }
        Ok(())
    }
}
