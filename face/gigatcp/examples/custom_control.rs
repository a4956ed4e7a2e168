//! A custom congestion control, next to CUBIC on the same path.
//!
//! It grows by three segments per RTT and keeps 7/8 of the window after a loss (Jain's AIMD with
//! other constants). It is not fair to other flows.
//!
//!     cargo run -p gigatcp --example custom_control

mod network;

use std::net::SocketAddr;

use gigatcp::congestion::{self, Ack, Congestion, CongestionControl, CongestionKind, Entry};
use gigatcp::events::Phase;
use gigatcp::units::Bytes as Octets;
use gigatcp::{Bytes, Duration, Instant, TransportConfig};
use network::{Network, Path, addresses};

/// Registry entry of the control: its name and its constructor.
static BOLD: Entry = Entry {
    name: "bold",
    summary: "three segments per round trip, an eighth off by loss",
    family: congestion::Family::WindowBased,
    reacts_to: "losses",
    deployed: "nowhere",
    draws: false,
    build: |config| {
        Box::new(Bold {
            smss: u64::from(config.smss),
            cwnd: config.initial_window.as_u64(),
            ssthresh: u64::MAX,
            before: None,
        })
    },
};

#[derive(Debug)]
struct Bold {
    smss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// cwnd and ssthresh before the last reduction, to undo a spurious one.
    before: Option<(u64, u64)>,
}

impl CongestionControl for Bold {
    fn cwnd(&self) -> Octets {
        Octets::new(self.cwnd)
    }

    fn ssthresh(&self) -> Octets {
        Octets::new(self.ssthresh)
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.cwnd_limited || matches!(ack.phase, Phase::Recovery | Phase::Cwr) {
            return;
        }
        let acked = ack.acked.as_u64();
        self.cwnd += if self.cwnd < self.ssthresh {
            acked
        } else {
            3 * self.smss * acked / self.cwnd
        };
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.before = Some((self.cwnd, self.ssthresh));
        self.ssthresh = (self.cwnd / 8 * 7).max(2 * self.smss);
        self.cwnd = match event.kind {
            CongestionKind::Timeout => self.smss,
            _ => self.ssthresh,
        };
    }

    fn on_idle_restart(&mut self, _now: Instant, restart_window: Octets) {
        self.cwnd = self.cwnd.min(restart_window.as_u64());
    }

    fn on_smss_change(&mut self, smss: u32) {
        self.smss = u64::from(smss);
        self.cwnd = self.cwnd.max(self.smss);
    }

    fn undo(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }
}

pub fn main() {
    let cubic = congestion::find("cubic").expect("a control of this name");
    for control in [cubic, &BOLD] {
        let seconds = transfer(control);
        println!("{:>6}: 2 MB in {seconds:.2} s", control.name);
    }
}

/// Sends 2 MB and returns its duration in seconds. It ends when all data is acknowledged and both
/// sides have closed.
fn transfer(control: &'static Entry) -> f64 {
    let path = Path {
        delay: Duration::from_millis(20),
        jitter: Duration::ZERO,
        loss: 0.003,
        duplication: 0.0,
    };
    let mut network = Network::new(path, 11);
    let config = TransportConfig::default().with_congestion(control);
    let at = SocketAddr::new(addresses()[1], 5001);
    network.hosts[1]
        .listen(at, config.clone())
        .expect("the port is free");
    let sender = network.hosts[0]
        .connect(network.now, at, config.clone())
        .expect("a port is free");
    let mut left = Bytes::from(vec![1; 2_000_000]);
    let mut receiver = None;
    loop {
        assert!(network.step(), "both hosts are silent");
        let now = network.now;
        let [client, server] = &mut network.hosts;
        if let Ok(taken) = client.write(now, sender, left.clone()) {
            drop(left.split_to(taken));
        }
        receiver = receiver.or_else(|| server.accept(now, at));
        let Some(receiver) = receiver else { continue };
        while let Ok(Some(_)) = server.read(now, receiver, usize::MAX) {}
        let connection = client.connection(sender).expect("it is there");
        if left.is_empty() && connection.segments_in_flight() == 0 && connection.unsent() == 0 {
            return now.as_secs_f64();
        }
    }
}
