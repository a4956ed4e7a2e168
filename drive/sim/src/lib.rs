//! Simulation of TCP connections in virtual time.
//!
//! A discrete-event loop around the pure elements: engines at both ends, hosts with CPUs and
//! network cards, hops between them. Time is in integer nanoseconds. Packets wait in the hops' own
//! queues, so the schedule holds one entry per element, never one per packet.
//!
//! * [`config`]: the configuration of a simulation.
//! * [`world`]: the loop around network and hosts.
//! * [`outcome`]: the results of a simulation.
//! * [`host`]: CPUs, network card, sockets, applications.
//! * [`packet`]: packets on the path.
//! * [`segment_on_path`]: effects of path elements on a segment, whatever its payload.
//! * [`meter`]: the tester's clock and intervals.
//! * [`observe`]: samples at regular intervals.
//! * [`account`]: attributes each instant of a sender to a cause.
//!
//! A flow has its own pair of hosts, or shares hosts with others ([`FlowConfig::from`]). It takes
//! the links it names ([`FlowConfig::via`]). Without such names all flows share one path (a
//! dumbbell). Background traffic is a flow like any other.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod account;
pub mod address;
pub mod config;
mod ends;
pub mod host;
mod ledger;
pub mod meter;
pub mod observe;
pub mod outcome;
pub mod packet;
mod populate;
mod reassembly;
mod routes;
mod samples;
pub mod segment_on_path;
mod short_flows;
pub mod world;

pub use config::{
    FlowConfig, HostConfig, Observe, Reader, Scheduling, Stop, Supply, Via, WorldConfig,
};
pub use outcome::{DatagramsOutcome, FlowOutcome, Outcome};
pub use short_flows::ArrivalsOutcome;
pub use world::{EndReason, Tap, World};
