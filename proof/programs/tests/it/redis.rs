//! redis's multiplexed client. The server knows three commands.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use gigatcp_net::{Net, TcpListener, TcpStream};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig, RedisConnectionInfo};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tower::BoxError;

type Stream = BufStream<TcpStream>;

/// A number after one character, as RESP writes counts and lengths.
async fn number(stream: &mut Stream) -> io::Result<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let digits = line.get(1..).unwrap_or_default().trim_end();
    digits
        .parse()
        .map_err(|_| io::ErrorKind::UnexpectedEof.into())
}

async fn command(stream: &mut Stream) -> io::Result<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    for _ in 0..number(stream).await? {
        let mut word = vec![0; number(stream).await? + 2];
        stream.read_exact(&mut word).await?;
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Ok(words)
}

async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:6379").await?;
    let (stream, _) = listener.accept().await?;
    let mut stream = BufStream::new(stream);
    let mut values: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    while let Ok(words) = command(&mut stream).await {
        let answer = match (words[0].to_ascii_uppercase().as_slice(), &words[1..]) {
            (b"SET", [key, value]) => {
                values.insert(key.clone(), value.clone());
                b"+OK\r\n".to_vec()
            }
            (b"GET", [key]) => {
                let value = values.get(key).cloned().unwrap_or_default();
                [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat()
            }
            (b"INCRBY", [key, _]) => {
                let count = values
                    .get(key)
                    .and_then(|value| str::from_utf8(value).ok()?.parse().ok());
                let next = count.unwrap_or(0) + 1;
                values.insert(key.clone(), next.to_string().into());
                format!(":{next}\r\n").into()
            }
            _ => b"+OK\r\n".to_vec(),
        };
        stream.write_all(&answer).await?;
        stream.flush().await?;
    }
    Ok(())
}

#[gigatcp_net::test(rtt = [0, 80], loss = [0, 0.01], seeds = 5)]
async fn redis_client_pipelines_and_times_out(net: Net) -> Result<(), BoxError> {
    net.host("server", |_| serve());
    let stream = TcpStream::connect("server:6379").await?;
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(20)));
    let info = RedisConnectionInfo::default();
    let (mut client, driver) =
        MultiplexedConnection::new_with_config(&info, stream, config).await?;
    tokio::spawn(driver);
    let value = "x".repeat(100_000);
    let () = client.set("large", &value).await?;
    let mut counts = Vec::new();
    for _ in 0..10 {
        let mut client = client.clone();
        counts.push(tokio::spawn(async move {
            client.incr::<_, _, u64>("count", 1).await
        }));
    }
    for (place, count) in counts.into_iter().enumerate() {
        assert_eq!(count.await??, place as u64 + 1);
    }
    assert_eq!(client.get::<_, String>("large").await?, value);
    net.cut("test", "server");
    let error = client.get::<_, String>("large").await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    Ok::<_, BoxError>(())
}
