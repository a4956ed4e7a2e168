//! Memory of a connection.

use gigatcp_tcp::Connection;
use gigatcp_wire::Octets;

#[test]
fn a_connection_is_at_most_1528_bytes() {
    let size = size_of::<Connection<Octets>>();
    assert!(size <= 1528, "{size} bytes");
}
