//! Does the advice of `doctor` come true? Hosts with wrong settings, what `--try` makes of them,
//! and the tuning known to be good.
//!
//! A seed draws a path and one or two wrong settings; every fourth one none. Each host has
//! network namespaces of its own (`gigatcp emulate`), in which the steps of `host.rs` run and
//! keep their results.
//!
//! | file | content |
//! |---|---|
//! | `faults.rs` | the wrong settings |
//! | `world.rs` | what a seed draws |
//! | `host.rs` | the steps within the namespace |
//! | `score.rs` | what came true |

pub mod faults;
pub mod host;
pub mod score;
pub mod world;
