//! Who does the kernel's work on what an interface receives.
//!
//! Who writes a packet to a TUN device does in that very call what a network
//! card's interrupt would have begun: the receiving TCP, the acknowledgment,
//! and what the acknowledgment lets the sender send. With super-segments that is
//! little compared with the copy. Without, it is most of what a packet costs, and all
//! of it falls to the one thread that carries packets. A device that queues what
//! is written to it ([`crate::device::Reception::Queued`]) leaves it to a thread of
//! the kernel's own (Documentation/networking/napi.rst of the kernel, "Threaded
//! NAPI"), which has another processor and joins what it finds waiting, as it
//! would behind a network card. Kernels before 5.12 have no such thread: there
//! receive packet steering (Documentation/networking/scaling.rst) leaves the
//! work to all processors, packet by packet.
//!
//! What steered packets find no time waits in a queue of `netdev_max_backlog`
//! packets and is dropped beyond; the interface counts it among what it has
//! received and dropped.

use std::io;
use std::thread;

use crate::process;

/// Moves the work on packets received by `name`, an interface of the calling thread's namespace,
/// away from the thread that writes them.
///
/// # Errors
/// What the system says: no such interface, or no privilege to mount the
/// `/sys` that shows it.
pub fn receive_elsewhere(name: &str) -> io::Result<()> {
    let mask = allowed_processors()?;
    let settings = [("threaded", "1"), ("queues/rx-0/rps_cpus", &mask)]
        .map(|(file, value)| (format!("/sys/class/net/{name}/{file}"), value));
    // The machine's `/sys` shows the machine's network. Namespaces of a thread end
    // with it: no other thread sees this one.
    thread::scope(|scope| {
        let named = thread::Builder::new().name("steering".into());
        let work = || {
            process::mount_own(c"sysfs", c"/sys")?;
            let [threaded, steered] = &settings;
            std::fs::write(&threaded.0, threaded.1)
                .or_else(|_| std::fs::write(&steered.0, steered.1))
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
    use crate::proven::unless_forbidden;

    #[test]
    fn an_interface_of_a_namespace_is_steered_and_one_that_is_not_there_is_an_error() {
        let Some(namespace) = unless_forbidden(Namespace::new()) else {
            return;
        };
        let before = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let [lo, absent] = namespace
            .run(|| ["lo", "absent0"].map(receive_elsewhere))
            .unwrap();
        assert_eq!(absent.unwrap_err().kind(), io::ErrorKind::NotFound);
        lo.unwrap();
        let after = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert_eq!(before, after, "nobody else sees the mount");
    }
}
