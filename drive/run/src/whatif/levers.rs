//! Settings that a user can change, ranked by predicted gain; the advice of `why` as changes.

use super::model::Model;
use super::predict::Prediction;
use super::transfer::Transfer;

/// Congestion controls to try: those of Linux.
const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];

/// Jumbo frames.
const JUMBO: u64 = 9000;

/// Bytes of a buffer that is ample for a path.
fn ample(model: &Model) -> u64 {
    let path = model.path.mid_or(model.path.low);
    (4.0 * path * model.base / 8.0).max(1e6) as u64
}

/// Settings to try, each as changes `KEY=VALUE`.
pub fn levers(model: &Model) -> Vec<Vec<String>> {
    let ample = ample(model);
    let mut all = vec![
        vec![format!("receiver.buffer={ample} B")],
        vec![format!("sender.buffer={ample} B")],
        vec![format!("sender.initial_window={}", 40)],
        ["sender", "receiver"]
            .map(|host| format!("{host}.mtu={JUMBO}"))
            .into(),
    ];
    all.extend(CONTROLS.map(|name| vec![format!("flow.congestion_control={name}")]));
    all.extend([2, 4, 8].map(|count| vec![format!("flow.count={count}")]));
    all
}

/// The changes that implement the advice for a cause; empty if none.
pub fn advice(cause: &str, model: &Model) -> Vec<String> {
    let one = |key: &str, value: String| vec![format!("{key}={value}")];
    match cause {
        "receive-window-limited" | "no-window-scaling" => {
            one("receiver.buffer", format!("{} B", ample(model)))
        }
        "send-buffer-limited" => one("sender.buffer", format!("{} B", ample(model))),
        "random-loss" => one("flow.congestion_control", "bbr".into()),
        "queue-overflow" => one("path.queue", "1 BDP".into()),
        "cwnd-growth-limited" => one("sender.initial_window", "40".into()),
        "pacing-limited" => one("sender.max_pacing_rate", "unlimited".into()),
        "local-queue" => one("sender.link.rate", "unlimited".into()),
        "policer" => one("path.policer", "none".into()),
        _ => Vec::new(),
    }
}

impl Transfer {
    /// Predicts every setting, the largest stated gain first.
    ///
    /// # Errors
    /// If no setting can be predicted.
    pub fn best(&self, known: &[String]) -> Result<Vec<Prediction>, String> {
        let model = self.model(known)?;
        let mut all = levers(&model)
            .iter()
            .map(|changes| self.predict(changes, known))
            .collect::<Result<Vec<Prediction>, String>>()?;
        all.sort_by(|a, b| b.gain_stated().total_cmp(&a.gain_stated()));
        Ok(all)
    }

    /// Predicts the effect of the advice for a cause, and for those that it cannot be told from.
    ///
    /// # Errors
    /// Why it cannot be predicted.
    pub fn fix_of(&self, cause: &str) -> Result<Prediction, String> {
        let model = self.model(&[])?;
        let is_doubted = model.doubted.contains(&cause);
        let alike = model
            .doubted
            .iter()
            .filter(|alike| is_doubted && **alike != cause);
        let causes = [cause].into_iter().chain(alike.copied());
        let changes: Vec<String> = causes.flat_map(|cause| advice(cause, &model)).collect();
        if changes.is_empty() {
            return Err(format!("no setting removes {cause}"));
        }
        self.predict(&changes, &[])
    }
}
