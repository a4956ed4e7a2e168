//! Tests of `gigatcp-path` through its public interface, in one program: it is compiled and linked once.

mod ack_filter;
mod changes;
mod common;
mod corruption;
mod elements;
mod forms;
mod hop;
mod marking;
mod network;
mod policer;
mod queueing_theory;
mod reference;
mod shared_medium;
mod sojourn;
mod super_packets;
mod too_big;
