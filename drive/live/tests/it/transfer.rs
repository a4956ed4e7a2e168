//! Random data between the engine and the machine's kernel, SHA-256 at both ends. Without the
//! privilege to create a namespace, each test prints that with a hint and proves nothing.

use std::net::IpAddr;
use std::time::Duration;

use crate::common::{
    ALL, ENGINE_V4, ENGINE_V6, KERNEL_V4, KERNEL_V6, NO, carry_both_ways, options, random, site,
};
use gigatcp_live::Offloads;

/// Bytes of each direction: many windows, not a multiple of anything.
const LEN: usize = 8_000_003;

/// Checks simultaneous transfers on a connection opened by the engine. Each end writes, closes its
/// direction, and reads to the end.
fn engine_opens(mtu: u16, offloads: Offloads, kernel: IpAddr, congestion: &str) {
    let Some(site) = site(mtu, offloads) else {
        return;
    };
    let listener = site.kernel_listens(kernel, 5001, congestion);
    let (ours, theirs) = (random(1, LEN), random(2, LEN));
    let stream = site
        .stack
        .connect((kernel, 5001), &options(congestion))
        .unwrap();
    let (peer, _) = listener.accept().unwrap();
    carry_both_ways(&stream, &peer, [&ours, &theirs]);
    drop((stream, peer));
    assert!(site.stack.settle(Duration::from_secs(5)).unwrap());
    let counters = site.stack.counters().unwrap();
    assert_eq!((counters.device.malformed, counters.device.refused), (0, 0));
    site.stack.stop().unwrap();
}

/// Checks simultaneous transfers on a connection opened by the kernel.
fn kernel_opens(mtu: u16, offloads: Offloads, engine: IpAddr, congestion: &str) {
    let Some(site) = site(mtu, offloads) else {
        return;
    };
    let listener = site
        .stack
        .listen((engine, 5001), &options(congestion))
        .unwrap();
    let (ours, theirs) = (random(3, LEN), random(4, LEN));
    let peer = site
        .kernel_connects((engine, 5001).into(), congestion)
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    carry_both_ways(&stream, &peer, [&ours, &theirs]);
    drop((stream, peer));
    assert!(site.stack.settle(Duration::from_secs(5)).unwrap());
}

#[test]
fn the_engine_opens_over_ipv4_with_offloads() {
    engine_opens(1500, ALL, KERNEL_V4, "reno");
    engine_opens(9000, ALL, KERNEL_V4, "cubic");
}

#[test]
fn the_engine_opens_over_ipv6_with_offloads() {
    engine_opens(1500, ALL, KERNEL_V6, "cubic");
    engine_opens(9000, ALL, KERNEL_V6, "reno");
}

#[test]
fn the_engine_opens_without_offloads() {
    engine_opens(1500, NO, KERNEL_V4, "cubic");
    engine_opens(9000, NO, KERNEL_V6, "reno");
}

#[test]
fn the_kernel_opens_over_ipv4_with_offloads() {
    kernel_opens(1500, ALL, ENGINE_V4, "cubic");
    kernel_opens(9000, ALL, ENGINE_V4, "reno");
}

#[test]
fn the_kernel_opens_over_ipv6_with_offloads() {
    kernel_opens(1500, ALL, ENGINE_V6, "reno");
    kernel_opens(9000, ALL, ENGINE_V6, "cubic");
}

#[test]
fn the_kernel_opens_without_offloads() {
    kernel_opens(1500, NO, ENGINE_V6, "cubic");
    kernel_opens(9000, NO, ENGINE_V4, "reno");
}
