//! Processors that do not fall asleep.
//!
//! A processor without work halts; until it is there again when something comes
//! takes microseconds on a machine of one's own, and 40 us to several
//! milliseconds in a virtual one, where halting gives the processor back to the
//! host. Whoever keeps `/dev/cpu_dma_latency` open and has written a number there
//! asks that no processor takes longer than so many microseconds to wake up
//! (the kernel's `Documentation/power/pm_qos_interface.rst`); that ends with the
//! descriptor, however the process ends. It takes root.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};

/// Long enough for the lightest sleep of a processor (C1), short enough to rule
/// out all others.
const LIGHT_SLEEP_US: i32 = 2;
/// No sleep at all: what a virtual processor calls light is to halt.
const NO_SLEEP_US: i32 = 0;

const REQUEST: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// A request that no processor sleeps deeply; it stands as long as this value.
#[derive(Debug)]
pub struct Wakefulness(#[expect(dead_code, reason = "it stands as long as this is open")] File);

impl Wakefulness {
    /// Asks for it.
    ///
    /// # Errors
    /// That it takes root, or that this kernel has no say in how its processors
    /// sleep.
    pub fn ask() -> io::Result<Self> {
        let driver = fs::read_to_string(DRIVER)?;
        let longest = longest_wake_up(driver.trim()).ok_or(io::ErrorKind::Unsupported)?;
        let mut request = OpenOptions::new().write(true).open(REQUEST)?;
        request.write_all(&longest.to_ne_bytes())?;
        Ok(Self(request))
    }
}

/// What to ask for, in microseconds, where `driver` puts processors to sleep;
/// nothing where none does that could be asked.
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
        match Wakefulness::ask() {
            Ok(held) => drop(held),
            Err(refused) => assert!(!refused.to_string().is_empty()),
        }
    }
}
