//! Every future may be dropped at any poll: no byte is lost or doubled, no wakeup is lost, and no
//! waker stays behind.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpSocket, TcpStream, UdpSocket, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::time::{sleep, timeout};

/// How futures are dropped: at which poll, and how often before one may finish.
#[derive(Clone, Copy)]
struct Drops {
    at_poll: u32,
    times: u32,
}

impl Drops {
    /// Awaits the call. Its future is dropped at a poll at which it is pending, and the call begins
    /// again; the last is left to finish.
    async fn call<T>(self, mut call: impl AsyncFnMut() -> io::Result<T>) -> io::Result<T> {
        for _ in 0..self.times {
            let mut polls = 0;
            let mut future = pin!(call());
            let done = poll_fn(|context| {
                polls += 1;
                match future.as_mut().poll(context) {
                    Poll::Ready(done) => Poll::Ready(Some(done)),
                    Poll::Pending if polls >= self.at_poll => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            });
            if let Some(done) = done.await {
                return done;
            }
            tokio::task::yield_now().await;
        }
        call().await
    }
}

/// Transfers of every kind over TCP; returns the bytes that came back.
async fn tcp(drops: Drops, sent: &[u8]) -> io::Result<Vec<u8>> {
    let listener = drops
        .call(async || TcpListener::bind("127.0.0.1:80").await)
        .await?;
    let at = listener.local_addr()?;
    let server = tokio::task::spawn_local(async move {
        // Attempts that were dropped may have been accepted: they end without a byte.
        loop {
            let (mut stream, _) = drops.call(async || listener.accept().await).await?;
            let mut received = Vec::new();
            let mut buffer = [0; 700];
            loop {
                drops.call(async || stream.peek(&mut [0; 9]).await).await?;
                match drops.call(async || stream.read(&mut buffer).await).await? {
                    0 => break,
                    len => received.extend_from_slice(&buffer[..len]),
                }
            }
            if received.is_empty() {
                continue;
            }
            let mut rest = &received[..];
            while !rest.is_empty() {
                let len = drops.call(async || stream.write(rest).await).await?;
                rest = &rest[len..];
            }
            drops.call(async || stream.flush().await).await?;
            drops.call(async || stream.shutdown().await).await?;
            return io::Result::Ok(());
        }
    });
    let connect = async || TcpSocket::new_v4()?.connect(at).await;
    let (mut reader, mut writer) = drops.call(connect).await?.into_split();
    let writes = async {
        let mut rest = sent;
        while !rest.is_empty() {
            drops.call(async || writer.writable().await).await?;
            let ready = drops
                .call(async || writer.ready(Interest::WRITABLE).await)
                .await?;
            assert!(ready.is_writable());
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
            match drops
                .call(async || reader.read_buf(&mut echoed).await)
                .await?
            {
                0 => return io::Result::Ok(echoed),
                _ => continue,
            }
        }
    };
    let ((), echoed) = tokio::try_join!(writes, reads)?;
    server.await??;
    Ok(echoed)
}

/// Datagrams there and back; returns how many came.
async fn udp(drops: Drops) -> io::Result<u32> {
    let near = drops
        .call(async || UdpSocket::bind("127.0.0.1:0").await)
        .await?;
    let far = UdpSocket::bind("127.0.0.1:0").await?;
    drops
        .call(async || near.connect(far.local_addr()?).await)
        .await?;
    let mut count = 0;
    for number in 0..50_u32 {
        near.send(&number.to_be_bytes()).await?;
        let mut buffer = [0; 4];
        drops.call(async || far.readable().await).await?;
        drops
            .call(async || far.peek_from(&mut [0; 4]).await)
            .await?;
        let (len, from) = drops
            .call(async || far.recv_from(&mut buffer).await)
            .await?;
        assert_eq!(buffer[..len], number.to_be_bytes());
        drops
            .call(async || far.send_to(&buffer, from).await)
            .await?;
        drops.call(async || near.recv(&mut buffer).await).await?;
        count += u32::from(buffer == number.to_be_bytes());
    }
    Ok(count)
}

#[test]
fn futures_dropped_at_any_poll_lose_nothing() {
    let sent: Vec<u8> = (0..50_000_u32).map(|place| (place % 251) as u8).collect();
    for (at_poll, times) in [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2)] {
        for seed in 1..=5 {
            let net = Net::new(seed);
            net.loopback("rtt=10ms loss=2% rate=20Mbit/s");
            let drops = Drops { at_poll, times };
            let (done, _) = net.run_with(|| timeout(Duration::from_secs(600), tcp(drops, &sent)));
            let echoed = done.unwrap().expect("a wakeup was lost").unwrap();
            assert!(echoed == sent, "{} bytes", echoed.len());
            let net = Net::new(seed);
            net.loopback("rtt=10ms");
            let (done, _) = net.run_with(|| timeout(Duration::from_secs(600), udp(drops)));
            assert_eq!(done.unwrap().expect("a wakeup was lost").unwrap(), 50);
        }
    }
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
