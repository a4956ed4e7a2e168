//! Applications at both ends of a connection, each in a separate process.
//!
//! Started as `kernels app SPEC`; prints its result as JSON when it ends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::draw::Draw;

/// Interval at which blocked calls return to check the time.
const LOOK: Duration = Duration::from_millis(50);

/// Socket options; 0 keeps the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Socket {
    /// `SO_SNDBUF`.
    pub sndbuf: u32,
    /// `SO_RCVBUF`.
    pub rcvbuf: u32,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// `SO_MAX_PACING_RATE`, in bytes per second.
    pub pacing: u64,
    /// `TCP_MAXSEG`.
    pub maxseg: u32,
}

/// Pattern of writing or reading for a while.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stage {
    /// Duration; 0 for unlimited.
    pub seconds: f64,
    /// Total bytes; 0 for unlimited.
    pub bytes: u64,
    /// Bytes per call.
    pub chunk: usize,
    /// Time from one call to the next; 0 for as fast as possible.
    pub every_us: f64,
    /// Seconds of activity, then of pause; 0 and 0 for no pauses.
    pub on_off_s: [f64; 2],
    /// Iterations of computation per KiB.
    pub work: u64,
    /// New `SO_SNDBUF` at the start of the stage; 0 keeps the old one.
    pub sndbuf: u32,
    /// New `SO_MAX_PACING_RATE` in bytes per second; 0 keeps the old one. It is set at the start
    /// of the stage.
    pub pacing: u64,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum App {
    /// Connects and writes.
    Write {
        /// Peer.
        to: String,
        /// Options.
        socket: Socket,
        /// Stages, in order.
        stages: Vec<Stage>,
    },
    /// Accepts and reads.
    Read {
        /// Port.
        port: u16,
        /// Options.
        socket: Socket,
        /// Stages, in order; the last one does not end.
        stages: Vec<Stage>,
    },
    /// Accepts and answers requests.
    Serve {
        /// Port.
        port: u16,
        /// Options.
        socket: Socket,
        /// Bytes of a request.
        request: usize,
        /// Bytes of a response.
        response: usize,
        /// Time before each response.
        think_us: f64,
    },
    /// Connects and requests.
    Ask(Ask),
    /// A small HTTP server: `GET /N` returns N bytes.
    Http {
        /// Port.
        port: u16,
        /// Options.
        socket: Socket,
    },
    /// Computes until killed.
    Hog,
    /// Sends UDP datagrams at a rate.
    Flood {
        /// Peer.
        to: String,
        /// Bits per second of payload.
        rate_bps: f64,
        /// Duration.
        seconds: f64,
        /// Seconds of sending, then of pause.
        on_off_s: [f64; 2],
    },
}

/// A client that connects and requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Peer.
    pub to: String,
    /// Options.
    pub socket: Socket,
    /// Bytes of a request; written as two pieces if the second is not 0.
    pub request: [usize; 2],
    /// Bytes of a response.
    pub response: usize,
    /// Mean time before each request.
    pub think_us: f64,
    /// Whether the time before a request varies, as between keystrokes.
    pub varies: bool,
    /// Duration.
    pub seconds: f64,
}

/// Result of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Done {
    /// Bytes written or read.
    pub bytes: u64,
    /// Requests answered.
    pub exchanges: u64,
    /// Time from the connection's establishment to the end.
    pub elapsed_s: f64,
    /// Time spent in intended pauses.
    pub waited_s: f64,
    /// Time that a writer was blocked.
    pub blocked_s: f64,
}

fn set(fd: RawFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of `value`.
    let done = unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn set_u32(fd: RawFd, level: i32, name: i32, value: u32) -> io::Result<()> {
    if value == 0 {
        return Ok(());
    }
    set(fd, level, name, &value.to_ne_bytes())
}

fn pace(fd: RawFd, rate: u64) -> io::Result<()> {
    if rate == 0 {
        return Ok(());
    }
    set(
        fd,
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        &rate.to_ne_bytes(),
    )
}

/// A TCP socket with its options set before use.
fn socket(options: &Socket) -> io::Result<TcpListener> {
    // SAFETY: plain integers; the descriptor is new.
    let listener = unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        TcpListener::from_raw_fd(fd)
    };
    let fd = listener.as_raw_fd();
    set_u32(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, options.sndbuf)?;
    set_u32(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, options.rcvbuf)?;
    set_u32(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, options.maxseg)?;
    set_u32(
        fd,
        libc::IPPROTO_TCP,
        libc::TCP_NODELAY,
        u32::from(options.nodelay),
    )?;
    set_u32(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    pace(fd, options.pacing)?;
    Ok(listener)
}

/// An IPv4 address in the kernel's form.
fn address(to: SocketAddr) -> libc::sockaddr_in {
    let bits = match to.ip() {
        std::net::IpAddr::V4(ip) => u32::from_ne_bytes(ip.octets()),
        std::net::IpAddr::V6(_) => 0,
    };
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: bits },
        sin_zero: [0; 8],
    }
}

