//! The fixes that `why` advises, as changes of a twin.

use gigatcp_analyze::Diagnosis;

use crate::constants::{Constants, LossProcess, Supply};
use crate::fit::Twin;
use crate::predict::Prediction;

/// Returns the changes that implement the advice for a cause; empty if none.
#[must_use]
pub fn changes(cause: &str, now: &Constants) -> Vec<String> {
    let bdp = now.rate_bps * now.rtt / 8.0;
    let ample = (4.0 * bdp).max(1e6) as u64;
    let one = |key: &str, value: String| vec![format!("{key}={value}")];
    match (cause, now.supply) {
        ("receive-window-limited", _) => one("receiver.buffer", format!("{ample} B")),
        ("no-window-scaling", _) => vec![
            "sender.window_scaling=true".into(),
            "receiver.window_scaling=true".into(),
            format!("receiver.buffer={ample} B"),
        ],
        ("send-buffer-limited", _) => one("sender.buffer", format!("{ample} B")),
        ("random-loss", _) if now.loss != LossProcess::None => {
            one("flow.congestion_control", "bbr3".into())
        }
        ("queue-overflow", _) => one("path.queue", "1 BDP".into()),
        ("cwnd-growth-limited", _) => {
            let window = (bdp / now.mtu as f64).clamp(10.0, 1000.0);
            one("sender.initial_window", format!("{window:.0}"))
        }
        ("delayed-ack-stall", _) => one("receiver.ack_every", "1".into()),
        ("pacing-limited", Supply::Paced(bps)) => one(
            "sender.max_pacing_rate",
            format!("{:.0} kbit/s", bps / 500.0),
        ),
        ("local-queue", Supply::Link(bps)) => {
            one("sender.link.rate", format!("{:.0} kbit/s", bps / 500.0))
        }
        ("sender-cpu-limited", Supply::Cpu(each)) => one(
            "sender.cpu.per_packet_sent",
            format!("{:.0} ns", each * 5e8),
        ),
        _ => Vec::new(),
    }
}

impl Twin {
    /// Predicts the effect of the advice for the headline of a diagnosis.
    ///
    /// # Errors
    /// Why it cannot be predicted.
    pub fn fix(&self, diagnosis: &Diagnosis) -> Result<Prediction, String> {
        let headline = diagnosis.headline().ok_or("the cause is unsure")?;
        self.fix_of(headline.cause.id)
    }

    /// Predicts the effect of the advice for one cause.
    ///
    /// # Errors
    /// Why it cannot be predicted.
    pub fn fix_of(&self, cause: &str) -> Result<Prediction, String> {
        let changes = changes(cause, &self.fits[0].constants);
        if changes.is_empty() {
            return Err(format!("no setting of the twin lifts {cause}"));
        }
        self.predict(&changes)
    }
}
