//! Every future may be dropped at any poll: no byte is lost or doubled, no wakeup is lost, and no
//! waker stays behind.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpSocket, TcpStream, UdpSocket, lookup_host, run};
use gigatcp_units::random::mix;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, ReadBuf};
use tokio::time::{sleep, timeout};

/// Which pending polls of a run end with their future: one of them, or each by chance.
#[derive(Clone, Copy, Debug)]
enum At {
    /// The poll of that number, from 1.
    Poll(u64),
    /// Half of all, drawn from this seed.
    Random(u64),
}

/// Drops futures at pending polls, and counts these. Clones count together.
#[derive(Clone)]
struct Drops {
    at: At,
    polls: Rc<Cell<u64>>,
}

/// Wakes a task, and shows how many hold it.
struct Forward(Waker);

impl Wake for Forward {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

/// Prints what was tried if it panics.
struct Attempt(At, u64);

impl Drop for Attempt {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("drops at {:?}, seed {} of the net", self.0, self.1);
        }
    }
}

/// Runs an attempt with each single drop that there can be, and with random ones by 50 seeds.
fn with_all_drops(attempt: impl Fn(&Drops, u64)) {
    for number in 1.. {
        let drops = Drops::new(At::Poll(number));
        let _attempt = Attempt(drops.at, 1);
        attempt(&drops, 1);
        if drops.polls.get() < number {
            assert!(
                number > 10,
                "{number} pending polls are too few to show something"
            );
            break;
        }
    }
    for seed in 1..=50 {
        let drops = Drops::new(At::Random(seed));
        let _attempt = Attempt(drops.at, seed);
        attempt(&drops, seed);
    }
}

impl Drops {
    fn new(at: At) -> Self {
        let polls = Rc::default();
        Self { at, polls }
    }

    /// Whether this pending poll is the last of its future.
    fn ends_here(&self) -> bool {
        let number = self.polls.get() + 1;
        self.polls.set(number);
        match self.at {
            At::Poll(only) => number == only,
            At::Random(seed) => mix(mix(seed) ^ number) & 1 == 0,
        }
    }

    /// Awaits the call. A future that is dropped at a poll leaves no waker, and the call begins again.
    async fn call<T>(&self, call: impl AsyncFnMut() -> io::Result<T>) -> io::Result<T> {
        self.call_leaving(0, call).await
    }

    /// The same for a call of `AsyncRead` or `AsyncWrite`: as in tokio, the last waker stays.
    async fn transfer<T>(&self, call: impl AsyncFnMut() -> io::Result<T>) -> io::Result<T> {
        self.call_leaving(1, call).await
    }

    async fn call_leaving<T>(
        &self,
        max_wakers: usize,
        mut call: impl AsyncFnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            let forward = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
            let forward = Arc::new(Forward(forward));
            let waker = Waker::from(Arc::clone(&forward));
            {
                let mut future = pin!(call());
                let done =
                    poll_fn(
                        |_| match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                            Poll::Ready(done) => Poll::Ready(Some(done)),
                            Poll::Pending if self.ends_here() => Poll::Ready(None),
                            Poll::Pending => Poll::Pending,
                        },
                    );
                if let Some(done) = done.await {
                    return done;
                }
            }
            // tokio holds the wakers of tasks that have used up their budget until then.
            tokio::task::yield_now().await;
            let left = Arc::strong_count(&forward) - 2;
            assert!(left <= max_wakers, "{left} wakers are left");
        }
    }
}

/// Sends back what the first client sends that sends anything. Attempts that were dropped may have
/// been accepted: they end without a byte.
async fn echo(drops: Drops, listener: TcpListener) -> io::Result<Vec<u8>> {
    loop {
        let (mut stream, _) = drops.call(async || listener.accept().await).await?;
        let mut received = Vec::new();
        let mut buffer = [0; 700];
        loop {
            drops.call(async || stream.peek(&mut [0; 9]).await).await?;
            match drops
                .transfer(async || stream.read(&mut buffer).await)
                .await?
            {
                0 => break,
                len => received.extend_from_slice(&buffer[..len]),
            }
        }
        if received.is_empty() {
            continue;
        }
        let mut rest = &received[..];
        while !rest.is_empty() {
            let len = drops.transfer(async || stream.write(rest).await).await?;
            rest = &rest[len..];
        }
        drops.call(async || stream.flush().await).await?;
        drops.call(async || stream.shutdown().await).await?;
        return Ok(received);
    }
}

