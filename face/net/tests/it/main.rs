//! Tests of the simulated network, as a program that uses it.

mod cancellation;
mod collapse;
mod datagrams;
mod determinism;
mod errors;
mod guide;
mod hosts;
mod http;
mod links;
mod matrix;
mod parity;
mod streams;
mod transfers;
mod watchdog;
