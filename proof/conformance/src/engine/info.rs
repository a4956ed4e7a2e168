//! `tcp_info` of a connection: [`gigatcp_tcp::connection::Info::tcp_info`], and what it leaves out.
//!
//! | word | here |
//! |---|---|
//! | `tcpi_reordering` | `DupThresh`, or how far reordering was seen to reach, if that is more; RACK waits for a time instead |
//! | `tcpi_pacing_rate` | -1, all bits, where nothing bounds it |
//! | `SK_MEMINFO_...` | the two buffers; what counts the kernel's own structures is missing |

use alloc::vec::Vec;

use super::descriptor::{File, SocketState};
use super::host::Host;
use crate::stack::Unsupported;

impl Host {
    pub fn info(&self, fd: i64) -> Result<Vec<(&'static str, i64)>, Unsupported> {
        let Some(File::Socket(socket)) = self.files.get(&fd) else {
            return Err(Unsupported::new("tcp_info", "of a closed descriptor"));
        };
        match socket.state {
            SocketState::Fresh => Ok(Vec::from([("tcpi_state", 7)])),
            SocketState::Listening => Ok(Vec::from([("tcpi_state", 10)])),
            SocketState::Open(index) => Ok(self.info_of(index)),
        }
    }

    pub(super) fn info_of(&self, index: usize) -> Vec<(&'static str, i64)> {
        let conn = &self.transport.connections[index];
        let info = conn.tcp.info();
        let limits = conn.tcp.limits(self.transport.clock());
        let unlimited = info.pacing_rate.is_none();
        let threshold = i64::from(self.transport.setup.profile.recovery.dup_thresh);
        let extent = info.reordering_extent.as_u64();
        let reordering = extent.div_ceil(u64::from(info.smss.max(1))) as i64;
        // The SYN is one octet and, with its data, one segment.
        let outcome = conn.tcp.fast_open_outcome();
        let in_syn = outcome.map_or(0, |outcome| u64::from(outcome.text_acked));
        let delivered = info.delivered.as_u64();
        let syn = delivered.min(1);
        let data = (delivered - syn).saturating_sub(in_syn);
        let delivered = syn + data.div_ceil(u64::from(info.smss.max(1)));
        let unsent = conn.tcp.unsent() + u64::from(conn.held);
        // Of two values of a word the later one is used.
        info.tcp_info(&conn.tcp.counters(), &limits)
            .chain(unlimited.then_some(("tcpi_pacing_rate", -1)))
            .chain([
                ("SK_MEMINFO_SNDBUF", info.send_buffer.as_u64() as i64),
                ("SK_MEMINFO_RCVBUF", info.receive_buffer.as_u64() as i64),
                ("SK_MEMINFO_BACKLOG", 0),
                ("SK_MEMINFO_DROPS", 0),
                ("tcpi_reordering", threshold.max(reordering)),
                ("tcpi_delivered", delivered as i64),
                ("tcpi_notsent_bytes", unsent as i64),
            ])
            .chain(conn.times.words(self.transport.now()))
            .collect()
    }
}
