//! Handles Ctrl-C and SIGTERM in a separate thread.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Starts a thread that calls `act` with the number of each SIGINT and SIGTERM.
///
/// # Errors
///
/// If the system refuses.
#[cfg(unix)]
pub(crate) fn hear(mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || signals.forever().for_each(&mut act));
    Ok(())
}

/// Starts a thread that calls `act` with the number of each SIGINT and SIGTERM.
///
/// # Errors
///
/// If the system refuses.
#[cfg(not(unix))]
pub(crate) fn hear(mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    let signals = [SIGINT, SIGTERM].map(|signal| (signal, Arc::new(AtomicBool::new(false))));
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
