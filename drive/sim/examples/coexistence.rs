//! BBR next to CUBIC over buffers of 1 to 32 BDP, compared with the model of Ware et al. 2019.
//!
//!     cargo run --release -p gigatcp-sim --example coexistence
//!
//! 15 Mbit/s, 40 ms, one flow of each, 240 s. With q the queue in packets and N flows of
//! BBR in X BDPs, loss-based flows get p = max(0, 1/2 − 1/(2X) − 4N/q) and BBR
//! (1 − p)·(d − probe)/d, where probe = (q/c + 0.2 + l)·d/10. The model is of version 1.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{flow, host, link, run, wire, world};
use gigatcp_sim::Stop;
use gigatcp_tcp::Profile;
use gigatcp_units::Duration;

const RATE: f64 = 15e6;
const RTT: f64 = 0.04;
const SECONDS: f64 = 240.0;
const PACKET: f64 = 1500.0;

fn main() {
    println!("buffer, BDP   model   bbr    bbr3");
    for bdps in [1_u32, 2, 4, 8, 16, 32] {
        let x = f64::from(bdps);
        let queue = x * RATE * RTT / 8.0 / PACKET;
        let model = model(x, queue);
        let [first, third] = ["bbr", "bbr3"].map(|control| share(control, queue as u64));
        println!("{bdps:11}   {model:.3}   {first:.3}   {third:.3}");
    }
}

/// Share of one BBR flow by the model.
fn model(x: f64, queue: f64) -> f64 {
    let lossy = (0.5 - 0.5 / x - 4.0 / queue).max(0.0);
    let drain = queue * PACKET * 8.0 / RATE;
    (1.0 - lossy) * (1.0 - (drain + 0.2 + RTT) / 10.0)
}

/// Measured share of BBR in the bytes that both flows delivered.
fn share(control: &str, queue: u64) -> f64 {
    let sender = |control: &str| {
        let host = host(Profile::MODERN, PACKET as u16, control, 64_000_000);
        flow(control, &host, Stop::After(Duration::from_secs(1000)))
    };
    let delay = Duration::from_secs_f64(RTT / 2.0);
    let hop = link("bottleneck", RATE as u64, delay, queue);
    let flows = vec![sender(control), sender("cubic")];
    let mut config = world(hop, wire("reverse", delay), flows);
    config.end = Duration::from_secs_f64(SECONDS);
    config.observe.account = false;
    let outcome = run(config).1;
    let octets = |flow: usize| outcome.flows[flow].bytes().as_u64();
    octets(0) as f64 / (octets(0) + octets(1)) as f64
}
