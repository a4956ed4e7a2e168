//! Fetches captures from packages of Debian, for tests that read captures of others.
//!
//! They are never part of this repository. They come from the mirror that apt-get is configured
//! for, with separate lists, into `target/debian-captures`, a directory for each package. If that
//! is not possible, the task says so, and tests that need the captures are skipped. Files that a
//! mirror lacks are left out.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{has, target};

/// Source packages with captures of TCP.
const PACKAGES: [&str; 3] = ["tcpdump", "tcpflow", "python-dpkt"];

/// Time limit of one step, in seconds.
const PATIENCE: &str = "120";

/// Suite and signing key.
const SOURCE: &str = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
                      http://deb.debian.org/debian bookworm main\n";

/// Fetches missing captures as far as possible; reports those not available.
pub fn fetch() {
    let folder = target().join("debian-captures");
    let lists = folder.join(".apt");
    for package in PACKAGES {
        let place = folder.join(package);
        if place.is_dir() {
            println!("captures of {package}: there");
        } else if can_fetch() && take(package, &place, &lists).is_some() {
            println!("captures of {package}: fetched");
        } else {
            println!("captures of {package}: missing, counts are not compared on them");
        }
    }
    // Only the captures are kept.
    drop(fs::remove_dir_all(lists));
}

fn can_fetch() -> bool {
    ["apt-get", "tar", "timeout"].into_iter().all(has)
}

/// Fetches the captures of a package to `place`, if there are any.
fn take(package: &str, place: &Path, lists: &Path) -> Option<()> {
    if !lists.is_dir() {
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(lists.join(folder)).ok()?;
        }
        fs::write(lists.join("sources.list"), SOURCE).ok()?;
        apt_get(lists, &["update"], lists);
    }
    let packed = lists.join(package);
    fs::create_dir_all(&packed).ok()?;
    // A part that the mirror lacks is seldom the one with the captures.
    apt_get(lists, &["source", "--download-only", package], &packed);
    let unpacked = packed.join("unpacked");
    fs::create_dir_all(&unpacked).ok()?;
    for file in fs::read_dir(&packed).ok()?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.contains(".orig.tar.") && !name.ends_with(".asc") {
            let mut tar = Command::new("tar");
            tar.arg("-xf").arg(file.path()).arg("-C").arg(&unpacked);
            tar.args(["--wildcards", "*.pcap", "*.cap"]);
            run(&mut tar);
        }
    }
    let has_some = fs::read_dir(&unpacked).ok()?.next().is_some();
    if has_some {
        fs::rename(&unpacked, place).ok()?;
    }
    has_some.then_some(())
}

fn apt_get(lists: &Path, words: &[&str], folder: &Path) {
    let option = |name: &str, value: &Path| format!("{name}={}", value.display());
    let mut command = Command::new("timeout");
    command.args([PATIENCE, "apt-get", "-qq"]);
    let options = [
        option("Dir::Etc::sourcelist", &lists.join("sources.list")),
        option("Dir::Etc::sourceparts", Path::new("/dev/null")),
        option("Dir::State::lists", &lists.join("lists")),
        option("Dir::Cache", &lists.join("cache")),
    ];
    for option in options {
        command.arg("-o").arg(option);
    }
    run(command.args(words).current_dir(folder));
}

/// Runs a command; its success shows in the files it leaves.
fn run(command: &mut Command) {
    let [stdin, stdout, stderr] = [Stdio::null(), Stdio::null(), Stdio::null()];
    drop(command.stdin(stdin).stdout(stdout).stderr(stderr).status());
}
