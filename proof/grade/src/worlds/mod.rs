//! Random worlds with a known cause, as plans.
//!
//! A world is the text of a plan (`gigatcp-plan`), which the simulator runs like any plan.
//! [`patch`](self) has the few properties that a plan cannot express. After drawing, the world
//! runs once, and the simulator's counters must show that the cause limits the connection most of
//! the time. If they do not, the next sub-seed draws.
//!
//! | file | content |
//! |---|---|
//! | `draft.rs` | a plan under construction, and its text |
//! | `base.rs` | a healthy world |
//! | `elements.rs` | queues, links, applications and datagrams in addition to the cause |
//! | `causes.rs`, `caps.rs`, `impairments.rs` | the change that each cause makes |
//! | `facts.rs`, `labels.rs` | counters of the simulator; checks of a label |
//! | `pairs.rs` | worlds with two limits |
//! | `patch.rs` | properties that a plan cannot express |
//! | `views.rs` | captures at three capture points |

mod base;
mod caps;
mod causes;
mod draft;
mod elements;
mod facts;
mod impairments;
mod labels;
mod pairs;
mod patch;
mod views;

use crate::counterfactual::lift;
use crate::draw::Draw;
pub(crate) use base::Base;
use causes::{RECIPES, Recipe, Site};
pub(crate) use draft::{BOTTLENECK, Draft, Table, Value};
pub use facts::Facts;
use gigatcp_run::scenario::world_of;
use gigatcp_sim::WorldConfig;
pub(crate) use labels::BUSY;
pub use pairs::{Share, by_time, next_limit, two_causes};
use patch::Patch;

/// Maximum number of draws of one world until its label holds.
const MAX_DRAWS: u64 = 8;

/// Kinds of paths on which worlds are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paths {
    /// 5 to 300 Mbit/s, filled by tens to some thousand segments in flight.
    Usual,
    /// 300 Mbit/s to 3 Gbit/s.
    Fat,
    /// Usual paths that also carry traffic of other flows.
    Shared,
    /// Usual paths with an additional element. It is a managed queue, a changing rate, aggregated
    /// ACKs, loss bursts, a dialog or datagrams.
    Elements,
}

/// Capture point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapturePoint {
    /// At the sending host.
    Sender,
    /// At the receiving host.
    Receiver,
    /// Behind the bottleneck.
    Middle,
    /// At the sending and the receiving host.
    Both,
}

/// World with one known cause.
#[derive(Clone, PartialEq, Debug)]
pub struct GradedWorld {
    /// Id of the cause.
    pub cause: &'static str,
    /// Seed it was drawn from.
    pub seed: u64,
    /// Kind of paths requested.
    pub paths: Paths,
    /// The plan, as TOML.
    pub plan: String,
    /// Its parameters in one line.
    pub about: String,
    /// Editable plan.
    pub(crate) draft: Draft,
    /// Parameters it was built from.
    pub(crate) base: Base,
    /// Properties that the plan cannot express.
    pub(crate) patch: Patch,
}

/// Ids of all causes of worlds.
pub const CAUSES: &[&str] = causes::IDS;

/// World of `cause` with this seed. It is the first draw whose label holds, or the last one of
/// eight.
///
/// # Panics
/// If `cause` is none of [`CAUSES`].
pub fn world(cause: &str, seed: u64, paths: Paths) -> GradedWorld {
    let recipe = RECIPES
        .iter()
        .find(|recipe| recipe.id == cause)
        .unwrap_or_else(|| panic!("no world has the cause `{cause}`"));
    let mut world = draw_world(recipe, seed, 0, paths);
    for sub_seed in 1..MAX_DRAWS {
        if world.check().is_ok() {
            break;
        }
        world = draw_world(recipe, seed, sub_seed, paths);
    }
    world
}

/// First draw of `cause` with this seed, whether its label holds or not.
pub(crate) fn first_draw(cause: &str, seed: u64, paths: Paths) -> Option<GradedWorld> {
    let recipe = RECIPES.iter().find(|recipe| recipe.id == cause)?;
    Some(draw_world(recipe, seed, 0, paths))
}

/// Draws one world, whether its label holds or not.
fn draw_world(recipe: &Recipe, seed: u64, sub_seed: u64, paths: Paths) -> GradedWorld {
    let mut draw = Draw::new(root(recipe.id, seed, sub_seed));
    let mut base = Base::draw(&mut draw, paths, recipe.needs);
    if recipe.id == "no-window-scaling" {
        base.stretch(draw.between(150e3, 400e3));
    }
    let (mut draft, mut patch) = base::healthy(&mut draw, &base);
    let name = format!("{}-{seed}", recipe.id);
    draft
        .top
        .set("name", Value::Word(name))
        .set("duration", Value::seconds(120.0));
    let mut site = Site {
        draw: &mut draw,
        base: &base,
        draft: &mut draft,
        patch: &mut patch,
    };
    (recipe.inject)(&mut site);
    let added = (paths == Paths::Elements).then(|| elements::add(recipe.id, seed, &mut site));
    // A list of packets defines the lost ones there, whichever host sent them.
    let is_listed = draft
        .forward
        .iter()
        .any(|hop| hop.find("lose_packets").is_some());
    if paths == Paths::Shared && recipe.id != "cross-traffic" && !is_listed {
        let count = draw.pick(&[1, 2, 3]);
        base::others(&mut draw, &base, &mut draft, count, Some([0.02, 0.1]));
    }
    let mut world = GradedWorld::new(recipe.id, seed, paths, draft, base, patch);
    if let Some(added) = added {
        world.about = format!("{added}; {}", world.about);
    }
    world
}

