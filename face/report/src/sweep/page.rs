//! A sweep as one page that needs no network: plots, tables, and how to run a cell alone.

use super::svg::STYLE;
use super::{SweepReport, View};
use crate::escape::html;

/// A line of the list of cells.
#[derive(Clone, Debug)]
pub struct CellLine {
    /// Its number.
    pub number: u64,
    /// Its levels.
    pub name: String,
    /// The plan and what it is changed by, as a command that runs it.
    pub command: String,
}

/// Cells of the list at most.
pub const MOST_CELLS: usize = 500;

impl SweepReport<'_> {
    /// The page; `command` says how it was made, `one` how to run a cell with its number
    /// behind it, and `cells` what each of the first cells is.
    #[must_use]
    pub fn page(&self, view: &View, command: &str, one: &str, cells: &[CellLine]) -> String {
        let figures = self.plots().into_iter().map(|plot| {
            let (name, caption) = (plot.name, html(&plot.caption));
            format!(
                "<section id=\"{name}\"><figure>{}<figcaption class=\"note\">{caption} <a \
                 href=\"{name}.svg\">SVG</a></figcaption></figure></section>\n",
                plot.element
            )
        });
        let figures: String = figures.collect();
        let lines = cells.iter().map(|cell| {
            let (name, command) = (html(&cell.name), html(&cell.command));
            let number = cell.number;
            format!("<tr><td>{number}</td><td>{name}</td><td><code>{command}</code></td></tr>\n")
        });
        let lines: String = lines.collect();
        let (name, title) = (html(self.name), html(self.title));
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{name}: sweep</title>\n<style>{}\n\
             @media (prefers-color-scheme: dark) {{ :root {{\n{}\n}} }}\n{STYLE}\n\
             figure {{ margin: 0; }} svg {{ width: 100%; height: auto; max-height: 90vh; }}\n\
             pre {{ overflow-x: auto; background: var(--panel); padding: 12px 14px; }}\n\
             td {{ padding: 2px 14px 2px 0; vertical-align: top; }}\n\
             [data-cell] {{ cursor: pointer; }}\n\
             .chosen {{ stroke: var(--c1) !important; stroke-width: 4px; stroke-opacity: 1 !important; }}\n\
             #cell:not([hidden]) {{ position: sticky; bottom: 0; background: var(--panel); \
             border-top: 2px solid var(--ink); padding: 8px 14px; overflow-wrap: anywhere; }}\n\
             </style></head>\n<body>\n<header><div><h1>{name}</h1><p class=\"title\">{title}</p>\
             </div><p class=\"source\"><code>{}</code></p></header>\n{figures}\
             <p class=\"note\">A click on a mark, or the arrow keys on a plot, show the command that \
             runs its cell and makes its page.</p>\n\
             <div id=\"cell\" role=\"status\" hidden data-command=\"{}\"><p></p><code></code> \
             <button>Copy</button></div>\n\
             <section id=\"table\"><h2>Tables</h2><pre>{}</pre></section>\n\
             <section id=\"cells\"><h2>One cell alone</h2><p><code>{} N</code> runs cell N with the \
             seed of its first repetition and makes its page; <code>--repetition K</code> runs another \
             one. What each is:</p><details><summary>{} cells\
             </summary><table>{lines}</table></details></section>\n<script>\n{}</script>\n</body></html>\n",
            include_str!("../../assets/page.css"),
            include_str!("../../assets/dark.css"),
            html(command),
            html(&format!("{one} ")),
            html(&self.text(view)),
            html(one),
            cells.len(),
            include_str!("../../assets/sweep.js"),
        )
    }
}