/// What a client receives that sends these bytes, and then ends its direction.
async fn through_stream(drops: &Drops, sent: &[u8]) -> io::Result<Vec<u8>> {
    let lookup = async || lookup_host("localhost:80").await.map(Iterator::collect);
    let at: Vec<_> = drops.call(lookup).await?;
    let mut stream = drops
        .call(async || TcpStream::connect(&at[..]).await)
        .await?;
    let mut rest = sent;
    while !rest.is_empty() {
        let try_write = || stream.try_write(&rest[..rest.len().min(3_000)]);
        let write = async || stream.async_io(Interest::WRITABLE, try_write).await;
        rest = &rest[drops.call(write).await?..];
    }
    drops.call(async || stream.shutdown().await).await?;
    let mut echoed = Vec::new();
    loop {
        let mut buffer = [0; 900];
        let read = async || {
            let try_read = || stream.try_read(&mut buffer);
            stream.async_io(Interest::READABLE, try_read).await
        };
        match drops.call(read).await? {
            0 => return Ok(echoed),
            len => echoed.extend_from_slice(&buffer[..len]),
        }
    }
}

async fn through_owned_halves(drops: &Drops, sent: &[u8]) -> io::Result<Vec<u8>> {
    let at = "127.0.0.1:80".parse().unwrap();
    let connect = async || TcpSocket::new_v4()?.connect(at).await;
    let (mut reader, mut writer) = drops.call(connect).await?.into_split();
    let writes = async {
        let mut rest = sent;
        while !rest.is_empty() {
            drops.call(async || writer.writable().await).await?;
            let ready = async || writer.ready(Interest::WRITABLE).await;
            assert!(drops.call(ready).await?.is_writable());
            match writer.try_write(&rest[..rest.len().min(3_000)]) {
                Ok(len) => rest = &rest[len..],
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        drops.call(async || writer.shutdown().await).await
    };
    let reads = async {
        let mut echoed = Vec::new();
        loop {
            drops.call(async || reader.readable().await).await?;
            drops.call(async || reader.peek(&mut [0; 9]).await).await?;
            let read = async || reader.read_buf(&mut echoed).await;
            if drops.transfer(read).await? == 0 {
                return io::Result::Ok(echoed);
            }
        }
    };
    let ((), echoed) = tokio::try_join!(writes, reads)?;
    Ok(echoed)
}

async fn through_halves(drops: &Drops, sent: &[u8]) -> io::Result<Vec<u8>> {
    let connect = async || TcpStream::connect("127.0.0.1:80").await;
    let mut stream = drops.call(connect).await?;
    let (mut reader, mut writer) = stream.split();
    let mut rest = sent;
    while !rest.is_empty() {
        drops.call(async || writer.writable().await).await?;
        let parts = [IoSlice::new(&rest[..1]), IoSlice::new(&rest[1..])];
        let write = async || writer.write_vectored(&parts).await;
        rest = &rest[drops.transfer(write).await?..];
    }
    drops.call(async || writer.shutdown().await).await?;
    let mut echoed = Vec::new();
    let mut buffer = [0; 1_000];
    loop {
        let ready = async || reader.ready(Interest::READABLE).await;
        assert!(drops.call(ready).await?.is_readable());
        drops.call(async || reader.peek(&mut [0; 9]).await).await?;
        match drops
            .transfer(async || reader.read(&mut buffer).await)
            .await?
        {
            0 => return Ok(echoed),
            len => echoed.extend_from_slice(&buffer[..len]),
        }
    }
}

/// What arrives at the server is what was sent, and so is what comes back.
fn assert_echoed(client: impl AsyncFn(&Drops, &[u8]) -> io::Result<Vec<u8>>) {
    let sent: Vec<u8> = (0..50_000_u32).map(|place| (place % 251) as u8).collect();
    with_all_drops(|drops, seed| {
        let net = Net::new(seed);
        net.loopback("rtt=10ms loss=2% rate=20Mbit/s");
        let transfer = async || {
            let bind = async || TcpListener::bind("127.0.0.1:80").await;
            let listener = drops.call(bind).await?;
            let server = tokio::task::spawn_local(echo(drops.clone(), listener));
            let echoed = client(drops, &sent).await?;
            io::Result::Ok((server.await??, echoed))
        };
        let (done, _) = net.run_with(|| timeout(Duration::from_secs(600), transfer()));
        let (received, echoed) = done.unwrap().expect("a wakeup was lost").unwrap();
        assert!(received == sent, "{} bytes arrived", received.len());
        assert!(echoed == sent, "{} bytes came back", echoed.len());
    });
}

#[test]
fn stream_whose_futures_are_dropped_loses_nothing() {
    assert_echoed(through_stream);
}

#[test]
fn owned_halves_whose_futures_are_dropped_lose_nothing() {
    assert_echoed(through_owned_halves);
}

#[test]
fn halves_whose_futures_are_dropped_lose_nothing() {
    assert_echoed(through_halves);
}

/// Datagrams to and from a socket by every call; the number of those that came back.
async fn through_datagrams(drops: &Drops) -> io::Result<u32> {
    let near = drops
        .call(async || UdpSocket::bind("127.0.0.1:0").await)
        .await?;
    let far = UdpSocket::bind("127.0.0.1:0").await?;
    let connect = async || near.connect(far.local_addr()?).await;
    drops.call(connect).await?;
    let mut count = 0;
    for number in 0..50_u32 {
        let octets = number.to_be_bytes();
        drops.call(async || near.writable().await).await?;
        drops.call(async || near.send(&octets).await).await?;
        let mut buffer = [0; 4];
        drops.call(async || far.readable().await).await?;
        drops
            .call(async || far.ready(Interest::READABLE).await)
            .await?;
        drops
            .call(async || far.peek_from(&mut [0; 4]).await)
            .await?;
        let from = drops.call(async || far.peek_sender().await).await?;
        assert_eq!(from, near.local_addr()?);
        let received = drops
            .call(async || far.recv_from(&mut buffer).await)
            .await?;
        assert_eq!((buffer, received), (octets, (4, from)));
        drops
            .call(async || far.send_to(&buffer, from).await)
            .await?;
        drops.call(async || near.peek(&mut [0; 4]).await).await?;
        drops.call(async || near.recv(&mut buffer).await).await?;
        assert_eq!(buffer, octets);
        // And into buffers that grow.
        let send = async || {
            let try_send = || near.try_send(&octets);
            near.async_io(Interest::WRITABLE, try_send).await
        };
        drops.call(send).await?;
        let mut grown = Vec::new();
        let receive = async || far.recv_buf_from(&mut grown).await;
        drops.call(receive).await?;
        far.send_to(&grown, from).await?;
        grown.clear();
        drops.call(async || near.recv_buf(&mut grown).await).await?;
        far.send_to(&grown, from).await?;
        let receive = async || {
            let try_receive = || near.try_recv(&mut buffer);
            near.async_io(Interest::READABLE, try_receive).await
        };
        assert_eq!(drops.call(receive).await?, 4);
        assert_eq!(buffer, octets);
        count += u32::from(grown == octets);
    }
    Ok(count)
}

#[test]
fn datagram_socket_whose_futures_are_dropped_loses_nothing() {
    with_all_drops(|drops, seed| {
        let net = Net::new(seed);
        net.loopback("rtt=10ms");
        let transfer = || timeout(Duration::from_secs(600), through_datagrams(drops));
        let (done, _) = net.run_with(transfer);
        assert_eq!(done.unwrap().expect("a wakeup was lost").unwrap(), 50);
    });
}

#[test]
fn dropped_connect_leaves_no_connection() {
    let net = Net::new(1);
    net.loopback("rtt=100ms");
    let seen = net.clone();
    let (done, _) = net.run_with(|| async move {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let connect = timeout(
            Duration::from_millis(10),
            TcpStream::connect("127.0.0.1:80"),
        );
        assert!(connect.await.is_err());
        assert_eq!(seen.sockets("test").len(), 1);
        sleep(Duration::from_secs(1)).await;
        let stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let (_, peer) = listener.accept().await.unwrap();
        assert_eq!(peer, stream.local_addr().unwrap());
    });
    done.unwrap();
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a new future of the call once, which must be pending, and drops it.
fn poll_and_drop<T>(waker: &Waker, future: impl Future<Output = T>) {
    let mut context = Context::from_waker(waker);
    assert!(pin!(future).poll(&mut context).is_pending());
}

#[test]
fn dropped_futures_leave_no_waker_and_take_no_other() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:9").await.unwrap();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        poll_and_drop(&waker, listener.accept());
        poll_and_drop(&waker, TcpStream::connect("127.0.0.1:80"));
        let near = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 9];
        // An accepted stream seems readable until then.
        assert!(far.try_read(&mut buffer).is_err());
        // Fewer calls than tokio's budget, after which they would not reach the socket.
        for _ in 0..20 {
            poll_and_drop(&waker, far.readable());
            poll_and_drop(&waker, far.ready(Interest::READABLE));
            poll_and_drop(&waker, far.peek(&mut buffer));
            poll_and_drop(&waker, listener.accept());
            poll_and_drop(&waker, socket.readable());
            poll_and_drop(&waker, socket.recv_from(&mut buffer));
            poll_and_drop(&waker, socket.peek_from(&mut buffer));
        }
        // This one and that of `waker`.
        assert_eq!(Arc::strong_count(&count), 2);
        // Two futures of one task: the end of one does not make the other sleep.
        let mut context = Context::from_waker(&waker);
        let mut kept = pin!(far.readable());
        assert!(kept.as_mut().poll(&mut context).is_pending());
        poll_and_drop(&waker, far.readable());
        near.try_write(b"hello").unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(kept.poll(&mut context).is_ready());
    });
}

