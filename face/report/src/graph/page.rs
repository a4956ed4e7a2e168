//! The page: graphs of connections in one file that needs no network.
//!
//! It has markup with the facts, the data of each graph as base64, and a renderer
//! (`assets/graph/*.js` and parts of the report's). Nothing is loaded, and without scripts the
//! facts remain.

use std::fmt::Write;

use gigatcp_analyze::graph::{Graph, Point, pack};
use gigatcp_plan::record::TimeSequence;
use serde_json::{Value, json};

use crate::escape::{html, json_in_script};
use crate::html::{PageKind, head, script};

/// Approximate maximum size in bytes of a page with large graphs.
pub const PAGE_BUDGET: usize = 2_900_000;

/// Approximate size in octets of a page without its data.
const FRAME: usize = 90_000;

const STYLE: &str = include_str!("../../assets/graph/graph.css");
const BODY: &str = include_str!("../../assets/graph/body.html");

/// The tools and the frame of a time-sequence graph.
pub(crate) const SEQUENCE_TOOLS: &str = include_str!("../../assets/graph/tools.html");

/// The files that draw time-sequence graphs, in order.
pub(crate) const SEQUENCE_SCRIPT: [&str; 6] = [
    include_str!("../../assets/graph/octets.js"),
    include_str!("../../assets/graph/tree.js"),
    include_str!("../../assets/graph/panel.js"),
    include_str!("../../assets/graph/sequence.js"),
    include_str!("../../assets/graph/moments.js"),
    include_str!("../../assets/graph/graphs.js"),
];

/// The other files of the renderer in order; all form one script, so that names are shared.
const SCRIPT: [&str; 5] = [
    include_str!("../../assets/link.js"),
    include_str!("../../assets/base.js"),
    include_str!("../../assets/plot.js"),
    include_str!("../../assets/causes.js"),
    include_str!("../../assets/picture.js"),
];

/// The files after those of the graphs.
const PICTURE_SCRIPT: [&str; 2] = [
    include_str!("../../assets/graph/columns.js"),
    include_str!("../../assets/graph/main.js"),
];

/// An interval of one cause, drawn in a strip below a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Start, in nanoseconds since the connection's first packet.
    pub from_ns: u64,
    /// End, likewise.
    pub to_ns: u64,
    /// The id of its cause.
    pub name: String,
    /// The finding in sentences; the same for all intervals of the cause.
    pub text: String,
}

/// The diagnosis of a stream, in words.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DiagnosisText {
    /// The answer in a sentence, shown at the top of the page. Empty if there is none.
    pub headline: String,
    /// Lines below it: a label and a text each.
    pub lines: Vec<(String, String)>,
    /// All causes: a line that unfolds, and the lines below it.
    pub findings: Vec<(String, Vec<String>)>,
}

/// A graph and the text shown next to it.
#[derive(Debug)]
pub struct Plotted<'a> {
    /// Name in the selection.
    pub label: String,
    /// Facts: name and value.
    pub facts: Vec<(String, String)>,
    /// The graph.
    pub graph: &'a Graph,
    /// Whether window sizes are known.
    pub knows_windows: bool,
    /// Intervals of one cause each.
    pub spans: Vec<Span>,
    /// The diagnosis.
    pub said: DiagnosisText,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
}

/// A page of graphs.
#[derive(Debug)]
pub struct Page<'a> {
    /// Title, mostly the name of the file.
    pub title: String,
    /// Description in a sentence or two.
    pub about: String,
    /// Facts about the capture.
    pub facts: Vec<(String, String)>,
    /// The graphs; the first one is shown first.
    pub graphs: Vec<Plotted<'a>>,
}

