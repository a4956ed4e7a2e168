//! Tests of `gigatcp-wire` through its public interface, in one program: it is compiled and linked once.

mod etherparse_oracle;
mod link_oracle;
mod round_trips;
mod smoltcp_oracle;
