//! A stack as an additional host of an Ethernet, reached by the kernel and by another stack.
//! Without the privilege to create a namespace, the test prints that with a hint and proves
//! nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use crate::common::{carry_both_ways, options, random, say};
use gigatcp_linux::{device, interface};
use gigatcp_live::{Namespace, PacketSocket, PacketSocketConfig, Stack, Stream, make_pair};

const WIRE: &str = "wire0";

/// A host's addresses.
fn addresses(host: u8) -> [(IpAddr, u8); 2] {
    let v6 = Ipv6Addr::new(0xfd79, 0, 0, 0, 0, 0, 0, u16::from(host));
    [(Ipv4Addr::new(10, 79, 0, host).into(), 24), (v6.into(), 64)]
}

/// Two namespaces with connected interfaces, up and without addresses.
fn namespaces() -> Option<[Namespace; 2]> {
    let both = [Namespace::new(), Namespace::new()];
    let both = match both {
        [Ok(one), Ok(other)] => [one, other],
        [Err(error), _] | [_, Err(error)] => {
            assert!(error.is_missing_privilege(), "{error}");
            let hint = error.hint().unwrap_or_default();
            say(&format!("SKIPPED, NOTHING PROVEN: {error}\n  {hint}"));
            return None;
        }
    };
    make_pair(&both[0], &both[1], WIRE).unwrap();
    for namespace in &both {
        let up = || device::bring_up(&device::control_socket(libc::AF_INET)?, WIRE);
        namespace.run(up).unwrap().unwrap();
    }
    Some(both)
}

fn stack(namespace: &Namespace, host: u8) -> Stack {
    let config = PacketSocketConfig::new(WIRE, addresses(host));
    let socket = namespace.run(|| PacketSocket::open(&config)).unwrap();
    Stack::start(socket.unwrap()).unwrap()
}

#[test]
fn the_kernel_and_a_stack_on_an_ethernet_reach_each_other_over_either_family() {
    let Some([kernel, engine]) = namespaces() else {
        return;
    };
    let assign = || {
        let control = device::control_socket(libc::AF_INET).unwrap();
        for (address, bits) in addresses(1) {
            interface::assign(&control, WIRE, address, bits).unwrap();
        }
    };
    kernel.run(assign).unwrap();
    let stack = stack(&engine, 2);
    let octets = [61, 62].map(|seed| random(seed, 3_000_000));
    let both_ways = |ours: &Stream, theirs: &TcpStream| {
        carry_both_ways(ours, theirs, [&octets[0], &octets[1]]);
    };
    for family in [0, 1] {
        let (theirs, ours) = (addresses(1)[family].0, addresses(2)[family].0);
        let listener = kernel
            .run(|| TcpListener::bind((theirs, 80)))
            .unwrap()
            .unwrap();
        let stream = stack.connect((theirs, 80), &options("cubic")).unwrap();
        both_ways(&stream, &listener.accept().unwrap().0);

        let listener = stack.listen((ours, 80), &options("cubic")).unwrap();
        let stream = kernel
            .run(|| TcpStream::connect((ours, 80)))
            .unwrap()
            .unwrap();
        both_ways(&listener.accept().unwrap().0, &stream);
    }
    let counters = stack.counters().unwrap();
    assert_eq!(counters.device.malformed, 0, "{counters:?}");
    assert_eq!(counters.device.refused, 0, "{counters:?}");
    // A super-segment is one packet: 12 MB would be 8000 otherwise.
    assert!(counters.device.writes < 6_000, "{counters:?}");
}

#[test]
fn two_stacks_find_each_other_and_no_host_that_is_not_there() {
    let Some([one, other]) = namespaces() else {
        return;
    };
    let [one, other] = [(one, 3), (other, 4)].map(|(namespace, host)| stack(&namespace, host));
    for (address, _) in addresses(4) {
        let listener = other.listen((address, 7), &options("reno")).unwrap();
        let mut stream = one.connect((address, 7), &options("reno")).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        theirs.write_all(b"here").unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "here");
    }
    let patience = Duration::from_millis(100);
    for place in [addresses(9)[0].0, Ipv4Addr::new(192, 0, 2, 1).into()] {
        let error = one.connect_timeout((place, 7), &options("reno"), patience);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::TimedOut);
    }
    // There is no route to the second.
    assert!(one.counters().unwrap().device.refused > 0);
}
