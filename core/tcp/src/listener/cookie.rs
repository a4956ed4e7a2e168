//! SYN cookies: RFC 4987 section 3.6, after Bernstein 1996 and Linux.
//!
//! A listener that cannot or does not store a SYN encodes its parameters in the sequence number
//! of its SYN-ACK, and decodes them from the acknowledgment:
//!
//! ```text
//! cookie = F(sockets) + client ISN + count * 2^24
//!        + ((G(count, sockets, client ISN) + MSS index) mod 2^24)
//! ```
//!
//! `count` is a clock of 64 seconds, F and G are SipHash-2-4. Since the count is an input of G,
//! each period has its own function: knowledge of one is useless two periods later. Cookies of
//! the current period and the two before are accepted: one lives 128 to 192 seconds. A guess
//! succeeds with probability 7/2^24.
//!
//! The MSS is rounded down to one of a few. Window scale, SACK and ECN are in the low six bits of
//! the timestamp that the client echoes, as in Linux; a client without timestamps gets none of
//! the three. The timestamp is set back, never forward, by up to 64 ticks.
//!
//! Costs: the RTT of the handshake is not measured, and data on the SYN is dropped. If the ACK is
//! lost, the client has an open connection that the listener learns of only when the client
//! writes. Peers long forgotten are not reset while cookies are valid.

use core::net::IpAddr;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Flags, Options, Payload, Segment, SeqNumber};

use crate::Profile;
use crate::four_tuple::FourTuple;
use crate::secret::{Purpose, Secret};

/// Duration of one count.
const PERIOD: Duration = Duration::from_secs(64);

/// Age in counts up to which a cookie is accepted.
const OLDEST: u32 = 2;

/// Time after the last cookie was sent in which one can be valid.
pub(super) const LIFE: Duration = Duration::from_secs(64 * (OLDEST as u64 + 1));

/// Number of low bits of the timestamp that carry options.
const OPTION_BITS: u32 = 6;
const NO_SCALE: u32 = 0xf;
const SACK_BIT: u32 = 1 << 4;
const ECN_BIT: u32 = 1 << 5;

/// MSS values that a SYN cookie can encode, in octets. Those of common links and tunnels, after
/// Linux, and jumbo frames. Values below the defaults ensure that no peer is sent more than it
/// offered (RFC 9293 MUST-16), down to the minimum possible: that of 68 octets of IPv4 with 40 of
/// options (`mss_min`).
const MSS_V4: &[u16] = &[28, 216, 536, 1300, 1440, 1460, 8960];
const MSS_V6: &[u16] = &[28, 216, 536, 1220, 1420, 1440, 8940];

/// Index and value of the MSS that a cookie encodes for `offered` octets. Over IPv4 it is at most
/// `most`, unless that is 0. `None` is the default of the IP version (RFC 9293 MUST-15).
fn mss_told(tuple: &FourTuple, offered: Option<u16>, most: u32) -> (usize, u16) {
    let table = mss_table(tuple);
    let default = match tuple.remote_address() {
        IpAddr::V4(_) => 536,
        IpAddr::V6(_) => 1220,
    };
    let offered = offered.unwrap_or(default);
    let offered = match (tuple.remote_address(), u16::try_from(most)) {
        (IpAddr::V4(_), Ok(most)) if most > 0 => offered.min(most),
        _ => offered,
    };
    let index = table.iter().rposition(|mss| *mss <= offered).unwrap_or(0);
    (index, table[index])
}

fn mss_table(tuple: &FourTuple) -> &'static [u16] {
    match tuple.remote_address() {
        IpAddr::V4(_) => MSS_V4,
        IpAddr::V6(_) => MSS_V6,
    }
}

/// Creates and reads SYN cookies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cookies {
    secret: Secret,
}

impl Cookies {
    pub(super) const fn new(secret: Secret) -> Self {
        Self { secret }
    }

    /// `syn` reduced to what a cookie can encode, and the cookie.
    pub(super) fn encode<P: Payload>(
        &self,
        now: Instant,
        tuple: &FourTuple,
        syn: &Segment<P>,
        profile: &Profile,
    ) -> (Segment<P>, SeqNumber) {
        let (index, mss) = mss_told(tuple, syn.options.mss, profile.opening.cookie_mss_max);
        let stamps = syn
            .options
            .timestamps
            .filter(|_| profile.options.timestamps);
        let all = stamps.is_some();
        let flags = if all {
            syn.flags
        } else {
            syn.flags.without(Flags::ECE | Flags::CWR | Flags::AE)
        };
        let reduced = Segment {
            flags: flags.without(Flags::FIN | Flags::PSH | Flags::URG | Flags::AE),
            options: Options {
                mss: Some(mss),
                window_scale: syn
                    .options
                    .window_scale
                    .map(|shift| shift.min(14))
                    .filter(|_| all),
                sack_permitted: syn.options.sack_permitted && all,
                timestamps: stamps,
                ..Options::default()
            },
            payload: P::default(),
            ..syn.clone()
        };
        let cookie = self.number(count(now), tuple, syn.seq, index as u32);
        debug_assert!(
            self.index(count(now), tuple, syn.seq, cookie) == Some(index),
            "cookie {cookie:?} does not give back MSS index {index}"
        );
        (reduced, cookie)
    }

