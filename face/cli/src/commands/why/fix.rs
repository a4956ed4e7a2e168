//! Predictions for the suggested fixes.

use gigatcp_analyze::Diagnosis;
use gigatcp_report::graph::DiagnosisText;
use gigatcp_report::why::PredictedFix;
use gigatcp_run::whatif::{Prediction, Transfer};
use serde_json::{Value, json};

use crate::commands::whatif::{prediction_json, stated};

/// Minimum share of the time of a cause whose fix is predicted.
const MIN_SHARE: f64 = 0.05;

/// Text of the page in place of a prediction that was not requested.
const NOT_REQUESTED: &str = "`gigatcp why --whatif` predicts what a fix would bring";

fn transfer(diagnosis: &Diagnosis) -> Transfer {
    Transfer {
        ends: String::new(),
        sets_buffers: None,
        diagnosis: diagnosis.clone(),
    }
}

/// The prediction for the fix of an answer, or the reason why there is none.
pub(super) fn predicted(diagnosis: &Diagnosis) -> PredictedFix {
    let tried = tried(diagnosis);
    PredictedFix {
        text: words(&tried),
        json: json(&tried),
    }
}

/// Prediction for the fix of an answer. The error is the reason why there is none.
fn tried(diagnosis: &Diagnosis) -> Result<Prediction, String> {
    let headline = diagnosis.headline().ok_or("the cause is unsure")?;
    transfer(diagnosis).fix_of(headline.cause.id)
}

/// Adds the predictions for the fixes to an answer on a page.
pub(super) fn put(is_requested: bool, diagnosis: &Diagnosis, said: &mut DiagnosisText) {
    let Some(place) = said.lines.iter().position(|(label, _)| label == "Fix") else {
        return;
    };
    let text = if is_requested {
        words(&tried(diagnosis))
    } else {
        NOT_REQUESTED.into()
    };
    said.lines.insert(place + 1, ("What if".to_owned(), text));
    if !is_requested {
        return;
    }
    let transfer = transfer(diagnosis);
    let verdicts = diagnosis.verdicts.iter().zip(&mut said.findings);
    for (verdict, (_, lines)) in verdicts.filter(|(verdict, _)| verdict.share >= MIN_SHARE) {
        lines.push(format!(
            "What if: {}",
            words(&transfer.fix_of(verdict.cause.id))
        ));
    }
}

/// The prediction in words that follow the label `What if`.
fn words(tried: &Result<Prediction, String>) -> String {
    match tried {
        Ok(one) => format!("with {}: {}", one.changes.join(" and "), stated(one)),
        Err(reason) => format!("no prediction: {reason}"),
    }
}

fn json(tried: &Result<Prediction, String>) -> Value {
    match tried {
        Ok(one) => prediction_json(one),
        Err(reason) => json!({ "refused": reason }),
    }
}
