//! The interface: sizes, offloads, rings, counters. Netlink and `ioctl` show the calling thread's
//! namespace, which `/sys` may not.

use std::collections::BTreeMap;
use std::io;

use crate::doctor::HostFacts;
use crate::doctor::facts::{Coalescing, Fact, Interface, Offloads, Rings};
use gigatcp_linux::ethtool::{self, Feature};
use gigatcp_linux::netlink_request::{self, attribute, long, value, word};

use super::{absent, noted, number, text};

const GET_LINK: u16 = 18;
/// `struct ifinfomsg`.
const LINK_HEADER: usize = 16;
const ADDRESS: u16 = 1;
const NAME: u16 = 3;
const MTU: u16 = 4;
const TX_QUEUE: u16 = 13;
const LINK_INFO: u16 = 18;
const STATISTICS: u16 = 23;
/// `ARPHRD_LOOPBACK`.
const LOOPBACK: u16 = 772;
/// Kinds of virtual interfaces above a hardware interface.
const REAL: [&str; 5] = ["bond", "vlan", "macvlan", "ipvlan", "team"];

/// Counters of `struct rtnl_link_stats64`, in their order.
const COUNTERS: [&str; 20] = [
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
];

/// Parts of the names of driver counters that count losses.
const LOSSES: [&str; 8] = [
    "drop", "discard", "miss", "no_buf", "no_desc", "fifo", "overrun", "crc",
];

/// Netlink description of an interface.
pub(super) struct Link(Vec<u8>);

/// Interface with this number.
pub(super) fn link_with(index: u32) -> io::Result<Link> {
    let mut body = vec![0; LINK_HEADER];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    ask(&body)
}

/// Interface with this name.
pub(super) fn link(name: &str) -> io::Result<Link> {
    let mut body = vec![0; LINK_HEADER];
    attribute(&mut body, NAME, &[name.as_bytes(), &[0]].concat());
    ask(&body)
}

fn ask(body: &[u8]) -> io::Result<Link> {
    let answers = netlink_request::route(GET_LINK, body, false)?;
    let answer = answers.into_iter().next().map(Link);
    let is_whole = |link: &Link| link.0.len() >= LINK_HEADER;
    answer.filter(is_whole).ok_or_else(|| absent("interface"))
}

impl Link {
    pub(super) fn name(&self) -> Option<String> {
        Some(text(value(&self.0[LINK_HEADER..], NAME)?))
    }

    pub(super) fn index(&self) -> u32 {
        word(&self.0, 4).unwrap_or(0)
    }

    /// Its hardware address, as `/sys` writes it.
    pub(super) fn address(&self) -> String {
        let octets = value(&self.0[LINK_HEADER..], ADDRESS).unwrap_or_default();
        let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        octets.join(":")
    }

    fn number(&self, kind: u16) -> Option<u64> {
        number(&self.0[LINK_HEADER..], kind).map(u64::from)
    }

    fn is_virtual(&self) -> bool {
        let info = value(&self.0[LINK_HEADER..], LINK_INFO).unwrap_or_default();
        let kind = value(info, 1).map(text);
        let device = u16::from_ne_bytes([self.0[2], self.0[3]]);
        device == LOOPBACK || kind.is_some_and(|kind| !REAL.contains(&kind.as_str()))
    }

    fn statistics(&self) -> Option<BTreeMap<String, u64>> {
        let octets = value(&self.0[LINK_HEADER..], STATISTICS)?;
        let counters = (0..).zip(COUNTERS);
        let read =
            counters.filter_map(|(index, name)| Some((name.into(), long(octets, 8 * index)?)));
        Some(read.collect())
    }
}

pub(super) fn read(facts: &mut HostFacts, name: &str) {
    let Some(link) = noted(facts, Fact::Mtu, link(name)) else {
        return;
    };
    let statistics = link.statistics().ok_or_else(|| absent("counters"));
    let speed = ethtool::link(name);
    let card = Interface {
        name: name.into(),
        is_virtual: Some(link.is_virtual()),
        driver: ethtool::driver(name).ok(),
        mtu_bytes: link.number(MTU),
        tx_queue_packets: link.number(TX_QUEUE),
        duplex: speed
            .as_ref()
            .ok()
            .and_then(|(_, is_full)| *is_full)
            .map(duplex),
        speed_mbit: noted(facts, Fact::Speed, speed.and_then(known_speed)),
        rings: noted(facts, Fact::Rings, rings(name)),
        coalescing: noted(facts, Fact::Coalescing, coalescing(name)),
        offloads: noted(facts, Fact::Offloads, offloads(name)),
        statistics: noted(facts, Fact::Statistics, statistics),
        driver_counters: noted(facts, Fact::DriverCounters, driver_counters(name)),
        ..Interface::default()
    };
    facts.interface = Some(card);
}

fn duplex(is_full: bool) -> String {
    if is_full { "full" } else { "half" }.into()
}

fn known_speed((speed, _): (Option<u32>, Option<bool>)) -> io::Result<u64> {
    speed.map(u64::from).ok_or_else(|| absent("speed"))
}

fn rings(name: &str) -> io::Result<Rings> {
    let read = ethtool::rings(name)?;
    let [rx, rx_max] = read.rx.map(u64::from);
    let [tx, tx_max] = read.tx.map(u64::from);
    if rx_max == 0 {
        return Err(absent("rings"));
    }
    Ok(Rings {
        rx,
        rx_max,
        tx,
        tx_max,
    })
}

fn coalescing(name: &str) -> io::Result<Coalescing> {
    let read = ethtool::coalescing(name)?;
    Ok(Coalescing {
        adaptive_rx: read.adaptive_rx,
        rx_us: read.rx_us.into(),
        rx_frames: read.rx_frames.into(),
        tx_us: read.tx_us.into(),
    })
}

fn offloads(name: &str) -> io::Result<Offloads> {
    let read = |feature| ethtool::feature(name, feature).ok();
    Ok(Offloads {
        tso: Some(ethtool::feature(name, Feature::Tso)?),
        gso: read(Feature::Gso),
        gro: read(Feature::Gro),
        tx_checksum: read(Feature::TxChecksum),
        rx_checksum: read(Feature::RxChecksum),
    })
}

/// Driver's counters of losses that are not zero.
fn driver_counters(name: &str) -> io::Result<BTreeMap<String, u64>> {
    let all = ethtool::counters(name)?.into_iter();
    Ok(all
        .filter(|(name, count)| *count > 0 && counts_losses(name))
        .collect())
}

fn counts_losses(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    LOSSES.iter().any(|part| lower.contains(part))
}

/// All counters of losses on an interface, of driver and kernel. Empty if it is unknown.
pub(crate) fn loss_counters(name: &str) -> BTreeMap<String, u64> {
    let kernel = link(name).ok().and_then(|link| link.statistics());
    let driver = ethtool::counters(name).unwrap_or_default();
    let all = kernel.into_iter().flatten().chain(driver);
    all.filter(|(name, _)| counts_losses(name)).collect()
}
