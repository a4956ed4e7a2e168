//! The page: graphs of connections in one file that needs no network.
//!
//! Markup with the facts, the octets of each graph as base64, and a renderer
//! (`assets/graph/*.js` over two parts of the report's). Nothing is loaded, and
//! without script the facts remain.

use std::fmt::Write;

use serde_json::{Value, json};

use super::base64;
use super::builder::Graph;
use super::pack::{Packed, Part, pack};
use super::point::Point;
use crate::escape::{html, json_in_script};
use crate::html::{PageKind, head};

/// Octets of a page with large graphs, or nearly.
pub const PAGE_BUDGET: usize = 2_900_000;

/// What is there beside the data.
const FRAME: usize = 90_000;

const STYLE: &str = include_str!("../../assets/graph/graph.css");
const BODY: &str = include_str!("../../assets/graph/body.html");

/// The renderer, in order of use; one script so that names are shared.
const SCRIPT: [&str; 8] = [
    include_str!("../../assets/base.js"),
    include_str!("../../assets/plot.js"),
    include_str!("../../assets/graph/octets.js"),
    include_str!("../../assets/graph/tree.js"),
    include_str!("../../assets/graph/panel.js"),
    include_str!("../../assets/graph/sequence.js"),
    include_str!("../../assets/graph/sides.js"),
    include_str!("../../assets/graph/main.js"),
];

/// A stretch of time with a name, drawn as a band beneath a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where it begins, in nanoseconds since the connection's first packet.
    pub from_ns: u64,
    /// Where it ends.
    pub to_ns: u64,
    /// What it is called, in a word or two.
    pub name: String,
    /// What there is to say about it, in sentences.
    pub text: String,
}

/// What was found out about a stream, in words.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Said {
    /// What a reader wants to know, a paragraph each.
    pub paragraphs: Vec<String>,
    /// What it rests on: a line to unfold, and what is behind it.
    pub findings: Vec<(String, Vec<String>)>,
}

/// A graph, and what is said beside it.
#[derive(Debug)]
pub struct Plotted<'a> {
    /// What to choose it by.
    pub label: String,
    /// Facts: what, and how much.
    pub facts: Vec<(String, String)>,
    /// The graph.
    pub graph: &'a Graph,
    /// Whether windows are known.
    pub knows_windows: bool,
    /// Stretches of time.
    pub spans: Vec<Span>,
    /// What was found out.
    pub said: Said,
    /// What a reader must know, in sentences.
    pub notes: Vec<String>,
}

/// A page of graphs.
#[derive(Debug)]
pub struct Page<'a> {
    /// What was captured: mostly the name of a file.
    pub title: String,
    /// What there is to say in a sentence or two.
    pub about: String,
    /// Facts about the capture.
    pub facts: Vec<(String, String)>,
    /// The graphs, that to be shown first in front.
    pub graphs: Vec<Plotted<'a>>,
}

impl Page<'_> {
    /// The page, of about `budget` octets; [`PAGE_BUDGET`] is a good one.
    #[must_use]
    pub fn html(&self, budget: usize) -> String {
        let packed = self.packed(budget);
        let mut out = String::with_capacity(budget + FRAME);
        head(PageKind::Graphs, &self.title, STYLE, &mut out);
        self.header(&mut out);
        out.push_str(BODY);
        let graphs: Vec<Value> = self
            .graphs
            .iter()
            .zip(&packed)
            .map(|(plotted, packed)| described(plotted, packed))
            .collect();
        let data = json!({ "graphs": graphs, "marks": Point::mark_names() }).to_string();
        let _ = writeln!(
            out,
            "<script type=\"application/json\" id=\"data\">{}</script>",
            json_in_script(&data)
        );
        for (index, packed) in packed.iter().enumerate() {
            let _ = write!(
                out,
                "<script type=\"application/octet-stream\" id=\"octets-{index}\">"
            );
            base64::put(&mut out, &packed.octets);
            out.push_str("</script>\n");
        }
        out.push_str("<script>\n\"use strict\";\n");
        SCRIPT.into_iter().for_each(|part| out.push_str(part));
        out.push_str("</script>\n</body>\n</html>\n");
        out
    }

    /// Small graphs take what they need, large ones share the rest.
    fn packed(&self, budget: usize) -> Vec<Packed> {
        let mut room = budget.saturating_sub(FRAME) / 4 * 3;
        let mut order: Vec<usize> = (0..self.graphs.len()).collect();
        order.sort_by_key(|index| self.graphs[*index].graph.points());
        let mut packed: Vec<Option<Packed>> = vec![None; self.graphs.len()];
        for (done, index) in order.into_iter().enumerate() {
            let share = room / (self.graphs.len() - done);
            let graph = pack(self.graphs[index].graph, share);
            room = room.saturating_sub(graph.octets.len());
            packed[index] = Some(graph);
        }
        packed.into_iter().flatten().collect()
    }

    fn header(&self, out: &mut String) {
        let _ = write!(
            out,
            "<header>\n<div><h1>{}</h1>\n<p class=\"title\">{}</p></div>\n\
             <button type=\"button\" id=\"theme\" hidden>Theme</button>\n",
            html(&self.title),
            html(&self.about),
        );
        facts(&self.facts, out);
        out.push_str(
            "<noscript><p class=\"partial\">The graphs need script, which is part of this file \
             and loads nothing.</p></noscript>\n</header>\n",
        );
    }
}

fn facts(facts: &[(String, String)], out: &mut String) {
    out.push_str("<dl class=\"facts\">");
    for (name, value) in facts {
        let (name, value) = (html(name), html(value));
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
}

fn described(plotted: &Plotted<'_>, packed: &Packed) -> Value {
    let part = |part: &Part| json!([part.packed, part.plain]);
    let span = |span: &Span| json!({ "from": span.from_ns, "to": span.to_ns, "name": span.name, "text": span.text });
    let graph = plotted.graph;
    let mut notes = plotted.notes.clone();
    if graph.steps_back() > 0 {
        notes.push(format!(
            "The clock of the capture stepped back {} times: time stands still there until it has \
             caught up.",
            graph.steps_back()
        ));
    }
    if !plotted.knows_windows {
        notes.push(
            "The window is not drawn: a SYN is missing, and with it the scale of windows.".into(),
        );
    }
    json!({
        "label": plotted.label,
        "facts": plotted.facts,
        "unit": graph.unit_ns,
        "points": graph.points(),
        "kept": packed.kept_points,
        "windows": plotted.knows_windows,
        "head": part(&packed.head),
        "chunks": packed.chunks.iter().map(part).collect::<Vec<_>>(),
        "spans": plotted.spans.iter().map(span).collect::<Vec<_>>(),
        "said": { "paragraphs": plotted.said.paragraphs, "findings": plotted.said.findings },
        "notes": notes,
    })
}
