//! Handles signals that end a process in a separate thread.

#[cfg(unix)]
use std::fs;
use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Signals that a user or a batch system sends to end a process.
pub(crate) const USUAL: &[i32] = &[SIGINT, SIGTERM];

/// Every signal that ends a process and can be handled, those of a terminal that is closed or sends
/// `Ctrl-\\` included.
#[cfg(unix)]
pub(crate) const ALL: &[i32] = &[
    SIGINT,
    SIGTERM,
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGQUIT,
];
#[cfg(not(unix))]
pub(crate) const ALL: &[i32] = USUAL;

/// Starts a thread that calls `act` with the number of each of these signals. One that this process
/// was started to ignore, as SIGHUP by `nohup`, stays ignored.
///
/// # Errors
///
/// If the system refuses.
#[cfg(unix)]
pub(crate) fn hear(wanted: &[i32], mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    // A shell starts commands in the background with SIGINT ignored, and Ctrl-C was always heard.
    let is_heard = |signal: &&i32| USUAL.contains(signal) || ignored >> (**signal - 1) & 1 == 0;
    let mut signals = signal_hook::iterator::Signals::new(wanted.iter().filter(is_heard))?;
    thread::spawn(move || signals.forever().for_each(&mut act));
    Ok(())
}

/// The ignored signals of `/proc/self/status`, a bit each; none if that does not exist.
#[cfg(unix)]
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Starts a thread that calls `act` with the number of each of these signals.
///
/// # Errors
///
/// If the system refuses.
#[cfg(not(unix))]
pub(crate) fn hear(wanted: &[i32], mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    let signals: Vec<_> = wanted
        .iter()
        .map(|signal| (*signal, Arc::new(AtomicBool::new(false))))
        .collect();
    for (signal, came) in &signals {
        signal_hook::flag::register(*signal, came.clone())?;
    }
    // Signals do not wake a thread on this system, so it polls.
    thread::spawn(move || {
        loop {
            for (signal, came) in &signals {
                if came.swap(false, Ordering::SeqCst) {
                    act(*signal);
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_the_bits_of_the_kernels_mask() {
        use signal_hook::consts::{SIGHUP, SIGPIPE};
        let bit = |signal: i32| 1_u64 << (signal - 1);
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert_eq!(ignored(status), bit(SIGHUP) | bit(SIGPIPE));
        assert_eq!(ignored(""), 0);
    }
}
