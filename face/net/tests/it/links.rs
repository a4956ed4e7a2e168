//! Links: rates, changes while a test runs, cuts, routers, MTUs.

use std::io::{self, ErrorKind};
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpSocket, TcpStream, UdpSocket};
use gigatcp_plan::keys;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

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

#[test]
fn words_that_need_a_rate_are_set_on_a_running_net() {
    let net = Net::new(1);
    serve(&net, 200_000);
    net.client("client", |host| async move {
        let net = host.net();
        for words in [
            "queue=codel",
            "queue=100 packets mark_above=20 packets",
            "ack_filter=queue",
            "rate_schedule=1 s: 5 Mbit/s",
        ] {
            net.set(words);
            download().await?;
        }
        io::Result::Ok(())
    });
    net.default_link("rate=20Mbit/s rtt=10ms");
    net.link("client", "server", "rate=10Mbit/s rtt=20ms");
    // On the loopback as well.
    net.set("loss=1%");
    net.run().unwrap();
}

#[test]
#[should_panic(expected = "`cdl`")]
fn typo_is_found_by_a_net_without_links() {
    Net::new(1).set("queue=cdl");
}

#[test]
fn set_of_wrong_words_changes_no_link() {
    let net = Net::new(1);
    serve(&net, 100_000);
    net.link("client", "server", "rate=10Mbit/s rtt=20ms");
    net.link("client", "other", "rtt=20ms");
    let attempt = net.clone();
    let panicked = std::panic::catch_unwind(move || attempt.set("queue=codel loss=100%"));
    let message = *panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("link client-other"), "{message}");
    net.client("client", |_| download());
    net.run().unwrap();
}

#[test]
fn later_words_replace_what_they_say_again() {
    let net = Net::new(1);
    serve(&net, 1000);
    net.client("client", |host| async move {
        let net = host.net();
        let handshake = async || {
            // What has left with a longer delay is not overtaken.
            sleep(Duration::from_secs(1)).await;
            let start = Instant::now();
            TcpStream::connect("server:80").await.unwrap();
            start.elapsed()
        };
        assert_eq!(handshake().await, Duration::from_millis(50));
        net.set_one_way("client", "server", "delay=10ms loss=100%");
        net.set("loss=0");
        assert_eq!(handshake().await, Duration::from_millis(30));
        net.set("rtt=80ms");
        assert_eq!(handshake().await, Duration::from_millis(80));
        net.set("delay=5ms");
        assert_eq!(handshake().await, Duration::from_millis(10));
    });
    net.link("client", "server", "rtt=40ms forward.delay=30ms");
    net.run().unwrap();
}

/// A trace of a link with 10 packets of 1504 bytes each 12 ms, 10 Mbit/s.
fn trace(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("gigatcp-net-{name}-{}", std::process::id()));
    let lines: String = (1..=10)
        .map(|packet| format!("{}\n", packet * 12 / 10))
        .collect();
    std::fs::write(&path, lines).unwrap();
    path
}

/// A word for each key of hops, with those that it needs: a plan's keys all work in links.
#[test]
fn every_key_of_hops_works_in_links() {
    let trace = trace("keys");
    let keys: Vec<_> = keys::HOP.keys().filter(|key| key.name != "name").collect();
    let example = |name: &str| {
        let key = keys.iter().find(|key| key.name == name).unwrap();
        let value = key
            .example
            .trim_matches('"')
            .replace("lte.trace", trace.to_str().unwrap());
        format!(" {name}={value}")
    };
    let needs = |of: &str, other: &str| {
        let of = keys.iter().find(|key| key.name == of).unwrap();
        of.summary.contains(&format!("needs {other}"))
    };
    for key in &keys {
        let mut words = "rtt=20ms".to_owned();
        if !["rate", "rate_trace"].contains(&key.name) {
            words += " rate=10Mbit/s";
        }
        words += &example(key.name);
        for other in &keys {
            if needs(key.name, other.name) || needs(other.name, key.name) {
                words += &example(other.name);
            }
        }
        let net = Net::new(1);
        serve(&net, 50_000);
        net.link("client", "server", &words);
        net.client("client", |_| download());
        net.run().unwrap_or_else(|error| panic!("{words}: {error}"));
        // And on a running net.
        let net = Net::new(1);
        serve(&net, 50_000);
        net.link("client", "server", "rtt=10ms");
        net.client("client", move |host| async move {
            host.net().set_link("client", "server", &words);
            download().await
        });
        net.run().unwrap();
    }
    std::fs::remove_file(trace).unwrap();
}

