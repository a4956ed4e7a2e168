//! A transfer by the engine with a known fault, for `proof/compare.py`: what `gigatcp compare` has to
//! find.
//!
//! ```text
//! regressions serve                  answers on port 5999, by the kernel's TCP
//! regressions put BYTES [FAULT]      sends, and waits until all has arrived
//! regressions get BYTES [FAULT]      receives
//! regressions ask COUNT [FAULT]      requests of two small writes, each with an answer
//! ```
//!
//! The client is the engine on a TUN device in the namespace of `gigatcp compare`, whose kernel
//! forwards its packets to the path.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use gigatcp_live::{Options, Stack, TunConfig, Wire};
use gigatcp_tcp::congestion;
use gigatcp_tcp::profile::InitialWindow;
use gigatcp_units::{Bytes, Duration};

const PORT: u16 = 5999;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve"] => Ok(serve()?),
        [what @ ("put" | "get" | "ask"), count] => transfer(what, count.parse()?, None),
        [what @ ("put" | "get" | "ask"), count, fault] => {
            transfer(what, count.parse()?, Some(fault))
        }
        _ => Err("serve, or put, get or ask with a number, and a fault".into()),
    }
}

/// Answers connections until it is killed.
fn serve() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || answer(stream));
    }
    Ok(())
}

fn answer(stream: TcpStream) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    match line.trim().split_once(' ') {
        Some(("get", count)) => {
            let count: u64 = count.parse().unwrap_or(0);
            io::copy(&mut io::repeat(7).take(count), &mut writer)?;
        }
        Some(("put", count)) => {
            let count: u64 = count.parse().unwrap_or(0);
            io::copy(&mut reader.take(count), &mut io::sink())?;
            writer.write_all(b".")?;
        }
        _ => {
            let mut request = [0; 200];
            while reader.read_exact(&mut request).is_ok() {
                writer.write_all(&[7; 100])?;
            }
        }
    }
    Ok(())
}

fn transfer(what: &str, count: usize, fault: Option<&str>) -> Result<(), Box<dyn Error>> {
    let server: IpAddr = env::var("GIGATCP_SERVER")?.parse()?;
    // The engine's packets are those of another host to the kernel: of the namespace of a run.
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    let config = TunConfig {
        name: "engine".into(),
        kernel: vec![(IpAddr::from(Ipv4Addr::new(10, 85, 0, 1)), 30)],
        engine: vec![IpAddr::from(Ipv4Addr::new(10, 85, 0, 2))],
        ..TunConfig::default()
    };
    let stack = Stack::start(Wire::open_tun_here(&config)?)?;
    let options = options(fault)?;
    let mut stream = stack.connect((server, PORT), &options)?;
    stream.set_nodelay(fault != Some("nagle"))?;
    stream.write_all(format!("{what} {count}\n").as_bytes())?;
    match what {
        "put" => {
            io::copy(&mut io::repeat(7).take(count as u64), &mut stream)?;
            stream.read_exact(&mut [0])?;
        }
        "get" => {
            io::copy(&mut (&mut stream).take(count as u64), &mut io::sink())?;
        }
        _ => {
            for _ in 0..count {
                stream.write_all(&[7; 100])?;
                stream.write_all(&[7; 100])?;
                stream.read_exact(&mut [0; 100])?;
            }
        }
    }
    Ok(())
}

/// The engine's options with a fault.
fn options(fault: Option<&str>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    let profile = &mut options.profile;
    match fault {
        None | Some("nagle") => {}
        Some("fixed-rto") => {
            profile.timer.rto_initial = Duration::from_secs(3);
            profile.timer.rto_min = Duration::from_secs(3);
            profile.recovery.tlp = false;
        }
        Some("delayed-ack") => {
            profile.acknowledgments.delayed_ack = true;
            profile.acknowledgments.delayed_ack_timeout = Duration::from_millis(200);
            profile.acknowledgments.ack_every = 100;
            profile.acknowledgments.quick_ack = false;
        }
        Some("no-sack") => profile.recovery.sack = false,
        Some("iw2") => profile.congestion.initial_window = InitialWindow::Segments(2),
        Some("no-pacing") => profile.pacing.enabled = false,
        Some("small-buffer") => options.receive_buffer = Some(Bytes::new(32 << 10)),
        Some("small-mss") => options.mss = Some(536),
        Some(name) => {
            let control = congestion::find(name).ok_or_else(|| format!("no fault `{name}`"))?;
            options.congestion = Arc::new(control);
        }
    }
    Ok(options)
}
