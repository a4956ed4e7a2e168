//! Admission of tests: run, wait or refuse.

use std::net::IpAddr;

use gigatcp_protocol::iperf3::{ErrorCode, Limits, Parameters};

/// Network in CIDR notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Returns the addresses whose first `prefix` bits are those of `address`.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(address: IpAddr, prefix: u8) -> Self {
        let prefix = prefix.min(128);
        Self { address, prefix }
    }

    /// Returns the address and the length of the prefix, at most the address's length.
    #[cfg(target_os = "linux")]
    pub(crate) fn parts(self) -> (IpAddr, u8) {
        let longest = if self.address.is_ipv4() { 32 } else { 128 };
        (self.address, self.prefix.min(longest))
    }

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or a single address.
    ///
    /// # Errors
    /// A description of the error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| format!("`{address}` is not an IP address"))?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => longest,
            Some(text) => text
                .parse()
                .ok()
                .filter(|prefix| *prefix <= longest)
                .ok_or_else(|| format!("`/{text}` is not a prefix length up to {longest}"))?,
        };
        Ok(Self { address, prefix })
    }

    /// Returns whether the network contains the address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let ((ours, length), (theirs, their_length)) = (bits(self.address), bits(address));
        let mask = match self.prefix {
            0 => 0,
            prefix => u128::MAX << (128 - u32::from(prefix)),
        };
        length == their_length && ours & mask == theirs & mask
    }
}

/// Admission rules of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// Maximum of concurrent tests.
    pub tests: usize,
    /// Maximum of clients that wait for their turn; 0: a client above `tests` is refused.
    pub queue: usize,
    /// Maximum of tests and waiting clients of one address.
    pub per_address: usize,
    /// Networks allowed to test; empty: all.
    pub allow: Vec<Network>,
    /// Limits of one test. `total_rate` applies to all tests together.
    pub limits: Limits,
}

impl Default for Admission {
    /// Returns 16 concurrent tests, as many waiting, eight per address, and iperf3's limits.
    fn default() -> Self {
        Self {
            tests: 16,
            queue: 16,
            per_address: 8,
            allow: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// Decision about a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// Its test runs.
    Run,
    /// It waits for its turn.
    Wait,
    /// It is refused, with an error number for the client and the reason.
    Refuse(ErrorCode, String),
}

impl Admission {
    /// Returns whether an address may use the server.
    pub(super) fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allow.is_empty() || self.allow.iter().any(|network| network.contains(address))
    }

    /// Decides about a test. `running` and `waiting` are the addresses of other tests.
    pub(super) fn decide(
        &self,
        parameters: &Parameters,
        address: IpAddr,
        (running, waiting): (&[IpAddr], &[IpAddr]),
        used_rate: u64,
    ) -> Decision {
        // A test that exceeds the limits is refused. One that exceeds the current capacity waits.
        if let Err((code, text)) = parameters.check(&self.limits) {
            return Decision::Refuse(code, text);
        }
        let of_address = running.iter().chain(waiting);
        let of_address = of_address.filter(|other| **other == address).count();
        if of_address >= self.per_address {
            let text = format!(
                "{of_address} tests of {address}, limit {}",
                self.per_address
            );
            return Decision::Refuse(ErrorCode::ACCESS_DENIED, text);
        }
        let rate = parameters.bandwidth.unwrap_or(0);
        let rate = rate.saturating_mul(parameters.streams().into());
        let rest = self.limits.total_rate.saturating_sub(used_rate);
        let fits = self.limits.total_rate == 0 || rate <= rest;
        if running.len() < self.tests && waiting.is_empty() && fits {
            return Decision::Run;
        }
        if waiting.len() < self.queue {
            return Decision::Wait;
        }
        let text = format!("{} tests running, {} waiting", running.len(), waiting.len());
        Decision::Refuse(ErrorCode::ACCESS_DENIED, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn networks_contain_their_addresses() {
        let contains =
            |network: &str, address| Network::parse(network).unwrap().contains(ip(address));
        assert!(contains("192.0.2.0/24", "192.0.2.77"));
        assert!(!contains("192.0.2.0/24", "192.0.3.77"));
        assert!(contains("0.0.0.0/0", "203.0.113.1"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("2001:db8::/32", "2001:db8:1::1"));
        assert_eq!(
            Network::parse("192.0.2.0/33").unwrap_err(),
            "`/33` is not a prefix length up to 32"
        );
    }

    #[test]
    fn tests_run_wait_and_are_refused_in_this_order() {
        let rules = Admission {
            tests: 1,
            queue: 1,
            per_address: 2,
            ..Admission::default()
        };
        let wanted = Parameters {
            time: 10,
            ..Parameters::default()
        };
        let decide = |running: &[IpAddr], waiting: &[IpAddr]| {
            rules.decide(&wanted, ip("192.0.2.1"), (running, waiting), 0)
        };
        let (other, same) = (ip("192.0.2.9"), ip("192.0.2.1"));
        assert_eq!(decide(&[], &[]), Decision::Run);
        assert_eq!(decide(&[other], &[]), Decision::Wait);
        assert!(matches!(
            decide(&[other], &[other]),
            Decision::Refuse(ErrorCode::ACCESS_DENIED, _)
        ));
        assert!(matches!(
            decide(&[same], &[same]),
            Decision::Refuse(ErrorCode::ACCESS_DENIED, _)
        ));
    }

    #[test]
    fn the_rate_of_all_tests_together_is_limited() {
        let mut rules = Admission::default();
        rules.limits.total_rate = 1_000;
        let wanted = Parameters {
            time: 10,
            bandwidth: Some(600),
            ..Parameters::default()
        };
        let decide = |used| rules.decide(&wanted, ip("192.0.2.1"), (&[], &[]), used);
        assert_eq!(decide(0), Decision::Run);
        assert_eq!(decide(600), Decision::Wait);
    }
}
