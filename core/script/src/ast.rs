//! What a script says, as a tree.
//!
//! Times are script time: what stands in the text, not yet related to what
//! went before. Sequence numbers are as written too: relative to the initial
//! sequence number of the side they belong to, except in segments with SYN,
//! which state it.

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;
use gigatcp_wire::{Ecn, Flags};

use crate::python::Program;
use crate::source::Span;

/// A whole script.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// Comment lines `// word: rest` before the first event: our dialect's
    /// settings stand there, and foreign readers skip them.
    pub headers: Vec<Header>,
    /// Lines `--flag=value`, and `-D NAME=value` with the name `D`.
    pub options: Vec<OptionLine>,
    /// Commands in backticks before the first event.
    pub setup: Vec<Command>,
    /// What happens.
    pub events: Vec<Event>,
    /// Commands in backticks without a time after an event.
    pub cleanup: Vec<Command>,
}

impl Script {
    /// The value of the last header of that name.
    #[must_use]
    pub fn header(&self, key: &str) -> Option<&Header> {
        self.headers.iter().rev().find(|header| header.key == key)
    }

    /// The value of the last option of that name.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&OptionLine> {
        self.options.iter().rev().find(|option| option.name == name)
    }
}

/// A comment line `// key: value` at the top of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Where the value stands.
    pub span: Span,
    /// The word before the colon.
    pub key: String,
    /// The rest of the line.
    pub value: String,
}

/// A line `--name=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionLine {
    /// Where it stands.
    pub span: Span,
    /// Without the dashes.
    pub name: String,
    /// What follows the equals sign; empty without one.
    pub value: String,
}

/// Shell text between backticks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// Where it stands.
    pub span: Span,
    /// What stands between the backticks.
    pub text: String,
}

/// One thing that happens, or must happen, at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The whole event.
    pub span: Span,
    /// When.
    pub time: Time,
    /// What.
    pub action: Action,
}

/// When something happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// `0.100`: since the script began.
    Absolute(Duration),
    /// `+.1`: since the event before.
    Relative(Duration),
    /// `*`: whenever it happens.
    Any,
    /// `0.1~0.2`: between the two, ends included.
    AbsoluteRange(Duration, Duration),
    /// `+.1~+.2`: the same since the event before.
    RelativeRange(Duration, Duration),
}

/// What happens.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// `< ...`: a packet arrives at the stack under test.
    Inbound(Packet),
    /// `> ...`: a packet leaves it.
    Outbound(Packet),
    /// A call of the application.
    Call(Call),
    /// A shell command.
    Command(Command),
    /// `%{ ... }%`: assertions on the connection's `tcp_info`.
    Code(Program),
}

/// A packet of the script.
#[derive(Clone, PartialEq, Debug)]
pub struct Packet {
    /// Tunnel headers around it, outermost first, as written.
    pub encapsulation: Vec<String>,
    /// Conditions on the IP header.
    pub ip: IpSpec,
    /// `(2000>8080)`: ports, source first.
    pub ports: Option<(u16, u16)>,
    /// What it carries.
    pub body: Body,
    /// `/udp(9899>9899)`: carried inside UDP (RFC 6951's way), ports if given.
    pub inside_udp: Option<Option<(u16, u16)>>,
}

/// Conditions on an IP header; a field that is not named is not compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IpSpec {
    /// `[ect0]`, `[ect1]`, `[ce]`, `[noecn]`.
    pub ecn: Option<Ecn>,
    /// `[ect01]`: either ECT codepoint.
    pub any_ect: bool,
    /// `[tos 0x10]`, `[tclass 0x10]`.
    pub tos: Option<u8>,
    /// `[ttl 64]`, `[hlim 64]`.
    pub ttl: Option<u8>,
    /// `(flowlabel 0x1)`.
    pub flow_label: Option<u32>,
}

/// What a packet carries.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpSpec),
    /// `udp (1000)`: a UDP datagram of that many octets.
    Udp {
        /// Payload octets.
        len: u32,
    },
    /// An ICMP message.
    Icmp(IcmpSpec),
}

/// A TCP segment.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpSpec {
    /// Control bits. A digit `0` to `7` stands for the three bits of the ACE
    /// field of RFC 9768: AE, CWR, ECE.
    pub flags: Flags,
    /// First sequence number.
    pub seq: u32,
    /// Payload octets.
    pub len: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// Window field as it stands in the header.
    pub win: Option<u16>,
    /// Urgent pointer.
    pub urg: Option<u16>,
    /// Options in order; nothing for `<...>`, which compares none. Without
    /// angle brackets there are no options, and there must be none.
    pub options: Option<Vec<TcpOption>>,
}

