//! `cargo xtask proof --packages`: installs each package separately, and runs the program there.
//!
//! The root of a system's package contains only the package and a file of host names: no C
//! library, no shell. So a program that runs there needs nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::Machine;
use crate::process::{self, spelled};
use crate::{Failed, dist, top};

/// Commands run in the root, with a part of their expected output. The second words are expected
/// on stderr.
const RUNS: [(&str, &str); 4] = [
    ("list", "fink-slow-start"),
    (
        "run single-flow --set flow.duration=100ms --out /tmp/runs",
        "stored in /tmp/runs/single-flow-",
    ),
    ("theory --rate 10G --rtt 80ms", "net.ipv4.tcp_rmem="),
    // The name is in the root's list of hosts; nothing listens on the port.
    ("test here.example -p 1 -t 1", "refused"),
];

/// Name of the image during the test.
const IMAGE: &str = "gigatcp-proof";

/// Files that both packages must contain.
const FILES: [&str; 4] = [
    "usr/share/man/man1/gigatcp-why.1.gz",
    "usr/share/bash-completion/completions/gigatcp",
    "usr/lib/systemd/system/gigatcp-server.service",
    "usr/lib/systemd/system/gigatcp-watch.service",
];

/// Installs each package and runs its program.
pub fn run() -> Result<(), Failed> {
    println!("\n== the package of Debian in a clean root");
    in_root("deb", |root, package| {
        let mut install = as_root("dpkg");
        install.arg(format!("--root={}", root.display()));
        // Packages of other machines are run in an emulator.
        install.args(["--force-not-root", "--force-architecture", "--install"]);
        install.arg(package);
        expect(install, "")
    })?;
    println!("\n== the package of Fedora in a clean root");
    if process::has("rpm") {
        in_root("rpm", |root, package| {
            let mut install = as_root("rpm");
            install.arg("--root").arg(root);
            install.args(["--install", "--nosignature", "--ignorearch"]);
            install.arg(package);
            expect(install, "")
        })?;
    } else {
        println!("skipped: `rpm` is not installed");
    }
    println!("\n== the image of the Containerfile");
    image()?;
    println!("\n== the wheel in an environment of its own");
    wheel()
}

