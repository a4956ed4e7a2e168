//! Notes below a table: further seeds, and the values of theory.

use gigatcp_record::FurtherRecord;

use crate::compare::Row;
use crate::number::counted;

/// Lines below a table of `rows`, each once for all series it holds for.
pub(crate) fn lines(rows: &[Row<'_>]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    let mut say = |line: String, name| match lines.iter_mut().find(|(known, _)| *known == line) {
        Some((_, names)) => names.push(name),
        None => lines.push((line, vec![name])),
    };
    for row in rows {
        let further = row.group.repeats[0].further.as_ref();
        if let Some(further) = further.filter(|_| row.flow == 0) {
            say(of_seeds(further), row.group.name);
        }
    }
    for row in rows {
        if let Some(theory) = row.theory() {
            say(format!("theory is {}", theory.model), &row.label);
        }
    }
    let many = rows.len() > 1;
    let named = lines.into_iter().map(|(line, names)| match &names[..] {
        [name] if many => format!("{name}: {line}"),
        [first, rest @ ..] if rest.len() > 1 => format!("{first} and {} more: {line}", rest.len()),
        [first, second] => format!("{first}, {second}: {line}"),
        _ => line,
    });
    named.collect()
}

fn of_seeds(further: &FurtherRecord) -> String {
    let runs = further.runs.len();
    let ended = match further.ended_by.as_str() {
        "time" => ", the time for them being over",
        "interrupt" => ", then the run was interrupted",
        _ => "",
    };
    format!(
        "{} with the first seed, and loss is random ({}), so there are {runs} of {} further \
         seeds{ended}",
        counted(further.loss_events, "loss event"),
        further.random.join(", "),
        further.wanted,
    )
}
