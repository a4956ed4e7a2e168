//! Error messages on systems that forbid what `gigatcp` needs for paths in real time. Nothing of
//! the machine is changed: each system is a namespace that the test creates, which requires root.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_gigatcp");

/// Becoming the user that owns nothing.
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// A system with a restriction: a command line of a shell that is root of its own namespaces.
struct System {
    /// Options of `unshare`.
    namespaces: &'static str,
    /// Command that sets up the restriction.
    setting: &'static str,
    /// User who runs the command.
    who: &'static str,
}

/// Exit status and output of the command in a system. `None` if the system cannot be set up.
fn typed(system: &System, words: &str) -> Option<(i32, String)> {
    let System {
        namespaces,
        setting,
        who,
    } = system;
    let begin = format!("{setting} || exit 77; cd /; exec {who} {PROGRAM} {words}");
    // A shell that waits until its user namespace has users, and begins again to
    // have the privileges of its root.
    let script = format!("read go; exec sh -c \"{begin}\"");
    let mut child = Command::new("unshare")
        .args(namespaces.split(' '))
        .args(["sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut go = child.stdin.take()?;
    if namespaces.contains("--user") {
        // It has become `unshare` and then entered.
        let process = format!("/proc/{}", child.id());
        let is_outside = || {
            fs::read_link(format!("{process}/ns/user")).ok()
                == fs::read_link("/proc/self/ns/user").ok()
        };
        while is_outside() && matches!(child.try_wait(), Ok(None)) {
            std::thread::yield_now();
        }
        for map in ["uid_map", "gid_map"] {
            // What cannot be mapped shows in the exit status.
            let _ = fs::write(format!("{process}/{map}"), "0 0 65536");
        }
    }
    let _ = go.write_all(b"go\n");
    let mut said = String::new();
    child.stderr.take()?.read_to_string(&mut said).ok()?;
    let status = child.wait().ok()?.code()?;
    let is_made = status != 77 && said.contains("error:");
    is_made.then_some((status, said))
}

/// A plan in a directory that all users can read.
fn plan() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let plan = "name = 'live'\npath = { rate = '50 Mbit/s', rtt = '10 ms' }\n\
                flow = { duration = '100 ms' }\n";
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), everybody).unwrap();
    folder
}

/// Reports that nothing was proven.
fn skip() {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    let _ = writeln!(
        std::io::stderr(),
        "\n{name}: SKIPPED, NOTHING PROVEN: it takes root, unshare and setpriv"
    );
}

/// Checks that every command fails in the system, with all of `parts` in one error.
fn every_command_says(system: &System, parts: &[&str]) {
    let place = plan();
    let folder = place.path().display();
    let run =
        format!("run {folder}/plan.toml --on live --set sender.stack=kernel --out {folder}/runs");
    for words in ["emulate --rtt '1 ms' -- true", &run] {
        let Some((status, said)) = typed(system, words) else {
            return skip();
        };
        assert_eq!(status, 2, "{words}: {said}");
        assert_eq!(said.matches("error:").count(), 1, "{words}: {said}");
        for part in parts {
            assert!(said.contains(part), "{words}: no `{part}` in: {said}");
        }
    }
}

#[test]
fn where_there_may_be_no_user_namespaces_it_says_which_setting_forbids_them() {
    let system = System {
        namespaces: "--user",
        setting: "echo 0 > /proc/sys/user/max_user_namespaces",
        who: NOBODY,
    };
    let parts = [
        "cannot make a user namespace",
        "tried as user 65534",
        "effect: n",
        "sysctl -w user.max_user_namespaces=15000",
        "`sudo`",
    ];
    every_command_says(&system, &parts);
}

#[test]
fn where_a_chroot_forbids_them_it_says_that_no_setting_does() {
    let system = System {
        namespaces: "--mount",
        setting: "mount --rbind / /mnt",
        who: "chroot /mnt setpriv --reuid=65534 --regid=65534 --clear-groups",
    };
    every_command_says(
        &system,
        &["cannot make a user namespace", "chroot", "`sudo`"],
    );
}

#[test]
fn where_the_tun_device_is_missing_it_says_how_to_have_it() {
    let system = System {
        namespaces: "--mount",
        setting: "mount -t tmpfs none /dev/net",
        who: "",
    };
    every_command_says(
        &system,
        &[
            "cannot open /dev/net/tun",
            "modprobe tun",
            "--device /dev/net/tun",
        ],
    );
}

#[test]
fn where_the_tun_device_is_for_root_alone_it_says_who_must_give_leave() {
    let system = System {
        namespaces: "--mount",
        setting: "mount -t tmpfs none /dev/net && mknod -m 600 /dev/net/tun c 10 200",
        who: NOBODY,
    };
    every_command_says(
        &system,
        &["cannot open /dev/net/tun", "chmod 666 /dev/net/tun"],
    );
}

#[test]
fn a_congestion_control_that_is_not_allowed_is_refused_with_what_to_type() {
    let list = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
        fs::read_to_string(path).unwrap().trim().to_owned()
    };
    let (available, allowed) = (list("available"), list("allowed"));
    let is_allowed = |name: &str| allowed.split(' ').any(|control| control == name);
    let Some(refused) = available.split(' ').find(|name| !is_allowed(name)) else {
        println!("NOTHING PROVEN: this host allows every control that it has: {allowed}");
        return;
    };
    let system = System {
        namespaces: "--mount",
        setting: "true",
        who: NOBODY,
    };
    let allow = format!(
        "`sudo sysctl -w net.ipv4.tcp_allowed_congestion_control='{allowed} {refused}'` allows \
         {refused}"
    );
    let default = format!("--sysctl net.ipv4.tcp_congestion_control={refused}");
    let route = format!("`--control {refused}`");
    let test = format!("test 127.0.0.1 -C {refused}");
    for (words, parts) in [
        (
            test,
            [
                &format!("cannot use the congestion control {refused}: Operation not permitted"),
                "effect: nothing was measured",
                &format!(": {allowed}"),
                &allow,
            ],
        ),
        (
            format!("emulate {default} -- true"),
            [
                "effect: nothing was run",
                &route,
                &format!(": {allowed}"),
                &allow,
            ],
        ),
    ] {
        let Some((status, said)) = typed(&system, &words) else {
            return skip();
        };
        assert_eq!(status, 2, "{words}: {said}");
        for part in parts {
            assert!(said.contains(part), "{words}: no `{part}` in: {said}");
        }
    }
}
