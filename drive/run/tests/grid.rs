//! The cheap lines of the grid equal those in `docs/grid.txt`.
//!
//! A change of the engine's behavior on a path fails this test, and the difference of that file
//! shows its effect.

#[path = "../examples/figures/grid.rs"]
mod grid;
#[path = "../examples/figures/lab.rs"]
mod lab;

/// The grid, from `cargo xtask bench --grid`.
const KEPT: &str = include_str!("../../../docs/grid.txt");

/// Whether a line has few packets.
///
/// It has much loss, or large segments for a few seconds.
fn is_cheap(line: &grid::Line) -> bool {
    match line.loss {
        "1e-2" => true,
        "1e-3" => line.rtt_ms >= 100,
        "0" => line.mtu == 9000 && line.rtt_ms <= 10,
        _ => false,
    }
}

#[test]
fn the_cheap_lines_of_the_grid_come_out_as_they_are_kept() {
    assert!(KEPT.starts_with(&grid::heading()), "another heading");
    let mut lines = grid::lines();
    lines.retain(is_cheap);
    let came_out = grid::run(&lines, &[]).expect("plans that can be run");
    let missing: Vec<&String> = came_out
        .iter()
        .filter(|line| !KEPT.lines().any(|kept| kept == *line))
        .collect();
    assert!(
        missing.is_empty(),
        "not so in docs/grid.txt (if it is meant: cargo xtask bench --grid):\n{missing:#?}"
    );
}
