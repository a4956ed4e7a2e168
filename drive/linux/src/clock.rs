//! Monotonic clock, sleeping until an instant, and the kernel's tick.

use std::io;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::check;

fn read(clock: ClockId) -> i64 {
    let spec = clock_gettime(clock);
    spec.tv_sec * 1_000_000_000 + spec.tv_nsec
}

/// Converts a time of the kernel to nanoseconds.
pub fn nanos(spec: libc::timespec) -> i64 {
    spec.tv_sec * 1_000_000_000 + spec.tv_nsec
}

/// Monotonic clock in nanoseconds.
pub fn monotonic() -> i64 {
    read(ClockId::Monotonic)
}

/// Time of the kernel's last tick, by the monotonic clock.
pub fn last_tick() -> i64 {
    read(ClockId::MonotonicCoarse)
}

/// Clock of packet timestamps in nanoseconds.
pub fn realtime() -> i64 {
    read(ClockId::Realtime)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread() -> i64 {
    read(ClockId::ThreadCPUTime)
}

/// CPU time of the calling thread: user and system.
pub fn thread_split() -> (Duration, Duration) {
    split(libc::RUSAGE_THREAD)
}

/// CPU time of all threads of this process: user and system.
pub fn process_split() -> (Duration, Duration) {
    split(libc::RUSAGE_SELF)
}

fn split(of: libc::c_int) -> (Duration, Duration) {
    // SAFETY: `rusage` is integers; the kernel fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(of, &raw mut usage);
        usage
    };
    let span = |time: libc::timeval| {
        let micros = time.tv_sec * 1_000_000 + time.tv_usec;
        Duration::from_micros(micros.unsigned_abs())
    };
    (span(usage.ru_utime), span(usage.ru_stime))
}

/// Time that the calling thread was runnable but not running, since its start.
///
/// # Errors
/// If `/proc` is not mounted, or the kernel does not count it (`CONFIG_SCHED_INFO`).
pub fn thread_waited() -> io::Result<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let waited = text
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(Duration::from_nanos(waited))
}

/// Kernel's tick. The resolution of its coarse clock is one jiffy, and protocol timers run in
/// jiffies.
pub fn tick() -> Duration {
    let tick = rustix::time::clock_getres(ClockId::MonotonicCoarse);
    Duration::new(tick.tv_sec.unsigned_abs(), tick.tv_nsec as u32)
}

/// Sleeps until the monotonic clock shows `nanos`; returns immediately if that is past.
pub fn sleep_until(nanos: i64) {
    let at = Timespec {
        tv_sec: nanos.div_euclid(1_000_000_000),
        tv_nsec: nanos.rem_euclid(1_000_000_000),
    };
    let _ = retry_on_intr(|| clock_nanosleep_absolute(ClockId::Monotonic, &at));
}

/// Requests the finest timer resolution for wake-ups of the calling thread.
pub fn minimize_timer_slack() -> io::Result<()> {
    // SAFETY: plain integers.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) })?;
    Ok(())
}

/// Rank among threads with real-time priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rank {
    /// A host at the end of a path.
    Host,
    /// The path; its delays affect both hosts.
    Path,
}

/// Calls [`minimize_timer_slack`] and gives the thread real-time priority.
///
/// # Errors
/// The kernel's error if either is refused. Callers may ignore it: times are then as accurate as an
/// ordinary thread's.
pub fn request_realtime(rank: Rank) -> io::Result<()> {
    minimize_timer_slack()?;
    // SAFETY: plain integers.
    let lowest = check(unsafe { libc::sched_get_priority_min(libc::SCHED_RR) })?;
    schedule(libc::SCHED_RR, lowest + i32::from(rank == Rank::Path))
}

/// Calling thread to ordinary scheduling.
pub fn drop_realtime() -> io::Result<()> {
    schedule(libc::SCHED_OTHER, 0)
}

fn schedule(class: i32, priority: i32) -> io::Result<()> {
    // SAFETY: `sched_param` is integers; how many depends on the C library.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: `parameters` outlives the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, class, &raw const parameters) })?;
    Ok(())
}
