//! Messages of tests that proved nothing, on the real stderr, as the test harness captures the
//! output of passing tests.

use std::io::Write;

use gigatcp_conformance::kernel::SetupError;

/// Prints why a test network namespace cannot be created, and a hint.
pub fn skip(error: &SetupError) {
    let hint = error.hint().unwrap_or_default();
    say(&format!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}"));
}

/// Prints to the real stderr.
pub fn say(text: &str) {
    let name = std::thread::current().name().unwrap_or("test").to_string();
    let _ = writeln!(std::io::stderr(), "\n{name}: {text}");
}
