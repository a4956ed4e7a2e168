//! Streams for tasks, with tokio's own functions, between two stacks in one process. No privileges
//! are needed.

mod common;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use common::random;
use gigatcp_live::{AsyncListener, AsyncStream, Interface, Offloads, Options, Stack, Stream, Wire};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// Two connected stacks.
fn stacks() -> [Stack; 2] {
    let interface = |address: &str| Interface {
        offloads: Offloads::ALL,
        ..Interface::new([address.parse().unwrap()])
    };
    let ends = Wire::pair(interface("10.0.0.1"), interface("10.0.0.2")).unwrap();
    ends.map(|end| Stack::start(end).unwrap())
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], port))
}

fn listen(server: &Stack, options: &Options) -> AsyncListener {
    server.listen(at(80), options).unwrap().into()
}

/// Both ends of a connection from the first stack to the second.
async fn connection([client, server]: &[Stack; 2]) -> (AsyncStream, AsyncStream) {
    let options = Options::default();
    let listener = listen(server, &options);
    let ours = client.connect_async(at(80), &options).await.unwrap();
    let (theirs, peer) = listener.accept().await.unwrap();
    assert_eq!(ours.as_stream().local_addr().unwrap(), peer);
    (ours, theirs)
}

fn run<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    runtime.block_on(task)
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_proxy_copies_both_ways_until_both_have_ended() {
    let stacks = stacks();
    let octets = random(51, 3_000_000);
    run(async {
        let (ours, mut theirs) = connection(&stacks).await;
        let (mut proxied, behind) = tokio::io::duplex(10_000);
        tokio::spawn(async move {
            tokio::io::copy_bidirectional(&mut theirs, &mut proxied)
                .await
                .unwrap()
        });
        // Behind the proxy is an echo server.
        tokio::spawn(async move {
            let (mut read, mut write) = tokio::io::split(behind);
            tokio::io::copy(&mut read, &mut write).await.unwrap();
            write.shutdown().await.unwrap();
        });
        let (mut read, mut write) = tokio::io::split(ours);
        let sent = octets.clone();
        tokio::spawn(async move {
            write.write_all(&sent).await.unwrap();
            write.shutdown().await.unwrap();
        });
        let mut echo = Vec::new();
        let heard = read.read_to_end(&mut echo).await;
        assert_eq!(heard.unwrap(), octets.len());
        assert!(echo == octets);
    });
}

#[test]
fn a_read_that_is_given_up_loses_no_octet() {
    let stacks = stacks();
    run(async {
        let (mut ours, mut theirs) = connection(&stacks).await;
        let octets = random(52, 200_000);
        let sent = octets.clone();
        let writing = tokio::spawn(async move {
            for part in sent.chunks(5_000) {
                theirs.write_all(part).await.unwrap();
                tokio::time::sleep(2 * MS).await;
            }
            theirs
        });
        let (mut heard, mut given_up) = (Vec::new(), 0);
        while heard.len() < octets.len() {
            match timeout(MS, ours.read_buf(&mut heard)).await {
                Ok(read) => assert!(read.unwrap() > 0),
                Err(_) => given_up += 1,
            }
        }
        assert!(heard == octets);
        assert!(given_up > 5, "{given_up}");
        drop(writing.await.unwrap());
        assert_eq!(ours.read_buf(&mut heard).await.unwrap(), 0);
    });
}

#[test]
fn calls_of_accept_that_are_given_up_lose_no_connection_and_take_none_beyond_the_backlog() {
    let [client, server] = stacks();
    let tight = Options {
        accept_backlog: 2,
        ..Options::default()
    };
    run(async {
        let listener = listen(&server, &tight);
        for _ in 0..50 {
            assert!(timeout(Duration::ZERO, listener.accept()).await.is_err());
        }
        let mut opened: Vec<Stream> = Vec::new();
        for _ in 0..6 {
            opened.extend(client.connect_timeout(at(80), &tight, 100 * MS));
        }
        // Connections beyond the backlog have to wait. An open queue holds one more, as on Linux.
        let waiting = server.counters().unwrap().connections;
        assert_eq!(waiting, 0, "none is the application's yet");
        let mut ports = Vec::new();
        while let Ok(accepted) = timeout(50 * MS, listener.accept()).await {
            ports.push(accepted.unwrap().1.port());
        }
        let expected = opened
            .iter()
            .map(|stream| stream.local_addr().unwrap().port());
        let expected: Vec<u16> = expected.collect();
        assert_eq!(ports[..2], expected[..2]);
    });
}

