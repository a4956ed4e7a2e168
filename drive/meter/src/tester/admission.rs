//! Admission of tests: run, wait or refuse.

use std::net::IpAddr;
use std::time::Duration;

use gigatcp_protocol::iperf3::{ErrorCode, Limits, MAX_FLOWS, Parameters, Transactions};

use super::memory::{self, KernelBuffers};
use super::rate_limit;

/// Default of the maximum duration of a test, in seconds.
pub const MAX_DURATION: u32 = 3600;

/// Default of the maximum time without data, as iperf3's (`--rcv-timeout`).
const IDLE: Duration = Duration::from_secs(120);

/// Prefix of the IPv6 addresses that count as one: a host may use any address of a link.
pub(super) const LINK: u8 = 64;

/// Prefix of the IPv6 addresses of one site, which has many links.
pub(super) const SITE: u8 = 48;

/// Network in CIDR notation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Addresses whose first `prefix` bits are those of `address`.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(address: IpAddr, prefix: u8) -> Self {
        Self {
            address,
            prefix: prefix.min(128),
        }
    }

    /// Address and the length of the prefix, at most the address's length.
    #[cfg(target_os = "linux")]
    pub(crate) fn parts(self) -> (IpAddr, u8) {
        let longest = if self.address.is_ipv4() { 32 } else { 128 };
        (self.address, self.prefix.min(longest))
    }

    /// The addresses that count as one client's: an IPv4 address, or the link of an IPv6 one.
    pub(super) fn source(address: IpAddr) -> Self {
        Self::around(address, LINK)
    }

    /// The addresses of one site: an IPv4 address, or the /48 of an IPv6 one.
    pub(super) fn site(address: IpAddr) -> Self {
        Self::around(address, SITE)
    }

    fn around(address: IpAddr, prefix: u8) -> Self {
        match address.to_canonical() {
            // All hosts of a link share this prefix.
            IpAddr::V6(address) if !address.is_unicast_link_local() => {
                let bits = address.to_bits() & (u128::MAX << (128 - u32::from(prefix)));
                let address = IpAddr::V6(bits.into());
                Self { address, prefix }
            }
            address => Self {
                address,
                prefix: 128,
            },
        }
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

    /// Whether the network contains the address.
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
    /// Maximum of tests and waiting clients of one address, or of one /64 of IPv6. A /48 may have
    /// half as many again.
    pub per_address: usize,
    /// Networks allowed to test; empty: all.
    pub allow: Vec<Network>,
    /// Limits of one test. `total_rate` applies to all tests together.
    pub limits: Limits,
    /// Maximum connections of all tests of transactions together, and twice those of one source.
    pub connections: u32,
    /// Maximum memory of all tests together, in bytes; `None`: unlimited.
    pub memory: Option<u64>,
    /// Maximum time without data.
    pub idle: Duration,
}

impl Default for Admission {
    /// 16 concurrent tests, as many waiting, eight per address, an hour, half the memory, and
    /// iperf3's limits.
    fn default() -> Self {
        Self {
            tests: 16,
            queue: 16,
            per_address: 8,
            allow: Vec::new(),
            limits: Limits {
                time: MAX_DURATION,
                ..Limits::default()
            },
            connections: 2 * MAX_FLOWS,
            memory: Some(memory::default_limit()),
            idle: IDLE,
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

/// Resources that a test occupies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Demand {
    /// The client's address.
    pub(super) address: IpAddr,
    /// Announced rate, in bit/s; 0: none.
    pub(super) rate: u64,
    /// Memory, in bytes.
    pub(super) memory: u64,
    /// Connections of transactions.
    pub(super) connections: u32,
}

impl Demand {
    pub(super) fn new(wanted: &Parameters, address: IpAddr, kernel: &KernelBuffers) -> Self {
        Self {
            address,
            rate: rate_limit::announced(wanted, address),
            memory: memory::of_test(wanted, kernel),
            connections: match Transactions::read(wanted) {
                Ok(Some(transactions)) => transactions.connections(),
                _ => 0,
            },
        }
    }
}

/// Resources that all tests occupy.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Load {
    /// Running tests.
    pub(super) running: Vec<Demand>,
    /// Clients that wait before this one.
    pub(super) waiting: Vec<Demand>,
    /// Clients whose name and password are being checked.
    pub(super) checking: Vec<Demand>,
    /// Time until what was sent and received is within the total rate.
    pub(super) debt: Duration,
}

impl Admission {
    /// Whether an address may use the server.
    pub(super) fn allows(&self, address: IpAddr) -> bool {
        let canonical = address.to_canonical();
        self.allow.is_empty() || self.allow.iter().any(|network| network.contains(canonical))
    }

