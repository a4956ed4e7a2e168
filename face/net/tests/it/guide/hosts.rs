//! The test of the guide with hosts, a cut and a crash.

use std::time::Duration;

use gigatcp_net::{Crash, Net, TcpListener, TcpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn download_survives_a_cut() {
    let net = Net::new(1);
    net.configure("server", "profile=freebsd congestion_control=cubic");
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        stream.write_all(&[7; 5_000_000]).await
    });
    net.client("client", |host| async move {
        let mut stream = TcpStream::connect("server:80").await?;
        let mut received = vec![0; 1_000_000];
        stream.read_exact(&mut received).await?;
        host.net().cut("client", "server");
        tokio::time::sleep(Duration::from_secs(5)).await;
        host.net().heal("client", "server");
        stream.read_to_end(&mut received).await?;
        host.net().crash("server", Crash::Vanish);
        assert_eq!(received.len(), 5_000_000);
        std::io::Result::Ok(())
    });
    net.link("client", "server", "rate=20Mbit/s rtt=80ms queue=1bdp");
    let report = net.run().unwrap();
    println!("{report}");
}
