//! Tests of `gigatcp` through its command line that need neither namespace nor server, in one program: it
//! is compiled and linked once.

mod annotate;
mod flows;
mod many;
mod others;
mod run;
mod schema;
mod sweep;
mod words;
