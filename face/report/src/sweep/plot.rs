//! The plots of a sweep: lines with bands, a heat map, distributions.

use gigatcp_plan::design::grid::{Pivot, Pooled};
use gigatcp_plan::design::numeric::Numeric;
use gigatcp_plan::design::statistics::CONFIDENCE;
use gigatcp_theory::sample::Summary;

use super::svg::{Axis, Mark, Svg};
use super::{Scale, SweepReport};

/// Maximum number of panels of small multiples.
const MOST_PANELS: usize = 24;

/// Maximum number of curves of a panel.
const MOST_CURVES: usize = 8;

/// A plot: its file name, its caption, and its markup.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Name of the file, without extension.
    pub name: &'static str,
    /// Caption.
    pub caption: String,
    /// Element for a page.
    pub element: String,
    /// Element for a narrow screen; `None` if the plot is equally wide there.
    pub narrow: Option<String>,
    /// Content of a separate file.
    pub file: String,
}

/// A factor whose levels are positions on an axis.
struct Along {
    factor: usize,
    places: Vec<f64>,
    is_log: bool,
    is_number: bool,
}

/// A panel of small multiples: its levels, and the cells of each of its curves.
struct Panel<'a> {
    levels: Vec<Option<u32>>,
    curves: Vec<(Option<u32>, &'a Vec<Pooled>)>,
}

/// Width of a plot on a page, and on a telephone.
const WIDTHS: [f64; 2] = [1180.0, 328.0];

/// Height of a line of a title.
const TITLE_LINE: f64 = 15.0;

/// Multiple of the largest mean up to which intervals are drawn.
const MOST_ABOVE: f64 = 1.6;

/// Height of a line of a legend.
const LEGEND_LINE: f64 = 20.0;

/// Ends of an interval; the mean if it has none. If no value is below zero, the low end is not
/// either.
fn ends(summary: &Summary) -> (f64, f64) {
    let half = summary.half_width(CONFIDENCE).unwrap_or(0.0);
    let low = summary.mean - half;
    let low = if summary.min >= 0.0 {
        low.max(0.0)
    } else {
        low
    };
    (low, summary.mean + half)
}

