//! Tables for the terminal and `report.html`, which show the results of a run.
//!
//! Reads the record of a run (`gigatcp.run/5`, [`gigatcp_plan::record`]) and the numbers published
//! for it, if an experiment repeats a publication ([`published`], the only reader of such
//! numbers in the project). All values shown were recorded or published, except ratios, medians
//! and the times defined in [`gigatcp_plan::record::growth`].
//!
//! * [`nuttcp`]: interval lines in the format of nuttcp, which network engineers know.
//! * [`shares`]: percentages that add up to exactly 100.0.
//! * [`group`]: the repeats of one series, their median and spread.
//! * [`compare`]: a series next to its published numbers, quantity by quantity.
//! * `screen`: a run on one screen; [`brief`]: a long run, shortened for a terminal.
//! * [`table`]: all of it as plain text, with no information in color alone. [`live`]: notes on
//!   runs in real time. [`prose`]: wraps running text.
//! * [`page`], [`queues`], [`html`]: all of it as one page that needs no network, with a
//!   renderer for its graphs (`assets/`).
//! * [`sweep`]: many runs: tables of any axes, effects, plots.
//! * [`diagnostics`]: errors in a plan, with carets. [`theory`]: figures of a path by published
//!   equations.
//! * [`why`]: the answers of `gigatcp why`, as text and as JSON.
//! * [`graph`]: connections of captures as time-sequence graphs: a page, xplot's files, CSV.
//!
//! A value that was not reproduced is shown like every other one. Out of scope: grades; the
//! assessment of a result is in the experiment's README.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod answer;
mod applications;
pub mod brief;
pub mod compare;
pub mod diagnostics;
pub mod escape;
pub mod graph;
pub mod grid;
pub mod group;
mod hop_columns;
mod hosts;
pub mod html;
mod html_tables;
pub mod json_list;
pub mod live;
pub mod many_flows;
pub mod number;
pub mod nuttcp;
pub mod page;
pub mod prose;
pub mod published;
pub mod queues;
mod screen;
mod seeds;
pub mod shares;
pub mod sweep;
pub mod table;
pub mod theory;
pub mod thin;
pub mod why;

use brief::Detail;
use gigatcp_plan::record::{RunRecord, SeriesRecord};

pub use published::{Published, PublishedError, PublishedSeries};

/// Name of a cause for labels, without an article; the id of an unlisted one.
pub fn cause_name(id: &str) -> String {
    let name = cause_phrase(id);
    let articles = ["the ", "a ", "an "].iter();
    let bare = articles
        .filter_map(|article| name.strip_prefix(article))
        .next();
    bare.unwrap_or(name).to_owned()
}

/// Words for a cause that follow "limited by"; the id of an unlisted one.
pub(crate) fn cause_phrase(id: &str) -> &str {
    let known = gigatcp_why::CAUSES.iter().find(|cause| cause.id == id);
    known.map_or(id, |cause| cause.name)
}

/// A run, with the numbers published for it if there are any.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The record of the run.
    pub run: &'a RunRecord,
    /// The published numbers of the experiment, if it has any.
    pub published: Option<&'a Published>,
}

impl<'a> Report<'a> {
    /// A report on `run`, compared with `published` for matching series.
    pub const fn new(run: &'a RunRecord, published: Option<&'a Published>) -> Self {
        Self { run, published }
    }

    /// Numbers published for `series`. They are found by its name, by the series it is the fit of,
    /// or by the series that is its fit.
    pub fn published_for(&self, series: &SeriesRecord) -> Option<&'a PublishedSeries> {
        self.published?.matching(series, &self.run.series)
    }

    /// Interval lines, totals and limits of one series as plain text.
    pub fn text_series(&self, series: &SeriesRecord) -> String {
        table::series(series, self.published_for(series), Detail::Whole)
    }

    /// All series in one table of plain text. Repeats are summarized as n, median and spread, with
    /// the limits.
    pub fn text_summary(&self) -> String {
        table::summary(self, Detail::Whole)
    }

    /// Full text of a run. It has the first repeat of every series, then all of them in one table.
    pub fn text(&self) -> String {
        self.text_each(Detail::Whole) + &self.text_summary()
    }

    /// Result and the limits of each flow: at most some 40 lines.
    pub fn text_screen(&self) -> String {
        screen::text(self)
    }

    /// Lines of nuttcp for every flow.
    pub fn text_nuttcp(&self) -> String {
        nuttcp::text(self)
    }

    /// All of it, shortened where it would fill very many screens; what is left out is
    /// counted.
    pub fn text_brief(&self) -> String {
        brief::text(self)
    }

    fn text_each(&self, detail: Detail) -> String {
        let mut text = table::changes(&self.run.overrides);
        // The other repeats are in the summary; interval lines of all would hide it.
        for series in self.run.series.iter().filter(|series| series.repeat == 0) {
            text.push_str(&table::series(series, self.published_for(series), detail));
            text.push('\n');
        }
        if self.run.repeat > 1 {
            let repeats = self.run.repeat;
            text.push_str(&format!(
                "Above is the first of {repeats} repeats; all are in the table below and on \
                 disk.\n\n"
            ));
        }
        text
    }

    /// Whole of `report.html`.
    pub fn html(&self) -> String {
        html::page(self)
    }
}
