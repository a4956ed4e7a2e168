//! A sweep as one page that needs no network: plots, tables, and how to run a cell alone.

use super::svg::STYLE;
use super::{SweepReport, View};
use crate::escape::html;

/// A line of the list of cells: a name, a value, and the command that runs it alone.
#[derive(Clone, Debug)]
pub struct CellLine {
    /// Its levels.
    pub name: String,
    /// The command.
    pub command: String,
}

/// Cells of the list at most.
pub const MOST_CELLS: usize = 500;

impl SweepReport<'_> {
    /// The page; `cells` says how to run cells alone, and `command` how it was made.
    #[must_use]
    pub fn page(&self, view: &View, command: &str, cells: &[CellLine]) -> String {
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
            format!("<tr><td>{name}</td><td><code>{command}</code></td></tr>\n")
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
             </style></head>\n<body>\n<header><div><h1>{name}</h1><p class=\"title\">{title}</p>\
             </div><p class=\"source\"><code>{}</code></p></header>\n{figures}\
             <section id=\"table\"><h2>Tables</h2><pre>{}</pre></section>\n\
             <section id=\"cells\"><h2>One cell alone</h2><p>Each command runs a cell with the \
             seed of its first repetition and shows its page.</p><details><summary>{} cells\
             </summary><table>{lines}</table></details></section>\n</body></html>\n",
            include_str!("../../assets/page.css"),
            include_str!("../../assets/dark.css"),
            html(command),
            html(&self.text(view)),
            cells.len(),
        )
    }
}
