//! Samples a socket into [`Reading`]s, every 10 ms or more often, at low cost.
//!
//! A reading is one `getsockopt` without allocation; with memory it is four calls. The positions of
//! the kernel's words in a reading are determined once.

use std::io;
use std::os::fd::AsRawFd;

use gigatcp_linux::{socket, tcp_info};
use gigatcp_units::{Bytes, Instant};
use gigatcp_why::counters::{Reading, place};

/// Sampler of sockets, with the positions of the kernel's words in a reading.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// Position of each word of `tcp_info`, in the kernel's order; `None` if readings lack it.
    info: Vec<Option<usize>>,
    /// Position of each word of `SO_MEMINFO`.
    memory: Vec<Option<usize>>,
}

impl Default for Sampler {
    fn default() -> Self {
        let all = [u8::MAX; tcp_info::ROOM];
        Self {
            info: tcp_info::each(&all).map(|(name, _)| place(name)).collect(),
            memory: tcp_info::each_of_memory(&all)
                .map(|(name, _)| place(name))
                .collect(),
        }
    }
}

impl Sampler {
    /// Reads the counters of a connection, its memory and its queues.
    ///
    /// `at` is a time of the caller's clock. Memory includes buffers and drops.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&self, socket: &impl AsRawFd, at: Instant) -> io::Result<Reading> {
        let (mut room, mut memory) = ([0; tcp_info::ROOM], [0; 64]);
        let info = socket::tcp_info_into(socket, &mut room)?;
        let mut reading = self.of_octets(at, info, socket::memory_into(socket, &mut memory)?);
        let [unread, unacknowledged] = socket::queues(socket)?;
        reading.unread = Some(Bytes::new(unread));
        reading.unacknowledged = Some(Bytes::new(unacknowledged));
        Ok(reading)
    }

    /// A reading of `struct tcp_info` and the words of `SO_MEMINFO`.
    ///
    /// Both are as the kernel wrote them; either may be empty.
    pub fn of_octets(&self, at: Instant, info: &[u8], memory: &[u8]) -> Reading {
        let mut reading = Reading {
            at,
            ..Reading::default()
        };
        let info = self.info.iter().zip(tcp_info::each(info));
        let memory = self.memory.iter().zip(tcp_info::each_of_memory(memory));
        for (place, (_, number)) in info.chain(memory) {
            if let Some(place) = place {
                reading.set(*place, number);
            }
        }
        reading
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_socket_of_this_kernel_becomes_a_reading_with_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        stream.write_all(&[7; 5000]).unwrap();
        let at = Instant::from_nanos(9);
        let reading = Sampler::default().read(&stream, at).unwrap();
        let other = Sampler::default().read(&peer, at).unwrap();
        assert_eq!(other.unread, Some(Bytes::new(5000)));
        assert_eq!(reading.at, Instant::from_nanos(9));
        assert_eq!(reading.state, Some(1));
        assert_eq!(reading.bytes_sent, Some(Bytes::new(5000)));
        assert!(reading.sndbuf > Some(Bytes::new(4096)));
        assert!(reading.cwnd() > Some(Bytes::new(1000)));
    }

    #[test]
    fn words_that_an_older_kernel_lacks_are_unknown() {
        let sampler = Sampler::default();
        let reading = sampler.of_octets(Instant::ZERO, &[1; 104], &[]);
        assert_eq!(reading.state, Some(1));
        assert!(reading.total_retrans.is_some());
        assert_eq!((reading.pacing_rate, reading.rcvbuf), (None, None));
    }
}
