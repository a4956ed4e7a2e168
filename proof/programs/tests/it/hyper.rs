//! hyper-util's client, with a pool of connections, and hyper's server.

use std::time::Duration;

use axum::body::Bytes;
use gigatcp_net::{Host, Net, TcpListener, TcpStream};
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tower::BoxError;

async fn serve() -> Result<(), BoxError> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let answer = service_fn(move |request: Request<hyper::body::Incoming>| async move {
            let len = request.into_body().collect().await?.to_bytes().len();
            let text = format!("{len} bytes from port {}", peer.port());
            Ok::<_, hyper::Error>(Response::new(Full::<Bytes>::from(text)))
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
        tokio::task::spawn_local(connection);
    }
}

/// Posts `len` bytes; returns the text of the answer.
async fn post(client: &Client<impl Connect, Full<Bytes>>, len: usize) -> Result<String, BoxError> {
    let body = Full::from(vec![7; len]);
    let response = client
        .request(Request::post("http://server/").body(body)?)
        .await?;
    let octets = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(octets.to_vec())?)
}

trait Connect: hyper_util::client::legacy::connect::Connect + Clone + Send + Sync + 'static {}

impl<C: hyper_util::client::legacy::connect::Connect + Clone + Send + Sync + 'static> Connect
    for C
{
}

#[gigatcp_net::test(rtt = [0, 100], loss = [0, 0.01], seeds = 5)]
async fn pooled_client_posts_and_reuses_its_connection(net: Net) -> Result<(), BoxError> {
    net.host("server", |_| serve());
    let host = Host::current();
    let connector = tower::service_fn(move |_: Uri| {
        let stream = host.scope(TcpStream::connect("server:80"));
        Box::pin(async { stream.await.map(TokioIo::new) })
    });
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .build(connector);
    let first = post(&client, 10).await?;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let port = first.strip_prefix("10 bytes").ok_or("no count")?;
    assert_eq!(post(&client, 200_000).await?, format!("200000 bytes{port}"));
    // The pool closes an idle connection.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!post(&client, 20).await?.ends_with(port));
    // Requests at the same time have connections of their own.
    let both = tokio::try_join!(post(&client, 1), post(&client, 1))?;
    assert_ne!(both.0, both.1);
    Ok::<_, BoxError>(())
}
