//! Runs that would never end.

use std::time::Duration;

use gigatcp_net::{Net, RunError, TcpListener, TcpStream};
use tokio::io::AsyncReadExt;

#[test]
fn deadlock_names_what_each_socket_waits_for() {
    let net = Net::new(1);
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        stream.read_u8().await
    });
    net.client("client", |_| async {
        let mut stream = TcpStream::connect("server:80").await?;
        stream.read_u8().await
    });
    net.link("client", "server", "rtt=20ms");
    let Err(RunError::TimeLimit(text)) = net.run() else {
        panic!("it ended");
    };
    assert!(
        text.contains("deadlock: nothing has happened since 30"),
        "{text}"
    );
    assert!(text.contains("client: waits to read on"), "{text}");
    assert!(text.contains("server: waits to read on"), "{text}");
    assert!(text.contains("Established"), "{text}");
}

#[test]
fn deadlock_of_channels_is_an_error_too() {
    let net = Net::new(1);
    let (done, _) = net.run_with(std::future::pending::<()>);
    let text = done.unwrap_err().to_string();
    assert!(text.contains("no socket has a waiting task"), "{text}");
}

#[test]
fn endless_timers_end_at_the_time_limit() {
    let net = Net::new(1);
    net.time_limit(Duration::from_secs(100));
    let (done, report) = net.run_with(|| async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let error: Result<(), RunError> = done;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("did not end within 100 s"), "{text}");
    assert_eq!(report.elapsed, Duration::from_secs(100));
}
