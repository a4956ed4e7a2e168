//! Coverage-guided fuzzing by libFuzzer: `cargo xtask fuzz TARGET`.
//!
//! That command builds this with the required instrumentation. The environment variable
//! `FUZZ_TARGET` chooses the target, since one program serves them all.
#![no_main]

use std::sync::OnceLock;

use gigatcp_fuzz::targets::{self, Target};

fn target() -> Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    *TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        targets::find(&name).unwrap_or_else(|| {
            let names = targets::ALL.map(|target| target.name).join(", ");
            panic!("FUZZ_TARGET is `{name}`; it may be one of {names}")
        })
    })
}

libfuzzer_sys::fuzz_target!(|octets: &[u8]| (target().feed)(octets));