/// Seed of a world's random numbers, different for each cause (FNV-1a).
fn root(cause: &str, seed: u64, sub_seed: u64) -> u64 {
    let mix = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
    let numbers = [seed.to_le_bytes(), sub_seed.to_le_bytes()].concat();
    let octets = cause.bytes().chain(numbers);
    octets.fold(0xcbf2_9ce4_8422_2325, mix)
}

impl GradedWorld {
    /// World of this plan.
    fn new(
        cause: &'static str,
        seed: u64,
        paths: Paths,
        draft: Draft,
        base: Base,
        patch: Patch,
    ) -> Self {
        let mut world = Self {
            cause,
            seed,
            paths,
            plan: draft.to_toml(),
            about: String::new(),
            draft,
            base,
            patch,
        };
        world.about = world.describe();
        world
    }

    /// Captures at the sender, at the receiver and mid-path, as pcapng.
    ///
    /// # Errors
    /// If the plan cannot be read or built, or a capture cannot be written.
    pub fn captures(&self) -> Result<[Vec<u8>; 3], String> {
        views::captures(self.config()?, &self.patch, self.seed)
    }

    /// Runs the world without captures and returns its goodput in bits per second.
    ///
    /// # Errors
    /// If the plan cannot be read or built.
    pub fn goodput_bps(&self) -> Result<f64, String> {
        self.facts().map(|facts| facts.goodput_bps)
    }

    /// Runs the world without captures and returns the simulator's counters.
    ///
    /// # Errors
    /// If the plan cannot be read or built.
    pub fn facts(&self) -> Result<Facts, String> {
        facts::of(self.config()?)
    }

    /// Checks the label by the simulator's counters, and by lifting its cause.
    ///
    /// # Errors
    /// The condition that does not hold.
    pub fn check(&self) -> Result<Facts, String> {
        let facts = self.facts()?;
        labels::check(self.cause, &facts)?;
        if let Some(lifted) = lift(self, self.cause) {
            let gain = lifted.goodput_bps()? / facts.goodput_bps.max(1.0);
            let wanted = labels::min_gain(self.cause);
            if gain < wanted {
                return Err(format!(
                    "{}: lifted, goodput rises by a factor of {gain:.2} only; {facts:?}",
                    self.cause
                ));
            }
            let rival = labels::rival(self.cause)
                .and_then(|rival| lift(self, rival))
                .map_or(Ok(0.0), |rival| rival.goodput_bps())?;
            if rival > gain * facts.goodput_bps {
                return Err(format!("{}: lifting another brings more", self.cause));
            }
        }
        Ok(facts)
    }

    /// Cause that a capture at `place` can show.
    ///
    /// Behind a path MTU black hole a capture shows that no data arrived, but not why.
    pub fn truth(&self, place: CapturePoint) -> &'static str {
        let sees_data = matches!(place, CapturePoint::Sender | CapturePoint::Both);
        if self.cause == "pmtu-black-hole" && !sees_data {
            "unknown"
        } else {
            self.cause
        }
    }

    /// More precise causes of the same kind.
    ///
    /// An application that sends requests waits for responses, or thinks.
    pub fn finer(&self) -> &'static [&'static str] {
        let application = self.draft.flows[0].find("application");
        match application {
            Some(Value::Word(words)) if words.starts_with("request-response") => {
                &["client-think-time", "request-response-rtt"]
            }
            _ => &[],
        }
    }

    /// A copy of the world with an edited plan.
    pub(crate) fn edited(&self, edit: impl FnOnce(&mut Draft, &mut Patch)) -> Self {
        let mut world = self.clone();
        edit(&mut world.draft, &mut world.patch);
        world.plan = world.draft.to_toml();
        world
    }

    pub(crate) fn config(&self) -> Result<WorldConfig, String> {
        let plan = gigatcp_plan::parse("world", self.plan.as_bytes(), &[])
            .map_err(|findings| format!("{findings}\n{}", self.plan))?;
        let mut config = world_of(&plan, None, self.seed).ok_or("the plan has no series")?;
        self.patch.apply(&mut config);
        Ok(config)
    }

    fn describe(&self) -> String {
        let base = &self.base;
        let says = |table: &Table, key: &str| {
            let value = table.find(key).map(Value::to_string);
            value.unwrap_or_else(|| "default".into()).replace('"', "")
        };
        let flow = &self.draft.flows[0];
        format!(
            "{:.1} Mbit/s, {:.1} ms, MTU {}, {}, pacing {}, offload {}, timestamps {}, sack {}, \
             ack_every {}, coalesce {}, queue {}, {} others",
            base.rate / 1e6,
            base.rtt * 1e3,
            base.mtu,
            says(flow, "congestion_control"),
            says(&self.draft.sender, "pacing"),
            says(&self.draft.sender, "segmentation_offload"),
            says(&self.draft.sender, "timestamps"),
            says(&self.draft.sender, "sack"),
            says(&self.draft.receiver, "ack_every"),
            says(&self.draft.receiver, "coalesce"),
            says(&self.draft.forward[BOTTLENECK], "queue"),
            self.draft.flows.len() - 1
        )
    }
}
