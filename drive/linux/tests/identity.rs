//! A process that drops its privileges has none, and cannot regain any.

use std::process::Command;
use std::thread;

use gigatcp_linux::identity::Identity;
use gigatcp_linux::process;

/// Drops the privileges of the process, which is this program restarted. Its change of user is
/// permanent.
#[test]
#[ignore = "it is started by the test below"]
fn gives_its_privileges_up_and_prints_what_it_is() {
    let identity = Identity::parse("65534:65533").unwrap();
    identity.assume().unwrap();
    // A thread that begins later has no more than that.
    let status = thread::spawn(|| std::fs::read_to_string("/proc/thread-self/status"));
    println!("{}", status.join().unwrap().unwrap());
    assert!(
        identity.assume().is_err(),
        "groups cannot be changed any more"
    );
}

#[test]
fn no_user_group_or_capability_of_root_is_left() {
    if !process::is_root() {
        eprintln!("skipped: only root has privileges to give up");
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--nocapture", "--exact"])
        .arg("gives_its_privileges_up_and_prints_what_it_is")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let value = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        let words = line.unwrap_or_else(|| panic!("{key} is missing: {text}"));
        words[key.len()..].split_whitespace().collect::<Vec<_>>()
    };
    // Real, effective, saved, and of the file system.
    assert_eq!(value("Uid:"), ["65534"; 4]);
    assert_eq!(value("Gid:"), ["65533"; 4]);
    assert!(value("Groups:").is_empty(), "{text}");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(value(set), ["0000000000000000"], "{set}");
    }
    assert_eq!(value("NoNewPrivs:"), ["1"]);
}
