//! One run of this program, with limits on its time, memory and output.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// Maximum bytes of the output that is read. Answers are much shorter.
const MAX_OUTPUT: u64 = 16 << 20;

/// Maximum bytes of an error message.
const MAX_ERROR: u64 = 4_000;

/// Maximum bytes of memory.
#[cfg(target_os = "linux")]
const MAX_MEMORY: u64 = 4 << 30;

/// Exit status of a command that did what it should, but has found something.
const FOUND: i32 = 1;

/// Standard output of this program with these arguments.
pub(super) async fn run(words: &[OsString], timeout: Duration) -> Result<String, String> {
    let ended = tokio::time::timeout(timeout, output(words)).await;
    ended.unwrap_or_else(|_| {
        Err(format!(
            "the call took more than {} s and was ended; hint: name a `connection`, or a capture of \
             fewer packets",
            timeout.as_secs_f64()
        ))
    })
}

async fn output(words: &[OsString]) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot run this program again: {error}");
    let mut child = Command::new(std::env::current_exe().map_err(cannot)?)
        .arg("--color=never")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(cannot)?;
    #[cfg(target_os = "linux")]
    limit_memory(&child).map_err(cannot)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (text, error) = tokio::join!(read(stdout, MAX_OUTPUT), read(stderr, MAX_ERROR));
    if text.len() as u64 > MAX_OUTPUT {
        return Err(format!(
            "the answer has more than {MAX_OUTPUT} bytes; hint: name a `connection`, as `flows` \
             lists it"
        ));
    }
    let status = child.wait().await.map_err(cannot)?;
    if status.success() || (status.code() == Some(FOUND) && !text.is_empty()) {
        return Ok(text);
    }
    if error.is_empty() {
        return Err(format!(
            "the analysis ended early ({status}); no answer; hint: it may need more than 4 GiB"
        ));
    }
    Err(error)
}

/// Reads until the end, or one byte more than `limit`; the rest of a longer message is dropped.
async fn read(from: Option<impl AsyncRead + Unpin>, limit: u64) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What was read until an error counts.
        let _ = from.take(limit + 1).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(target_os = "linux")]
fn limit_memory(child: &tokio::process::Child) -> std::io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let limit = Rlimit {
        current: Some(MAX_MEMORY),
        maximum: Some(MAX_MEMORY),
    };
    // A file in memory counts as well.
    prlimit(id, Resource::As, limit)?;
    Ok(())
}
