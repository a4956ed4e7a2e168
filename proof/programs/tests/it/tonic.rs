//! tonic's client and server: gRPC's health service, with a stream of answers.

use std::time::Duration;

use gigatcp_net::{Crash, Host, Net, TcpListener, TcpStream};
use hyper_util::rt::TokioIo;
use tonic::service::Routes;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic_health::ServingStatus;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::BoxError;

use crate::axum::Listener;

async fn serve() -> Result<(), BoxError> {
    let (reporter, service) = tonic_health::server::health_reporter();
    let changes = async move {
        loop {
            for status in [ServingStatus::Serving, ServingStatus::NotServing] {
                reporter.set_service_status("gate", status).await;
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        }
    };
    tokio::task::spawn_local(changes);
    let listener = Listener(TcpListener::bind("0.0.0.0:50051").await?);
    let router = Routes::new(service).into_axum_router();
    Ok(axum::serve(listener, router).await?)
}

/// A channel that connects again when its connection has failed.
async fn channel() -> Result<Channel, BoxError> {
    let host = Host::current();
    let connector = tower::service_fn(move |_: Uri| {
        let stream = host.scope(TcpStream::connect("server:50051"));
        async { stream.await.map(TokioIo::new) }
    });
    let endpoint = Endpoint::from_static("http://server")
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(5));
    Ok(endpoint.connect_with_connector(connector).await?)
}

#[gigatcp_net::test(rtt = [0, 125], loss = [0, 0.01], seeds = 5)]
async fn grpc_stream_follows_and_channel_survives_a_crash(net: Net) -> Result<(), BoxError> {
    net.host("server", |_| serve());
    let mut client = HealthClient::new(channel().await?);
    let request = || HealthCheckRequest {
        service: "gate".into(),
    };
    let mut changes = client.watch(request()).await?.into_inner();
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let change = changes.message().await?.ok_or("the stream ended")?;
        seen.push(change.status);
    }
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    // Power fails: HTTP/2's pings find it, and calls work again after the restart.
    net.crash("server", Crash::Vanish);
    assert!(changes.message().await.is_err());
    net.restart("server");
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.check(request()).await?;
    Ok::<_, BoxError>(())
}
