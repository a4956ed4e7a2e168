//! Transfers of random octets between engine and kernel over an emulated path.
//!
//! The cases cover all pairs of choices. Without the privilege to create a namespace, the test
//! prints the required command and checks nothing.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gigatcp_interop::{Case, Done, Trouble, covering, run};

/// Number of concurrent cases, as most of them mostly wait.
const AT_ONCE: usize = 4;

/// Prints directly, past the harness, which captures the output of passing tests.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "\ntransfers: {text}");
}

/// Result of a case, as a line if there is a message.
fn judge(row: usize, case: &Case) -> Result<Option<String>, String> {
    match run(case) {
        Ok(Done::Passed { .. }) => Ok(None),
        Ok(Done::Skipped(why)) => Ok(Some(format!("row {row} SKIPPED: {why}"))),
        Err(Trouble::Setup(error)) if error.is_missing_privilege() => {
            let hint = error.hint().unwrap_or_default();
            Ok(Some(format!(
                "row {row} SKIPPED, NOTHING PROVEN: {error}\n  {hint}"
            )))
        }
        Err(Trouble::Setup(error)) => Err(error.to_string()),
        Err(Trouble::Failed(what)) => Err(what),
    }
}

#[test]
fn every_octet_arrives_wherever_any_two_circumstances_meet() {
    let cases = covering();
    let next = AtomicUsize::new(0);
    let lines = Mutex::new((Vec::new(), Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = case.seed as usize;
                    let judged = judge(row, case);
                    let mut results = lines.lock().unwrap();
                    match judged {
                        Ok(said) => results.0.extend(said),
                        Err(what) => results.1.push(format!(
                            "row {row}: {what}\n  {case}\n  replay: cargo xtask live-transfers --row {row}"
                        )),
                    }
                }
            });
        }
    });
    let (said, failed) = lines.into_inner().unwrap();
    if let Some(first) = said.first() {
        say(&format!("{} of {} rows: {first}", said.len(), cases.len()));
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        cases.len(),
        failed.join("\n")
    );
}
