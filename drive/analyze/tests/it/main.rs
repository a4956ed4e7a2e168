//! Tests of `gigatcp-analyze` through its public interface, in one program: it is compiled and linked once.

mod answers;
mod packet_list;
mod reports;
mod strangers;
mod windows;
