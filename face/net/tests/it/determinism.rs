//! One run of seven hosts, whose hash is stored: debug and release builds give the same, on every
//! machine.
//!
//! `cargo test -p gigatcp-net --test it stored_hash`, and with `--release`.

use std::io;
use std::time::Duration;

use gigatcp_net::{Crash, Net, Report, TcpListener, TcpStream, UdpSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

/// Hash of the run: of the times in nanoseconds, headers and payloads of all deliveries. A change of
/// what the engine or a path does changes it; then the failed assertion shows the new one.
const HASH: u64 = 0xba73_4219_5f22_3564;

async fn download(len: usize) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect("server:80").await?;
    stream.write_u32(len as u32).await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    Ok(received)
}

async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::task::spawn_local(async move {
            let len = stream.read_u32().await?;
            stream.write_all(&vec![len as u8; len as usize]).await
        });
    }
}

async fn echo() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:7").await?;
    let mut buffer = [0; 4000];
    loop {
        let (len, from) = socket.recv_from(&mut buffer).await?;
        socket.send_to(&buffer[..len], from).await?;
    }
}

async fn ping() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    let mut buffer = [0; 4000];
    for number in 0..50 {
        socket.send_to(&[number; 3000], "echo:7").await?;
        let wait = timeout(Duration::from_millis(300), socket.recv(&mut buffer));
        let _is_lost = wait.await.is_err();
    }
    Ok(())
}

/// Five clients, two servers and two routers; loss, jitter, a managed queue, a cut and a crash.
fn run() -> Report {
    let net = Net::new(37);
    net.configure("server", "profile=linux-6.18 congestion_control=bbr");
    net.configure("bulk", "profile=freebsd");
    net.host("server", |_| serve());
    net.host("echo", |_| echo());
    for (name, len) in [("bulk", 3_000_000), ("small", 20_000), ("lossy", 200_000)] {
        net.client(name, move |_| async move {
            let received = download(len).await?;
            assert!(received == vec![len as u8; len]);
            io::Result::Ok(())
        });
    }
    net.client("ping", |_| ping());
    net.client("operator", |host| async move {
        let net = host.net();
        sleep(Duration::from_millis(700)).await;
        net.cut("left", "right");
        sleep(Duration::from_millis(400)).await;
        net.heal("left", "right");
        net.crash("echo", Crash::Vanish);
        sleep(Duration::from_secs(1)).await;
        net.restart("echo");
        net.set_link("left", "right", "rate=5Mbit/s");
    });
    net.link(
        "left",
        "right",
        "rate=20Mbit/s rtt=40ms queue=fq_codel, 100 packets",
    );
    net.link("bulk", "left", "rate=100Mbit/s rtt=2ms");
    net.link("small", "left", "rtt=5ms jitter=1ms");
    net.link(
        "lossy",
        "left",
        "rtt=10ms loss_burst=0.02:3 reorder=1% reorder_delay=2ms",
    );
    net.link("ping", "left", "rtt=1ms loss=2% duplicate=1%");
    net.link("server", "right", "rate=1Gbit/s rtt=1ms");
    net.link("echo", "right", "rtt=1ms");
    net.run().unwrap()
}

#[test]
fn run_of_seven_hosts_has_the_stored_hash() {
    let report = run();
    assert_eq!(report.hash, HASH, "{:#018x}: {report}", report.hash);
}
