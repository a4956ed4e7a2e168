//! Processes that end with this one, with all their children and however it ends.
//!
//! A program started inside a network namespace outlives its parent if the parent is killed, and
//! keeps the namespace alive; its own children are unknown. A PID namespace (`pid_namespaces(7)`)
//! solves that: when its first process ends, the kernel kills all others, children of children
//! included. That first process is the *keeper* of this file. It only waits for the end of a pipe
//! that this process alone holds open, so it ends when this process does, `kill -9` included; a
//! later run has nothing to clean up.
//!
//! Inside, processes have other numbers. If the system allows, they also get a separate `/proc`,
//! which shows those; otherwise they see that of the machine.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_open, waitid,
    waitpid,
};

use crate::{Namespace, SetupError, Step, check, process};

/// A PID namespace for child processes. Dropping it ends all processes inside and waits until they
/// are gone.
#[derive(Debug)]
pub struct PidNamespace {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// A program to be started, its network namespace, and where to send the result.
#[derive(Debug)]
struct Order {
    command: Command,
    network: OwnedFd,
    reply: Sender<io::Result<Child>>,
}

impl PidNamespace {
    /// Creates an empty namespace with a thread that starts its processes. The kernel keeps the PID
    /// namespace of children per thread, and a thread whose children belong to another one can
    /// start no further threads.
    ///
    /// # Errors
    /// [`SetupError`], if it cannot be created.
    pub fn new() -> Result<Self, SetupError> {
        let (orders, received) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let work = move || match Keeper::new() {
            Ok(keeper) => {
                let _ = tell.send(Ok(()));
                keeper.end(&serve(&received));
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        };
        let named = thread::Builder::new().name("pid-namespace".into());
        let failed = |cause| SetupError::new(Step::Thread, cause);
        let thread = named.spawn(work).map_err(failed)?;
        told.recv().map_err(|_| failed(gone()))??;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// Starts `command` inside, in the network namespace `namespace`.
    ///
    /// # Errors
    /// The system's error: no such program, or no privilege.
    pub fn start(&self, command: Command, namespace: &Namespace) -> io::Result<Child> {
        let (reply, replied) = mpsc::channel();
        let order = Order {
            command,
            network: namespace.as_fd().try_clone_to_owned()?,
            reply,
        };
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(order).map_err(|_| gone())?;
        replied.recv().map_err(|_| gone())?
    }
}

/// Error that the thread has ended, which it does only after a panic.
fn gone() -> io::Error {
    io::Error::other("the thread that starts programs is gone")
}

impl Drop for PidNamespace {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A panic has already been printed.
            let _ = thread.join();
        }
    }
}

/// Terminates a child process (`SIGTERM`).
///
/// # Errors
/// If the process has ended.
pub fn terminate(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::TERM)?)
}

/// Interrupts a child process, as Ctrl-C does (`SIGINT`).
///
/// # Errors
/// If the process has ended.
pub fn interrupt(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::INT)?)
}

/// Starts the ordered programs until the sender is gone; returns descriptors of their processes.
fn serve(orders: &Receiver<Order>) -> Vec<OwnedFd> {
    let mut started = Vec::new();
    for Order {
        command,
        network,
        reply,
    } in orders
    {
        let spawned = spawn(command, &network);
        if let Ok(child) = &spawned {
            started.extend(descriptor_of(child));
        }
        // If the receiver is gone, the child ends with the rest.
        let _ = reply.send(spawned);
    }
    started
}

/// A descriptor of the process (`pidfd_open(2)`), which stays valid after its number is reused.
fn descriptor_of(child: &Child) -> io::Result<OwnedFd> {
    Ok(pidfd_open(Pid::from_child(child), PidfdFlags::empty())?)
}

fn spawn(mut command: Command, network: &OwnedFd) -> io::Result<Child> {
    let fd = network.as_raw_fd();
    let begin = move || {
        // SAFETY: plain integers; after `fork` the process has one thread.
        check(unsafe { libc::setns(fd, libc::CLONE_NEWNET) })?;
        // Best effort: see the module's documentation.
        let _ = process::mount_own(c"proc", c"/proc");
        Ok(())
    };
    // SAFETY: between `fork` and `exec` the closure only makes system calls.
    unsafe { command.pre_exec(begin) };
    command.spawn()
}

/// The first process of the PID namespace for children of the calling thread.
struct Keeper {
    process: libc::pid_t,
    /// End of the pipe by which it detects that this process is alive.
    alive: Option<OwnedFd>,
}

impl Keeper {
    fn new() -> Result<Self, SetupError> {
        let failed = |cause| SetupError::new(Step::ProcessNamespace, cause);
        // SAFETY: plain integers; only children of the calling thread are
        // moved.
        check(unsafe { libc::unshare(libc::CLONE_NEWPID) }).map_err(failed)?;
        let (end, alive) = pipe_with(PipeFlags::CLOEXEC).map_err(|cause| failed(cause.into()))?;
        // SAFETY: the child makes system calls alone, never returns, and needs
        // nothing that another thread could have been changing.
        let process = check(unsafe { libc::fork() }).map_err(failed)?;
        if process == 0 {
            keep(end.as_raw_fd());
        }
        Ok(Self {
            process,
            alive: Some(alive),
        })
    }
}

impl Keeper {
    /// Ends it, and with it all processes of the namespace. It is gone only after all of these are.
    /// Those `started` by this process are gone only after a wait, here or by the caller with the
    /// handle.
    fn end(mut self, started: &[OwnedFd]) {
        drop(self.alive.take());
        for process in started {
            let id = WaitId::PidFd(process.as_fd());
            // Only its end is waited for.
            let _ = retry_on_intr(|| waitid(id.clone(), WaitIdOptions::EXITED));
        }
        let keeper = Pid::from_raw(self.process);
        let _ = retry_on_intr(|| waitpid(keeper, WaitOptions::empty()));
    }
}

/// Runs the keeper: it closes all descriptors, ignores signals and waits for `end` to close.
fn keep(end: RawFd) -> ! {
    // SAFETY: plain integers and a name that ends with a zero; nothing is
    // allocated. The process is a copy of ours with one thread.
    unsafe {
        for signal in 1..libc::SIGRTMIN() {
            // Two cannot be ignored, as intended. Ignoring the end of children also reaps orphans.
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::skip::or_skip;

    /// Runs `test` in a PID namespace; prints why if there cannot be one.
    fn enclosed(test: impl FnOnce(&PidNamespace, &Namespace)) {
        let made = Namespace::new().and_then(|namespace| Ok((namespace, PidNamespace::new()?)));
        if let Some((namespace, pid_namespace)) = or_skip(made) {
            test(&pid_namespace, &namespace);
        }
    }

    fn shell(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn a_command_runs_inside_and_its_status_comes_out() {
        enclosed(|pid_namespace, namespace| {
            let mut child = pid_namespace.start(shell("exit 7"), namespace).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(7));
        });
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "which is what is tested")]
    fn a_command_that_nobody_has_waited_for_ends_with_the_enclosure() {
        enclosed(|pid_namespace, namespace| {
            let deaf = shell("trap '' TERM INT; sleep 1000");
            let child = pid_namespace.start(deaf, namespace).unwrap();
            terminate(&child).unwrap();
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
        enclosed(|pid_namespace, namespace| {
            let text = format!("setsid sleep {seconds} & exit 0");
            let mut child = pid_namespace.start(shell(&text), namespace).unwrap();
            child.wait().unwrap();
            until(true);
        });
        until(false);
    }
}
