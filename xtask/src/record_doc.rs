//! `cargo xtask record-doc`: the tables of `docs/run-json.md`, from the types.
//!
//! A field of `run.json` is documented once, as the doc comment of its type in `core/plan/src/record.rs`.
//! This reads that file as text (a `struct`, its comments, its fields; it has no other Rust) and
//! writes the tables between two marks of the page; `tidy` reports differences. Each table has
//! the path by which a reader finds its fields: `series[].flows[]`. The tables of causes and of
//! drops come from their definitions in the same way.

use std::fmt::Write;

use crate::files::{read, write};
use crate::{Failed, top};

/// File of the types.
const TYPES: &str = "core/plan/src/record.rs";
/// Page with the tables.
const PAGE: &str = "docs/run-json.md";
/// Type of the whole file.
const ROOT: &str = "RunRecord";
/// Marks around the tables.
const MARKS: [&str; 2] = ["<!-- tables: begin -->\n", "<!-- tables: end -->\n"];

/// File of the causes of drops, and the marks around their table.
const DROPS: (&str, [&str; 2]) = (
    "core/path/src/drops.rs",
    ["<!-- drops: begin -->\n", "<!-- drops: end -->\n"],
);
/// File of the causes, and the marks around their table.
const CAUSES: (&str, [&str; 2]) = (
    "core/tcp/src/events/cause.rs",
    ["<!-- causes: begin -->\n", "<!-- causes: end -->\n"],
);

/// Type of the record.
#[derive(Debug)]
struct Struct {
    name: String,
    about: String,
    fields: Vec<Field>,
}

/// Field of a type.
#[derive(Debug)]
struct Field {
    name: String,
    kind: String,
    about: String,
    is_optional: bool,
}

/// Updates the page.
pub fn run() -> Result<(), Failed> {
    let page = top().join(PAGE);
    let text = all_renewed(&read(&page)?)?;
    write(&page, text)
}

/// Whether the page agrees with the types.
pub fn is_up_to_date() -> Result<bool, Failed> {
    let text = read(&top().join(PAGE))?;
    Ok(all_renewed(&text)? == text)
}

/// Page with all tables replaced.
fn all_renewed(page: &str) -> Result<String, Failed> {
    let of = |place: &str| read(&top().join(place));
    let page = renewed(page, &of(TYPES)?)?;
    let page = between(&page, DROPS.1, &drops_table(&of(DROPS.0)?))?;
    between(&page, CAUSES.1, &causes_table(&of(CAUSES.0)?))
}

/// Page with the tables of its types replaced.
fn renewed(page: &str, types: &str) -> Result<String, Failed> {
    let structs = structs(types);
    let mut tables = String::new();
    write_tables(&mut tables, &structs, ROOT, "");
    between(page, MARKS, &tables)
}

/// Page with `text` between two marks.
fn between(page: &str, marks: [&str; 2], text: &str) -> Result<String, Failed> {
    let missing = || Failed::Usage(format!("{PAGE} lacks `{}`", marks[0].trim()));
    let (head, rest) = page.split_once(marks[0]).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(marks[1]).ok_or_else(missing)?;
    Ok(format!("{head}{}\n{text}{}{tail}", marks[0], marks[1]))
}

/// Table of drops: rows of `drop_causes!`, `Name = "id", Place, "limits";`.
fn drops_table(text: &str) -> String {
    let mut out = "| cause | where | dropped because | limits connections by |\n".to_owned();
    out.push_str("|---|---|---|---|\n");
    let (_, rows) = text.split_once("drop_causes! {\n").unwrap_or_default();
    for (about, row) in documented(rows) {
        let row: Vec<&str> = row.trim_end_matches(';').split(", ").collect();
        let [.., first, place, limits] = &row[..] else {
            continue;
        };
        let id = first
            .rsplit(" = ")
            .next()
            .unwrap_or_default()
            .trim_matches('"');
        let _ = writeln!(
            out,
            "| `{id}` | {} | {about} | `{}` |",
            place.to_lowercase(),
            limits.trim_matches('"')
        );
    }
    out.push('\n');
    out
}

/// Table of causes: rows of `table_of!`, `Name = "id";`.
fn causes_table(text: &str) -> String {
    let mut out = "| cause | attributed when |\n|---|---|\n".to_owned();
    let (_, rows) = text.split_once("    id {\n").unwrap_or_default();
    for (about, row) in documented(rows) {
        if let Some((_, id)) = row.trim_end_matches(';').split_once(" = ") {
            let _ = writeln!(out, "| `{}` | {about} |", id.trim_matches('"'));
        }
    }
    out.push('\n');
    out
}

/// Lines up to a closing brace, with the comment before each.
fn documented(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let mut about = String::new();
    for line in text.lines().map(str::trim).take_while(|line| *line != "}") {
        match line.strip_prefix("///") {
            Some(said) => about.push_str(said),
            None => found.push((in_words(&std::mem::take(&mut about)), line)),
        }
    }
    found
}