/// Installs the package with this file ending in a clean root, and tests it there.
fn in_root(
    ending: &str,
    install: impl FnOnce(&Path, &Path) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let package = package(ending)?;
    let root = clean_root(&["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "tmp"])?;
    let written = fs::write(root.join("var/lib/dpkg/status"), "")
        .and_then(|()| fs::write(root.join("etc/hosts"), "127.0.0.1 localhost here.example\n"));
    written.map_err(|error| Failed::Usage(format!("cannot make the root: {error}")))?;
    install(&root, &package)?;
    for file in FILES {
        if !root.join(file).is_file() {
            println!("MISSING: /{file}");
            return Err(Failed::Found);
        }
    }
    let machine = Machine::of(&dist::packages().join("gigatcp"))?;
    let emulator = machine.emulator()?.map(|path| {
        let copied = fs::copy(path, root.join("emulator"));
        copied.map(|_| "/emulator")
    });
    let emulator = emulator
        .transpose()
        .map_err(|error| Failed::Usage(format!("cannot copy QEMU into the root: {error}")))?;
    for (words, expected) in RUNS {
        let mut command = as_root("chroot");
        command.arg(&root).args(emulator);
        command.arg("/usr/bin/gigatcp").args(words.split(' '));
        expect(command, expected)?;
    }
    drop(fs::remove_dir_all(&root));
    println!("installed, and {} commands ran", RUNS.len());
    Ok(())
}

/// Creates a root with only these directories.
fn clean_root(directories: &[&str]) -> Result<PathBuf, Failed> {
    let root = process::target().join("clean-root");
    drop(fs::remove_dir_all(&root));
    for directory in directories {
        let made = fs::create_dir_all(root.join(directory));
        made.map_err(|error| Failed::Usage(format!("cannot make {directory}: {error}")))?;
    }
    Ok(root)
}

/// Builds the image, and runs the program in its root as its user.
fn image() -> Result<(), Failed> {
    if !process::has("podman") || !Machine::of(&dist::packages().join("gigatcp"))?.is_here() {
        println!("skipped: `podman` is not installed, or the image is for another machine");
        return Ok(());
    }
    let podman = |words: &[&str]| {
        let mut command = Command::new("podman");
        // This works without a service and without mounts.
        command.env("STORAGE_DRIVER", "vfs");
        command.env("BUILDAH_ISOLATION", "chroot");
        command.args(words);
        command
    };
    let mut build = podman(&["build", "--quiet", "--tag", IMAGE]);
    build.arg(dist::packages());
    expect(build, "")?;
    // Its content and user, without a container runtime, which not every machine allows.
    let root = clean_root(&[""])?;
    expect(podman(&["create", "--name", IMAGE, IMAGE]), "")?;
    let tar = root.with_extension("tar");
    let mut export = podman(&["export", IMAGE, "--output"]);
    export.arg(&tar);
    expect(export, "")?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xf").arg(&tar).arg("-C").arg(&root);
    expect(unpack, "")?;
    let mut list = as_root("chroot");
    list.arg("--userspec=65534:65534").arg(&root);
    list.args(["/usr/bin/gigatcp", "list"]);
    expect(list, "fink-slow-start")?;
    drop(fs::remove_dir_all(&root));
    drop(fs::remove_file(&tar));
    expect(podman(&["rm", IMAGE]), "")?;
    expect(podman(&["rmi", IMAGE]), "")
}

/// Installs the wheel, and runs the program and the module.
fn wheel() -> Result<(), Failed> {
    let wheel = package("whl")?;
    if !Machine::of(&dist::packages().join("gigatcp"))?.is_here() {
        println!("skipped: the wheel of another machine, whose Python is not here");
        return Ok(());
    }
    let environment = process::target().join("clean-environment");
    drop(fs::remove_dir_all(&environment));
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(&environment);
    expect(make, "")?;
    let program = |name: &str| Command::new(environment.join("bin").join(name));
    let mut install = program("pip");
    install.args(["install", "--quiet", "--no-deps"]).arg(wheel);
    expect(install, "")?;
    let mut list = program("gigatcp");
    list.arg("list");
    expect(list, "fink-slow-start")?;
    let mut why = program("gigatcp");
    why.arg("why").arg(top().join(CAPTURE));
    expect(why, "Limited by a policer")?;
    let mut python = program("python");
    python.args(["-c", ANALYZE]).arg(top().join(CAPTURE));
    expect(python, "policer")?;
    let mut find = Command::new("find");
    find.arg(&environment).args(["-name", "_native*.so"]);
    let found = process::printed(find)?;
    let [module] = found.lines().collect::<Vec<_>>()[..] else {
        eprintln!("the wheel has not one module but: {found}");
        return Err(Failed::Found);
    };
    let newest = newest_glibc(Path::new(module))?;
    println!("the module needs glibc 2.{newest}");
    drop(fs::remove_dir_all(&environment));
    if newest > dist::WHEEL_GLIBC {
        return Err(Failed::Found);
    }
    Ok(())
}

/// A capture with a known cause.
const CAPTURE: &str = "drive/analyze/tests/captures/policed-snd.pcap.zst";

/// Prints the cause of a capture with the Python module.
const ANALYZE: &str = "import gigatcp, sys
print(gigatcp.analyze(sys.argv[1]).connections[0].verdicts[0])";

/// The newest minor version of glibc 2 that has all symbols which the library imports.
fn newest_glibc(library: &Path) -> Result<u32, Failed> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--version-info", "--wide"]).arg(library);
    let text = process::printed(readelf)?;
    let versions = text.split("GLIBC_2.").skip(1).filter_map(|rest| {
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    let none = || Failed::Usage(format!("{}: no symbol of glibc", library.display()));
    versions.max().ok_or_else(none)
}

/// Package with this ending that `cargo xtask dist` has built.
fn package(ending: &str) -> Result<PathBuf, Failed> {
    let entries = fs::read_dir(dist::packages())
        .into_iter()
        .flatten()
        .flatten();
    let mut files = entries.map(|entry| entry.path());
    let found = files.find(|file| file.extension().is_some_and(|own| own == ending));
    let missing = || Failed::Usage(format!("there is no .{ending}: run `cargo xtask dist`"));
    found.ok_or_else(missing)
}

/// A command that runs as root, in a user namespace if necessary.
fn as_root(program: &str) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", program]);
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|about| about.uid() == 0)
}

/// Runs a command whose output must contain `expected`.
fn expect(mut command: Command, expected: &str) -> Result<(), Failed> {
    let output = command
        .output()
        .map_err(|error| process::cannot(&command, &error))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let line = spelled(&command);
    // An expected refusal is a pass, though the command fails.
    if said.contains(expected) && (output.status.success() || expected == "refused") {
        println!("passed: {line}");
        return Ok(());
    }
    println!("FAILED: {line}\n{said}");
    Err(Failed::Found)
}
