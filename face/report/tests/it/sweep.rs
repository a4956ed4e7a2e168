//! Tables and plots of sweeps, from values that are known.

use gigatcp_plan::design::grid::{Arm, Grid, Scale};
use gigatcp_report::sweep::{self, SweepReport, View};

fn scale(name: &str, labels: &[&str]) -> Scale {
    Scale {
        name: name.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
    }
}

/// Goodput of 3 RTTs, 2 controls and 4 seeds: 90 Mbit/s minus the RTT. Reno has 10 less; each seed
/// adds 1.
fn grid() -> Grid {
    let mut arms = Vec::new();
    for (rtt, loss) in [(0, 10.0), (1, 20.0), (2, 40.0)] {
        for control in 0..2 {
            let base = 90.0 - loss - 10.0 * f64::from(control);
            let values = (0..4).map(|seed| (base + f64::from(seed)) * 1e6);
            arms.push(Arm {
                cell: arms.len() as u64,
                levels: vec![Some(rtt), Some(control)],
                values: values.collect(),
                failures: 0,
            });
        }
    }
    Grid {
        metric: "goodput_bps".to_owned(),
        scales: vec![
            scale("path.rtt", &["10 ms", "20 ms", "40 ms"]),
            scale("flow.congestion_control", &["cubic", "<reno>"]),
        ],
        arms: arms.into_iter().collect(),
    }
}

/// The grid with other cells.
fn changed(grid: Grid, change: impl FnOnce(&mut Vec<Arm>)) -> Grid {
    let mut arms: Vec<Arm> = grid.arms.iter().map(Arm::from).collect();
    change(&mut arms);
    Grid {
        arms: arms.into_iter().collect(),
        ..grid
    }
}

fn report(grid: &Grid) -> SweepReport<'_> {
    SweepReport {
        name: "two",
        title: "Two controls",
        grid,
        theory: None,
        unit: "bit/s",
        meaning: "sum of the goodput of all flows",
        missing: 0,
        batches: (4, 1),
        draws: &[],
    }
}

#[test]
fn a_table_has_means_intervals_effects_and_paired_differences() {
    let grid = grid();
    let view = View {
        compare: Some(1),
        ..View::default()
    };
    // Sums of squares are 3733, 600 and 30. Four values one apart: deviation 1.291, and t of three degrees of freedom 3.182.
    let expected = "\
Highest goodput: 81.50 ± 2.05 Mbit/s with path.rtt 10 ms,
flow.congestion_control cubic. Lowest: 41.50 ± 2.05 Mbit/s with path.rtt 40 ms,
flow.congestion_control <reno>. path.rtt explains 85.6 % of the variance

two: Two controls
axes: path.rtt (3 levels), flow.congestion_control (2 levels)
6 cells, 24 runs

goodput_bps in Mbit/s, mean ± half the 95 % confidence interval (sum of the goodput of all flows)
columns: flow.congestion_control
path.rtt         cubic        <reno>
10 ms     81.50 ± 2.05  71.50 ± 2.05
20 ms     71.50 ± 2.05  61.50 ± 2.05
40 ms     51.50 ± 2.05  41.50 ± 2.05

goodput_bps by flow.congestion_control, paired by cell and seed: difference to `cubic` ± half the 95 % confidence interval
<reno>  -10.00 ± 0.00 Mbit/s  n 12  bootstrap -10.00 to -10.00

share of the variance of all values
path.rtt                            85.6 %  p < 0.001
flow.congestion_control             13.8 %  p < 0.001  -10.00 ± 0.00 Mbit/s (<reno> less cubic)
path.rtt x flow.congestion_control   0.0 %    p 1.000
more than two factors together       0.0 %
repetitions within cells             0.7 %
";
    assert_eq!(report(&grid).text(&view), expected);
}

