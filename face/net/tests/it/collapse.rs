//! A transport that collapses at long RTTs: a sender over UDP, paced by a model of the path like
//! BBR's, whose retransmission timeout is fixed at 300 ms.
//!
//! With an RTT near 300 ms, queueing makes packets look lost that are not. They are sent again, and
//! the model begins anew. freenet's transport did this at RTTs from 125 ms on, under tests that all
//! passed. It is rebuilt here from that description, without its code.

use std::collections::BTreeMap;
use std::time::Duration;

use gigatcp_net::{Net, UdpSocket};
use tokio::time::{Instant, sleep_until};

/// Retransmission timeout, whatever the RTT.
const RTO: Duration = Duration::from_millis(300);

/// Packets in flight at the start, and after a timeout.
const INITIAL_WINDOW: usize = 10;

const PAYLOAD: usize = 1200;

/// What a sender did.
#[derive(Default)]
struct Sender {
    acknowledged: u64,
    retransmitted: u64,
    /// Send times of packets in flight, by their numbers.
    in_flight: BTreeMap<u64, Instant>,
    /// Highest delivery rate seen, packets per second.
    max_rate: f64,
    min_rtt: Option<Duration>,
    window: usize,
    /// Start of the round, and acknowledgments in it.
    round: Option<(Instant, u64)>,
    /// Rate that startup has reached, and rounds since it last grew by a quarter.
    full: (f64, u32),
}

impl Sender {
    fn on_ack(&mut self, now: Instant, number: u64) {
        let Some(sent) = self.in_flight.remove(&number) else {
            return;
        };
        self.acknowledged += 1;
        let rtt = now - sent;
        let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(min_rtt);
        let (start, count) = self.round.get_or_insert((now, 0));
        *count += 1;
        if now - *start >= min_rtt {
            self.max_rate = self
                .max_rate
                .max(*count as f64 / (now - *start).as_secs_f64());
            self.round = Some((now, 0));
            self.full = match self.full {
                (rate, _) if self.max_rate >= 1.25 * rate => (self.max_rate, 0),
                (rate, rounds) => (rate, rounds + 1),
            };
        }
        // BBR's gains: 2/ln 2 until the rate has not grown for three rounds, then 2.
        let gain = if self.full.1 < 3 { 2.885 } else { 2.0 };
        let bdp = self.max_rate * min_rtt.as_secs_f64();
        self.window = (self.window + 1)
            .min((gain * bdp) as usize)
            .max(INITIAL_WINDOW);
    }

    /// Packets that have been in flight for too long.
    fn late(&self, now: Instant) -> Vec<u64> {
        let late = self
            .in_flight
            .iter()
            .filter(|(_, sent)| now - **sent >= RTO);
        late.map(|(number, _)| *number).collect()
    }

    fn on_timeout(&mut self) {
        self.max_rate = 0.0;
        self.window = INITIAL_WINDOW;
        self.round = None;
        self.full = (0.0, 0);
    }
}

async fn acknowledge() -> std::io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:7").await?;
    let mut buffer = [0; PAYLOAD];
    loop {
        let (_, from) = socket.recv_from(&mut buffer).await?;
        socket.send_to(&buffer[..8], from).await?;
    }
}

/// Sends for 10 seconds; returns the share of the bottleneck that carried new data, and that of
/// packets which were retransmissions.
async fn send() -> std::io::Result<(f64, f64)> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect("server:7").await?;
    let mut sender = Sender {
        window: INITIAL_WINDOW,
        ..Sender::default()
    };
    let start = Instant::now();
    let (mut next, mut sent) = (0_u64, 0_u64);
    while start.elapsed() < Duration::from_secs(10) {
        let now = Instant::now();
        let late = sender.late(now);
        if !late.is_empty() {
            sender.on_timeout();
        }
        for number in late {
            sender.retransmitted += 1;
            transmit(&socket, &mut sender, number, now).await?;
            sent += 1;
        }
        while sender.in_flight.len() < sender.window {
            transmit(&socket, &mut sender, next, now).await?;
            next += 1;
            sent += 1;
        }
        let tick = now + Duration::from_millis(10);
        let mut ack = [0; 8];
        tokio::select! {
            biased;
            received = socket.recv(&mut ack) => {
                received?;
                sender.on_ack(Instant::now(), u64::from_be_bytes(ack));
            }
            () = sleep_until(tick) => {}
        }
    }
    let bits = (sender.acknowledged * PAYLOAD as u64 * 8) as f64;
    let share = bits / start.elapsed().as_secs_f64() / RATE;
    Ok((share, sender.retransmitted as f64 / sent as f64))
}

async fn transmit(
    socket: &UdpSocket,
    sender: &mut Sender,
    number: u64,
    now: Instant,
) -> std::io::Result<()> {
    let mut packet = [0; PAYLOAD];
    packet[..8].copy_from_slice(&number.to_be_bytes());
    socket.send(&packet).await?;
    sender.in_flight.insert(number, now);
    Ok(())
}

/// Bottleneck rate, bit/s.
const RATE: f64 = 10e6;

fn measure(rtt: u32) -> (f64, f64) {
    let net = Net::new(1);
    net.host("server", |_| acknowledge());
    net.link(
        "test",
        "server",
        &format!("rate=10Mbit/s rtt={rtt}ms queue=4bdp"),
    );
    let (done, _) = net.run_with(send);
    done.unwrap().unwrap()
}

#[test]
fn fixed_timeout_collapses_from_an_rtt_of_125_ms_on() {
    let (share, retransmitted) = measure(20);
    assert!(
        share > 0.8 && retransmitted == 0.0,
        "{share}, {retransmitted}"
    );
    for rtt in [125, 200, 250] {
        let (share, retransmitted) = measure(rtt);
        assert!(
            share < 0.5 && retransmitted > 0.02,
            "RTT {rtt} ms: {share} of the rate, {retransmitted} retransmitted"
        );
    }
}
