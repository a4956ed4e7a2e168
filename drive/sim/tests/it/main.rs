//! Tests of `gigatcp-sim` through its public interface, in one program: it is compiled and linked once.

mod accounts;
mod ack_filter;
mod applications;
mod bbr;
mod cake;
mod canary;
mod clocks;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod corruption;
mod dctcp;
mod ethernet;
mod flows;
mod found;
mod fragments;
mod highspeed;
mod hosts;
mod identification;
mod listening;
mod marks;
mod memory_passes;
mod middlebox;
mod outage;
mod path_mtu;
mod populations;
mod processors;
mod receive_queues;
mod rings;
mod routers;
mod slow_start;
#[path = "../swarm/mod.rs"]
mod swarm;
mod transfer;
