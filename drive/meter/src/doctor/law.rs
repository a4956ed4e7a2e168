//! Laws that give a ceiling: what a setting allows, in bit/s.
//!
//! | law | ceiling | source |
//! |---|---|---|
//! | window over RTT | `window / rtt` | RFC 7323 section 1.1 |
//! | response to loss | `C mss / (rtt sqrt(p))`; CUBIC's mean window | Mathis et al. 1997; RFC 9438 section 5 |
//! | ring × MSS | `ring mss / pause` | a ring holds what arrives while its CPU is away |
//! | CPU time | `mss / (time per segment + mss × time per byte)` | measured, see below |
//!
//! CPU times were measured on a virtual machine of this decade (Linux 6.18, cores of about 3 GHz).
//! Copying takes 0.06 ns per byte received and 0.09 ns per byte sent (loopback, blocks of 1 MiB). A
//! segment through both stacks on one core, without segmentation offload between two namespaces,
//! takes 1230 ns in addition (7.7 Gbit/s without GSO, 9.3 with it; the law gives 8.5). For a
//! physical card, half of that and 200 ns for its driver is an estimate. They show the order of
//! magnitude, not what this host reaches.

use gigatcp_theory::cubic::Cubic;
use gigatcp_theory::mathis::{self, MathisConstant};
pub use gigatcp_theory::send_buffer::{SUPER_PACKET, send_burst, send_window};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::doctor::facts::HostFacts;
use crate::doctor::path::Path;

/// CPU time of a single segment through both stacks, on a virtual interface.
pub const THROUGH_SEGMENT: Duration = Duration::from_nanos(1_230);
/// CPU time of a single segment through the stack and a driver, in either direction.
pub const LONE_SEGMENT: Duration = Duration::from_nanos(800);
/// CPU time to send a segment that is cut off a super-packet above the driver.
pub const CUT_SEGMENT: Duration = Duration::from_nanos(300);
/// CPU time to receive a segment that is merged with its neighbors.
pub const JOINED_SEGMENT: Duration = Duration::from_nanos(250);
/// CPU time to send a segment that the card cuts off a super-packet.
pub const OFFLOADED_SEGMENT: Duration = Duration::from_nanos(50);
/// CPU time of an interrupt.
pub const INTERRUPT: Duration = Duration::from_nanos(1_000);
/// Maximum time without service of a receive ring: a timer tick at 1000 Hz.
pub const CPU_PAUSE: Duration = Duration::from_millis(1);
/// Fraction of a core's throughput that remains with memory of another NUMA node.
pub const REMOTE_MEMORY: f64 = 0.7;

const COPY_SEND_NS_PER_BYTE: f64 = 0.09;
const COPY_RECEIVE_NS_PER_BYTE: f64 = 0.06;
const CHECKSUM_NS_PER_BYTE: f64 = 0.1;

/// Bytes of IPv4 and TCP headers with timestamps.
const HEADERS: u64 = 52;
/// Bytes of an Ethernet frame outside its payload: header, FCS, preamble, gap.
const FRAMING: u64 = 38;
/// Bytes of an Ethernet header. A queueing discipline counts no more of a frame.
const LINK_HEADER: u64 = 14;
/// Segments of the initial window of RFC 6928.
pub const INITIAL_WINDOW: u64 = 10;
/// Maximum window without window scaling.
pub const UNSCALED_WINDOW: u64 = 65_535;

/// Fraction of a link's bits that is payload of segments of `mss` bytes.
pub fn payload_share(mss: Bytes) -> f64 {
    let payload = mss.as_u64() as f64;
    payload / (payload + (HEADERS + FRAMING) as f64)
}

/// Payload rate of a queueing discipline of `rate`.
pub fn shaped_rate(rate: Rate, mss: Bytes) -> Rate {
    let payload = mss.as_u64() as f64;
    scaled(rate, payload / (payload + (HEADERS + LINK_HEADER) as f64))
}

/// Payload rate of a link of `rate`.
pub fn payload_rate(rate: Rate, mss: Bytes) -> Rate {
    scaled(rate, payload_share(mss))
}

