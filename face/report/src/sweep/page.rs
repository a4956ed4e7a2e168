//! A sweep as one page that needs no network: the answer, plots, tables, and commands for single
//! cells.

use std::fmt::Write;

use gigatcp_plan::design::effects::Effects;
use gigatcp_plan::design::grid::ArmRef;
use gigatcp_plan::design::statistics::CONFIDENCE;
use gigatcp_theory::sample::Summary;

use super::plot::Plot;
use super::svg::STYLE;
use super::{SweepReport, View, percent, with_interval};
use crate::escape::html;
use crate::html::{PageKind, head, script, scroll};

/// Maximum number of cells in the list.
const MOST_CELLS: usize = 500;

/// Maximum number of axes that the answer names.
const NAMED_AXES: usize = 4;

const PAGE_STYLE: &str = include_str!("../../assets/sweep.css");

/// The script's files, in order.
const SCRIPT: [&str; 4] = [
    include_str!("../../assets/link.js"),
    include_str!("../../assets/base.js"),
    include_str!("../../assets/tables.js"),
    include_str!("../../assets/sweep.js"),
];

impl SweepReport<'_> {
    /// The metric as a sentence names it: its unit stands behind the value.
    pub(super) fn metric(&self) -> String {
        let metric = &self.grid.metric;
        let units = ["_bps", "_ns", "_bytes"].into_iter();
        let bare = units.filter_map(|unit| metric.strip_suffix(unit)).next();
        bare.unwrap_or(metric).replace('_', " ")
    }

    /// The metric with a unit, for a heading.
    pub(super) fn metric_in(&self, unit: &str) -> String {
        let text = format!("{}, {unit}", self.metric());
        text.trim_end_matches(", ").to_owned()
    }

    /// Whether any mean is of several runs.
    pub(super) fn has_intervals(&self) -> bool {
        self.grid.arms.iter().any(|arm| arm.values.len() > 1)
    }

    /// Page. `command` is the command that made it, `one` a command that runs a cell if its number
    /// is appended.
    pub fn page(&self, view: &View, command: &str, one: &str) -> String {
        let style = format!("{PAGE_STYLE}{STYLE}\n");
        let mut page = String::new();
        head(PageKind::Sweep, self.name, &style, &mut page);
        let (name, title) = (html(self.name), html(self.title));
        let answer = html(&self.answer().unwrap_or_else(|| self.name.to_owned()));
        let figures: String = self.plots().iter().map(figure).collect();
        let _ = write!(
            page,
            "<header><div><p class=\"title\"><b>{name}</b>: {title}</p>\n\
             <h1 class=\"sentence\">{answer}</h1></div>\n\
             <button type=\"button\" id=\"theme\" hidden>Theme</button></header>\n<main>\n{figures}\
             <p class=\"note\">A click on a mark, the arrow keys on a plot, or the number of a cell in \
             the table show the command that runs its cell and makes its page.</p>\n\
             <div id=\"cell\" role=\"status\" hidden data-command=\"{} \"><p></p><code></code> \
             <button type=\"button\">Copy</button></div>\n\
             <section id=\"cells\"><h2>Cells</h2>\n{}</section>\n\
             <section id=\"table\"><h2>Tables</h2><pre>{}</pre></section>\n\
             <section id=\"provenance\"><h2>Where it came from</h2><p><code>{}</code></p>\n\
             <p><code>{} N</code> runs cell N with the seed of its first repetition and makes its \
             page.</p></section>\n</main>\n\
             <script type=\"application/json\" id=\"data\">{{}}</script>\n\
             <script>\n\"use strict\";\n",
            html(one),
            self.cell_table(),
            html(&self.tables(view)),
            html(command),
            html(one),
        );
        script(&SCRIPT, &mut page);
        page.push_str("</script>\n</body>\n</html>\n");
        page
    }

    /// The answer: the largest and the smallest mean, and the axis that explains most.
    pub fn answer(&self) -> Option<String> {
        let arms = self.grid.arms.iter();
        let mut means: Vec<_> = arms
            .filter_map(|arm| Some((Summary::of(arm.values)?, arm)))
            .collect();
        means.sort_by(|a, b| b.0.mean.total_cmp(&a.0.mean));
        let (highest, lowest) = (means.first()?, means.last()?);
        let (scale, metric) = (self.scale(), self.metric());
        let value = |one: &Summary| {
            let text = format!("{} {}", with_interval(one, scale), scale.unit);
            text.trim_end().to_owned()
        };
        if means.len() == 1 {
            return Some(format!("{metric}: {}", value(&highest.0)));
        }
        let mut answer = format!(
            "Highest {metric}: {} with {}. Lowest: {} with {}",
            value(&highest.0),
            self.cell_name(highest.1),
            value(&lowest.0),
            self.cell_name(lowest.1)
        );
        let effects = Effects::of(self.grid).ok();
        // One axis without repetitions explains all.
        let alone = effects
            .iter()
            .filter(|_| self.varying().len() > 1 || self.has_intervals())
            .flat_map(|effects| &effects.sources)
            .filter(|source| source.factors.len() == 1);
        if let Some(most) = alone.max_by(|a, b| a.share.total_cmp(&b.share)) {
            let axis = &self.grid.scales[most.factors[0]].name;
            let share = percent(most.share);
            let _ = write!(answer, ". {axis} explains {share} of the variance");
        }
        Some(answer)
    }

    /// Levels of a cell on the axes that vary.
    fn cell_name(&self, arm: ArmRef<'_>) -> String {
        let varying = self.varying();
        let mut name = varying
            .iter()
            .take(NAMED_AXES)
            .map(|factor| self.level(*factor, arm.levels[*factor]))
            .collect::<Vec<_>>()
            .join(", ");
        if varying.len() > NAMED_AXES {
            name.push_str(" \u{2026}");
        }
        name
    }

    /// Table of the first cells with levels and values. Headings sort, a field filters.
    fn cell_table(&self) -> String {
        let (scale, varying) = (self.scale(), self.varying());
        let factors = varying.iter().map(|factor| &self.grid.scales[*factor].name);
        let factors =
            factors.map(|name| format!("<th scope=\"col\" class=\"text\">{}</th>", html(name)));
        let has_intervals = self.has_intervals();
        let mut table = format!(
            "<table class=\"numbers\"><thead><tr><th scope=\"col\">Cell</th>{}<th scope=\"col\">{}</th>\
             {}<th scope=\"col\">runs</th><th scope=\"col\">failed</th></tr></thead><tbody>\n",
            factors.collect::<String>(),
            html(&self.metric_in(scale.unit)),
            if has_intervals {
                "<th scope=\"col\">\u{b1}</th>"
            } else {
                ""
            },
        );
        for arm in self.grid.arms.iter().take(MOST_CELLS) {
            let (number, name) = (arm.cell, html(&self.cell_name(arm)));
            let levels = varying.iter().map(|factor| {
                let level = arm.levels[*factor];
                let order = level.map_or(-1, i64::from);
                let label = html(self.grid.label(*factor, level));
                format!("<td class=\"text\" data-value=\"{order}\">{label}</td>")
            });
            let levels: String = levels.collect();
            let summary = Summary::of(arm.values);
            let text = summary.map_or("-".to_owned(), |summary| with_interval(&summary, scale));
            let (mean, half) = text.split_once(" \u{b1} ").unwrap_or((&text, "-"));
            let value =
                |value: Option<f64>, text: &str| match value.filter(|number| number.is_finite()) {
                    Some(value) => format!("<td data-value=\"{value}\">{text}</td>"),
                    None => format!("<td>{text}</td>"),
                };
            let mean = value(summary.map(|summary| summary.mean), mean);
            let half = match has_intervals {
                true => value(
                    summary.and_then(|summary| summary.half_width(CONFIDENCE)),
                    half,
                ),
                false => String::new(),
            };
            let (runs, failures) = (arm.values.len(), arm.failures);
            let _ = writeln!(
                table,
                "<tr><th scope=\"row\"><button type=\"button\" data-cell=\"{number}\" data-cells=\"1\" \
                 data-title=\"{name}\">{number}</button></th>{levels}{mean}{half}<td>{runs}</td>\
                 <td>{failures}</td></tr>"
            );
        }
        table.push_str("</tbody></table>");
        let left_out = self.grid.arms.len().saturating_sub(MOST_CELLS);
        match left_out {
            0 => scroll(&table),
            more => format!(
                "{}<p class=\"note\">{more} more cells are not listed.</p>",
                scroll(&table)
            ),
        }
    }
}

/// A plot with its caption. Of two widths the page shows the one that fits.
fn figure(plot: &Plot) -> String {
    let (name, caption) = (plot.name, html(&plot.caption));
    let drawn = match &plot.narrow {
        Some(narrow) => format!(
            "<div class=\"on-wide\">{}</div><div class=\"on-narrow\">{narrow}</div>",
            plot.element
        ),
        None => plot.element.clone(),
    };
    format!(
        "<section id=\"{name}\"><figure>{drawn}<figcaption class=\"note\">{caption} <a \
         href=\"{name}.svg\">SVG</a></figcaption></figure></section>\n"
    )
}
