//! Streams and listeners with the behavior of `std::net`, between two stacks in one process. No
//! privileges are needed.

use std::collections::BTreeSet;
use std::error::Error;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_live::bytes::BytesMut;
use gigatcp_live::{
    AsyncListener, AsyncStream, Device, Interface, KeepAlive, Offloads, Options, Packet, Received,
    Sent, Stack, Stream, VirtioHeader, Wire,
};
use gigatcp_tcp::events::State;

use crate::common::{carry, random};

/// Two connected stacks.
fn stacks(offloads: Offloads) -> [Stack; 2] {
    let interface = |address: &str| Interface {
        offloads,
        ..Interface::new([address.parse().unwrap()])
    };
    let ends = Wire::pair(interface("10.0.0.1"), interface("10.0.0.2")).unwrap();
    ends.map(|end| Stack::start(end).unwrap())
}

fn reno() -> Options {
    Options::default().with_congestion("reno").unwrap()
}

/// Both ends of a connection from the first stack to the second.
fn connection([client, server]: &[Stack; 2]) -> (Stream, Stream) {
    let listener = server.listen("10.0.0.2:80", &reno()).unwrap();
    let ours = client.connect("10.0.0.2:80", &reno()).unwrap();
    let (theirs, peer) = listener.accept().unwrap();
    assert_eq!(ours.local_addr().unwrap(), peer);
    assert_eq!(ours.peer_addr().unwrap(), theirs.local_addr().unwrap());
    (ours, theirs)
}

#[test]
fn a_pair_in_memory_carries_everything_with_and_without_offloads() {
    for offloads in [Offloads::ALL, Offloads::NONE] {
        let stacks = stacks(offloads);
        let (ours, theirs) = connection(&stacks);
        let octets = random(41, 5_000_000);
        carry(&ours, &theirs, &octets, || ours.shutdown(Shutdown::Write));
        carry(&theirs, &ours, &octets, || theirs.shutdown(Shutdown::Write));
        let counters = stacks[1].counters().unwrap().device;
        assert_eq!((counters.malformed, counters.refused), (0, 0));
    }
}

#[test]
fn addresses_are_tried_in_their_order_and_the_last_error_is_returned() {
    let [client, server] = stacks(Offloads::ALL);
    let _listener = server.listen("10.0.0.2:80", &reno()).unwrap();
    let [closed, open] = [9, 80].map(|port| SocketAddr::from(([10, 0, 0, 2], port)));
    let stream = client.connect(&[closed, open][..], &reno()).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), open);
    let refused = client.connect(&[closed, closed][..], &reno()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let failure = refused.get_ref().unwrap().downcast_ref();
    assert_eq!(failure, Some(&gigatcp_tcp::Failure::Refused));
    let none = client.connect(&[][..], &reno()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidInput);
    // The name resolves, but to addresses that are not the stack's.
    let foreign = server.listen("localhost:80", &reno()).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn a_dropped_write_half_ends_its_direction_and_a_dropped_read_half_nothing() {
    let stacks = stacks(Offloads::ALL);
    let (ours, theirs) = connection(&stacks);
    let (mut read, mut write) = ours.into_split();
    write.write_all(b"question").unwrap();
    assert_eq!(read.as_stream().peer_addr().unwrap().port(), 80);
    drop(write);
    let mut question = String::new();
    (&theirs).read_to_string(&mut question).unwrap();
    assert_eq!(question, "question");
    (&theirs).write_all(b"answer").unwrap();
    let mut answer = [0; 6];
    read.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"answer");

    let (their_read, mut their_write) = theirs.into_split();
    drop(their_read);
    their_write.write_all(b"more").unwrap();
    drop(their_write);
    let mut more = String::new();
    read.read_to_string(&mut more).unwrap();
    assert_eq!(more, "more");
    drop(read);
    assert!(stacks[0].settle(Duration::from_secs(5)).unwrap());
}

