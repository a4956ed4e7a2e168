//! Errors and their kinds, as a kernel gives them.

use std::io::ErrorKind;
use std::time::Duration;

use gigatcp_net::{Crash, Net, TcpListener, TcpSocket, TcpStream, UdpSocket, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

/// A connection over the loopback.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (near, far) = tokio::join!(TcpStream::connect(at), listener.accept());
    (near.unwrap(), far.unwrap().0)
}

async fn read_error(stream: &mut TcpStream) -> ErrorKind {
    stream.read(&mut [0; 10]).await.unwrap_err().kind()
}

async fn write_error(stream: &mut TcpStream) -> ErrorKind {
    stream.write(b"more").await.unwrap_err().kind()
}

#[test]
fn connect_without_listener_is_refused() {
    run(1, async {
        let error = TcpStream::connect("127.0.0.1:9").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        // The last address counts, as in tokio.
        let error = TcpStream::connect("localhost:9").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn reset_is_reported_once_and_then_reading_ends() {
    run(1, async {
        let (mut near, far) = pair().await;
        far.set_zero_linger().unwrap();
        drop(far);
        assert_eq!(read_error(&mut near).await, ErrorKind::ConnectionReset);
        assert_eq!(near.read(&mut [0; 10]).await.unwrap(), 0);
        assert_eq!(write_error(&mut near).await, ErrorKind::BrokenPipe);
        assert_eq!(
            near.peer_addr().unwrap_err().kind(),
            ErrorKind::NotConnected
        );
        assert!(near.local_addr().is_ok());
    });
}

#[test]
fn write_to_a_reset_connection_is_a_reset_and_then_a_broken_pipe() {
    run(1, async {
        let (mut near, far) = pair().await;
        far.set_zero_linger().unwrap();
        drop(far);
        sleep(Duration::from_millis(5)).await;
        assert_eq!(write_error(&mut near).await, ErrorKind::ConnectionReset);
        assert_eq!(write_error(&mut near).await, ErrorKind::BrokenPipe);
    });
}

#[test]
fn write_to_a_closed_peer_succeeds_once_and_is_then_a_broken_pipe() {
    run(1, async {
        let (mut near, far) = pair().await;
        drop(far);
        sleep(Duration::from_millis(5)).await;
        // The kernel accepts it; the peer's reset comes back.
        near.write_all(b"lost").await.unwrap();
        sleep(Duration::from_millis(5)).await;
        assert_eq!(write_error(&mut near).await, ErrorKind::BrokenPipe);
        assert_eq!(near.read(&mut [0; 10]).await.unwrap(), 0);
    });
}

#[test]
fn error_taken_after_fin_and_reset_is_a_broken_pipe() {
    run(1, async {
        let (mut near, far) = pair().await;
        drop(far);
        sleep(Duration::from_millis(5)).await;
        near.write_all(b"lost").await.unwrap();
        sleep(Duration::from_millis(5)).await;
        let error = near.take_error().unwrap().unwrap();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert!(near.take_error().unwrap().is_none());
    });
}

#[test]
fn drop_with_unread_data_resets_the_peer() {
    run(1, async {
        let (mut near, far) = pair().await;
        near.write_all(b"unread").await.unwrap();
        sleep(Duration::from_millis(5)).await;
        drop(far);
        assert_eq!(read_error(&mut near).await, ErrorKind::ConnectionReset);
    });
}

#[test]
fn dropped_listener_resets_connections_that_were_not_accepted() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let mut near = TcpStream::connect("127.0.0.1:80").await.unwrap();
        sleep(Duration::from_millis(5)).await;
        drop(listener);
        assert_eq!(read_error(&mut near).await, ErrorKind::ConnectionReset);
    });
}

