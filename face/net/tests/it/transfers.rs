//! Bytes, times and seeds.

use std::io;
use std::time::Duration;

use gigatcp_net::{Net, Report, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

/// Octets that differ from their neighbors.
fn octets(len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|place| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

/// Sends `len` bytes each way at once over a link.
fn exchange(seed: u64, words: &str, len: usize) -> Report {
    let net = Net::new(seed);
    net.client("server", move |_| async move {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (stream, _) = listener.accept().await?;
        both_ways(stream, len).await
    });
    net.client("client", move |_| async move {
        let stream = TcpStream::connect("server:80").await?;
        both_ways(stream, len).await
    });
    net.link("client", "server", words);
    net.run().unwrap()
}

async fn both_ways(stream: TcpStream, len: usize) -> io::Result<()> {
    let (mut from, mut to) = stream.into_split();
    let write = tokio::spawn(async move { to.write_all(&octets(len)).await });
    let mut received = Vec::new();
    from.read_to_end(&mut received).await?;
    assert!(received == octets(len), "{} bytes differ", received.len());
    write.await.unwrap()
}

#[test]
fn bytes_are_equal_at_both_ends_under_loss_reordering_and_duplication() {
    for seed in 1..=10 {
        let words = "rate=50Mbit/s rtt=40ms loss=2% reorder=1% reorder_delay=5ms duplicate=1%";
        let report = exchange(seed, words, 300_000);
        assert_eq!(report.connections.len(), 1, "{report}");
    }
}

#[test]
fn equal_seeds_give_equal_runs_100_of_100() {
    let run = || exchange(7, "rate=20Mbit/s rtt=30ms loss=1% jitter=2ms", 50_000);
    let first = run();
    // To compare builds and machines: --nocapture.
    println!("seed 7: hash {:016x}, {:?}", first.hash, first.elapsed);
    for _ in 1..100 {
        let again = run();
        assert_eq!((again.hash, again.elapsed), (first.hash, first.elapsed));
    }
    let other = exchange(8, "rate=20Mbit/s rtt=30ms loss=1% jitter=2ms", 50_000);
    assert_ne!(other.hash, first.hash);
}

#[test]
fn capture_of_a_run_has_both_hosts_and_all_segments() {
    let path = std::env::temp_dir().join(format!("gigatcp-net-{}.pcapng", std::process::id()));
    let net = Net::new(1);
    net.capture_to(&path, "a test");
    net.client("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        listener.accept().await?.0.write_all(&octets(100_000)).await
    });
    net.client("client", |_| async {
        let mut all = Vec::new();
        let mut stream = TcpStream::connect("server:80").await?;
        stream.read_to_end(&mut all).await.map(drop)
    });
    net.link("client", "server", "rate=10Mbit/s rtt=20ms");
    net.run().unwrap();
    let written = net.finish_capture().unwrap().unwrap();
    let sources = [gigatcp_analyze::Source::file(&written)];
    let analysis = gigatcp_analyze::analyze(&sources, &gigatcp_analyze::Options::default());
    std::fs::remove_file(&path).unwrap();
    // Each packet was captured at both hosts, on two interfaces of one file.
    let answers = analysis.unwrap();
    assert!(answers.answers().count() >= 1);
}

#[test]
fn handshake_takes_one_round_trip_to_the_nanosecond() {
    gigatcp_net::run(1, async {
        // The loopback has an RTT of 20 us.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let start = Instant::now();
        let _stream = TcpStream::connect(at).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_micros(20));
        tokio::time::sleep(Duration::from_millis(3)).await;
        // Timers fire at whole milliseconds of the run.
        assert_eq!(start.elapsed(), Duration::from_millis(4));
        let start = Instant::now();
        let _second = TcpStream::connect(at).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_micros(20));
    });
}
