//! The world in virtual time.
//!
//! A discrete-event loop around the pure elements: engines at both ends,
//! hosts with processors and network cards, hops between them. Integer
//! nanoseconds; packets wait in the hops' own queues, so the schedule holds
//! one entry per element, never one per packet.
//!
//! * [`config`]: what a world is made of.
//! * [`world`]: the loop around network and hosts.
//! * [`outcome`]: what comes out of it.
//! * [`host`]: processor, network card, sockets, applications.
//! * [`packet`]: what travels.
//! * [`meter`]: the tester's clock and intervals.
//! * [`observe`]: samples, time-sequence data.
//! * [`account`]: attributes each instant of a sender to a cause.
//!
//! A flow has a pair of hosts to itself, or shares hosts with others
//! ([`FlowConfig::from`]), and takes the links it names ([`FlowConfig::via`]); without
//! such names all flows meet on one path (a dumbbell). Background traffic is a flow like
//! any other.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod account;
pub mod address;
pub mod config;
mod ends;
mod fragments;
pub mod host;
mod ledger;
pub mod meter;
pub mod observe;
pub mod outcome;
pub mod packet;
mod populate;
mod routes;
mod short_flows;
pub mod world;

pub use config::{
    ArrivalsConfig, DatagramsConfig, FlowConfig, HostConfig, Observe, Reader, Scheduling, Stop,
    Supply, Via, WorldConfig,
};
pub use outcome::{DatagramsOutcome, FlowOutcome, Outcome};
pub use short_flows::ArrivalsOutcome;
pub use world::{Ended, Tap, World};
