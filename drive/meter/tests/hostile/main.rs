//! Limits of a server against any client: `docs/guide/server.md`, number by number.
//!
//! | file | limit |
//! |---|---|
//! | `cookies.rs` | one test for each cookie |
//! | `defaults.rs` | the limits by default |
//! | `leftovers.rs` | what is left of a test that has ended |
//! | `logins.rs` | names and passwords |
//! | `memory.rs` | memory of tests and messages |
//! | `process.rs` | a server in a process of its own |
//! | `rates.rs` | the total rate |
//! | `slots.rs` | idle and endless tests, pending connections |
//! | `stamp.rs` | test packets of STAMP |
//! | `stranger.rs` | a client of iperf3's protocol that sends what it likes |
//! | `trains.rs` | packet trains |
//! | `transactions.rs` | requests and responses on many connections |

#[path = "../common/mod.rs"]
mod common;
mod cookies;
mod defaults;
mod leftovers;
mod logins;
mod memory;
#[cfg(target_os = "linux")]
mod process;
mod rates;
mod slots;
mod stamp;
mod stranger;
mod trains;
mod transactions;
