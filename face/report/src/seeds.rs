//! Notes below a table: further seeds, values of published equations, longer sample intervals.

use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::compare::Row;
use crate::group::by_key;

/// Maximum number of names in a line; more are counted.
const MAX_NAMES: usize = 8;

/// Lines below a table of `rows`, each once for all series it applies to.
pub(crate) fn lines(rows: &[Row<'_>]) -> Vec<String> {
    let mut lines = seeds(rows);
    let models = rows
        .iter()
        .filter_map(|row| Some((&*row.theory()?.model, &row.label)));
    let models = by_key(models);
    let is_one = models.len() == 1;
    lines.extend(models.into_iter().map(|(model, names)| match is_one {
        true => format!("theory: {model}"),
        false => format!("theory of {}: {model}", listed(&names)),
    }));
    lines.extend(sampling(rows));
    lines
}

/// Names the series that were sampled less often than planned.
fn sampling(rows: &[Row<'_>]) -> Vec<String> {
    let first = rows.iter().filter(|row| row.flow == 0);
    let sampled = first.filter_map(|row| {
        let repeats = row.group.repeats.iter();
        let longest = repeats.filter_map(|series| series.sampled_every_ns).max()?;
        Some((longest, row.group.name))
    });
    let line = |(longest, names): (u64, Vec<&str>)| {
        format!(
            "sampled every {} to limit the size of the record ({}); `record.sample` of the plan \
             sets the interval",
            human_duration(Duration::from_nanos(longest)),
            listed(&names),
        )
    };
    by_key(sampled).into_iter().map(line).collect()
}

/// Number of further seeds, number wanted, and why there are not more.
type Ended<'a> = (usize, u32, &'a str);

/// Explains why there are further seeds.
fn seeds(rows: &[Row<'_>]) -> Vec<String> {
    let first = rows.iter().filter(|row| row.flow == 0);
    let repeated = first.filter_map(|row| Some((row, row.group.repeats[0].further.as_ref()?)));
    let mut random: Vec<&str> = Vec::new();
    for source in repeated.clone().flat_map(|(_, further)| &further.random) {
        if !random.contains(&source.as_str()) {
            random.push(source);
        }
    }
    let kinds = by_key(repeated.map(|(row, further)| {
        let name = format!("{} {}", row.group.name, further.loss_events);
        (
            (further.runs.len(), further.wanted, &*further.ended_by),
            name,
        )
    }));
    let line = |((runs, wanted, ended_by), names): (Ended<'_>, Vec<String>)| {
        format!(
            "few loss events with the first seed ({}), and losses are random ({}): {runs} of {wanted} \
             further seeds ran{}",
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
        "time" => ", then their time was over",
        "interrupt" => ", then the run was interrupted",
        _ => "",
    }
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
