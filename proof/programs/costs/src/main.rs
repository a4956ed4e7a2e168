//! Costs of the simulated network, in CPU time and memory.
//!
//! A transfer of one gigabyte, and requests and responses of 1 kB, are the same two programs over
//! gigatcp-net, turmoil-net and turmoil. turmoil has no rates or queues, and turmoil-net neither:
//! their paths have a delay only. gigatcp-net runs with the same delay, and with a bottleneck.
//! Then idle connections, and a million connections one after the other.
//!
//! Each run is a process of its own: `costs` runs all of them, `costs NAME KIND` one. It fails if
//! one of gigatcp-net exceeds its limit.

use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const BULK: usize = 1_000_000_000;
const REQUESTS: u32 = 20_000;

/// Maximum CPU time of a gigabyte at 1 Gbit/s and 100 ms, in seconds.
const MAX_BULK: f64 = 5.0;

/// Maximum CPU time of a request and its response, in microseconds.
const MAX_REQUEST: f64 = 30.0;

/// Maximum memory of 1,000 hosts with 10,000 idle connections, in MB.
const MAX_IDLE: f64 = 100.0;

/// Maximum growth of memory between the tenth part and all of many connections, in MB.
const MAX_GROWTH: f64 = 1.0;

/// A server that sends a gigabyte to the first client, or answers its requests; and the client.
macro_rules! programs {
    ($module:ident, $($net:tt)+) => {
        mod $module {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            use $($net)+::{TcpListener, TcpStream};

            use super::{BULK, REQUESTS};

            pub async fn serve(is_bulk: bool) -> std::io::Result<()> {
                let listener = TcpListener::bind("0.0.0.0:80").await?;
                let (mut stream, _) = listener.accept().await?;
                let piece = vec![7; 1 << 16];
                let mut left = if is_bulk { BULK } else { 0 };
                while left > 0 {
                    let len = left.min(piece.len());
                    stream.write_all(&piece[..len]).await?;
                    left -= len;
                }
                let mut request = [0; 1000];
                while !is_bulk && stream.read_exact(&mut request).await.is_ok() {
                    stream.write_all(&request).await?;
                }
                Ok(())
            }

            pub async fn request(is_bulk: bool) -> std::io::Result<()> {
                let mut stream = TcpStream::connect("server:80").await?;
                let mut buffer = vec![0; 1 << 16];
                let mut received = 0;
                while is_bulk && received < BULK {
                    match stream.read(&mut buffer).await? {
                        0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                        len => received += len,
                    }
                }
                for _ in 0..if is_bulk { 0 } else { REQUESTS } {
                    stream.write_all(&buffer[..1000]).await?;
                    stream.read_exact(&mut buffer[..1000]).await?;
                }
                Ok(())
            }
        }
    };
}

programs!(ours, gigatcp_net);
programs!(go_back_n, turmoil_net::shim::tokio::net);
programs!(messages, turmoil::net);

/// Runs over gigatcp-net, on a link with these words.
fn gigatcp(is_bulk: bool, words: &str) -> Duration {
    let net = Net::new(1);
    net.host("server", move |_| ours::serve(is_bulk));
    net.client("client", move |_| ours::request(is_bulk));
    net.link("client", "server", words);
    net.run().expect("no error").elapsed
}

fn turmoil_net(is_bulk: bool, delay: Duration) -> Duration {
    turmoil_net::fixture::ClientServer::new()
        .server("server", async move {
            go_back_n::serve(is_bulk).await.expect("no error");
        })
        .run("client", async move {
            turmoil_net::rule(turmoil_net::Latency::fixed(delay)).forget();
            let start = tokio::time::Instant::now();
            go_back_n::request(is_bulk).await.expect("no error");
            start.elapsed()
        })
}

fn turmoil(is_bulk: bool, delay: Duration) -> Duration {
    let mut simulation = turmoil::Builder::new()
        .simulation_duration(Duration::from_secs(1_000_000))
        .min_message_latency(delay)
        .max_message_latency(delay)
        .rng_seed(1)
        .build();
    simulation.host("server", move || async move {
        Ok(messages::serve(is_bulk).await?)
    });
    simulation.client(
        "client",
        async move { Ok(messages::request(is_bulk).await?) },
    );
    simulation.run().expect("no error");
    simulation.elapsed()
}

/// CPU time of this process (`/proc/self/stat`, fields 14 and 15, in ticks of 10 ms).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let sum: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(sum * 10)
}

/// Resident memory, in MB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1e3
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
        let (memory, time) = (resident() - before, cpu().as_secs_f64());
        println!(
            "1,000 hosts with 10,000 idle connections: {memory:.1} MB more{}, {time:.2} s CPU",
            limit(memory, MAX_IDLE, "MB")
        );
    });
    done.expect("no error");
}

