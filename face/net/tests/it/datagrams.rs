//! UDP: loss, fragments, errors, buffers.

use std::io::ErrorKind;
use std::time::Duration;

use gigatcp_net::{Net, UdpSocket, run};
use tokio::time::{sleep, timeout};

#[test]
fn datagrams_keep_their_borders_and_some_are_lost() {
    let net = Net::new(3);
    net.host("server", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:53").await?;
        let mut buffer = [0; 2000];
        loop {
            let (len, from) = socket.recv_from(&mut buffer).await?;
            socket.send_to(&buffer[..len], from).await?;
        }
        #[allow(unreachable_code)]
        std::io::Result::Ok(())
    });
    net.client("client", |_| async {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        socket.connect("server:53").await.unwrap();
        let mut answers = 0;
        for number in 0..1000_u32 {
            socket.send(&number.to_be_bytes()).await.unwrap();
            let mut buffer = [0; 100];
            let wait = timeout(Duration::from_millis(100), socket.recv(&mut buffer));
            if let Ok(len) = wait.await {
                assert_eq!(&buffer[..len.unwrap()], number.to_be_bytes());
                answers += 1;
            }
        }
        // Both ways must succeed: 0.9 * 0.9 = 81 %.
        assert!((760..860).contains(&answers), "{answers} answers");
    });
    net.link("client", "server", "rtt=20ms loss=10%");
    net.run().unwrap();
}

#[test]
fn large_datagram_is_lost_with_any_of_its_fragments() {
    let net = Net::new(1);
    net.loopback("loss=5%");
    let (done, _) = net.run_with(|| async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = socket.local_addr().unwrap();
        let mut arrived = 0;
        let mut buffer = vec![0; 70_000];
        for _ in 0..200 {
            // 14,792 bytes after the IP header: ten fragments.
            socket.send_to(&[7; 14_784], at).await.unwrap();
            if let Ok(received) = timeout(Duration::from_millis(5), socket.recv(&mut buffer)).await
            {
                assert_eq!(received.unwrap(), 14_784);
                arrived += 1;
            }
        }
        // 0.95 to the power of 10: 60 %.
        assert!((100..140).contains(&arrived), "{arrived} arrived");
        let long = socket.send_to(&[0; 65_508], at).await.unwrap_err();
        // EMSGSIZE.
        assert_eq!(long.raw_os_error(), Some(90));
    });
    done.unwrap();
}

#[test]
fn connected_socket_is_refused_after_an_icmp_error() {
    run(1, async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        assert_eq!(
            socket.send(b"x").await.unwrap_err().kind(),
            ErrorKind::NotConnected
        );
        socket.connect("127.0.0.1:9").await.unwrap();
        socket.send(b"x").await.unwrap();
        let error = socket.recv(&mut [0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(
            socket.try_recv(&mut [0; 1]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
    });
}

#[test]
fn datagrams_beyond_the_receive_buffer_are_dropped() {
    run(1, async {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for _ in 0..300 {
            let to = receiver.local_addr().unwrap();
            sender.send_to(&[1; 1000], to).await.unwrap();
        }
        sleep(Duration::from_millis(5)).await;
        let mut arrived = 0;
        while receiver.try_recv(&mut [0; 1000]).is_ok() {
            arrived += 1;
        }
        // 212,992 bytes, each datagram with its header of 8.
        assert_eq!(arrived, 212_992 / 1008);
        assert_eq!(receiver.overflows().unwrap(), 300 - arrived);
    });
}

#[test]
fn peek_keeps_a_datagram_and_a_short_buffer_cuts_it() {
    run(1, async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = socket.local_addr().unwrap();
        socket.send_to(b"hello", at).await.unwrap();
        socket.readable().await.unwrap();
        let mut buffer = [0; 3];
        assert_eq!(socket.peek_from(&mut buffer).await.unwrap(), (3, at));
        assert_eq!(socket.recv_from(&mut buffer).await.unwrap(), (3, at));
        assert_eq!(&buffer, b"hel");
        assert!(socket.try_recv(&mut buffer).is_err());
    });
}
