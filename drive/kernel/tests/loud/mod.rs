//! What a test says that proved nothing: on the real stderr, as the test
//! harness keeps what a passing test prints to itself.

use std::io::Write;

use gigatcp_kernel::SetupError;

/// Says that a laboratory cannot be made here, why, and what to type.
#[allow(dead_code, reason = "not every test file skips for this reason")]
pub fn skip(error: &SetupError) {
    let hint = error.hint().unwrap_or_default();
    say(&format!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}"));
}

/// Says it past the harness.
pub fn say(text: &str) {
    let name = std::thread::current().name().unwrap_or("test").to_string();
    let _ = writeln!(std::io::stderr(), "\n{name}: {text}");
}
