//! Contrast of the colors of all pages, as WCAG 2.2 measures it: text 4.5 to 1 (1.4.3), lines and
//! marks 3 to 1 (1.4.11).

use std::collections::BTreeMap;

const LIGHT: &str = include_str!("../../assets/page.css");
const DARK: &str = include_str!("../../assets/dark.css");

/// Colors that a style sheet names.
fn colors(sheet: &str) -> BTreeMap<&str, f64> {
    let named = sheet.split("--").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(": #")?;
        Some((name, luminance(rest.get(..6)?)?))
    });
    named.collect()
}

/// Relative luminance of RRGGBB.
fn luminance(color: &str) -> Option<f64> {
    let linear = |place: usize| {
        let value = f64::from(u8::from_str_radix(color.get(place..place + 2)?, 16).ok()?) / 255.0;
        Some(match value <= 0.04045 {
            true => value / 12.92,
            false => ((value + 0.055) / 1.055).powf(2.4),
        })
    };
    Some(0.2126 * linear(0)? + 0.7152 * linear(2)? + 0.0722 * linear(4)?)
}

fn contrast(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn the_colors_of_both_themes_reach_the_contrast_of_wcag_aa() {
    let texts = [
        ("ink", "paper"),
        ("ink", "panel"),
        ("soft", "paper"),
        ("soft", "panel"),
        ("accent", "paper"),
        ("warn-ink", "warn-paper"),
        ("paper", "ink"),
    ];
    let lines = [
        "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "sent", "again", "late", "ack", "edge",
        "sack", "accent",
    ];
    for (theme, sheet) in [("light", LIGHT), ("dark", DARK)] {
        let colors = colors(sheet);
        let check = |one: &str, other: &str, least: f64| {
            let found = contrast(colors[one], colors[other]);
            assert!(found >= least, "{theme}: {one} on {other} has {found:.2}");
        };
        texts
            .iter()
            .for_each(|(text, ground)| check(text, ground, 4.5));
        lines.iter().for_each(|line| check(line, "paper", 3.0));
    }
}
