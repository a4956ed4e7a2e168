//! The engine against a peer made by hand, packet by packet, in virtual time.

mod challenge;
mod close;
mod delayed_ack;
mod fast_open;
mod hostile;
mod limits;
mod listener;
mod listener_fast_open;
mod listener_world;
mod nagle;
mod notation;
mod open;
mod pair;
mod persist;
mod recovery;
mod reset;
mod retransmission;
mod sack;
mod script;
mod syn_cookies;
mod syn_text;
mod time_wait;
mod timestamps;
mod window;
mod world;
