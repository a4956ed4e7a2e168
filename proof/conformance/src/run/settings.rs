//! Settings of a run: exactness of comparison, addresses and names.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gigatcp_units::Duration;

use super::pace::Pace;
use super::{Stop, unsupported};
use crate::ast::Script;
use crate::stack::{Addresses, Unsupported};

/// packetdrill's tolerance if the script states none.
pub(super) const PACKETDRILL_TOLERANCE: Duration = Duration::from_millis(4);

/// Settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Tolerance of times.
    pub tolerance: Tolerance,
    /// Clock by which the script is run.
    pub pace: Pace,
    /// Parts that are not compared.
    pub leniency: Leniency,
    /// Whether every packet that leaves must be in the script. By default only in scripts with a
    /// `// profile:` line.
    pub strict: Option<bool>,
    /// Whether to use IPv6 instead of IPv4 unless the script chooses.
    pub ipv6: bool,
    /// Definitions, as by `-D NAME=value` in a script.
    pub defines: Vec<(String, String)>,
}

/// Tolerance of times relative to those of the script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tolerance {
    /// No difference.
    #[default]
    Exact,
    /// As stated by the script's `--tolerance_usecs`, or packetdrill's 4 ms.
    Script,
    /// At most this difference.
    Fixed(Duration),
}

/// Parts that are not compared, for scripts written for another stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leniency {
    /// PSH: its placement is the sender's choice (RFC 9293 section 3.9.1.2).
    pub push: bool,
    /// Order and padding of TCP options, order of AccECN counters.
    pub layout: bool,
}

pub(super) fn addresses(
    script: &Script,
    settings: &Settings,
    mtu: Option<u16>,
) -> Result<Addresses, Stop> {
    let choice = script.option("ip_version");
    let ipv6 = match choice.map(|option| option.value.as_str()) {
        None => settings.ipv6,
        Some("ipv4") => false,
        Some("ipv6") => true,
        Some(other) => {
            let span = choice.map_or(0..0, |option| option.span.clone());
            let what = Unsupported::new("option", format!("--ip_version={other}"));
            return Err(unsupported(&span, what));
        }
    };
    // MTUs with which both IP versions announce an MSS of 1460.
    let mtu = mtu.unwrap_or(if ipv6 { 1520 } else { 1500 });
    let (local, remote) = match ipv6 {
        false => (
            IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
            IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        ),
        true => (
            IpAddr::V6(Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1)),
            IpAddr::V6(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1)),
        ),
    };
    // Without effect if they are of the other version.
    let chosen = |name: &str, usual: IpAddr| {
        let option = script.option(name)?;
        let chosen = option.value.parse::<IpAddr>().ok();
        chosen.filter(|chosen| chosen.is_ipv6() == usual.is_ipv6())
    };
    Ok(Addresses {
        local: chosen("local_ip", local).unwrap_or(local),
        remote: chosen("remote_ip", remote).unwrap_or(remote),
        local_port: 8080,
        remote_port: 8080,
        mtu,
    })
}

/// Definitions of the form `-D NAME=0a0b` in settings and script. Other values define words, which
/// are not used here.
pub(super) fn defines(script: &Script, settings: &Settings) -> BTreeMap<String, Vec<u8>> {
    let own = script
        .options
        .iter()
        .filter(|option| option.name == "D")
        .filter_map(|option| option.value.split_once('='));
    let given = settings
        .defines
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()));
    given
        .chain(own)
        .filter_map(|(name, value)| Some((name.to_string(), hexadecimal(value)?)))
        .collect()
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let is_octets = text.len().is_multiple_of(2) && text.chars().all(|c| c.is_ascii_hexdigit());
    is_octets.then(|| {
        let pairs = (0..text.len()).step_by(2);
        pairs
            .filter_map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
            .collect()
    })
}
