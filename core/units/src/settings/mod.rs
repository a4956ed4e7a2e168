//! Settings of objects chosen by name: names, units, defaults, bounds.
//!
//! An object that can be chosen (a queue discipline, an application) lists its [`Parameter`]s.
//! [`Settings`] holds the values that differ from the defaults. [`Settings::read`] parses the text
//! of a plan or of the command line: `burst 4 MB`, `every 4 s`, `poisson`.

mod text;

use alloc::vec::Vec;
use core::fmt;

use crate::{Bytes, Duration, Rate};

pub use text::{TextError, parts};

/// Value of a setting. Values of one kind are ordered.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub enum Value {
    /// A duration.
    Time(Duration),
    /// A number of bytes.
    Octets(u64),
    /// A number of packets, or another integer.
    Count(u64),
    /// A real number, e.g. a share or a factor.
    Number(f64),
    /// A rate in bit/s.
    Rate(Rate),
    /// A flag.
    Flag(bool),
}

impl Value {
    /// Name of the kind, for errors.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Time(_) => "a time",
            Self::Octets(_) => "a number of bytes",
            Self::Count(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Rate(_) => "a rate",
            Self::Flag(_) => "true or false",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "{time}"),
            Self::Octets(octets) => write!(f, "{}", Bytes::new(*octets)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// Declares parameters as constants, one per row.
///
/// A row has constant and kind of the values, then name, default, bounds and summary.
///
/// ```
/// gigatcp_units::parameters! {
///     /// Mean time between two bursts.
///     pub EVERY: Count = "every", Some(4), [1, 100], "seconds from one burst to the next";
/// }
/// assert_eq!(EVERY.name, "every");
/// ```
#[macro_export]
macro_rules! parameters {
    ($(
        $(#[$about:meta])*
        $visibility:vis $constant:ident: $kind:ident =
            $name:literal, $default:expr, [$least:expr, $most:expr], $summary:expr;
    )+) => {$(
        $(#[$about])*
        $visibility const $constant: $crate::settings::Parameter = $crate::settings::Parameter {
            name: $name,
            summary: $summary,
            default: $crate::default_value!($default, $kind),
            least: $crate::settings::Value::$kind($least),
            most: $crate::settings::Value::$kind($most),
        };
    )+};
}

/// Converts an optional default of a parameter, in a constant.
#[doc(hidden)]
#[macro_export]
macro_rules! default_value {
    ($default:expr, $kind:ident) => {
        match $default {
            Some(value) => Some($crate::settings::Value::$kind(value)),
            None => None,
        }
    };
}

/// A parameter that can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One-line description, with the unit if the value has none.
    pub summary: &'static str,
    /// Default value. `None`: off.
    pub default: Option<Value>,
    /// Minimum value; its kind is the kind of every value.
    pub least: Value,
    /// Maximum value.
    pub most: Value,
}

impl Parameter {
    /// A time parameter from a nanosecond to a year.
    pub const fn time(
        name: &'static str,
        default: Option<Duration>,
        summary: &'static str,
    ) -> Self {
        Self {
            name,
            summary,
            default: default_value!(default, Time),
            least: Value::Time(Duration::from_nanos(1)),
            most: Value::Time(Duration::from_secs(365 * 86_400)),
        }
    }

    /// A byte parameter from 1 to 2^50.
    pub const fn octets(name: &'static str, default: Option<u64>, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            default: default_value!(default, Octets),
            least: Value::Octets(1),
            most: Value::Octets(1 << 50),
        }
    }

    /// An integer parameter from 1 to `most`.
    pub const fn count(
        name: &'static str,
        default: Option<u64>,
        most: u64,
        summary: &'static str,
    ) -> Self {
        Self {
            name,
            summary,
            default: default_value!(default, Count),
            least: Value::Count(1),
            most: Value::Count(most),
        }
    }

    /// A rate parameter from 1 bit/s.
    pub const fn rate(name: &'static str, default: Option<Rate>, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            default: default_value!(default, Rate),
            least: Value::Rate(Rate::from_bps(1)),
            most: Value::Rate(Rate::MAX),
        }
    }

    /// A real parameter within bounds.
    pub const fn number(
        name: &'static str,
        default: Option<f64>,
        bounds: (f64, f64),
        summary: &'static str,
    ) -> Self {
        Self {
            name,
            summary,
            default: default_value!(default, Number),
            least: Value::Number(bounds.0),
            most: Value::Number(bounds.1),
        }
    }

    /// A flag that is off by default.
    pub const fn flag(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            default: Some(Value::Flag(false)),
            least: Value::Flag(false),
            most: Value::Flag(true),
        }
    }