fn connect(to: &str, options: &Socket) -> io::Result<TcpStream> {
    let to: SocketAddr = to.parse().map_err(io::Error::other)?;
    let raw = socket(options)?;
    let address = address(to);
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: pointer and size are those of `address`.
    let done = unsafe { libc::connect(raw.as_raw_fd(), (&raw const address).cast(), size) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpStream::from(std::os::fd::OwnedFd::from(raw)))
}

fn listen(port: u16, options: &Socket) -> io::Result<TcpListener> {
    let raw = socket(options)?;
    let address = address(SocketAddr::from(([0, 0, 0, 0], port)));
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: pointer and size are those of `address`.
    let done = unsafe {
        if libc::bind(raw.as_raw_fd(), (&raw const address).cast(), size) < 0 {
            -1
        } else {
            libc::listen(raw.as_raw_fd(), 64)
        }
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(raw)
}

/// Computes for `iterations` iterations.
fn compute(iterations: u64) {
    let mut value = iterations | 1;
    for _ in 0..iterations {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    std::hint::black_box(value);
}

fn is_look(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Timing of a stage.
struct Pace {
    began: Instant,
    next: Instant,
    done: Done,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            next: now,
            done: Done::default(),
        }
    }

    fn sleep_until(&mut self, until: Instant) {
        let wait = until.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            self.done.waited_s += wait.as_secs_f64();
            thread::sleep(wait);
        }
    }

    /// Waits after a call as the stage requires, and performs its computation.
    fn after(&mut self, stage: &Stage, stage_began: Instant, bytes: usize) {
        if stage.work > 0 {
            compute(stage.work * bytes as u64 / 1024);
        }
        if stage.every_us > 0.0 {
            let share = bytes as f64 / stage.chunk.max(1) as f64;
            self.next += Duration::from_secs_f64(stage.every_us * share / 1e6);
            // Missed calls are not made up for.
            let now = Instant::now();
            if self.next + Duration::from_millis(200) < now {
                self.next = now;
            }
            self.sleep_until(self.next);
        }
        let [on, off] = stage.on_off_s;
        if off > 0.0 {
            let since = stage_began.elapsed().as_secs_f64();
            let within = since % (on + off);
            if within > on {
                self.sleep_until(Instant::now() + Duration::from_secs_f64(on + off - within));
            }
        }
    }

    fn end(mut self) -> Done {
        self.done.elapsed_s = self.began.elapsed().as_secs_f64();
        self.done
    }
}

fn is_over(stage: &Stage, began: Instant, bytes: u64) -> bool {
    (stage.seconds > 0.0 && began.elapsed().as_secs_f64() >= stage.seconds)
        || (stage.bytes > 0 && bytes >= stage.bytes)
}

fn write(to: &str, options: &Socket, stages: &[Stage]) -> io::Result<Done> {
    let mut stream = connect(to, options)?;
    stream.set_write_timeout(Some(LOOK))?;
    let mut pace = Pace::new();
    for stage in stages {
        let fd = stream.as_raw_fd();
        set_u32(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, stage.sndbuf)?;
        self::pace(fd, stage.pacing)?;
        let chunk = vec![0x55_u8; stage.chunk.max(1)];
        let (began, mut bytes, mut at) = (Instant::now(), 0_u64, 0);
        pace.next = began;
        while !is_over(stage, began, bytes) {
            let most = match stage.bytes {
                0 => chunk.len(),
                all => chunk.len().min((all - bytes) as usize + at),
            };
            let called = Instant::now();
            let written = stream.write(&chunk[at..most.max(at + 1)]);
            pace.done.blocked_s += called.elapsed().as_secs_f64();
            match written {
                Ok(written) => {
                    bytes += written as u64;
                    pace.done.bytes += written as u64;
                    at += written;
                    if at >= most {
                        pace.after(stage, began, at);
                        at = 0;
                    }
                }
                Err(error) if is_look(&error) => {}
                Err(_) => return Ok(pace.end()),
            }
        }
    }
    finish(&stream, Duration::from_millis(600));
    Ok(pace.end())
}

/// Shuts down our direction and waits for the other end to do so.
fn finish(mut stream: &TcpStream, patience: Duration) {
    let until = Instant::now() + patience;
    if stream.shutdown(Shutdown::Write).is_err() || stream.set_read_timeout(Some(LOOK)).is_err() {
        return;
    }
    while Instant::now() < until {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return,
            Err(error) if !is_look(&error) => return,
            _ => {}
        }
    }
}

fn read(port: u16, options: &Socket, stages: &[Stage]) -> io::Result<Done> {
    let (mut stream, _) = listen(port, options)?.accept()?;
    let mut pace = Pace::new();
    let last = stages.len().saturating_sub(1);
    for (index, stage) in stages.iter().enumerate() {
        let mut chunk = vec![0_u8; stage.chunk.max(1)];
        let (began, mut bytes) = (Instant::now(), 0);
        pace.next = began;
        while index == last || !is_over(stage, began, bytes) {
            match stream.read(&mut chunk) {
                Ok(0) => return Ok(pace.end()),
                Ok(read) => {
                    bytes += read as u64;
                    pace.done.bytes += read as u64;
                    pace.after(stage, began, read);
                }
                Err(error) if is_look(&error) => {}
                Err(_) => return Ok(pace.end()),
            }
        }
    }
    Ok(pace.end())
}

