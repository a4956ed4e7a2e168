//! Namespaces of the calling thread, and of a process about to begin.

use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::check;

/// The calling thread, and what it starts from now on, gets a network of its
/// own.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: plain integers; only the calling thread is moved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    Ok(())
}

/// Whether the process acts as root, of the machine or of a user namespace.
pub(crate) fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Makes `command` begin in a user namespace in which the present user is
/// root.
pub(crate) fn begin_in_user_namespace(command: &mut Command) {
    // SAFETY: neither call takes a pointer or can fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let users = map_line(user);
    let groups = map_line(group);
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

/// "0 <id> 1": root inside is `id` outside.
fn map_line(id: u32) -> Vec<u8> {
    format!("0 {id} 1\n").into_bytes()
}

/// Writes a small file in one call, without allocating.
fn write_whole(path: &CStr, octets: &[u8]) -> io::Result<()> {
    // SAFETY: `path` ends with a zero and outlives the call.
    let fd = super::own(unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) })?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&fd);
    // SAFETY: pointer and length are those of `octets`.
    super::check_size(unsafe { libc::write(fd, octets.as_ptr().cast(), octets.len()) })?;
    Ok(())
}

/// `Linux 6.18.44`, as the kernel calls itself.
pub(crate) fn kernel_name() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim().split('-').next().unwrap_or_default();
    format!("Linux {release}")
}
