//! Costs of the simulated network: a large transfer, idle connections, requests, a million
//! connections. Prints CPU time and memory.
//!
//! `cargo run --release -p gigatcp-net --example costs [bulk|idle|requests|short]`

use std::io;
use std::time::{Duration, Instant};

use gigatcp_net::{Net, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let runs: [(&str, fn()); 4] = [
        ("bulk", bulk),
        ("idle", idle),
        ("requests", requests),
        ("short", short),
    ];
    for (name, run) in runs {
        if chosen.is_empty() || chosen.iter().any(|choice| choice == name) {
            run();
        }
    }
}

/// Resident memory, in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1e3
}

/// CPU time of this process so far (`/proc/self/stat`, fields 14 and 15, in ticks of 10 ms).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// One gigabyte at 1 Gbit/s with an RTT of 100 ms.
fn bulk() {
    const LEN: usize = 1_000_000_000;
    let net = Net::new(1);
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        let piece = vec![7; 1 << 16];
        let mut left = LEN;
        while left > 0 {
            let len = left.min(piece.len());
            stream.write_all(&piece[..len]).await?;
            left -= len;
        }
        io::Result::Ok(())
    });
    net.client("client", |_| async {
        let mut stream = TcpStream::connect("server:80").await?;
        let mut buffer = vec![0; 1 << 16];
        let mut received = 0;
        loop {
            match stream.read(&mut buffer).await? {
                0 => break,
                len => received += len,
            }
        }
        assert_eq!(received, LEN);
        io::Result::Ok(())
    });
    net.link("client", "server", "rate=1Gbit/s rtt=100ms queue=1bdp");
    let (start, before) = (Instant::now(), cpu());
    let report = net.run().unwrap_or_else(|error| panic!("{error}"));
    println!(
        "1 GB at 1 Gbit/s, 100 ms: {:?} CPU, {:?} wall, {:?} virtual\n{}",
        cpu() - before,
        start.elapsed(),
        report.elapsed,
        report.why()
    );
}

/// 1,000 hosts with ten connections each to one server, idle.
fn idle() {
    let net = Net::new(1);
    net.default_link("rtt=20ms");
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let mut held = Vec::new();
        loop {
            held.push(listener.accept().await?);
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });
    let before = resident();
    let (start, cpu_before) = (Instant::now(), cpu());
    for number in 0..1000 {
        net.host(&format!("host{number}"), |_| async {
            let mut held = Vec::new();
            for _ in 0..10 {
                held.push(TcpStream::connect("server:80").await?);
            }
            std::future::pending::<io::Result<()>>().await
        });
    }
    let (done, _) = net.run_with(|| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        println!(
            "1,000 hosts, 10,000 idle connections: {:.1} MB more resident, {:?} CPU, {:?} wall",
            resident() - before,
            cpu() - cpu_before,
            start.elapsed()
        );
    });
    done.unwrap_or_else(|error| panic!("{error}"));
}

/// Requests and responses of 1 kB on one connection.
fn requests() {
    const COUNT: u32 = 100_000;
    let net = Net::new(1);
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        let mut buffer = [0; 1000];
        loop {
            stream.read_exact(&mut buffer).await?;
            stream.write_all(&buffer).await?;
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });
    net.client("client", |_| async {
        let mut stream = TcpStream::connect("server:80").await?;
        stream.set_nodelay(true)?;
        let mut buffer = [0; 1000];
        for _ in 0..COUNT {
            stream.write_all(&buffer).await?;
            stream.read_exact(&mut buffer).await?;
        }
        io::Result::Ok(())
    });
    net.link("client", "server", "rate=1Gbit/s rtt=1ms");
    let before = cpu();
    let report = net.run();
    let took = cpu() - before;
    println!(
        "{COUNT} requests of 1 kB: {:.1} us CPU each ({})",
        took.as_secs_f64() * 1e6 / f64::from(COUNT),
        report.map_or_else(
            |error| error.to_string(),
            |report| format!("{:?}", report.elapsed)
        )
    );
}

/// Connections one after the other, to see whether memory grows.
fn short() {
    const COUNT: u32 = 200_000;
    let net = Net::new(1);
    net.without_analysis();
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(b"hello").await?;
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });
    net.client("client", |_| async {
        for number in 1..=COUNT {
            let mut text = String::new();
            let mut stream = TcpStream::connect("server:80").await?;
            stream.read_to_string(&mut text).await?;
            if number % (COUNT / 4) == 0 {
                println!("{number} connections: {:.1} MB resident", resident());
            }
        }
        io::Result::Ok(())
    });
    net.link("client", "server", "rtt=20ms");
    let before = cpu();
    if let Err(error) = net.run() {
        println!("{error}");
    }
    let took = (cpu() - before).as_secs_f64() * 1e6 / f64::from(COUNT);
    println!("{COUNT} connections: {took:.1} us CPU each");
}