/// Connections one after the other, to see whether memory grows.
fn short(is_analyzed: bool) {
    const COUNT: u32 = 1_000_000;
    let net = Net::new(1);
    if !is_analyzed {
        net.without_analysis();
    }
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(b"hello").await?;
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });
    net.client("client", move |_| async move {
        let mut memory = Vec::new();
        for number in 1..=COUNT {
            let mut text = String::new();
            let mut stream = TcpStream::connect("server:80").await?;
            stream.read_to_string(&mut text).await?;
            assert_eq!(text, "hello");
            if [COUNT / 100, COUNT / 10, COUNT / 2, COUNT].contains(&number) {
                memory.push(resident());
            }
        }
        let analysis = if is_analyzed { "with" } else { "without" };
        let growth = memory[3] - memory[1];
        let printed: Vec<_> = memory.iter().map(|memory| format!("{memory:.1}")).collect();
        println!(
            "{COUNT} connections, {analysis} analysis: {:.1} us CPU each; {} MB resident after \
             1 %, 10 %, half and all; the last 90 % add {growth:.1} MB{}",
            cpu().as_secs_f64() * 1e6 / f64::from(COUNT),
            printed.join(", "),
            limit(growth, MAX_GROWTH, "MB")
        );
        io::Result::Ok(())
    });
    net.link("client", "server", "rtt=20ms");
    net.time_limit(Duration::from_secs(1_000_000));
    net.run().expect("no error");
}

/// Names of the runs that are compared.
const RUNS: [&str; 4] = [
    "gigatcp-net, 1 Gbit/s",
    "gigatcp-net",
    "turmoil-net 0.1",
    "turmoil 0.7",
];

/// A limit in parentheses, and whether it is exceeded.
fn limit(value: f64, limit: f64, unit: &str) -> String {
    let exceeded = if value > limit { ": EXCEEDED" } else { "" };
    format!(" (limit {limit} {unit}{exceeded})")
}

fn compare(name: &str, kind: &str) {
    let is_bulk = kind != "requests";
    // Half of an RTT of 100 ms, or of 1 ms.
    let delay = Duration::from_micros(if kind == "bulk" { 50_000 } else { 500 });
    let rtt = format!("rtt={}us", 2 * delay.as_micros());
    let elapsed = match name {
        "turmoil-net 0.1" => turmoil_net(is_bulk, delay),
        "turmoil 0.7" => turmoil(is_bulk, delay),
        "gigatcp-net" => gigatcp(is_bulk, &rtt),
        _ => gigatcp(is_bulk, &format!("{rtt} rate=1Gbit/s queue=1bdp")),
    };
    let time = cpu().as_secs_f64();
    let request = time * 1e6 / f64::from(REQUESTS);
    let cost = match (name, kind) {
        ("gigatcp-net, 1 Gbit/s", "bulk") => format!("{time:.2} s{}", limit(time, MAX_BULK, "s")),
        ("gigatcp-net, 1 Gbit/s" | "gigatcp-net", "requests") => {
            format!("{request:.1} us{}", limit(request, MAX_REQUEST, "us"))
        }
        (_, "requests") => format!("{request:.1} us"),
        _ => format!("{time:.2} s"),
    };
    println!("| {name} | {cost} | {:.1} s |", elapsed.as_secs_f64());
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [name, kind] = &words[..] {
        match kind.as_str() {
            "idle" => idle(),
            "short" => short(name == "analyzed"),
            _ => compare(name, kind),
        }
        return ExitCode::SUCCESS;
    }
    let program = std::env::current_exe().expect("the path of this program");
    let mut is_within_limits = true;
    let mut run = |name: &str, kind: &str| {
        let ran = Command::new(&program)
            .args([name, kind])
            .stderr(Stdio::piped())
            .output();
        match ran {
            Ok(ran) if ran.status.success() => {
                let text = String::from_utf8_lossy(&ran.stdout);
                is_within_limits &= !text.contains("EXCEEDED");
                print!("{text}");
            }
            Ok(ran) if String::from_utf8_lossy(&ran.stderr).contains("TimedOut") => {
                println!("| {name} | its connection times out | |");
            }
            _ => {
                is_within_limits = false;
                println!("| {name} | failed | |");
            }
        }
    };
    for (kind, title) in [
        ("bulk", "one gigabyte, RTT 100 ms"),
        ("near", "one gigabyte, RTT 1 ms"),
        ("requests", "a request and response of 1 kB, RTT 1 ms"),
    ] {
        println!("| {title} | CPU time | virtual time |\n| --- | --- | --- |");
        RUNS.iter().for_each(|name| run(name, kind));
        println!();
    }
    run("gigatcp-net", "idle");
    run("plain", "short");
    run("analyzed", "short");
    if is_within_limits {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
