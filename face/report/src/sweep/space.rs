//! Plots of many factors at once: parallel coordinates, and a response surface.

use gigatcp_design::statistics::Summary;
use gigatcp_design::surface::{Numeric, Surface};

use super::SweepReport;
use super::plot::{Plot, fitting, plain, plot};
use super::svg::{Axis, Mark, Svg};

/// Maximum number of lines of parallel coordinates.
const MAX_LINES: usize = 1_000;

/// Maximum number of axes of parallel coordinates.
const MAX_AXES: usize = 10;

/// Number of tiles of a response surface along each axis.
const TILES: u32 = 40;

impl SweepReport<'_> {
    /// Draws a line for each cell over all factors to its mean. Requires three or more factors.
    pub(super) fn parallel(&self, wide: f64) -> Option<Plot> {
        let varying = self.varying();
        if varying.len() < 3 {
            return None;
        }
        let factors = &varying[..varying.len().min(MAX_AXES)];
        let scale = self.scale();
        let cells = self.grid.arms.iter().filter_map(|arm| {
            let mean = Summary::of(arm.values)?.mean / scale.factor;
            Some((arm, mean))
        });
        let mut cells: Vec<_> = cells.collect();
        let left_out = cells.len().saturating_sub(MAX_LINES);
        cells.truncate(MAX_LINES);
        let means: Vec<f64> = cells.iter().map(|(_, mean)| *mean).collect();
        if means.len() < 4 {
            return None;
        }
        // Names alternate between two rows, so that each has the room of two axes.
        let (tall, top, bottom) = (420.0, 46.0, 396.0);
        let margin = (wide * 0.06).max(16.0);
        let step = (wide - 2.0 * margin - 44.0) / factors.len() as f64;
        let x = |axis: usize| margin + step * axis as f64;
        let value = Axis::new(&means, false, bottom, top);
        let shade = Axis::new(&means, false, 0.0, 1.0);
        let mut svg = Svg::new(wide, tall);
        let axes: Vec<Axis> = factors
            .iter()
            .map(|factor| self.vertical(*factor, bottom, top))
            .collect();
        // The largest means are drawn last, on top.
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        for (arm, mean) in &cells {
            let places = factors.iter().zip(&axes).enumerate();
            let places = places.filter_map(|(at, (factor, axis))| {
                let level = arm.levels[*factor]?;
                Some((x(at), axis.at(self.height(*factor, level))))
            });
            let end = (x(factors.len()), value.at(*mean));
            let line: Vec<(f64, f64)> = places.chain([end]).collect();
            let levels = factors
                .iter()
                .map(|factor| self.level(*factor, arm.levels[*factor]));
            let levels = levels.collect::<Vec<_>>().join(", ");
            let title = format!(
                "{levels}: {} {}",
                scale.number(mean * scale.factor),
                scale.unit
            );
            let (title, cells) = (title.as_str(), (arm.cell, 1));
            svg.shaded_path(&line, shade.at(*mean), Mark { title, cells });
        }
        for (at, (factor, axis)) in factors.iter().zip(&axes).enumerate() {
            self.upright(&mut svg, *factor, axis, (x(at), top, bottom), (at, step));
        }
        let place = (x(factors.len()), wide, (top, bottom));
        self.result_axis(&mut svg, &value, place, (factors.len(), step));
        let mut caption = format!(
            "Each line is a cell: its levels and its mean {}, faint where it is small.",
            self.grid.metric
        );
        if left_out > 0 {
            caption.push_str(&format!(" {left_out} cells are left out."));
        }
        if varying.len() > MAX_AXES {
            caption.push_str(&format!(
                " {} factors are left out.",
                varying.len() - MAX_AXES
            ));
        }
        Some(plot("parallel", caption, &svg))
    }

    /// Draws the axis of the means, at the right.
    fn result_axis(
        &self,
        svg: &mut Svg,
        value: &Axis,
        (at, wide, (top, bottom)): (f64, f64, (f64, f64)),
        (number, step): (usize, f64),
    ) {
        let scale = self.scale();
        svg.line((at, top), (at, bottom), "frame");
        let row = 14.0 * (number % 2) as f64;
        let name = format!("{} {}", self.grid.metric, scale.unit);
        svg.text(
            wide - 2.0,
            16.0 + row,
            "end",
            "head",
            &fitting(&name, 1.6 * step),
        );
        for tick in value.ticks(6.0) {
            svg.text(at + 6.0, value.at(tick) + 4.0, "start", "", &plain(tick));
        }
    }

    /// Draws an axis of parallel coordinates with its levels; names alternate between two rows.
    fn upright(
        &self,
        svg: &mut Svg,
        factor: usize,
        axis: &Axis,
        (x, top, bottom): (f64, f64, f64),
        (number, step): (usize, f64),
    ) {
        let scale = &self.grid.scales[factor];
        svg.line((x, top), (x, bottom), "frame");
        let name = fitting(&scale.name, 1.8 * step);
        let row = 16.0 + 14.0 * (number % 2) as f64;
        match number {
            0 => svg.text(2.0, row, "start", "head", &name),
            _ => svg.text(x, row, "middle", "head", &name),
        }
        let mut last = f64::INFINITY;
        for (level, label) in scale.labels.iter().enumerate() {
            let y = axis.at(self.height(factor, level as u32));
            if (last - y).abs() >= 13.0 {
                svg.text(x + 5.0, y + 4.0, "start", "", label);
                last = y;
            }
        }
    }

    /// Returns the height of a level along its axis. It is its number, or its index among the
    /// levels.
    fn height(&self, factor: usize, level: u32) -> f64 {
        match Numeric::of(factor, &self.grid.scales[factor]) {
            Some(numeric) => numeric.places[level as usize],
            None => f64::from(level),
        }
    }

    fn vertical(&self, factor: usize, bottom: f64, top: f64) -> Axis {
        let scale = &self.grid.scales[factor];
        match Numeric::of(factor, scale) {
            Some(numeric) => Axis::new(&numeric.places, numeric.is_log, bottom, top),
            None => {
                let places: Vec<f64> = (0..scale.labels.len()).map(|at| at as f64).collect();
                Axis::new(&places, false, bottom, top)
            }
        }
    }

    /// Draws the fitted quadratic over the two factors with the largest effect. The others are at
    /// their middle.
    pub(super) fn surface(&self, wide: f64) -> Option<Plot> {
        let surface = Surface::fit(self.grid)?;
        let scale = self.scale();
        let middle = vec![0.0; surface.factors.len()];
        let coded = |tile: u32| (f64::from(tile) + 0.5) / f64::from(TILES) * 2.0 - 1.0;
        let value = |column: u32, row: u32| {
            let mut at = middle.clone();
            (at[0], at[1]) = (coded(column), coded(row));
            surface.at(&at)
        };
        let fitted: Vec<f64> = (0..TILES)
            .flat_map(|row| (0..TILES).map(move |column| (column, row)))
            .map(|(column, row)| value(column, row))
            .collect();
        // No column has values below zero.
        let below = fitted.iter().filter(|value| **value < 0.0).count();
        let all: Vec<f64> = fitted.iter().map(|value| value.max(0.0)).collect();
        let shade = Axis::new(&all, false, 0.0, 1.0);
        let (left, top) = (if wide < 400.0 { 70.0 } else { 110.0 }, 34.0);
        let sides = (wide - left - 40.0, (wide - left - 40.0).min(420.0));
        let mut svg = Svg::new(wide, top + sides.1 + 60.0);
        let size = (sides.0 / f64::from(TILES), sides.1 / f64::from(TILES));
        let [across, up] = [&surface.factors[0], &surface.factors[1]];
        let names = [across, up].map(|one| self.grid.scales[one.factor].name.as_str());
        for (number, mean) in all.iter().enumerate() {
            let (column, row) = (number as u32 % TILES, number as u32 / TILES);
            let corner = (
                left + f64::from(column) * size.0,
                top + sides.1 - f64::from(row + 1) * size.1,
            );
            let title = format!(
                "{} {}, {} {}: {} {}",
                names[0],
                plain(across.place(coded(column))),
                names[1],
                plain(up.place(coded(row))),
                scale.number(*mean),
                scale.unit
            );
            let (title, cells) = (title.as_str(), (0, 0));
            let mark = Mark { title, cells };
            svg.tile(corner, (size.0 + 0.3, size.1 + 0.3), shade.at(*mean), mark);
        }
        self.surface_labels(&mut svg, [across, up], (left, top), sides);
        let ends = all
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, one| {
                (ends.0.min(*one), ends.1.max(*one))
            });
        let rest = match surface.factors.len() {
            2 => String::new(),
            more => format!(" Of {} other factors the middle is shown.", more - 2),
        };
        let clamped = match below {
            0 => String::new(),
            _ => format!(
                " Where the quadratic is below zero ({:.0} % of the plot), zero is shown.",
                100.0 * below as f64 / fitted.len() as f64
            ),
        };
        let of = match surface.is_log {
            true => ["the logarithm of ", "logarithms of the "],
            false => ["", ""],
        };
        let caption = format!(
            "Quadratic response surface of {}{}: faint {} to solid {} {}. It explains {:.0} % of \
             the variance of the {}means (R², {} degrees of freedom are left).{clamped}{rest}",
            of[0],
            self.grid.metric,
            scale.number(ends.0),
            scale.number(ends.1),
            scale.unit,
            100.0 * surface.r_squared,
            of[1],
            surface.degrees_of_freedom
        );
        Some(plot("surface", caption, &svg))
    }

    /// Labels of the two axes of a response surface.
    fn surface_labels(
        &self,
        svg: &mut Svg,
        [across, up]: [&Numeric; 2],
        (left, top): (f64, f64),
        (side, high): (f64, f64),
    ) {
        let [below, beyond] = [across, up].map(|one| &self.grid.scales[one.factor]);
        let x = Axis::new(&across.places, across.is_log, left, left + side);
        let mut end = f64::NEG_INFINITY;
        for (place, label) in across.places.iter().zip(&below.labels) {
            let half = 3.6 * label.chars().count() as f64;
            if x.at(*place) - half > end + 6.0 {
                svg.text(x.at(*place), top + high + 18.0, "middle", "", label);
                end = x.at(*place) + half;
            }
        }
        let middle = left + side / 2.0;
        svg.text(middle, top + high + 40.0, "middle", "head", &below.name);
        let y = Axis::new(&up.places, up.is_log, top + high, top);
        let mut last = f64::INFINITY;
        for (place, label) in up.places.iter().zip(&beyond.labels) {
            if (last - y.at(*place)).abs() >= 13.0 {
                svg.text(left - 6.0, y.at(*place) + 4.0, "end", "", label);
                last = y.at(*place);
            }
        }
        svg.text(8.0, 14.0, "start", "head", &beyond.name);
    }
}
