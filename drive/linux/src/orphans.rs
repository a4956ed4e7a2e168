//! Ends connections of the kernel that no longer have an owner.
//!
//! A socket closed with unsent bytes lives on: the kernel continues to send them (RFC 9293 section
//! 3.6). If the path is gone as well, it tries for two minutes. All that time the socket's bytes
//! count against the memory that all connections of the *machine* share (`tcp_mem`), other
//! namespaces included. A few aborted transfers over a long fat path can thus close the windows of
//! every other connection of the machine. The owner of a network therefore ends remaining
//! connections before removing it, by `SOCK_DESTROY` of `sock_diag(7)`.
//!
//! Out of scope: connections with an owner, which must close them.

use std::io;

use crate::sock_diag::SockDiag;

/// States of connections: all but `TIME-WAIT` and `LISTEN`.
const CONNECTED: u32 = !(1 << 6 | 1 << 10);

/// Ends all TCP connections of the calling thread's network namespace that no process has open.
/// Returns how many there were. Connections in `TIME-WAIT` are left, since they hold little memory.
///
/// # Errors
/// The kernel's error: no privilege, or built without `SOCK_DESTROY`.
pub fn end_orphans() -> io::Result<usize> {
    let mut diag = SockDiag::open()?;
    let mut orphans = Vec::new();
    diag.list(CONNECTED, |socket| {
        orphans.extend((socket.inode() == 0).then(|| socket.identity()));
    })?;
    // A connection that ended by itself meanwhile is gone as well.
    let ended = orphans.iter().filter(|orphan| diag.destroy(orphan).is_ok());
    Ok(ended.count())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use crate::Namespace;
    use crate::skip::or_skip;

    use super::*;

    /// Closes a connection with unsent bytes. Its peer does not read.
    fn leave_an_orphan() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        while sender.write(&[0; 65_536]).is_ok() {}
        peer
    }

    #[test]
    fn a_connection_nobody_owns_is_ended_and_one_with_an_owner_is_not() {
        let Some(namespace) = or_skip(Namespace::new()) else {
            return;
        };
        let work = || {
            let peer = leave_an_orphan();
            assert_eq!(end_orphans().unwrap(), 1);
            assert_eq!(end_orphans().unwrap(), 0, "it is gone");
            assert!(
                peer.peer_addr().is_err() || peer.take_error().unwrap().is_some(),
                "who had the other end was told"
            );
        };
        namespace.run(work).unwrap();
    }
}