/// A waker whose task owns a socket.
struct Owner(#[allow(dead_code)] TcpStream);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn socket_that_ends_with_a_waker_does_not_block() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let udp = UdpSocket::bind("127.0.0.1:9").await.unwrap();
        let near = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        assert!(far.try_read(&mut [0; 9]).is_err());
        let owner = async || {
            let stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
            listener.accept().await.unwrap();
            Waker::from(Arc::new(Owner(stream)))
        };
        let calls: [&dyn Fn(&mut Context<'_>) -> bool; 5] = [
            &|context| far.poll_read_ready(context).is_pending(),
            &|context| {
                let peeked = far.poll_peek(context, &mut ReadBuf::new(&mut [0; 9]));
                peeked.is_pending()
            },
            &|context| listener.poll_accept(context).is_pending(),
            &|context| udp.poll_recv_ready(context).is_pending(),
            &|context| {
                let received = udp.poll_recv_from(context, &mut ReadBuf::new(&mut [0; 9]));
                received.is_pending()
            },
        ];
        for call in calls {
            for _ in 0..2 {
                let waker = owner().await;
                assert!(call(&mut Context::from_waker(&waker)));
            }
        }
        let waker = owner().await;
        {
            let mut ready = pin!(far.readable());
            assert!(
                ready
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            drop(waker);
        }
        drop((far, listener, udp));
        drop(near);
    });
}

#[test]
fn wait_that_ends_on_one_side_leaves_no_waker_on_the_other() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let near = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let _far = listener.accept().await.unwrap();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        for _ in 0..20 {
            // Writable, and nothing to read.
            let both = pin!(near.ready(Interest::READABLE | Interest::WRITABLE));
            assert!(both.poll(&mut context).is_ready());
        }
        assert_eq!(Arc::strong_count(&count), 2);
    });
}

#[test]
fn stream_that_moves_to_another_task_wakes_that_task() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let mut near = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        for number in 0..10 {
            let waits = timeout(Duration::from_millis(10), far.read_u8()).await;
            assert!(waits.is_err());
            let reader = tokio::spawn(async move {
                let read = far.read_u8().await;
                (far, read)
            });
            sleep(Duration::from_millis(10)).await;
            near.write_u8(number).await.unwrap();
            let (stream, read) = reader.await.unwrap();
            assert_eq!(read.unwrap(), number);
            far = stream;
        }
    });
}
