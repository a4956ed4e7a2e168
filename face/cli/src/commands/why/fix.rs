//! Prediction for the advised fix, as a twin of the connection predicts it.

use gigatcp_analyze::{Capture, Options};
use gigatcp_twin::{Prediction, Transfer, Twin};
use serde_json::{Value, json};

use super::Answer;
use crate::commands::whatif::stated;

/// Returns the prediction for the fix of an answer, or why there is none.
pub(super) fn tried(capture: &Capture, one: &Answer) -> Result<Prediction, String> {
    if one.far.is_some() {
        return Err("a twin is fitted to one capture alone".into());
    }
    let options = Options::default();
    let transfer = Transfer::of(capture, &options, one.index, one.diagnosis.clone())?;
    let twin = Twin::fit(transfer, &[]).map_err(|no| no.reason)?;
    twin.fix(&one.diagnosis)
}

/// Returns the prediction in words that follow the label `What if`.
pub(super) fn words(tried: &Result<Prediction, String>) -> String {
    match tried {
        Ok(one) => format!("with {}: {}", one.changes.join(" and "), stated(one)),
        Err(reason) => format!("no prediction: {reason}"),
    }
}

/// Returns the prediction for programs.
pub(super) fn json(tried: &Result<Prediction, String>) -> Value {
    match tried {
        Ok(one) => json!({
            "certainty": one.certainty.name(),
            "changes": one.changes,
            "gain": one.gain,
            "goodput_bps": one.goodput_bps,
            "interval_bps": one.interval_bps,
        }),
        Err(reason) => json!({ "refused": reason }),
    }
}
