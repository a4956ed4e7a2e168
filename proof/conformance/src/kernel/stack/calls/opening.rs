//! Calls that open, name, connect and close sockets.

use std::net::SocketAddr;

use crate::ast::Value;
use crate::stack::{Returned, Unsupported};

use super::super::arguments::{address_like, any, mapped};
use super::{Answer, Arguments, Blocks, Prepared};
use crate::kernel::sys::socket;

pub(super) fn prepare(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    match call.name {
        "socket" => prepare_socket(call),
        "bind" => {
            let (fd, usual) = (call.fd(0)?, family_of(call, call.around.local)?);
            let address = call.around.names.address(call.value(1)?, usual)?;
            Ok(Prepared::number(move || socket::bind(fd, &address)))
        }
        "listen" => {
            let (fd, backlog) = (call.fd(0)?, call.int(1)?);
            Ok(Prepared::number(move || socket::listen(fd, backlog)))
        }
        "accept" | "accept4" => {
            let fd = call.fd(0)?;
            let flags = if call.name == "accept4" {
                call.int(3)?
            } else {
                0
            };
            Ok(Prepared::new(
                Blocks::UnlessReady(fd, libc::POLLIN),
                move || {
                    let (accepted, from) = socket::accept(fd, flags)?;
                    Ok(Answer::Accepted(accepted, from))
                },
            ))
        }
        "connect" => {
            let (fd, usual) = (call.fd(0)?, family_of(call, call.around.remote)?);
            let address = call.around.names.address(call.value(1)?, usual)?;
            Ok(Prepared::new(Blocks::UnlessNonblocking(fd), move || {
                Ok(Answer::Number(socket::connect(fd, &address)?.into()))
            }))
        }
        "shutdown" => {
            let (fd, how) = (call.fd(0)?, call.int(1)?);
            Ok(Prepared::number(move || socket::shutdown(fd, how)))
        }
        "close" => {
            let fd = call.fd(0)?;
            Ok(Prepared::new(Blocks::UnlessNonblocking(fd), move || {
                Ok(Answer::Number(socket::close(fd)?.into()))
            }))
        }
        "fcntl" => prepare_fcntl(call),
        "getsockname" | "getpeername" => {
            let (fd, is_local) = (call.fd(0)?, call.name == "getsockname");
            Ok(Prepared::new(Blocks::Never, move || {
                Ok(Answer::Address(socket::name(fd, is_local)?))
            }))
        }
        _ => Ok(Prepared::new(Blocks::Never, || {
            Ok(Answer::Ends(socket::pipe()?))
        })),
    }
}

/// Usual address in the family of the socket. An IPv6 socket reaches IPv4 by mapped addresses.
pub(super) fn family_of(
    call: &Arguments<'_>,
    usual: SocketAddr,
) -> Result<SocketAddr, Unsupported> {
    let domain = socket::option(call.fd(0)?, libc::SOL_SOCKET, libc::SO_DOMAIN, 4);
    let is_v6 = domain.is_ok_and(|octets| octets == libc::AF_INET6.to_ne_bytes());
    Ok(if is_v6 { mapped(usual) } else { usual })
}

fn prepare_socket(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let domain = match call.value(0)? {
        Value::Ellipsis if call.around.is_mapped || call.around.local.is_ipv6() => libc::AF_INET6,
        Value::Ellipsis => libc::AF_INET,
        value => call.around.names.int(value)?,
    };
    let (kind, protocol) = (call.int(1)?, call.int(2)?);
    let congestion = call.around.congestion.map(str::to_string);
    Ok(Prepared::new(Blocks::Never, move || {
        let fd = socket::socket(domain, kind, protocol)?;
        let is_stream = kind & 0xf == libc::SOCK_STREAM;
        if let Some(name) = congestion.filter(|_| is_stream) {
            let set = socket::set_option(fd, libc::SOL_TCP, libc::TCP_CONGESTION, name.as_bytes());
            if let Err(error) = set {
                let _ = socket::close(fd);
                return Err(error);
            }
        }
        Ok(Answer::Opened(fd))
    }))
}

fn prepare_fcntl(call: &Arguments<'_>) -> Result<Prepared, Unsupported> {
    let (fd, command) = (call.fd(0)?, call.int(1)?);
    if ![libc::F_GETFL, libc::F_SETFL, libc::F_GETFD, libc::F_SETFD].contains(&command) {
        return Err(Unsupported::new("call", format!("fcntl command {command}")));
    }
    let argument = if call.values.len() > 2 {
        call.int(2)?
    } else {
        0
    };
    Ok(Prepared::number(move || {
        socket::control(fd, command, argument)
    }))
}

pub(super) fn finish_accept(call: &Arguments<'_>, from: Option<SocketAddr>) -> Returned {
    output_address(call, Returned::success(-1), 1, from)
}

pub(super) fn finish_address(call: &Arguments<'_>, address: Option<SocketAddr>) -> Returned {
    output_address(call, Returned::success(0), 1, address)
}

/// Adds the address written by a call to the argument `index`.
pub(super) fn output_address(
    call: &Arguments<'_>,
    returned: Returned,
    index: usize,
    address: Option<SocketAddr>,
) -> Returned {
    match call.values.get(index) {
        Some(like @ Value::Struct(_)) => {
            let unspecified = || SocketAddr::new(any(libc::AF_INET), 0);
            let shown = Some(address.unwrap_or_else(unspecified));
            returned.output(index, address_like(call.around.names, like, shown))
        }
        _ => returned,
    }
}