/// MSS on a link with this MTU, with timestamps.
pub fn mss_of(mtu: u64) -> Bytes {
    Bytes::new(mtu.saturating_sub(HEADERS).max(1))
}

/// `rate` times `share`.
pub fn scaled(rate: Rate, share: f64) -> Rate {
    Rate::from_bps((rate.as_bps() as f64 * share) as u64)
}

/// Share of a receive buffer that Linux advertises as window.
///
/// Before 6.6 `tcp_adv_win_scale` sets it: 1 - 2^-n, or 2^n for n <= 0. Later kernels measure
/// the share from the packets that arrive: 0.60 to 0.63 with single segments of 1448 bytes (Linux
/// 6.18). Super-packets, which only a sender on the same machine delivers whole, give 0.89.
pub fn window_share(facts: &HostFacts) -> f64 {
    if is_share_measured(facts) {
        return 0.63;
    }
    let scale = facts.sysctl("net.ipv4.tcp_adv_win_scale");
    let scale: i32 = scale.and_then(|text| text.parse().ok()).unwrap_or(1);
    let part = power_of_two(-scale.abs().min(31));
    if scale > 0 { 1.0 - part } else { part }
}

/// Whether the kernel measures which share of a receive buffer is window.
pub fn is_share_measured(facts: &HostFacts) -> bool {
    facts.is_kernel_from(6, 6).unwrap_or(true)
}

/// Initial window of a receive buffer if it limits a sender's first flight. That is, if it is below
/// the initial window of RFC 6928: ten segments, 14600 bytes at most.
pub fn first_flight(buffer: u64, facts: &HostFacts, path: &Path) -> Option<Bytes> {
    let window = share_of(buffer, window_share(facts));
    (window.as_u64() < path.mss.as_u64().saturating_mul(INITIAL_WINDOW).min(14_600))
        .then_some(window)
}

/// 2^`power` for small whole powers.
fn power_of_two(power: i32) -> f64 {
    let whole = (1_u64 << power.unsigned_abs().min(62)) as f64;
    if power < 0 { 1.0 / whole } else { whole }
}

/// `amount` bytes times `share`.
pub fn share_of(amount: u64, share: f64) -> Bytes {
    Bytes::new((amount as f64 * share) as u64)
}

/// Congestion control to the destination: the route's, else the system's.
pub fn control(facts: &HostFacts) -> Option<String> {
    let of_route = facts.metrics().congctl;
    of_route.or_else(|| {
        facts
            .sysctl("net.ipv4.tcp_congestion_control")
            .map(Into::into)
    })
}

/// Rate of a congestion control at loss probability `p`. `None` for controls whose response to loss
/// has no known law, and for BBR, which does not reduce its rate for isolated losses.
pub fn rate_at_loss(control: &str, path: &Path, p: Probability) -> Option<Rate> {
    // Linux grows the window by the bytes acknowledged, whatever the number of ACKs.
    let reno = mathis::rate(MathisConstant::RandomEverySegment, path.mss, path.rtt, p);
    match control {
        "reno" => Some(reno),
        "cubic" => {
            let window = Cubic::default().mean_window(path.rtt, p);
            let bps = window * path.mss.as_bits_f64() / path.rtt.as_secs_f64();
            Some(Rate::from_bps(bps as u64))
        }
        _ => None,
    }
}

/// Fraction of its window that a congestion control keeps at a loss.
pub fn beta(control: &str) -> f64 {
    if control == "reno" { 0.5 } else { 0.7 }
}

/// Packet size that the stack passes to an interface at the path's rate. That is a millisecond of
/// data, at least two segments, at most a super-packet.
pub fn handed_down(facts: &HostFacts, path: &Path) -> u64 {
    let mss = path.mss.as_u64().max(1);
    let card = facts.interface.as_ref();
    if card.is_some_and(|card| !card.has_segmentation()) {
        return mss;
    }
    let paced = (path.rate.as_bps() / 8) >> PACING_SHIFT;
    paced.max(mss.saturating_mul(2)).min(SUPER_PACKET)
}

