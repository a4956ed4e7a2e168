//! tokio-rustls, which encrypts any stream.

use std::sync::Arc;

use gigatcp_net::{Net, TcpListener, TcpStream};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tower::BoxError;

fn configs() -> Result<(ServerConfig, ClientConfig), BoxError> {
    let certified = rcgen::generate_simple_self_signed(["server".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let certificate = certified.cert.der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key))?;
    let client = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((server, client))
}

#[gigatcp_net::test(rtt = [0, 100], loss = [0, 0.01], seeds = 3)]
async fn tls_handshake_transfer_and_close_notify(net: Net) -> Result<(), BoxError> {
    let (server, client) = configs()?;
    let acceptor = TlsAcceptor::from(Arc::new(server));
    net.host("server", move |_| {
        let acceptor = acceptor.clone();
        async move {
            let listener = TcpListener::bind("0.0.0.0:443").await?;
            let (stream, _) = listener.accept().await?;
            let mut stream = acceptor.accept(stream).await?;
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await?;
            stream.write_all(&received).await?;
            stream.shutdown().await
        }
    });
    let connector = TlsConnector::from(Arc::new(client));
    let stream = TcpStream::connect("server:443").await?;
    let mut stream = connector
        .connect(ServerName::try_from("server")?, stream)
        .await?;
    let sent: Vec<u8> = (0..300_000_u32).map(|place| place as u8).collect();
    stream.write_all(&sent).await?;
    stream.shutdown().await?;
    let mut echoed = Vec::new();
    // An end without close_notify would be an error.
    stream.read_to_end(&mut echoed).await?;
    assert!(echoed == sent, "{} bytes", echoed.len());
    Ok::<_, BoxError>(())
}
