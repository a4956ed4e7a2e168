//! Converts arguments of scripts to numbers, addresses and bytes, and back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::ast::{Member, Value};
use crate::stack::Unsupported;

use crate::kernel::constants;
use crate::kernel::sys::socket::RawAddress;

/// Names defined by the script, `-D NAME=value`; they take precedence over the kernel's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    defined: Vec<(String, String)>,
}

impl Names {
    /// Defines a name; the last definition counts.
    pub(crate) fn define(&mut self, name: &str, value: &str) {
        self.defined.push((name.to_string(), value.to_string()));
    }

    fn named(&self, name: &str) -> Option<i64> {
        let mut defined = self.defined.iter().rev();
        match defined.find(|(known, _)| known == name) {
            // A definition is a number or a name of the kernel's.
            Some((_, value)) => value.parse().ok().or_else(|| constants::number(value)),
            None => constants::number(name),
        }
    }

    /// Number that a value denotes.
    pub(crate) fn number(&self, value: &Value) -> Result<i64, Unsupported> {
        match value {
            Value::Integer(number) => Ok(*number),
            Value::Name(name) => self
                .named(name)
                .ok_or_else(|| Unsupported::new("constant", name.as_str())),
            Value::Or(parts) => parts
                .iter()
                .try_fold(0, |all, part| Ok(all | self.number(part)?)),
            Value::List(parts) if parts.len() == 1 => self.number(&parts[0]),
            Value::Function(name, arguments) => match (name.as_str(), &arguments[..]) {
                // Ports and the like keep their host order here; their users convert to network
                // order.
                ("htons" | "htonl" | "ntohs" | "ntohl", [number]) => self.number(number),
                _ => Err(Unsupported::new("function", name.as_str())),
            },
            _ => Err(Unsupported::new("argument", format!("{value:?}"))),
        }
    }

    /// Number as the `int` of most calls: the low 32 bits.
    pub(crate) fn int(&self, value: &Value) -> Result<i32, Unsupported> {
        Ok(self.number(value)? as i32)
    }

    /// A call's result in the form of the script. That is the script's own value if it is equal,
    /// else the number.
    pub(crate) fn echo(&self, like: &Value, number: i64) -> Value {
        match self.number(like) {
            Ok(expected) if expected == number => like.clone(),
            _ => Value::Integer(number),
        }
    }

    /// Socket address that a value denotes; `...` is `usual`.
    pub(crate) fn address(
        &self,
        value: &Value,
        usual: SocketAddr,
    ) -> Result<RawAddress, Unsupported> {
        let Value::Struct(_) = value else {
            return match value {
                Value::Ellipsis => Ok(usual.into()),
                Value::Name(name) if name == "AF_UNSPEC" => Ok(RawAddress::unspecified()),
                _ => Err(Unsupported::new("address", format!("{value:?}"))),
            };
        };
        let family = match value.member("sa_family") {
            Some(family) => self.int(family)?,
            None if usual.is_ipv4() => libc::AF_INET,
            None => libc::AF_INET6,
        };
        if family == libc::AF_UNSPEC {
            return Ok(RawAddress::unspecified());
        }
        let port = ["sin_port", "sin6_port"];
        let port = match port.iter().find_map(|name| value.member(name)) {
            Some(Value::Ellipsis) | None => usual.port(),
            Some(port) => self.number(port)? as u16,
        };
        let address = ["sin_addr", "sin6_addr"];
        let ip = match address.iter().find_map(|name| value.member(name)) {
            Some(Value::Ellipsis) | None => usual.ip(),
            Some(address) => self.ip(address)?,
        };
        Ok(SocketAddr::new(ip, port).into())
    }

    fn ip(&self, value: &Value) -> Result<IpAddr, Unsupported> {
        let unknown = || Unsupported::new("address", format!("{value:?}"));
        match value {
            Value::Function(_, arguments) => arguments
                .iter()
                .find_map(|argument| match argument {
                    Value::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
                    _ => None,
                })
                .ok_or_else(unknown),
            Value::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|_| unknown())?;
                text.parse().map_err(|_| unknown())
            }
            _ => match self.number(value)? {
                0 => Ok(Ipv4Addr::UNSPECIFIED.into()),
                number => Ok(Ipv4Addr::from_bits(number as u32).into()),
            },
        }
    }
}

/// An IPv4 address as an IPv6 socket uses it (RFC 4291 section 2.5.5.2).
pub(crate) fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// An address as the struct that a script writes; `...` stays.
pub(crate) fn address_like(names: &Names, like: &Value, address: Option<SocketAddr>) -> Value {
    let (Value::Struct(members), Some(address)) = (like, address) else {
        return like.clone();
    };
    with_values(members, |name, value| match name {
        "sa_family" => {
            let family = match address.ip() {
                IpAddr::V4(_) => libc::AF_INET,
                IpAddr::V6(_) => libc::AF_INET6,
            };
            names.echo(value, i64::from(family))
        }
        "sin_port" | "sin6_port" => names.echo(value, i64::from(address.port())),
        "sin_addr" | "sin6_addr" => match names.ip(value) {
            Ok(ip) if ip == address.ip() => value.clone(),
            _ => Value::Text(address.ip().to_string().into_bytes()),
        },
        _ => value.clone(),
    })
}

/// A struct with the value that `shown` gives for each member's name and value.
pub(crate) fn with_values(members: &[Member], shown: impl Fn(&str, &Value) -> Value) -> Value {
    let members = members.iter().map(|member| Member {
        value: shown(member.name.as_deref().unwrap_or_default(), &member.value),
        ..member.clone()
    });
    Value::Struct(members.collect())
}

/// Unspecified address of a family.
pub(crate) fn any(family: i32) -> IpAddr {
    if family == libc::AF_INET6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    }
}
