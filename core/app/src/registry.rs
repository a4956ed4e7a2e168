//! Registry of applications by name, for plans and the command line.
//!
//! To add one: a file with a type that is an [`Application`] and its `ENTRY`, and a line in
//! [`REGISTRY`]. Its settings, their defaults and their units then appear in plans, on the command
//! line and in `gigatcp list applications`.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use gigatcp_units::Duration;
use gigatcp_units::settings::{Parameter, Settings, TextError, Value, parts};

use crate::application::{Application, Role};
use crate::arrivals::{self, Arrivals};
use crate::reader::{self, Reader};
use crate::{datagrams, on_off, request_response, rpc, writer};

/// Name of the setting for the duration of an application.
const SPAN: &str = "for";

/// Parameters for building an application.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// Values that differ from the defaults.
    pub settings: &'a Settings,
    /// The run's seed.
    pub seed: u64,
    /// Name of the flow, the same for both ends. With the seed it selects all random streams.
    pub name: &'a str,
    /// Reading behavior of this end.
    pub reader: Reader,
}

/// Builder of an entry of the registry.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// Both ends of one connection or several.
    Stream(fn(&Build<'_>, Role) -> Box<dyn Application>),
    /// A reading behavior.
    Reader(fn(&Settings) -> Reader),
    /// Flows that begin during a run.
    Arrivals(fn(&Build<'_>) -> Arrivals),
    /// A source of datagrams; every sink is the same.
    Datagrams(fn(&Build<'_>) -> datagrams::Source),
}

impl Make {
    /// Kind of entry, for lists.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Stream(_) => "application",
            Self::Reader(_) => "reader",
            Self::Arrivals(_) => "arrivals",
            Self::Datagrams(_) => "datagrams",
        }
    }
}

/// A named application.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Its settings.
    pub parameters: &'static [Parameter],
    /// Its builder.
    pub make: Make,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Registry of all named applications. The first is the default.
pub const REGISTRY: &[Entry] = &[
    writer::BULK,
    writer::AMOUNT,
    writer::PACED,
    on_off::ENTRY,
    request_response::ENTRY,
    rpc::ENTRY,
    reader::AT_ONCE,
    reader::PAUSED,
    reader::AT_RATE,
    arrivals::ENTRY,
    datagrams::ENTRY,
];

/// Entry of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

/// An application and its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct AppConfig {
    /// The application.
    pub entry: &'static Entry,
    /// Values that differ from its defaults.
    pub settings: Settings,
}

impl AppConfig {
    /// Number of connections of a flow with it.
    pub fn connections(&self) -> u32 {
        match self.entry.name == rpc::ENTRY.name {
            true => rpc::connections(&self.settings),
            false => 1,
        }
    }

    /// Whether it draws times or sizes at random.
    pub fn draws(&self) -> bool {
        let is_set = |flag: &str| flag.starts_with("exponential") || flag == "poisson";
        let mut settings = self.settings.iter();
        matches!(self.entry.make, Make::Arrivals(_))
            || settings.any(|setting| setting.value == Value::Flag(true) && is_set(setting.name))
    }

    /// Limits it to `span`, if it has a duration setting that is not set.
    #[must_use]
    pub fn until(mut self, span: Duration) -> Self {
        let is_set = self.settings.iter().any(|setting| setting.name == SPAN);
        let takes = self
            .entry
            .parameters
            .iter()
            .any(|parameter| parameter.name == SPAN);
        if takes && !is_set {
            // A duration of zero sets nothing.
            let _ = self
                .settings
                .set(self.entry.parameters, SPAN, Value::Time(span));
        }
        self
    }

    /// One end of its connections; `None` if it has none.
    ///
    /// `name` is the flow's, the same for both ends; `reader` is the reading behavior of this end.
    pub fn stream(
        &self,
        role: Role,
        seed: u64,
        name: &str,
        reader: Reader,
    ) -> Option<Box<dyn Application>> {
        let Make::Stream(make) = self.entry.make else {
            return None;
        };
        let build = Build {
            settings: &self.settings,
            seed,
            name,
            reader,
        };
        Some(reader.gate(make(&build, role)))
    }

    /// Reading behavior; `None` if it is something else.
    pub fn reader(&self) -> Option<Reader> {
        match self.entry.make {
            Make::Reader(make) => Some(make(&self.settings)),
            _ => None,
        }
    }

    /// Arrivals; `None` if it is something else.
    pub fn arrivals(&self, seed: u64, name: &str) -> Option<Arrivals> {
        match self.entry.make {
            Make::Arrivals(make) => Some(make(&self.plain(seed, name))),
            _ => None,
        }
    }

    /// Source of datagrams; `None` if it is something else.
    pub fn datagrams(&self, seed: u64, name: &str) -> Option<datagrams::Source> {
        match self.entry.make {
            Make::Datagrams(make) => Some(make(&self.plain(seed, name))),
            _ => None,
        }
    }

    fn plain<'a>(&'a self, seed: u64, name: &'a str) -> Build<'a> {
        Build {
            settings: &self.settings,
            seed,
            name,
            reader: Reader::default(),
        }
    }
}

/// Prints the text that [`read`] parses.
impl fmt::Display for AppConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        for setting in self.settings.iter() {
            match setting.value {
                Value::Flag(true) => write!(f, ", {}", setting.name)?,
                value => write!(f, ", {} {value}", setting.name)?,
            }
        }
        Ok(())
    }
}

