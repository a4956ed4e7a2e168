//! Filter of connections, in the words of `ss` and of tcpdump.
//!
//! ```text
//! filter = any { "or" any } ;  any = one { ["and"] one } ;
//! one    = "not" one | "(" filter ")" | "state" STATE | SIDE [ "=" ] [ KIND ] PLACE
//!        | "pid:" NUMBER | "proc:" NAME | "tcp" | "ip" | "ip6" | KIND PLACE | PLACE ;
//! SIDE   = "src" | "dst" | "sport" | "dport" ;
//! KIND   = "host" | "net" | "port" ;
//! PLACE  = HOST | HOST "/" LENGTH | [ HOST ] ":" PORT
//! ```
//!
//! A place without a side matches either end of a connection. [`Filter::program`] selects the
//! packets of such connections in the kernel.
//!
//! | file | what |
//! |---|---|
//! | `program.rs` | the filter of a packet socket |

mod program;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use gigatcp_linux::owners::Process;
use gigatcp_linux::sock_diag::STATES;

use crate::tester::Network;

/// Function that resolves the name of a host.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Vec<IpAddr>;

/// Words of a filter of packets, for messages.
pub const PACKET_WORDS: &str = "host A, net A/LENGTH, port N, tcp, ip, ip6, and, or, not, ( )";

/// Condition on connections.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Filter {
    /// Any connection.
    #[default]
    Any,
    /// Negation.
    Not(Box<Self>),
    /// Conjunction.
    All(Vec<Self>),
    /// Disjunction.
    Either(Vec<Self>),
    /// State of the connection, by number.
    State(u8),
    /// Place of the ends.
    At(Ends, Place),
    /// Owning process, by number.
    Pid(u32),
    /// Owning process, by a part of its name.
    Process(String),
}

/// Ends of a connection that a place applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// This host.
    Local,
    /// The peer.
    Peer,
    /// Either end.
    Either,
}

/// Set of addresses, and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Networks; empty: all addresses.
    networks: Vec<Network>,
    /// Port; `None`: all.
    port: Option<u16>,
}

/// Properties of a connection for a filter.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionFacts<'a> {
    /// Its state, by number.
    pub state: u8,
    /// Local address and port.
    pub local: SocketAddr,
    /// Address and port of the peer.
    pub peer: SocketAddr,
    /// Process that has it open, if found.
    pub owner: Option<&'a Process>,
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The wrong word, and why it is wrong.
    pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Self, String> {
        let spaced = text
            .replace('(', " ( ")
            .replace(')', " ) ")
            .replace('=', " ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        if words.is_empty() {
            return Ok(Self::Any);
        }
        let mut reader = Reader {
            words: &words,
            resolve,
        };
        let filter = reader.either()?;
        match reader.words.first() {
            None => Ok(filter),
            Some(word) => Err(format!("`{word}` has no meaning here")),
        }
    }

    /// The connections with this port at either end.
    pub const fn port(port: u16) -> Self {
        Self::At(Ends::Either, Place::port(port))
    }

    /// The connections of the IP version that `any` address is of.
    fn family(any: IpAddr) -> Self {
        let place = Place {
            networks: vec![Network::new(any, 0)],
            port: None,
        };
        Self::At(Ends::Either, place)
    }

    /// Whether the filter depends on the owner of a connection.
    pub fn needs_owner(&self) -> bool {
        match self {
            Self::Pid(_) | Self::Process(_) => true,
            Self::Not(one) => one.needs_owner(),
            Self::All(all) | Self::Either(all) => all.iter().any(Self::needs_owner),
            Self::Any | Self::State(_) | Self::At(..) => false,
        }
    }

    /// Whether a connection matches.
    pub fn matches(&self, facts: &ConnectionFacts<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Not(one) => !one.matches(facts),
            Self::All(all) => all.iter().all(|part| part.matches(facts)),
            Self::Either(all) => all.iter().any(|part| part.matches(facts)),
            Self::State(state) => facts.state == *state,
            Self::At(Ends::Local, place) => place.has(facts.local),
            Self::At(Ends::Peer, place) => place.has(facts.peer),
            Self::At(Ends::Either, place) => place.has(facts.local) || place.has(facts.peer),
            Self::Pid(id) => facts.owner.is_some_and(|owner| owner.id == *id),
            Self::Process(name) => facts.owner.is_some_and(|owner| owner.name.contains(name)),
        }
    }
}

