//! Syntax tree of a script.
//!
//! Times are script time as written, not yet related to earlier events. Sequence numbers are as
//! written too: relative to the initial sequence number of their side, except in segments with SYN,
//! which state it.

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;
use gigatcp_wire::{Ecn, Flags};

use crate::python::Program;
use crate::source::Span;

/// A complete script.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// Comment lines `// word: rest` before the first event. They hold the settings of our dialect;
    /// other readers skip them.
    pub headers: Vec<Header>,
    /// Lines `--flag=value`, and `-D NAME=value` with the name `D`.
    pub options: Vec<OptionLine>,
    /// Commands in backticks before the first event.
    pub setup: Vec<Command>,
    /// Events in order.
    pub events: Vec<Event>,
    /// Commands in backticks without a time after an event.
    pub cleanup: Vec<Command>,
}

impl Script {
    /// Last header of that name.
    pub fn header(&self, key: &str) -> Option<&Header> {
        self.headers.iter().rev().find(|header| header.key == key)
    }

    /// Last option of that name.
    pub fn option(&self, name: &str) -> Option<&OptionLine> {
        self.options.iter().rev().find(|option| option.name == name)
    }
}

/// A comment line `// key: value` at the top of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Location of the value.
    pub span: Span,
    /// The word before the colon.
    pub key: String,
    /// The rest of the line.
    pub value: String,
}

/// A line `--name=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionLine {
    /// Location of the line.
    pub span: Span,
    /// Name, without the dashes.
    pub name: String,
    /// Text after the equals sign; empty without one.
    pub value: String,
}

/// Shell text between backticks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// Location of the command.
    pub span: Span,
    /// Text between the backticks.
    pub text: String,
}

/// One action or expectation, with its time.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Location of the whole event.
    pub span: Span,
    /// Time of the event.
    pub time: Time,
    /// Action or expectation.
    pub action: Action,
}

/// Time specification of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// `0.100`: time since the start of the script.
    Absolute(Duration),
    /// `+.1`: time since the previous event.
    Relative(Duration),
    /// `*`: any time.
    Any,
    /// `0.1~0.2`: a range, bounds included.
    AbsoluteRange(Duration, Duration),
    /// `+.1~+.2`: a range relative to the previous event.
    RelativeRange(Duration, Duration),
}

/// Action or expectation of an event.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// `< ...`: a packet to inject into the stack under test.
    Inbound(Packet),
    /// `> ...`: a packet expected from it.
    Outbound(Packet),
    /// A system call of the application.
    Call(Call),
    /// A shell command.
    Command(Command),
    /// `%{ ... }%`: assertions on the connection's `tcp_info`.
    Code(Program),
}

/// A packet of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Packet {
    /// Tunnel headers around it, outermost first, as written.
    pub encapsulation: Vec<String>,
    /// Conditions on the IP header.
    pub ip: IpSpec,
    /// `(2000>8080)`: ports, source first.
    pub ports: Option<(u16, u16)>,
    /// Transport-layer contents.
    pub body: Body,
    /// `/udp(9899>9899)`: UDP encapsulation as in RFC 6951, ports if given.
    pub inside_udp: Option<Option<(u16, u16)>>,
}

/// Conditions on an IP header; unspecified fields are not compared.
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

/// Transport-layer contents of a packet.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpSpec),
    /// `udp (1000)`: a UDP datagram of that length in octets.
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
    /// Control bits. A digit `0` to `7` is the ACE field of RFC 9768: AE, CWR, ECE.
    pub flags: Flags,
    /// First sequence number.
    pub seq: u32,
    /// Whether it is that of the header, not relative: `0:0(0)!` of FreeBSD's packetdrill.
    pub is_absolute: bool,
    /// Payload octets.
    pub len: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// Window field as in the header.
    pub win: Option<u16>,
    /// Urgent pointer.
    pub urg: Option<u16>,
    /// Options in order; `None` for `<...>`, which compares none. Without angle brackets the
    /// segment must have no options.
    pub options: Option<Vec<TcpOption>>,
}

/// One TCP option as laid out in the header, including padding.
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
    /// `FO 0123456789abcdef`, `FO`: Fast Open, RFC 7413. The cookie's octets, none for a request.
    FastOpen(Cookie),
    /// `FOEXP ...`: Fast Open as experimental option 254 with magic 0xF989.
    FastOpenExperimental(Cookie),
    /// `ECN e1b 1 ceb 0 e0b 1`: AccECN counters (RFC 9768 section 3.2.3) in wire order. Omitted
    /// counters are not in the option.
    AccEcn(Vec<(EcnCounter, u32)>),
    /// `md5 0011...`: the digest of RFC 2385.
    Md5(Vec<u8>),
    /// `unknown 253 0a0b`: any other kind, with the octets after its length.
    Unknown {
        /// Option kind.
        kind: u8,
        /// Octets after kind and length.
        data: Vec<u8>,
    },
}

/// A Fast Open cookie: written out, or a name defined by `-D`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cookie {
    /// Octets of the cookie.
    Octets(Vec<u8>),
    /// Name of the cookie.
    Name(String),
}

/// Packets whose octets an AccECN counter counts.
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
    /// Quoted part of the packet it answers.
    pub quoted: Option<Quoted>,
}

/// Quotation in an ICMP message.
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

/// A system call of the application, and its expected result.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// `0...0.4`: time at which a blocking call returns. It counts from the previous event if the
    /// time is relative.
    pub ends: Option<Duration>,
    /// Name of the function.
    pub name: String,
    /// Arguments as written, both inputs and outputs.
    pub args: Vec<Value>,
    /// Expected result; [`Value::Ellipsis`] for any.
    pub result: Value,
    /// Expected error: `ECONNRESET`.
    pub errno: Option<String>,
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `...`: any value; not compared.
    Ellipsis,
    /// A number.
    Integer(i64),
    /// A name: `SOCK_STREAM`.
    Name(String),
    /// A string, with escapes resolved.
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
    /// Its name; `None` for a bare value.
    pub name: Option<String>,
    /// `msg_iov(4)=...`: values in parentheses after the name.
    pub size: Option<Vec<Value>>,
    /// Its value.
    pub value: Value,
}

impl Value {
    /// Number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }

    /// Name, if it is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Value of that member of a `{...}`.
    pub fn member(&self, name: &str) -> Option<&Value> {
        let Value::Struct(members) = self else {
            return None;
        };
        let found = members.iter().find(|m| m.name.as_deref() == Some(name))?;
        Some(&found.value)
    }

    /// Whether this is the name `word`, or a number with its bits. In an `|`, one operand must be
    /// so.
    pub fn has_word(&self, word: &str) -> bool {
        match self {
            Value::Name(name) => name == word,
            Value::Or(parts) => parts.iter().any(|part| part.has_word(word)),
            Value::Integer(number) => crate::symbols::is_set(*number, word),
            _ => false,
        }
    }

    /// Whether `found` matches this value, as written in a script. `...` matches any value;
    /// operands of `|` may be in any order.
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
                    // Members without a name are distinguished by position.
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
