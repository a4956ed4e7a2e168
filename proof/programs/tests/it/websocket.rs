//! tokio-tungstenite, over any stream.

use futures_util::{SinkExt, StreamExt};
use gigatcp_net::{Net, TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};
use tower::BoxError;

#[gigatcp_net::test(rtt = [0, 100], loss = [0, 0.01], seeds = 5)]
async fn websocket_echoes_and_closes(net: Net) -> Result<(), BoxError> {
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let mut socket = accept_async(listener.accept().await?.0).await?;
        while let Some(message) = socket.next().await.transpose()? {
            if message.is_binary() {
                socket.send(message).await?;
            }
        }
        Ok::<_, BoxError>(())
    });
    let stream = TcpStream::connect("server:80").await?;
    let (mut socket, _) = client_async("ws://server/", stream).await?;
    for len in [0, 1, 70_000] {
        socket.send(Message::binary(vec![7; len])).await?;
        let echo = socket.next().await.ok_or("closed")??;
        assert_eq!(echo.into_data().len(), len);
    }
    socket.close(None).await?;
    while let Some(message) = socket.next().await {
        assert!(message?.is_close());
    }
    Ok::<_, BoxError>(())
}
