//! Keeps CPUs out of deep idle states.
//!
//! A CPU without work halts. Waking it up takes microseconds on physical hardware, and 40 us to
//! several milliseconds in a virtual machine, where halting gives the CPU back to the host. A
//! process that keeps `/dev/cpu_dma_latency` open and has written a number there requests that no
//! CPU takes longer than this many microseconds to wake up (the kernel's
//! `Documentation/power/pm_qos_interface.rst`). The request ends with the descriptor, however the
//! process ends. It requires root.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

/// Wake-up latency that allows only the lightest idle state of a CPU (C1), in microseconds.
const LIGHT_SLEEP_US: i32 = 2;
/// Forbids idle states: the lightest one of a virtual CPU is a halt.
const NO_SLEEP_US: i32 = 0;

const REQUEST: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// A request that no CPU enters a deep idle state; valid until dropped.
#[derive(Debug)]
pub struct CpuLatencyRequest(
    #[expect(dead_code, reason = "it stands as long as this is open")] File,
);

impl CpuLatencyRequest {
    /// Makes the request.
    ///
    /// # Errors
    /// If the process lacks root, or this kernel does not control the idle states of its CPUs.
    pub fn ask() -> io::Result<Self> {
        let driver = fs::read_to_string(DRIVER)?;
        let longest = longest_wake_up(driver.trim()).ok_or(io::ErrorKind::Unsupported)?;
        let mut request = OpenOptions::new().write(true).open(REQUEST)?;
        request.write_all(&longest.to_ne_bytes())?;
        Ok(Self(request))
    }
}

/// Latency to request, in microseconds, if `driver` controls the idle states. `None` if the driver
/// does not accept requests.
fn longest_wake_up(driver: &str) -> Option<i32> {
    match driver {
        "" | "none" => None,
        "haltpoll" => Some(NO_SLEEP_US),
        _ => Some(LIGHT_SLEEP_US),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halting_is_ruled_out_where_it_is_the_only_sleep() {
        assert_eq!(longest_wake_up("haltpoll"), Some(0));
        assert_eq!(longest_wake_up("intel_idle"), Some(2));
        assert_eq!(longest_wake_up("none"), None);
    }

    #[test]
    fn it_is_granted_or_refused_with_a_reason() {
        match CpuLatencyRequest::ask() {
            Ok(held) => drop(held),
            Err(refused) => assert!(!refused.to_string().is_empty()),
        }
    }
}