#[test]
fn what_was_peeked_is_read_afterwards() {
    let stacks = stacks(Offloads::ALL);
    let (ours, theirs) = connection(&stacks);
    let mut buffer = [0; 5];
    thread::scope(|scope| {
        // It waits.
        let peeking = scope.spawn(|| theirs.peek(&mut [0; 5]).unwrap());
        thread::sleep(Duration::from_millis(20));
        (&ours).write_all(b"hel").unwrap();
        assert_eq!(peeking.join().unwrap(), 3);
    });
    (&ours).write_all(b"lo, world").unwrap();
    while theirs.measure().unwrap().unread < 12 {
        thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..2 {
        assert_eq!(theirs.peek(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer, b"hello");
    }
    ours.shutdown(Shutdown::Write).unwrap();
    let mut all = String::new();
    (&theirs).read_to_string(&mut all).unwrap();
    assert_eq!(all, "hello, world");
    assert_eq!(theirs.peek(&mut buffer).unwrap(), 0);
}

#[test]
fn parts_are_written_by_one_call_and_arrive_in_their_order() {
    let stacks = stacks(Offloads::ALL);
    let (ours, theirs) = connection(&stacks);
    let octets = random(42, 400_000);
    // Short and long, some empty: copied into separate memory and into slabs.
    for lens in [&[3, 0, 7, 100][..], &[0, 6_000, 1, 9_000, 300_000]] {
        let mut parts = Vec::new();
        let mut rest = &octets[..lens.iter().sum()];
        let all = rest;
        for len in lens {
            let (part, behind) = rest.split_at(*len);
            parts.push(IoSlice::new(part));
            rest = behind;
        }
        let written = (&ours).write_vectored(&parts).unwrap();
        assert!(written > lens[0] + lens[1] + lens[2], "{written}");
        let mut heard = vec![0; written];
        (&theirs).read_exact(&mut heard).unwrap();
        assert!(heard == all[..written]);
    }
    assert_eq!((&ours).write_vectored(&[]).unwrap(), 0);
}

#[test]
fn calls_that_would_wait_fail_when_waiting_is_forbidden() {
    let stacks = stacks(Offloads::ALL);
    let (ours, theirs) = connection(&stacks);
    ours.set_nonblocking(true);
    let nothing = (&ours).read(&mut [0; 9]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    let full = loop {
        if let Err(error) = (&ours).write(&[7; 100_000]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    (&theirs).write_all(b"x").unwrap();
    ours.set_nonblocking(false);
    assert_eq!((&ours).read(&mut [0; 9]).unwrap(), 1);
    for limit in [
        ours.set_read_timeout(Some(Duration::ZERO)),
        ours.set_write_timeout(Some(Duration::ZERO)),
    ] {
        assert_eq!(limit.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_listener_yields_connections_until_its_stack_has_ended() {
    let [client, server] = stacks(Offloads::ALL);
    let listener = server.listen("10.0.0.2:80", &reno()).unwrap();
    let late = listener.accept_timeout(Duration::from_millis(20));
    assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
    thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            let each = listener.incoming().map(|stream| stream.is_ok());
            each.collect::<Vec<bool>>()
        });
        let open = |_| client.connect("10.0.0.2:80", &reno()).unwrap();
        let _opened: Vec<Stream> = (0..3).map(open).collect();
        while server.counters().unwrap().connections < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(20));
        server.stop().unwrap();
        assert_eq!(accepting.join().unwrap(), [true, true, true, false]);
    });
}

/// A custom device: another one that loses every n-th packet.
struct Lossy {
    wire: Wire,
    /// Every n-th packet is lost; none if it is 0.
    every: Arc<AtomicU64>,
    packets: u64,
}

impl Device for Lossy {
    fn interface(&self) -> Interface {
        self.wire.interface()
    }

    fn readiness(&self) -> BorrowedFd<'_> {
        self.wire.readiness()
    }

    fn receive(&mut self, into: &mut BytesMut) -> io::Result<Option<Received>> {
        self.wire.receive(into)
    }

    fn send(&mut self, packets: &[Packet<'_>], sent: &mut Vec<Sent>) -> io::Result<()> {
        for packet in packets {
            assert_eq!(packet.to_vec().len(), packet.len());
            assert_eq!(packet.offload(), VirtioHeader::default());
            self.packets += 1;
            let every = self.every.load(Ordering::Relaxed);
            if every > 0 && self.packets.is_multiple_of(every) {
                sent.push(Sent::Refused);
            } else {
                let before = sent.len();
                self.wire.send(std::slice::from_ref(packet), sent)?;
                if sent.len() == before || sent[before] == Sent::Full {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Two stacks over a custom device, and its loss interval.
fn lossy_stacks() -> ([Stack; 2], Arc<AtomicU64>) {
    let every = Arc::new(AtomicU64::new(0));
    let interface = |address: &str| Interface::new([address.parse().unwrap()]);
    let ends = Wire::pair(interface("10.0.0.1"), interface("10.0.0.2")).unwrap();
    let stacks = ends.map(|wire| {
        let every = Arc::clone(&every);
        let device = Lossy {
            wire,
            every,
            packets: 0,
        };
        Stack::start(device).unwrap()
    });
    (stacks, every)
}

#[test]
fn a_device_of_ones_own_may_lose_packets_and_no_octet_is_missing() {
    let (stacks, every) = lossy_stacks();
    let (ours, theirs) = connection(&stacks);
    every.store(50, Ordering::Relaxed);
    let octets = random(43, 1_000_000);
    carry(&ours, &theirs, &octets, || ours.shutdown(Shutdown::Write));
    let counters = stacks[0].counters().unwrap().device;
    assert!(counters.refused > 0 && counters.writes > counters.refused);
}

/// A task held only by its waker.
struct Task(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Wake for Task {
    /// Does nothing: there is no executor any more.
    fn wake(self: Arc<Self>) {}
}

/// Polls a task once, and leaves it.
fn begin(task: impl Future<Output = ()> + Send + 'static) {
    let task = Arc::new(Task(Mutex::new(Some(Box::pin(task)))));
    let waker = Waker::from(Arc::clone(&task));
    let mut place = task.0.lock().unwrap();
    let future = place.as_mut().unwrap().as_mut();
    assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
}

#[test]
fn a_task_that_ends_with_its_waker_lets_go_of_its_stream() {
    let stacks = stacks(Offloads::ALL);
    let (ours, theirs) = connection(&stacks);
    let ours = AsyncStream::from(ours);
    begin(async move {
        let _ = ours.peek(&mut [0; 9]).await;
    });
    let listener = AsyncListener::from(stacks[1].listen("10.0.0.2:81", &reno()).unwrap());
    begin(async move {
        let _ = listener.accept().await;
    });
    // Arriving data wake both.
    (&theirs).write_all(b"unread").unwrap();
    let _third = stacks[0].connect("10.0.0.2:81", &reno()).unwrap();
    theirs
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let error = (&theirs).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let refused = |_| {
        let again = stacks[0].connect("10.0.0.2:81", &reno());
        thread::sleep(Duration::from_millis(1));
        again.is_err()
    };
    assert!((0..5_000).any(refused), "the listener is gone");
}

#[test]
fn a_stream_says_which_device_is_gone_and_why() {
    let (stacks, every) = lossy_stacks();
    let (ours, _theirs) = connection(&stacks);
    let [client, server] = stacks;
    // Its resets are lost; then its end of the wire is closed.
    every.store(1, Ordering::Relaxed);
    let waiting = thread::scope(|scope| {
        let reading = scope.spawn(|| (&ours).read(&mut [0; 9]).unwrap_err());
        thread::sleep(Duration::from_millis(20));
        server.stop().unwrap();
        reading.join().unwrap()
    });
    let late = client.connect("10.0.0.2:80", &reno()).unwrap_err();
    for error in [waiting, late] {
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        assert_eq!(error.to_string(), "the device of the stack is gone");
        let device = error.source().expect("the device");
        let said = device.to_string();
        assert!(said.starts_with("the device giga0 is gone: "), "{said}");
        let cause = device.source().expect("what the kernel said");
        assert!(cause.downcast_ref::<io::Error>().is_some(), "{cause}");
    }
}

#[test]
fn a_peer_that_is_silent_is_given_up_by_keep_alives_and_by_the_user_timeout() {
    let keepalive = KeepAlive {
        // Probes more often than every 500 ms are not answered (RFC 5961 section 7).
        time: Duration::from_millis(550),
        interval: Duration::from_secs(1),
        probes: 2,
    };
    let tens = Duration::from_millis(10);
    for by_keepalive in [true, false] {
        let (stacks, every) = lossy_stacks();
        let (ours, _theirs) = connection(&stacks);
        if by_keepalive {
            ours.set_keepalive(Some(keepalive)).unwrap();
            // It is kept while it answers.
            thread::sleep(3 * keepalive.time);
            assert_eq!(ours.info().unwrap().state, State::Established);
        } else {
            ours.set_user_timeout(Some(30 * tens)).unwrap();
        }
        every.store(1, Ordering::Relaxed);
        let began = Instant::now();
        if !by_keepalive {
            (&ours).write_all(b"into the void").unwrap();
        }
        let error = (&ours).read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let failure = error.get_ref().unwrap().downcast_ref();
        assert_eq!(failure, Some(&gigatcp_tcp::Failure::TimedOut));
        let took = began.elapsed();
        // Otherwise it would take hours, or a minute.
        assert!(
            took >= 10 * tens && took < Duration::from_secs(5),
            "{took:?}"
        );
    }
}

#[test]
fn port_zero_listens_at_a_free_port_that_the_listener_knows() {
    let [client, server] = stacks(Offloads::NONE);
    let mut listeners = Vec::new();
    for at in ["10.0.0.2:0", "10.0.0.2:0", "0.0.0.0:0"] {
        listeners.push(server.listen(at, &reno()).unwrap());
    }
    let ports: BTreeSet<u16> = listeners
        .iter()
        .map(|listener| listener.local_addr().port())
        .collect();
    assert_eq!(ports.len(), 3);
    for listener in &listeners {
        let at = ("10.0.0.2", listener.local_addr().port());
        let ours = client.connect(at, &reno()).unwrap();
        let (_theirs, peer) = listener.accept().unwrap();
        assert_eq!(ours.local_addr().unwrap(), peer);
    }
    let again = server.listen(listeners[0].local_addr(), &reno());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AddrInUse);
}

#[test]
fn a_listener_that_does_not_wait_gives_what_is_there_and_says_when_nothing_is() {
    let [client, server] = stacks(Offloads::NONE);
    let listener = server.listen("10.0.0.2:80", &reno()).unwrap();
    listener.set_nonblocking(true);
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    let ours: Vec<_> = (0..3)
        .map(|_| client.connect("10.0.0.2:80", &reno()).unwrap())
        .collect();
    // The last ACK of the third handshake may still be in flight.
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut theirs = Vec::new();
    while theirs.len() < ours.len() {
        match listener.accept() {
            Ok(accepted) => theirs.push(accepted),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                assert!(Instant::now() < deadline, "{} came", theirs.len());
            }
        }
    }
    for (ours, (_, peer)) in ours.iter().zip(&theirs) {
        assert_eq!(ours.local_addr().unwrap(), *peer);
    }
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    // It blocks again, and so do its streams.
    listener.set_nonblocking(false);
    let nothing = listener.accept_timeout(Duration::from_millis(10));
    assert_eq!(nothing.unwrap_err().kind(), ErrorKind::TimedOut);
    drop(server);
    assert_eq!(
        listener.accept().unwrap_err().kind(),
        ErrorKind::NotConnected
    );
}

#[test]
fn keep_alives_more_often_than_peers_answer_are_refused() {
    let stacks = stacks(Offloads::NONE);
    let (ours, _theirs) = connection(&stacks);
    let keepalive = |interval| KeepAlive {
        interval: Duration::from_millis(interval),
        ..KeepAlive::default()
    };
    let error = ours.set_keepalive(Some(keepalive(999))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("below 1 s"), "{error}");
    ours.set_keepalive(Some(keepalive(1000))).unwrap();
}