#[test]
fn trace_schedule_and_bursts_act_as_they_say() {
    let trace = trace("acts");
    let seconds = |words: &str| {
        let net = Net::new(1);
        serve(&net, 2_500_000);
        net.link("client", "server", words);
        net.client("client", |_| download());
        let report = net.run().unwrap();
        report.elapsed.as_secs_f64()
    };
    // 2.5 MB at 10 Mbit/s of 1448 bytes in 1504: 2.08 s.
    let by_trace = seconds(&format!("rtt=20ms rate_trace={}", trace.display()));
    assert!((2.0..2.4).contains(&by_trace), "{by_trace} s");
    // 1.25 MB in the first second at 10 Mbit/s, the rest at 1 Mbit/s: at least 10 s.
    let by_schedule = seconds("rtt=20ms rate=10Mbit/s rate_schedule=1 s: 1 Mbit/s");
    assert!((10.0..13.0).contains(&by_schedule), "{by_schedule} s");
    let clean = seconds("rtt=20ms rate=100Mbit/s");
    let bursts = seconds("rtt=20ms rate=100Mbit/s loss_burst=0.05:4");
    assert!(bursts > 2.0 * clean, "{bursts} s, {clean} s without losses");
    std::fs::remove_file(trace).unwrap();
}

#[test]
#[should_panic(expected = "a path relative to the working directory")]
fn trace_that_is_missing_is_named_with_its_directory() {
    Net::new(1).link("a", "b", "rate_trace=missing.trace");
}

#[test]
fn type_of_service_selects_the_class_of_a_queue() {
    let net = Net::new(1);
    net.host("server", |_| async {
        let socket = TcpSocket::new_v4()?;
        socket.set_tos_v4(46 << 2)?;
        socket.bind("0.0.0.0:80".parse().unwrap())?;
        let mut stream = socket.listen(8)?.accept().await?.0;
        stream.write_all(&[7; 100_000]).await?;
        drop(stream);
        std::future::pending::<io::Result<()>>().await
    });
    net.host("sink", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:7").await?;
        for _ in 0..2 {
            let mut buffer = [0; 1000];
            socket.recv(&mut buffer).await?;
            let start = Instant::now();
            for _ in 1..10 {
                socket.recv(&mut buffer).await?;
            }
            let took = start.elapsed().as_secs_f64();
            let is_marked = buffer[0] == 46;
            assert_eq!(took < 0.1, is_marked, "{took} s");
        }
        io::Result::Ok(())
    });
    let classes =
        "htb; rate 10 Mbit/s; parent 1, rate 8 Mbit/s, dscp 46; parent 1, rate 100 kbit/s";
    for (host, direction) in [("server", "reverse"), ("sink", "forward")] {
        let words = format!("rtt=2ms {direction}.queue={classes}");
        net.link("client", host, &words);
    }
    net.client("client", |_| async {
        // 100 kB at 8 Mbit/s.
        let marked = download().await?.as_secs_f64();
        assert!((0.1..0.2).contains(&marked), "{marked} s");
        // 9 kB at 8 Mbit/s, and at 100 kbit/s.
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        for dscp in [46, 0] {
            socket.set_tos_v4(u32::from(dscp) << 2)?;
            for _ in 0..10 {
                socket.send_to(&[dscp; 1000], "sink:7").await?;
            }
            sleep(Duration::from_secs(2)).await;
        }
        io::Result::Ok(())
    });
    net.run().unwrap();
}
