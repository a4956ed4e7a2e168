//! Every key a plan can have: one table, from which plans are checked and
//! help is printed.
//!
//! A [`Key`] says what its value may be, bounds included, and what stands in
//! when it is absent; the reader refuses what is not listed here and reads
//! nothing that is not. [`KeyTable`] prints itself, so that help and check
//! cannot disagree.
//!
//! The switches and constants of a [`Profile`] are keys
//! of `[sender]` and `[receiver]` too; they are defined where the profiles
//! are, in [`SETTINGS`].

use core::fmt;

use gigatcp_tcp::congestion;
use gigatcp_tcp::profile::{Profile, SETTINGS};
use gigatcp_units::{Bytes, Duration, Rate};

pub use tables::*;

pub mod lookup;
mod tables;

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// A word that can be part of a file's name.
    Name,
    /// A list of texts.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A whole number in these bounds.
    Whole(u64, u64),
    /// A whole number of bytes in these bounds; the unit may be left out.
    Octets(u32, u32),
    /// A text with a time in these bounds.
    Time(Duration, Duration),
    /// A text with a time of up to a second, down to picoseconds.
    Cost,
    /// A text with an amount of data in these bounds.
    Amount(Bytes, Bytes),
    /// A text with an amount of data in these bounds, or `auto`.
    Buffer(Bytes, Bytes),
    /// A text with a rate in these bounds.
    Rate(Rate, Rate),
    /// A text with a number of packets per second in these bounds.
    PacketRate(u64, u64),
    /// A number from 0 to 1, or a text with one or with a percentage.
    Probability,
    /// A text with an application and its settings.
    Application,
    /// A text with the room of a queue, its discipline and settings.
    Queue,
    /// A text with moments and the rate from each on.
    Rates,
    /// The name of a file with a link's opportunities to send.
    Trace,
    /// A text with moments and the delay from each on.
    Delays,
    /// A text with a time by which delays vary.
    Jitter,
    /// A text with a share of packets and a mean burst.
    Bursts,
    /// A text with what a middlebox clears and clamps.
    Middlebox,
    /// A text with how ACKs are filtered.
    AckFilter,
    /// A text with the chances of a Gilbert-Elliott chain.
    Chain,
    /// A text with a backlog from which on packets are marked.
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
            Kind::Bursts => f.write_str("share lost and mean burst, as in \"0.01:4\""),
            Kind::Chain => f.write_str("p, r, 1-h and 1-k, as in \"0.001 0.1 1 0\""),
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
                f.write_str("; with sender.stack = \"kernel\" any that the kernel has")
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

/// What is the default for a key that is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// Nothing: the key must be there.
    Required,
    /// This value, or what these words say.
    Is(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key as it is typed.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// What is the default for it.
    pub default: Fallback,
    /// A valid value as it is typed.
    pub example: &'static str,
    /// What it means.
    pub summary: &'static str,
}

/// The keys of one table of the plan.
#[derive(Clone, Copy, Debug)]
pub struct KeyTable {
    /// How the table is opened in a plan.
    pub heading: &'static str,
    /// What the table describes.
    pub summary: &'static str,
    /// Its keys. Groups exist because tables share some.
    pub groups: &'static [&'static [Key]],
    /// Whether the names in [`SETTINGS`] are keys here too.
    pub has_settings: bool,
}

impl KeyTable {
    /// The keys, without the settings of a profile.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone + use<> {
        self.groups.iter().copied().flatten()
    }

    /// The key of that name, unless it is a setting of a profile.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// Every name that is valid here, the settings of a profile included.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let settings = if self.has_settings { SETTINGS } else { &[] };
        let settings = settings.iter().map(|setting| setting.name);
        self.keys().map(|key| key.name).chain(settings)
    }
}

/// The help text of a table: heading, summary and a line or two per key.
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
