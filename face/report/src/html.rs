//! `report.html`: one file that needs a browser and no network.
//!
//! The page is markup with all tables, a style sheet, the data of the graphs as JSON, and the
//! renderer (`assets/*.js`, plain script on canvas). Without scripts the tables remain. A content
//! security policy forbids the page to load anything.
//!
//! Out of scope: a plotting library (none has time-sequence graphs), and saved views.

use std::fmt::Write;

use crate::Report;
use crate::answer;
use crate::compare::{Row, rows_by_kind};
use crate::escape::{html, json_in_script};
use crate::graph::{SEQUENCE_SCRIPT, SEQUENCE_TOOLS};
use crate::html_tables as tables;
use crate::page;
use crate::published::Source;
use crate::table::{end_and_card, why};

const STYLE: &str = include_str!("../assets/page.css");

/// Colors of the dark theme, used by the system's preference or the reader's choice.
const DARK: &str = include_str!("../assets/dark.css");

/// The renderer's files in order; they form one script, so that names are shared.
const SCRIPT: [&str; 6] = [
    include_str!("../assets/link.js"),
    include_str!("../assets/base.js"),
    include_str!("../assets/plot.js"),
    include_str!("../assets/causes.js"),
    include_str!("../assets/series.js"),
    include_str!("../assets/picture.js"),
];

/// The files after those of the time-sequence graphs.
const MAIN_SCRIPT: [&str; 2] = [
    include_str!("../assets/tables.js"),
    include_str!("../assets/main.js"),
];

/// Whole page of `report`.
pub fn page(report: &Report<'_>) -> String {
    let rows = rows_by_kind(report);
    let mut out = String::with_capacity(1 << 20);
    head(PageKind::Report, &report.run.name, "", &mut out);
    header(report, &rows, &mut out);
    out.push_str("<main>\n");
    let data = page::page(report);
    if data.has_picture() {
        out.push_str(include_str!("../assets/picture.html"));
    }
    out.push_str(&answer::section(report));
    let applications = tables::applications(report);
    if rows.is_empty() && !applications.is_empty() {
        // Datagrams have no other numbers.
        let _ = write!(
            out,
            "<section id=\"applications\">\n<h2>Datagrams</h2>\n{applications}\n</section>\n"
        );
    }
    if !rows.is_empty() {
        let summary = scroll(&tables::summary(report, &rows));
        let _ = write!(
            out,
            "<section id=\"summary\">\n<h2>Summary</h2>\n{summary}\n</section>\n"
        );
    }
    if !data.graphs.is_empty() {
        let section = include_str!("../assets/sequence.html");
        out.push_str(&section.replace("{tools}", SEQUENCE_TOOLS));
    }
    let shares = tables::where_the_time_went(&rows);
    if !shares.is_empty() {
        section(
            &mut out,
            "time",
            "Where the time went",
            &format!(
                "<p>What kept the sender from sending more, % of the time connected. \
                 Every line adds up to exactly 100.0.</p>{}",
                scroll(&shares)
            ),
        );
    }
    folded_tables(report, &rows, applications, &mut out);
    let live = tables::in_real_time(report);
    if !live.is_empty() {
        section(&mut out, "live", "In real time", &live);
    }
    let ends = tables::listed(&rows, end_and_card);
    if !ends.is_empty() {
        section(&mut out, "hosts", "At the hosts", &scroll(&ends));
    }
    let why = tables::listed(&rows, why);
    if !why.is_empty() {
        let title = match report.run.is_test() {
            true => "Why, by the counters of the hosts",
            false => "Why, by the captures alone",
        };
        section(&mut out, "why", title, &scroll(&why));
    }
    section(
        &mut out,
        "provenance",
        "Where it came from",
        &provenance(report),
    );
    out.push_str("</main>\n");
    tail(&data, &mut out);
    out
}

/// Writes the tables that fold below the picture, those with content. `applications` is shown above
/// if there is no other.
fn folded_tables(report: &Report<'_>, rows: &[Row<'_>], applications: String, out: &mut String) {
    let framed = [
        ("intervals", "Intervals", tables::intervals(report)),
        ("fitted", "Fitted inputs", fitted(report, rows)),
        (
            "negotiated",
            "Requested, granted, in effect",
            tables::negotiated(rows),
        ),
        ("path", "Path", tables::path(report)),
        ("processors", "Hosts", tables::hosts(report)),
        ("applications", "Applications", applications),
    ];
    let is_shown = |id: &str| rows.is_empty() && id == "applications";
    let folded = framed.iter().filter(|(id, ..)| !is_shown(id));
    for (id, title, body) in folded.filter(|(.., body)| !body.is_empty()) {
        let is_table = !body.starts_with("<p>");
        let body = if is_table { scroll(body) } else { body.clone() };
        section(out, id, title, &body);
    }
}

/// Section on fitted inputs; empty for a plan that reproduces nothing published.
fn fitted(report: &Report<'_>, rows: &[Row<'_>]) -> String {
    match tables::fitted(rows) {
        list if list.is_empty() && report.published.is_some() => {
            "<p>None: no part of any series was fitted to a published result.</p>".to_owned()
        }
        list => list,
    }
}

/// A kind of page, marked in its head as generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// The report of a run.
    Report,
    /// The graphs of a capture.
    Graphs,
    /// The plots and cells of a sweep.
    Sweep,
}

