//! An echo server for tasks of tokio, and 50 clients, between two stacks in one process.
//! Requires no privileges.
//!
//!     cargo run -p gigatcp-stack --features tokio --example async_echo

use std::io;
use std::net::SocketAddr;

use gigatcp_stack::live::{AsyncListener, AsyncStream, Interface, Options, Stack, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CLIENTS: usize = 50;
const QUESTION: &[u8] = b"is there an echo?";

pub fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers");
    let echoes = runtime.block_on(run()).expect("a wire without loss");
    println!("{echoes} of {CLIENTS} clients got their echo");
    assert_eq!(echoes, CLIENTS);
}

async fn run() -> io::Result<usize> {
    let [client, server]: [SocketAddr; 2] = [([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 7).into()];
    let interface = |host: SocketAddr| Interface::new([host.ip()]);
    let [near, far] = Wire::pair(interface(client), interface(server))?;
    let (near, far) = (Stack::start(near)?, Stack::start(far)?);

    let options = Options::default();
    let listener = AsyncListener::from(far.listen(server, &options)?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream));
        }
    });

    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let stream = near.connect_async(server, &options).await?;
        clients.push(tokio::spawn(ask(stream)));
    }
    let mut echoes = 0;
    for client in clients {
        let answer = client.await??;
        echoes += usize::from(answer == QUESTION);
    }
    Ok(echoes)
}

async fn echo(stream: AsyncStream) -> io::Result<u64> {
    // Dropping the half that writes ends that direction.
    let (mut read, mut write) = stream.into_split();
    tokio::io::copy(&mut read, &mut write).await
}

async fn ask(mut stream: AsyncStream) -> io::Result<Vec<u8>> {
    stream.write_all(QUESTION).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}
