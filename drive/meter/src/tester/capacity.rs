//! Measures what the path to a server of this project carries, before a test, with packet trains.
//!
//! Trains of datagrams, as large as full segments, go to the server's port. Each is longer than the
//! one before, by what the arrivals of that one show, until one lasts long enough or the budget is
//! spent: [`BUDGET`] at the bottleneck's rate, the bytes of 1 % of a test of 10 s, and [`SENDING`].
//! The server keeps the arrival times that its kernel measured and returns them when asked. How a
//! rate follows from them: [`gigatcp_why::trains`].
//!
//! The test begins when the last train was sent. Its arrivals are collected by a thread
//! meanwhile, so a long RTT costs no more time. Other servers do not answer, and nothing is
//! found.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::train::{Arrivals, MIN_LENGTH, Message};
use gigatcp_units::Rate;
use gigatcp_why::trains::{PacketRate, Train};

use super::client::{bind, is_timeout};
use super::request::Request;
use crate::system::NO_BUFFERS;
use crate::system::datagrams::{self, MAX_BATCH};

/// Time at the bottleneck's rate that all trains may take together.
const BUDGET: f64 = 0.1;

/// Time in which trains are sent.
const SENDING: Duration = Duration::from_millis(300);

/// Time at the bottleneck's rate of one train, which may wait in a queue there.
const LONGEST: f64 = 0.04;

/// Packets of the first train: [`BUDGET`] at 1 Mbit/s.
const FIRST: u32 = 8;

/// Maximum number of packets of a train.
const MAX_PACKETS: u32 = 2048;

/// Growth from a train to the next: if it arrived as it was sent, perhaps within the burst of a
/// token bucket, and if the bottleneck shows.
const GROWTH: [u32; 2] = [4, 16];

/// Time that a train takes to arrive from which no longer one is needed.
const ENOUGH: gigatcp_units::Duration = gigatcp_units::Duration::from_millis(20);

/// Time between two questions, and maximum wait for the answer about the last train.
const ASKING: [Duration; 2] = [Duration::from_millis(25), Duration::from_secs(2)];

/// Largest segment whose path is measured: a larger one does not leave the host.
const MAX_SEGMENT: u32 = 9000;

/// Bytes of the send buffer: the largest train, as far as the system grants it.
const SEND_BUFFER: usize = 4 << 20;

/// What the path carries, in payload of TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathCapacity {
    /// Lowest rate of a part of the trains.
    pub low: Rate,
    /// The rate.
    pub rate: Rate,
    /// Highest rate of a part of the trains.
    pub high: Rate,
    /// Number of trains.
    pub trains: u32,
    /// Bytes sent, with the headers of IP.
    pub bytes: u64,
}

/// What trains show.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct TrainRates {
    /// What the path carries.
    pub(super) capacity: Option<PathCapacity>,
    /// Rate of the first train alone, in payload of TCP. It is within the burst of most token
    /// buckets, and shows what is behind them.
    pub(super) first_train: Option<Rate>,
}

/// A measurement whose last answer may be awaited.
#[derive(Debug)]
pub(super) struct CapacityProbe {
    thread: JoinHandle<TrainRates>,
}

impl CapacityProbe {
    /// Sends the trains; returns when the last one was sent. `None`: nothing can be measured.
    ///
    /// `mss` is the payload of a full segment.
    pub(super) fn start(request: &Request, to: SocketAddr, mss: u32) -> Option<Self> {
        let is_segment = (536..=MAX_SEGMENT).contains(&mss);
        if !request.measures_capacity || !is_segment {
            return None;
        }
        let socket = socket(request, to).ok()?;
        let (sender, sent) = mpsc::channel();
        let probe = Probe {
            socket,
            mss,
            trains: Vec::new(),
            packets: 0,
        };
        let builder = std::thread::Builder::new().name("trains".into());
        let thread = builder.spawn(move || probe.run(sender)).ok()?;
        // An error: the thread has ended without a train.
        let _ = sent.recv();
        Some(Self { thread })
    }

    /// What was measured.
    pub(super) fn finish(self) -> TrainRates {
        self.thread.join().unwrap_or_default()
    }
}

/// A socket that is connected to the server's port.
fn socket(request: &Request, to: SocketAddr) -> io::Result<UdpSocket> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, None)?;
    bind(&socket, request, to, None)?;
    socket.connect(&to.into())?;
    // The system may grant less; then sending waits, which is noticed.
    let _ = socket.set_send_buffer_size(SEND_BUFFER);
    if let Some(tos) = request.parameters.tos.filter(|_| to.is_ipv4()) {
        socket.set_tos_v4(tos)?;
    }
    Ok(socket.into())
}

/// Trains that were sent.
#[derive(Debug)]
struct Probe {
    socket: UdpSocket,
    mss: u32,
    trains: Vec<Train>,
    /// Packets sent so far.
    packets: u32,
}

impl Probe {
    fn run(mut self, sent: Sender<()>) -> TrainRates {
        let is_complete = self.send_all(&sent).is_some();
        let _ = sent.send(());
        TrainRates {
            capacity: self.found().filter(|_| is_complete),
            first_train: self.first_train(),
        }
    }

