//! Hosts and ports as tcpdump prints them: `10.0.0.2.1072`, `gigatcp1.1051`,
//! `2001:db8::1.http`. The last dot separates the port.
//!
//! A host name is replaced by an address of 198.18.0.0/15 or 2001:2::/48. Those are for benchmarks
//! and in no real capture of the internet (RFC 2544, RFC 5180). Equal names get equal addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cursor::parse;

/// Maximum names with distinct addresses; the others share the last address.
const MAX_NAMES: u32 = 1 << 16;

/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Host<'a> {
    Address(IpAddr),
    Name(&'a str),
}

/// A port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Port<'a> {
    Number(u16),
    Name(&'a str),
}

/// A host and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint<'a> {
    pub host: Host<'a>,
    pub port: Port<'a>,
}

impl<'a> Endpoint<'a> {
    /// Parses one word; `None` if it has another form.
    pub fn read(word: &'a [u8]) -> Option<Self> {
        let word = str::from_utf8(word).ok()?;
        let (host, port) = word.rsplit_once('.')?;
        let port = match port.parse() {
            Ok(number) => Port::Number(number),
            Err(_) if is_service(port) => Port::Name(port),
            Err(_) => return None,
        };
        let host = read_host(host)?;
        Some(Self { host, port })
    }
}

/// Whether a word is an address without a port.
pub fn is_address(word: &[u8]) -> bool {
    parse::<IpAddr>(word).is_some()
}

fn read_host(word: &str) -> Option<Host<'_>> {
    // A zone identifies the link of an address, as the interface does.
    let (address, _) = word.split_once('%').unwrap_or((word, ""));
    if let Ok(address) = address.parse() {
        return Some(Host::Address(address));
    }
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_name = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(is_letter)
        && word.contains(|c: char| c.is_ascii_alphabetic());
    is_name.then_some(Host::Name(word))
}

fn is_service(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Names that tcpdump prints for TCP ports, as seen in published captures. Numbers are those of the
/// IANA "Service Name and Transport Protocol Port Number Registry".
const SERVICES: [(&str, u16); 58] = [
    ("echo", 7),
    ("discard", 9),
    ("daytime", 13),
    ("chargen", 19),
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("time", 37),
    ("whois", 43),
    ("domain", 53),
    ("gopher", 70),
    ("finger", 79),
    ("http", 80),
    ("www", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("auth", 113),
    ("ident", 113),
    ("nntp", 119),
    ("netbios-ssn", 139),
    ("imap", 143),
    ("imap2", 143),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("microsoft-ds", 445),
    ("submissions", 465),
    ("login", 513),
    ("exec", 512),
    ("shell", 514),
    ("printer", 515),
    ("submission", 587),
    ("ldaps", 636),
    ("rsync", 873),
    ("imaps", 993),
    ("pop3s", 995),
    ("socks", 1080),
    ("ms-sql-s", 1433),
    ("nfs", 2049),
    ("nfsd", 2049),
    ("squid", 3128),
    ("iscsi-target", 3260),
    ("mysql", 3306),
    ("ms-wbt-server", 3389),
    ("commplex-link", 5001),
    ("targus-getdata1", 5201),
    ("postgresql", 5432),
    ("postgres", 5432),
    ("x11", 6000),
    ("webcache", 8080),
    ("http-alt", 8080),
    ("https-alt", 8443),
    ("git", 9418),
    ("rplay", 5555),
    ("gridftp", 2811),
];

/// Addresses and ports assigned to names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    hosts: BTreeMap<String, u32>,
    services: BTreeMap<String, u16>,
}

impl Names {
    /// Address of a host, and whether it was assigned.
    pub fn address(&mut self, host: &Host<'_>, is_v6: bool) -> (IpAddr, bool) {
        let name = match host {
            Host::Address(address) => return (*address, false),
            Host::Name(name) => *name,
        };
        let known = self.hosts.len() as u32;
        let number = match self.hosts.get(name) {
            Some(number) => *number,
            None if known < MAX_NAMES => {
                self.hosts.insert(name.to_owned(), known);
                known
            }
            None => MAX_NAMES,
        };
        (made_up(number, is_v6), true)
    }

    /// Port number, and whether the name is known. An unknown name gets a number from the top of
    /// the range.
    pub fn port(&mut self, port: Port<'_>) -> (u16, bool) {
        let name = match port {
            Port::Number(number) => return (number, true),
            Port::Name(name) => name,
        };
        if let Some((_, number)) = SERVICES.iter().find(|(known, _)| *known == name) {
            return (*number, true);
        }
        let next = u16::MAX - self.services.len().min(4096) as u16;
        if self.services.len() >= 4096 {
            return (next, false);
        }
        let number = self.services.entry(name.to_owned()).or_insert(next);
        (*number, false)
    }

    /// Host names and the addresses assigned to them. Each name has an IPv4 and an IPv6 address.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, [IpAddr; 2])> {
        self.hosts.iter().map(|(name, number)| {
            let both = [false, true].map(|is_v6| made_up(*number, is_v6));
            (name.as_str(), both)
        })
    }
}

fn made_up(number: u32, is_v6: bool) -> IpAddr {
    let number = number + 1;
    if is_v6 {
        let top = 0x2001_0002_u128 << 96;
        Ipv6Addr::from_bits(top | u128::from(number)).into()
    } else {
        Ipv4Addr::from_bits(0xc612_0000 + number).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read_in_all_their_forms() {
        let read = |word: &'static str| Endpoint::read(word.as_bytes());
        let endpoint = |host, port| Some(Endpoint { host, port });
        let address = |text: &str| Host::Address(text.parse().unwrap());
        assert_eq!(
            read("10.0.0.2.1072"),
            endpoint(address("10.0.0.2"), Port::Number(1072))
        );
        assert_eq!(
            read("2001:db8::1.80"),
            endpoint(address("2001:db8::1"), Port::Number(80))
        );
        assert_eq!(
            read("fe80::1%lo0.ssh"),
            endpoint(address("fe80::1"), Port::Name("ssh"))
        );
        assert_eq!(
            read("gigatcp1.1051"),
            endpoint(Host::Name("gigatcp1"), Port::Number(1051))
        );
        assert_eq!(
            read("a.example.org.http"),
            endpoint(Host::Name("a.example.org"), Port::Name("http"))
        );
        for word in [
            "10.0.0.2",
            "10.0.0.2.70000",
            "word",
            "1.2",
            "",
            ".",
            "a.",
            "...",
            "x.Y!",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
    }

    #[test]
    fn the_same_name_gets_the_same_address_and_services_their_ports() {
        let mut names = Names::default();
        let (a, b) = (Host::Name("a"), Host::Name("b"));
        let first = names.address(&a, false);
        assert_eq!(first, ("198.18.0.1".parse().unwrap(), true));
        assert_ne!(names.address(&b, false), first);
        assert_eq!(names.address(&a, false), first);
        assert_eq!(names.address(&b, true).0.to_string(), "2001:2::2");
        assert_eq!(names.port(Port::Name("http")), (80, true));
        assert_eq!(names.port(Port::Name("nonsense")), (65_535, false));
        assert_eq!(names.port(Port::Name("nonsense")), (65_535, false));
        assert_eq!(names.hosts().count(), 2);
    }
}
