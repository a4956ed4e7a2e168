//! A server sends no datagrams to a client that is gone: silence of its control connection ends
//! them, as datagrams have no acknowledgment.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use gigatcp_linux::{Namespace, SetupError, device, interface, make_pair};
use gigatcp_meter::tester::ServerConfig;
use gigatcp_protocol::iperf3::State;
use gigatcp_protocol::iperf3::datagram::CONNECT;
use serde_json::json;

use super::common::{Running, namespace_or_skip};
use super::stranger::Stranger;

const DEVICE: &str = "wire0";
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

/// Datagrams a second, and bytes of each.
const RATE: u64 = 200;
const SIZE: u64 = 1000;

/// Maximum wait for the end of a test whose client is gone: 12 s by the guide, on a loaded machine.
const END: Duration = Duration::from_secs(40);

/// Two hosts and their namespaces.
fn hosts() -> Result<[Namespace; 2], SetupError> {
    let hosts = [Namespace::new()?, Namespace::new()?];
    make_pair(&hosts[0], &hosts[1], DEVICE)?;
    Ok(hosts)
}

fn address(host: &Namespace, address: Ipv4Addr) {
    let done = host.run(|| {
        let control = device::control_socket(libc::AF_INET)?;
        device::bring_up(&control, DEVICE)?;
        interface::assign(&control, DEVICE, address.into(), 24)
    });
    done.expect("entered").expect("addressed");
}

/// Drops what the calling thread's host sends to the server.
fn vanish() {
    // Its packets would leave by the more specific route.
    let done = std::process::Command::new("ip")
        .args(["route", "add", "blackhole", &SERVER.to_string()])
        .status();
    assert!(done.expect("ip").success());
}

#[test]
fn datagrams_to_a_client_that_is_gone_end_after_seconds_and_its_test_too() {
    let Some([far, near]) = namespace_or_skip(hosts()) else {
        return;
    };
    address(&far, SERVER);
    address(&near, CLIENT);
    let start = || {
        Running::start(ServerConfig {
            bind: Some(SERVER.into()),
            port: 0,
            ..ServerConfig::default()
        })
    };
    let server = far.run(start).expect("entered");
    let done = near.run(|| {
        let parameters = json!({"udp": true, "reverse": true, "time": 600, "parallel": 1,
            "len": SIZE, "bandwidth": RATE * SIZE * 8});
        let mut stranger = Stranger::requests_from(CLIENT, &server, &parameters);
        assert_eq!(stranger.state(), State::CreateStreams);
        let socket = UdpSocket::bind(SocketAddr::from((CLIENT, 0))).unwrap();
        socket.connect(server.at).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        socket.send(&CONNECT).unwrap();
        socket.recv(&mut [0; 100]).unwrap();
        stranger.await_start();
        let mut buffer = [0; 2 * SIZE as usize];
        for _ in 0..RATE {
            socket.recv(&mut buffer).expect("it sends");
        }
        vanish();
        let begun = Instant::now();
        let mut more = 0;
        while socket.recv(&mut buffer).is_ok() {
            more += 1;
            assert!(begun.elapsed() < END, "{more} datagrams, and it goes on");
        }
        // The client cannot hear of the end.
        let end = server.end_within(END);
        assert!(end.contains("control connection"), "{end}");
        // 3 s, and a margin; without the pause they are 12 s of the rate.
        assert!(more <= 8 * RATE, "{more} datagrams");
    });
    done.expect("entered");
}
