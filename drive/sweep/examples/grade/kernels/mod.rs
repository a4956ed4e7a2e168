//! Kernels at both ends of an emulated path, captured at both.
//!
//! What the emulator sees at its doors is what a capture on each host would
//! see, wire packet by wire packet. Deliberately not here: a capture on the way,
//! and causes that a kernel cannot be made to have (a ring without buffers).

pub mod ends;
pub mod worlds;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fs, io, thread};

use gigatcp_emulate::{Addresses, Emulator, EmulatorConfig, Side, Sight, Watch};
use gigatcp_linux::{first_threshold, privilege};
use gigatcp_sweep::live::capture::Capture;

use crate::Sample;
use crate::diagnosis::Captured;
use worlds::World;

/// Where captures are taken.
pub const VIEWS: [&str; 3] = ["sender", "receiver", "both"];

/// Both doors of the path.
struct Both([Capture; 2]);

impl Watch for Both {
    fn on_packet(&mut self, sight: &Sight<'_>) {
        for one in &mut self.0 {
            one.on_packet(sight);
        }
    }
}

/// Whether there may be namespaces; where only as somebody else, that was done,
/// and the exit status is given.
pub fn begin() -> Result<Option<i32>, String> {
    match privilege::begin_again() {
        Ok(None) => Ok(None),
        Ok(Some(status)) => Ok(Some(status.code().unwrap_or(1))),
        Err(error) => Err(said(&error, error.hint())),
    }
}

fn said(error: &dyn std::error::Error, hint: Option<String>) -> String {
    let hint = hint.map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
    format!("{error}{hint}")
}

/// Where the captures of a run are, in `folder`.
fn files(folder: &Path, injection: &str, seed: u64) -> [PathBuf; 2] {
    ["sender", "receiver"].map(|end| folder.join(format!("{injection}-{seed}-{end}.pcapng")))
}

/// Runs the world of `injection` with this seed; its captures stay in `folder`.
pub fn run(injection: &str, seed: u64, folder: &Path) -> Result<Sample, String> {
    let world = worlds::world(injection, seed);
    let [near, far] = files(folder, injection, seed);
    let begun = |path: &Path, side| Capture::begin(path, side, false).map_err(|e| said(&e, None));
    let (near, near_handle) = begun(&near, Side::Client)?;
    let (far, far_handle) = begun(&far, Side::Server)?;
    let [forward, reverse] = world.ways.clone();
    let config = EmulatorConfig {
        forward,
        reverse,
        seed,
        mtu: [world.mtu; 2],
        offloads: world.offloads,
        settings: world.settings.clone(),
        ..EmulatorConfig::default()
    };
    let watch: Box<dyn Watch> = Box::new(Both([near, far]));
    let emulator = Emulator::start(&config, Some(watch)).map_err(|error| match &error {
        gigatcp_emulate::EmulatorError::Lab(cause) => said(&error, cause.hint()),
        _ => said(&error, None),
    })?;
    let failed = |error: io::Error| format!("{injection} {seed}: {error}");
    set_threshold(&emulator, &world).map_err(failed)?;
    let began = std::time::Instant::now();
    let octets = ends::meet(&emulator, &world.ends).map_err(failed)?;
    let lasted = began.elapsed().as_secs_f64();
    // The last acknowledgments are still on their way.
    thread::sleep(world.ends.grace / 4);
    let dropped: u64 = Side::ALL
        .iter()
        .filter_map(|side| emulator.dropped_by_device(*side))
        .sum();
    emulator.stop().map_err(|error| said(&error, None))?;
    for handle in [near_handle, far_handle] {
        handle.finish().map_err(|error| said(&error, None))?;
    }
    let mut sample = again(injection, seed, folder)?;
    let share = octets as f64 / lasted / world.rate * 100.0;
    sample
        .about
        .push_str(&format!(", {share:.0} % of the rate read"));
    if dropped > 0 {
        sample
            .about
            .push_str(&format!(", THE MACHINE DROPPED {dropped}"));
    }
    Ok(sample)
}

/// What was kept of that run.
pub fn again(injection: &str, seed: u64, folder: &Path) -> Result<Sample, String> {
    let world = worlds::world(injection, seed);
    let mut captures = Vec::new();
    for (index, path) in files(folder, injection, seed).into_iter().enumerate() {
        let octets = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        captures.push(Captured {
            octets,
            loss: world.capture_loss,
            seed: seed ^ (index as u64 + 1) << 40,
        });
    }
    Ok(Sample {
        captures,
        about: world.about,
    })
}

/// Removes what was captured of that run.
pub fn forget(injection: &str, seed: u64, folder: &Path) {
    for path in files(folder, injection, seed) {
        // What cannot be removed disturbs nobody.
        let _ = fs::remove_file(path);
    }
}

fn set_threshold(emulator: &Emulator, world: &World) -> io::Result<()> {
    let Some(segments) = world.threshold else {
        return Ok(());
    };
    let [from, to] = Side::ALL.map(|side| IpAddr::from(Addresses::of(side).v4));
    let set = || first_threshold::set(from, to, segments);
    let done = emulator.namespace(Side::Client).run(set);
    done.map_err(|error| io::Error::other(error.to_string()))?
}
