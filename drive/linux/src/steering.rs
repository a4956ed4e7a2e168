//! Which processors do the kernel's work on what an interface receives.
//!
//! Who writes a packet to a TUN device does in that very call what a network
//! card's interrupt would have begun: the receiving TCP, the acknowledgment,
//! and what the acknowledgment lets the sender send. With super-segments that is
//! little beside the copy. Without, it is most of what a packet costs, and all
//! of it falls to the one thread that carries packets. Receive packet steering
//! (Documentation/networking/scaling.rst of the kernel) leaves it to others.
//!
//! What the others have no time for waits in a queue of `netdev_max_backlog`
//! packets and is dropped beyond; the interface counts it among what it has
//! received and dropped.

use std::io;
use std::thread;

use crate::process;

/// Lets all processors this process may use work on what `name` receives, an
/// interface of the calling thread's namespace.
///
/// # Errors
/// What the system says: no such interface, or no privilege to mount the
/// `/sys` that shows it.
pub fn spread_receiving(name: &str) -> io::Result<()> {
    let mask = allowed_processors()?;
    let path = format!("/sys/class/net/{name}/queues/rx-0/rps_cpus");
    // The machine's `/sys` shows the machine's network. Namespaces of a thread end
    // with it: nobody else sees this one.
    thread::scope(|scope| {
        let named = thread::Builder::new().name("steering".into());
        let work = || {
            process::mount_own(c"sysfs", c"/sys")?;
            std::fs::write(&path, &mask)
        };
        let done = named.spawn_scoped(scope, work)?.join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// In the kernel's own form, which is that of `rps_cpus` too (`proc_pid_status(5)`).
fn allowed_processors() -> io::Result<String> {
    let status = std::fs::read_to_string("/proc/thread-self/status")?;
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("Cpus_allowed:"));
    let mask = mask.ok_or_else(|| io::Error::other("the kernel does not say Cpus_allowed"))?;
    Ok(mask.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;

    #[test]
    fn an_interface_of_a_namespace_is_steered_and_one_that_is_not_there_is_an_error() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => {
                assert!(error.is_missing_privilege(), "{error}");
                eprintln!("SKIPPED, NOTHING PROVEN: {error}");
                return;
            }
        };
        let before = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let [lo, absent] = namespace
            .run(|| ["lo", "absent0"].map(spread_receiving))
            .unwrap();
        assert_eq!(absent.unwrap_err().kind(), io::ErrorKind::NotFound);
        lo.unwrap();
        let after = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert_eq!(before, after, "nobody else sees the mount");
    }
}
