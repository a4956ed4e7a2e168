//! Cost of watching: 10,000 sockets once a second, and one every 10 ms.
//!
//! `cargo run --release -p gigatcp-meter --example bench_watch [SOCKETS]`; it needs that many
//! descriptors (`ulimit -n`). Costs are CPU time of the watching thread, kernel included, as shares
//! of one core.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use gigatcp_linux::clock;
use gigatcp_linux::sock_diag::{SockDiag, WITH_DATA};
use gigatcp_meter::filter::Filter;
use gigatcp_meter::watch::Watch;
use gigatcp_units::{Duration, Instant};

const LOOKS: u64 = 20;

fn now() -> Instant {
    Instant::from_nanos(clock::monotonic().unsigned_abs())
}

/// CPU time of `work` over the wall time it stands for, in percent.
fn cost(seconds: f64, mut work: impl FnMut()) -> f64 {
    let before = clock::thread();
    work();
    (clock::thread() - before) as f64 / 1e7 / seconds
}

fn main() {
    let sockets: usize = std::env::args()
        .nth(1)
        .map_or(10_000, |word| word.parse().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let mut streams: Vec<(TcpStream, TcpStream)> = Vec::new();
    while streams.len() * 2 < sockets {
        let stream = TcpStream::connect(to).unwrap();
        streams.push((stream, listener.accept().unwrap().0));
    }
    let mut watch = Watch::new(Filter::Any).unwrap();
    let first = cost(1.0, || watch.sample(now()).unwrap());
    // Owners are looked up in the second sample only.
    watch.sample(now() + Duration::from_secs(3)).unwrap();
    println!(
        "{} sockets; the first look {first:.2} % of a second",
        watch.connections().len()
    );
    let mut diag = SockDiag::open().unwrap();
    let listed = cost(LOOKS as f64, || {
        (0..LOOKS).for_each(|_| diag.list(WITH_DATA, |_| ()).unwrap());
    });
    println!("of this the kernel's list: {listed:.2} % of a core");
    for active in [0, sockets / 200, sockets / 2] {
        let mut all = 0.0;
        for look in 0..LOOKS {
            for (stream, _) in streams.iter_mut().take(active) {
                stream.write_all(b"x").unwrap();
            }
            let at = now() + Duration::from_secs(4 + look);
            all += cost(1.0, || watch.sample(at).unwrap());
        }
        println!(
            "once a second, {active} of them active: {:.2} % of a core",
            all / LOOKS as f64
        );
    }
    let id = watch.connections()[0].id;
    let one = cost(1.0, || {
        for step in 0..100 {
            streams[0].0.write_all(b"x").unwrap();
            let at = now() + Duration::from_secs(30) + Duration::from_millis(10 * step);
            watch.sample_one(id, at).unwrap();
        }
    });
    println!("one every 10 ms: {one:.2} % of a core");
}
