//! The failing test of the guide.

use gigatcp_net::{Net, UdpSocket};

/// Adds one to the server's counter, and returns it.
async fn increment(socket: &UdpSocket) -> std::io::Result<u32> {
    socket.send(b"increment").await?;
    let mut answer = [0; 4];
    socket.recv(&mut answer).await?;
    Ok(u32::from_be_bytes(answer))
}

async fn serve() -> std::io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:7").await?;
    let mut counter = 0_u32;
    loop {
        let (_, client) = socket.recv_from(&mut [0; 9]).await?;
        counter += 1;
        socket.send_to(&counter.to_be_bytes(), client).await?;
    }
}

#[gigatcp_net::test(rtt = [0, 125], loss = [0, 0.01], seeds = 20)]
#[should_panic(expected = "deadlock")]
async fn each_call_increments_once(net: Net) -> std::io::Result<()> {
    net.host("server", |_| serve());
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect("server:7").await?;
    for expected in 1..=100 {
        assert_eq!(increment(&socket).await?, expected);
    }
    Ok(())
}
