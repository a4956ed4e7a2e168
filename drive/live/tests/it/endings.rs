//! How connections between the engine and the machine's kernel begin and end: refused, half-closed,
//! simultaneously closed, aborted, ignored. Without the privilege to create a namespace, each test
//! prints that with a hint and proves nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    ALL, ENGINE_V4, ENGINE_V6, KERNEL_V4, KERNEL_V6, NO, Site, carry, carry_both_ways, digest,
    digest_of, options,
};
use crate::common::{random, site};
use gigatcp_linux::socket;
use gigatcp_live::Stream;
use gigatcp_tcp::events::State;
use gigatcp_units::Bytes;

/// Both ends of a connection that the engine opened.
fn pair(site: &Site) -> (Stream, TcpStream) {
    let listener = site.kernel_listens(KERNEL_V4, 80, "cubic");
    let ours = site
        .stack
        .connect((KERNEL_V4, 80), &options("cubic"))
        .unwrap();
    let (theirs, _) = listener.accept().unwrap();
    (ours, theirs)
}

#[test]
fn a_port_where_nobody_listens_refuses_on_either_side() {
    let Some(site) = site(1500, ALL) else { return };
    for kernel in [KERNEL_V4, KERNEL_V6] {
        let refused = site
            .stack
            .connect((kernel, 9), &options("reno"))
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    for engine in [ENGINE_V4, ENGINE_V6] {
        let refused = site
            .kernel_connects((engine, 9).into(), "reno")
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }
    assert_eq!(site.stack.counters().unwrap().resets, 2);
}

#[test]
fn half_a_connection_goes_on_after_the_other_half_is_closed() {
    let Some(site) = site(1500, ALL) else { return };
    let octets = random(5, 3_000_000);
    let (ours, theirs) = pair(&site);
    ours.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&theirs).read(&mut [0; 9]).unwrap(), 0);
    assert_eq!(
        (&ours).write(b"x").unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
    carry(&theirs, &ours, &octets, || theirs.shutdown(Shutdown::Write));
    // And in the other direction.
    drop((ours, theirs));
    let (ours, theirs) = pair(&site);
    theirs.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&ours).read(&mut [0; 9]).unwrap(), 0);
    carry(&ours, &theirs, &octets, || ours.shutdown(Shutdown::Write));
}

#[test]
fn what_was_written_arrives_although_the_stream_is_dropped() {
    let Some(site) = site(1500, NO) else { return };
    let octets = random(6, 2_000_000);
    let (ours, theirs) = pair(&site);
    thread::scope(|scope| {
        let reading = scope.spawn(move || digest_of(&theirs).unwrap());
        (&ours).write_all(&octets).unwrap();
        drop(ours);
        assert_eq!(reading.join().unwrap(), (digest(&octets), octets.len()));
    });
    assert!(site.stack.settle(Duration::from_secs(5)).unwrap());
}

