//! Many simultaneous connections, floods of openings, and tasks instead of threads. Without the
//! privilege to create a namespace, each test prints that with a hint and proves nothing.

use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{
    ALL, ENGINE_V4, ENGINE_V6, KERNEL_V4, digest, digest_of, options, random, site,
};
use futures_io::{AsyncRead, AsyncWrite};
use gigatcp_linux::settings;
use gigatcp_live::{AsyncListener, AsyncStream, Options};

#[test]
fn hundreds_of_connections_keep_their_octets_apart() {
    let Some(site) = site(1500, ALL) else { return };
    let listener = site
        .stack
        .listen((ENGINE_V4, 5001), &options("cubic"))
        .unwrap();
    let connections = 300;
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..connections {
                let (stream, _) = listener.accept().unwrap();
                scope.spawn(move || {
                    std::io::copy(&mut &stream, &mut &stream).unwrap();
                });
            }
        });
        let streams: Vec<TcpStream> = (0..connections)
            .map(|_| {
                site.kernel_connects((ENGINE_V4, 5001).into(), "cubic")
                    .unwrap()
            })
            .collect();
        assert_eq!(site.stack.counters().unwrap().resets, 0);
        for (seed, mut stream) in streams.into_iter().enumerate() {
            scope.spawn(move || {
                let octets = random(seed as u64, 30_000 + seed);
                stream.write_all(&octets).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                assert_eq!(digest(&answer), digest(&octets));
            });
        }
    });
    assert!(site.stack.settle(Duration::from_secs(5)).unwrap());
}

#[test]
fn more_openings_than_the_backlog_holds_are_answered_with_cookies() {
    let Some(site) = site(1500, ALL) else { return };
    let tight = Options {
        backlog: 1,
        accept_backlog: 1_000,
        ..options("reno")
    };
    let listener = site.stack.listen((ENGINE_V6, 5001), &tight).unwrap();
    let connections = 200;
    let streams: Vec<TcpStream> = thread::scope(|scope| {
        let dialling: Vec<_> = (0..connections)
            .map(|_| {
                scope.spawn(|| {
                    site.kernel_connects((ENGINE_V6, 5001).into(), "reno")
                        .unwrap()
                })
            })
            .collect();
        dialling
            .into_iter()
            .map(|dial| dial.join().unwrap())
            .collect()
    });
    assert!(site.stack.counters().unwrap().cookies > 0);
    for _ in 0..connections {
        (&listener.accept().unwrap().0).write_all(b"here").unwrap();
    }
    for mut stream in streams {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "here");
    }
}

#[test]
fn a_connection_that_writes_no_more_gives_back_the_memory_for_it() {
    let Some(site) = site(1500, ALL) else { return };
    let listener = site.kernel_listens(KERNEL_V4, 5001, "cubic");
    let stream = site
        .stack
        .connect((KERNEL_V4, 5001), &options("cubic"))
        .unwrap();
    let (mut theirs, _) = listener.accept().unwrap();
    let octets = random(31, 100_000);
    for _ in 0..2 {
        (&stream).write_all(&octets).unwrap();
        let mut heard = vec![0; octets.len()];
        theirs.read_exact(&mut heard).unwrap();
        assert_eq!(digest(&heard), digest(&octets));
        assert_eq!(site.stack.counters().unwrap().copying, 1);
        thread::sleep(Duration::from_millis(2_300));
        assert_eq!(site.stack.counters().unwrap().copying, 0);
    }
}

#[test]
fn a_port_is_used_again_while_the_old_connection_is_in_time_wait() {
    let Some(site) = site(1500, ALL) else { return };
    let listener = site
        .stack
        .listen((ENGINE_V4, 5001), &options("reno"))
        .unwrap();
    let one_port = || settings::write("net.ipv4.ip_local_port_range", "4444 4444");
    site.namespace.run(one_port).unwrap().unwrap();
    for round in 0..3 {
        let stream = site
            .kernel_connects((ENGINE_V4, 5001).into(), "reno")
            .unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        assert_eq!(accepted.peer_addr().unwrap(), peer);
        assert_eq!(accepted.peer_addr().unwrap().port(), 4_444, "round {round}");
        // The engine closes first, so it is in TIME-WAIT.
        accepted.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&stream).read(&mut [0; 9]).unwrap(), 0);
        drop(stream);
        assert_eq!((&accepted).read(&mut [0; 9]).unwrap(), 0);
        drop(accepted);
        assert!(site.stack.settle(Duration::from_secs(1)).unwrap());
        // The kernel's timestamps must have advanced.
        thread::sleep(Duration::from_millis(20));
    }
}

/// Wakes the thread that runs the task.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a task on a minimal executor.
fn run<T>(task: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut task = pin!(task);
    loop {
        match task.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

async fn write_all(stream: &mut AsyncStream, mut octets: &[u8]) {
    while !octets.is_empty() {
        let written = poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, octets))
            .await
            .unwrap();
        octets = &octets[written..];
    }
    poll_fn(|cx| Pin::new(&mut *stream).poll_close(cx))
        .await
        .unwrap();
}

async fn read_to_end(stream: &mut AsyncStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut part = vec![0; 50_000];
    loop {
        match poll_fn(|cx| Pin::new(&mut *stream).poll_read(cx, &mut part))
            .await
            .unwrap()
        {
            0 => return all,
            read => all.extend(&part[..read]),
        }
    }
}

#[test]
fn tasks_transfer_what_threads_do() {
    let Some(site) = site(1500, ALL) else { return };
    let listener = site.kernel_listens(KERNEL_V4, 80, "cubic");
    let octets = random(9, 5_000_000);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (stream, _) = listener.accept().unwrap();
            std::io::copy(&mut &stream, &mut &stream).unwrap();
        });
        let mut reader = run(site.stack.connect_async((KERNEL_V4, 80), &options("cubic"))).unwrap();
        let mut writer = reader.clone();
        let octets = &octets;
        scope.spawn(move || run(write_all(&mut writer, octets)));
        assert_eq!(digest(&run(read_to_end(&mut reader))), digest(octets));
    });
    let listener = site
        .stack
        .listen((ENGINE_V4, 81), &options("reno"))
        .unwrap();
    thread::scope(|scope| {
        let dialling = scope.spawn(|| {
            site.kernel_connects((ENGINE_V4, 81).into(), "reno")
                .unwrap()
        });
        let listener = AsyncListener::from(listener);
        let (mut stream, _) = run(listener.accept()).unwrap();
        let peer = dialling.join().unwrap();
        let octets = &octets[..100_000];
        scope.spawn(move || run(write_all(&mut stream, octets)));
        assert_eq!(digest_of(&peer).unwrap().1, 100_000);
    });
}
