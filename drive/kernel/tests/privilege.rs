//! Somebody who is not root builds a laboratory in a user namespace of their
//! own. The test runs itself again as nobody, which takes root to begin with.

mod loud;

use std::os::unix::process::CommandExt;
use std::process::Command;

use gigatcp_kernel::privilege;

/// What tells the second process that it is the second one.
const SIGN: &str = "GIGATCP_TEST_AS_NOBODY";

/// The user that owns nothing, on every Linux.
const NOBODY: u32 = 65_534;

/// What the innermost process says when it could build a laboratory.
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
        .arg("nobody_builds_a_laboratory_in_a_user_namespace_of_their_own")
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

/// First as nobody, who begins again as root of a user namespace; then as that
/// root.
fn act_as_nobody() {
    match privilege::begin_again() {
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
