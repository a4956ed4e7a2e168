//! Wrong settings, one by one in network namespaces of the test. Each is found, its fix removes the
//! finding, and its undo restores it.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use gigatcp_linux::{Namespace, device, host_route, initial_ssthresh, interface, make_pair};
use gigatcp_meter::doctor::{CostedFinding, Direction, HostFacts, Path, examine};
use gigatcp_meter::host;
use gigatcp_units::{Bytes, Duration, Probability, Rate};

const NAME: &str = "card0";
const HERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The route to the other end, as entered in the kernel. It sets the congestion control: the default
/// of a namespace is the host's, and can only be one that the host allows to all users.
const ROUTE: &str = "ip route replace 10.77.0.0/24 dev card0 src 10.77.0.1";

/// Rules that the cases break; a machine may have further findings of other kinds.
const KINDS: [&str; 11] = [
    "route-window",
    "receive-buffer-max",
    "short-queue",
    "qdisc-rate",
    "segmentation-off",
    "gro-off",
    "route-advmss",
    "route-initcwnd",
    "congestion-control",
    "route-rto-min",
    "cached-ssthresh",
];

/// A rule, and the command that breaks it in a correct namespace.
const CASES: [(&str, &str); 12] = [
    ("route-window", "ROUTE congctl cubic window 65535"),
    ("route-advmss", "ROUTE congctl cubic advmss 536"),
    ("route-initcwnd", "ROUTE congctl cubic initcwnd 1"),
    ("route-rto-min", "ROUTE congctl cubic rto_min 1s"),
    ("congestion-control", "ROUTE congctl reno"),
    // The fix depends on whether the host allows cubic to a namespace.
    (
        "congestion-control",
        "ROUTE && sysctl -w net.ipv4.tcp_congestion_control=reno",
    ),
    (
        "receive-buffer-max",
        "sysctl -w net.ipv4.tcp_rmem='4096 65536 65536'",
    ),
    (
        "short-queue",
        "ip link set card0 txqueuelen 2 && tc qdisc replace dev card0 root pfifo",
    ),
    (
        "qdisc-rate",
        "tc qdisc replace dev card0 root tbf rate 100mbit burst 100k latency 50ms",
    ),
    (
        "qdisc-rate",
        "tc qdisc replace dev card0 root handle 1: htb default 10 && \
         tc class add dev card0 parent 1: classid 1:10 htb rate 100mbit && \
         tc class add dev card0 parent 1: classid 1:20 htb rate 20gbit",
    ),
    ("segmentation-off", "ethtool -K card0 tso off gso off"),
    ("segmentation-off", "ethtool -K card0 tso off"),
];

/// Path of a case: 10 Gbit/s over 2 ms.
///
/// For the congestion control it is 1 Gbit/s over 20 ms, with losses that CUBIC tolerates there and
/// Reno does not.
fn path(id: &str) -> Path {
    let (rtt_ms, gbps, loss) = match id {
        "congestion-control" => (20, 1, 9e-7),
        _ => (2, 10, 4e-7),
    };
    Path {
        rtt: Duration::from_millis(rtt_ms),
        rate: Rate::from_bps(gbps * 1_000_000_000),
        loss: Probability::try_new(loss),
        direction: Direction::Both,
        mss: Bytes::new(1448),
    }
}

/// A namespace with a device to another one. `None`, with a note, if that is forbidden.
fn testbed() -> Option<(Namespace, Namespace)> {
    let made = Namespace::new().and_then(|here| {
        let there = Namespace::new()?;
        make_pair(&here, &there, NAME)?;
        Ok((here, there))
    });
    let (here, there) = match made {
        Ok(made) => made,
        Err(error) => {
            assert!(error.is_missing_privilege(), "{error}");
            eprintln!("SKIPPED, NOTHING PROVEN: {error}");
            return None;
        }
    };
    for (namespace, address) in [(&here, HERE), (&there, THERE)] {
        let done = namespace.run(|| {
            let control = device::control_socket(libc::AF_INET)?;
            device::bring_up(&control, NAME)?;
            interface::assign(&control, NAME, address.into(), 24)
        });
        done.expect("entered").expect("addressed");
    }
    Some((here, there))
}

