//! The engine against a peer made by hand, packet by packet, in virtual time.

mod close;
mod notation;
mod open;
mod reset;
mod script;
