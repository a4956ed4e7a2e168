//! A boot changes only the windows that are limited by the CPU (E20).

use crate::Experiment;

fn mbps(window: &str, cost: &str) -> f64 {
    let window = format!("flow.window={window}");
    let cost = format!("sender.cpu.per_packet_sent={cost}");
    let found = Experiment::run_short("boots", &[], &[&window, &cost]);
    found.records[0].flows[0].goodput_bps / 1e6
}

/// Expected rate: 4096 bytes over the cost of a packet, less slow start (4 %) and steal time (1 %).
#[test]
fn a_boot_moves_windows_that_the_processor_limits_alike() {
    for (cost, us) in [("148 us", 148.0), ("161 us", 161.0)] {
        let rates = ["2 MiB", "8 MiB"].map(|window| mbps(window, cost));
        assert!((rates[0] - rates[1]).abs() < 0.1, "{rates:?}");
        let share = rates[0] * us / 32_768.0;
        assert!((0.93..0.97).contains(&share), "{cost}: {share:.4}");
    }
}

#[test]
fn a_boot_does_not_move_the_window_that_limits_by_itself() {
    let [fast, slow] = ["148 us", "161 us"].map(|cost| mbps("512 KiB", cost));
    assert!((0.0..0.5).contains(&(fast - slow)), "{fast} {slow}");
}
