//! Options of a path as typed, so that some can be replaced while it runs.
//!
//! Later options are merged with earlier ones, and the whole is parsed as if it had been typed at
//! the start. So an option has one meaning and is checked in one place.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde::{Deserialize, Serialize};

use super::Link;
use crate::failure::Failure;
use crate::nearest;

/// Options and their values, in the order of the help.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Words(Vec<(String, String)>);

/// Options that describe a whole path and are checked together.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) words: Words,
}

/// Options to be merged with others; each is checked by itself.
#[derive(Debug)]
pub(super) struct Anew(pub(super) Words);

/// Returns all options of a path.
fn options() -> Vec<Arg> {
    let command = Link::augment_args(Command::new("gigatcp emulate"));
    command.get_arguments().cloned().collect()
}

/// The name of an option, without its dashes.
fn name(option: &Arg) -> String {
    option
        .get_long()
        .unwrap_or(option.get_id().as_str())
        .to_owned()
}

impl Words {
    /// Returns the options that were typed.
    fn of(matches: &ArgMatches) -> Self {
        let typed = options().into_iter().filter_map(|option| {
            let id = option.get_id().as_str();
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                return None;
            }
            let value = matches
                .get_raw(id)
                .and_then(|mut values| values.next_back());
            let value = value.filter(|_| option.get_action().takes_values());
            let value = value.map(|value| value.to_string_lossy().into_owned());
            Some((name(&option), value.unwrap_or_default()))
        });
        Self(typed.collect())
    }

    /// Returns their names, with dashes.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| format!("--{name}")).collect()
    }

    /// Iterates over names, as in plans, and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (String, &str)> {
        let words = self.0.iter();
        words.map(|(name, value)| (name.replace('-', "_"), value.as_str()))
    }

    #[cfg(target_os = "linux")]
    pub(super) fn has(&self, wanted: &str) -> bool {
        self.0.iter().any(|(name, _)| name == wanted)
    }

    /// Says `others` anew.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn merge(&mut self, others: &Self) {
        for (name, value) in &others.0 {
            self.remove(name);
            self.0.push((name.clone(), value.clone()));
        }
    }

    #[cfg(any(target_os = "linux", test))]
    pub(super) fn remove(&mut self, unwanted: &str) {
        self.0.retain(|(name, _)| name != unwanted);
    }

    /// Changes the value of an option, if it is present.
    pub(super) fn adjust(&mut self, wanted: &str, change: impl FnOnce(&str) -> String) {
        let found = self.0.iter_mut().find(|(name, _)| name == wanted);
        if let Some((_, value)) = found {
            *value = change(value);
        }
    }

    /// Parses the options as a whole path.
    pub(super) fn read(&self) -> Result<Link, Failure> {
        let typed = self.0.iter().map(|(name, value)| match value.as_str() {
            "" => format!("--{name}"),
            value => format!("--{name}={value}"),
        });
        let command = Command::new("gigatcp emulate").no_binary_name(true);
        let matches = Link::augment_args(command).try_get_matches_from(typed);
        let link = matches.and_then(|matches| Link::from_arg_matches(&matches));
        link.map_err(|error| failure(&error))
    }
}

/// Turns an error of clap into a sentence.
fn failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().take_while(|line| !line.is_empty());
    let sentence: Vec<&str> = lines.map(str::trim).collect();
    let failure = Failure::new(sentence.join(" "));
    match error.kind() {
        ErrorKind::ArgumentConflict => failure.hint(
            "an option that was given before is taken back by `--unset`, as in `--unset rate`",
        ),
        ErrorKind::MissingRequiredArgument => {
            failure.hint("give both together, as at the start (`gigatcp emulate --help`)")
        }
        _ => failure,
    }
}

/// Checks that `name` is an option of a path.
pub(super) fn check_name(name: &str) -> Result<String, Failure> {
    let bare = name.trim_start_matches('-');
    let known: Vec<String> = options().iter().map(self::name).collect();
    if known.iter().any(|known| known == bare) {
        return Ok(bare.to_owned());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(Failure::new(format!("a path has no option `--{bare}`"))
        .effect("the path is as it was")
        .hint(nearest::hint(bare, "options", &known)))
}

impl Args for Described {
    fn augment_args(command: Command) -> Command {
        Link::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Link::augment_args_for_update(command)
    }
}

impl FromArgMatches for Described {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Link::from_arg_matches(matches)?;
        Ok(Self {
            words: Words::of(matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Anew {
    /// Returns the options of a path without the requirements between them.
    fn augment_args(command: Command) -> Command {
        let alone = options().into_iter().map(|option| {
            let long = name(&option);
            let mut alone = Arg::new(option.get_id().clone())
                .long(long)
                .action(option.get_action().clone())
                .help_heading("The path, as in `gigatcp emulate --help`");
            if let Some(help) = option.get_help() {
                alone = alone.help(help.clone());
            }
            if option.get_action().takes_values() {
                alone = alone
                    .value_parser(option.get_value_parser().clone())
                    .value_names(option.get_value_names().unwrap_or_default());
            }
            alone
        });
        command.args(alone)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Anew {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(Words::of(matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[(&str, &str)]) -> Words {
        let owned = list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        Words(owned.collect())
    }

    #[test]
    fn what_is_said_anew_takes_the_place_of_what_was_said_before() {
        let mut all = words(&[("rate", "10 Mbit/s"), ("rtt", "20 ms")]);
        all.merge(&words(&[("rate", "5 Mbit/s"), ("loss", "0.01")]));
        let link = all.read().unwrap();
        assert_eq!(link.rate.unwrap().to_string(), "5 Mbit/s");
        assert_eq!(all.names(), ["--rtt", "--rate", "--loss"]);
    }

    #[test]
    fn options_that_need_one_another_are_checked_together() {
        let policer = words(&[("policer", "5 Mbit/s")]);
        assert!(policer.read().is_err());
        let mut all = words(&[("policer-burst", "9 kB")]);
        all.merge(&policer);
        assert!(all.read().is_ok());
    }

    #[test]
    fn an_option_that_does_not_exist_is_answered_with_one_that_does() {
        assert_eq!(check_name("--loss").unwrap(), "loss");
        assert!(check_name("los").unwrap_err().text().contains("loss"));
    }
}
