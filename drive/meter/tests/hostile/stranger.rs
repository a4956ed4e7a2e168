//! A client of iperf3's protocol that sends what it likes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Admission, ServerConfig};
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, State};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::common::{LOCALHOST, Running};

/// Maximum wait for an answer of a server that answers at once.
const SOON: Duration = Duration::from_secs(20);

/// Starts a server with these rules on a free port.
pub fn server(admission: Admission) -> Running {
    Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        admission,
        ..ServerConfig::default()
    })
}

/// Connects from an address. The kernel adds the route of a new IPv6 address after a while.
fn connected(from: IpAddr, at: SocketAddr) -> Socket {
    let until = Instant::now() + SOON;
    loop {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
        match socket.connect(&at.into()) {
            Err(error)
                if error.kind() == ErrorKind::NetworkUnreachable && Instant::now() < until =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            done => {
                done.unwrap();
                return socket;
            }
        }
    }
}

/// A control connection.
pub struct Stranger {
    pub control: TcpStream,
    pub cookie: [u8; COOKIE_LENGTH],
    at: SocketAddr,
}

impl Stranger {
    /// Connects and sends a cookie.
    pub fn connect(server: &Running, cookie: [u8; COOKIE_LENGTH]) -> Self {
        Self::silent_from(Ipv4Addr::LOCALHOST, server).greets(cookie)
    }

    /// Connects from an address of this host, and sends nothing.
    pub fn silent_from(from: impl Into<IpAddr>, server: &Running) -> Self {
        Self::silent_at(from.into(), server.at)
    }

    fn silent_at(from: IpAddr, at: SocketAddr) -> Self {
        let socket = connected(from, at);
        let control = TcpStream::from(socket);
        control.set_read_timeout(Some(SOON)).unwrap();
        let cookie = [0; COOKIE_LENGTH];
        Self {
            control,
            cookie,
            at,
        }
    }

    /// Sends a cookie.
    pub fn greets(mut self, cookie: [u8; COOKIE_LENGTH]) -> Self {
        self.cookie = cookie;
        self.send(&cookie);
        self
    }

    /// Connects with a cookie of its own, and sends parameters.
    pub fn requests(server: &Running, parameters: &Value) -> Self {
        Self::requests_from(Ipv4Addr::LOCALHOST, server, parameters)
    }

    /// Like [`Self::requests`], from an address of this host.
    pub fn requests_from(from: impl Into<IpAddr>, server: &Running, parameters: &Value) -> Self {
        Self::requests_at(from, server.at, parameters)
    }

    /// Like [`Self::requests_from`], of a server of another process.
    pub fn requests_at(from: impl Into<IpAddr>, at: SocketAddr, parameters: &Value) -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let text = format!("{number:0>width$}\0", width = COOKIE_LENGTH - 1);
        let cookie = text.as_bytes().try_into().unwrap();
        let mut stranger = Self::silent_at(from.into(), at).greets(cookie);
        stranger.send_parameters(parameters);
        stranger
    }

    /// Sends parameters once the server asks for them.
    pub fn send_parameters(&mut self, parameters: &Value) {
        assert_eq!(self.state(), State::ParamExchange);
        self.send_json(parameters.to_string().as_bytes());
    }

    pub fn send_json(&mut self, text: &[u8]) {
        self.send_length(text.len() as u32);
        self.send(text);
    }

    /// Sends the length of a block of JSON.
    pub fn send_length(&mut self, length: u32) {
        self.send(&length.to_be_bytes());
    }

    pub fn send_state(&mut self, state: State) {
        self.send(&[state.to_byte()]);
    }

    fn send(&mut self, bytes: &[u8]) {
        self.control.write_all(bytes).expect("the server reads");
    }

    /// The next state.
    pub fn state(&mut self) -> State {
        let mut byte = [0];
        self.control
            .read_exact(&mut byte)
            .expect("a server that answers");
        State::from_byte(byte[0]).expect("a state")
    }

    /// Whether an answer has arrived, or the server has closed.
    pub fn is_answered(&self) -> bool {
        self.control.set_nonblocking(true).unwrap();
        let peeked = self.control.peek(&mut [0]);
        self.control.set_nonblocking(false).unwrap();
        !peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// The next state, and iperf3's number if it is an error. `None`: the server has closed.
    pub fn answer(&mut self) -> Option<(State, Option<i32>)> {
        let mut byte = [0];
        match self.control.read(&mut byte) {
            Ok(1) => {}
            Ok(_) => return None,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("the server is silent: {error}"),
        }
        let state = State::from_byte(byte[0]).expect("a state");
        let code = (state == State::ServerError).then(|| {
            let mut numbers = [0; 8];
            self.control.read_exact(&mut numbers).expect("two numbers");
            i32::from_be_bytes(numbers[..4].try_into().unwrap())
        });
        Some((state, code))
    }

    /// Opens data connections.
    pub fn open_streams(&self, count: usize) -> Vec<TcpStream> {
        let open = |_| {
            let mut stream = TcpStream::connect(self.at).unwrap();
            stream.write_all(&self.cookie).unwrap();
            stream
        };
        (0..count).map(open).collect()
    }

    /// Opens a data connection with this maximum segment size.
    #[cfg(target_os = "linux")]
    pub fn open_stream_of_segments(&self, mss: u32) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_tcp_mss(mss).unwrap();
        socket.connect(&self.at.into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.write_all(&self.cookie).unwrap();
        stream
    }

    /// Waits until data may flow.
    pub fn await_start(&mut self) {
        assert_eq!(self.state(), State::TestStart);
        assert_eq!(self.state(), State::TestRunning);
    }
}
