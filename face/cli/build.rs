//! Embeds the experiments: writes the table of their files that `src/experiments/built_in.rs` includes.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let directory = experiments();
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut table = String::from("[\n");
    for experiment in sorted(&directory)? {
        if experiment.join("plan.toml").is_file() {
            write_experiment(&mut table, &experiment)?;
        }
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    fs::write(out.join("experiments.rs"), table)
}

/// Directory of experiments: within the package, otherwise the target of the checkout's link (for
/// systems without symbolic links).
fn experiments() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    let within = package.join("experiments");
    let above = package.join("../../experiments");
    let found = if within.is_dir() { within } else { above };
    found.canonicalize().unwrap_or(found)
}

fn write_experiment(table: &mut String, directory: &Path) -> io::Result<()> {
    let _ = writeln!(table, "BuiltIn {{ name: {:?}, files: &[", name(directory));
    for file in sorted(directory)?.into_iter().filter(|file| file.is_file()) {
        let _ = writeln!(table, "({:?}, include_bytes!({file:?})),", name(&file));
    }
    table.push_str("] },\n");
    Ok(())
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
