//! Tests of `gigatcp-meter` through its public interface, in one program: it is compiled and linked once.

#[path = "../common/mod.rs"]
mod common;
mod engine;
mod host;
mod nuttcp_server;
mod rules;
mod server;
mod stock_nuttcp;
mod stock_server;