/// Runs a command line in the calling thread's namespace; returns whether it succeeded.
fn shell(line: &str) -> bool {
    let done = Command::new("sh")
        .args(["-c", &line.replace("ROUTE", ROUTE)])
        .output()
        .expect("a shell");
    if !done.status.success() {
        eprintln!("{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
    done.status.success()
}

fn has_tools() -> bool {
    let has = shell("ip -V && tc -V && ethtool --version && sysctl --version");
    if !has {
        eprintln!("SKIPPED, NOTHING PROVEN: it takes iproute2, ethtool and procps");
    }
    has
}

fn facts() -> HostFacts {
    host::read(Some(IpAddr::from(THERE)))
}

/// Findings of the kinds that the cases cause.
fn findings(id: &str) -> Vec<CostedFinding> {
    let found = examine(&facts(), &path(id)).findings;
    let is_ours = |found: &CostedFinding| KINDS.contains(&found.rule.id);
    found.into_iter().filter(is_ours).collect()
}

fn ids(id: &str) -> Vec<&'static str> {
    findings(id).iter().map(|found| found.rule.id).collect()
}

#[test]
fn each_wrong_setting_is_found_alone_its_fix_ends_the_finding_and_its_undo_restores_it() {
    for (id, mistune) in CASES {
        let Some((here, _there)) = testbed() else {
            return;
        };
        let done = here.run(|| {
            if !has_tools() {
                return;
            }
            assert!(shell("ROUTE congctl cubic"));
            assert_eq!(ids(id), [""; 0], "before {mistune}");
            assert!(shell(mistune), "{mistune}");
            assert_eq!(ids(id), [id], "{mistune}");
            let change = findings(id).remove(0).finding.change;
            assert!(shell(&change.fix), "{}", change.fix);
            assert_eq!(ids(id), [""; 0], "after {}", change.fix);
            if let Some(undo) = change.undo {
                assert!(shell(&undo), "{undo}");
                assert_eq!(ids(id), [id], "after {undo}");
            }
        });
        done.expect("entered");
    }
}

#[test]
fn a_threshold_that_the_kernel_remembers_of_a_peer_is_found() {
    let Some((here, _there)) = testbed() else {
        return;
    };
    let found = here.run(|| {
        // BBR ignores it.
        host_route::set_control(NAME, THERE.into(), "cubic").expect("set");
        let before = ids("");
        initial_ssthresh::set(HERE.into(), THERE.into(), 100).expect("set");
        let read = facts().peer.expect("metrics of the peer");
        (before, read.ssthresh_segments, ids(""))
    });
    let (before, segments, after) = found.expect("entered");
    assert!(!before.contains(&"cached-ssthresh"));
    assert_eq!(segments, Some(100));
    assert!(after.contains(&"cached-ssthresh"), "{after:?}");
}

#[test]
fn what_is_read_of_a_namespace_is_its_own() {
    let Some((here, _there)) = testbed() else {
        return;
    };
    let read = here.run(facts).expect("entered");
    let card = read.interface.expect("the interface");
    assert_eq!((card.name.as_str(), card.mtu_bytes), (NAME, Some(1500)));
    assert_eq!(
        (card.is_virtual, card.driver.as_deref()),
        (Some(true), Some("veth"))
    );
    assert!(
        card.statistics
            .expect("counters")
            .contains_key("rx_missed_errors")
    );
    let route = read.route.expect("a route");
    assert_eq!(
        route.spec,
        "10.77.0.0/24 dev card0 proto kernel src 10.77.0.1"
    );
    // The machine's `/sys` has no such interface.
    assert!(read.unreadable["packet steering"].grant.is_some());
    assert!(read.unreadable["ring sizes"].grant.is_none());
}

#[test]
fn without_a_route_it_is_said_why_nothing_is_known_of_an_interface() {
    let Some((here, _there)) = testbed() else {
        return;
    };
    let read = here.run(|| host::read(None)).expect("entered");
    assert!(read.route.is_none() && read.interface.is_none());
    let missing = examine(&read, &path("")).missing;
    let of_rings = missing.iter().find(|missing| missing.fact == "ring sizes");
    let cause = &of_rings.expect("it is missing").cause;
    assert_eq!(cause, "there is no route, so no interface");
}
