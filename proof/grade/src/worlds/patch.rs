//! Properties of a world that a plan cannot express.
//!
//! | patch | reason that no plan key has it |
//! |---|---|
//! | no samples, no fingerprint | results of a run, not of the world |
//! | `merge` | the driver chooses how a hop releases super-packets, see `Release` |
//! | `super_segments`, `capture_loss` | properties of the capture |

use gigatcp_path::Release;
use gigatcp_sim::{Observe, WorldConfig};
use gigatcp_units::Duration;

use super::draft::BOTTLENECK;

/// Changes to the world of a plan, and properties of its captures.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Patch {
    /// Time in seconds within which packets of a super-segment stay together behind the
    /// bottleneck. Models receive offload; `None` if each packet arrives alone.
    pub(crate) merge: Option<f64>,
    /// Whether captures at the hosts show super-segments, as tcpdump does.
    pub(crate) super_segments: bool,
    /// Probability that a capture lacks a packet.
    pub(crate) capture_loss: f64,
}

impl Patch {
    /// Applies the patch to the world of a plan.
    pub(crate) fn apply(&self, world: &mut WorldConfig) {
        world.observe = Observe::NOTHING;
        if let Some(span) = self.merge {
            for (place, hop) in world.forward.iter_mut().enumerate() {
                hop.release = match place {
                    BOTTLENECK => Release::Within(Duration::from_secs_f64(span)),
                    _ if place > BOTTLENECK => Release::Whole,
                    _ => Release::PerPacket,
                };
            }
        }
    }
}
