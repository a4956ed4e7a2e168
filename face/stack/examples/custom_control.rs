//! A custom congestion control, next to CUBIC on the same path.
//!
//! It grows by three segments per RTT and keeps 7/8 of the window after a loss (Jain's AIMD with
//! other constants). It is not fair to other flows.
//!
//!     cargo run -p gigatcp-stack --example custom_control

mod network;

use std::net::SocketAddr;
use std::sync::Arc;

use gigatcp_stack::ByteCount;
use gigatcp_stack::Phase;
use gigatcp_stack::congestion::{
    Ack, Config, Congestion, CongestionKind, Controller, ControllerFactory,
};
use gigatcp_stack::{Bytes, Duration, TransportConfig};
use network::{Network, Path, addresses};

/// The control and its parameters, which all connections share.
#[derive(Clone, Copy, Debug)]
struct Bold {
    /// Growth of the window per RTT, in segments.
    growth: u64,
    /// Eighths of the window that a loss leaves.
    eighths_left: u64,
}

impl ControllerFactory for Bold {
    fn name(&self) -> &str {
        "bold"
    }

    fn build(&self, config: &Config) -> Box<dyn Controller> {
        Box::new(BoldState {
            bold: *self,
            smss: u64::from(config.smss),
            cwnd: config.initial_window.as_u64(),
            ssthresh: u64::MAX,
        })
    }
}

/// The state of one connection.
#[derive(Debug)]
struct BoldState {
    bold: Bold,
    smss: u64,
    cwnd: u64,
    ssthresh: u64,
}

impl Controller for BoldState {
    fn cwnd(&self) -> ByteCount {
        ByteCount::new(self.cwnd)
    }

    fn ssthresh(&self) -> ByteCount {
        ByteCount::new(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: ByteCount) {
        self.cwnd = cwnd.as_u64().max(self.smss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.cwnd_limited || matches!(ack.phase, Phase::Recovery | Phase::Cwr) {
            return;
        }
        let acked = ack.acked.as_u64();
        self.cwnd += if self.cwnd < self.ssthresh {
            acked
        } else {
            self.bold.growth * self.smss * acked / self.cwnd
        };
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.ssthresh = (self.cwnd / 8 * self.bold.eighths_left).max(2 * self.smss);
        self.cwnd = match event.kind {
            CongestionKind::Timeout => self.smss,
            _ => self.ssthresh,
        };
    }
}

pub fn main() {
    let bold = Bold {
        growth: 3,
        eighths_left: 7,
    };
    let cubic = TransportConfig::default();
    for config in [cubic.clone(), cubic.with_congestion(bold)] {
        let name = config.congestion.name().to_owned();
        let seconds = transfer(config.into());
        println!("{name:>6}: 2 MB in {seconds:.2} s");
    }
}

/// Sends 2 MB and returns its duration in seconds. It ends when all data is acknowledged and both
/// sides have closed.
fn transfer(config: Arc<TransportConfig>) -> f64 {
    let path = Path {
        delay: Duration::from_millis(20),
        jitter: Duration::ZERO,
        loss: 0.003,
        duplication: 0.0,
    };
    let mut network = Network::new(path, 11);
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
        let info = connection.info();
        if left.is_empty() && info.flight_size == ByteCount::ZERO && info.unsent == ByteCount::ZERO
        {
            return now.as_secs_f64();
        }
    }
}
