//! hyper over the simulated network: client and server that know nothing of it.

use std::convert::Infallible;

use gigatcp_net::{Net, TcpListener, TcpStream};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(body)))
}

#[gigatcp_net::test(rtt = [1, 125], loss = [0, 0.02], seeds = 5, link = "rate=20Mbit/s")]
async fn hyper_echoes_in_every_cell(net: Net) {
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (stream, _) = listener.accept().await?;
            let service = hyper::service::service_fn(echo);
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(connection);
        }
        #[allow(unreachable_code)]
        Ok::<(), std::io::Error>(())
    });
    let stream = TcpStream::connect("server:80").await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    for len in [1, 1_000, 200_000] {
        let sent: Bytes = vec![b'x'; len].into();
        let body = Full::<Bytes>::new(sent.clone()).map_err(|never: Infallible| match never {});
        let request = Request::post("/echo").header("host", "server").body(body);
        let response = sender.send_request(request.unwrap()).await.unwrap();
        let echoed = response.into_body().collect().await.unwrap().to_bytes();
        assert!(echoed == sent, "{} of {len} bytes", echoed.len());
    }
}
