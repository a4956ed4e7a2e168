//! The two applications of a kernel's connection, on ordinary sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_emulate::{Addresses, Emulator, Side};
use gigatcp_linux::socket::{self, Buffer};

const PORT: u16 = 5001;

/// Waiting for a socket is interrupted so often to look at the time.
const LOOK: Duration = Duration::from_millis(50);

/// What the sending application does.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// Writes as fast as it is taken.
    Bulk,
    /// Writes so many octets and ends.
    Amount(u64),
    /// Writes so many octets and sleeps for so long, again and again.
    Pieces(u64, Duration),
    /// Writes a request in two pieces and waits for its answer, again and again.
    Asks(usize, usize),
}

/// What the receiving application does.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    /// Reads all.
    Eager,
    /// Reads so many octets and sleeps for so long, again and again.
    Slow(usize, Duration),
    /// Answers each request of so many octets.
    Answers(usize),
}

/// Both applications and their sockets.
#[derive(Clone, Debug)]
pub struct Ends {
    pub writer: Writer,
    /// Octets that it writes at a time, at most.
    pub chunk: usize,
    pub reader: Reader,
    pub send_buffer: Option<u64>,
    pub receive_buffer: Option<u64>,
    pub congestion: &'static str,
    /// How long the writer writes at most.
    pub lasts: Duration,
    /// How long its end may take then.
    pub grace: Duration,
}

/// Lets both do what they do; octets that were read.
pub fn meet(emulator: &Emulator, ends: &Ends) -> io::Result<u64> {
    let server = SocketAddr::new(Addresses::of(Side::Server).v4.into(), PORT);
    let listen = || -> io::Result<TcpListener> {
        let listener = socket::tcp(&server)?;
        if let Some(octets) = ends.receive_buffer {
            // What is accepted has it too, and its window scale fits.
            socket::set_buffer(&listener, Buffer::Receive, octets)?;
        }
        socket::bind(&listener, &server)?;
        socket::listen(&listener, 1)?;
        Ok(listener.into())
    };
    let listener = inside(emulator, Side::Server, listen)?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading = scope.spawn(|| read(&listener, ends.reader, &is_over));
        let connect = || -> io::Result<TcpStream> {
            let stream = socket::tcp(&server)?;
            socket::set_congestion(&stream, ends.congestion)?;
            if let Some(octets) = ends.send_buffer {
                socket::set_buffer(&stream, Buffer::Send, octets)?;
            }
            socket::connect(&stream, &server)?;
            let stream = TcpStream::from(stream);
            // The rest that Nagle's algorithm holds back grows beyond the buffer:
            // the kernel asks for room only where it begins a new packet.
            stream.set_nodelay(ends.send_buffer.is_some())?;
            Ok(stream)
        };
        let written =
            inside(emulator, Side::Client, connect).and_then(|stream| write(stream, ends));
        is_over.store(true, Ordering::Relaxed);
        if written.is_err() {
            // Whoever waits for a connection that never comes is let go.
            let _ = inside(emulator, Side::Server, || TcpStream::connect(server));
        }
        let read = reading.join();
        let read = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and(read)
    })
}

fn inside<T: Send>(
    emulator: &Emulator,
    side: Side,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let done = emulator.namespace(side).run(work);
    done.map_err(|error| io::Error::other(error.to_string()))?
}

fn is_look(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn write(stream: TcpStream, ends: &Ends) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    let (done, is_done) = mpsc::channel::<()>();
    let written = thread::scope(|scope| {
        let stream = &stream;
        // A write that waits for room ends with this.
        scope.spawn(move || {
            let waited = is_done.recv_timeout(ends.lasts);
            if waited == Err(mpsc::RecvTimeoutError::Timeout) {
                // Who has reset the connection has ended it too.
                let _ = stream.shutdown(Shutdown::Write);
            }
        });
        let written = apply(stream, ends);
        drop(done);
        written
    });
    forgive(written, ErrorKind::BrokenPipe)?;
    forgive(stream.shutdown(Shutdown::Write), ErrorKind::NotConnected)?;
    let until = Instant::now() + ends.grace;
    while Instant::now() < until && answer(&stream)? != Some(0) {}
    Ok(())
}

/// An end that was shut already, by us or by the other side, is shut.
fn forgive(done: io::Result<()>, kind: ErrorKind) -> io::Result<()> {
    match done {
        Err(error) if error.kind() != kind => Err(error),
        _ => Ok(()),
    }
}

/// Does what the writer does, until its end is shut.
fn apply(stream: &TcpStream, ends: &Ends) -> io::Result<()> {
    let octets = vec![0_u8; ends.chunk];
    let put = |many: u64| -> io::Result<()> {
        let mut stream = stream;
        let mut left = many;
        while left > 0 {
            let next = left.min(octets.len() as u64);
            stream.write_all(&octets[..next as usize])?;
            left -= next;
        }
        Ok(())
    };
    match ends.writer {
        Writer::Bulk => loop {
            put(u64::MAX)?;
        },
        Writer::Amount(many) => put(many),
        Writer::Pieces(many, every) => {
            let mut next = Instant::now();
            loop {
                put(many)?;
                next += every;
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        }
        Writer::Asks(first, second) => {
            let until = Instant::now() + ends.lasts;
            loop {
                put(first as u64)?;
                put(second as u64)?;
                while Instant::now() < until && answer(stream)?.is_none() {}
            }
        }
    }
}

/// Octets that came back; nothing for as long as a look takes.
fn answer(mut stream: &TcpStream) -> io::Result<Option<usize>> {
    match stream.read(&mut [0; 4096]) {
        Ok(read) => Ok(Some(read)),
        Err(error) if is_look(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(listener: &TcpListener, reader: Reader, is_over: &AtomicBool) -> io::Result<u64> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(LOOK))?;
    let size = match reader {
        Reader::Slow(octets, _) => octets,
        Reader::Eager | Reader::Answers(_) => 262_144,
    };
    let mut octets = vec![0; size];
    let (mut sum, mut due) = (0_u64, 0);
    while !is_over.load(Ordering::Relaxed) {
        let read = match stream.read(&mut octets) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if is_look(&error) => continue,
            Err(error) => return Err(error),
        };
        sum += read as u64;
        match reader {
            Reader::Eager => {}
            Reader::Slow(_, time) => thread::sleep(time),
            Reader::Answers(request) => {
                due += read;
                if due >= request {
                    due -= request;
                    stream.write_all(&[0; 100])?;
                }
            }
        }
    }
    Ok(sum)
}
