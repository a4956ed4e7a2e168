//! Random calls on both ends of a connection have the same results over the machine's kernel and
//! over gigatcp-net.
//!
//! After each call packets have time to arrive, so that no result depends on their order. Few bytes
//! are written: when buffers are full depends on the machine.

use std::fmt::Debug;
use std::future::poll_fn;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IoSlice, IoSliceMut};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, ReadBuf};
use tokio::time::{sleep, timeout};

/// Number of connections, and of those over the kernel at the same time.
const CONNECTIONS: u64 = 1000;
const BATCH: usize = 50;

/// Time for packets over the loopback, and after which a call waits for what does not come.
const PAUSE: Duration = Duration::from_millis(8);

/// A call on one end; reads and writes have a length.
#[derive(Clone, Copy, Debug)]
enum Call {
    Read(usize),
    ReadExact(usize),
    ReadBuf(usize),
    TryRead(usize),
    TryReadVectored(usize),
    Peek(usize),
    PollPeek(usize),
    Write(usize),
    WriteVectored(usize),
    TryWrite(usize),
    Shutdown,
    Ready(Interest),
    PollReadReady,
    PollWriteReady,
    TakeError,
    PeerAddress,
    ZeroLinger,
    DropReader,
    DropWriter,
}

impl Call {
    /// Length of the buffer that it reads into.
    fn len(self) -> usize {
        match self {
            Self::Read(len)
            | Self::ReadExact(len)
            | Self::ReadBuf(len)
            | Self::TryRead(len)
            | Self::TryReadVectored(len)
            | Self::Peek(len)
            | Self::PollPeek(len) => len,
            _ => 0,
        }
    }
}

/// A number that depends on the values alone.
fn random(values: impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    values.hash(&mut hasher);
    hasher.finish() as usize
}

/// Some calls, each with the number of its end.
fn calls(seed: u64) -> Vec<(usize, Call)> {
    let call = |place: usize| {
        let len = [0, 1, 3, 100, 5000][random((seed, place, "length")) % 5];
        // A vectored call without bytes ends before it reaches the socket.
        let some = len.max(1);
        let call = match random((seed, place, "call")) % 27 {
            0 | 1 => Call::Read(len),
            2 => Call::ReadExact(len),
            3 => Call::ReadBuf(len),
            4 => Call::TryRead(len),
            5 => Call::TryReadVectored(some),
            6 => Call::Peek(len),
            7 => Call::PollPeek(len),
            8..=11 => Call::Write(len),
            12 => Call::WriteVectored(some),
            13 => Call::TryWrite(len),
            14 => Call::Shutdown,
            15 => Call::Ready(Interest::READABLE),
            16 => Call::Ready(Interest::WRITABLE),
            17 => Call::Ready(Interest::READABLE | Interest::WRITABLE),
            18 => Call::PollReadReady,
            19 => Call::PollWriteReady,
            20 => Call::TakeError,
            21 => Call::PeerAddress,
            22 => Call::ZeroLinger,
            23 | 24 => Call::DropReader,
            _ => Call::DropWriter,
        };
        (random((seed, place, "end")) % 2, call)
    };
    (0..3 + random((seed, "calls")) % 14).map(call).collect()
}

/// The result of a call that may wait.
async fn limited<T: Debug>(call: impl Future<Output = io::Result<T>>) -> String {
    match timeout(PAUSE, call).await {
        Ok(done) => shown(done),
        Err(_) => "waits".to_owned(),
    }
}

fn shown<T: Debug>(done: io::Result<T>) -> String {
    format!("{:?}", done.map_err(|error| error.kind()))
}