    /// Sends trains until one is long enough; `None` if an answer is missing.
    fn send_all(&mut self, sent: &Sender<()>) -> Option<()> {
        let start = Instant::now();
        let until = start + SENDING;
        let mut count = FIRST;
        let mut round = Duration::ZERO;
        for number in 0.. {
            let since = Instant::now();
            let sent_in = self.send(number, count).ok()?;
            let mut answer = None;
            if Instant::now() + round < until {
                answer = self.ask(number, until);
            }
            if answer.is_none() {
                // The last one: its answer comes while the test runs.
                let _ = sent.send(());
                answer = self.ask(number, Instant::now() + ASKING[1]);
            }
            let arrivals = answer?;
            round = since.elapsed();
            self.trains.push(Train {
                packets: arrivals.packets,
                arrived_in: arrivals.arrived_in,
                deliveries: arrivals.deliveries,
                sent_in,
            });
            match self.next(count) {
                Some(next) if Instant::now() < until => count = next,
                _ => break,
            }
        }
        Some(())
    }

    /// Packets of the next train; `None`: the last one was long enough, or no longer one may
    /// follow.
    fn next(&self, last: u32) -> Option<u32> {
        let train = self.trains.last()?;
        let is_paced = train.is_sender_paced();
        if !is_paced && train.arrived_in >= ENOUGH && PacketRate::of(&self.trains).is_some() {
            return None;
        }
        let rates = self.trains.iter().filter_map(Train::arrival_rate);
        let rate = rates.fold(f64::MAX, f64::min);
        let packets = |time: f64| (rate * time).min(f64::from(MAX_PACKETS)) as u32;
        let left = packets(BUDGET)
            .min(MAX_PACKETS * 2)
            .saturating_sub(self.packets);
        let growth = GROWTH[usize::from(!is_paced)];
        let next = (last * growth)
            .min(left)
            .min(packets(LONGEST).max(2 * FIRST));
        (next > last).then_some(next)
    }

    /// Sends a train. Returns the time that it took; `None` if it waited for the interface.
    fn send(&mut self, number: u16, count: u32) -> io::Result<Option<gigatcp_units::Duration>> {
        // As many bytes as a segment with timestamps: 32 bytes of TCP header for 8 of UDP.
        let size = (self.mss as usize + 24).max(MIN_LENGTH);
        let mut batch = vec![0; size * MAX_BATCH];
        for datagram in batch.chunks_exact_mut(size) {
            Message::Train(number).write(datagram);
        }
        self.packets += count;
        let mut has_waited = false;
        let mut left = count as usize;
        self.socket.set_nonblocking(true)?;
        let start = Instant::now();
        while left > 0 {
            let bytes = size * left.min(MAX_BATCH);
            match datagrams::send(&self.socket, &batch[..bytes], size) {
                Ok(sent) => left -= sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    has_waited = true;
                    self.socket.set_nonblocking(false)?;
                }
                // The interface's queue is full: the train is long enough.
                Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => {
                    has_waited = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let time = start.elapsed();
        self.socket.set_nonblocking(false)?;
        let nanos = gigatcp_units::Duration::from_nanos(time.as_nanos() as u64);
        Ok((!has_waited).then_some(nanos))
    }

    /// Asks for the arrivals of a train until there is an answer; `None`: not by `until`.
    fn ask(&self, number: u16, until: Instant) -> Option<Arrivals> {
        let mut question = [0; MIN_LENGTH];
        Message::Ask(number).write(&mut question);
        let mut answer = [0; 2048];
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            // A server that does not listen refuses it.
            self.socket.send(&question).ok()?;
            let wait = left.min(ASKING[0]).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(wait)).ok()?;
            loop {
                match self.socket.recv(&mut answer) {
                    Ok(length) => {
                        let arrivals = Arrivals::read(&answer[..length]);
                        if let Some(arrivals) = arrivals.filter(|arrivals| arrivals.train == number)
                        {
                            return Some(arrivals);
                        }
                    }
                    Err(error) if is_timeout(&error) => break,
                    Err(_) => return None,
                }
            }
        }
        None
    }

    fn payload(&self, packets: f64) -> Rate {
        Rate::from_bps((packets * f64::from(self.mss) * 8.0) as u64)
    }

    fn found(&self) -> Option<PathCapacity> {
        let found = PacketRate::of(&self.trains)?;
        Some(PathCapacity {
            low: self.payload(found.low),
            rate: self.payload(found.rate),
            high: self.payload(found.high),
            trains: self.trains.len() as u32,
            bytes: u64::from(self.packets) * u64::from(self.mss + 52),
        })
    }

    fn first_train(&self) -> Option<Rate> {
        let found = PacketRate::of(self.trains.get(..1)?)?;
        Some(self.payload(found.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A train whose packets arrive at these microseconds.
    fn train(arrivals: impl Iterator<Item = u64>) -> Train {
        let times: Vec<gigatcp_units::Duration> =
            arrivals.map(gigatcp_units::Duration::from_micros).collect();
        Train {
            packets: times.len() as u32,
            arrived_in: *times.last().unwrap(),
            deliveries: gigatcp_why::trains::deliveries(&times),
            sent_in: Some(gigatcp_units::Duration::from_micros(10)),
        }
    }

    #[test]
    fn first_train_shows_the_rate_behind_a_bucket_that_the_longest_shows() {
        let short = train((0..8).map(|n| n * 300));
        let burst = (0..20).map(|n| n * 300);
        let long = train(burst.chain((0..108).map(|n| 6000 + n * 1200)));
        let probe = Probe {
            socket: UdpSocket::bind("127.0.0.1:0").unwrap(),
            mss: 1448,
            trains: vec![short, long],
            packets: 136,
        };
        let bps = |micros: f64| 1448.0 * 8e6 / micros;
        let close = |rate: Rate, bps: f64| (rate.as_bps() as f64 / bps - 1.0).abs() < 0.02;
        assert!(close(probe.found().unwrap().rate, bps(1200.0)));
        assert!(close(probe.first_train().unwrap(), bps(300.0)));
    }
}
