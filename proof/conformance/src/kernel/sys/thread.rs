//! Checks whether a thread sleeps in the kernel, and wakes it.

use std::io;
use std::sync::Once;

use gigatcp_linux::check;

/// Signal that ends a blocked call, which is otherwise unused.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 5
}

/// Kernel's number of the calling thread.
pub(crate) fn id() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Whether a thread of this process sleeps. That is the third field of its `stat`, behind the name,
/// which may contain any character.
pub(crate) fn is_asleep(thread: i32) -> bool {
    let stat =
        std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after_name.trim_start().starts_with('S')
}

/// Makes the signal interrupt calls without other effects.
pub(crate) fn prepare_interruption() {
    static ONCE: Once = Once::new();
    extern "C" fn nothing(_: libc::c_int) {}
    ONCE.call_once(|| {
        // SAFETY: `sigaction` is integers and a pointer: all zero is valid, and
        // without SA_RESTART calls come back with EINTR.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int) = nothing;
        action.sa_sigaction = handler as libc::sighandler_t;
        // SAFETY: `action` outlives the call; the handler does nothing, which
        // is safe at any point of any thread.
        unsafe { libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) };
    });
}

/// Interrupts the blocking call of a thread of this process.
pub(crate) fn interrupt(thread: i32) -> io::Result<()> {
    // SAFETY: plain integers; the thread is named together with its process.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal()) };
    check(result as libc::c_int)?;
    Ok(())
}