/// The calls over one network.
macro_rules! network {
    ($module:ident, $($net:tt)+) => {
        mod $module {
            use super::*;
            use $($net)+::tcp::{OwnedReadHalf, OwnedWriteHalf};
            use $($net)+::{TcpListener, TcpStream};

            /// The halves of one end that are not dropped.
            struct End(Option<OwnedReadHalf>, Option<OwnedWriteHalf>);

            impl End {
                fn new(stream: TcpStream) -> Self {
                    stream.set_nodelay(true).unwrap();
                    let (reader, writer) = stream.into_split();
                    Self(Some(reader), Some(writer))
                }

                fn stream(&self) -> Option<&TcpStream> {
                    let reader = self.0.as_ref().map(AsRef::as_ref);
                    reader.or(self.1.as_ref().map(AsRef::as_ref))
                }

                /// Makes a call; its result, and what it reads. `None` without the half for it.
                async fn call(&mut self, call: Call, buffer: &mut Vec<u8>) -> Option<String> {
                    let octets: Vec<u8> = (0..5000).map(|place| (place % 251) as u8).collect();
                    let len = buffer.len();
                    Some(match call {
                        Call::Read(_) => limited(self.0.as_mut()?.read(buffer)).await,
                        Call::ReadExact(_) => limited(self.0.as_mut()?.read_exact(buffer)).await,
                        Call::ReadBuf(_) => {
                            buffer.clear();
                            limited(self.0.as_mut()?.read_buf(buffer)).await
                        }
                        Call::TryRead(_) => shown(self.stream()?.try_read(buffer)),
                        Call::TryReadVectored(_) => {
                            let (first, second) = buffer.split_at_mut(len / 3);
                            let mut parts = [first, &mut [], second].map(IoSliceMut::new);
                            shown(self.stream()?.try_read_vectored(&mut parts))
                        }
                        Call::Peek(_) => limited(self.0.as_mut()?.peek(buffer)).await,
                        Call::PollPeek(_) => {
                            let mut space = ReadBuf::new(buffer);
                            let reader = self.0.as_mut()?;
                            limited(poll_fn(|context| reader.poll_peek(context, &mut space))).await
                        }
                        Call::Write(len) => {
                            limited(self.1.as_mut()?.write(&octets[..len])).await
                        }
                        Call::WriteVectored(len) => {
                            let parts = [&octets[..len / 3], &[], &octets[len / 3..len]];
                            let parts = parts.map(IoSlice::new);
                            limited(self.1.as_mut()?.write_vectored(&parts)).await
                        }
                        Call::TryWrite(len) => shown(self.stream()?.try_write(&octets[..len])),
                        Call::Shutdown => limited(self.1.as_mut()?.shutdown()).await,
                        Call::Ready(interest) => limited(self.stream()?.ready(interest)).await,
                        Call::PollReadReady => {
                            let stream = self.stream()?;
                            limited(poll_fn(|context| stream.poll_read_ready(context))).await
                        }
                        Call::PollWriteReady => {
                            let stream = self.stream()?;
                            limited(poll_fn(|context| stream.poll_write_ready(context))).await
                        }
                        Call::TakeError => {
                            let taken = self.stream()?.take_error();
                            shown(taken.map(|error| error.map(|error| error.kind())))
                        }
                        Call::PeerAddress => shown(self.stream()?.peer_addr().map(drop)),
                        Call::ZeroLinger => shown(self.stream()?.set_zero_linger()),
                        Call::DropReader => {
                            self.0 = None;
                            return None;
                        }
                        Call::DropWriter => {
                            self.1 = None;
                            return None;
                        }
                    })
                }
            }

            /// The results of the calls of a seed, a line each.
            pub async fn results(seed: u64) -> Vec<String> {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let at = listener.local_addr().unwrap();
                let (near, far) = tokio::join!(TcpStream::connect(at), listener.accept());
                let mut ends = [near.unwrap(), far.unwrap().0].map(End::new);
                let mut results = Vec::new();
                for (end, call) in calls(seed) {
                    sleep(PAUSE).await;
                    let mut buffer = vec![0; call.len()];
                    let result = ends[end].call(call, &mut buffer).await;
                    let read = random(&buffer);
                    results.push(format!("end {end}: {call:?} -> {result:?}, read {read:x}"));
                }
                results
            }
        }
    };
}

network!(simulated, gigatcp_net);
network!(machine, tokio::net);

#[test]
fn random_calls_have_the_results_of_the_kernel() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let kernel = builder.enable_all().build().unwrap();
    let seeds: Vec<u64> = (0..CONNECTIONS).collect();
    for batch in seeds.chunks(BATCH) {
        let expected = kernel.block_on(async {
            let runs: Vec<_> = batch
                .iter()
                .map(|seed| tokio::spawn(machine::results(*seed)))
                .collect();
            let mut expected = Vec::new();
            for run in runs {
                expected.push(run.await.unwrap());
            }
            expected
        });
        for (seed, expected) in batch.iter().zip(expected) {
            let results = gigatcp_net::run(1, simulated::results(*seed));
            assert_eq!(results, expected, "seed {seed}");
        }
    }
}
