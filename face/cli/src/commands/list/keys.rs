//! Keys of a plan: its tables, the keys of one table, or one key in full.

use gigatcp_plan::keys::{Fallback, Key, KeyTable, LINK, TABLES};
use gigatcp_report::grid::{Align, grid};

use gigatcp_report::prose::wrap;

use crate::complete::sections;
use crate::failure::Failure;

/// The tables; with a name the keys of a table, or one key.
pub(super) fn text(name: Option<&str>, is_full: bool) -> Result<String, Failure> {
    match name {
        None if is_full => Ok(TABLES
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")),
        None => Ok(tables()),
        Some(name) => of(TABLES.iter(), name),
    }
}

/// The keys of a link.
pub(super) fn links(name: Option<&str>, is_full: bool) -> Result<String, Failure> {
    match name {
        None if is_full => Ok(LINK.to_string()),
        None => {
            let names: Vec<&str> = LINK.keys().map(|key| key.name).collect();
            let (heading, summary) = (LINK.heading, LINK.summary);
            let names = wrap(&names.join(", "), 2);
            Ok(format!(
                "{}{names}gigatcp list links NAME: one in full; -v: all\n",
                wrap(&format!("{heading}  {summary}"), 0)
            ))
        }
        Some(name) => of(std::iter::once(&LINK), name),
    }
}

/// A line for each table.
fn tables() -> String {
    let line = |table: &KeyTable| {
        let names = sections(table.heading);
        let name = match names[..] {
            [""] => "(top)".to_owned(),
            [first] => first.to_owned(),
            [first, ..] => format!("{first} ..."),
            [] => String::new(),
        };
        let end = table.summary.find([':', ';']);
        let summary = &table.summary[..end.unwrap_or(table.summary.len())];
        vec![name, table.keys().count().to_string(), summary.to_owned()]
    };
    let heading = ["table", "keys", ""].map(str::to_owned).to_vec();
    let cells: Vec<_> = std::iter::once(heading)
        .chain(TABLES.iter().map(line))
        .collect();
    let table = grid(&[Align::Left, Align::Right, Align::Left], &cells);
    format!(
        "{table}gigatcp list keys path: the keys of a table; path.rtt: one key in full; -v: everything\n"
    )
}

/// A line for each key of a table.
fn keys(table: &KeyTable) -> String {
    let line = |key: &Key| vec![format!("  {}", key.name), key.summary.to_owned()];
    let cells: Vec<_> = table.keys().map(line).collect();
    let settings = match table.has_settings {
        true => "  and every setting of a profile (`gigatcp list profiles`)\n",
        false => "",
    };
    let lines = grid(&[Align::Left; 2], &cells);
    format!("{}  {}\n{lines}{settings}", table.heading, table.summary)
}

/// The table of that name, or the key behind the last dot.
fn of<'a>(
    tables: impl Iterator<Item = &'a KeyTable> + Clone,
    name: &str,
) -> Result<String, Failure> {
    let wanted = name.trim_matches(['[', ']']);
    let mut all = tables.clone();
    if let Some(table) = all.find(|table| sections(table.heading).contains(&wanted)) {
        return Ok(keys(table));
    }
    let (section, key) = wanted.rsplit_once('.').unwrap_or(("", wanted));
    let is_of =
        |table: &&KeyTable| section.is_empty() || sections(table.heading).contains(&section);
    let found: Vec<String> = tables
        .filter(is_of)
        .filter_map(|table| Some(one(table, table.find(key)?)))
        .collect();
    match found.is_empty() {
        false => Ok(found.join("\n")),
        true => Err(Failure::new(format!("`{name}` is no table and no key of a plan"))
            .effect("nothing was listed")
            .hint("`gigatcp list keys` lists the tables, `gigatcp list keys flow` the keys of one")),
    }
}

/// A key in full.
fn one(table: &KeyTable, key: &Key) -> String {
    let default = match key.default {
        Fallback::Required => "required".to_owned(),
        Fallback::Is(value) => format!("default: {value}"),
    };
    format!(
        "{}\n  {} = {}\n      {}\n      {}; {default}\n",
        table.heading, key.name, key.example, key.summary, key.kind
    )
}
