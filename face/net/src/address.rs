//! Names and addresses: [`ToSocketAddrs`] and [`lookup_host`], as those of `tokio::net`.
//!
//! Names are those of hosts, and `localhost`. The machine's resolver is not asked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::host::addresses_of;
use crate::scope;

/// Something that stands for addresses: `"server:80"`, `("10.0.0.1", 80)`, a [`SocketAddr`].
pub trait ToSocketAddrs: sealed::Resolve {}

impl<T: sealed::Resolve + ?Sized> ToSocketAddrs for T {}

mod sealed {
    /// Resolves to addresses.
    pub trait Resolve {
        fn addresses(&self) -> std::io::Result<Vec<std::net::SocketAddr>>;
    }
}

use sealed::Resolve;

pub(crate) fn resolve(addr: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    addr.addresses()
}

/// Tries the addresses until one succeeds, as tokio does.
///
/// # Errors
/// The last one; `InvalidInput` if there is no address.
pub(crate) fn first_of<T>(
    addr: impl ToSocketAddrs,
    attempt: impl Fn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut done = Err(no_address());
    for at in resolve(addr)? {
        done = attempt(at);
        if done.is_ok() {
            break;
        }
    }
    done
}

pub(crate) fn no_address() -> io::Error {
    let what = "could not resolve to any address";
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Addresses of `NAME:PORT`, IPv4 first.
///
/// # Errors
/// `NotFound` if no host has the name.
pub async fn lookup_host<T: ToSocketAddrs>(
    host: T,
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    Ok(resolve(host)?.into_iter())
}

fn by_name(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let both = |addresses: [IpAddr; 2]| {
        let sockets = addresses.map(|address| SocketAddr::new(address, port));
        sockets.to_vec()
    };
    if name == "localhost" {
        return Ok(both([
            Ipv4Addr::LOCALHOST.into(),
            Ipv6Addr::LOCALHOST.into(),
        ]));
    }
    let (shared, _) = scope::here()?;
    let found = shared.with(|world| world.find(name).filter(|node| world.host(*node).is_some()));
    match found {
        Some(node) => Ok(both(addresses_of(node))),
        None => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("failed to lookup address information: no host is called `{name}`"),
        )),
    }
}

impl Resolve for str {
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.parse() {
            return Ok(vec![address]);
        }
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "invalid socket address");
        let (name, port) = self.rsplit_once(':').ok_or_else(invalid)?;
        by_name(name, port.parse().map_err(|_| invalid())?)
    }
}

impl Resolve for String {
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.as_str().addresses()
    }
}

impl Resolve for (&str, u16) {
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        by_name(self.0, self.1)
    }
}

impl Resolve for (String, u16) {
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        by_name(&self.0, self.1)
    }
}

impl Resolve for [SocketAddr] {
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(self.to_vec())
    }
}

impl<T: Resolve + ?Sized> Resolve for &T {
    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        (**self).addresses()
    }
}

/// Implements it for what converts to one address.
macro_rules! one_address {
    ($($kind:ty),+) => {$(
        impl Resolve for $kind {
            fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
                Ok(vec![SocketAddr::from(*self)])
            }
        }
    )+};
}

one_address!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16)
);
