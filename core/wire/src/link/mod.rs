//! From the first octet of a captured packet to its TCP segment: so far, the
//! numbers of link types.
mod link_type;

pub use link_type::LinkType;
