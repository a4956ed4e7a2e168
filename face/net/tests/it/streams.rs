//! The interface of streams: halves, half-close, peek, readiness, options, cancellation.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpSocket, TcpStream, lookup_host, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (near, far) = tokio::join!(TcpStream::connect(at), listener.accept());
    (near.unwrap(), far.unwrap().0)
}

#[test]
fn half_close_ends_one_direction_and_not_the_other() {
    run(1, async {
        let (mut near, mut far) = pair().await;
        near.write_all(b"question").await.unwrap();
        near.shutdown().await.unwrap();
        let mut question = Vec::new();
        far.read_to_end(&mut question).await.unwrap();
        assert_eq!(question, b"question");
        sleep(Duration::from_secs(300)).await;
        far.write_all(b"late answer").await.unwrap();
        drop(far);
        let mut answer = Vec::new();
        near.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"late answer");
    });
}

#[test]
fn halves_work_in_two_tasks_and_reunite() {
    run(1, async {
        let (near, mut far) = pair().await;
        let (read, mut write) = near.into_split();
        let writer = tokio::spawn(async move {
            write.write_all(b"hello").await.unwrap();
            write
        });
        let write = writer.await.unwrap();
        let mut near = read.reunite(write).unwrap();
        let mut buffer = [0; 5];
        far.read_exact(&mut buffer).await.unwrap();
        far.write_all(b"world").await.unwrap();
        near.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"world");
        let (other, _) = pair().await;
        let (read, _write) = near.into_split();
        let (_read, write) = other.into_split();
        assert!(read.reunite(write).is_err());
    });
}

#[test]
fn dropped_write_half_ends_the_stream_and_a_dropped_read_half_does_not() {
    run(1, async {
        let (near, mut far) = pair().await;
        let (read, write) = near.into_split();
        drop(read);
        sleep(Duration::from_millis(5)).await;
        assert_eq!(
            far.try_read(&mut [0; 1]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        drop(write);
        assert_eq!(far.read(&mut [0; 1]).await.unwrap(), 0);
    });
}

#[test]
fn peek_and_readiness_consume_nothing() {
    run(1, async {
        let (mut near, mut far) = pair().await;
        assert_eq!(
            far.try_read(&mut [0; 9]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        let ready = near
            .ready(Interest::READABLE | Interest::WRITABLE)
            .await
            .unwrap();
        assert!(ready.is_writable() && !ready.is_readable());
        near.write_all(b"hello").await.unwrap();
        far.readable().await.unwrap();
        let mut buffer = [0; 9];
        assert_eq!(far.peek(&mut buffer).await.unwrap(), 5);
        assert_eq!(far.peek(&mut buffer[..2]).await.unwrap(), 2);
        assert_eq!(far.try_read(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"hello");
        near.shutdown().await.unwrap();
        let ready = far.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_readable());
        assert_eq!(far.read(&mut buffer).await.unwrap(), 0);
        let ready = far.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_read_closed());
    });
}

#[test]
fn full_send_buffer_blocks_until_the_peer_reads() {
    run(1, async {
        let (near, mut far) = pair().await;
        let mut written = 0;
        while let Ok(len) = near.try_write(&[7; 10_000]) {
            written += len;
            sleep(Duration::from_millis(1)).await;
        }
        assert!(written > 100_000, "{written} bytes");
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; written];
            far.read_exact(&mut buffer).await.unwrap();
            far
        });
        near.writable().await.unwrap();
        assert!(near.try_write(&[7; 10]).is_ok());
        reader.await.unwrap();
    });
}

#[test]
fn options_are_kept_and_buffers_are_as_requested() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(20_000).unwrap();
        socket.set_send_buffer_size(30_000).unwrap();
        socket.set_nodelay(true).unwrap();
        let stream = socket
            .connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        assert!(stream.nodelay().unwrap());
        stream.set_nodelay(false).unwrap();
        assert!(!stream.nodelay().unwrap());
        assert_eq!(stream.ttl().unwrap(), 64);
        stream.set_ttl(9).unwrap();
        assert_eq!(stream.ttl().unwrap(), 9);
        assert!(stream.set_ttl(0).is_err());
        stream.set_linger(Some(Duration::from_secs(1))).unwrap();
        assert_eq!(stream.linger().unwrap(), Some(Duration::from_secs(1)));
        let info = stream.tcp_info().unwrap();
        let (send, receive) = info.buffers_requested;
        assert_eq!(send.unwrap().as_u64(), 30_000);
        assert_eq!(receive.unwrap().as_u64(), 20_000);
        assert!(info.srtt.is_some());
    });
}

