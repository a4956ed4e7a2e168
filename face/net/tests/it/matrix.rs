//! The attribute: cells, seeds, and tests that were written for `tokio::net`.

use std::io;
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

#[gigatcp_net::test]
async fn listener_binds_without_a_host() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"hello").await.unwrap();
    });
    let mut text = String::new();
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello");
}

#[gigatcp_net::test(rtt = [0, 50, 200], loss = [0, 0.01], seeds = 5, link = "rate=10Mbit/s")]
async fn transfer_arrives_in_every_cell(net: Net) -> io::Result<()> {
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        stream.write_all(&[7; 20_000]).await
    });
    let mut all = Vec::new();
    TcpStream::connect("server:80")
        .await?
        .read_to_end(&mut all)
        .await?;
    assert_eq!(all.len(), 20_000);
    Ok(())
}

#[gigatcp_net::test(rtt = [100])]
async fn loopback_has_the_words_of_the_cell() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = Instant::now();
    TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(100));
}

#[gigatcp_net::test(rtt = [0, 200], seeds = 3)]
#[should_panic(expected = "a second is too short")]
async fn failing_cell_fails_the_test(_net: Net) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = Instant::now();
    for _ in 0..6 {
        TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
    }
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "a second is too short"
    );
}