    /// Decides about a test in addition to the others.
    pub(super) fn decide(&self, wanted: &Parameters, demand: &Demand, load: &Load) -> Decision {
        // A test that exceeds the limits is refused. One that exceeds the current capacity waits.
        let refused = (wanted.check(&self.limits))
            .and_then(|()| self.check(wanted, demand))
            .and_then(|()| self.check_source(demand.address, load));
        if let Err((code, text)) = refused {
            return Decision::Refuse(code, text);
        }
        let (running, waiting) = (load.running.len(), load.waiting.len());
        if running < self.tests && waiting == 0 && self.fits(demand, load) {
            return Decision::Run;
        }
        if waiting < self.queue {
            return Decision::Wait;
        }
        let text = format!("{running} tests running, {waiting} waiting");
        Decision::Refuse(ErrorCode::ACCESS_DENIED, text)
    }

    /// Checks a test that would be alone.
    fn check(&self, wanted: &Parameters, demand: &Demand) -> Result<(), (ErrorCode, String)> {
        let (rate, limit) = (demand.rate, self.limits.total_rate);
        if limit > 0 && rate > limit {
            let text = format!("total bit/s with headers {rate}, limit {limit}");
            return Err((ErrorCode::TOTAL_RATE, text));
        }
        let (connections, limit) = (demand.connections, self.connections / 2);
        if connections > limit {
            let text = format!("connections {connections}, limit {limit}");
            return Err((ErrorCode::NUM_STREAMS, text));
        }
        let limit = self.memory.unwrap_or(u64::MAX);
        if demand.memory > limit {
            let streams = wanted.streams();
            let [memory, limit] = [demand.memory, limit].map(|bytes| bytes >> 20);
            let what = match demand.connections {
                0 => format!("{streams} streams"),
                count => format!("{count} connections"),
            };
            let text = format!("memory of {what} {memory} MiB, limit {limit} MiB");
            let code = match streams {
                1 => ErrorCode::BUFFER_SIZE,
                _ => ErrorCode::NUM_STREAMS,
            };
            return Err((code, text));
        }
        Ok(())
    }

    /// Checks what an address has already.
    fn check_source(&self, address: IpAddr, load: &Load) -> Result<(), (ErrorCode, String)> {
        let shares = [
            (Network::source(address), self.per_address),
            (
                Network::site(address),
                self.per_address.saturating_mul(3).div_ceil(2),
            ),
        ];
        for (network, limit) in shares {
            let clients = (load.running.iter())
                .chain(&load.waiting)
                .chain(&load.checking);
            let count = clients
                .filter(|client| network.contains(client.address.to_canonical()))
                .count();
            if count >= limit {
                let text = format!("{count} tests of {network}, limit {limit}");
                return Err((ErrorCode::ACCESS_DENIED, text));
            }
        }
        Ok(())
    }

    /// Whether the connections of transactions suffice in addition to those of the running tests:
    /// all of them, and those of the source.
    fn has_connections(&self, demand: &Demand, load: &Load) -> bool {
        if demand.connections == 0 {
            return true;
        }
        let source = Network::source(demand.address);
        let (mut all, mut of_source) = (demand.connections, demand.connections);
        for test in &load.running {
            all = all.saturating_add(test.connections);
            if source.contains(test.address.to_canonical()) {
                of_source = of_source.saturating_add(test.connections);
            }
        }
        all <= self.connections && of_source <= self.connections / 2
    }

