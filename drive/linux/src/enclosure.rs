//! Processes that end with us, whatever they start and however we end.
//!
//! Who starts a program inside a network namespace and is killed leaves the
//! program behind, and with it the namespace; what the program has started in
//! turn nobody knows any more. A process namespace (`pid_namespaces(7)`) knows:
//! when its first process ends, the kernel kills all others, children of
//! children included. That first process is the *keeper* of this file. It does
//! nothing but wait for the end of a pipe that we alone hold open, so it ends
//! when we do, `kill -9` included; a later run finds nothing to remove.
//!
//! Inside, processes have other numbers. Where the system allows they also get
//! a `/proc` of their own, which shows those; where it does not they see that
//! of the machine.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use crate::{LabError, Step, check, own};

/// See the module's own text. Dropped, it ends all processes inside and waits
/// until they are gone.
#[derive(Debug)]
pub struct Enclosure {
    keeper: libc::pid_t,
    /// The end of the pipe by which the keeper knows that we are alive.
    alive: Option<OwnedFd>,
    /// The kernel keeps which namespace children belong to for each thread.
    on_this_thread: PhantomData<*const ()>,
}

impl Enclosure {
    /// An empty one. All processes that the calling *thread* starts from now on
    /// are inside, so it had better be a thread of its own.
    ///
    /// # Errors
    /// [`LabError`], with what is missing.
    pub fn new() -> Result<Self, LabError> {
        let failed = |cause| LabError::new(Step::ProcessNamespace, cause);
        // SAFETY: plain integers; only children of the calling thread are
        // moved.
        check(unsafe { libc::unshare(libc::CLONE_NEWPID) }).map_err(failed)?;
        let [end, alive] = pipe().map_err(failed)?;
        // SAFETY: the child calls system calls alone, never returns, and needs
        // nothing that another thread could have been changing.
        let keeper = check(unsafe { libc::fork() }).map_err(failed)?;
        if keeper == 0 {
            keep(end.as_raw_fd());
        }
        Ok(Self {
            keeper,
            alive: Some(alive),
            on_this_thread: PhantomData,
        })
    }

    /// Starts `command` inside, in the network namespace `network`.
    ///
    /// # Errors
    /// What the system says: no such program, or no privilege.
    pub fn start(&self, mut command: Command, network: BorrowedFd<'_>) -> io::Result<Child> {
        let network = network.as_raw_fd();
        let begin = move || {
            // SAFETY: plain integers; after `fork` the process has one thread.
            check(unsafe { libc::setns(network, libc::CLONE_NEWNET) })?;
            // A wish: see the module's own text.
            let _ = mount_own_proc();
            Ok(())
        };
        // SAFETY: between `fork` and `exec` the closure only makes system
        // calls.
        unsafe { command.pre_exec(begin) };
        command.spawn()
    }
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        drop(self.alive.take());
        loop {
            // SAFETY: no status is asked for; the process is our child.
            let waited = unsafe { libc::waitpid(self.keeper, std::ptr::null_mut(), 0) };
            let is_interrupted =
                waited < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            if !is_interrupted {
                return;
            }
        }
    }
}

/// Reading end and writing end; neither outlives `exec`.
fn pipe() -> io::Result<[OwnedFd; 2]> {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: `ends` has room for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both are new ones.
    Ok(unsafe { [own(ends[0])?, own(ends[1])?] })
}

/// The keeper: holds nothing, hears no signal, waits for `end` to end.
fn keep(end: RawFd) -> ! {
    // SAFETY: plain integers and a name that ends with a zero; nothing is
    // allocated. The process is a copy of ours with one thread.
    unsafe {
        for signal in 1..libc::SIGRTMIN() {
            // Two cannot be ignored, which is as it should be. Ignoring the end
            // of children takes away what is left of orphans.
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::dup2(end, 0);
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
        libc::prctl(libc::PR_SET_NAME, c"gigatcp-keeper".as_ptr());
        let mut octet = 0_u8;
        loop {
            let read = libc::read(0, (&raw mut octet).cast(), 1);
            if read >= 0 || *libc::__errno_location() != libc::EINTR {
                libc::_exit(0);
            }
        }
    }
}

/// A `/proc` of the process namespace, seen by this process and what it starts.
fn mount_own_proc() -> io::Result<()> {
    // SAFETY: plain integers; after `fork` the process has one thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let flags = libc::MS_REC | libc::MS_SLAVE;
    let none = std::ptr::null();
    // SAFETY: paths end with a zero; absent ones are null.
    check(unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) })?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let (name, at) = (c"proc".as_ptr(), c"/proc".as_ptr());
    // SAFETY: as before.
    check(unsafe { libc::mount(name, at, name, flags, none.cast()) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Namespace;

    /// Runs `test` with an enclosure on a thread of its own; says why not where
    /// there cannot be one.
    fn enclosed(test: impl FnOnce(&Enclosure, &Namespace) + Send) {
        let made = Namespace::new().and_then(|namespace| {
            thread::scope(|scope| {
                let run = || Enclosure::new().map(|enclosure| test(&enclosure, &namespace));
                scope.spawn(run).join().unwrap()
            })
        });
        match made {
            Ok(()) => {}
            Err(error) if error.is_missing_privilege() => {
                let hint = error.hint().unwrap_or_default();
                eprintln!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}");
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn shell(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn a_command_runs_inside_and_its_status_comes_out() {
        enclosed(|enclosure, namespace| {
            let mut child = enclosure.start(shell("exit 7"), namespace.as_fd()).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(7));
        });
    }

    #[test]
    fn what_a_command_leaves_running_ends_with_the_enclosure() {
        let seconds = format!("{}.5", 100_000 + std::process::id());
        let runs = || {
            let entries = std::fs::read_dir("/proc").unwrap().flatten();
            let mut lines =
                entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
            lines.any(|line| line.starts_with(format!("sleep\0{seconds}").as_bytes()))
        };
        let until = |wanted: bool| {
            let began = Instant::now();
            while runs() != wanted {
                assert!(
                    began.elapsed() < Duration::from_secs(10),
                    "{wanted} never came"
                );
                thread::sleep(Duration::from_millis(5));
            }
        };
        enclosed(|enclosure, namespace| {
            let text = format!("setsid sleep {seconds} & exit 0");
            let mut child = enclosure.start(shell(&text), namespace.as_fd()).unwrap();
            child.wait().unwrap();
            until(true);
        });
        until(false);
    }
}
