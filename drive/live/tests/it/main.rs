//! Tests of `gigatcp-live` through its public interface, in one program: it is compiled and linked once.
//! `garbage.rs` and `tokio.rs` are programs of their own: one is killed, the other counts its threads.

#[path = "../common/mod.rs"]
mod common;
mod device;
mod endings;
mod ethernet;
mod many;
mod streams;
mod transfer;
