//! A host that has a whole network of IPv6 has no more of a server than the shares of its link and
//! its site.

use std::net::{IpAddr, Ipv6Addr, TcpStream};
use std::time::Duration;

use gigatcp_linux::{Namespace, device, interface};
use gigatcp_meter::tester::{Admission, ServerConfig};
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, ErrorCode, State};
use serde_json::json;

use super::common::{Running, namespace_or_skip};
use super::stranger::Stranger;

/// An address of a host of 2001:db8:SITE::/48.
fn address(site: u16, link: u16, host: u16) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, site, link, 0, 0, 0, host).into()
}

/// Lets the calling thread's namespace use an address.
fn assign(address: IpAddr) {
    let control = device::control_socket(libc::AF_INET6).unwrap();
    interface::assign(&control, "lo", address, 128).unwrap();
}

/// Starts a server at an address of the calling thread's namespace.
fn server_at(address: IpAddr) -> Running {
    assign(address);
    Running::start(ServerConfig {
        bind: Some(address),
        port: 0,
        ..ServerConfig::default()
    })
}

/// Requests a test. `None`: it is refused.
fn request(from: IpAddr, server: &Running) -> Option<Stranger> {
    let mut stranger = Stranger::requests_from(from, server, &json!({"tcp": true, "time": 10}));
    match stranger.answer() {
        Some((State::CreateStreams, None)) => Some(stranger),
        Some((State::ServerError, Some(code))) => {
            assert_eq!(code, ErrorCode::ACCESS_DENIED.0);
            None
        }
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn tests_of_a_link_and_of_a_site_are_limited_whatever_their_addresses() {
    let Some(namespace) = namespace_or_skip(Namespace::new()) else {
        return;
    };
    let done = namespace.run(|| {
        let server = server_at(address(0, 0, 1));
        let rules = Admission::default();
        let (of_link, of_site) = (rules.per_address as u16, rules.per_address as u16 * 3 / 2);
        let hosts = (1..=of_link + 2).map(|host| address(1, 1, host));
        let links = (2..=of_site).map(|link| address(1, link, 1));
        hosts.clone().chain(links.clone()).for_each(assign);
        assign(address(2, 1, 1));
        // A SYN from an address without its route yet is repeated after a second, and a test without
        // its streams ends after ten.
        std::thread::sleep(Duration::from_millis(500));
        // Each from another address of one link.
        let link: Vec<Stranger> = hosts.filter_map(|host| request(host, &server)).collect();
        assert_eq!(link.len(), usize::from(of_link));
        let reason = server.refusal();
        let expected = format!("{of_link} tests of 2001:db8:1:1::/64, limit {of_link}");
        assert_eq!(reason, expected);
        // Each from another link of that site.
        let site: Vec<Stranger> = links.filter_map(|host| request(host, &server)).collect();
        assert_eq!(site.len(), usize::from(of_site - of_link));
        assert!(request(address(2, 1, 1), &server).is_some());
    });
    done.expect("entered");
}

#[test]
fn site_that_opens_connections_from_many_links_closes_its_own() {
    let Some(namespace) = namespace_or_skip(Namespace::new()) else {
        return;
    };
    let done = namespace.run(|| {
        let server = server_at(address(0, 0, 1));
        assign(address(2, 1, 1));
        let slow = Stranger::silent_from(address(2, 1, 1), &server);
        let links = (1..=100).map(|link| address(1, link, 1));
        let links: Vec<IpAddr> = links.inspect(|host| assign(*host)).collect();
        let flood: Vec<TcpStream> = (0..1500)
            .map(|number| Stranger::silent_from(links[number % links.len()], &server).control)
            .collect();
        let mut greeted = slow.greets([b's'; COOKIE_LENGTH]);
        assert_eq!(greeted.state(), State::ParamExchange);
        drop(flood);
    });
    done.expect("entered");
}
