//! Initial sequence number (RFC 6528, RFC 9293 section 3.4.1) and timestamp offset (RFC 7323
//! section 5.4) of a new connection.
//!
//! ```text
//! ISN = M + F(local address, local port, remote address, remote port, secret)
//! ```
//!
//! M counts steps of 4 microseconds and so wraps in 4.77 hours; F is SipHash-2-4 truncated to 32
//! bits. For one pair of sockets the numbers grow with the clock, so that an old incarnation's
//! segments fall outside the new one's window. Numbers of different pairs reveal nothing about
//! each other (RFC 9293 MUST-8, MUST-9, SHLD-1).
//!
//! The timestamp clock has one offset per pair of *addresses*, as in Linux. For one destination
//! timestamps grow from connection to connection, which PAWS and the reuse of TIME-WAIT (RFC 6191)
//! require. Uptime and connections of other peers stay hidden.
//!
//! The secret must outlive the connections that use it. A change while some are in TIME-WAIT
//! removes the protection of the clock (RFC 6528 section 3).

use alloc::sync::Arc;

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::SeqNumber;

use crate::connection::{ConnectionConfig, TransportConfig};
use crate::four_tuple::FourTuple;
use crate::secret::{Purpose, Secret};

/// Tick of the clock M (RFC 6528 section 3, RFC 9293 section 3.4.1).
const STEP: Duration = Duration::from_micros(4);

/// Generator of initial sequence numbers and timestamp offsets.
#[derive(Clone, Copy, Debug)]
pub struct IsnGenerator {
    secret: Secret,
}

impl IsnGenerator {
    /// A generator with this secret.
    pub const fn new(secret: Secret) -> Self {
        Self { secret }
    }

    /// Initial sequence number of a connection that begins at `now`.
    pub(crate) fn initial_sequence_number(&self, now: Instant, tuple: &FourTuple) -> SeqNumber {
        let clock = (now.as_nanos() / STEP.as_nanos()) as u32;
        let keyed = self.secret.keyed(Purpose::InitialSequenceNumber);
        SeqNumber::new(clock.wrapping_add(keyed.tuple(tuple).finish() as u32))
    }

    /// Offset of the timestamp clock towards this peer.
    pub fn timestamp_offset(&self, tuple: &FourTuple) -> u32 {
        let keyed = self.secret.keyed(Purpose::TimestampOffset);
        let keyed = keyed
            .address(tuple.local_address())
            .address(tuple.remote_address());
        keyed.finish() as u32
    }

    /// Configuration of the connection `tuple` that begins at `now`: `transport`, with ports, initial
    /// sequence number and timestamp offset.
    pub fn identify(
        &self,
        now: Instant,
        tuple: &FourTuple,
        transport: &Arc<TransportConfig>,
    ) -> ConnectionConfig {
        ConnectionConfig {
            transport: transport.clone(),
            ip: tuple.ip(),
            local_port: tuple.local_port,
            remote_port: tuple.remote_port,
            iss: self.initial_sequence_number(now, tuple),
            timestamp_offset: self.timestamp_offset(tuple),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use gigatcp_wire::Endpoints;

    fn generator() -> IsnGenerator {
        IsnGenerator::new(Secret::new(*b"0123456789abcdef"))
    }

    fn v4(host: u8, remote_port: u16) -> FourTuple {
        FourTuple {
            endpoints: Endpoints::V4 {
                src: Ipv4Addr::new(10, 0, 0, 1),
                dst: Ipv4Addr::new(10, 0, 1, host),
            },
            local_port: 5001,
            remote_port,
        }
    }

    fn v6(remote_port: u16) -> FourTuple {
        FourTuple {
            endpoints: Endpoints::V6 {
                src: Ipv6Addr::LOCALHOST,
                dst: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
            },
            local_port: 5001,
            remote_port,
        }
    }

    #[test]
    fn numbers_of_one_pair_of_sockets_grow_by_250_000_a_second() {
        for tuple in [v4(2, 80), v6(80)] {
            let first = generator().initial_sequence_number(Instant::ZERO, &tuple);
            for ms in [1, 10, 1000, 7_200_000, 17_000_000] {
                let later = Instant::ZERO + Duration::from_millis(ms);
                let isn = generator().initial_sequence_number(later, &tuple);
                assert_eq!(isn, first + (ms * 250) as u32, "after {ms} ms");
            }
        }
    }

    #[test]
    fn numbers_of_different_sockets_say_nothing_about_each_other() {
        // The differences between neighboring ports are spread over the whole
        // space: each of 16 equal parts gets its share of 4096.
        for tuple_of in [|port| v4(2, port), v6] as [fn(u16) -> FourTuple; 2] {
            let isn = |port| generator().initial_sequence_number(Instant::ZERO, &tuple_of(port));
            let mut parts = [0; 16];
            for port in 1000..5096 {
                let step = isn(port + 1).as_u32().wrapping_sub(isn(port).as_u32());
                parts[(step >> 28) as usize] += 1;
            }
            // Mean 256, deviation 15.5: five deviations.
            assert!(parts.iter().all(|n| (178..=334).contains(n)), "{parts:?}");
        }
    }

    #[test]
    fn another_secret_gives_other_numbers_and_each_field_of_the_tuple_matters() {
        let isn = |generator: IsnGenerator, tuple| {
            generator.initial_sequence_number(Instant::ZERO, &tuple)
        };
        let other = IsnGenerator::new(Secret::new([9; 16]));
        assert_ne!(isn(generator(), v4(2, 80)), isn(other, v4(2, 80)));
        let base = isn(generator(), v4(2, 80));
        let mut swapped = v4(2, 80);
        (swapped.local_port, swapped.remote_port) = (80, 5001);
        for tuple in [v4(3, 80), v4(2, 81), swapped, v6(80), v4(2, 80).reversed()] {
            assert_ne!(isn(generator(), tuple), base);
        }
    }

    #[test]
    fn the_clock_is_added_to_a_secret_function_of_all_four_numbers() {
        // RFC 9293 SHLD-1: ISN = M + F(...), whichever connection and secret.
        let later = Instant::ZERO + Duration::from_secs(3);
        let mut parts = alloc::collections::BTreeSet::new();
        for secret in [[1; 16], [2; 16]] {
            let generator = IsnGenerator::new(Secret::new(secret));
            let base = v4(2, 80);
            let mut other_local = base;
            other_local.local_port += 1;
            for tuple in [base, other_local, v4(3, 80), v4(2, 81), base.reversed()] {
                let part = generator.initial_sequence_number(Instant::ZERO, &tuple);
                assert_eq!(
                    generator.initial_sequence_number(later, &tuple),
                    part + 750_000
                );
                parts.insert(part.as_u32());
            }
        }
        assert_eq!(parts.len(), 10, "each number and the secret matter");
    }

    #[test]
    fn the_timestamp_offset_belongs_to_the_addresses_and_not_to_the_ports() {
        let offset = |tuple| generator().timestamp_offset(&tuple);
        assert_eq!(offset(v4(2, 80)), offset(v4(2, 81)));
        assert_ne!(offset(v4(2, 80)), offset(v4(3, 80)));
        assert_ne!(offset(v4(2, 80)), offset(v6(80)));
    }
}