impl SweepReport<'_> {
    /// Every plot that the axes allow.
    pub fn plots(&self) -> Vec<Plot> {
        let both = |make: &dyn Fn(f64) -> Option<Plot>| {
            let [wide, narrow] = WIDTHS.map(make);
            wide.map(|plot| Plot {
                narrow: narrow.map(|plot| plot.element),
                ..plot
            })
        };
        let all = [
            both(&|wide| self.lines(wide)),
            both(&|wide| self.heat_map(wide)),
            both(&|wide| self.distributions(wide)),
        ];
        all.into_iter().flatten().collect()
    }

    /// Factor along the horizontal axis: the numeric one with the most levels.
    fn along(&self) -> Option<Along> {
        let factors = self.varying().into_iter();
        let alongs = factors.map(|factor| {
            let scale = &self.grid.scales[factor];
            match Numeric::of(scale) {
                Some(numeric) => Along {
                    factor,
                    is_log: numeric.is_log,
                    places: numeric.places,
                    is_number: true,
                },
                None => Along {
                    factor,
                    is_log: false,
                    places: (0..scale.labels.len()).map(|at| at as f64).collect(),
                    is_number: false,
                },
            }
        });
        alongs.max_by_key(|along| (along.is_number, along.places.len()))
    }

    /// Factor for curves: the one with the most levels that still fit.
    fn curves(&self, others: &[usize]) -> Option<usize> {
        let count = |factor: &usize| self.grid.scales[*factor].labels.len();
        let fits = others
            .iter()
            .copied()
            .filter(|factor| count(factor) <= MOST_CURVES);
        fits.max_by_key(|factor| count(factor))
    }

    /// Draws small multiples of the mean over one axis. Each level of a second factor has a curve.
    fn lines(&self, wide: f64) -> Option<Plot> {
        let along = self.along()?;
        let others = self.varying().into_iter();
        let others: Vec<usize> = others.filter(|factor| *factor != along.factor).collect();
        let curves = self.curves(&others);
        let panels: Vec<usize> = others
            .into_iter()
            .filter(|factor| Some(*factor) != curves)
            .collect();
        let mut rows = panels.clone();
        rows.extend(curves);
        let pivot = self.grid.pivot(&rows, Some(along.factor));
        let mut groups: Vec<Panel<'_>> = Vec::new();
        for (levels, cells) in &pivot.cells {
            let panel = levels[..panels.len()].to_vec();
            let curve = levels.get(panels.len()).copied().flatten();
            match groups.last_mut().filter(|last| last.levels == panel) {
                Some(last) => last.curves.push((curve, cells)),
                None => groups.push(Panel {
                    levels: panel,
                    curves: vec![(curve, cells)],
                }),
            }
        }
        let left_out = groups.len().saturating_sub(MOST_PANELS);
        groups.truncate(MOST_PANELS);
        let theory = self
            .theory
            .map(|grid| grid.pivot(&rows, Some(along.factor)));
        let (columns, size) = match groups.len() {
            _ if wide < WIDTHS[0] => (1, (wide, 226.0)),
            0 | 1 => (1, (wide, 380.0)),
            2 => (2, (wide / 2.0, 286.0)),
            4 => (2, (wide / 2.0, 236.0)),
            _ => (3, (wide / 3.0, 236.0)),
        };
        let head = TITLE_LINE * panels.len() as f64;
        let size = (size.0, size.1 + head);
        let lines = groups.len().div_ceil(columns);
        let wide = size.0 * columns as f64;
        let (places, legend) = self.legend_places(curves, wide);
        let mut svg = Svg::new(wide, size.1 * lines as f64 + legend);
        self.legend(&mut svg, curves, &places);
        for (number, panel) in groups.iter().enumerate() {
            let (column, line) = (number % columns, number / columns);
            let corner = (size.0 * column as f64, legend + size.1 * line as f64);
            let titles: Vec<String> = panels
                .iter()
                .zip(&panel.levels)
                .map(|(factor, level)| self.level(*factor, *level))
                .collect();
            let frame = self.frame(&mut svg, (corner, size, head), &titles, &along, &pivot);
            if let Some(theory) = &theory {
                self.theory(&mut svg, theory, panel, &along, &frame);
            }
            for (curve, cells) in &panel.curves {
                let cells = pivot.columns.iter().copied().zip(*cells);
                let cells: Vec<(Option<u32>, &Pooled)> = cells.collect();
                self.curve(&mut svg, (curves, *curve), &cells, &along, &frame);
            }
        }
        let more = match left_out {
            0 => String::new(),
            more => format!(" {more} panels are left out."),
        };
        let name = &self.grid.scales[along.factor].name;
        let theory = match theory.is_some_and(|theory| has_values(&theory)) {
            true => " Dotted and hollow: theory, by the measured loss and RTT.",
            false => "",
        };
        let bands = if self.has_intervals() {
            ", and their 95 % confidence intervals as bands"
        } else {
            ""
        };
        let caption = format!("{} over {name}: means{bands}.{theory}{more}", self.metric());
        Some(plot("lines", caption, &svg))
    }

    /// Draws what equations predict for the curves of a panel.
    fn theory(
        &self,
        svg: &mut Svg,
        theory: &Pivot,
        panel: &Panel<'_>,
        along: &Along,
        (x, y): &(Axis, Axis),
    ) {
        for (curve, _) in &panel.curves {
            let levels: Vec<Option<u32>> = match curve {
                Some(_) => panel.levels.iter().copied().chain([*curve]).collect(),
                None => panel.levels.clone(),
            };
            let cells = theory.cells.iter().find(|(own, _)| *own == levels);
            let cells = cells
                .into_iter()
                .flat_map(|(_, cells)| theory.columns.iter().zip(cells));
            let points = cells.filter_map(|(place, cell)| {
                let at = x.at(along.places[(*place)? as usize]);
                Some((at, y.at(cell.summary?.mean / self.scale().factor)))
            });
            let mut points: Vec<(f64, f64)> = points.collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            svg.dotted(&points, curve.unwrap_or(0) as usize);
        }
    }

    /// Draws a mean at each position with its interval as a band.
    fn curve(
        &self,
        svg: &mut Svg,
        (factor, level): (Option<usize>, Option<u32>),
        cells: &[(Option<u32>, &Pooled)],
        along: &Along,
        (x, y): &(Axis, Axis),
    ) {
        let scale = self.scale();
        let color = level.unwrap_or(0) as usize;
        let points = cells.iter().filter_map(|(place, cell)| {
            let at = x.at(along.places[(*place)? as usize]);
            Some((at, *place, cell.summary?, cell.cells))
        });
        let mut points: Vec<_> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |value: f64| y.at(value / scale.factor);
        let upper = points.iter().map(|(x, _, one, _)| (*x, at(ends(one).1)));
        let lower = points
            .iter()
            .rev()
            .map(|(x, _, one, _)| (*x, at(ends(one).0)));
        svg.band(&upper.chain(lower).collect::<Vec<_>>(), color);
        let middle = points.iter().map(|(x, _, one, _)| (*x, at(one.mean)));
        let middle: Vec<(f64, f64)> = middle.collect();
        svg.path(&middle, color);
        for ((_, place, one, cells), at) in points.iter().zip(&middle) {
            let value = super::with_interval(one, scale);
            let label = self.level(along.factor, *place);
            let curve = factor.map_or(String::new(), |factor| self.level(factor, level));
            let title = format!("{label} {curve}: {value} {}", scale.unit);
            let (title, cells) = (title.as_str(), *cells);
            svg.dot(*at, color, Mark { title, cells });
        }
    }

    pub(super) fn level(&self, factor: usize, level: Option<u32>) -> String {
        format!(
            "{} {}",
            self.grid.scales[factor].name,
            self.grid.label(factor, level)
        )
    }

    /// Positions of the entries of a legend, and its height. An entry that does not fit begins a
    /// new line.
    fn legend_places(&self, curves: Option<usize>, wide: f64) -> (Vec<(f64, f64)>, f64) {
        let (mut x, mut y) = (8.0, 14.0);
        let Some(factor) = curves else {
            return (Vec::new(), 0.0);
        };
        let scale = &self.grid.scales[factor];
        x += 16.0 + 7.5 * scale.name.chars().count() as f64;
        let places = scale.labels.iter().map(|label| {
            let length = 48.0 + 7.2 * label.chars().count() as f64;
            if x + length > wide {
                (x, y) = (8.0, y + LEGEND_LINE);
            }
            let place = (x, y);
            x += length;
            place
        });
        let places: Vec<(f64, f64)> = places.collect();
        (places, y + 8.0)
    }

    fn legend(&self, svg: &mut Svg, curves: Option<usize>, places: &[(f64, f64)]) {
        let Some(factor) = curves else { return };
        let scale = &self.grid.scales[factor];
        svg.text(8.0, 14.0, "start", "head", &scale.name);
        for (color, (label, (x, y))) in scale.labels.iter().zip(places).enumerate() {
            svg.path(&[(*x, y - 4.0), (x + 22.0, y - 4.0)], color);
            svg.text(x + 28.0, *y, "start", "", label);
        }
    }

    /// Draws the frame of a panel; returns its axes.
    fn frame(
        &self,
        svg: &mut Svg,
        ((left, top), (wide, high), head): ((f64, f64), (f64, f64), f64),
        titles: &[String],
        along: &Along,
        pivot: &Pivot,
    ) -> (Axis, Axis) {
        let unit = self.scale();
        let summaries = pivot.cells.iter().flat_map(|(_, cells)| cells);
        let bounds = summaries
            .filter_map(|cell| cell.summary)
            .flat_map(|summary| {
                let (low, high) = ends(&summary);
                [low / unit.factor, high / unit.factor]
            });
        let means = pivot
            .cells
            .iter()
            .flat_map(|(_, cells)| cells)
            .filter_map(|cell| Some(cell.summary?.mean / unit.factor));
        let most = MOST_ABOVE * means.fold(0.0, f64::max);
        // An interval of two runs that differ would press all lines to the foot.
        let bounds: Vec<f64> = bounds.map(|value| value.min(most)).chain([0.0]).collect();
        let (begin, right, bottom) = (left + 70.0, left + wide - 20.0, top + high - 42.0);
        let x = Axis::new(&along.places, along.is_log, begin, right);
        let y = Axis::new(&bounds, false, bottom, top + head + 22.0);
        for (line, title) in titles.iter().enumerate() {
            let baseline = top + 14.0 + TITLE_LINE * line as f64;
            svg.text(
                left + 8.0,
                baseline,
                "start",
                "head",
                &fitting(title, wide - 16.0),
            );
        }
        for tick in y.ticks(5.0) {
            svg.line((begin, y.at(tick)), (right, y.at(tick)), "grid");
            svg.text(left + 64.0, y.at(tick) + 4.0, "end", "", &plain(tick));
        }
        let above = top + head + 12.0;
        svg.text(left + 8.0, above, "start", "", &self.metric_in(unit.unit));
        svg.line((begin, bottom), (right, bottom), "frame");
        let scale = &self.grid.scales[along.factor];
        let places = along.places.iter().map(|at| x.at(*at));
        let labels = places.zip(scale.labels.iter().map(String::as_str));
        labels_apart(svg, labels.collect(), bottom + 20.0);
        let middle = (begin + right) / 2.0;
        svg.text(middle, bottom + 37.0, "middle", "", &scale.name);
        (x, y)
    }

    /// Draws means over the two factors with the most levels.
    fn heat_map(&self, wide: f64) -> Option<Plot> {
        let mut factors = self.varying();
        let count = |factor: &usize| self.grid.scales[*factor].labels.len();
        factors.sort_by_key(|factor| std::cmp::Reverse(count(factor)));
        let (column, row) = (*factors.first()?, *factors.get(1)?);
        if count(&column) > 200 || count(&row) > 200 || count(&row) * count(&column) < 4 {
            return None;
        }
        let pivot = self.grid.pivot(&[row], Some(column));
        let scale = self.scale();
        let means = pivot
            .cells
            .iter()
            .flat_map(|(_, cells)| cells)
            .filter_map(|cell| cell.summary);
        let means: Vec<f64> = means.map(|summary| summary.mean).collect();
        let shade = Axis::new(&means, false, 0.0, 1.0);
        let labels = self.grid.scales[row].labels.iter();
        let longest = labels.map(|label| label.chars().count()).max()?;
        let left = (30.0 + 7.2 * longest as f64).max(90.0);
        let room = wide - left - 10.0;
        let size = (
            room / pivot.columns.len() as f64,
            (560.0 / pivot.cells.len() as f64).clamp(3.0, 30.0),
        );
        let high = size.1 * pivot.cells.len() as f64;
        let mut svg = Svg::new(wide, high + 74.0);
        svg.text(8.0, 16.0, "start", "head", &self.grid.scales[row].name);
        let mut last = f64::NEG_INFINITY;
        for (at, (levels, cells)) in pivot.cells.iter().enumerate() {
            let y = 26.0 + at as f64 * size.1;
            if y - last >= 12.0 {
                let middle = y + size.1 / 2.0 + 4.0;
                svg.text(
                    left - 8.0,
                    middle,
                    "end",
                    "",
                    self.grid.label(row, levels[0]),
                );
                last = y;
            }
            let row = self.level(row, levels[0]);
            for (place, (level, cell)) in pivot.columns.iter().zip(cells).enumerate() {
                let corner = (left + place as f64 * size.0, y);
                let name = format!("{row}, {}", self.level(column, *level));
                if let Some(summary) = &cell.summary {
                    let share = shade.at(summary.mean);
                    self.tile(
                        &mut svg,
                        (corner, size),
                        share,
                        &name,
                        (summary, cell.cells),
                    );
                }
            }
        }
        let centers = (0..pivot.columns.len()).map(|at| left + (at as f64 + 0.5) * size.0);
        let labels = pivot
            .columns
            .iter()
            .map(|level| self.grid.label(column, *level));
        labels_apart(&mut svg, centers.zip(labels).collect(), high + 44.0);
        let name = &self.grid.scales[column].name;
        svg.text(left + room / 2.0, high + 64.0, "middle", "head", name);
        let range = (
            means.iter().copied().fold(f64::INFINITY, f64::min),
            means.iter().copied().fold(0.0, f64::max),
        );
        let caption = format!(
            "{}: means, faint {} to solid {} {}.",
            self.metric(),
            scale.number(range.0),
            scale.number(range.1),
            scale.unit
        );
        Some(plot("heat", caption, &svg))
    }

    /// Draws a cell of a heat map, with its number if it fits.
    fn tile(
        &self,
        svg: &mut Svg,
        (corner, size): ((f64, f64), (f64, f64)),
        share: f64,
        name: &str,
        (summary, cells): (&Summary, (u64, usize)),
    ) {
        let scale = self.scale();
        let value = super::with_interval(summary, scale);
        let title = &*format!("{name}: {value} {}", scale.unit);
        svg.tile(
            corner,
            (size.0 - 1.0, size.1 - 1.0),
            share,
            Mark { title, cells },
        );
        if size.0 >= 42.0 && size.1 >= 15.0 {
            let middle = (corner.0 + size.0 / 2.0, corner.1 + size.1 / 2.0 + 4.0);
            // Text in both classes is legible on light and dark themes: a contrast of 3 or more.
            let class = if share < 0.78 {
                "value"
            } else {
                "value on-solid"
            };
            let number = scale.number(summary.mean);
            svg.text(middle.0, middle.1, "middle", class, &number);
        }
    }

    /// Draws distributions of all values, with a curve for each level of a factor.
    fn distributions(&self, wide: f64) -> Option<Plot> {
        let curves = self.curves(&self.varying());
        let scale = self.scale();
        let count = curves.map_or(1, |factor| self.grid.scales[factor].labels.len());
        let mut groups: Vec<Vec<f64>> = vec![Vec::new(); count];
        for arm in self.grid.arms.iter() {
            let level = match curves {
                Some(factor) => arm.levels[factor],
                None => Some(0),
            };
            let Some(level) = level else { continue };
            let values = arm.values.iter().filter(|value| value.is_finite());
            groups[level as usize].extend(values.map(|value| value / scale.factor));
        }
        let all: Vec<f64> = groups.iter().flatten().copied().collect();
        if all.len() < 10 {
            return None;
        }
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let (places, legend) = self.legend_places(curves, wide);
        let (begin, top, tall) = (50.0, legend + 12.0, legend + 338.0);
        let x = Axis::new(
            &all,
            low > 0.0 && high / low > 100.0,
            begin + 20.0,
            wide - 20.0,
        );
        let y = Axis::new(&[0.0, 1.0], false, tall - 46.0, top);
        let mut svg = Svg::new(wide, tall);
        self.legend(&mut svg, curves, &places);
        for tick in y.ticks(5.0) {
            svg.line((begin, y.at(tick)), (wide - 20.0, y.at(tick)), "grid");
            svg.text(begin - 6.0, y.at(tick) + 4.0, "end", "", &plain(tick));
        }
        for tick in x.ticks(wide / 110.0) {
            svg.line((x.at(tick), top), (x.at(tick), tall - 46.0), "grid");
            svg.text(x.at(tick), tall - 28.0, "middle", "", &plain(tick));
        }
        let name = self.metric_in(scale.unit);
        svg.text(wide / 2.0, tall - 8.0, "middle", "", &name);
        for (color, values) in groups.iter_mut().enumerate() {
            values.sort_by(f64::total_cmp);
            svg.path(&steps(values, &x, &y), color);
        }
        let caption = format!("{}: share of all values up to each.", self.metric());
        Some(plot("distribution", caption, &svg))
    }
}

