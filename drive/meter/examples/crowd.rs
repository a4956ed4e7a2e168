//! Many clients that begin simultaneously at one server: the number of connections open at a time.
//!
//! `crowd [CLIENTS STREAMS [SECONDS]]`, by default 79 clients of 128 streams: 10,112 connections.
//! Server and clients are separate processes, on the loopback interface. Each stream sends 16
//! kbit/s. Exit status: 0 all connections carried data, 1 some did not, 2 wrong usage.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Admission, Notify, Request, Server, ServerConfig, ServerNotice, run};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
    match words.first().map(String::as_str) {
        Some("server") => server(),
        Some("client") => match (number(1), number(2), number(3)) {
            (Some(port), Some(streams), Some(seconds)) => client(port, streams, seconds),
            _ => ExitCode::from(2),
        },
        None => crowd(79, 128, 20),
        Some(_) => match (number(0), number(1)) {
            (Some(clients), Some(streams)) => crowd(clients, streams, number(2).unwrap_or(20)),
            _ => ExitCode::from(2),
        },
    }
}

/// Starts a server and all clients, and counts connections.
fn crowd(clients: u64, streams: u64, seconds: u64) -> ExitCode {
    let mut server = this(&["server".to_owned()]);
    let lines = server.stdout.take().map(BufReader::new);
    let mut lines = lines
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok);
    let port = lines.next().unwrap_or_default();
    let begun = Instant::now();
    let words = [
        "client".to_owned(),
        port,
        streams.to_string(),
        seconds.to_string(),
    ];
    let started: Vec<Child> = (0..clients).map(|_| this(&words)).collect();
    let (mut done, mut carried, mut slowest) = (0, 0, 0.0_f64);
    for mut client in started {
        let text = client.stdout.take().map(BufReader::new);
        for line in text
            .into_iter()
            .flat_map(BufRead::lines)
            .map_while(Result::ok)
        {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["carried", count, _, after] = words[..] {
                carried += count.parse::<u64>().unwrap_or(0);
                slowest = slowest.max(after.parse().unwrap_or(0.0));
            } else {
                println!("{line}");
            }
        }
        done += u64::from(client.wait().is_ok_and(|status| status.success()));
    }
    let took = begun.elapsed().as_secs_f64();
    let _ = server.kill();
    let _ = server.wait();
    for line in lines {
        println!("server: {line}");
    }
    println!(
        "{done} of {clients} clients done, {carried} of {} connections carried data, the last \
         test began {slowest:.2} s after its client, all took {took:.1} s",
        clients * streams
    );
    match carried == clients * streams {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    }
}

/// This program as a child with piped output.
fn this(words: &[String]) -> Child {
    let program = std::env::current_exe().expect("this program has a name");
    let mut command = Command::new(program);
    command.args(words).stdout(Stdio::piped());
    command.spawn().expect("this program starts")
}

/// Runs the server, and prints the largest number of open connections.
fn server() -> ExitCode {
    if let Err(error) = gigatcp_linux::process::allow_all_descriptors() {
        println!("descriptors: {error}");
    }
    let server = Server::bind(ServerConfig {
        bind: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        port: 0,
        admission: Admission {
            tests: 1000,
            per_address: 1000,
            memory: None,
            ..Admission::default()
        },
        ..ServerConfig::default()
    })
    .expect("a port is free");
    println!("{}", server.address().port());
    let (open, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let notify: Arc<Notify> = Arc::new(move |notice: ServerNotice<'_>| match notice {
        // The first interval of a test begins at 0.
        ServerNotice::Interval { interval, .. } if interval.start.is_zero() => {
            let streams = interval.streams.len() as u64;
            let now = open.fetch_add(streams, Ordering::SeqCst) + streams;
            if now > most.fetch_max(now, Ordering::SeqCst) {
                println!("{now} connections open");
            }
        }
        ServerNotice::Ended { outcome, end, .. } => {
            let streams = outcome.map_or(0, |outcome| outcome.streams.len() as u64);
            open.fetch_sub(streams, Ordering::SeqCst);
            if end != "done" {
                println!("a test ended: {end}");
            }
        }
        ServerNotice::Refused { reason, .. } => println!("refused: {reason}"),
        ServerNotice::Short { cause } => println!("short: {cause}"),
        _ => {}
    });
    let served = server.run(&|| false, &notify);
    println!("{served:?}");
    ExitCode::from(1)
}

/// Runs one test, and prints the number of its streams that carried data.
fn client(port: u64, streams: u64, seconds: u64) -> ExitCode {
    let mut request = Request::new("127.0.0.1");
    request.port = port as u16;
    request.parameters.time = seconds as u32;
    request.parameters.parallel = streams as u32;
    request.parameters.bandwidth = Some(16_000);
    request.parameters.len = Some(1000);
    let begun = Instant::now();
    let mut after = Duration::ZERO;
    let outcome = run(&request, &|| false, &mut |progress| {
        if matches!(progress, gigatcp_meter::tester::Progress::Started(_)) {
            after = begun.elapsed();
        }
    });
    match outcome {
        Ok(outcome) => {
            let all = outcome.streams.iter();
            let carried =
                all.filter(|stream| outcome.peer_of(stream).is_some_and(|peer| peer.bytes > 0));
            println!(
                "carried {} after {:.3}",
                carried.count(),
                after.as_secs_f64()
            );
            if let Some(reason) = outcome.cut_short {
                println!("cut short: {reason}");
                return ExitCode::from(1);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("a client: {error}");
            ExitCode::from(1)
        }
    }
}
