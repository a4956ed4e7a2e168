//! What a stranger can make a server do, at most: `docs/guide/server.md`, number by number.
//!
//! | file | limit |
//! |---|---|
//! | `cookies.rs` | one test for each cookie |
//! | `stranger.rs` | a client of iperf3's protocol that sends what it likes |

#[path = "../common/mod.rs"]
mod common;
mod cookies;
mod stranger;