impl PageKind {
    /// Element of the head that names the generator.
    const fn marker(self) -> &'static str {
        match self {
            Self::Report => "<meta name=\"generator\" content=\"GigaTCP report\">",
            Self::Graphs => "<meta name=\"generator\" content=\"GigaTCP graphs\">",
            Self::Sweep => "<meta name=\"generator\" content=\"GigaTCP sweep\">",
        }
    }
}

/// Writes everything before the body; `style` follows the common style.
pub(crate) fn head(kind: PageKind, title: &str, style: &str, out: &mut String) {
    let marker = kind.marker();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         {marker}\n\
         <title>{} \u{2013} GigaTCP</title>\n<style>\n{STYLE}{style}\
         @media (prefers-color-scheme: dark) {{ :root:not([data-theme]) {{\n{DARK}}} }}\n\
         :root[data-theme=\"dark\"] {{\n{DARK}}}\n</style>\n</head>\n<body>\n",
        html(title),
    );
}

/// Writes the answer, then its subject. The origin of the run is at the end of the page.
fn header(report: &Report<'_>, rows: &[Row<'_>], out: &mut String) {
    let run = report.run;
    let sentence = answer::headline(report, rows);
    let _ = write!(out, "<header>\n<div>");
    let title = html(&run.title);
    let _ = match &sentence {
        Some(sentence) => write!(
            out,
            "<p class=\"title\"><b>{}</b>: {title}</p>\n<h1 class=\"sentence\">{}</h1>",
            html(&run.name),
            html(sentence)
        ),
        None => write!(
            out,
            "<h1>{}</h1>\n<p class=\"title\">{title}</p>",
            html(&run.name)
        ),
    };
    out.push_str("</div>\n<button type=\"button\" id=\"theme\" hidden>Theme</button>\n");
    if let Some(published) = report.published {
        let _ = writeln!(out, "<p class=\"source\">{}</p>", source(&published.source));
    }
    if run.partial {
        out.push_str(
            "<p class=\"partial\" role=\"alert\"><b>Partial run.</b> It was interrupted: series \
             are missing or cut short, and every number is of what was done until then.</p>\n",
        );
    }
    out.push_str(
        "<noscript><p class=\"partial\">The graphs need script, which is part of this file and \
         loads nothing. The tables are complete without it.</p></noscript>\n</header>\n",
    );
}

fn source(source: &Source) -> String {
    let mut text = format!(
        "Compared with {}, \u{201c}{}\u{201d}, {}, {}",
        html(&source.author),
        html(&source.title),
        html(&source.place),
        html(&source.date),
    );
    if let Some(id) = &source.message_id {
        let _ = write!(text, " <span class=\"id\">&lt;{}&gt;</span>", html(id));
    }
    text
}

fn provenance(report: &Report<'_>) -> String {
    let run = report.run;
    let mut out = facts(report) + &scroll(&tables::provenance(report));
    if !run.overrides.is_empty() {
        out.push_str("<p>Overrides, in order:</p><ul>");
        for item in &run.overrides {
            let _ = write!(out, "<li><code>{}</code></li>", html(item));
        }
        out.push_str("</ul>");
    }
    let _ = write!(
        out,
        "<details><summary>The plan as read</summary><pre>{}</pre></details>",
        html(&run.plan)
    );
    out
}

/// Seed, versions and the like. Facts that only a plan has are left out for tests.
fn facts(report: &Report<'_>) -> String {
    let run = report.run;
    let of_plan = [
        ("Seed", run.seed.to_string()),
        ("Repeats", run.repeat.to_string()),
        ("Series", crate::group::groups(run).len().to_string()),
        ("Plan hash", run.plan_hash.clone()),
    ];
    let of_all = [
        ("GigaTCP", run.version.clone()),
        ("Schema", run.schema.clone()),
    ];
    let facts = of_plan.into_iter().filter(|_| !run.is_test());
    let mut out = String::from("<dl class=\"facts\">");
    for (name, value) in facts.chain(of_all) {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", html(&value));
    }
    out + "</dl>\n"
}

/// Writes a section that unfolds.
fn section(out: &mut String, id: &str, title: &str, body: &str) {
    let _ = write!(
        out,
        "<details id=\"{id}\" class=\"fold\"><summary><h2>{title}</h2></summary>\n{body}\n</details>\n"
    );
}

/// A scrolling frame for tables wider than the page or higher than the window. It scrolls by
/// keyboard too.
pub(crate) fn scroll(table: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">{table}</div>"
    )
}

/// Writes the files of a script, without comments and indentation: the page stays small.
pub(crate) fn script(parts: &[&str], out: &mut String) {
    let lines = parts.iter().flat_map(|part| part.lines());
    let code = lines
        .map(str::trim_start)
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    for line in code {
        out.push_str(line);
        out.push('\n');
    }
}

fn tail(data: &page::Page<'_>, out: &mut String) {
    let data = serde_json::to_string(data)
        .expect("integers, strings and finite or null numbers always serialize");
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n\"use strict\";\n",
        json_in_script(&data)
    );
    for parts in [&SCRIPT[..], &SEQUENCE_SCRIPT, &MAIN_SCRIPT] {
        script(parts, out);
    }
    out.push_str("</script>\n</body>\n</html>\n");
}
