//! Notes below a table: further seeds, and values of published equations.

use crate::compare::Row;

/// Maximum number of names in a line; more are counted.
const MOST_NAMES: usize = 8;

/// Returns lines below a table of `rows`, each once for all series it applies to.
pub(crate) fn lines(rows: &[Row<'_>]) -> Vec<String> {
    let mut lines = seeds(rows);
    let mut models: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Some(theory) = row.theory() else { continue };
        add(&mut models, theory.model.as_str(), row.label.clone());
    }
    let is_one = models.len() == 1;
    lines.extend(models.into_iter().map(|(model, names)| match is_one {
        true => format!("theory: {model}"),
        false => format!("theory of {}: {model}", listed(&names)),
    }));
    lines
}

/// Number of further seeds, number wanted, and why there are not more.
type Ended<'a> = (usize, u32, &'a str);

/// Explains why there are further seeds.
fn seeds(rows: &[Row<'_>]) -> Vec<String> {
    let mut kinds: Vec<(Ended<'_>, Vec<String>)> = Vec::new();
    let mut random: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.flow == 0) {
        let Some(further) = row.group.repeats[0].further.as_ref() else {
            continue;
        };
        let name = format!("{} {}", row.group.name, further.loss_events);
        let kind = (further.runs.len(), further.wanted, &*further.ended_by);
        add(&mut kinds, kind, name);
        let more = further.random.iter().map(String::as_str);
        random.extend(
            more.filter(|source| !random.contains(source))
                .collect::<Vec<_>>(),
        );
    }
    let random: Vec<String> = random.into_iter().map(str::to_owned).collect();
    let line = |((runs, wanted, ended_by), names): (Ended<'_>, Vec<String>)| {
        format!(
            "few loss events with the first seed ({}), and what is lost is random ({}): \
             {runs} of {wanted} further seeds{}",
            listed(&names),
            listed(&random),
            ended(ended_by),
        )
    };
    kinds.into_iter().map(line).collect()
}

/// Explains why there are fewer seeds than wanted.
fn ended(by: &str) -> &'static str {
    match by {
        "time" => ", then the time for them was over",
        "interrupt" => ", then the run was interrupted",
        _ => "",
    }
}

/// Adds a name to those that a line applies to.
fn add<K: PartialEq>(kinds: &mut Vec<(K, Vec<String>)>, kind: K, name: String) {
    match kinds.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, names)) => names.push(name),
        None => kinds.push((kind, vec![name])),
    }
}

fn listed(names: &[String]) -> String {
    let (shown, rest) = names.split_at(names.len().min(MOST_NAMES));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