/// Writes the table of `name`, found at `path`, and those of its fields' types.
fn write_tables(out: &mut String, structs: &[Struct], name: &str, path: &str) {
    let Some(found) = structs.iter().find(|item| item.name == name) else {
        return;
    };
    let heading = if path.is_empty() { "The run" } else { path };
    let _ = write!(out, "## {heading}\n\n{}\n\n", found.about);
    out.push_str("| field | type | meaning |\n|---|---|---|\n");
    for field in &found.fields {
        let _ = writeln!(
            out,
            "| `{}` | {}{} | {} |",
            field.name,
            kind_in_words(&field.kind, structs),
            if field.is_optional {
                ", may be absent"
            } else {
                ""
            },
            field.about
        );
    }
    out.push('\n');
    for field in &found.fields {
        let inner = innermost(&field.kind);
        let list = if field.kind.contains("Vec<") {
            "[]"
        } else {
            ""
        };
        let joint = if path.is_empty() { "" } else { "." };
        write_tables(
            out,
            structs,
            inner,
            &format!("{path}{joint}{}{list}", field.name),
        );
    }
}

/// Type in terms of JSON.
fn kind_in_words(kind: &str, structs: &[Struct]) -> String {
    if let Some(inner) = within(kind, "Option<") {
        return format!("{} or null", kind_in_words(inner, structs));
    }
    if let Some(inner) = within(kind, "Vec<") {
        return match structs.iter().any(|item| item.name == inner) {
            true => "list".to_owned(),
            false => format!("list of {}", plural(&kind_in_words(inner, structs))),
        };
    }
    match kind {
        "String" => "text".to_owned(),
        "bool" => "true or false".to_owned(),
        "BTreeMap<String, u64>" => "table of numbers".to_owned(),
        "BTreeMap<String, Vec<u64>>" => "table of lists of numbers".to_owned(),
        _ if kind.starts_with('(') => "row".to_owned(),
        _ if structs.iter().any(|item| item.name == kind) => "table".to_owned(),
        _ => "number".to_owned(),
    }
}

fn plural(word: &str) -> String {
    match word {
        "true or false" => word.to_owned(),
        _ => format!("{word}s"),
    }
}

fn within<'a>(kind: &'a str, outer: &str) -> Option<&'a str> {
    kind.strip_prefix(outer)?.strip_suffix('>')
}

fn innermost(kind: &str) -> &str {
    let inner = within(kind, "Option<").or_else(|| within(kind, "Vec<"));
    inner.map_or(kind, innermost)
}

/// Types of a file, in its order.
fn structs(text: &str) -> Vec<Struct> {
    let mut structs: Vec<Struct> = Vec::new();
    let mut about = String::new();
    let mut is_optional = false;
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(said) = line.strip_prefix("///") {
            about.push_str(said);
        } else if line.starts_with("#[") {
            is_optional |= line.contains("skip_serializing_if");
        } else if let Some(name) = line.strip_prefix("pub struct ") {
            structs.push(Struct {
                name: name.trim_end_matches(" {").to_owned(),
                about: in_words(&about),
                fields: Vec::new(),
            });
            (about, is_inside) = (String::new(), true);
        } else if line == "}" {
            is_inside = false;
        } else {
            let field = line
                .strip_prefix("pub ")
                .and_then(|line| line.split_once(": "));
            if let (true, Some((name, kind)), Some(last)) = (is_inside, field, structs.last_mut()) {
                last.fields.push(Field {
                    name: name.to_owned(),
                    kind: kind.trim_end_matches(',').to_owned(),
                    about: in_words(&about),
                    is_optional,
                });
            }
            (about, is_optional) = (String::new(), false);
        }
    }
    structs
}

/// A comment for readers without the types: links become names.
fn in_words(comment: &str) -> String {
    let text = comment.trim().replace("[`", "`").replace("`]", "`");
    let names = ["FlowRecord::", "RunRecord::"];
    names.iter().fold(text, |text, name| text.replace(name, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: &str = "/// The whole.\npub struct RunRecord {\n    /// Parts, see\n    /// [`RunRecord::count`].\n    \
        pub parts: Vec<Part>,\n    /// How many.\n    #[serde(skip_serializing_if = \"x\")]\n    \
        pub count: Option<u64>,\n}\n/// A part.\npub struct Part {\n    /// Its name.\n    pub name: String,\n}\n";

    #[test]
    fn drops_and_causes_come_from_where_they_are_defined() {
        let drops = "drop_causes! {\n    /// It was\n    /// full.\n    Full = \"full\", Path, \"overflow\";\n    \
            /// Lost.\n    Loss(usize, 0) = \"loss\", Host, \"random\";\n}\n";
        let table = drops_table(drops);
        assert!(
            table.contains("| `full` | path | It was full. | `overflow` |"),
            "{table}"
        );
        assert!(
            table.contains("| `loss` | host | Lost. | `random` |"),
            "{table}"
        );
        let causes =
            "table_of! {\n    id {\n        /// Busy.\n        Busy = \"is-busy\";\n    }\n}";
        assert!(causes_table(causes).contains("| `is-busy` | Busy. |"));
    }

    #[test]
    fn tables_say_what_the_comments_of_the_types_say() {
        let page = format!("head\n{}old\n{}tail\n", MARKS[0], MARKS[1]);
        let text = renewed(&page, TYPES).unwrap();
        assert!(
            text.starts_with("head\n") && text.ends_with("tail\n"),
            "{text}"
        );
        for row in [
            "| `parts` | list | Parts, see `count`. |",
            "| `count` | number or null, may be absent | How many. |",
            "## parts[]\n\nA part.",
            "| `name` | text | Its name. |",
        ] {
            assert!(text.contains(row), "{row}\n{text}");
        }
        assert!(!text.contains("old"));
        assert_eq!(renewed(&text, TYPES).unwrap(), text);
    }
}
