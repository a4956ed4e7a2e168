//! A host that is well tuned for its path.

use std::collections::BTreeMap;

use gigatcp_meter::doctor::facts::{
    Cgroup, Coalescing, Conntrack, Frequency, HostFacts, Interface, Interrupt, Node, Offloads,
    PeerMetrics, Qdisc, Rings, Route, SCHEMA, Softnet,
};
use gigatcp_meter::doctor::{Direction, Path};
use gigatcp_units::{Bytes, Duration, Rate};

pub const RATE: Rate = Rate::from_bps(10_000_000_000);

/// 10 Gbit/s over an RTT of 80 ms: 100 MB in flight.
pub fn path() -> Path {
    Path {
        rtt: Duration::from_millis(80),
        rate: RATE,
        loss: None,
        direction: Direction::Both,
        mss: Bytes::new(1448),
    }
}

/// A physical host that is well tuned for [`path`].
pub fn good() -> HostFacts {
    let sysctls = [
        ("net.ipv4.tcp_rmem", "4096 131072 268435456"),
        ("net.ipv4.tcp_wmem", "4096\t16384\t268435456"),
        ("net.core.rmem_max", "268435456"),
        ("net.core.wmem_max", "268435456"),
        ("net.ipv4.tcp_moderate_rcvbuf", "1"),
        ("net.ipv4.tcp_window_scaling", "1"),
        ("net.ipv4.tcp_adv_win_scale", "1"),
        ("net.ipv4.tcp_mem", "4000000 8000000 16000000"),
        ("net.ipv4.tcp_limit_output_bytes", "4194304"),
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_available_congestion_control", "reno cubic"),
        ("net.ipv4.tcp_sack", "1"),
        ("net.ipv4.tcp_timestamps", "1"),
        ("net.ipv4.tcp_slow_start_after_idle", "0"),
        ("net.ipv4.tcp_no_ssthresh_metrics_save", "0"),
        ("net.ipv4.tcp_mtu_probing", "0"),
        ("net.core.netdev_max_backlog", "1000"),
        ("net.core.netdev_budget", "300"),
    ];
    HostFacts {
        schema: SCHEMA.into(),
        kernel: Some("6.12.43".into()),
        page_bytes: Some(4096),
        cpus: Some(4),
        sysctls: sysctls
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        destination: Some("192.0.2.1".into()),
        route: Some(Route {
            spec: "default via 198.51.100.1 dev eth0".into(),
            device: "eth0".into(),
            ..Route::default()
        }),
        peer: Some(PeerMetrics::default()),
        interface: Some(card()),
        qdiscs: Some(vec![queue("fq", Some(10_000))]),
        tcp_memory_pages: Some(1_000),
        softnet: Some(vec![Softnet {
            processed: 1_000_000_000,
            ..Softnet::default()
        }]),
        frequencies: Some(vec![frequency("performance", "acpi-cpufreq")]),
        nodes: Some(vec![
            Node {
                id: 0,
                cpus: "0-1".into(),
            },
            Node {
                id: 1,
                cpus: "2,3".into(),
            },
        ]),
        cgroup: Some(Cgroup::default()),
        conntrack: Some(Conntrack {
            count: 100,
            max: 262_144,
        }),
        ..HostFacts::default()
    }
}

fn card() -> Interface {
    let counters = [("rx_packets", 1_000_000_000), ("rx_dropped", 5_000)];
    let line = |number, per_cpu: [u64; 4]| Interrupt {
        number,
        per_cpu: per_cpu.into(),
    };
    Interface {
        name: "eth0".into(),
        is_virtual: Some(false),
        mtu_bytes: Some(1500),
        tx_queue_packets: Some(1000),
        speed_mbit: Some(100_000),
        duplex: Some("full".into()),
        numa_node: Some(0),
        rings: Some(Rings {
            rx: 4096,
            rx_max: 4096,
            tx: 4096,
            tx_max: 4096,
        }),
        coalescing: Some(Coalescing {
            adaptive_rx: true,
            rx_us: 50,
            rx_frames: 0,
            tx_us: 50,
        }),
        offloads: Some(Offloads {
            tso: Some(true),
            gso: Some(true),
            gro: Some(true),
            tx_checksum: Some(true),
            rx_checksum: Some(true),
        }),
        statistics: Some(counters.map(|(name, count)| (name.into(), count)).into()),
        driver_counters: Some(BTreeMap::new()),
        rps_cpus: Some(vec!["0".into()]),
        interrupts: Some(vec![line(40, [5_000, 0, 0, 0]), line(41, [0, 5_000, 0, 0])]),
        ..Interface::default()
    }
}

pub fn queue(kind: &str, limit: Option<u64>) -> Qdisc {
    Qdisc {
        kind: kind.into(),
        handle: "8001:".into(),
        parent: "root".into(),
        limit_packets: limit,
        ..Qdisc::default()
    }
}

pub fn frequency(governor: &str, driver: &str) -> Frequency {
    Frequency {
        policy: "policy0".into(),
        governor: Some(governor.into()),
        driver: Some(driver.into()),
        min_khz: Some(800_000),
        max_khz: Some(3_000_000),
    }
}
