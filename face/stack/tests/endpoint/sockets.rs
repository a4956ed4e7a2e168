//! Random calls at both ends of a connection against the kernel's rules for sockets:
//! what write, read, close, abort and release do in each state.
//!
//! The path has no loss, and before and after each call that ends something all
//! packets are delivered, so that the rules say exactly what each call returns:
//!
//! | call | rule |
//! |---|---|
//! | write | takes what there is space for; full: `EAGAIN`; after shutdown: `EPIPE`; after a reset: its error |
//! | read | what arrived, also after a failure; then the failure, the end of the stream, or `EAGAIN` |
//! | close | `shutdown(SHUT_WR)`: the peer reads the end of the stream; reading goes on; twice is once |
//! | abort | `SO_LINGER` of zero: both ends fail, what was not delivered is gone |
//! | release | `close(2)`: as close; a reset if something is unread or arrives later |

use std::net::SocketAddr;

use gigatcp_stack::ByteCount;
use gigatcp_stack::{
    Bytes, Duration, EndpointEvent, Failure, Handle, ReadError, TransportConfig, WriteError,
};
use proptest::prelude::*;

use crate::network::{Network, Path, addresses};

#[derive(Clone, Copy, Debug)]
enum Call {
    Write(usize),
    Read(usize),
    Close,
    Abort,
    Release,
    Deliver,
}

fn calls() -> impl Strategy<Value = Vec<(usize, Call)>> {
    let call = prop_oneof![
        6 => (0..15_000_usize).prop_map(Call::Write),
        6 => (0..20_000_usize).prop_map(Call::Read),
        5 => Just(Call::Deliver),
        2 => Just(Call::Close),
        1 => Just(Call::Abort),
        1 => Just(Call::Release),
    ];
    prop::collection::vec((0..2_usize, call), 1..50)
}

/// Expected state of one end of the connection.
#[derive(Clone, Copy, Default, Debug)]
struct Model {
    /// Octets taken by write.
    written: u64,
    /// Of these, delivered to the peer.
    delivered: u64,
    /// Octets read.
    read: u64,
    /// It has closed, and its FIN was delivered.
    closed: bool,
    failure: Option<Failure>,
    released: bool,
    /// A read returned `EAGAIN`, and the event is pending.
    waits: bool,
}

struct Sockets {
    network: Network,
    handles: [Handle; 2],
    models: [Model; 2],
    /// Octets of the send buffers.
    capacity: [u64; 2],
    readable: [bool; 2],
}

impl Sockets {
    fn new() -> Self {
        let path = Path {
            delay: Duration::from_millis(1),
            jitter: Duration::ZERO,
            loss: 0.0,
            duplication: 0.0,
        };
        let mut network = Network::new(path, 0);
        let config = TransportConfig::default()
            .with_send_buffer(ByteCount::new(20_000))
            .with_receive_buffer(ByteCount::new(4_000_000));
        let at = SocketAddr::new(addresses()[1], 80);
        network.hosts[1]
            .listen(at, config.clone())
            .expect("no listener there");
        let now = network.now;
        let client = network.hosts[0]
            .connect(now, at, config.clone())
            .expect("a port");
        let server = loop {
            assert!(network.step());
            let now = network.now;
            if let Some(server) = network.hosts[1].accept(now, at) {
                break server;
            }
        };
        let handles = [client, server];
        let capacity = [0, 1].map(|end| {
            let connection = network.hosts[end].connection(handles[end]);
            connection.expect("it is open").send_capacity()
        });
        let mut sockets = Self {
            network,
            handles,
            models: [Model::default(); 2],
            capacity,
            readable: [false; 2],
        };
        sockets.deliver();
        sockets
    }

    /// Advances half a second: everything written arrives and is acknowledged.
    fn deliver(&mut self) {
        let until = self.network.now + Duration::from_millis(500);
        while self.network.step_until(until) {}
        for end in 0..2 {
            let model = self.models[end];
            let peer = &mut self.models[1 - end];
            let takes = peer.failure.is_none() && !peer.released;
            let undelivered = model.written - model.delivered;
            if takes && model.failure.is_none() {
                self.models[end].delivered = model.written;
            } else if peer.released && peer.failure.is_none() && undelivered > 0 {
                // Data for an application that has gone.
                peer.failure = Some(Failure::Aborted);
                self.models[end].failure.get_or_insert(Failure::Reset);
            }
        }
        for end in 0..2 {
            while let Some(event) = self.network.hosts[end].poll_event() {
                self.readable[end] |= event == EndpointEvent::Readable(self.handles[end]);
            }
            let model = self.models[end];
            if model.waits && !model.released && self.expected_read(end, 1) != Err(ReadError::Empty)
            {
                let state = self.network.hosts[end].connection(self.handles[end]);
                assert!(self.readable[end], "no event for {model:?}, {state:?}");
            }
        }
    }