#[test]
fn a_connect_that_is_given_up_leaves_nothing_behind() {
    let [client, _server] = stacks();
    run(async {
        // No host has this address, so there is no answer.
        let nobody = SocketAddr::from(([10, 0, 0, 9], 80));
        let options = Options::default();
        let connecting = timeout(20 * MS, client.connect_async(nobody, &options)).await;
        assert!(connecting.is_err());
        let refused = client.connect_async(at(9), &options).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
    assert!(client.settle(Duration::from_secs(1)).unwrap());
}

#[test]
fn halves_of_a_stream_live_in_tasks_of_their_own() {
    let stacks = stacks();
    let octets = random(53, 1_000_000);
    run(async {
        let (ours, theirs) = connection(&stacks).await;
        let (mut read, mut write) = theirs.into_split();
        // Ends when it is dropped.
        tokio::spawn(async move { tokio::io::copy(&mut read, &mut write).await });
        let (mut read, mut write) = ours.into_split();
        let sent = octets.clone();
        tokio::spawn(async move {
            let (front, behind) = sent.split_at(1_000);
            assert!(write.is_write_vectored());
            let parts = [IoSlice::new(front), IoSlice::new(behind)];
            let written = write.write_vectored(&parts).await?;
            assert!(written > 1_000, "{written}");
            write.write_all(&sent[written..]).await
        });
        let mut echo = Vec::new();
        read.read_to_end(&mut echo).await.unwrap();
        assert!(echo == octets);
    });
}

#[test]
fn what_was_peeked_is_read_afterwards() {
    let stacks = stacks();
    run(async {
        let (ours, mut theirs) = connection(&stacks).await;
        tokio::spawn(async move {
            tokio::time::sleep(20 * MS).await;
            theirs.write_all(b"hello").await
        });
        let mut seen = [0; 8];
        let len = ours.peek(&mut seen).await.unwrap();
        assert_eq!(&seen[..len], b"hello");
        let mut heard = [0; 5];
        { ours }.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello");
    });
}

/// Number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn many_tasks_wait_without_a_thread_or_a_poll_of_their_own() {
    let [client, server] = stacks();
    let options = Options {
        accept_backlog: 500,
        ..Options::default()
    };
    run(async {
        let listener = listen(&server, &options);
        let before = threads();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            ours.push(client.connect_async(at(80), &options).await.unwrap());
            theirs.push(listener.accept().await.unwrap().0);
        }
        let polls = Cell::new(0);
        let mut reads = Vec::new();
        for ours in &mut ours {
            let polls = &polls;
            reads.push(Box::pin(async move {
                let mut read = pin!(async {
                    let mut octet = [0];
                    ours.read_exact(&mut octet).await?;
                    io::Result::Ok(octet[0])
                });
                let counted = poll_fn(|context| {
                    polls.set(polls.get() + 1);
                    read.as_mut().poll(context)
                });
                counted.await.unwrap()
            }));
        }
        for (number, read) in reads.iter_mut().enumerate() {
            assert!(timeout(Duration::ZERO, read).await.is_err(), "{number}");
        }
        let busy = || client.counters().unwrap().processor;
        let (before_pause, processor) = (polls.get(), busy());
        tokio::time::sleep(200 * MS).await;
        assert!(threads() <= before + 40, "other tests have some");
        assert_eq!(polls.get(), before_pause);
        let spent = busy().saturating_sub(processor);
        assert!(
            spent.as_nanos() < 50_000_000,
            "{spent:?} while nothing happens"
        );
        // Each is woken by a byte of its connection.
        for (number, theirs) in theirs.iter_mut().enumerate() {
            theirs.write_all(&[number as u8]).await.unwrap();
        }
        for (number, read) in reads.into_iter().enumerate() {
            assert_eq!(timeout(5_000 * MS, read).await, Ok(number as u8));
        }
    });
}

#[test]
fn a_name_is_resolved_and_its_addresses_are_tried() {
    let interface = |address: &str| Interface::new([address.parse().unwrap()]);
    let ends = Wire::pair(interface("127.0.0.9"), interface("127.0.0.1")).unwrap();
    let [client, server] = ends.map(|end| Stack::start(end).unwrap());
    let options = Options::default();
    let listener = AsyncListener::from(server.listen("127.0.0.1:80", &options).unwrap());
    run(async {
        // `localhost` may also be ::1, and these stacks have no such address.
        for name in ["localhost:80", "127.0.0.1:80"] {
            let ours = client.connect_async_by_name(name, &options).await.unwrap();
            let (_theirs, peer) = listener.accept().await.unwrap();
            assert_eq!(ours.as_stream().local_addr().unwrap(), peer);
        }
        for name in ["127.0.0.1", "no port"] {
            let error = client.connect_async_by_name(name, &options).await;
            assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    });
}