#[test]
fn write_after_shutdown_is_a_broken_pipe() {
    run(1, async {
        let (mut near, _far) = pair().await;
        near.shutdown().await.unwrap();
        assert_eq!(write_error(&mut near).await, ErrorKind::BrokenPipe);
        assert_eq!(
            near.try_write(b"x").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
    });
}

#[test]
fn port_of_a_listener_is_in_use_and_free_after_it() {
    run(1, async {
        let first = TcpListener::bind("127.0.0.1:80").await.unwrap();
        for at in ["127.0.0.1:80", "0.0.0.0:80"] {
            let error = TcpListener::bind(at).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse, "{at}");
        }
        assert!(TcpListener::bind("[::1]:80").await.is_ok());
        drop(first);
        assert!(TcpListener::bind("0.0.0.0:80").await.is_ok());
        let foreign = TcpListener::bind("10.9.9.9:80").await.unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::AddrNotAvailable);
        let _socket = UdpSocket::bind("127.0.0.1:80").await.unwrap();
        let error = UdpSocket::bind("0.0.0.0:80").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn second_connection_of_the_same_name_is_in_use() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let at = listener.local_addr().unwrap();
        let from = "127.0.0.1:40000".parse().unwrap();
        let connect = async || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(from).unwrap();
            socket.connect(at).await
        };
        let first = connect().await.unwrap();
        assert_eq!(first.local_addr().unwrap(), from);
        assert_eq!(connect().await.unwrap_err().kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn silent_peer_times_out_while_connecting_and_while_sending() {
    let net = Net::new(1);
    net.configure("client", "profile=linux-6.18");
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let _held = listener.accept().await?;
        std::future::pending::<std::io::Result<()>>().await
    });
    net.client("client", |host| async move {
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        let net = host.net();
        net.cut("client", "server");
        let start = Instant::now();
        stream.write_all(b"hello").await.unwrap();
        assert_eq!(read_error(&mut stream).await, ErrorKind::TimedOut);
        // tcp_retries2 of 15: 924.6 s at an RTO of 200 ms.
        let took = start.elapsed().as_secs();
        assert!((900..1000).contains(&took), "{took} s");
        // Of the two addresses of `server` one, so that there is one attempt.
        let at = (net.addresses("server")[0], 80);
        let start = Instant::now();
        let error = TcpStream::connect(at).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        // tcp_syn_retries of 6: 127 s, and 131 s with the linear timeouts of Linux 6.5.
        let took = start.elapsed().as_secs();
        assert!((120..140).contains(&took), "{took} s");
    });
    net.link("client", "server", "rtt=20ms");
    net.run().unwrap();
}

#[test]
fn host_without_a_link_is_unreachable() {
    let net = Net::new(1);
    net.host("server", |_| async {});
    net.client("client", |_| async {
        for to in ["server:80", "10.9.9.9:80"] {
            let error = TcpStream::connect(to).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{to}");
        }
        let error = TcpStream::connect("nobody:80").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
    net.run().unwrap();
}

#[test]
fn shutdown_of_a_finished_connection_does_nothing() {
    run(1, async {
        let (mut near, far) = pair().await;
        far.set_zero_linger().unwrap();
        drop(far);
        sleep(Duration::from_millis(5)).await;
        near.shutdown().await.unwrap();
        let failure = near.take_error().unwrap().unwrap();
        assert_eq!(failure.kind(), ErrorKind::ConnectionReset);
        assert!(near.take_error().unwrap().is_none());
    });
}

#[test]
fn read_of_a_crashed_peer_is_a_reset_or_silence_as_chosen() {
    for (crash, expected) in [
        (Crash::Reset, ErrorKind::ConnectionReset),
        (Crash::Vanish, ErrorKind::TimedOut),
    ] {
        let net = Net::new(1);
        net.host("server", |_| async {
            let listener = TcpListener::bind("0.0.0.0:80").await?;
            let _held = listener.accept().await?;
            std::future::pending::<std::io::Result<()>>().await
        });
        net.client("client", move |host| async move {
            let mut stream = TcpStream::connect("server:80").await.unwrap();
            host.net().crash("server", crash);
            stream.write_all(b"hello").await.unwrap();
            assert_eq!(read_error(&mut stream).await, expected);
        });
        net.link("client", "server", "rtt=20ms");
        net.run().unwrap();
    }
}

#[test]
fn backlog_that_is_full_makes_connects_wait_and_time_out() {
    run(1, async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:80".parse().unwrap()).unwrap();
        let listener = socket.listen(2).unwrap();
        let at = listener.local_addr().unwrap();
        let mut held = Vec::new();
        // Two, and one more as on Linux.
        for _ in 0..3 {
            held.push(TcpStream::connect(at).await.unwrap());
        }
        // SYNs are dropped while the queue is full, and retransmitted after a second.
        let late = tokio::spawn(TcpStream::connect(at));
        sleep(Duration::from_millis(500)).await;
        assert!(!late.is_finished());
        for _ in 0..3 {
            listener.accept().await.unwrap();
        }
        let start = Instant::now();
        assert!(late.await.unwrap().is_ok());
        assert!(start.elapsed() >= Duration::from_millis(400));
    });
}
