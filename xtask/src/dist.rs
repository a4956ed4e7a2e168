//! `cargo xtask dist`: the packages of the program, in `target/packages`.
//!
//! | file | content |
//! |---|---|
//! | `gigatcp` | the program, linked statically (gnu), stripped |
//! | `gigatcp_*.deb`, `gigatcp-*.rpm` | with man pages, completions and the systemd units |
//! | `gigatcp-*.whl` | the Python module and the program: `pip install` brings `gigatcp` |
//! | `gigatcp.cdx.json` | the libraries in it (CycloneDX) |
//! | `Containerfile` | an image of the program alone |
//! | `gigatcp-VERSION.tar.gz` | the source |
//! | `gigatcp-VERSION-TARGET.tar.gz` | the program, man pages, completions |
//! | `gigatcp.rb`, `PKGBUILD`, `gigatcp.nix`, `*.yaml` | recipes for Homebrew, Arch, Nix and winget |
//! | `SHA256SUMS` | checksums of all |
//! | `gigatcp.provenance.json` | what they were built from (SLSA, in-toto) |
//!
//! The paths of this machine are not part of the program, so another checkout gives the same bytes;
//! `--twice` builds a second time elsewhere and compares. `--program FILE` packs a program that was
//! built elsewhere. `--target aarch64-unknown-linux-gnu` makes all of it for another machine, and
//! needs its linker and QEMU. `--address URL` is where the archives of the recipes will be;
//! `--recipes DIR` writes only the recipes, for archives there that several machines have built.
//!
//! The C library is glibc. `cargo build --release --target x86_64-unknown-linux-musl` works too: one
//! run costs within 4 % of the same CPU time, but a sweep of 300 short runs on two cores takes 1.46
//! times as long, because of musl's allocator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{copy, failed, read, write};
use crate::machine::Machine;
use crate::process::{self, cargo, printed, succeed};
use crate::{Failed, materials, python, recipes, tools, top};

/// Features of the program in packages.
pub const FEATURES: &str = "parquet,mcp";

/// Maximum size of the program, in bytes. It shows growth: its package is a third of that.
const GOAL: u64 = 13_000_000;

/// The systemd units, which both packages contain.
const UNITS: [&str; 2] = ["gigatcp-server.service", "gigatcp-watch.service"];

/// Builds all packages; prints which of them cannot be built here.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let missing = match value(words, "--recipes") {
        Some(archives) => recipes::write_all(Path::new(archives), address(words))?,
        None => make(words)?,
    };
    for package in missing {
        println!("not built here: {package}");
    }
    Ok(())
}

/// Builds all packages. Those that cannot be built here are returned, each with its reason.
pub fn make(words: &[String]) -> Result<Vec<String>, Failed> {
    let packages = packages();
    drop(fs::remove_dir_all(&packages));
    let machine = match value(words, "--target") {
        Some(triple) => Machine::named(triple)?,
        None => Machine::here()?,
    };
    let program = match value(words, "--program") {
        Some(file) => PathBuf::from(file),
        None => build(machine, &process::target())?,
    };
    let size = fs::metadata(&program).map_or(0, |about| about.len());
    println!(
        "gigatcp: {:.1} MB (goal: below {} MB)",
        size as f64 / 1e6,
        GOAL / 1_000_000
    );
    if words.iter().any(|word| word == "--twice") {
        same_again(machine, &program)?;
    }
    copy(&program, &packages.join("gigatcp"))?;
    copy(
        &top().join("packaging/Containerfile"),
        &packages.join("Containerfile"),
    )?;
    for unit in UNITS {
        copy(
            &top().join("packaging/systemd").join(unit),
            &packages.join(unit),
        )?;
    }
    documents(machine, &packages)?;
    pack(machine, &packages)?;
    let mut missing = Vec::from_iter(pack_rpm(machine, &packages)?);
    missing.extend(wheel(machine, &packages)?);
    materials::write(&packages.join("gigatcp.cdx.json"))?;
    recipes::source(&packages)?;
    recipes::archive(machine, &packages, commit_time()?.trim())?;
    missing.extend(recipes::write_all(&packages, address(words))?);
    let sums = sums(&packages)?;
    recipes::provenance(&packages, &sums)?;
    println!("all in {}", packages.display());
    if size > GOAL {
        for package in missing {
            println!("not built here: {package}");
        }
        println!("gigatcp is larger than {GOAL} bytes");
        return Err(Failed::Found);
    }
    Ok(missing)
}

fn value<'a>(words: &'a [String], option: &str) -> Option<&'a String> {
    words.iter().skip_while(|word| *word != option).nth(1)
}

/// Where the archives of the recipes will be.
fn address(words: &[String]) -> &str {
    value(words, "--address").map_or(recipes::NO_ADDRESS, String::as_str)
}

/// Output directory; the manifest of the program names files in it.
pub fn packages() -> PathBuf {
    top().join("target/packages")
}