/// Reads exactly `bytes` bytes; `false` at the end of the stream.
fn take(stream: &mut TcpStream, bytes: usize, buffer: &mut [u8]) -> io::Result<bool> {
    let mut left = bytes;
    while left > 0 {
        let most = left.min(buffer.len());
        match stream.read(&mut buffer[..most]) {
            Ok(0) => return Ok(false),
            Ok(read) => left -= read,
            Err(error) if is_look(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn wait(done: &mut Done, seconds: f64) {
    if seconds > 0.0 {
        done.waited_s += seconds;
        thread::sleep(Duration::from_secs_f64(seconds));
    }
}

fn serve(
    port: u16,
    options: &Socket,
    request: usize,
    response: usize,
    think_us: f64,
) -> io::Result<Done> {
    let (mut stream, _) = listen(port, options)?.accept()?;
    let mut pace = Pace::new();
    let mut buffer = vec![0; 65_536];
    let answer = vec![0x41; response];
    while take(&mut stream, request, &mut buffer)? {
        wait(&mut pace.done, think_us / 1e6);
        if stream.write_all(&answer).is_err() {
            break;
        }
        pace.done.bytes += response as u64;
        pace.done.exchanges += 1;
    }
    Ok(pace.end())
}

fn ask(requests: &Ask) -> io::Result<Done> {
    let mut stream = connect(&requests.to, &requests.socket)?;
    let mut pace = Pace::new();
    let mut draw = Draw::new(requests.think_us.to_bits() ^ requests.response as u64);
    let mut buffer = vec![0; 65_536];
    while pace.began.elapsed().as_secs_f64() < requests.seconds {
        let factor = if requests.varies {
            (-(1.0 - draw.unit()).ln()).clamp(0.1, 4.0)
        } else {
            1.0
        };
        wait(&mut pace.done, requests.think_us * factor / 1e6);
        for piece in requests.request.into_iter().filter(|piece| *piece > 0) {
            stream.write_all(&vec![0x42; piece])?;
        }
        if !take(&mut stream, requests.response, &mut buffer)? {
            break;
        }
        pace.done.bytes += requests.response as u64;
        pace.done.exchanges += 1;
    }
    let done = pace.end();
    finish(&stream, Duration::from_millis(300));
    Ok(done)
}

fn http(port: u16, options: &Socket) -> io::Result<Done> {
    let listener = listen(port, options)?;
    loop {
        let (mut stream, _) = listener.accept()?;
        thread::spawn(move || -> io::Result<()> {
            let mut head = Vec::new();
            let mut buffer = [0; 2048];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer)? {
                    0 => return Ok(()),
                    read => head.extend_from_slice(&buffer[..read]),
                }
            }
            let text = String::from_utf8_lossy(&head).into_owned();
            let path = text.split_whitespace().nth(1).unwrap_or("/0");
            let mut left: usize = path.trim_start_matches('/').parse().unwrap_or(0);
            let kind = "Content-Type: application/octet-stream";
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {left}\r\nConnection: close\r\n\r\n"
            )?;
            let body = vec![0x43_u8; 65_536];
            while left > 0 {
                let written = stream.write(&body[..left.min(body.len())])?;
                left -= written;
            }
            finish(&stream, Duration::from_secs(3));
            Ok(())
        });
    }
}

fn flood(to: &str, rate_bps: f64, seconds: f64, on_off_s: [f64; 2]) -> io::Result<Done> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(to)?;
    let stage = Stage {
        seconds,
        chunk: 1200,
        every_us: 1200.0 * 8e6 / rate_bps,
        on_off_s,
        ..Stage::default()
    };
    let mut pace = Pace::new();
    let began = Instant::now();
    let datagram = [0; 1200];
    while !is_over(&stage, began, 0) {
        // A full local queue is no reason to end.
        let _ = socket.send(&datagram);
        pace.done.bytes += datagram.len() as u64;
        pace.after(&stage, began, datagram.len());
    }
    Ok(pace.end())
}

/// Runs the application `app` to its end.
///
/// # Errors
/// System call errors.
pub fn run(app: &App) -> io::Result<Done> {
    match app {
        App::Write { to, socket, stages } => write(to, socket, stages),
        App::Read {
            port,
            socket,
            stages,
        } => read(*port, socket, stages),
        App::Serve {
            port,
            socket,
            request,
            response,
            think_us,
        } => serve(*port, socket, *request, *response, *think_us),
        App::Ask(requests) => ask(requests),
        App::Http { port, socket } => http(*port, socket),
        App::Hog => loop {
            compute(1 << 20);
        },
        App::Flood {
            to,
            rate_bps,
            seconds,
            on_off_s,
        } => flood(to, *rate_bps, *seconds, *on_off_s),
    }
}