    /// Whether rate and memory suffice in addition to the running tests.
    fn fits(&self, demand: &Demand, load: &Load) -> bool {
        let sum = |of: fn(&Demand) -> u64| load.running.iter().map(of).fold(0, u64::saturating_add);
        let rate = sum(|test| test.rate).saturating_add(demand.rate);
        let memory = sum(|test| test.memory).saturating_add(demand.memory);
        let is_slow =
            self.limits.total_rate == 0 || (rate <= self.limits.total_rate && load.debt.is_zero());
        is_slow
            && self.has_connections(demand, load)
            && self.memory.is_none_or(|limit| memory <= limit)
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let longest = if self.address.is_ipv4() { 32 } else { 128 };
        match self.prefix {
            prefix if prefix < longest => write!(f, "{}/{prefix}", self.address),
            _ => self.address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn demand(address: &str) -> Demand {
        Demand {
            address: ip(address),
            rate: 0,
            memory: 0,
            connections: 0,
        }
    }

    /// The decision about a client of 192.0.2.1, beside tests and waiting clients of others.
    fn decide(
        rules: &Admission,
        demand: &Demand,
        running: &[Demand],
        waiting: &[Demand],
    ) -> Decision {
        let wanted = Parameters {
            time: 10,
            bandwidth: Some(1),
            ..Parameters::default()
        };
        let load = Load {
            running: running.to_vec(),
            waiting: waiting.to_vec(),
            ..Load::default()
        };
        rules.decide(&wanted, demand, &load)
    }

    fn is_refused(decision: &Decision) -> bool {
        matches!(decision, Decision::Refuse(ErrorCode::ACCESS_DENIED, _))
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
        let (own, other) = (demand("192.0.2.1"), demand("192.0.2.9"));
        assert_eq!(decide(&rules, &own, &[], &[]), Decision::Run);
        assert_eq!(decide(&rules, &own, &[other], &[]), Decision::Wait);
        assert!(is_refused(&decide(&rules, &own, &[other], &[other])));
        assert!(is_refused(&decide(&rules, &own, &[own], &[own])));
    }

    #[test]
    fn addresses_of_one_link_or_site_share_their_limit() {
        let rules = Admission {
            per_address: 2,
            ..Admission::default()
        };
        let own = demand("2001:db8:1:1::1");
        let link = [demand("2001:db8:1:1::2"), demand("2001:db8:1:1:ffff::3")];
        let decision = decide(&rules, &own, &link, &[]);
        let Decision::Refuse(_, text) = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(text, "2 tests of 2001:db8:1:1::/64, limit 2");
        let site = ["2001:db8:1:2::1", "2001:db8:1:3::1", "2001:db8:1:4::1"].map(demand);
        assert_eq!(decide(&rules, &own, &site[..2], &[]), Decision::Run);
        assert!(is_refused(&decide(&rules, &own, &site, &[])));
        let elsewhere = ["2001:db8:2:1::1", "2001:db8:3:1::1", "2001:db8:4:1::1"].map(demand);
        assert_eq!(decide(&rules, &own, &elsewhere, &[]), Decision::Run);
        let neighbors = ["fe80::1", "fe80::2"].map(demand);
        assert_eq!(
            decide(&rules, &demand("fe80::3"), &neighbors, &[]),
            Decision::Run
        );
    }

    #[test]
    fn rate_and_memory_of_all_tests_together_are_limited() {
        let mut rules = Admission {
            memory: Some(1_000),
            ..Admission::default()
        };
        rules.limits.total_rate = 1_000;
        let own = |rate, memory| Demand {
            rate,
            memory,
            ..demand("192.0.2.1")
        };
        assert_eq!(decide(&rules, &own(600, 600), &[], &[]), Decision::Run);
        let running = [own(600, 600)];
        assert_eq!(decide(&rules, &own(400, 400), &running, &[]), Decision::Run);
        assert_eq!(decide(&rules, &own(401, 0), &running, &[]), Decision::Wait);
        assert_eq!(decide(&rules, &own(1, 401), &running, &[]), Decision::Wait);
        for (code, refused) in [
            (ErrorCode::TOTAL_RATE, own(1_001, 0)),
            (ErrorCode::BUFFER_SIZE, own(1, 1_001)),
        ] {
            let decision = decide(&rules, &refused, &[], &[]);
            assert!(matches!(&decision, Decision::Refuse(found, _) if *found == code));
        }
    }

    #[test]
    fn test_waits_while_the_server_is_above_its_rate() {
        let mut rules = Admission::default();
        rules.limits.total_rate = 1_000;
        let load = Load {
            debt: Duration::from_millis(1),
            ..Load::default()
        };
        let wanted = Parameters {
            bandwidth: Some(1),
            ..Parameters::default()
        };
        let decision = rules.decide(&wanted, &demand("192.0.2.1"), &load);
        assert_eq!(decision, Decision::Wait);
    }
}