/// Builds the program into `target`; returns its path.
fn build(machine: &Machine, target: &Path) -> Result<PathBuf, Failed> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        "-Ctarget-feature=+crt-static".to_owned(),
        // Saves a table of addresses: a fifteenth of the file.
        "-Crelocation-model=static".to_owned(),
        // Panics do not unwind, and `force-unwind-tables=no` leaves an eighth of the file: tables of
        // every function.
        "-Clink-arg=-Wl,-T,packaging/no-unwind.ld".to_owned(),
        remap(&top(), "gigatcp"),
    ];
    flags.extend(home.map(|home| remap(&home, "cargo")));
    flags.push(remap(target, "target"));
    let mut build = cargo(&["build", "--quiet", "--locked", "--profile", "dist"]);
    build.args(["--package", "gigatcp", "--features", FEATURES]);
    build.args(["--target", machine.triple]);
    machine.link(&mut build);
    build.arg("--target-dir").arg(target);
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    succeed(build)?;
    Ok(target.join(machine.triple).join("dist/gigatcp"))
}

/// Builds in another directory and compares.
fn same_again(machine: &Machine, program: &Path) -> Result<(), Failed> {
    let elsewhere = process::target().join("again");
    let second = build(machine, &elsewhere)?;
    let [first, second] = [program, &second].map(|file| fs::read(file).unwrap_or_default());
    drop(fs::remove_dir_all(elsewhere));
    match first == second && !first.is_empty() {
        true => println!("built twice: the same {} bytes", first.len()),
        false => {
            println!("built twice: the bytes differ");
            return Err(Failed::Found);
        }
    }
    Ok(())
}

/// Writes man pages and completions, by running the program.
fn documents(machine: &Machine, packages: &Path) -> Result<(), Failed> {
    let program = packages.join("gigatcp");
    let mut man = machine.command(&program)?;
    man.arg("man").arg(packages.join("man"));
    succeed(man)?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name", "--recursive"])
        .arg(packages.join("man"));
    succeed(gzip)?;
    let completions = packages.join("completions");
    for (shell, file) in [
        ("bash", "gigatcp"),
        ("zsh", "_gigatcp"),
        ("fish", "gigatcp.fish"),
    ] {
        let mut complete = machine.command(&program)?;
        complete.args(["completions", shell]);
        let script = printed(complete)?;
        write(&completions.join(file), script)?;
    }
    Ok(())
}

/// Content of the Debian package: file or directory of `target/packages`, and its destination.
const CONTENTS: [(&str, &str); 6] = [
    ("gigatcp", "usr/bin/gigatcp"),
    (
        "completions/gigatcp",
        "usr/share/bash-completion/completions/gigatcp",
    ),
    (
        "completions/_gigatcp",
        "usr/share/zsh/vendor-completions/_gigatcp",
    ),
    (
        "completions/gigatcp.fish",
        "usr/share/fish/vendor_completions.d/gigatcp.fish",
    ),
    (
        "gigatcp-server.service",
        "usr/lib/systemd/system/gigatcp-server.service",
    ),
    (
        "gigatcp-watch.service",
        "usr/lib/systemd/system/gigatcp-watch.service",
    ),
];

/// Builds the package of Debian. It has no dependencies: the program is linked statically.
fn pack(machine: &Machine, packages: &Path) -> Result<(), Failed> {
    let root = packages.join("root");
    for (from, to) in CONTENTS {
        let to = root.join(to);
        copy(&packages.join(from), &to)?;
    }
    let documents = root.join("usr/share/doc/gigatcp");
    copy(
        &top().join("packaging/copyright"),
        &documents.join("copyright"),
    )?;
    copy(
        &top().join("packaging/lintian-overrides"),
        &root.join("usr/share/lintian/overrides/gigatcp"),
    )?;
    copy(&top().join("CHANGELOG.md"), &documents.join("changelog"))?;
    let control = read(&top().join("packaging/control"))?;
    write(&documents.join("changelog.Debian"), changelog(&control)?)?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name"])
        .arg(documents.join("changelog"))
        .arg(documents.join("changelog.Debian"));
    succeed(gzip)?;
    let man = root.join("usr/share/man/man1");
    let pages = fs::read_dir(packages.join("man"))
        .into_iter()
        .flatten()
        .flatten();
    for page in pages {
        copy(&page.path(), &man.join(page.file_name()))?;
    }
    let lines = control.lines().filter(|line| !line.starts_with('#'));
    let control: String = lines.map(|line| format!("{line}\n")).collect();
    let control = control
        .replace("VERSION", env!("CARGO_PKG_VERSION"))
        .replace("ARCHITECTURE", machine.debian);
    write(&root.join("DEBIAN/control"), control)?;
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", commit_time()?.trim());
    build
        .args(["--root-owner-group", "--build"])
        .arg(&root)
        .arg(packages);
    succeed(build)?;
    drop(fs::remove_dir_all(root));
    Ok(())
}