/// One TCP option as it is laid out, padding included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpOption {
    /// `nop`.
    Nop,
    /// `eol`: end of the list.
    Eol,
    /// `mss 1460`.
    Mss(u16),
    /// `wscale 7`.
    WindowScale(u8),
    /// `sackOK`.
    SackPermitted,
    /// `sack 1:1001 2001:3001`.
    Sack(Vec<(u32, u32)>),
    /// `TS val 100 ecr 200`; `...` for a value that is not compared.
    Timestamps {
        /// TSval.
        val: Option<u32>,
        /// TSecr.
        ecr: Option<u32>,
    },
    /// `FO 0123456789abcdef`, `FO`: fast open, RFC 7413; the octets of the
    /// cookie, none for a request.
    FastOpen(Cookie),
    /// `FOEXP ...`: the same as experimental option 254 with magic 0xF989.
    FastOpenExperimental(Cookie),
    /// `ECN e1b 1 ceb 0 e0b 1`: AccECN counters (RFC 9768 section 3.2.3) in
    /// wire order; those that are left off are absent.
    AccEcn(Vec<(EcnCounter, u32)>),
    /// `md5 0011...`: RFC 2385; the digest.
    Md5(Vec<u8>),
    /// `unknown 253 0a0b`: any other kind with its octets after the length.
    Unknown {
        /// Option kind.
        kind: u8,
        /// Octets after kind and length.
        data: Vec<u8>,
    },
}

/// A fast open cookie: written out, or a name that `-D` defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cookie {
    /// Its octets.
    Octets(Vec<u8>),
    /// A name.
    Name(String),
}

/// Which octets an AccECN counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnCounter {
    /// `e0b`: octets marked ECT(0).
    E0,
    /// `ceb`: octets marked CE.
    Ce,
    /// `e1b`: octets marked ECT(1).
    E1,
}

/// An ICMP or ICMPv6 message.
#[derive(Clone, PartialEq, Debug)]
pub struct IcmpSpec {
    /// `unreachable`, `packet_too_big`, or a number.
    pub kind: String,
    /// `frag_needed`, or a number.
    pub code: Option<String>,
    /// `mtu 1200`.
    pub mtu: Option<u32>,
    /// What it quotes of the packet it answers.
    pub quoted: Option<Quoted>,
}

/// What an ICMP message quotes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Quoted {
    /// `[1:1001(1000)]`: a TCP segment.
    Tcp {
        /// First sequence number.
        seq: u32,
        /// Payload octets.
        len: u32,
    },
    /// `[udp (1000)]`.
    Udp {
        /// Payload octets.
        len: u32,
    },
}

/// A call of the application, and what comes of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// `0...0.4`: when a blocking call returns, since the event before for a
    /// relative time.
    pub ends: Option<Duration>,
    /// Name of the function.
    pub name: String,
    /// Arguments, as written: what the call takes and what it gives back.
    pub args: Vec<Value>,
    /// What it returns; [`Value::Ellipsis`] for anything.
    pub result: Value,
    /// The error it names: `ECONNRESET`.
    pub errno: Option<String>,
    /// What stands in parentheses at the end.
    pub note: Option<String>,
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `...`: whatever fits, compared with nothing.
    Ellipsis,
    /// A number.
    Integer(i64),
    /// A name: `SOCK_STREAM`.
    Name(String),
    /// A string, escapes resolved.
    Text(Vec<u8>),
    /// `A|B`.
    Or(Vec<Value>),
    /// `[1, 2]`.
    List(Vec<Value>),
    /// `{name=value, ...}`.
    Struct(Vec<Member>),
    /// `inet_addr("192.0.2.1")`, `htons(8080)`.
    Function(String, Vec<Value>),
}

/// One member of a `{...}`.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Its name; none for a bare value.
    pub name: Option<String>,
    /// `msg_iov(4)=...`: what stands in parentheses after the name.
    pub size: Option<Vec<Value>>,
    /// Its value.
    pub value: Value,
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }

    /// The name, if it is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The value of that member of a `{...}`.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Value> {
        let Value::Struct(members) = self else {
            return None;
        };
        let found = members.iter().find(|m| m.name.as_deref() == Some(name))?;
        Some(&found.value)
    }

    /// Whether this is the name `word`, or a number with its bits, alone or in a
    /// row of `|`.
    #[must_use]
    pub fn has_word(&self, word: &str) -> bool {
        match self {
            Value::Name(name) => name == word,
            Value::Or(parts) => parts.iter().any(|part| part.has_word(word)),
            Value::Integer(number) => crate::symbols::is_set(*number, word),
            _ => false,
        }
    }

    /// Whether `found` is what this, as written in a script, asks for:
    /// `...` fits everything, names in a row of `|` may stand in any order.
    #[must_use]
    pub fn admits(&self, found: &Value) -> bool {
        match (self, found) {
            (Value::Ellipsis, _) => true,
            (Value::Or(wanted), Value::Or(given)) => {
                wanted.len() == given.len() && wanted.iter().all(|w| given.contains(w))
            }
            (Value::List(wanted), Value::List(given)) => {
                wanted.len() == given.len() && wanted.iter().zip(given).all(|(w, g)| w.admits(g))
            }
            (Value::Struct(wanted), Value::Struct(given)) => {
                (0..).zip(wanted).all(|(at, member)| {
                    // Members without a name are told apart by their place.
                    let same = |other: &&Member| other.name == member.name;
                    let found = match member.name {
                        Some(_) => given.iter().find(same),
                        None => given.get(at),
                    };
                    match found {
                        Some(other) => member.value.admits(&other.value),
                        None => member.value == Value::Ellipsis,
                    }
                })
            }
            _ => self == found,
        }
    }
}