    /// Encodes options in the timestamp of the SYN-ACK that answers the reduced `syn`.
    pub(super) fn mark<P>(syn: &Segment<P>, syn_ack: &mut Segment<P>) {
        let Some(stamps) = &mut syn_ack.options.timestamps else {
            return;
        };
        let scale = syn_ack
            .options
            .window_scale
            .and(syn.options.window_scale)
            .map_or(NO_SCALE, u32::from);
        let sack = if syn_ack.options.sack_permitted {
            SACK_BIT
        } else {
            0
        };
        let ecn = if syn.flags.contains(Flags::ECE | Flags::CWR) {
            ECN_BIT
        } else {
            0
        };
        let low = (1 << OPTION_BITS) - 1;
        let marked = (stamps.val & !low) | scale | sack | ecn;
        // Never ahead of the clock: later segments would fail the peer's PAWS check.
        let is_ahead = marked.wrapping_sub(stamps.val) as i32 > 0;
        let val = marked.wrapping_sub(u32::from(is_ahead) << OPTION_BITS);
        debug_assert!(
            stamps.val.wrapping_sub(val) < 2 << OPTION_BITS && val & low == marked & low,
            "TSval {} is marked as {val}: ahead of the clock, or other options than {:#x}",
            stamps.val,
            marked & low
        );
        stamps.val = val;
    }

    /// SYN that `ack` acknowledges, if its number is a cookie of ours.
    pub(super) fn decode<P: Payload>(
        &self,
        now: Instant,
        tuple: &FourTuple,
        ack: &Segment<P>,
    ) -> Option<(Segment<P>, SeqNumber)> {
        let cookie = ack.ack + u32::MAX;
        let client_isn = ack.seq + u32::MAX;
        let table = mss_table(tuple);
        let mss = (0..=OLDEST).find_map(|age| {
            let then = count(now).wrapping_sub(age);
            let index = self.index(then, tuple, client_isn, cookie)?;
            table.get(index).copied()
        })?;
        let marks = ack.options.timestamps.map(|stamps| stamps.ecr);
        let scale = marks.map_or(NO_SCALE, |marks| marks & NO_SCALE);
        let has = |bit| marks.is_some_and(|marks| marks & bit != 0);
        let flags = if has(ECN_BIT) {
            Flags::SYN | Flags::ECE | Flags::CWR
        } else {
            Flags::SYN
        };
        let syn = Segment {
            src_port: ack.src_port,
            dst_port: ack.dst_port,
            seq: client_isn,
            flags,
            wnd: ack.wnd,
            options: Options {
                mss: Some(mss),
                window_scale: (scale != NO_SCALE).then_some(scale as u8),
                sack_permitted: has(SACK_BIT),
                timestamps: ack.options.timestamps,
                ..Options::default()
            },
            ..Segment::default()
        };
        Some((syn, cookie))
    }

    fn base(&self, tuple: &FourTuple, client_isn: SeqNumber) -> u32 {
        let keyed = self.secret.keyed(Purpose::SynCookieBase).tuple(tuple);
        (keyed.finish() as u32).wrapping_add(client_isn.as_u32())
    }

    fn check(&self, count: u32, tuple: &FourTuple, client_isn: SeqNumber) -> u32 {
        let keyed = self.secret.keyed(Purpose::SynCookieCount).tuple(tuple);
        let keyed = keyed
            .number(u64::from(count))
            .number(u64::from(client_isn.as_u32()));
        keyed.finish() as u32
    }

    fn number(
        &self,
        count: u32,
        tuple: &FourTuple,
        client_isn: SeqNumber,
        index: u32,
    ) -> SeqNumber {
        let check = self.check(count, tuple, client_isn).wrapping_add(index);
        let value = (count << 24).wrapping_add(check & 0x00ff_ffff);
        SeqNumber::new(self.base(tuple, client_isn).wrapping_add(value))
    }

    /// MSS index in a cookie of that count; `None` for another count.
    fn index(
        &self,
        count: u32,
        tuple: &FourTuple,
        client_isn: SeqNumber,
        cookie: SeqNumber,
    ) -> Option<usize> {
        let value = cookie.as_u32().wrapping_sub(self.base(tuple, client_isn));
        let check = self.check(count, tuple, client_isn);
        let index = value.wrapping_sub(check) & 0x00ff_ffff;
        (value >> 24 == count & 0xff).then_some(index as usize)
    }
}

/// Clock of cookies.
fn count(now: Instant) -> u32 {
    (now.as_nanos() / PERIOD.as_nanos()) as u32
}
