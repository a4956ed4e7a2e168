//! Tests of `gigatcp-report` through its public interface, in one program: it is compiled and linked once.

mod brief;
#[path = "../connection/mod.rs"]
mod connection;
mod contrast;
mod graph;
mod page;
mod published;
mod reproduction;
#[path = "../sample/mod.rs"]
mod sample;
mod sweep;
mod text;