/// Parses an application: its name, then its settings. Example: `"on-off, burst 4 MB, every 4 s"`.
///
/// # Errors
/// [`TextError`]: an unknown name or setting, or a value that does not fit.
pub fn read(text: &str) -> Result<AppConfig, TextError> {
    let mut all = parts(text);
    let (name, span) = all.next().unwrap_or(("", 0..0));
    let Some(entry) = find(name) else {
        let names = REGISTRY.iter().map(|entry| entry.name);
        let listed: Vec<&str> = names.clone().collect();
        let hint = format!("one of {}", listed.join(", "));
        let why = "there is no such application";
        return Err(TextError::new(name, span, why, hint).suggest(name, names));
    };
    let mut settings = Settings::new();
    for (part, span) in all {
        settings.read(entry.name, entry.parameters, part, span)?;
    }
    Ok(AppConfig { entry, settings })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn every_entry_can_be_made_with_its_defaults() {
        for entry in REGISTRY {
            let config = read(entry.name).unwrap();
            let made = match entry.make {
                Make::Stream(_) => [Role::Client, Role::Server].into_iter().all(|role| {
                    let end = config.stream(role, 1, "flow", Reader::default());
                    end.is_some_and(|end| end.sockets() == config.connections())
                }),
                Make::Reader(_) => config.reader().is_some(),
                Make::Arrivals(_) => config.arrivals(1, "flow").is_some(),
                Make::Datagrams(_) => config.datagrams(1, "flow").is_some(),
            };
            assert!(made, "{}", entry.name);
        }
    }

    #[test]
    fn names_are_unique_and_defaults_lie_within_bounds() {
        for entry in REGISTRY {
            let same = REGISTRY.iter().filter(|same| same.name == entry.name);
            assert_eq!(same.count(), 1, "{}", entry.name);
            for parameter in entry.parameters {
                let same = entry.parameters.iter().filter(|p| p.name == parameter.name);
                assert_eq!(same.count(), 1, "{} {}", entry.name, parameter.name);
                let Some(default) = parameter.default else {
                    continue;
                };
                let mut settings = Settings::new();
                let set = settings.set(entry.parameters, parameter.name, default);
                assert_eq!(set, Ok(()), "{} {}", entry.name, parameter.name);
            }
        }
    }

    #[test]
    fn a_text_is_read_and_printed() {
        let text = "on-off, burst 4 MB, every 4 s";
        assert_eq!(read(text).unwrap().to_string(), text);
        let config = read("rpc , connections 8, poisson").unwrap();
        assert_eq!(config.connections(), 8);
        assert_eq!(config.to_string(), "rpc, connections 8, poisson");
        assert_eq!(read(&config.to_string()), Ok(config));
    }

    #[test]
    fn arrivals_and_exponential_times_are_random_and_fixed_ones_are_not() {
        let draws = ["arrivals", "rpc, poisson", "on-off, exponential"];
        let fixed = ["bulk", "rpc", "on-off", "request-response", "datagrams"];
        assert!(draws.iter().all(|text| read(text).unwrap().draws()));
        assert!(fixed.iter().all(|text| !read(text).unwrap().draws()));
    }

    #[test]
    fn a_text_that_is_wrong_is_refused_where_it_is_wrong() {
        let typo = read("on_off").unwrap_err();
        assert_eq!(typo.nearest.as_deref(), Some("on-off"));
        let typo = read("on-off, brust 4 MB").unwrap_err();
        assert_eq!((typo.nearest.as_deref(), typo.span), (Some("burst"), 8..18));
        assert!(read("").unwrap_err().hint.contains("request-response"));
        assert!(read("bulk, for 0 s").unwrap_err().why.contains("is from"));
    }
}
