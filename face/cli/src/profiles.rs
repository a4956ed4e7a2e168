//! Lists host profiles and their settings.

use gigatcp_report::grid::{Align, grid};
use gigatcp_tcp::profile::{Profile, SETTINGS};
use serde_json::{Value, json};

/// Every profile with its settings, in the order of [`SETTINGS`].
pub(crate) fn json() -> Value {
    let profile = |profile: &Profile| {
        let settings = SETTINGS.iter().map(|setting| {
            json!({
                "name": setting.name,
                "value": setting.value_in(profile),
                "takes": setting.expects,
            })
        });
        json!({ "name": profile.name, "settings": settings.collect::<Vec<_>>() })
    };
    Profile::ALL.iter().map(profile).collect()
}

/// A line per setting and a column per profile. Lines in which profiles differ are marked.
pub(crate) fn text() -> String {
    let mut heading = vec![String::new(), "setting".to_owned()];
    heading.extend(Profile::ALL.iter().map(|profile| profile.name.to_owned()));
    let mut cells = vec![heading];
    for setting in SETTINGS {
        let values = Profile::ALL.iter().map(|profile| setting.value_in(profile));
        let values: Vec<String> = values.collect();
        let differ = values.iter().any(|value| *value != values[0]);
        let mark = if differ { "*" } else { "" };
        let mut line = vec![mark.to_owned(), setting.name.to_owned()];
        line.extend(values);
        cells.push(line);
    }
    let columns = vec![Align::Left; 2 + Profile::ALL.len()];
    let table = grid(&columns, &cells);
    format!(
        "{table}\n* profiles differ. Every setting is a key of [sender] and [receiver]:\n  \
         gigatcp run my.toml --set sender.sack=false\n"
    )
}

/// A line for each profile: in how many settings it differs from the first.
pub(crate) fn brief() -> String {
    let line = |profile: &Profile| vec![profile.name.to_owned(), difference(profile)];
    let cells: Vec<_> = Profile::ALL.iter().map(line).collect();
    let table = grid(&[Align::Left; 2], &cells);
    format!(
        "{table}gigatcp list profiles NAME: in which; -v: all settings of all. Every setting is a key of\n\
         [sender] and [receiver]: gigatcp run my.toml --set sender.sack=false\n"
    )
}

/// In how many settings a profile differs from the first.
fn difference(profile: &Profile) -> String {
    let first = &Profile::ALL[0];
    let differ = SETTINGS
        .iter()
        .filter(|setting| setting.value_in(profile) != setting.value_in(first));
    match differ.count() {
        0 => format!("{} settings", SETTINGS.len()),
        count => format!("differs from {} in {count}", first.name),
    }
}

/// Settings in which a profile differs from the first; of the first, all.
pub(crate) fn one(name: &str) -> Option<String> {
    let profile = Profile::find(name)?;
    let first = &Profile::ALL[0];
    let is_first = profile.name == first.name;
    let shown = SETTINGS
        .iter()
        .filter(|setting| is_first || setting.value_in(&profile) != setting.value_in(first));
    let cells: Vec<_> = shown
        .map(|setting| {
            let usual = format!("({}: {})", first.name, setting.value_in(first));
            let usual = if is_first { String::new() } else { usual };
            vec![setting.name.to_owned(), setting.value_in(&profile), usual]
        })
        .collect();
    let heading = format!("{}: {}\n", profile.name, difference(&profile));
    Some(heading + &grid(&[Align::Left; 3], &cells))
}
