//! Tests of `gigatcp-why` through its public interface, in one program: it is compiled and linked once.

mod account;
mod capture_pair;
mod far_sender;
mod prediction;
