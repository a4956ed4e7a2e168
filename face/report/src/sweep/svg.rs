//! Plots as SVG: a frame with two axes, and marks.

use std::fmt::Write;

use crate::escape::html;

/// A plot in progress. Units are pixels; the origin is the upper left corner.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// The cells that a mark represents.
#[derive(Clone, Copy)]
pub(super) struct Mark<'a> {
    /// Text of its tooltip.
    pub(super) title: &'a str,
    /// The first of its cells, and their number.
    pub(super) cells: (u64, usize),
}

impl Mark<'_> {
    /// Attributes that the page's script reads; none without cells.
    fn attributes(&self) -> String {
        match self.cells {
            (_, 0) => String::new(),
            (first, count) => format!(" data-cell=\"{first}\" data-cells=\"{count}\""),
        }
    }
}

/// Maps values to positions along an axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis over `values`, drawn between two positions.
    pub(super) fn new(values: &[f64], is_log: bool, from: f64, to: f64) -> Self {
        let finite = values
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .filter(|value| !is_log || *value > 0.0);
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = match low <= high {
            true if low < high => (low, high),
            true => (
                low - 0.5 * low.abs().max(1e-9),
                high + 0.5 * high.abs().max(1e-9),
            ),
            false => (1.0, 2.0),
        };
        Self {
            low,
            high,
            is_log,
            from,
            to,
        }
    }

    /// Position of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// About `count` round values within it.
    pub(super) fn ticks(&self, count: f64) -> Vec<f64> {
        if self.is_log {
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let steps: &[f64] = if decades.clone().count() > 4 {
                &[1.0]
            } else {
                &[1.0, 2.0, 5.0]
            };
            let all =
                decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            return all.filter(|value| self.holds(*value)).collect();
        }
        let rough = (self.high - self.low) / count;
        let decade = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps
            .into_iter()
            .find(|step| step * decade >= rough)
            .unwrap_or(10.0)
            * decade;
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    fn holds(&self, value: f64) -> bool {
        let slack = (self.high - self.low) * 1e-9;
        value >= self.low - slack && value <= self.high + slack
    }
}

impl Svg {
    /// An empty plot.
    pub(super) const fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    /// Text; `anchor` is start, middle or end.
    pub(super) fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let text = html(text);
        let _ = write!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
        );
    }

    /// Draws a line between two positions.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// Draws a line through positions, in a color by number.
    pub(super) fn path(&mut self, places: &[(f64, f64)], color: usize) {
        let color = color % 8;
        let points = points(places);
        let _ = write!(
            self.body,
            "<polyline points=\"{points}\" class=\"curve\" style=\"stroke:var(--c{color})\"/>"
        );
    }

    /// Draws a dotted line through positions, with hollow marks, in a color by number.
    pub(super) fn dotted(&mut self, places: &[(f64, f64)], color: usize) {
        let (color, points) = (color % 8, points(places));
        for (x, y) in places {
            let _ = write!(
                self.body,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" class=\"curve\" style=\"stroke:var(--c{color})\"/>"
            );
        }
        let _ = write!(
            self.body,
            "<polyline points=\"{points}\" class=\"curve dotted\" style=\"stroke:var(--c{color})\"/>"
        );
    }

    /// Draws a filled area with a border through positions, in a color by number.
    pub(super) fn band(&mut self, places: &[(f64, f64)], color: usize) {
        let color = color % 8;
        let points = points(places);
        let _ = write!(
            self.body,
            "<polygon points=\"{points}\" class=\"band\" style=\"fill:var(--c{color})\"/>"
        );
    }

    pub(super) fn dot(&mut self, (x, y): (f64, f64), color: usize, mark: Mark<'_>) {
        let (color, title, cells) = (color % 8, html(mark.title), mark.attributes());
        let _ = write!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"{cells} style=\"fill:var(--c{color})\">\
             <title>{title}</title></circle>"
        );
    }

    /// Draws a rectangle with an opacity that grows with a share.
    pub(super) fn tile(
        &mut self,
        (x, y): (f64, f64),
        (w, h): (f64, f64),
        share: f64,
        mark: Mark<'_>,
    ) {
        let (title, cells) = (html(mark.title), mark.attributes());
        let _ = write!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" class=\"tile\"\
             {cells} style=\"fill-opacity:{:.3}\"><title>{title}</title></rect>",
            0.06 + 0.94 * share.clamp(0.0, 1.0)
        );
    }

    /// Plot as an element of a page; `about` describes it.
    pub(super) fn element(&self, about: &str) -> String {
        let (width, height, about) = (self.width, self.height, html(about));
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{about}\">{}</svg>",
            self.body
        )
    }

    /// Plot as a separate file.
    pub(super) fn file(&self, about: &str) -> String {
        let element = self.element(about);
        let (width, height) = (self.width, self.height);
        let rest = element.strip_prefix("<svg ").unwrap_or(&element);
        let (head, body) = rest.split_once('>').unwrap_or((rest, ""));
        let file = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             {head}><style>{STYLE}</style>\
             <rect width=\"100%\" height=\"100%\" style=\"fill:#fff\"/>{body}\n"
        );
        // Programs that convert to PNG and PDF do not support variables.
        COLORS.iter().fold(file, |file, (name, color)| {
            file.replace(&format!("var({name})"), color)
        })
    }
}

/// The colors of `page.css`, for a file without a page.
const COLORS: [(&str, &str); 13] = [
    ("--ink", "#16191d"),
    ("--soft", "#545c66"),
    ("--rule", "#d5dae0"),
    ("--grid", "#e8ebef"),
    ("--paper", "#ffffff"),
    ("--c0", "#0072b2"),
    ("--c1", "#c44e00"),
    ("--c2", "#00805c"),
    ("--c3", "#9b3f86"),
    ("--c4", "#1b1e22"),
    ("--c5", "#8f6a00"),
    ("--c6", "#2c93c9"),
    ("--c7", "#7c1f2f"),
];

/// Style of plots.
pub(super) const STYLE: &str = "text{font:12px system-ui,\"Segoe UI\",Arial,sans-serif;\
    fill:var(--soft)}text.head{font-weight:600;fill:var(--ink)}text.value{fill:var(--ink);\
    font-size:11px}text.on-solid{fill:var(--paper)}.grid{stroke:var(--grid)}.frame{stroke:var(--rule)}.curve{fill:none;\
    stroke-width:1.8}.dotted{stroke-dasharray:2 4}.cell{stroke:var(--c0);stroke-width:1.2}.cell~text{paint-order:stroke;stroke:var(--paper);stroke-width:3px}.cell:hover{stroke:var(--c1);stroke-opacity:1!important;stroke-width:2.4}.band{opacity:.18}.tile{fill:var(--c0);stroke:none}";

fn points(places: &[(f64, f64)]) -> String {
    let pairs = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    pairs.collect::<Vec<_>>().join(" ")
}