impl Place {
    const fn port(port: u16) -> Self {
        Self {
            networks: Vec::new(),
            port: Some(port),
        }
    }

    fn has(&self, at: SocketAddr) -> bool {
        let is_port = self.port.is_none_or(|port| port == at.port());
        let is_in = |network: &Network| network.contains(at.ip());
        is_port && (self.networks.is_empty() || self.networks.iter().any(is_in))
    }
}

struct Reader<'a> {
    words: &'a [&'a str],
    resolve: Resolve<'a>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }

    fn either(&mut self) -> Result<Filter, String> {
        let mut all = vec![self.all()?];
        while self.take("or") || self.take("||") {
            all.push(self.all()?);
        }
        Ok(one_of(all, Filter::Either))
    }

    fn all(&mut self) -> Result<Filter, String> {
        let mut all = vec![self.one()?];
        while !matches!(self.words.first(), None | Some(&("or" | "||" | ")"))) {
            let _ = self.take("and") || self.take("&&");
            all.push(self.one()?);
        }
        Ok(one_of(all, Filter::All))
    }

    fn one(&mut self) -> Result<Filter, String> {
        let word = self
            .next()
            .ok_or("a filter ends where a term is expected")?;
        match word {
            "not" | "!" => Ok(Filter::Not(Box::new(self.one()?))),
            "(" => {
                let inner = self.either()?;
                match self.take(")") {
                    true => Ok(inner),
                    false => Err("`(` is not closed".into()),
                }
            }
            "state" => self.state(),
            "src" => self.at(Ends::Local, word),
            "dst" => self.at(Ends::Peer, word),
            "sport" => self.port(Ends::Local, word),
            "dport" => self.port(Ends::Peer, word),
            "host" | "net" => self.host(Ends::Either, word),
            "port" => self.port(Ends::Either, word),
            "tcp" => Ok(Filter::Any),
            "ip" => Ok(Filter::family(Ipv4Addr::UNSPECIFIED.into())),
            "ip6" => Ok(Filter::family(Ipv6Addr::UNSPECIFIED.into())),
            _ => self.bare(word),
        }
    }

    fn state(&mut self) -> Result<Filter, String> {
        let name = self.next().ok_or("`state` names none")?;
        let place = STATES.iter().position(|state| *state == name);
        place
            .map(|state| Filter::State(state as u8))
            .ok_or_else(|| {
                format!(
                    "`{name}` is not a state; states: {}",
                    STATES[1..12].join(", ")
                )
            })
    }

    fn at(&mut self, ends: Ends, side: &str) -> Result<Filter, String> {
        match self.words.first() {
            Some(&("host" | "net")) => {
                let kind = self.next().unwrap_or(side);
                self.host(ends, kind)
            }
            Some(&"port") => {
                let kind = self.next().unwrap_or(side);
                self.port(ends, kind)
            }
            _ => self.host(ends, side),
        }
    }

    fn host(&mut self, ends: Ends, side: &str) -> Result<Filter, String> {
        let word = self
            .next()
            .ok_or_else(|| format!("`{side}` names no address"))?;
        Ok(Filter::At(ends, self.place(word)?))
    }

    fn port(&mut self, ends: Ends, side: &str) -> Result<Filter, String> {
        let word = self
            .next()
            .ok_or_else(|| format!("`{side}` names no port"))?;
        let port = word
            .trim_start_matches(':')
            .parse()
            .map_err(|_| format!("`{word}` is not a port"))?;
        Ok(Filter::At(ends, Place::port(port)))
    }

    fn bare(&self, word: &str) -> Result<Filter, String> {
        if let Some(id) = word.strip_prefix("pid:") {
            let parsed = id.parse().map(Filter::Pid);
            return parsed.map_err(|_| format!("`{word}` is not the number of a process"));
        }
        if let Some(name) = word.strip_prefix("proc:") {
            return Ok(Filter::Process(name.into()));
        }
        Ok(Filter::At(Ends::Either, self.place(word)?))
    }

    /// Parses `HOST`, `HOST/LENGTH`, `HOST:PORT`, `[V6]:PORT` or `:PORT`.
    fn place(&self, word: &str) -> Result<Place, String> {
        let bad = |what: &str| format!("`{word}` is not {what}");
        let is_v6 = word.parse::<IpAddr>().is_ok() || word.contains('/');
        let (host, port) = match word.rsplit_once(':') {
            Some((host, port)) if !is_v6 => {
                let number = port.parse().map_err(|_| bad("a place: no such port"))?;
                (host, Some(number))
            }
            _ => (word, None),
        };
        let (bracketed, length) = match host.split_once('/') {
            Some((address, length)) => {
                let bits = length.parse();
                (
                    address,
                    bits.map_err(|_| bad("an address with a prefix length"))?,
                )
            }
            None => (host, 128),
        };
        let host = bracketed.trim_matches(['[', ']']);
        let addresses = match host.parse() {
            _ if host.is_empty() || host == "*" => Vec::new(),
            Ok(address) => vec![address],
            Err(_) => {
                let found = (self.resolve)(host);
                if found.is_empty() {
                    return Err(bad("a host, a port or a term of a filter"));
                }
                found
            }
        };
        Ok(Place {
            networks: addresses
                .into_iter()
                .map(|address| Network::new(address, length))
                .collect(),
            port,
        })
    }
}

