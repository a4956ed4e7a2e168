//! The interface is that of tokio: one list of bounds and calls, compiled for both crates.

/// A module with the list, for the types of one crate.
macro_rules! surface {
    ($name:ident, $($net:ident)::+) => {
        mod $name {
            use std::error::Error;
            use std::fmt::Debug;
            use std::future::Future;
            use std::io::{self, IoSlice, IoSliceMut};
            use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
            use std::panic::{RefUnwindSafe, UnwindSafe};
            use std::task::{Context, Poll};
            use std::time::Duration;

            use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

            use $($net)::+ as net;
            use net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
            use net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket};

            fn shared<T: Debug + Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
            fn read<T: AsyncRead>() {}
            fn write<T: AsyncWrite>() {}
            fn stream<T: AsRef<TcpStream>>() {}
            fn error<T: Error>() {}
            fn addresses<T: ToSocketAddrs + ?Sized>() {}
            fn sends<A, F: Future + Send>(_: impl Fn(A) -> F) {}

            #[test]
            fn types_have_their_bounds() {
                shared::<TcpStream>();
                shared::<TcpListener>();
                shared::<TcpSocket>();
                shared::<UdpSocket>();
                shared::<OwnedReadHalf>();
                shared::<OwnedWriteHalf>();
                shared::<ReadHalf<'_>>();
                shared::<WriteHalf<'_>>();
                shared::<ReuniteError>();
                read::<TcpStream>();
                read::<OwnedReadHalf>();
                read::<ReadHalf<'_>>();
                write::<TcpStream>();
                write::<OwnedWriteHalf>();
                write::<WriteHalf<'_>>();
                stream::<OwnedReadHalf>();
                stream::<OwnedWriteHalf>();
                stream::<ReadHalf<'_>>();
                stream::<WriteHalf<'_>>();
                error::<ReuniteError>();
            }

            #[test]
            fn addresses_are_those_of_tokio() {
                addresses::<SocketAddr>();
                addresses::<SocketAddrV4>();
                addresses::<SocketAddrV6>();
                addresses::<(IpAddr, u16)>();
                addresses::<(Ipv4Addr, u16)>();
                addresses::<(Ipv6Addr, u16)>();
                addresses::<&[SocketAddr]>();
                addresses::<str>();
                addresses::<String>();
                addresses::<(&str, u16)>();
                addresses::<(String, u16)>();
                addresses::<&&str>();
                addresses::<&String>();
            }

            #[test]
            fn futures_of_all_calls_may_move_to_another_thread() {
                sends(of_stream);
                sends(of_halves);
                sends(of_listener);
                sends(of_socket);
                sends(of_datagrams);
                let _ = (polls_of_streams, polls_of_datagrams);
            }

            #[allow(deprecated)]
            async fn of_stream(name: &str) -> io::Result<TcpStream> {
                let mut stream = TcpStream::connect(name).await?;
                let _: (SocketAddr, SocketAddr) = (stream.local_addr()?, stream.peer_addr()?);
                let _: Option<io::Error> = stream.take_error()?;
                let _: Ready = stream.ready(Interest::READABLE).await?;
                stream.readable().await?;
                stream.writable().await?;
                let _: usize = stream.peek(&mut [0]).await?;
                let _: usize = stream.try_read(&mut [0])?;
                let _: usize = stream.try_read_vectored(&mut [IoSliceMut::new(&mut [0])])?;
                let _: usize = stream.try_read_buf(&mut Vec::new())?;
                let _: usize = stream.try_write(b"")?;
                let _: usize = stream.try_write_vectored(&[IoSlice::new(b"")])?;
                let _: u8 = stream.try_io(Interest::READABLE, || Ok(1))?;
                let _: u8 = stream.async_io(Interest::READABLE, || Ok(1)).await?;
                stream.set_nodelay(stream.nodelay()?)?;
                let linger: Option<Duration> = stream.linger()?;
                stream.set_linger(linger)?;
                stream.set_zero_linger()?;
                let ttl: u32 = stream.ttl()?;
                stream.set_ttl(ttl)?;
                let _: (ReadHalf<'_>, WriteHalf<'_>) = stream.split();
                Ok(stream)
            }

            async fn of_halves(stream: TcpStream) -> io::Result<()> {
                let (mut reader, writer): (OwnedReadHalf, OwnedWriteHalf) = stream.into_split();
                let _: (SocketAddr, SocketAddr) = (reader.local_addr()?, writer.peer_addr()?);
                let _: Ready = reader.ready(Interest::READABLE).await?;
                let _: Ready = writer.ready(Interest::WRITABLE).await?;
                reader.readable().await?;
                writer.writable().await?;
                let _: usize = reader.peek(&mut [0]).await?;
                let _: usize = reader.try_read(&mut [0])?;
                let _: usize = reader.try_read_buf(&mut Vec::new())?;
                let _: usize = reader.try_read_vectored(&mut [IoSliceMut::new(&mut [0])])?;
                let _: usize = writer.try_write(b"")?;
                let _: usize = writer.try_write_vectored(&[IoSlice::new(b"")])?;
                let joined: Result<TcpStream, ReuniteError> = reader.reunite(writer);
                let (reader, writer) = joined.map_err(io::Error::other)?.into_split();
                let joined: Result<TcpStream, ReuniteError> = writer.reunite(reader);
                joined.map_err(io::Error::other)?.into_split().1.forget();
                Ok(())
            }

            async fn of_listener(at: SocketAddr) -> io::Result<(TcpStream, SocketAddr)> {
                let listener = TcpListener::bind(at).await?;
                let _: SocketAddr = listener.local_addr()?;
                let ttl: u32 = listener.ttl()?;
                listener.set_ttl(ttl)?;
                let names = net::lookup_host(("server", 80)).await?;
                let _: Vec<SocketAddr> = names.collect();
                listener.accept().await
            }

            #[allow(deprecated)]
            async fn of_socket(at: SocketAddr) -> io::Result<TcpStream> {
                let socket = TcpSocket::new_v4()?;
                socket.set_keepalive(socket.keepalive()?)?;
                socket.set_reuseaddr(socket.reuseaddr()?)?;
                socket.set_reuseport(socket.reuseport()?)?;
                socket.set_nodelay(socket.nodelay()?)?;
                socket.set_send_buffer_size(socket.send_buffer_size()?)?;
                socket.set_recv_buffer_size(socket.recv_buffer_size()?)?;
                socket.set_linger(socket.linger()?)?;
                socket.set_zero_linger()?;
                socket.set_tos_v4(socket.tos_v4()?)?;
                socket.set_tclass_v6(socket.tclass_v6()?)?;
                socket.bind_device(socket.device()?.as_deref())?;
                let _: Option<io::Error> = socket.take_error()?;
                socket.bind(socket.local_addr()?)?;
                let _: TcpListener = TcpSocket::new_v6()?.listen(1)?;
                socket.connect(at).await
            }

            async fn of_datagrams(at: SocketAddr) -> io::Result<()> {
                let socket = UdpSocket::bind(at).await?;
                socket.connect(("server", 53)).await?;
                let _: (SocketAddr, SocketAddr) = (socket.local_addr()?, socket.peer_addr()?);
                let _: Ready = socket.ready(Interest::READABLE).await?;
                socket.readable().await?;
                socket.writable().await?;
                let _: usize = socket.send(b"").await?;
                let _: usize = socket.send_to(b"", "server:53").await?;
                let _: usize = socket.try_send(b"")?;
                let _: usize = socket.try_send_to(b"", at)?;
                let _: usize = socket.recv(&mut [0]).await?;
                let _: usize = socket.recv_buf(&mut Vec::new()).await?;
                let _: (usize, SocketAddr) = socket.recv_from(&mut [0]).await?;
                let _: (usize, SocketAddr) = socket.recv_buf_from(&mut Vec::new()).await?;
                let _: usize = socket.try_recv(&mut [0])?;
                let _: usize = socket.try_recv_buf(&mut Vec::new())?;
                let _: (usize, SocketAddr) = socket.try_recv_from(&mut [0])?;
                let _: (usize, SocketAddr) = socket.try_recv_buf_from(&mut Vec::new())?;
                let _: usize = socket.peek(&mut [0]).await?;
                let _: usize = socket.try_peek(&mut [0])?;
                let _: (usize, SocketAddr) = socket.peek_from(&mut [0]).await?;
                let _: (usize, SocketAddr) = socket.try_peek_from(&mut [0])?;
                let _: SocketAddr = socket.peek_sender().await?;
                let _: SocketAddr = socket.try_peek_sender()?;
                let _: u8 = socket.try_io(Interest::READABLE, || Ok(1))?;
                let _: u8 = socket.async_io(Interest::READABLE, || Ok(1)).await?;
                let _: Option<io::Error> = socket.take_error()?;
                socket.set_broadcast(socket.broadcast()?)?;
                socket.set_ttl(socket.ttl()?)?;
                socket.set_tos_v4(socket.tos_v4()?)?;
                socket.set_tclass_v6(socket.tclass_v6()?)?;
                socket.set_multicast_ttl_v4(socket.multicast_ttl_v4()?)?;
                socket.set_multicast_loop_v4(socket.multicast_loop_v4()?)?;
                socket.set_multicast_loop_v6(socket.multicast_loop_v6()?)?;
                socket.bind_device(socket.device()?.as_deref())
            }

            fn polls_of_streams(
                stream: &TcpStream,
                half: &mut OwnedReadHalf,
                listener: &TcpListener,
                context: &mut Context<'_>,
            ) {
                let mut octets = [0];
                let mut buffer = ReadBuf::new(&mut octets);
                let _: Poll<io::Result<usize>> = stream.poll_peek(context, &mut buffer);
                let _: Poll<io::Result<usize>> = half.poll_peek(context, &mut buffer);
                let _: Poll<io::Result<()>> = stream.poll_read_ready(context);
                let _: Poll<io::Result<()>> = stream.poll_write_ready(context);
                let _: Poll<io::Result<(TcpStream, SocketAddr)>> = listener.poll_accept(context);
            }

            fn polls_of_datagrams(socket: &UdpSocket, at: SocketAddr, context: &mut Context<'_>) {
                let mut octets = [0];
                let mut buffer = ReadBuf::new(&mut octets);
                let _: Poll<io::Result<()>> = socket.poll_send_ready(context);
                let _: Poll<io::Result<()>> = socket.poll_recv_ready(context);
                let _: Poll<io::Result<usize>> = socket.poll_send(context, b"");
                let _: Poll<io::Result<usize>> = socket.poll_send_to(context, b"", at);
                let _: Poll<io::Result<()>> = socket.poll_recv(context, &mut buffer);
                let _: Poll<io::Result<SocketAddr>> = socket.poll_recv_from(context, &mut buffer);
                let _: Poll<io::Result<()>> = socket.poll_peek(context, &mut buffer);
                let _: Poll<io::Result<SocketAddr>> = socket.poll_peek_from(context, &mut buffer);
                let _: Poll<io::Result<SocketAddr>> = socket.poll_peek_sender(context);
            }
        }
    };
}

surface!(of_tokio, tokio::net);
surface!(of_this_crate, gigatcp_net);
