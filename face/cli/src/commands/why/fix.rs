//! Predictions for the suggested fixes, by a twin of the connection.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gigatcp_analyze::{Capture, Diagnosis, Options};
use gigatcp_report::graph::DiagnosisText;
use gigatcp_twin::{Prediction, Transfer, Twin};
use serde_json::{Value, json};

use super::Diagnosed;
use crate::commands::whatif::{prediction_json, stated};

/// Minimum share of the time of a cause whose fix is predicted.
const MIN_SHARE: f64 = 0.05;

/// Text of the page in place of a prediction that was not requested.
const NOT_REQUESTED: &str = "`gigatcp why --whatif` predicts what a fix would bring, in seconds to \
                       minutes";

/// Twins of the connections of a capture; each is fitted once.
#[derive(Default)]
pub(super) struct Twins(RefCell<BTreeMap<usize, Fitted>>);

/// The fit of one connection; the error is the reason why there is none.
type Fitted = Rc<Result<Twin, String>>;

impl Twins {
    fn of(&self, capture: &Capture, index: usize, diagnosis: &Diagnosis) -> Fitted {
        let fit = || {
            let transfer = Transfer::of(capture, &Options::default(), index, diagnosis.clone())?;
            Twin::fit(transfer, &[]).map_err(|no| no.reason)
        };
        let mut twins = self.0.borrow_mut();
        Rc::clone(twins.entry(index).or_insert_with(|| Rc::new(fit())))
    }

    /// Returns the prediction for the fix of an answer. The error is the reason why there is none.
    pub(super) fn tried(&self, capture: &Capture, one: &Diagnosed) -> Result<Prediction, String> {
        if one.far.is_some() {
            return Err("a twin is fitted to one capture alone".into());
        }
        let twin = self.of(capture, one.index, &one.diagnosis);
        twin.as_ref()
            .as_ref()
            .map_err(Clone::clone)?
            .fix(&one.diagnosis)
    }
}

/// Adds the predictions for the fixes to an answer on a page.
pub(super) fn put(
    twins: Option<&Twins>,
    capture: &Capture,
    (index, diagnosis): (usize, &Diagnosis),
    said: &mut DiagnosisText,
) {
    let Some(place) = said.lines.iter().position(|(label, _)| label == "Fix") else {
        return;
    };
    let mut put = |text: String| said.lines.insert(place + 1, ("What if".to_owned(), text));
    let Some(twins) = twins else {
        return put(NOT_REQUESTED.into());
    };
    let twin = twins.of(capture, index, diagnosis);
    let twin = match twin.as_ref() {
        Ok(twin) => twin,
        Err(reason) => return put(words(&Err(reason.clone()))),
    };
    put(words(&twin.fix(diagnosis)));
    let verdicts = diagnosis.verdicts.iter().zip(&mut said.findings);
    for (verdict, (_, lines)) in verdicts.filter(|(verdict, _)| verdict.share >= MIN_SHARE) {
        let tried = twin.fix_of(verdict.cause.id);
        lines.push(format!("What if: {}", words(&tried)));
    }
}

/// Returns the prediction in words that follow the label `What if`.
pub(super) fn words(tried: &Result<Prediction, String>) -> String {
    match tried {
        Ok(one) => format!("with {}: {}", one.changes.join(" and "), stated(one)),
        Err(reason) => format!("no prediction: {reason}"),
    }
}

/// Returns the prediction as JSON.
pub(super) fn json(tried: &Result<Prediction, String>) -> Value {
    match tried {
        Ok(one) => prediction_json(one),
        Err(reason) => json!({ "refused": reason }),
    }
}
