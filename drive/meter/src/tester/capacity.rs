//! Measures what the path to or from a server of this project carries, before a test, with packet
//! trains.
//!
//! Trains of datagrams, as large as full segments, go to or come from the server's port. Each is longer than the
//! one before, by what the arrivals of that one show, until one lasts long enough or the budget is
//! spent: [`BUDGET`] at the bottleneck's rate, the bytes of 1 % of a test of 10 s, and [`SENDING`].
//! The server keeps the arrival times that its kernel measured and returns them when asked. How a
//! rate follows from them: [`gigatcp_why::trains`].
//!
//! To the server, the test begins when the last train was sent. Its arrivals are collected by a
//! thread meanwhile, so a long RTT costs no more time. From the server, it begins when the last train
//! has arrived. Other servers do not answer, and nothing is found.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::Cookie;
use gigatcp_protocol::iperf3::train::{Arrivals, MIN_LENGTH, Message, SentTrain, TrainRequest};
use gigatcp_units::Rate;
use gigatcp_why::trains::{PacketRate, Train, deliveries};

use super::client::{bind, is_timeout};
use super::counters::Role;
use super::request::Request;
use crate::system::datagrams::{self, MAX_BATCH};
use crate::system::{NO_BUFFERS, clock, socket as kernel};

/// Time at the bottleneck's rate that all trains may take together.
const BUDGET: f64 = 0.1;

/// Time in which trains are sent.
const SENDING: Duration = Duration::from_millis(300);

/// Time at the bottleneck's rate of one train, which may wait in a queue there.
const LONGEST: f64 = 0.04;

/// Packets of the first train: [`BUDGET`] at 1 Mbit/s.
const FIRST: u32 = 8;

/// Maximum number of packets of a train.
pub(super) const MAX_PACKETS: u32 = 2048;

/// Growth from a train to the next: if it arrived as it was sent, perhaps within the burst of a
/// token bucket, and if the bottleneck shows.
const GROWTH: [u32; 2] = [4, 16];

/// Time that a train takes to arrive from which no longer one is needed.
const ENOUGH: gigatcp_units::Duration = gigatcp_units::Duration::from_millis(20);

/// Time between two questions, and maximum wait for the answer about the last train.
const ASKING: [Duration; 2] = [Duration::from_millis(25), Duration::from_secs(2)];

/// Largest segment whose path is measured: a larger one does not leave the host.
pub(super) const MAX_SEGMENT: u32 = 9000;

/// Bytes of a train's datagram beyond a segment's payload: 32 of TCP's header, less 8 of UDP's.
pub(super) const HEADER: u32 = 24;

/// Bytes of the socket's buffers: the largest train, as far as the system grants it.
const BUFFER: usize = 4 << 20;

/// Maximum wait for a train from the server, beyond four RTTs.
const ARRIVING: Duration = Duration::from_millis(300);

/// What the path carries in one direction, in payload of TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathCapacity {
    /// Role of this end in that direction.
    pub role: Role,
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
        let probe = Probe::new(request, to, mss, None)?;
        let (sender, sent) = mpsc::channel();
        let builder = std::thread::Builder::new().name("trains".into());
        let thread = builder.spawn(move || probe.run(&sender)).ok()?;
        // An error: the thread has ended without a train.
        let _ = sent.recv();
        Some(Self { thread })
    }

    /// What was measured.
    pub(super) fn finish(self) -> TrainRates {
        self.thread.join().unwrap_or_default()
    }
}

/// What trains from the server show, whose test with this cookie awaits its streams. `mss` is the
/// payload of a full segment, `rtt` the RTT to the server.
pub(super) fn from_server(
    request: &Request,
    (to, mss, cookie): (SocketAddr, u32, Cookie),
    rtt: Duration,
) -> TrainRates {
    let asking = (cookie, 4 * rtt + ARRIVING);
    let probe = Probe::new(request, to, mss, Some(asking));
    probe.map_or_else(TrainRates::default, |probe| probe.run(&mpsc::channel().0))
}

/// A socket that is connected to the server's port.
fn socket(request: &Request, to: SocketAddr) -> io::Result<UdpSocket> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, None)?;
    bind(&socket, request, to, None)?;
    socket.connect(&to.into())?;
    // The system may grant less; then sending waits, which is noticed.
    let _ = socket.set_send_buffer_size(BUFFER);
    let _ = socket.set_recv_buffer_size(BUFFER);
    if let Some(tos) = request.parameters.tos.filter(|_| to.is_ipv4()) {
        socket.set_tos_v4(tos)?;
    }
    let socket = UdpSocket::from(socket);
    // Without it arrivals have the time at which they are read.
    let _ = kernel::stamp_arrivals(&socket);
    Ok(socket)
}

/// Trains to the server, or from it.
#[derive(Debug)]
struct Probe {
    socket: UdpSocket,
    mss: u32,
    /// Cookie of the test whose trains the server sends, and maximum wait for one; `None`: this end
    /// sends them.
    asking: Option<(Cookie, Duration)>,
    trains: Vec<Train>,
    /// Packets sent so far.
    packets: u32,
}

impl Probe {
    /// `None`: nothing can be measured.
    fn new(
        request: &Request,
        to: SocketAddr,
        mss: u32,
        asking: Option<(Cookie, Duration)>,
    ) -> Option<Self> {
        let is_segment = (536..=MAX_SEGMENT).contains(&mss);
        (request.measures_capacity && is_segment).then_some(())?;
        Some(Self {
            socket: socket(request, to).ok()?,
            mss,
            asking,
            trains: Vec::new(),
            packets: 0,
        })
    }