    /// Whether `value` is within the bounds; `None` if it is of another kind.
    fn holds(&self, value: Value) -> Option<bool> {
        (value.kind() == self.least.kind()).then(|| self.least <= value && value <= self.most)
    }
}

/// A parameter and its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// The parameter's name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// Values that differ from the defaults.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Settings(Vec<Setting>);

/// Reason why a value cannot be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SettingsError {
    /// There is no such parameter.
    Unknown,
    /// It takes a value of another kind.
    Kind(&'static Parameter),
    /// The value lies outside the bounds.
    Bounds(&'static Parameter),
}

impl Settings {
    /// Settings with all defaults.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets one of `parameters`; a later value replaces an earlier one.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn set(
        &mut self,
        parameters: &'static [Parameter],
        name: &str,
        value: Value,
    ) -> Result<(), SettingsError> {
        let parameter = parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .ok_or(SettingsError::Unknown)?;
        let is_within = parameter
            .holds(value)
            .ok_or(SettingsError::Kind(parameter))?;
        if !is_within {
            return Err(SettingsError::Bounds(parameter));
        }
        let name = parameter.name;
        match self.0.iter_mut().find(|earlier| earlier.name == name) {
            Some(earlier) => earlier.value = value,
            None => self.0.push(Setting { name, value }),
        }
        Ok(())
    }

    /// Values that were set, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// Value of a parameter: the one that was set, else its default.
    pub fn get(&self, parameter: &Parameter) -> Option<Value> {
        let set = self.0.iter().find(|setting| setting.name == parameter.name);
        set.map(|setting| setting.value).or(parameter.default)
    }

    /// A time; `None` if the parameter is off or of another kind.
    pub fn maybe_time(&self, parameter: &Parameter) -> Option<Duration> {
        match self.get(parameter) {
            Some(Value::Time(time)) => Some(time),
            _ => None,
        }
    }

    /// A time; zero if the parameter is off or of another kind.
    pub fn time(&self, parameter: &Parameter) -> Duration {
        self.maybe_time(parameter).unwrap_or(Duration::ZERO)
    }

    /// Bytes or a count; `None` if the parameter is off or of another kind.
    pub fn maybe_whole(&self, parameter: &Parameter) -> Option<u64> {
        match self.get(parameter) {
            Some(Value::Octets(number) | Value::Count(number)) => Some(number),
            _ => None,
        }
    }

    /// Bytes or a count; zero if the parameter is off or of another kind.
    pub fn whole(&self, parameter: &Parameter) -> u64 {
        self.maybe_whole(parameter).unwrap_or(0)
    }

    /// A number; zero if the parameter is off or of another kind.
    pub fn number(&self, parameter: &Parameter) -> f64 {
        match self.get(parameter) {
            Some(Value::Number(number)) => number,
            _ => 0.0,
        }
    }

    /// A rate; `None` if the parameter is off or of another kind.
    pub fn rate(&self, parameter: &Parameter) -> Option<Rate> {
        match self.get(parameter) {
            Some(Value::Rate(rate)) => Some(rate),
            _ => None,
        }
    }

    /// Whether a flag is set.
    pub fn flag(&self, parameter: &Parameter) -> bool {
        self.get(parameter) == Some(Value::Flag(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Parameter = Parameter {
        name: "target",
        summary: "",
        default: Some(Value::Time(Duration::from_millis(5))),
        least: Value::Time(Duration::from_nanos(1)),
        most: Value::Time(Duration::from_secs(10)),
    };
    static PARAMETERS: [Parameter; 1] = [TARGET];

    #[test]
    fn a_value_that_is_set_replaces_the_default() {
        let mut settings = Settings::new();
        assert_eq!(settings.time(&TARGET), Duration::from_millis(5));
        let value = Value::Time(Duration::from_millis(20));
        settings.set(&PARAMETERS, "target", value).unwrap();
        settings.set(&PARAMETERS, "target", value).unwrap();
        assert_eq!(settings.time(&TARGET), Duration::from_millis(20));
        assert_eq!(settings.iter().count(), 1);
    }

    #[test]
    fn names_kinds_and_bounds_are_checked() {
        let mut settings = Settings::new();
        let mut set = |name, value| settings.set(&PARAMETERS, name, value);
        assert_eq!(
            set("interval", Value::Count(1)),
            Err(SettingsError::Unknown)
        );
        let kind = SettingsError::Kind(&PARAMETERS[0]);
        assert_eq!(set("target", Value::Count(1)), Err(kind));
        let bounds = SettingsError::Bounds(&PARAMETERS[0]);
        assert_eq!(set("target", Value::Time(Duration::ZERO)), Err(bounds));
    }
}
