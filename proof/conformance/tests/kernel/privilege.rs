//! An unprivileged user builds a test network namespace in a user namespace. The test restarts
//! itself as the user `nobody`, which requires root.

use super::loud;
use std::os::unix::process::CommandExt;
use std::process::Command;

use gigatcp_conformance::kernel::privilege;

/// Environment variable that marks the second process.
const SIGN: &str = "GIGATCP_TEST_AS_NOBODY";

/// The unprivileged user that every Linux has.
const NOBODY: u32 = 65_534;

/// Output of the innermost process after building a test network namespace.
const DONE: &str = "a laboratory was built without root";

#[test]
fn nobody_builds_a_laboratory_in_a_user_namespace_of_their_own() {
    if std::env::var_os(SIGN).is_some() {
        act_as_nobody();
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "--nocapture"])
        .arg("privilege::nobody_builds_a_laboratory_in_a_user_namespace_of_their_own")
        .env(SIGN, "1")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    let output = match again.output() {
        Ok(output) => output,
        Err(error) => return skip(&format!("cannot become nobody: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if said.contains(DONE) {
        assert!(output.status.success(), "{said}");
    } else if said.contains("SKIPPED") {
        skip(&said);
    } else {
        panic!("{said}");
    }
}

fn skip(why: &str) {
    loud::say(&format!("SKIPPED, NOTHING PROVEN: {why}"));
}

/// Runs as `nobody`, restarted as root of a user namespace; then as that root.
fn act_as_nobody() {
    match privilege::restart_in_user_namespace() {
        Ok(Some(status)) => assert!(status.success()),
        Ok(None) => match privilege::probe() {
            Ok(()) => println!("{DONE}"),
            Err(error) if error.is_missing_privilege() => skip(&error.to_string()),
            Err(error) => panic!("{error}"),
        },
        Err(error) => {
            assert!(error.hint().is_some(), "no hint for: {error}");
            skip(&error.to_string());
        }
    }
}
