//! Tests of `gigatcp-flows` through its public interface, in one program: it is compiled and linked once.

mod clocks;
mod datagrams;
mod packets;
mod prediction;
