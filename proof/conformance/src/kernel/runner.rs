//! Runs scripts against the running kernel, many in parallel: each in a separate test network
//! namespace, most of them asleep most of the time.
//!
//! Time is real, and other work on the machine may delay a script. A failed script is therefore
//! repeated, alone, up to [`ATTEMPTS`] times in total. The last report counts, and the number of
//! attempts is reported. A script that is wrong about the kernel fails every time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::ast::Script;
use crate::run::{self, Pace, Report, Settings, Tolerance, Verdict};

use crate::kernel::stack::KernelStack;
use crate::kernel::test_netns::{TestNetns, TestNetnsConfig};
use gigatcp_linux::SetupError;

/// Maximum attempts for a failing script.
pub const ATTEMPTS: u32 = 5;

/// IP version that a script is run over.
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
    /// All versions, in the order of the kernel's own self-tests.
    pub const ALL: [Self; 3] = [Self::V4, Self::V6, Self::Mapped];

    /// Its name, as in packetdrill's `--ip_version`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
            Self::Mapped => "ipv4-mapped-ipv6",
        }
    }

    /// Version with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Names that the kernel's self-tests define for this version. Fast Open cookies depend on the
    /// addresses and on the key that those tests set.
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
    /// The parsed script.
    pub script: Script,
    /// Its text.
    pub text: String,
    /// Directory of the script, which may name files there.
    pub folder: PathBuf,
    /// IP version to run it over.
    pub version: IpVersion,
    /// Tolerance and definitions. Times are always real; definitions of the IP version are added
    /// after these.
    pub settings: Settings,
}

/// Result of a script.
#[derive(Clone, Debug)]
pub struct ScriptResult {
    /// Last report.
    pub report: Report,
    /// Number of attempts.
    pub attempts: u32,
    /// Duration of the last attempt.
    pub took: Duration,
}

/// Runs one script, once.
///
/// # Errors
/// [`SetupError`], if no test network namespace can be built.
pub fn run_script(case: &Case) -> Result<ScriptResult, SetupError> {
    let usual = case
        .version
        .defines()
        .map(|(name, value)| (name.to_string(), value.to_string()));
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
    Ok(ScriptResult {
        report,
        attempts: 1,
        took: began.elapsed(),
    })
}

/// Runs all scripts, `side_by_side` at a time, and repeats those that fail one by one. Calls `tell`
/// with index and result of each script when it is final. The results are in the order of the
/// cases.
///
/// # Errors
/// The first [`SetupError`]; scripts not yet begun are not run.
///
/// # Panics
/// If `tell` panics.
pub fn run_scripts(
    cases: &[Case],
    side_by_side: usize,
    tell: &(dyn Fn(usize, &ScriptResult) + Sync),
) -> Result<Vec<ScriptResult>, SetupError> {
    let next = AtomicUsize::new(0);
    let settled = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return };
            let result = run_script(case);
            if let Ok(result) = &result
                && !is_failed(result)
            {
                tell(index, result);
            }
            if result.is_err() {
                // If one thread cannot build a namespace, the others cannot either.
                next.store(cases.len(), Ordering::Relaxed);
            }
            settled
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((index, result));
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
    for (index, result) in settled {
        let mut result = result?;
        if is_failed(&result) {
            result = again(&cases[index], result)?;
            tell(index, &result);
        }
        all.push(result);
    }
    Ok(all)
}

fn is_failed(result: &ScriptResult) -> bool {
    matches!(result.report.verdict, Verdict::Failed(_))
}

/// Repeats a script that failed, alone.
fn again(case: &Case, mut result: ScriptResult) -> Result<ScriptResult, SetupError> {
    while is_failed(&result) && result.attempts < ATTEMPTS {
        result = ScriptResult {
            attempts: result.attempts + 1,
            ..run_script(case)?
        };
    }
    Ok(result)
}
