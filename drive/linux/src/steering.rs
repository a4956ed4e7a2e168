//! Moves the kernel's processing of received packets off the thread that writes them.
//!
//! A thread that writes a packet to a TUN device also does the work of a network card's interrupt
//! in that call. The work is the receiving TCP, the ACK, and the sending that the ACK releases.
//! With super-segments that is little compared with the copy. Without them, it is most of the cost
//! of a packet, all on the one thread that carries packets. A device that queues written packets
//! ([`crate::device::Reception::Queued`]) leaves it to a kernel thread
//! (Documentation/networking/napi.rst of the kernel, "Threaded NAPI"). That thread has another CPU
//! and joins waiting packets, as behind a network card. Kernels before 5.12 have no such thread.
//! There, receive packet steering (Documentation/networking/scaling.rst) distributes the work over
//! all CPUs, packet by packet.
//!
//! Steered packets wait in a queue of `netdev_max_backlog` packets and are dropped beyond it. The
//! interface counts them as received and dropped.

use std::io;
use std::thread;

use crate::process;

/// Moves the processing of packets received by `name` off the thread that writes them. `name` is an
/// interface of the calling thread's namespace.
///
/// # Errors
/// The system's error: no such interface, or no privilege to mount the `/sys` that shows it.
pub fn receive_elsewhere(name: &str) -> io::Result<()> {
    let mask = allowed_processors()?;
    let settings = [("threaded", "1"), ("queues/rx-0/rps_cpus", &mask)]
        .map(|(file, value)| (format!("/sys/class/net/{name}/{file}"), value));
    // The machine's `/sys` shows the machine's network. Namespaces of a thread end with it, so no
    // other thread sees this mount.
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

/// CPU mask in the kernel's form, which is also that of `rps_cpus` (`proc_pid_status(5)`).
fn allowed_processors() -> io::Result<String> {
    let status = std::fs::read_to_string("/proc/thread-self/status")?;
    let mut lines = status.lines();
    let mask = lines
        .find_map(|line| line.strip_prefix("Cpus_allowed:"))
        .ok_or_else(|| io::Error::other("the kernel does not say Cpus_allowed"))?;
    Ok(mask.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;
    use crate::skip::or_skip;

    #[test]
    fn an_interface_of_a_namespace_is_steered_and_one_that_is_not_there_is_an_error() {
        let Some(namespace) = or_skip(Namespace::new()) else {
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
