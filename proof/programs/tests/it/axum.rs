//! axum's server, which takes its own listeners (`axum::serve::Listener`).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use gigatcp_net::{Net, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A listener for `axum::serve`.
pub struct Listener(pub TcpListener);

impl axum::serve::Listener for Listener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            if let Ok(accepted) = self.0.accept().await {
                return accepted;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[gigatcp_net::test(rtt = [0, 200], loss = [0, 0.01], seeds = 5)]
async fn axum_serves_and_shuts_down(net: Net) -> io::Result<()> {
    net.host("server", |_| async {
        let router = Router::new()
            .route("/large", get(async || "x".repeat(300_000)))
            .route(
                "/slow",
                get(async || {
                    tokio::time::sleep(Duration::from_secs(90)).await;
                    "slow"
                }),
            );
        let listener = Listener(TcpListener::bind("0.0.0.0:80").await?);
        let shutdown = tokio::time::sleep(Duration::from_secs(60));
        axum::serve(listener, router)
            .with_graceful_shutdown(shutdown)
            .await
    });
    let fetch = async |path: &str| {
        let mut stream = TcpStream::connect("server:80").await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: server\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        io::Result::Ok(answer)
    };
    let (large, slow) = tokio::try_join!(fetch("/large"), fetch("/slow"))?;
    assert!(large.ends_with(&"x".repeat(300_000)));
    // The request began before the shutdown, and is answered after it.
    assert!(slow.ends_with("slow"), "{slow}");
    let refused = fetch("/large").await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    Ok(())
}