#[test]
fn names_of_hosts_resolve() {
    let net = Net::new(1);
    net.host("server", |_| async {});
    net.client("client", |host| async move {
        let addresses: Vec<_> = lookup_host("server:80").await.unwrap().collect();
        let known = host.net().addresses("server");
        assert_eq!(addresses.len(), 2);
        assert!(addresses.iter().all(|at| known.contains(&at.ip())));
        let local: Vec<_> = lookup_host(("localhost", 80)).await.unwrap().collect();
        assert!(local.iter().all(|at| at.ip().is_loopback()));
        assert!(lookup_host("example.org:80").await.is_err());
    });
    net.run().unwrap();
}

#[test]
fn connection_over_ipv6_carries_bytes() {
    let net = Net::new(1);
    net.client("server", |_| async {
        let listener = TcpListener::bind("[::]:80").await?;
        let (mut stream, peer) = listener.accept().await?;
        assert!(peer.is_ipv6());
        stream.write_all(b"six").await
    });
    net.client("client", |host| async move {
        let at = (host.net().addresses("server")[1], 80);
        let mut text = String::new();
        TcpStream::connect(at)
            .await?
            .read_to_string(&mut text)
            .await?;
        assert_eq!(text, "six");
        io::Result::Ok(())
    });
    net.link("client", "server", "rate=10Mbit/s rtt=10ms");
    net.run().unwrap();
}

/// Writes until that would block; returns the number of bytes.
fn fill(stream: &TcpStream) -> usize {
    let mut written = 0;
    loop {
        match stream.try_write(&[7; 100_000]) {
            Ok(len) => written += len,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return written;
            }
        }
    }
}

/// Reads until that would block; returns the number of bytes.
fn drain(stream: &TcpStream) -> usize {
    let mut read = 0;
    loop {
        match stream.try_read(&mut [0; 100_000]) {
            Ok(0) => return read,
            Ok(len) => read += len,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return read;
            }
        }
    }
}