#[test]
fn an_abort_of_either_side_is_a_reset_for_the_other() {
    let Some(site) = site(1500, ALL) else { return };
    let (ours, theirs) = pair(&site);
    ours.abort();
    let error = (&theirs).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = (&ours).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionAborted);

    let (ours, theirs) = pair(&site);
    socket::reset_on_close(&theirs).unwrap();
    drop(theirs);
    let error = (&ours).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let error = (&ours).write(&[0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    drop(ours);
    assert!(site.stack.settle(Duration::from_secs(1)).unwrap());
}

#[test]
fn what_nobody_read_makes_a_close_a_reset() {
    let Some(site) = site(1500, ALL) else { return };
    let (ours, theirs) = pair(&site);
    (&theirs).write_all(b"unread").unwrap();
    while ours.info().unwrap().rcv_nxt < 7 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(ours);
    let error = (&theirs).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn both_sides_close_at_once_and_nothing_is_lost() {
    let Some(site) = site(1500, ALL) else { return };
    for round in 0..50 {
        let (ours, theirs) = pair(&site);
        let together = Barrier::new(2);
        let octets = random(round, 20_000);
        thread::scope(|scope| {
            scope.spawn(|| {
                (&theirs).write_all(&octets).unwrap();
                together.wait();
                theirs.shutdown(Shutdown::Write).unwrap();
            });
            (&ours).write_all(&octets).unwrap();
            together.wait();
            ours.shutdown(Shutdown::Write).unwrap();
        });
        assert_eq!(digest_of(&theirs).unwrap().0, digest(&octets));
        assert_eq!(digest_of(&ours).unwrap().0, digest(&octets));
        let state = ours.info().unwrap().state;
        let over = [
            State::TimeWait,
            State::Closing,
            State::LastAck,
            State::Closed,
        ];
        assert!(over.contains(&state), "{state:?}");
    }
    assert!(site.stack.settle(Duration::from_secs(5)).unwrap());
}

#[test]
fn a_window_of_a_few_octets_passes_everything_both_ways() {
    let Some(site) = site(1500, ALL) else { return };
    let octets = random(7, 30_000);
    let listener = site.kernel_listens(KERNEL_V4, 80, "reno");
    socket::set_buffer(&listener, socket::Buffer::Receive, 1).unwrap();
    let small = gigatcp_live::Options {
        receive_buffer: Some(Bytes::new(700)),
        ..options("reno")
    };
    let ours = site.stack.connect((KERNEL_V4, 80), &small).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    carry_both_ways(&ours, &theirs, [&octets, &octets]);
}

#[test]
fn a_reader_that_pauses_closes_the_window_and_opens_it_again() {
    let Some(site) = site(9000, ALL) else { return };
    let octets = random(8, 6_000_000);
    let listener = site.kernel_listens(KERNEL_V6, 80, "cubic");
    let modest = gigatcp_live::Options {
        receive_buffer: Some(Bytes::new(200_000)),
        ..options("cubic")
    };
    let ours = site.stack.connect((KERNEL_V6, 80), &modest).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            (&theirs)
                .write_all(&octets)
                .map(|()| theirs.shutdown(Shutdown::Write))
        });
        let mut got = Vec::new();
        for _ in 0..3 {
            // Until the window is full and a probe or two have been sent.
            thread::sleep(Duration::from_millis(300));
            let mut part = vec![0; 150_000];
            (&ours).read_exact(&mut part).unwrap();
            got.extend(part);
        }
        (&ours).read_to_end(&mut got).unwrap();
        assert_eq!(digest(&got), digest(&octets));
    });
}

#[test]
fn waiting_ends_when_its_time_is_over() {
    let Some(site) = site(1500, ALL) else { return };
    let (ours, _theirs) = pair(&site);
    ours.set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let began = Instant::now();
    let error = (&ours).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(began.elapsed() >= Duration::from_millis(20));
    // There is no host with this address of the kernel's network.
    let nobody = ("10.77.0.99".parse::<std::net::IpAddr>().unwrap(), 80);
    let patience = Duration::from_millis(50);
    let error = site
        .stack
        .connect_timeout(nobody, &options("reno"), patience)
        .unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::TimedOut | ErrorKind::HostUnreachable
        ),
        "{error}"
    );
}

#[test]
fn a_stack_that_ends_says_so_to_everybody() {
    let Some(site) = site(1500, ALL) else { return };
    let (ours, theirs) = pair(&site);
    let listener = site
        .stack
        .listen((ENGINE_V4, 81), &options("reno"))
        .unwrap();
    let Site { stack, namespace } = site;
    thread::scope(|scope| {
        let accepting = scope.spawn(|| listener.accept().unwrap_err().kind());
        let reading = scope.spawn(|| (&ours).read(&mut [0; 9]).unwrap_err().kind());
        thread::sleep(Duration::from_millis(50));
        stack.stop().unwrap();
        assert_eq!(accepting.join().unwrap(), ErrorKind::NotConnected);
        assert_eq!(reading.join().unwrap(), ErrorKind::ConnectionAborted);
    });
    let error = (&theirs).read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    drop(namespace);
}
