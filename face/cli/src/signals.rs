//! Ctrl-C and SIGTERM, heard in a thread of their own.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Begins to hear Ctrl-C and SIGTERM: `act` is called with the number of each.
///
/// # Errors
/// If the system refuses.
#[cfg(unix)]
pub(crate) fn hear(mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || signals.forever().for_each(&mut act));
    Ok(())
}

/// Begins to hear Ctrl-C and SIGTERM: `act` is called with the number of each.
///
/// # Errors
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
    // This system wakes no thread for a signal.
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