/// Whether the future is ready at its first poll.
async fn is_ready<F: Future>(future: F) -> bool {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

#[test]
fn stream_seems_ready_until_an_operation_would_block() {
    run(1, async {
        let (mut near, mut far) = pair().await;
        assert!(!is_ready(near.readable()).await);
        assert!(is_ready(far.readable()).await);
        assert_eq!(drain(&far), 0);
        assert!(!is_ready(far.readable()).await);
        near.write_all(b"ping").await.unwrap();
        far.read_exact(&mut [0; 4]).await.unwrap();
        assert!(is_ready(far.readable()).await);
        assert_eq!(drain(&far), 0);
        assert!(!is_ready(far.readable()).await);
        near.write_all(b"ping").await.unwrap();
        // Less than the buffer: no more is there.
        assert_eq!(far.read(&mut [0; 5]).await.unwrap(), 4);
        assert!(!is_ready(far.readable()).await);
        while near.try_write(&[7; 1_000]).is_ok() {
            assert!(is_ready(near.writable()).await);
        }
        assert!(!is_ready(near.writable()).await);
    });
}

#[test]
fn filled_stream_is_writable_once_it_was_drained() {
    run(1, async {
        let (near, far) = pair().await;
        let written = fill(&near);
        let mut writable = pin!(near.ready(Interest::WRITABLE));
        assert!(!is_ready(writable.as_mut()).await);
        let mut read = 0;
        while read < written {
            far.readable().await.unwrap();
            read += drain(&far);
        }
        assert!(!writable.await.unwrap().is_write_closed());
    });
}

#[test]
fn operation_that_would_block_although_ready_waits_for_an_event() {
    run(1, async {
        let (mut near, far) = pair().await;
        let begin = Instant::now();
        let mut calls = 0;
        let read = far.async_io(Interest::READABLE, || {
            calls += 1;
            far.try_read(&mut [0; 9])
        });
        let write = async {
            sleep(Duration::from_secs(1)).await;
            near.write_all(b"late").await
        };
        let (read, written) = tokio::join!(read, write);
        assert_eq!(read.unwrap(), 4);
        written.unwrap();
        assert_eq!(calls, 2);
        assert_eq!(begin.elapsed().as_secs(), 1);
    });
}

#[test]
fn task_that_only_yields_lets_packets_and_timers_come() {
    run(1, async {
        let (mut near, far) = pair().await;
        let begin = Instant::now();
        near.write_all(b"ping").await.unwrap();
        let mut buffer = [0; 4];
        while far.try_read(&mut buffer).is_err() {
            yield_now().await;
        }
        // The loopback's delay, and not the next millisecond.
        assert!(
            begin.elapsed() < Duration::from_millis(1),
            "{:?}",
            begin.elapsed()
        );
        let timer = tokio::spawn(sleep(Duration::from_millis(3)));
        while !timer.is_finished() {
            yield_now().await;
        }
        assert_eq!(begin.elapsed().as_millis(), 3);
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        let reader = tokio::spawn(async move {
            while far.try_read(&mut buffer).is_err() {
                yield_now().await;
            }
            sender.send(()).unwrap();
        });
        near.write_all(b"pong").await.unwrap();
        while receiver.try_recv().is_err() {
            yield_now().await;
        }
        reader.await.unwrap();
    });
}

#[test]
fn read_into_no_space_waits_and_takes_nothing() {
    run(1, async {
        let (mut near, mut far) = pair().await;
        assert!(!is_ready(far.read(&mut [])).await);
        assert!(!is_ready(far.peek(&mut [])).await);
        assert!(far.try_read(&mut []).is_err());
        near.write_all(b"ping").await.unwrap();
        assert_eq!(far.read(&mut []).await.unwrap(), 0);
        assert_eq!(far.peek(&mut []).await.unwrap(), 0);
        assert_eq!(far.try_read(&mut []).unwrap(), 0);
        assert_eq!(drain(&far), 4);
        near.shutdown().await.unwrap();
        assert_eq!(far.read(&mut []).await.unwrap(), 0);
    });
}

#[test]
fn vectored_read_fills_one_buffer_after_the_other() {
    run(1, async {
        let (mut near, far) = pair().await;
        near.write_all(b"ab").await.unwrap();
        near.write_all(b"cde").await.unwrap();
        sleep(Duration::from_millis(5)).await;
        let (mut none, mut first, mut second) = ([], [0; 3], [0; 9]);
        let mut buffers = [&mut none[..], &mut first[..], &mut second[..]].map(io::IoSliceMut::new);
        assert_eq!(far.try_read_vectored(&mut buffers).unwrap(), 5);
        assert_eq!((&first, &second[..3]), (b"abc", &b"de\0"[..]));
    });
}

#[test]
fn readiness_tells_of_the_fin_before_its_data_are_read() {
    run(1, async {
        let (mut near, mut far) = pair().await;
        near.write_all(b"last").await.unwrap();
        near.shutdown().await.unwrap();
        // The other direction is open: writing is over with both.
        let ready = near.ready(Interest::WRITABLE).await.unwrap();
        assert!(ready.is_writable() && !ready.is_write_closed());
        sleep(Duration::from_millis(5)).await;
        let ready = far.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_read_closed());
        assert_eq!(drain(&far), 4);
        far.shutdown().await.unwrap();
        sleep(Duration::from_millis(5)).await;
        for end in [&mut near, &mut far] {
            let ready = end.ready(Interest::WRITABLE).await.unwrap();
            assert!(ready.is_write_closed());
            // In TIME-WAIT, and closed.
            assert_eq!(end.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
        }
    });
}

#[test]
fn two_hosts_that_connect_to_each_other_both_succeed() {
    let net = Net::new(1);
    net.link("left", "right", "rate=10Mbit/s rtt=20ms");
    for (name, peer) in [("left", "right"), ("right", "left")] {
        net.client(name, move |host| async move {
            let socket = TcpSocket::new_v4()?;
            socket.bind((host.ip(), 5000).into())?;
            let peer = host.net().addresses(peer)[0];
            let mut stream = socket.connect((peer, 5000).into()).await?;
            stream.write_all(b"hello").await?;
            stream.shutdown().await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            assert_eq!(text, "hello");
            io::Result::Ok(())
        });
    }
    net.run().unwrap();
}

#[test]
fn socket_that_connects_to_itself_receives_what_it_sends() {
    run(1, async {
        let at = "127.0.0.1:5000".parse().unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(at).unwrap();
        let mut stream = socket.connect(at).await.unwrap();
        assert_eq!(stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        stream.write_all(b"hello").await.unwrap();
        let mut text = String::new();
        stream.shutdown().await.unwrap();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
    });
}

/// An echo server written for no runtime.
async fn echo(mut stream: impl futures_io::AsyncRead + futures_io::AsyncWrite + Unpin) {
    let mut buffer = [0; 1000];
    loop {
        let read = poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut buffer)).await;
        let mut rest = &buffer[..read.unwrap()];
        if rest.is_empty() {
            break;
        }
        while !rest.is_empty() {
            let written = poll_fn(|context| Pin::new(&mut stream).poll_write(context, rest));
            rest = &rest[written.await.unwrap()..];
        }
    }
    poll_fn(|context| Pin::new(&mut stream).poll_close(context))
        .await
        .unwrap();
}

#[gigatcp_net::test]
async fn traits_of_futures_echo_a_megabyte() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = async { echo(listener.accept().await.unwrap().0).await };
    let client = async {
        let (mut reader, mut writer) = TcpStream::connect(at).await.unwrap().into_split();
        let octets: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        let write = async {
            writer.write_all(&octets).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let mut echoed = Vec::new();
        let (read, ()) = tokio::join!(reader.read_to_end(&mut echoed), write);
        assert_eq!(read.unwrap(), 1_000_000);
        assert_eq!(echoed, octets);
    };
    tokio::join!(server, client);
}
