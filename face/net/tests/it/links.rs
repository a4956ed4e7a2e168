//! Links: rates, changes while a test runs, cuts, routers, MTUs.

use std::io::{self, ErrorKind};
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

/// A server that sends `len` bytes to each client.
fn serve(net: &Net, len: usize) {
    net.host("server", move |_| async move {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            tokio::spawn(async move { stream.write_all(&vec![7; len]).await });
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });
}

async fn download() -> io::Result<Duration> {
    let start = Instant::now();
    let mut stream = TcpStream::connect("server:80").await?;
    let mut buffer = Vec::new();
    stream.read_to_end(&mut buffer).await?;
    Ok(start.elapsed())
}

#[test]
fn download_takes_as_long_as_the_rate_says() {
    let net = Net::new(1);
    serve(&net, 10_000_000);
    net.client("client", |_| async {
        let took = download().await?.as_secs_f64();
        // 10 MB at 10 Mbit/s with 52 bytes of headers and 38 of Ethernet on 1448: 8.5 s.
        assert!((8.4..9.0).contains(&took), "{took} s");
        io::Result::Ok(())
    });
    net.link("client", "server", "rate=10Mbit/s rtt=20ms queue=1bdp");
    let report = net.run().unwrap();
    assert_eq!(
        report.connections[0].cause,
        Some("path-saturated"),
        "{report}"
    );
}

#[test]
fn set_changes_the_rate_while_a_test_runs() {
    let net = Net::new(1);
    serve(&net, 1_000_000);
    net.client("client", |host| async move {
        let before = download().await?;
        host.net().set("rate=1Mbit/s");
        let after = download().await?;
        assert!(after > before * 5, "{before:?}, then {after:?}");
        io::Result::Ok(())
    });
    net.link("client", "server", "rate=10Mbit/s rtt=20ms");
    net.run().unwrap();
}

#[test]
fn transfer_survives_a_cut_that_is_healed() {
    let net = Net::new(1);
    serve(&net, 2_000_000);
    net.client("client", |host| async move {
        let net = host.net();
        let change = tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            net.cut("client", "server");
            tokio::time::sleep(Duration::from_secs(20)).await;
            net.heal("client", "server");
        });
        let took = download().await?;
        assert!(took > Duration::from_secs(20), "{took:?}");
        change.await.unwrap();
        io::Result::Ok(())
    });
    net.link("client", "server", "rate=10Mbit/s rtt=20ms");
    net.run().unwrap();
}

#[test]
fn one_way_cut_stops_one_direction() {
    let net = Net::new(1);
    net.host("server", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:53").await?;
        let (len, from) = socket.recv_from(&mut [0; 10]).await?;
        assert_eq!(len, 1);
        socket.send_to(b"answer", from).await
    });
    net.client("client", |host| async move {
        host.net().cut_one_way("server", "client");
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.send_to(b"q", "server:53").await.unwrap();
        let mut buffer = [0; 10];
        let wait = timeout(Duration::from_secs(1), socket.recv(&mut buffer));
        assert!(wait.await.is_err());
    });
    net.link("client", "server", "rtt=20ms");
    net.run().unwrap();
}

#[test]
fn routers_join_links_and_a_short_ttl_ends_at_one() {
    let net = Net::new(1);
    serve(&net, 100_000);
    net.client("client", |_| async {
        let start = Instant::now();
        let stream = TcpStream::connect("server:80").await.unwrap();
        // Two links of 10 ms each way.
        assert_eq!(start.elapsed(), Duration::from_millis(40));
        drop(stream);
        download().await.unwrap();
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.connect("server:53").await.unwrap();
        socket.set_ttl(1).unwrap();
        socket.send(b"x").await.unwrap();
        let error = socket.recv(&mut [0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostUnreachable);
    });
    net.link("client", "router", "rtt=20ms");
    net.link("router", "server", "rtt=20ms");
    net.run().unwrap();
}

#[test]
fn smaller_mtu_on_the_way_is_discovered() {
    let net = Net::new(1);
    serve(&net, 200_000);
    net.client("client", |_| async {
        download().await?;
        io::Result::Ok(())
    });
    net.link("client", "router", "rtt=20ms");
    net.link("router", "server", "rtt=20ms mtu=1300");
    net.run().unwrap();
}

#[test]
fn filter_drops_the_first_syn_and_nothing_else() {
    let net = Net::new(1);
    net.configure("client", "profile=linux-6.18");
    serve(&net, 1000);
    let mut is_first = true;
    net.filter(move |packet| {
        let is_syn = packet.tcp.is_some_and(|flags| flags.syn && !flags.ack);
        !is_syn || !std::mem::take(&mut is_first)
    });
    net.client("client", |_| async {
        let start = Instant::now();
        TcpStream::connect("server:80").await?;
        // The initial RTO (RFC 6298 section 2), and a round trip.
        let took = start.elapsed().as_secs_f64();
        assert!((1.0..1.1).contains(&took), "{took} s");
        io::Result::Ok(())
    });
    net.link("client", "server", "rtt=20ms");
    net.run().unwrap();
}

#[test]
fn default_link_joins_hosts_without_one() {
    let net = Net::new(1);
    net.default_link("rtt=30ms");
    serve(&net, 1000);
    net.client("client", |_| async {
        let start = Instant::now();
        TcpStream::connect("server:80").await?;
        assert_eq!(start.elapsed(), Duration::from_millis(30));
        io::Result::Ok(())
    });
    net.run().unwrap();
}

#[test]
#[should_panic(expected = "`lss`")]
fn unknown_word_is_named() {
    Net::new(1).link("a", "b", "lss=1%");
}