fn one_of(mut all: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    match all.len() {
        1 => all.remove(0),
        _ => join(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(name: &str) -> Vec<IpAddr> {
        match name {
            "peer.example" => vec!["10.2.0.1".parse().unwrap()],
            _ => Vec::new(),
        }
    }

    fn holds(text: &str) -> bool {
        let owner = Process {
            id: 7,
            name: "iperf3".into(),
        };
        let facts = ConnectionFacts {
            state: 1,
            local: "10.1.0.1:40000".parse().unwrap(),
            peer: "10.2.0.1:443".parse().unwrap(),
            owner: Some(&owner),
        };
        Filter::parse(text, &resolve).unwrap().matches(&facts)
    }

    #[test]
    fn words_of_ss_and_bare_places_select_connections() {
        for text in [
            "",
            "dport = :443",
            "dport 443",
            "sport = :40000 and dst 10.2.0.1",
            ":443",
            "10.1.0.1",
            "10.2.0.1:443",
            "dst 10.2.0.0/16",
            "peer.example",
            "pid:7",
            "proc:perf",
            "state established",
            "not :80",
            "( :80 or :443 ) and not dst [::1]:443",
            ":80 or dport = :443 state established",
            "host 10.2.0.1 and port 443",
            "tcp port 443",
            "src host 10.1.0.1 and dst port 443",
            "net 10.2.0.0/16 and ip and not ip6",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in [
            "dport = :80",
            "sport = :443",
            "src 10.2.0.1",
            "pid:8",
            "proc:nuttcp",
            "state closing",
            "not :443",
            "10.2.0.1:80",
            "dst 10.3.0.0/16",
            "::1",
            "host 10.3.0.1 and port 443",
            "src port 443",
            "ip6",
        ] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused_with_the_word() {
        for (text, word) in [
            ("banana", "banana"),
            ("dport = :http", "http"),
            ("state open", "open"),
            ("( :80", "("),
            (":80 )", ")"),
            ("pid:x", "pid:x"),
            ("port http", "http"),
            ("host", "host"),
            ("udp port 53", "udp"),
            (":80 and", "ends"),
        ] {
            let error = Filter::parse(text, &resolve).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert!(
            Filter::parse("pid:1 or :80", &resolve)
                .unwrap()
                .needs_owner()
        );
        assert!(!Filter::parse("not :80", &resolve).unwrap().needs_owner());
    }
}
