//! Servers for tests: this project's, and a stock iperf3.
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Notify, Outcome, Server, ServerConfig, ServerNotice};
use serde_json::Value;

pub const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Maximum wait for an event that occurs soon.
const SOON: Duration = Duration::from_secs(5);

/// The first of 20 ports below the system's ephemeral ones, which no other test of this process has.
pub fn free_ports() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 10_000 + (std::process::id() % 50) as u16 * 400;
    base + NEXT.fetch_add(20, Ordering::Relaxed)
}

/// A network namespace, or what was made of some. `None`, with a note, if that is forbidden here.
#[cfg(target_os = "linux")]
pub fn namespace_or_skip<T>(made: Result<T, gigatcp_linux::SetupError>) -> Option<T> {
    made.inspect_err(|error| {
        assert!(error.is_missing_privilege(), "{error}");
        eprintln!("SKIPPED, NOTHING PROVEN: {error}");
    })
    .ok()
}

/// A server of this process.
pub struct Running {
    /// Address for iperf3's protocol.
    pub at: SocketAddr,
    /// Address for nuttcp's protocol.
    pub nuttcp_at: Option<SocketAddr>,
    pub stop: Arc<AtomicBool>,
    pub refusals: Arc<Mutex<Vec<String>>>,
    /// Number of refusals beyond those that were reported.
    pub unlisted: Arc<AtomicU64>,
    /// Reasons of the ends of tests.
    ends: Arc<Mutex<Vec<String>>>,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
    /// Numbers of clients whose test was accepted, and of queued clients.
    clients: Arc<[AtomicU16; 2]>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(config: ServerConfig) -> Self {
        let server = Server::bind(config).unwrap();
        let (at, nuttcp_at) = (server.address(), server.nuttcp_address());
        let stop = Arc::new(AtomicBool::new(false));
        let outcomes = Arc::new(Mutex::new(Vec::new()));
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let clients = Arc::new([0, 0].map(AtomicU16::new));
        let unlisted = Arc::new(AtomicU64::new(0));
        let ends = Arc::new(Mutex::new(Vec::new()));
        let (kept, refused) = (outcomes.clone(), refusals.clone());
        let (more, ended) = (unlisted.clone(), ends.clone());
        let (counts, stops) = (clients.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let notify: Arc<Notify> = Arc::new(move |notice: ServerNotice<'_>| match notice {
                ServerNotice::Ended { outcome, end, .. } => {
                    kept.lock().unwrap().extend(outcome.cloned());
                    ended.lock().unwrap().push(end.to_owned());
                }
                ServerNotice::Refused { reason, .. } => refused.lock().unwrap().push(reason),
                ServerNotice::Unlisted { refusals } => {
                    more.fetch_add(refusals, Ordering::SeqCst);
                }
                ServerNotice::Accepted { .. } => drop(counts[0].fetch_add(1, Ordering::SeqCst)),
                ServerNotice::Queued { .. } => drop(counts[1].fetch_add(1, Ordering::SeqCst)),
                _ => {}
            });
            let stops = || stops.load(Ordering::Relaxed);
            server.run(&stops, &notify).unwrap();
        });
        Self {
            at,
            nuttcp_at,
            stop,
            refusals,
            unlisted,
            ends,
            outcomes,
            clients,
            thread: Some(thread),
        }
    }

    /// Outcome of the only test served, once it has ended.
    pub fn outcome(&self) -> Outcome {
        let deadline = Instant::now() + SOON;
        while Instant::now() < deadline {
            if let Some(outcome) = self.outcomes.lock().unwrap().pop() {
                return outcome;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("no test has ended: {:?}", self.refusals.lock().unwrap());
    }

    /// Reason of the end of the only test served, once it has ended.
    pub fn end_within(&self, time: Duration) -> String {
        let deadline = Instant::now() + time;
        loop {
            if let Some(end) = self.ends.lock().unwrap().pop() {
                return end;
            }
            assert!(Instant::now() < deadline, "no test has ended in {time:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the first refusal, and returns its reason.
    pub fn refusal(&self) -> String {
        let deadline = Instant::now() + SOON;
        loop {
            if let Some(reason) = self.refusals.lock().unwrap().first() {
                return reason.clone();
            }
            assert!(Instant::now() < deadline, "nobody was refused");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a client was accepted (0) or queued (1).
    pub fn wait_for(&self, which: usize) {
        let deadline = Instant::now() + SOON;
        while self.clients[which].load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < deadline, "no client came");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// `iperf3 -s -1 -J` on a free port.
pub struct StockServer {
    child: Child,
    pub port: u16,
}

impl StockServer {
    /// Starts a server at an address of the calling thread's namespace. `None` if iperf3 is not
    /// installed.
    pub fn start(at: IpAddr) -> Option<Self> {
        let free = TcpListener::bind((at, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = Command::new("iperf3")
            .args(["-s", "-1", "-J", "-B", &at.to_string()])
            .args(["-p", &port.to_string()])
            .stdout(Stdio::piped())
            .spawn();
        let Ok(child) = child else {
            eprintln!("skipped: iperf3 is not installed");
            return None;
        };
        // It listens once the port is in use.
        let deadline = Instant::now() + SOON;
        while TcpListener::bind((at, port)).is_ok() {
            assert!(Instant::now() < deadline, "iperf3 does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        Some(Self { child, port })
    }

    /// Server's results.
    pub fn end(self) -> Value {
        let output = self.child.wait_with_output().unwrap();
        serde_json::from_slice(&output.stdout).expect("the server writes JSON")
    }
}

/// A stock server's count of the bytes at its end of a stream.
pub fn bytes_of(server: &Value, index: usize, end: &str) -> u64 {
    let stream = &server["end"]["streams"][index];
    let of_stream = match stream.get("udp") {
        Some(udp) => udp,
        None => &stream[end],
    };
    of_stream["bytes"].as_u64().unwrap()
}
