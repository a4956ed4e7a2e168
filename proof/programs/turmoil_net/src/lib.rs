//! What tests of turmoil-net use of it besides sockets: fixtures, rules for packets and netstat, by
//! calls of gigatcp-net. Its tests then run unchanged.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gigatcp_net::{Net, Passing, TcpFlags};

pub use gigatcp_net::State as NetstatState;

pub mod shim {
    pub mod tokio {
        pub use gigatcp_net as net;
    }
}

thread_local! {
    /// The network of the fixture on this thread, and its rules.
    static RUNNING: RefCell<Option<(Net, Rules)>> = const { RefCell::new(None) };
    /// Its hosts in their order, by which turmoil-net numbers addresses from 192.168.0.1 on.
    static HOSTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What turmoil-net's hosts have by default: buffers of 64 KiB, and an end to retransmissions within
/// a second.
const HOST: &str = "buffer=64KiB user_timeout=500ms";

type Rules = Arc<Mutex<Vec<(u64, Box<dyn Rule + Send>)>>>;

fn running() -> (Net, Rules) {
    RUNNING.with(|running| running.borrow().clone().expect("in a fixture"))
}

/// A new network, whose packets pass the rules.
fn network(config: &KernelConfig) -> Net {
    let net = Net::new(1);
    net.default_link("rtt=1ms");
    net.loopback(&config.link);
    let rules = Rules::default();
    RUNNING.with(|running| *running.borrow_mut() = Some((net.clone(), Arc::clone(&rules))));
    HOSTS.take();
    net.filter(move |passing| {
        let packet = Packet::new(passing);
        let mut rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut verdicts = rules.iter_mut().map(|(_, rule)| rule.on_packet(&packet));
        verdicts.find(|verdict| *verdict != Verdict::Pass) != Some(Verdict::Drop)
    });
    net
}

#[derive(Default)]
pub struct KernelConfig {
    host: String,
    link: String,
}

impl KernelConfig {
    fn apply(&self, net: &Net, host: &str) {
        net.configure(host, &format!("{HOST}{}", self.host));
        HOSTS.with_borrow_mut(|hosts| hosts.push(host.to_owned()));
    }

    pub fn default_backlog(mut self, backlog: usize) -> Self {
        self.host += &format!(" backlog={backlog}");
        self
    }

    pub fn mtu(mut self, mtu: u32) -> Self {
        self.host += &format!(" mtu={mtu}");
        self
    }

    pub fn loopback_mtu(mut self, mtu: u32) -> Self {
        self.link += &format!(" mtu={mtu}");
        self
    }
}

pub mod fixture {
    use super::*;

    /// Runs a future on one host.
    pub fn lo<F: Future>(future: F) -> F::Output {
        lo_with_config(KernelConfig::default(), future)
    }

    pub fn lo_with_config<F: Future>(config: KernelConfig, future: F) -> F::Output {
        let net = network(&config);
        config.apply(&net, "test");
        let (output, _) = net.run_with(|| future);
        output.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Servers and a client; the end of the client ends the run.
    pub struct ClientServer {
        net: Net,
        config: KernelConfig,
    }

    impl Default for ClientServer {
        fn default() -> Self {
            Self::new()
        }
    }

    impl ClientServer {
        pub fn new() -> Self {
            Self::with_config(KernelConfig::default())
        }

        pub fn with_config(config: KernelConfig) -> Self {
            let net = network(&config);
            Self { net, config }
        }

        pub fn server(self, name: &str, future: impl Future<Output = ()> + 'static) -> Self {
            self.config.apply(&self.net, name);
            let future = RefCell::new(Some(Box::pin(future)));
            self.net
                .host(name, move |_| future.take().expect("no restart"));
            self
        }

        pub fn run<T: 'static>(self, name: &str, future: impl Future<Output = T> + 'static) -> T {
            self.config.apply(&self.net, name);
            let output = Rc::new(RefCell::new(None));
            let place = Rc::clone(&output);
            self.net.client(name, async move |_| {
                *place.borrow_mut() = Some(future.await);
            });
            self.net.run().unwrap_or_else(|error| panic!("{error}"));
            output.take().expect("the client has ended")
        }
    }
}

/// A packet, as rules see it.
pub struct Packet {
    pub payload: Transport,
}

pub enum Transport {
    Tcp(Segment),
    Udp,
}

pub struct Segment {
    pub flags: TcpFlags,
    pub payload: Vec<u8>,
}

impl Packet {
    fn new(passing: &Passing) -> Self {
        let payload = match passing.tcp {
            Some(flags) => Transport::Tcp(Segment {
                flags,
                payload: vec![0; passing.payload_len],
            }),
            None => Transport::Udp,
        };
        Self { payload }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Pass,
    Drop,
    Deliver(Duration),
}

pub trait Rule {
    fn on_packet(&mut self, packet: &Packet) -> Verdict;

    /// Delay of the links under this rule.
    fn latency(&self) -> Option<Duration> {
        None
    }
}

impl<F: FnMut(&Packet) -> Verdict> Rule for F {
    fn on_packet(&mut self, packet: &Packet) -> Verdict {
        self(packet)
    }
}

pub struct Latency(Duration);

impl Latency {
    pub fn fixed(latency: Duration) -> Self {
        Self(latency)
    }
}

impl Rule for Latency {
    fn on_packet(&mut self, _: &Packet) -> Verdict {
        Verdict::Deliver(self.0)
    }

    fn latency(&self) -> Option<Duration> {
        Some(self.0)
    }
}

/// Removes its rule when it is dropped.
pub struct RuleGuard(u64);

impl RuleGuard {
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for RuleGuard {
    fn drop(&mut self) {
        let (_, rules) = running();
        let mut rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.retain(|(id, _)| *id != self.0);
    }
}

pub fn rule(rule: impl Rule + Send + 'static) -> RuleGuard {
    let (net, rules) = running();
    if let Some(latency) = rule.latency() {
        net.default_link(&format!("rtt={}ms", 2 * latency.as_millis()));
    }
    let mut rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
    let id = rules.last().map_or(0, |(last, _)| last + 1);
    rules.push((id, Box::new(rule)));
    RuleGuard(id)
}

pub struct Netstat {
    pub entries: Vec<NetstatEntry>,
}

pub struct NetstatEntry {
    pub proto: Proto,
    pub local: SocketAddr,
    pub peer: Option<SocketAddr>,
    pub state: Option<NetstatState>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proto {
    Tcp,
    Udp,
}

impl std::fmt::Display for Netstat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for entry in &self.entries {
            writeln!(
                f,
                "{:?} {} {:?} {:?}",
                entry.proto, entry.local, entry.peer, entry.state
            )?;
        }
        Ok(())
    }
}

/// A name or an address.
pub trait HostName {
    fn name(&self) -> String;
}

impl HostName for &str {
    fn name(&self) -> String {
        (*self).to_owned()
    }
}

impl HostName for IpAddr {
    fn name(&self) -> String {
        let IpAddr::V4(address) = self else {
            panic!("hosts of turmoil-net have IPv4 addresses");
        };
        let number = usize::from(address.octets()[3]);
        HOSTS.with_borrow(|hosts| hosts[number - 1].clone())
    }
}

pub fn netstat(host: impl HostName) -> Netstat {
    let (net, _) = running();
    let entry = |socket: gigatcp_net::SocketEntry| NetstatEntry {
        proto: if socket.state.is_some() {
            Proto::Tcp
        } else {
            Proto::Udp
        },
        local: socket.local,
        peer: socket.peer,
        state: socket.state,
    };
    let entries = net.sockets(&host.name()).into_iter().map(entry).collect();
    Netstat { entries }
}