    fn run(mut self, sent: &Sender<()>) -> TrainRates {
        let is_complete = self.exchange_all(sent).is_some();
        let _ = sent.send(());
        TrainRates {
            capacity: self.found().filter(|_| is_complete),
            first_train: self.first_train(),
        }
    }

    /// Exchanges trains until one is long enough; `None` if an answer is missing.
    fn exchange_all(&mut self, sent: &Sender<()>) -> Option<()> {
        let until = Instant::now() + SENDING;
        let mut count = FIRST;
        let mut round = Duration::ZERO;
        for number in 0.. {
            let since = Instant::now();
            let train = match self.asking {
                Some(_) => self.receive(number, count),
                None => self.send(number, count, (until, round), sent),
            };
            self.packets += count;
            self.trains.push(train?);
            round = since.elapsed();
            match self.next(count) {
                Some(next) if Instant::now() < until => count = next,
                _ => break,
            }
        }
        Some(())
    }

    /// Sends a train, and asks how it arrived. `sent` is told if it is the last that can be sent by
    /// `until`, as an exchange takes `round`.
    fn send(
        &self,
        number: u16,
        count: u32,
        (until, round): (Instant, Duration),
        sent: &Sender<()>,
    ) -> Option<Train> {
        let size = (self.mss + HEADER) as usize;
        let report = send_train(&self.socket, (number, count, size), MAX_BATCH, |_| true).ok()?;
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
        Some(Train {
            packets: arrivals.packets,
            arrived_in: arrivals.arrived_in,
            deliveries: arrivals.deliveries,
            sent_in: report.sent_in,
        })
    }

    /// Requests a train until the report of it has come, behind its packets.
    fn receive(&self, number: u16, count: u32) -> Option<Train> {
        let (cookie, longest) = self.asking?;
        let request = TrainRequest {
            train: number,
            packets: count as u16,
            size: (self.mss + HEADER) as u16,
            cookie,
        };
        let until = Instant::now() + longest;
        let mut arrivals: Vec<i64> = Vec::new();
        let mut datagram = [0; 1 << 14];
        let sent = loop {
            let left = until.checked_duration_since(Instant::now())?;
            // A server that does not listen refuses it.
            self.socket.send(&request.to_bytes()).ok()?;
            let wait = left.min(ASKING[0]).max(Duration::from_millis(1));
            self.socket.set_read_timeout(Some(wait)).ok()?;
            let report = loop {
                match kernel::receive_stamped(&self.socket, &mut datagram) {
                    // A server that sends far more than was requested.
                    Ok(_) if arrivals.len() > 2 * count as usize => return None,
                    Ok(_) if Instant::now() > until => return None,
                    Ok(received) => {
                        let bytes = &datagram[..received.length];
                        if Message::read(bytes) == Some(Message::Train(number)) {
                            arrivals.push(received.at.unwrap_or_else(clock::realtime));
                        } else if let Some(sent) = SentTrain::read(bytes)
                            && sent.train == number
                        {
                            break Some(sent);
                        }
                    }
                    Err(error) if is_timeout(&error) => break None,
                    Err(_) => return None,
                }
            };
            if let Some(sent) = report {
                break sent;
            }
        };
        let times = since_first(&arrivals);
        Some(Train {
            packets: times.len() as u32,
            arrived_in: *times.last()?,
            deliveries: deliveries(&times),
            sent_in: sent.sent_in,
        })
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
                    Ok(_) if Instant::now() > until => return None,
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
            role: match self.asking {
                Some(_) => Role::Receiver,
                None => Role::Sender,
            },
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

/// Times since the first arrival, in order: the real-time clock may be set.
pub(super) fn since_first(arrivals: &[i64]) -> Vec<gigatcp_units::Duration> {
    let first = arrivals.first().copied().unwrap_or_default();
    let nanos = (arrivals.iter()).map(|at| u64::try_from(at.saturating_sub(first)).unwrap_or(0));
    let mut times: Vec<_> = nanos.map(gigatcp_units::Duration::from_nanos).collect();
    times.sort_unstable();
    times
}

/// Sends a train: its number, packets, and the bytes of each. At most `batch` of them are sent at
/// once, if `pays` permits them by their number; without permission it ends there.
pub(super) fn send_train(
    socket: &UdpSocket,
    (train, count, bytes): (u16, u32, usize),
    batch: usize,
    mut pays: impl FnMut(usize) -> bool,
) -> io::Result<SentTrain> {
    let size = bytes.max(MIN_LENGTH);
    let mut datagrams = vec![0; size * batch];
    for datagram in datagrams.chunks_exact_mut(size) {
        Message::Train(train).write(datagram);
    }
    let mut has_waited = false;
    let mut left = count as usize;
    socket.set_nonblocking(true)?;
    let start = Instant::now();
    while left > 0 && pays(left.min(batch)) {
        let bytes = size * left.min(batch);
        match datagrams::send(socket, &datagrams[..bytes], size) {
            Ok(sent) => left -= sent,
            Err(error) if error.kind() == ErrorKind::WouldBlock && !has_waited => {
                has_waited = true;
                socket.set_nonblocking(false)?;
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
    socket.set_nonblocking(false)?;
    let nanos = gigatcp_units::Duration::from(time);
    Ok(SentTrain {
        train,
        packets: count - left as u32,
        sent_in: (!has_waited).then_some(nanos),
    })
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
            deliveries: deliveries(&times),
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
            asking: None,
            trains: vec![short, long],
            packets: 136,
        };
        let bps = |micros: f64| 1448.0 * 8e6 / micros;
        let close = |rate: Rate, bps: f64| (rate.as_bps() as f64 / bps - 1.0).abs() < 0.02;
        assert!(close(probe.found().unwrap().rate, bps(1200.0)));
        assert!(close(probe.first_train().unwrap(), bps(300.0)));
    }
}