/// Debian's changelog: its own, as the version has a revision.
fn changelog(control: &str) -> Result<String, Failed> {
    let maintainer = control
        .lines()
        .find_map(|line| line.strip_prefix("Maintainer: "))
        .unwrap_or_default();
    let mut git = Command::new("git");
    git.arg("-C").arg(top()).args(["log", "-1", "--format=%cD"]);
    Ok(format!(
        "gigatcp ({version}-1) unstable; urgency=medium\n\n  * Version {version}: changelog.gz tells \
         what it has.\n\n -- {maintainer}  {date}\n",
        version = env!("CARGO_PKG_VERSION"),
        date = printed(git)?.trim(),
    ))
}

/// The version of cargo-generate-rpm.
const GENERATE_RPM: &str = "0.21.1";

/// Builds the package of Fedora and its relatives. The manifest of the program lists its content. If
/// that cannot be done here, the reason is returned.
fn pack_rpm(machine: &Machine, packages: &Path) -> Result<Option<String>, Failed> {
    let Ok(tool) = tools::cargo_tool("cargo-generate-rpm", GENERATE_RPM) else {
        return Ok(Some("rpm: cargo-generate-rpm cannot be installed".into()));
    };
    let mut build = Command::new(tool);
    build.args([
        "generate-rpm",
        "--package",
        "face/cli",
        "--auto-req",
        "disabled",
    ]);
    build.arg("--output").arg(packages);
    build.args(["--source-date", commit_time()?.trim()]);
    build.args(["--arch", machine.linux]);
    build.current_dir(top());
    succeed(build)?;
    Ok(None)
}

/// Minor version of glibc 2 from which on the wheel runs: that of 2018. zig links against it.
pub const WHEEL_GLIBC: u32 = 28;

/// Maximum size of the wheel, in bytes.
const MAX_WHEEL: u64 = 20_000_000;

/// Builds the wheel of the Python module, with the program among its scripts. If that cannot be
/// done here, the reason is returned.
fn wheel(machine: &Machine, packages: &Path) -> Result<Option<String>, Failed> {
    let Some(python) = python::interpreter() else {
        return Ok(Some("wheel: Python's tools cannot be installed".into()));
    };
    let parts = packages.join("wheel");
    let mut build = Command::new(python.with_file_name("maturin"));
    build.args([
        "build",
        "--quiet",
        "--release",
        "--strip",
        "--manifest-path",
    ]);
    build.arg("face/py/Cargo.toml").arg("--out").arg(&parts);
    build.args(["--zig", "--compatibility"]);
    build.arg(format!("manylinux_2_{WHEEL_GLIBC}"));
    build.args(["--target", machine.triple]);
    // maturin finds the zig of the environment by its path.
    let tools = python.parent().map(Path::to_path_buf);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)))
        .map_err(|error| Failed::Usage(format!("PATH cannot be extended: {error}")))?;
    build.env("PATH", path).current_dir(top());
    succeed(build)?;
    let time = commit_time()?;
    let tool = |words: &[&str], file: &Path, to: &Path| {
        let mut command = Command::new(python.with_file_name("wheel"));
        command.env("SOURCE_DATE_EPOCH", time.trim());
        command.args(words).arg("--dest").arg(to).arg(file);
        succeed(command)
    };
    tool(&["unpack"], &only(&parts)?, &parts.join("unpacked"))?;
    let unpacked = only(&parts.join("unpacked"))?;
    let name = unpacked.file_name().unwrap_or_default().to_string_lossy();
    let scripts = unpacked.join(format!("{name}.data/scripts"));
    copy(&packages.join("gigatcp"), &scripts.join("gigatcp"))?;
    let packed = parts.join("packed");
    fs::create_dir_all(&packed).map_err(|error| failed("create", &packed, &error))?;
    tool(&["pack"], &unpacked, &packed)?;
    let wheel = only(&packed)?;
    let size = fs::metadata(&wheel).map_or(0, |about| about.len());
    println!(
        "wheel: {:.1} MB (goal: below {} MB)",
        size as f64 / 1e6,
        MAX_WHEEL / 1_000_000
    );
    copy(
        &wheel,
        &packages.join(wheel.file_name().unwrap_or_default()),
    )?;
    drop(fs::remove_dir_all(parts));
    if size > MAX_WHEEL {
        return Err(Failed::Found);
    }
    Ok(None)
}

/// Only entry of a directory.
fn only(directory: &Path) -> Result<PathBuf, Failed> {
    let entries = fs::read_dir(directory).map_err(|error| failed("list", directory, &error))?;
    let found = entries.flatten().map(|entry| entry.path()).next();
    found.ok_or_else(|| Failed::Usage(format!("{} is empty", directory.display())))
}

/// Time of the last commit. So the same source gives the same bytes.
fn commit_time() -> Result<String, Failed> {
    let mut git = Command::new("git");
    git.arg("-C").arg(top()).args(["log", "-1", "--format=%ct"]);
    printed(git)
}

/// Writes the checksums of all files.
fn sums(packages: &Path) -> Result<String, Failed> {
    let entries = fs::read_dir(packages).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    let mut command = Command::new("sha256sum");
    command.args(names).current_dir(packages);
    let sums = printed(command)?;
    print!("{sums}");
    write(&packages.join("SHA256SUMS"), &sums)?;
    Ok(sums)
}