#[test]
fn failures_and_missing_runs_are_said_and_effects_are_not_made_up() {
    let grid = changed(grid(), |arms| {
        arms[0].values[2] = f64::NAN;
        arms[0].failures = 1;
        arms[5].values = vec![f64::NAN; 4];
        arms[5].failures = 4;
    });
    let report = SweepReport {
        missing: 3,
        ..report(&grid)
    };
    let text = report
        .text(&View::default())
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for said in [
        "6 cells, 24 runs, 5 failed, 3 not run yet",
        "(1 failed)",
        "40 ms 51.50 ± 2.05 failed",
        "no effects: combinations of levels are missing",
    ] {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
}

#[test]
fn rows_of_one_axis_leave_the_other_to_the_columns() {
    let grid = grid();
    let view = View {
        rows: vec![1],
        ..View::default()
    };
    let text = report(&grid).text(&view);
    assert!(
        text.contains("flow.congestion_control         10 ms"),
        "{text}"
    );
}

#[test]
fn numbers_have_four_digits_and_the_largest_unit_that_fits() {
    let scale = |unit, largest| sweep::Scale::of(unit, largest);
    assert_eq!(scale("bit/s", 2.5e9).number(1.5e8), "0.1500");
    assert_eq!(scale("bit/s", 2.5e9).unit, "Gbit/s");
    assert_eq!(scale("ns", 2e6).number(1_234_567.0), "1.235");
    assert_eq!(scale("", 100.0).number(12.5), "12.5");
    assert_eq!(scale("packets", 1e6).number(123_456.0), "123456");
    assert_eq!(scale("", 1.0).number(f64::NAN), "-");
}

#[test]
fn plots_show_every_mean_and_a_page_needs_no_network() {
    let grid = grid();
    let report = report(&grid);
    let plots = report.plots();
    let names: Vec<&str> = plots.iter().map(|plot| plot.name).collect();
    assert_eq!(names, ["lines", "heat", "distribution"]);
    for plot in &plots[..2] {
        for mean in ["81.50", "71.50", "61.50", "51.50", "41.50"] {
            assert!(
                plot.element.contains(mean),
                "{mean} is not in {}",
                plot.name
            );
        }
        assert!(plot.file.starts_with("<svg xmlns=") && plot.file.ends_with("</svg>\n"));
        assert!(!plot.file.contains("var("), "{}", plot.name);
    }
    let one = "gigatcp show runs/two --cell";
    let page = report.page(&View::default(), "gigatcp sweep two.toml", one);
    assert!(page.contains("&lt;reno&gt;") && !page.contains("<reno>"));
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(page.contains("data-command=\"gigatcp show runs/two --cell \""));
    // Every mean is a dot, a tile, both again for narrow screens, and a row; each refers to a cell.
    for cell in 0..6 {
        let mark = format!("data-cell=\"{cell}\" data-cells=\"1\"");
        assert_eq!(page.matches(&mark).count(), 5, "{mark}");
    }
    assert!(page.contains(
        "<h1 class=\"sentence\">Highest goodput: 81.50 ± 2.05 Mbit/s with path.rtt 10 ms, \
         flow.congestion_control cubic. Lowest: 41.50 ± 2.05 Mbit/s with path.rtt 40 ms, \
         flow.congestion_control &lt;reno&gt;. path.rtt explains 85.6 % of the variance</h1>"
    ));
}

#[test]
fn a_band_does_not_go_below_zero_where_no_value_does_and_a_legend_stays_inside() {
    // The interval of such values is ten times their mean.
    let mut grid = changed(grid(), |arms| {
        arms.iter_mut().for_each(|arm| arm.values = vec![0.0, 2e6]);
    });
    let labels = (0..8).map(|number| format!("a control with a long name {number}"));
    grid.scales[1].labels = labels.collect();
    let plots = report(&grid).plots();
    let lines = plots.iter().find(|plot| plot.name == "lines").unwrap();
    assert!(
        !lines.file.contains(">-"),
        "no label is below zero: {}",
        lines.file
    );
    // The lowest value lies on the axis, which is a line of the class `frame`.
    let number = |text: &str, name: &str| -> f64 {
        let value = text.split(&format!("{name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    };
    let frame = lines.file.split("class=\"frame\"").next().unwrap();
    let axis = number(frame.rsplit("<line").next().unwrap(), "y1");
    let band = lines.file.split("<polygon points=\"").nth(1).unwrap();
    let places = band.split('"').next().unwrap().split([' ', ',']);
    let lowest = places.skip(1).step_by(2).map(|y| y.parse::<f64>().unwrap());
    assert_eq!(lowest.fold(0.0, f64::max), axis);
    let narrow = lines.narrow.as_ref().unwrap();
    for (drawn, wide) in [(&lines.element, 1180.0), (narrow, 328.0)] {
        let texts = drawn
            .split("<text ")
            .filter(|text| text.contains(">a control"));
        let ends = texts.map(|text| number(text, "x") + 7.0 * 28.0);
        let ends: Vec<f64> = ends.collect();
        assert_eq!(ends.len(), 8);
        assert!(ends.iter().all(|end| *end <= wide), "{ends:?} in {wide}");
    }
}

/// Goodput of 3 RTTs, 3 rates and 2 controls: a quadratic in RTT and rate.
fn wide_grid() -> Grid {
    let mut arms = Vec::new();
    for (rtt, a) in (0..3).zip([-1.0, 0.0, 1.0]) {
        for (rate, b) in (0..3).zip([-1.0, 0.0, 1.0]) {
            for control in 0..2 {
                let value = 50.0 + 20.0 * a - 5.0 * b + 3.0 * a * b;
                arms.push(Arm {
                    cell: arms.len() as u64,
                    levels: vec![Some(rtt), Some(rate), Some(control)],
                    values: vec![value * 1e6],
                    failures: 0,
                });
            }
        }
    }
    Grid {
        metric: "goodput_bps".to_owned(),
        scales: vec![
            scale("path.rtt", &["10 ms", "20 ms", "30 ms"]),
            scale("path.rate", &["1 Mbit/s", "10 Mbit/s", "100 Mbit/s"]),
            scale("flow.congestion_control", &["cubic", "<reno>"]),
        ],
        arms: arms.into_iter().collect(),
    }
}

#[test]
fn captions_do_not_depend_on_the_color_scheme() {
    for plot in report(&wide_grid()).plots() {
        for word in ["light", "dark"] {
            assert!(!plot.caption.contains(word), "{}", plot.caption);
        }
    }
}

#[test]
fn batches_have_their_variances_and_what_each_drew() {
    let grid = changed(grid(), |arms| {
        arms.truncate(1);
        // Two batches of two: within 2, between (200 - 2) / 2.
        let values = [100.0, 102.0, 114.0, 116.0];
        arms[0].values = values.map(|value| value * 1e6).to_vec();
    });
    let draws = ["k=1 us", "k=2 us"].map(str::to_owned);
    let report = SweepReport {
        batches: (2, 2),
        draws: &draws,
        ..report(&grid)
    };
    let text = report
        .text(&View::default())
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for said in [
        "2 batches of 2: mean of the batches, standard deviation within and between",
        "108.0 ± 88.9 within 1.414 between 9.849 98.0 % p 0.010",
        "batch 0 k=1 us batch 1 k=2 us",
    ] {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
}
