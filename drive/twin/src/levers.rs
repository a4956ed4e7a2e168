//! Settings that a user can change, ranked by predicted gain.

use rayon::prelude::*;

use crate::constants::Buffer;
use crate::fit::Twin;
use crate::predict::{PARALLEL, Prediction};

/// Jumbo frames.
const JUMBO: u64 = 9000;

/// Returns the settings to try for a twin, each as changes `KEY=VALUE`.
#[must_use]
pub fn levers(twin: &Twin) -> Vec<Vec<String>> {
    let now = &twin.fits[0].constants;
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut one = |change: String| all.push(vec![change]);
    for (key, buffer) in [
        ("receiver.buffer", now.receive),
        ("sender.buffer", now.send),
    ] {
        if let Buffer::Bytes(bytes) = buffer {
            one(format!("{key}={} B", 2 * bytes));
            one(format!("{key}={} B", 8 * bytes));
        }
    }
    for control in crate::candidates::CONTROLS {
        if control != now.control {
            one(format!("flow.congestion_control={control}"));
        }
    }
    for window in [2 * now.initial_window, 10 * now.initial_window] {
        one(format!("sender.initial_window={}", window.min(1000)));
    }
    if now.mtu < JUMBO {
        all.push(
            ["sender", "receiver"]
                .map(|host| format!("{host}.mtu={JUMBO}"))
                .into(),
        );
    }
    for flows in [2, 4, 8] {
        all.push(vec![format!("{PARALLEL}={flows}")]);
    }
    all
}

impl Twin {
    /// Predicts every setting, and the best two together. Largest stated gain first.
    ///
    /// # Errors
    /// If no setting can be predicted.
    pub fn best(&self) -> Result<Vec<Prediction>, String> {
        let tried: Vec<Result<Prediction, String>> = levers(self)
            .par_iter()
            .map(|changes| self.predict(changes))
            .collect();
        let failed = tried.iter().find_map(|one| one.as_ref().err().cloned());
        let mut all: Vec<Prediction> = tried.into_iter().flatten().collect();
        let Some(first) = rank(&mut all).cloned() else {
            return Err(failed.unwrap_or_else(|| "there is no lever".into()));
        };
        let is_other = |one: &&Prediction| key(&one.changes[0]) != key(&first.changes[0]);
        if let Some(second) = all.iter().find(is_other) {
            let both = [first.changes, second.changes.clone()].concat();
            all.extend(self.predict(&both));
            rank(&mut all);
        }
        Ok(all)
    }
}

fn key(change: &str) -> &str {
    change.split('=').next().unwrap_or(change)
}

fn rank(all: &mut [Prediction]) -> Option<&Prediction> {
    all.sort_by(|a, b| b.gain_stated().total_cmp(&a.gain_stated()));
    all.first()
}