fn has_values(pivot: &Pivot) -> bool {
    let mut cells = pivot.cells.iter().flat_map(|(_, cells)| cells);
    cells.any(|cell| cell.summary.is_some())
}

/// Shortens a name in bold letters to a width: first to its last part, then with an ellipsis.
pub(super) fn fitting(name: &str, wide: f64) -> String {
    let most = (wide / 7.4) as usize;
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let (key, level) = name.split_once(' ').unwrap_or((name, ""));
    let last = key.rsplit('.').next().unwrap_or(key);
    let short = format!("{last} {level}").trim_end().to_owned();
    if short.chars().count() <= most {
        return short;
    }
    short
        .chars()
        .take(most.saturating_sub(1))
        .chain(['\u{2026}'])
        .collect()
}

/// Draws labels at their positions, without those that would overlap the one before.
fn labels_apart(svg: &mut Svg, mut labels: Vec<(f64, &str)>, y: f64) {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut end = f64::NEG_INFINITY;
    for (at, label) in labels {
        let half = 3.6 * label.chars().count() as f64;
        if at - half > end + 6.0 {
            svg.text(at, y, "middle", "", label);
            end = at + half;
        }
    }
}

/// Steps of an empirical distribution, at most a thousand.
fn steps(sorted: &[f64], x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    const MOST: usize = 1_000;
    let stride = sorted.len().div_ceil(MOST).max(1);
    let count = sorted.len() as f64;
    let mut places = Vec::new();
    let mut below = 0.0;
    for (at, value) in sorted.iter().enumerate() {
        let is_last = at + 1 == sorted.len();
        if at % stride == 0 || is_last {
            let share = (at + 1) as f64 / count;
            places.push((x.at(*value), y.at(below)));
            places.push((x.at(*value), y.at(share)));
            below = share;
        }
    }
    places
}

pub(super) fn plot(name: &'static str, caption: String, svg: &Svg) -> Plot {
    Plot {
        name,
        element: svg.element(&caption),
        narrow: None,
        file: svg.file(&caption),
        caption,
    }
}

/// Formats a tick without insignificant digits.
pub(super) fn plain(value: f64) -> String {
    let scale = Scale {
        factor: 1.0,
        unit: "",
    };
    scale.number(value)
}
