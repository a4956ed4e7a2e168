//! Runs scripts against the running kernel, many in parallel: each in its own test network
//! namespace, most of them asleep most of the time.
//!
//! Time is real, and a machine with other work may let a script come late to
//! its own lines. A script that fails is therefore tried again, alone, up to
//! [`ATTEMPTS`] times in all; the last report counts, and how many attempts it
//! took is told. A script that is wrong about the kernel fails every time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_script::ast::Script;
use gigatcp_script::run::{self, Pace, Report, Settings, Tolerance, Verdict};

use crate::stack::KernelStack;
use crate::test_netns::{TestNetns, TestNetnsConfig};
use gigatcp_linux::SetupError;

/// How often a script is tried that fails.
pub const ATTEMPTS: u32 = 5;

/// The internet protocol a script is run over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// IPv4, reached through IPv6 sockets by mapped addresses (RFC 4291
    /// section 2.5.5.2).
    Mapped,
}

impl IpVersion {
    /// All of them, in the order the kernel's own self-tests try them.
    pub const ALL: [Self; 3] = [Self::V4, Self::V6, Self::Mapped];

    /// Its name, as packetdrill's `--ip_version` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
            Self::Mapped => "ipv4-mapped-ipv6",
        }
    }

    /// The version of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Names that the kernel's self-tests define for this version: Fast Open
    /// cookies depend on the addresses and on the key those tests set.
    fn defines(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::V4 | Self::Mapped => [
                ("TFO_COOKIE", "3021b9d889017eeb"),
                ("TFO_COOKIE_ZERO", "b7c12350a90dc8f5"),
            ],
            Self::V6 => [
                ("TFO_COOKIE", "c1d1e9742a47a9bc"),
                ("TFO_COOKIE_ZERO", "82af1a8f9a205c34"),
            ],
        }
    }
}

/// A script to be run against the kernel.
#[derive(Clone, Debug)]
pub struct Case {
    /// The script.
    pub script: Script,
    /// Its text.
    pub text: String,
    /// The script's directory: it may name files there.
    pub folder: PathBuf,
    /// What it is run over.
    pub version: IpVersion,
    /// Leniency and definitions; times are counted as real ones whatever this
    /// says, and definitions of the version stand behind these.
    pub settings: Settings,
}

/// What came of a script.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The last report.
    pub report: Report,
    /// How many attempts there were.
    pub attempts: u32,
    /// How long the last one took.
    pub took: Duration,
}

/// Runs one script, once.
///
/// # Errors
/// [`SetupError`], when no test network namespace can be built.
pub fn judge(case: &Case) -> Result<Judged, SetupError> {
    let usual = case.version.defines();
    let usual = usual.map(|(name, value)| (name.to_string(), value.to_string()));
    let settings = Settings {
        tolerance: Tolerance::Script,
        pace: Pace::Real,
        ipv6: case.version == IpVersion::V6,
        defines: [&usual[..], &case.settings.defines].concat(),
        ..case.settings.clone()
    };
    let began = Instant::now();
    let report = TestNetns::run(&TestNetnsConfig::default(), |lab| {
        let is_mapped = case.version == IpVersion::Mapped;
        let mut stack = KernelStack::new(lab, &case.folder)?.mapped(is_mapped);
        Ok(run::run(&case.script, &case.text, &mut stack, &settings))
    })??;
    Ok(Judged {
        report,
        attempts: 1,
        took: began.elapsed(),
    })
}

/// Runs all scripts, `side_by_side` at a time, and repeats those that fail one by one. `tell` is
/// called for each that is settled: its index, and what came of
/// it. The results are in the order of the cases.
///
/// # Errors
/// The first [`SetupError`]; scripts not yet begun are then left.
///
/// # Panics
/// When `tell` does.
pub fn judge_all(
    cases: &[Case],
    side_by_side: usize,
    tell: &(dyn Fn(usize, &Judged) + Sync),
) -> Result<Vec<Judged>, SetupError> {
    let next = AtomicUsize::new(0);
    let settled = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return };
            let judged = judge(case);
            if let Ok(judged) = &judged
                && !is_failed(judged)
            {
                tell(index, judged);
            }
            if judged.is_err() {
                // What one cannot build, the others cannot either.
                next.store(cases.len(), Ordering::Relaxed);
            }
            let mut settled = settled.lock().unwrap_or_else(PoisonError::into_inner);
            settled.push((index, judged));
        }
    };
    thread::scope(|scope| {
        for _ in 0..side_by_side.clamp(1, cases.len().max(1)) {
            scope.spawn(work);
        }
    });
    let mut settled = settled.into_inner().unwrap_or_else(PoisonError::into_inner);
    settled.sort_by_key(|(index, _)| *index);
    let mut all = Vec::with_capacity(settled.len());
    for (index, judged) in settled {
        let mut judged = judged?;
        if is_failed(&judged) {
            judged = again(&cases[index], judged)?;
            tell(index, &judged);
        }
        all.push(judged);
    }
    Ok(all)
}

fn is_failed(judged: &Judged) -> bool {
    matches!(judged.report.verdict, Verdict::Failed(_))
}

/// Tries a script that failed again, alone.
fn again(case: &Case, mut judged: Judged) -> Result<Judged, SetupError> {
    while is_failed(&judged) && judged.attempts < ATTEMPTS {
        judged = Judged {
            attempts: judged.attempts + 1,
            ..judge(case)?
        };
    }
    Ok(judged)
}
