//! The fixed test of the guide.

use std::time::Duration;

use gigatcp_net::{Net, UdpSocket};
use tokio::time::timeout;

/// Adds one to the server's counter by request `number`, and returns it.
async fn increment(socket: &UdpSocket, number: u32) -> std::io::Result<u32> {
    let mut answer = [0; 8];
    loop {
        socket.send(&number.to_be_bytes()).await?;
        let wait = timeout(Duration::from_millis(400), socket.recv(&mut answer));
        let has_come = wait.await.is_ok_and(|received| received.is_ok());
        if has_come && answer[..4] == number.to_be_bytes() {
            return Ok(u32::from_be_bytes(answer[4..].try_into().unwrap()));
        }
    }
}

async fn serve() -> std::io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:7").await?;
    let (mut counter, mut last) = (0_u32, None);
    loop {
        let mut request = [0; 4];
        let (_, client) = socket.recv_from(&mut request).await?;
        if last.replace(request) != Some(request) {
            counter += 1;
        }
        let answer = [request, counter.to_be_bytes()].concat();
        socket.send_to(&answer, client).await?;
    }
}

#[gigatcp_net::test(rtt = [0, 125], loss = [0, 0.01], seeds = 20)]
async fn each_call_increments_once(net: Net) -> std::io::Result<()> {
    net.host("server", |_| serve());
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect("server:7").await?;
    for expected in 1..=100 {
        assert_eq!(increment(&socket, expected).await?, expected);
    }
    Ok(())
}