/// Time limit of a connection's data below the stack: 2^-n seconds.
pub const PACING_SHIFT: u32 = 10;

/// RTTs that slow start loses if it begins at `initial` segments. Compared with ten segments (RFC
/// 6928), it is one RTT per doubling.
pub fn late_rounds(initial: u64) -> f64 {
    libm::log2(INITIAL_WINDOW as f64 / initial.max(1) as f64).max(0.0)
}

/// RTTs that slow start loses if the receive window begins at `initial` segments.
///
/// Linux raises the window by two segments for each one received, so it triples each RTT until it
/// exceeds the sender's window. Until then the sender's window grows only if more than half of it
/// is in use (RFC 7661).
pub fn late_rounds_of_receiver(initial: u64) -> f64 {
    let (mut window, mut cwnd) = (initial.max(1) as f64, INITIAL_WINDOW as f64);
    let mut usual = cwnd;
    while window < cwnd {
        if cwnd < 2.0 * window {
            cwnd += window;
        }
        usual *= 2.0;
        window *= 3.0;
    }
    libm::log2(usual / cwnd)
}

/// Rate at which a ring of `descriptors` overflows during `pause`.
pub fn ring_rate(descriptors: u64, mss: Bytes, pause: Duration) -> Rate {
    Rate::from_amount(Bytes::new(descriptors.saturating_mul(mss.as_u64())), pause)
}

/// CPU time of segments, given a host's offloads.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// CPU time per segment.
    pub per_segment: Duration,
    /// CPU time per byte in nanoseconds.
    pub per_byte_ns: f64,
}

impl Work {
    /// Work of sending with the enabled offloads.
    pub fn of_sender(facts: &HostFacts) -> Self {
        let card = facts.interface.as_ref();
        let offloads = card.and_then(|card| card.offloads).unwrap_or_default();
        let per_segment = match (offloads.tso, offloads.gso) {
            // The pieces arrive separately at the other end, on this host.
            (Some(false), _) if is_virtual(facts) => THROUGH_SEGMENT,
            (Some(false), Some(false)) => LONE_SEGMENT,
            (Some(false), _) => CUT_SEGMENT,
            _ => OFFLOADED_SEGMENT,
        };
        let checksum = offloads.tx_checksum == Some(false);
        Self {
            per_segment,
            per_byte_ns: COPY_SEND_NS_PER_BYTE + checksum_time(checksum),
        }
    }

    /// Work of receiving with the enabled offloads.
    pub fn of_receiver(facts: &HostFacts) -> Self {
        let card = facts.interface.as_ref();
        let offloads = card.and_then(|card| card.offloads).unwrap_or_default();
        let per_segment = match offloads.gro {
            Some(false) if !is_virtual(facts) => LONE_SEGMENT,
            _ => JOINED_SEGMENT,
        };
        let checksum = offloads.rx_checksum == Some(false);
        Self {
            per_segment,
            per_byte_ns: COPY_RECEIVE_NS_PER_BYTE + checksum_time(checksum),
        }
    }

    /// Costlier of both directions.
    pub fn of_host(facts: &HostFacts) -> Self {
        let [sender, receiver] = [Self::of_sender(facts), Self::of_receiver(facts)];
        let mss = Bytes::new(1448);
        if sender.core_rate(mss) < receiver.core_rate(mss) {
            sender
        } else {
            receiver
        }
    }

    /// Rate at which one core is saturated.
    pub fn core_rate(self, mss: Bytes) -> Rate {
        let bytes = mss.as_u64() as f64;
        let nanos = self.per_segment.as_nanos() as f64 + bytes * self.per_byte_ns;
        Rate::from_bps((bytes * 8e9 / nanos) as u64)
    }
}

fn is_virtual(facts: &HostFacts) -> bool {
    let card = facts.interface.as_ref();
    card.is_some_and(|card| card.is_virtual == Some(true))
}

const fn checksum_time(is_in_software: bool) -> f64 {
    if is_in_software {
        CHECKSUM_NS_PER_BYTE
    } else {
        0.0
    }
}
