//! Host settings that limit TCP on a path: facts in, findings with costs out.
//!
//! [`HostFacts`] holds every value that was read from a host, [`Path`] the path that the user
//! describes. [`examine`] applies the rules ([`RULES`], one file each) and returns a [`Report`]:
//! findings with the costliest first, and the facts that rules need and that could not be read.
//!
//! A finding states a ceiling in bit/s only where a law gives one ([`law`]): window over RTT, the
//! response to loss of the congestion control, ring × MSS, CPU time per packet. The cost is the
//! rate of the path less the ceiling; each finding is costed as if it were the only one.
//!
//! Out of scope: reading a host (the drive ring does that), and changing one.

pub mod facts;
mod finding;
pub mod law;
mod path;
mod report;
mod rules;
pub mod shell;

pub use facts::HostFacts;
pub use finding::{Change, Finding};
pub use path::{Direction, Path};
pub use report::{Advice, CostedFinding, Missing, Report, examine};
pub use rules::{RULES, Rule, find};