impl Page<'_> {
    /// Page, of about `budget` bytes; [`PAGE_BUDGET`] is a good value.
    pub fn html(&self, budget: usize) -> String {
        let packed = self.packed(budget);
        let mut out = String::with_capacity(budget + FRAME);
        head(PageKind::Graphs, &self.title, STYLE, &mut out);
        self.header(&mut out);
        let body = BODY.replace("{tools}", SEQUENCE_TOOLS);
        out.push_str(&body.replace("{facts}", &facts(&self.facts)));
        let graphs: Vec<Value> = self
            .graphs
            .iter()
            .zip(&packed)
            .map(|(plotted, packed)| described(plotted, packed))
            .collect();
        let data = json!({
            "title": self.title,
            "clock": "time since the first packet",
            "graphs": graphs,
            "marks": Point::mark_names(),
        })
        .to_string();
        let _ = writeln!(
            out,
            "<script type=\"application/json\" id=\"data\">{}</script>",
            json_in_script(&data)
        );
        out.push_str("<script>\n\"use strict\";\n");
        for parts in [&SCRIPT[..], &SEQUENCE_SCRIPT, &PICTURE_SCRIPT] {
            script(parts, &mut out);
        }
        out.push_str("</script>\n</body>\n</html>\n");
        out
    }

    /// Packs the graphs: small ones in full, large ones share the rest of the budget.
    fn packed(&self, budget: usize) -> Vec<TimeSequence> {
        let mut room = budget.saturating_sub(FRAME) / 4 * 3;
        let mut order: Vec<usize> = (0..self.graphs.len()).collect();
        order.sort_by_key(|index| self.graphs[*index].graph.points());
        let mut packed: Vec<Option<TimeSequence>> = vec![None; self.graphs.len()];
        for (done, index) in order.into_iter().enumerate() {
            let share = room / (self.graphs.len() - done);
            let plotted = &self.graphs[index];
            let graph = pack(plotted.graph, plotted.knows_windows, share);
            room = room.saturating_sub(graph.octets.len() / 4 * 3);
            packed[index] = Some(graph);
        }
        packed.into_iter().flatten().collect()
    }

    fn header(&self, out: &mut String) {
        let first = self.graphs.first();
        let answer = first.map_or("", |graph| graph.said.headline.as_str());
        let (headline, title) = match (answer.is_empty(), self.about.is_empty()) {
            (true, _) => (self.title.as_str(), self.about.clone()),
            (false, true) => (answer, self.title.clone()),
            (false, false) => (answer, format!("{}: {}", self.title, self.about)),
        };
        let _ = write!(
            out,
            "<header>\n<div><p class=\"title\">{} \
             <label id=\"choose\">Stream <select id=\"choice\"></select></label></p>\n\
             <h1 class=\"sentence\" id=\"headline\">{}</h1></div>\n\
             <button type=\"button\" id=\"theme\" hidden>Theme</button>\n",
            html(&title),
            html(headline),
        );
        out.push_str(
            "<noscript><p class=\"partial\">The graphs need script, which is part of this file \
             and loads nothing.</p></noscript>\n</header>\n",
        );
    }
}

