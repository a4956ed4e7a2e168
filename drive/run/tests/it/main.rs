//! Tests of `gigatcp-run` through its public interface, in one program: it is compiled and linked once.

mod account;
mod capture;
mod captured;
mod determinism;
mod fixes;
mod further;
mod predictions;
mod queues;
mod send_buffer;
mod sweep;
mod why_at_the_sender;
mod why_of_2001;
