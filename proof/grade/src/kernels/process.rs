//! Processes of a case: in a namespace, with a priority, ended with this process.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_linux::process;

/// Set by Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Makes SIGINT and SIGTERM end the run cleanly.
pub fn catch_signals() {
    let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores into an atomic.
        unsafe { libc::signal(signal, handler) };
    }
}

/// Whether Ctrl-C was pressed.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Raises the kernel threads that process packets to real-time priority, and the session of this
/// process above others, until dropped.
///
/// On a busy machine they otherwise wait for tens of milliseconds, and the path with them.
#[derive(Debug)]
pub struct PromptSoftirqs {
    threads: Vec<libc::pid_t>,
    /// Nice value of the session before.
    session: Option<String>,
}

/// If the kernel groups by session, nice values count only within a session.
const SESSION: &str = "/proc/self/autogroup";

impl PromptSoftirqs {
    /// Raises the threads; without the privilege it has no effect.
    pub fn new() -> Self {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let threads = entries.filter_map(|entry| {
            let number = entry.file_name().to_string_lossy().parse().ok()?;
            let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
            name.starts_with("ksoftirqd/").then_some(number)
        });
        let threads: Vec<libc::pid_t> = threads.collect();
        schedule(&threads, libc::SCHED_FIFO, 40);
        let session = std::fs::read_to_string(SESSION)
            .ok()
            .and_then(|text| Some(text.rsplit_once("nice ")?.1.trim().to_owned()));
        let _ = std::fs::write(SESSION, "-20");
        Self { threads, session }
    }
}

impl Default for PromptSoftirqs {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for PromptSoftirqs {
    fn drop(&mut self) {
        schedule(&self.threads, libc::SCHED_OTHER, 0);
        if let Some(nice) = &self.session {
            let _ = std::fs::write(SESSION, nice);
        }
    }
}

fn schedule(threads: &[libc::pid_t], policy: libc::c_int, priority: libc::c_int) {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    for thread in threads {
        // SAFETY: `parameters` outlives the call.
        unsafe { libc::sched_setscheduler(*thread, policy, &raw const parameters) };
    }
}

/// Start parameters of a process.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Nice value.
    pub nice: i32,
    /// File into which it writes `0` to join a control group.
    pub group: Option<String>,
    /// Only CPU it may use.
    pub processor: Option<usize>,
}

/// Starts `command` in the network namespace of descriptor `namespace`.
///
/// # Errors
/// System call errors.
pub fn spawn(command: &mut Command, namespace: RawFd, start: &Start) -> io::Result<Child> {
    spawn_reading(command, namespace, start, Stdio::null())
}

/// Starts `command` in the network namespace, with `stdin` as its standard input.
///
/// # Errors
/// System call errors.
pub fn spawn_reading(
    command: &mut Command,
    namespace: RawFd,
    start: &Start,
    stdin: Stdio,
) -> io::Result<Child> {
    process::end_with_us(command);
    let nice = start.nice;
    let group = start.group.clone().map(CString::new).transpose()?;
    let processor = start.processor;
    let begin = move || {
        // SAFETY: only system calls, between `fork` and `exec`.
        unsafe {
            if let Some(group) = &group {
                let fd = libc::open(group.as_ptr(), libc::O_WRONLY);
                if fd < 0 || libc::write(fd, c"0".as_ptr().cast(), 1) < 0 {
                    return Err(io::Error::last_os_error());
                }
                libc::close(fd);
            }
            libc::setpriority(libc::PRIO_PROCESS, 0, nice);
            if libc::setns(namespace, libc::CLONE_NEWNET) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        match processor {
            Some(number) => process::pin_to_processor(number),
            None => Ok(()),
        }
    };
    // SAFETY: the closure only makes system calls; nothing is allocated.
    unsafe { command.pre_exec(begin) };
    command.stdin(stdin);
    command.spawn()
}

/// Runs a command line in a namespace to its end.
///
/// # Errors
/// The command's error output, if it fails.
pub fn run(namespace: RawFd, line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("true"));
    command
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = spawn(&mut command, namespace, &Start::default());
    let output = child
        .and_then(Child::wait_with_output)
        .map_err(|error| format!("{line}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{line}: {said}"))
}

/// Runs a command in a namespace. Returns its output.
///
/// # Errors
/// If it cannot be started.
pub fn read(namespace: RawFd, line: &str) -> io::Result<String> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("true"));
    command
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let output = spawn(&mut command, namespace, &Start::default())?.wait_with_output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Process that is killed when this value is dropped.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub child: Child,
    /// Name of the process.
    pub name: String,
}

impl Running {
    /// Sends a signal to the process.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: plain integers; the child has not been waited for.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Waits for its end; `false` after `patience`.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until && !is_interrupted() => {
                    thread::sleep(Duration::from_millis(10));
                }
                Ok(None) => return false,
                _ => return true,
            }
        }
    }

    /// Its output, after its end.
    pub fn printed(&mut self) -> String {
        let mut text = String::new();
        if let Some(out) = &mut self.child.stdout {
            let _ = out.read_to_string(&mut text);
        }
        text
    }

    /// CPU time used, in seconds; 0 once it has been waited for.
    pub fn cpu_s(&self) -> f64 {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let Some((_, rest)) = text.rsplit_once(')') else {
            return 0.0;
        };
        let words: Vec<u64> = rest
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|word| word.parse().ok())
            .collect();
        words.iter().sum::<u64>() as f64 / 100.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Raw descriptor of a value.
pub fn raw(descriptor: &impl AsRawFd) -> RawFd {
    descriptor.as_raw_fd()
}
