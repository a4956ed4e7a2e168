//! Namespaces and scheduling of the calling thread, and of a process about to start.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{
    Resource, Rlimit, Signal, getegid, geteuid, getpid, getppid, getrlimit,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{self, CpuSet};

use crate::check;

/// Moves the calling thread, and what it starts later, to a new network namespace.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: plain integers; only the calling thread is moved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    Ok(())
}

/// Moves the calling thread into the network namespace behind `descriptor`.
///
/// # Errors
/// The kernel's error: it requires the privilege over both namespaces.
pub fn enter_network(descriptor: &impl AsFd) -> io::Result<()> {
    let kind = Some(thread::LinkNameSpaceType::Network);
    Ok(thread::move_into_link_name_space(descriptor.as_fd(), kind)?)
}

/// Message for a mapped file that was truncated.
const TRUNCATED: &[u8] = b"error: a file was truncated while it was read\n  \
    effect: nothing more was read, and nothing is concluded\n  \
    hint: wait until its writer has finished, or read a copy\n";

/// Status of a command that could not do what it was told.
const TRUNCATED_STATUS: libc::c_int = 2;

extern "C" fn on_bus_error(_: libc::c_int) {
    // SAFETY: both may be called in a signal handler (signal-safety(7)); the message is static.
    unsafe {
        libc::write(
            libc::STDERR_FILENO,
            TRUNCATED.as_ptr().cast(),
            TRUNCATED.len(),
        );
        libc::_exit(TRUNCATED_STATUS);
    }
}

/// Ends this process with a message if a file that is mapped is truncated while it is read: the
/// kernel reports the access as SIGBUS.
///
/// # Errors
/// The kernel's error.
pub fn explain_bus_errors() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int) = on_bus_error;
    // SAFETY: `sigaction` is integers and an empty mask: all zero is a valid one. The handler only
    // makes calls that are allowed in one.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    check(result)?;
    Ok(())
}

/// Restricts the calling thread to one CPU.
///
/// # Errors
/// If there is no CPU with this number, or the process may not use it.
pub fn pin_to_processor(number: usize) -> io::Result<()> {
    if number >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(number);
    Ok(thread::sched_setaffinity(None, &set)?)
}

/// Raises the limit of open descriptors to `number`, if it is lower. This is the soft limit and,
/// with the privilege, the hard limit.
///
/// # Errors
/// The kernel's error.
pub fn allow_descriptors(number: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= number) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(number),
        maximum: limit.maximum.map(|maximum| maximum.max(number)),
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// Raises the limit of open descriptors as far as possible without a privilege. Returns the new
/// limit.
///
/// # Errors
/// The kernel's error.
pub fn allow_all_descriptors() -> io::Result<u64> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    Ok(maximum.unwrap_or(u64::MAX))
}

/// Whether the process acts as root, of the machine or of a user namespace.
pub fn is_root() -> bool {
    user() == 0
}

/// Number of the user that the process acts as.
pub fn user() -> u32 {
    geteuid().as_raw()
}

/// Makes `command` begin in a user namespace in which the present user is root.
pub fn begin_in_user_namespace(command: &mut Command) {
    let users = map_line(geteuid().as_raw());
    let groups = map_line(getegid().as_raw());
    let begin = move || {
        // SAFETY: plain integers; after `fork` the process has one thread.
        check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
        write_whole(c"/proc/self/setgroups", b"deny")?;
        write_whole(c"/proc/self/uid_map", &users)?;
        write_whole(c"/proc/self/gid_map", &groups)
    };
    // SAFETY: between `fork` and `exec` the closure only makes system calls;
    // its two lines of text were made before, so nothing is allocated.
    unsafe { command.pre_exec(begin) };
}

/// Makes `command` end, by `SIGKILL`, with the thread that starts it.
pub fn end_with_us(command: &mut Command) {
    let starter = Some(getpid());
    let begin = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() == starter {
            Ok(())
        } else {
            // The parent has already ended, so no signal will come.
            Err(io::ErrorKind::Interrupted.into())
        }
    };
    // SAFETY: between `fork` and `exec` the closure only makes system calls.
    unsafe { command.pre_exec(begin) };
}

/// Mounts a file system of the calling thread's namespaces at `at`. Only this thread, and what it
/// starts, sees it. Nothing is allocated, so a newly forked process may call it.
///
/// # Errors
/// If the privilege is missing.
pub fn mount_own(file_system: &CStr, at: &CStr) -> io::Result<()> {
    // SAFETY: plain integers; the calling thread alone is moved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    mount_change(
        c"/",
        MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM,
    )?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(file_system, at, file_system, flags, None)?)
}

/// "0 <id> 1": root inside is `id` outside.
fn map_line(id: u32) -> Vec<u8> {
    format!("0 {id} 1\n").into_bytes()
}

/// Writes a small file in one call, without allocating.
fn write_whole(path: &CStr, octets: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, octets)?;
    Ok(())
}

/// Kernel's name, as in `Linux 6.18.44`.
pub fn kernel_name() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let number = release.trim().split('-').next().unwrap_or_default();
    format!("Linux {number}")
}
