//! Lists host profiles and their settings.

use gigatcp_tcp::profile::{Profile, SETTINGS};
use serde::Serialize;

use crate::grid::{Align, grid};

/// A profile with its settings, in the order of [`SETTINGS`].
#[derive(Serialize, Debug)]
pub(crate) struct ProfileView {
    name: &'static str,
    settings: Vec<SettingView>,
}

/// A setting of a profile.
#[derive(Serialize, Debug)]
struct SettingView {
    name: &'static str,
    value: String,
    takes: &'static str,
}

/// Returns every profile.
pub(crate) fn all() -> Vec<ProfileView> {
    Profile::ALL.iter().map(ProfileView::of).collect()
}

/// Returns a line per setting and a column per profile. Lines in which profiles differ are marked.
pub(crate) fn text() -> String {
    let profiles = all();
    let mut heading = vec![String::new(), "setting".to_owned()];
    heading.extend(profiles.iter().map(|profile| profile.name.to_owned()));
    let mut cells = vec![heading];
    for (index, setting) in SETTINGS.iter().enumerate() {
        let values: Vec<String> = profiles
            .iter()
            .map(|profile| profile.settings[index].value.clone())
            .collect();
        let differ = values.iter().any(|value| *value != values[0]);
        let mark = if differ { "*" } else { "" };
        let mut line = vec![mark.to_owned(), setting.name.to_owned()];
        line.extend(values);
        cells.push(line);
    }
    let columns = vec![Align::Left; 2 + profiles.len()];
    let table = grid(&columns, &cells);
    format!(
        "{table}\n* profiles differ. Every setting is a key of [sender] and [receiver]:\n  \
         gigatcp run my.toml --set sender.sack=false\n"
    )
}

/// Returns settings that differ from the profile of that name, as a plan writes them.
pub(crate) fn changes(profile: &Profile) -> Vec<String> {
    let named = Profile::find(profile.name).unwrap_or_default();
    let changed = SETTINGS.iter().filter_map(|setting| {
        let (value, usual) = (setting.value_in(profile), setting.value_in(&named));
        (value != usual).then(|| format!("{} = {value}", setting.name))
    });
    changed.collect()
}

impl ProfileView {
    fn of(profile: &Profile) -> Self {
        let settings = SETTINGS.iter().map(|setting| SettingView {
            name: setting.name,
            value: setting.value_in(profile),
            takes: setting.expects,
        });
        Self {
            name: profile.name,
            settings: settings.collect(),
        }
    }
}