    fn unread(&self, end: usize) -> u64 {
        self.models[1 - end].delivered - self.models[end].read
    }

    fn expected_read(&self, end: usize, max: usize) -> Result<usize, ReadError> {
        let (model, peer) = (self.models[end], self.models[1 - end]);
        if model.released {
            return Err(ReadError::Closed);
        }
        match (self.unread(end), model.failure) {
            (1.., _) => Ok(max.min(self.unread(end) as usize)),
            (0, Some(failure)) if max > 0 => Err(ReadError::Failed(failure)),
            (0, None) if max > 0 && !peer.closed => Err(ReadError::Empty),
            _ => Ok(0),
        }
    }

    fn expected_write(&self, end: usize, len: usize) -> Result<usize, WriteError> {
        let model = self.models[end];
        if model.released {
            return Err(WriteError::Closed);
        }
        if let Some(failure) = model.failure {
            return Err(WriteError::Failed(failure));
        }
        if model.closed {
            return Err(WriteError::Closed);
        }
        // What was delivered was acknowledged.
        let space = self.capacity[end] - (model.written - model.delivered);
        match len.min(space as usize) {
            0 if len > 0 => Err(WriteError::Full),
            taken => Ok(taken),
        }
    }

    fn call(&mut self, end: usize, call: Call) {
        let handle = self.handles[end];
        match call {
            Call::Deliver => self.deliver(),
            Call::Write(len) => {
                let expected = self.expected_write(end, len);
                let text = Bytes::from(vec![7; len]);
                let now = self.network.now;
                let written = self.network.hosts[end].write(now, handle, text);
                assert_eq!(written, expected, "{:?}", self.models);
                self.models[end].written += written.unwrap_or(0) as u64;
            }
            Call::Read(max) => {
                let expected = self.expected_read(end, max);
                let mut buffer = vec![0; max];
                let now = self.network.now;
                let read = self.network.hosts[end].read_into(now, handle, &mut buffer);
                assert_eq!(read, expected, "{:?}", self.models);
                self.models[end].read += read.unwrap_or(0) as u64;
                if read == Err(ReadError::Empty) {
                    self.models[end].waits = true;
                    self.readable[end] = false;
                }
            }
            Call::Close | Call::Abort | Call::Release => self.end(end, call),
        }
    }

    /// Makes a call that ends something, with everything delivered before and after.
    fn end(&mut self, end: usize, call: Call) {
        self.deliver();
        let (handle, now) = (self.handles[end], self.network.now);
        let host = &mut self.network.hosts[end];
        let is_over = self.models.iter().all(|model| model.closed);
        let unread = self.models[1 - end].delivered - self.models[end].read;
        let model = &mut self.models[end];
        if model.released {
            return;
        }
        match call {
            Call::Close => {
                host.shutdown(now, handle);
                model.closed |= model.failure.is_none();
            }
            Call::Abort if is_over => return,
            Call::Abort => {
                host.abort(now, handle);
                model.failure.get_or_insert(Failure::Aborted);
                self.models[1 - end].failure.get_or_insert(Failure::Reset);
            }
            _ => {
                host.close(now, handle);
                model.released = true;
                if unread == 0 {
                    model.closed |= model.failure.is_none();
                } else if !is_over {
                    model.failure.get_or_insert(Failure::Aborted);
                    self.models[1 - end].failure.get_or_insert(Failure::Reset);
                }
            }
        }
        self.deliver();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_call_returns_what_the_rules_of_sockets_say(calls in calls()) {
        let mut sockets = Sockets::new();
        for (end, call) in calls {
            sockets.call(end, call);
        }
        // Nothing stays of a connection that both ends have released.
        for end in 0..2 {
            sockets.end(end, Call::Release);
        }
        let later = sockets.network.now + Duration::from_secs(200);
        while sockets.network.step_until(later) {}
        let mut hosts = sockets.network.hosts.iter();
        prop_assert!(hosts.all(|host| host.counters().connections == 0));
    }
}
