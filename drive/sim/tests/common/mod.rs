//! Configurations that several tests share.
#![allow(dead_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use gigatcp_path::{CpuCosts, HopConfig};
use gigatcp_sim::{
    EndReason, FlowConfig, HostConfig, Observe, Outcome, Reader, Scheduling, Stop, World,
    WorldConfig,
};
use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::{ConnectionConfig, Profile, TransportConfig};
use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_wire::SeqNumber;

pub fn host(profile: Profile, mtu: u16, control: &str, buffer: u64) -> HostConfig {
    HostConfig {
        tcp: ConnectionConfig {
            transport: TransportConfig {
                profile,
                mtu: mtu.into(),
                congestion: Arc::new(congestion::find(control).expect("a registered control")),
                initial_ssthresh: None,
                slow_start: SlowStart::Standard,
                send_buffer: Some(Bytes::new(buffer)),
                receive_buffer: Some(Bytes::new(buffer)),
                events: EventMask::NONE,
            }
            .into(),
            local_port: 5001,
            remote_port: 5001,
            iss: SeqNumber::new(1_000_000),
            ip: gigatcp_wire::IpVersion::V4,
            timestamp_offset: 0,
        },
        costs: CpuCosts::default(),
        scheduling: Scheduling::default(),
        steal: None,
        coalesce: Duration::ZERO,
        receive_offload: false,
        coalesce_packets: None,
        link: None,
        tx_queue: 1000,
        rings: None,
        reneges: false,
        backlog: None,
        clusters: None,
        reader: Reader::default(),
    }
}

pub fn flow(name: &str, host: &HostConfig, stop: Stop) -> FlowConfig {
    FlowConfig {
        name: name.into(),
        start: Duration::ZERO,
        via: None,
        extra_delay: Duration::ZERO,
        application: None,
        from: None,
        to: None,
        stop,
        write_size: Bytes::new(65_536),
        supply: None,
        sender: host.clone(),
        receiver: host.clone(),
        interval: Duration::from_secs(1),
    }
}

/// Datagrams of this application into a receive buffer of that many bytes.
pub fn datagrams(text: &str, host: &HostConfig, buffer: u64) -> FlowConfig {
    let mut udp = flow("udp", host, Stop::Bytes(Bytes::ZERO));
    udp.application = Some(gigatcp_app::read(text).unwrap());
    udp.receiver.tcp.transport_mut().receive_buffer = Some(Bytes::new(buffer));
    udp
}

pub fn link(name: &str, rate: u64, delay: Duration, packets: u64) -> HopConfig {
    HopConfig {
        name: name.into(),
        rate: Some(Rate::from_bps(rate)),
        one_way_delay: delay,
        limit_packets: Some(packets),
        ..HopConfig::default()
    }
}

pub fn wire(name: &str, delay: Duration) -> HopConfig {
    HopConfig {
        name: name.into(),
        one_way_delay: delay,
        ..HopConfig::default()
    }
}

pub fn world(forward: HopConfig, reverse: HopConfig, flows: Vec<FlowConfig>) -> WorldConfig {
    WorldConfig {
        seed: 1,
        forward: vec![forward],
        reverse: vec![reverse],
        links: Vec::new(),
        media: Vec::new(),
        hosts: Vec::new(),
        arrivals: Vec::new(),
        datagrams: Vec::new(),
        flows,
        end: Duration::from_secs(600),
        observe: Observe {
            sample_step: Duration::ZERO,
            record_limit: Bytes::MAX,
            fingerprint: true,
            account: true,
        },
    }
}

/// SMSS of the first flow.
pub fn smss(outcome: &Outcome) -> u32 {
    let sender = outcome.flows[0].sender.connection();
    sender.expect("a connection that was opened").info().smss
}

pub fn run(config: WorldConfig) -> (EndReason, Outcome) {
    let mut world = World::new(config).expect("a world that can be built");
    let ended = world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    world.check();
    (ended, world.outcome())
}