fn facts(facts: &[(String, String)]) -> String {
    let mut out = "<dl class=\"facts\">".to_owned();
    for (name, value) in facts {
        let (name, value) = (html(name), html(value));
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out + "</dl>\n"
}

fn described(plotted: &Plotted<'_>, packed: &TimeSequence) -> Value {
    let (causes, spans) = strip(&plotted.spans);
    let graph = plotted.graph;
    let lines = plotted.said.lines.iter();
    let lines = lines.filter(|(label, _)| label != "Also");
    let mut notes = plotted.notes.clone();
    if graph.steps_back() > 0 {
        let times = match graph.steps_back() {
            1 => "once".into(),
            count => format!("{count} times"),
        };
        notes.push(format!(
            "The clock of the capture stepped back {times}: time stands still there until it has \
             caught up."
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
        "packets": packed,
        "causes": causes,
        "spans": spans,
        "said": {
            "headline": plotted.said.headline,
            // The picture has the shares of the causes.
            "lines": lines.collect::<Vec<_>>(),
            "findings": plotted.said.findings,
        },
        "notes": notes,
    })
}

/// Number of steps into which intervals are merged before they are put on the page.
const STRIP_STEPS: u64 = 1_000;

/// Causes and intervals. A cause has its text and total time, an interval is (from, to, index of
/// the cause). An interval shorter than a thousandth of the whole is merged with its neighbors, to
/// the cause that took most of the time.
fn strip(spans: &[Span]) -> (Vec<Value>, Vec<(u64, u64, usize)>) {
    let mut names: Vec<&Span> = Vec::new();
    let mut spent: Vec<u64> = Vec::new();
    let mut all: Vec<(u64, u64, usize)> = Vec::new();
    for span in spans.iter().filter(|span| span.to_ns > span.from_ns) {
        let known = names.iter().position(|known| known.name == span.name);
        let cause = known.unwrap_or_else(|| {
            names.push(span);
            spent.push(0);
            names.len() - 1
        });
        spent[cause] += span.to_ns - span.from_ns;
        all.push((span.from_ns, span.to_ns, cause));
    }
    let causes = names.iter().zip(&spent).map(|(span, spent)| {
        json!({
            "name": span.name,
            "title": crate::cause_name(&span.name),
            "text": span.text,
            "spent": spent,
        })
    });
    (causes.collect(), merged(&all, names.len()))
}

fn merged(spans: &[(u64, u64, usize)], causes: usize) -> Vec<(u64, u64, usize)> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return Vec::new();
    };
    let step = (last.1 - first.0) / STRIP_STEPS;
    let mut merged: Vec<(u64, u64, usize)> = Vec::new();
    let mut short: Vec<(u64, u64, usize)> = Vec::new();
    for span in spans {
        let is_short = span.1 - span.0 < step;
        let is_near = short.last().is_none_or(|last| last.1 == span.0);
        if !is_short || !is_near {
            merged.extend(most(&short, causes));
            short.clear();
        }
        if !is_short {
            merged.push(*span);
            continue;
        }
        short.push(*span);
        if span.1 - short[0].0 >= step {
            merged.extend(most(&short, causes));
            short.clear();
        }
    }
    merged.extend(most(&short, causes));
    merged.dedup_by(|next, before| {
        let continues = next.2 == before.2 && next.0 == before.1;
        if continues {
            before.1 = next.1;
        }
        continues
    });
    merged
}

/// Merges consecutive intervals into one, with the cause of most of the time.
fn most(short: &[(u64, u64, usize)], causes: usize) -> Option<(u64, u64, usize)> {
    let mut spent = vec![0; causes];
    for (from, to, cause) in short {
        spent[*cause] += to - from;
    }
    let cause = (0..causes).max_by_key(|cause| spent[*cause])?;
    Some((short.first()?.0, short.last()?.1, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from_ns: u64, to_ns: u64, name: &str) -> Span {
        Span {
            from_ns,
            to_ns,
            name: name.into(),
            text: String::new(),
        }
    }

    #[test]
    fn short_intervals_are_merged_to_the_cause_that_took_most_and_keep_both_ends() {
        let mut spans = vec![span(0, 500_000, "long")];
        for start in (500_000..1_000_000).step_by(100) {
            spans.push(span(start, start + 70, "most"));
            spans.push(span(start + 70, start + 100, "rest"));
        }
        let (causes, strip) = strip(&spans);
        assert_eq!(strip, [(0, 500_000, 0), (500_000, 1_000_000, 1)]);
        assert_eq!(
            causes[2]["spent"], 150_000,
            "the times of causes are not merged"
        );
    }

    #[test]
    fn long_intervals_and_gaps_stay() {
        let spans = [
            span(0, 400, "a"),
            span(500, 900, "b"),
            span(900, 1_000, "a"),
        ];
        let (_, strip) = strip(&spans);
        assert_eq!(strip, [(0, 400, 0), (500, 900, 1), (900, 1_000, 0)]);
    }

    #[test]
    fn a_strip_has_few_intervals_however_many_there_were() {
        let flicker = (0..100_000).map(|at| span(at, at + 1, if at % 3 == 0 { "a" } else { "b" }));
        let (_, strip) = strip(&flicker.collect::<Vec<_>>());
        assert!(strip.len() as u64 <= STRIP_STEPS + 1, "{}", strip.len());
    }
}
