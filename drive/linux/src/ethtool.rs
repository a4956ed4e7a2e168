//! Reads settings and counters of a network card and its driver (`ethtool(8)`, by `ioctl`).
//!
//! Every function only reads, and most need no privilege. A driver that lacks something fails with
//! `EOPNOTSUPP`.

use std::io;
use std::os::fd::AsRawFd;

use crate::check;
use crate::device;
use crate::netlink_request::{long, word};

const GSET: u32 = 0x1;
const GDRVINFO: u32 = 0x3;
const GCOALESCE: u32 = 0xe;
const GRINGPARAM: u32 = 0x10;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
/// The string set with the names of the counters of `GSTATS`.
const STRINGS_OF_STATS: u32 = 1;
/// Bytes of a name in a string set.
const STRING: usize = 32;
/// Room for counters that a driver may add between two requests.
const SPARE: usize = 4096;

/// An offload that can be read separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Feature {
    /// Checksums of received packets.
    RxChecksum = 0x14,
    /// Checksums of sent packets.
    TxChecksum = 0x16,
    /// Segmentation by the card.
    Tso = 0x1e,
    /// Segmentation in software below TCP.
    Gso = 0x23,
    /// Joining of received segments.
    Gro = 0x2b,
}

/// Whether a feature of the interface is on.
///
/// # Errors
/// The kernel's error.
pub fn feature(name: &str, feature: Feature) -> io::Result<bool> {
    let answer = ask(name, feature as u32, &[], 8)?;
    Ok(word(&answer, 4) == Some(1))
}

/// Sizes of rings in descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rings {
    /// Receive ring and its maximum.
    pub rx: [u32; 2],
    /// Transmit ring and its maximum.
    pub tx: [u32; 2],
}

/// Sizes of the rings of the interface.
///
/// # Errors
/// The kernel's error.
pub fn rings(name: &str) -> io::Result<Rings> {
    let answer = ask(name, GRINGPARAM, &[], 36)?;
    let field = |index: usize| word(&answer, 4 * index).unwrap_or(0);
    Ok(Rings {
        rx: [field(5), field(1)],
        tx: [field(8), field(4)],
    })
}

/// Interrupt coalescing of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coalescing {
    /// Whether receive coalescing adapts to the load.
    pub adaptive_rx: bool,
    /// Delay of receive interrupts in microseconds.
    pub rx_us: u32,
    /// Packets after which a receive interrupt is raised; 0: unlimited.
    pub rx_frames: u32,
    /// Delay of transmit interrupts in microseconds.
    pub tx_us: u32,
}

/// Interrupt coalescing of the interface.
///
/// # Errors
/// The kernel's error.
pub fn coalescing(name: &str) -> io::Result<Coalescing> {
    let answer = ask(name, GCOALESCE, &[], 92)?;
    let field = |index: usize| word(&answer, 4 * index).unwrap_or(0);
    Ok(Coalescing {
        adaptive_rx: field(10) != 0,
        rx_us: field(1),
        rx_frames: field(2),
        tx_us: field(5),
    })
}

/// Speed in Mbit/s and whether the link is full duplex; `None` if unknown.
///
/// # Errors
/// The kernel's error.
pub fn link(name: &str) -> io::Result<(Option<u32>, Option<bool>)> {
    const UNKNOWN: [u32; 3] = [0, 0xffff, u32::MAX];
    let answer = ask(name, GSET, &[], 44)?;
    let half = |offset: usize| word(&answer, offset).unwrap_or(0) & 0xffff;
    let speed = half(28) << 16 | half(12);
    let duplex = match answer.get(14) {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    };
    Ok((Some(speed).filter(|speed| !UNKNOWN.contains(speed)), duplex))
}

/// Name of the driver of the interface.
///
/// # Errors
/// The kernel's error.
pub fn driver(name: &str) -> io::Result<String> {
    let answer = ask(name, GDRVINFO, &[], 196)?;
    Ok(string(answer.get(4..36).unwrap_or_default()))
}

/// Names and values of the driver's counters.
///
/// # Errors
/// The kernel's error.
pub fn counters(name: &str) -> io::Result<Vec<(String, u64)>> {
    let driver = ask(name, GDRVINFO, &[], 196)?;
    let count = word(&driver, 180).unwrap_or(0) as usize;
    let room = count + SPARE;
    let names = ask(name, GSTRINGS, &[STRINGS_OF_STATS], 12 + STRING * room)?;
    let values = ask(name, GSTATS, &[], 8 + 8 * room)?;
    let one = |index: usize| {
        let start = 12 + STRING * index;
        let name = string(names.get(start..start + STRING)?);
        Some((name, long(&values, 8 + 8 * index)?))
    };
    Ok((0..count).filter_map(one).collect())
}

/// Switches a feature, by the command for that (`ETHTOOL_S*`).
pub fn set_feature(name: &str, command: u32, is_on: bool) -> io::Result<()> {
    ask(name, command, &[is_on.into()], 8).map(drop)
}

fn string(octets: &[u8]) -> String {
    let name = octets.split(|octet| *octet == 0).next();
    String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
}

/// Answer to an ethtool command, of at most `length` bytes.
fn ask(name: &str, command: u32, arguments: &[u32], length: usize) -> io::Result<Vec<u8>> {
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    let mut answer = vec![0; length];
    for (field, value) in answer
        .chunks_exact_mut(4)
        .zip([&[command], arguments].concat())
    {
        field.copy_from_slice(&value.to_ne_bytes());
    }
    let control = device::control_socket(libc::AF_INET)?;
    let mut request = device::request_for(name);
    request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
    // SAFETY: `answer` outlives the call and has the room of the command's structure, for the
    // sets of counters with room to spare.
    check(unsafe { libc::ioctl(control.as_raw_fd(), SIOCETHTOOL, &raw mut request) })?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::or_skip;
    use crate::{Namespace, make_pair};

    #[test]
    fn what_was_switched_off_on_a_device_reads_as_off() {
        let Some(here) = or_skip(Namespace::new()) else {
            return;
        };
        let Some(there) = or_skip(Namespace::new()) else {
            return;
        };
        if or_skip(make_pair(&here, &there, "card0")).is_none() {
            return;
        }
        let read = here.run(|| {
            let before = feature("card0", Feature::Gso).unwrap();
            device::switch_off_offloads("card0").unwrap();
            let after =
                [Feature::Tso, Feature::Gso, Feature::Gro].map(|offload| feature("card0", offload));
            let counters = counters("card0").unwrap();
            (
                before,
                after.map(Result::unwrap),
                driver("card0").unwrap(),
                counters,
            )
        });
        let (before, after, driver, counters) = read.unwrap();
        assert!(before);
        assert_eq!(after, [false; 3]);
        assert_eq!(driver, "veth");
        assert!(
            counters.iter().any(|(name, _)| name == "peer_ifindex"),
            "{counters:?}"
        );
    }
}
