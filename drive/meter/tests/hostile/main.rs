//! Limits of a server against any client: `docs/guide/server.md`, number by number.
//!
//! | file | limit |
//! |---|---|
//! | `cookies.rs` | one test for each cookie |
//! | `leftovers.rs` | what is left of a test that has ended |
//! | `logins.rs` | names and passwords |
//! | `memory.rs` | memory of tests and messages |
//! | `process.rs` | a server in a process of its own |
//! | `rates.rs` | the total rate |
//! | `silent_servers.rs` | the wait of a client for a server that stops answering |
//! | `sites.rs` | shares of the links and sites of IPv6 |
//! | `slots.rs` | idle and endless tests, pending connections, notices of refusals |
//! | `stamp.rs` | test packets of STAMP |
//! | `stranger.rs` | a client of iperf3's protocol that sends what it likes |
//! | `trains.rs` | packet trains |
//! | `transactions.rs` | requests and responses on many connections |
//! | `vanished.rs` | datagrams to a client that is gone |
//!
//! What other commands of a user are exposed to is tested where they are: slow readers of `watch
//! --open-metrics` in its `metrics.rs`, a capture that is truncated while it is read in
//! `face/cli/tests/it/flows.rs`, a killed `emulate --uplink` in `face/cli/tests/emulate_uplink.rs`.

#[path = "../common/mod.rs"]
mod common;
mod cookies;
mod leftovers;
mod logins;
mod memory;
#[cfg(target_os = "linux")]
mod process;
mod rates;
mod silent_servers;
#[cfg(target_os = "linux")]
mod sites;
mod slots;
mod stamp;
mod stranger;
mod trains;
mod transactions;
#[cfg(target_os = "linux")]
mod vanished;
