//! What a connection costs in memory.

use gigatcp_tcp::Connection;
use gigatcp_wire::Octets;

#[test]
fn a_connection_is_at_most_1808_bytes() {
    let size = size_of::<Connection<Octets>>();
    assert!(size <= 1808, "{size} bytes");
}
