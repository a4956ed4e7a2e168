//! What can be set at a queue discipline: names, units, defaults, bounds.

use alloc::vec::Vec;
use core::fmt;

use gigatcp_units::Duration;

/// The value of a setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A span of time.
    Time(Duration),
    /// A number of IP octets.
    Octets(u64),
    /// A number of packets, or a mere count.
    Count(u64),
    /// A number with a fraction, e.g. a share or a factor.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// What kind of value it is, as errors call it.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Time(_) => "a time",
            Self::Octets(_) => "a number of bytes",
            Self::Count(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "{time}"),
            Self::Octets(octets) => write!(f, "{octets} B"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// Something that can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// What it is, in one line, with its unit where the value shows none.
    pub summary: &'static str,
    /// What it is unless it is set; its kind is the kind of every value. None: off,
    /// and `kind` says of what kind it would be.
    pub default: Option<Value>,
    /// The least value that makes sense; its kind is that of every value.
    pub least: Value,
    /// The greatest.
    pub most: Value,
}

/// A parameter and the value it was given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// The parameter's name.
    pub name: &'static str,
    /// What it was set to.
    pub value: Value,
}

/// What was set at a discipline.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Settings(Vec<Setting>);

/// Why a value cannot be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SettingsError {
    /// There is no such parameter.
    Unknown,
    /// It takes a value of another kind.
    Kind(&'static Parameter),
    /// It lies outside the bounds.
    Bounds(&'static Parameter),
}

impl Settings {
    /// Nothing set: all as by default.
    #[must_use]
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
        let parameter = parameters.iter().find(|parameter| parameter.name == name);
        let parameter = parameter.ok_or(SettingsError::Unknown)?;
        let is_within = parameter
            .holds(value)
            .ok_or(SettingsError::Kind(parameter))?;
        if !is_within {
            return Err(SettingsError::Bounds(parameter));
        }
        let setting = Setting {
            name: parameter.name,
            value,
        };
        match self
            .0
            .iter_mut()
            .find(|earlier| earlier.name == setting.name)
        {
            Some(earlier) => *earlier = setting,
            None => self.0.push(setting),
        }
        Ok(())
    }

    /// What was set, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// What a parameter is: what was set, else its default.
    #[must_use]
    pub fn get(&self, parameter: &Parameter) -> Option<Value> {
        let set = self.0.iter().find(|setting| setting.name == parameter.name);
        set.map(|setting| setting.value).or(parameter.default)
    }

    /// A time; zero where the parameter is off or no time.
    #[must_use]
    pub fn time(&self, parameter: &Parameter) -> Duration {
        match self.get(parameter) {
            Some(Value::Time(time)) => time,
            _ => Duration::ZERO,
        }
    }

    /// Octets or a count; zero where the parameter is off or neither.
    #[must_use]
    pub fn whole(&self, parameter: &Parameter) -> u64 {
        match self.get(parameter) {
            Some(Value::Octets(number) | Value::Count(number)) => number,
            _ => 0,
        }
    }

    /// A number; zero where the parameter is off or none.
    #[must_use]
    pub fn number(&self, parameter: &Parameter) -> f64 {
        match self.get(parameter) {
            Some(Value::Number(number)) => number,
            _ => 0.0,
        }
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn flag(&self, parameter: &Parameter) -> bool {
        self.get(parameter) == Some(Value::Flag(true))
    }
}

impl Parameter {
    /// Whether `value` lies within the bounds; nothing where it is of another kind.
    fn holds(&self, value: Value) -> Option<bool> {
        Some(match (self.least, value, self.most) {
            (Value::Time(least), Value::Time(value), Value::Time(most)) => {
                (least..=most).contains(&value)
            }
            (Value::Octets(least), Value::Octets(value), Value::Octets(most))
            | (Value::Count(least), Value::Count(value), Value::Count(most)) => {
                (least..=most).contains(&value)
            }
            (Value::Number(least), Value::Number(value), Value::Number(most)) => {
                (least..=most).contains(&value)
            }
            (Value::Flag(_), Value::Flag(_), Value::Flag(_)) => true,
            _ => return None,
        })
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
    fn what_is_set_replaces_the_default() {
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
