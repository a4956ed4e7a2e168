//! Conversations for unit tests, packet by packet, and the resulting sender views.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use gigatcp_flows::{Observed, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber};

use crate::Watcher;
use crate::exchange::Exchange;
use crate::sender_view::SenderView;

/// MSS of the handshake.
pub(crate) const MSS: u32 = 1000;

/// Packets of one connection. The client's data begins at sequence number 1, and so
/// does the server's.
#[derive(Clone, Default, Debug)]
pub(crate) struct Conversation {
    pub packets: Vec<Observed>,
}

impl Conversation {
    /// Opens a connection at `at_us`. `to_server` and `to_client` are the RTTs from the capture
    /// point, in us.
    pub fn opened(to_server: u64, to_client: u64) -> Self {
        let mut all = Self::default();
        all.say(0, Side::Client, 0, 0, 0).flags = Flags::SYN;
        all.say(to_server, Side::Server, 0, 1, 0).flags = Flags::SYN | Flags::ACK;
        for packet in &mut all.packets {
            packet.mss = Some(MSS as u16);
            packet.window_scale = Some(7);
            packet.sack_permitted = true;
        }
        all.say(to_server + to_client, Side::Client, 1, 1, 0);
        all
    }

    /// Appends a packet, which the caller may change.
    pub fn say(&mut self, at_us: u64, from: Side, seq: u32, ack: u32, len: u32) -> &mut Observed {
        let client = Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(192, 0, 2, 2),
        };
        let is_client = from == Side::Client;
        let (src_port, dst_port) = if is_client { (4000, 80) } else { (80, 4000) };
        self.packets.push(Observed {
            at: Instant::ZERO + Duration::from_secs(1) + Duration::from_micros(at_us),
            endpoints: if is_client { client } else { client.reversed() },
            src_port,
            dst_port,
            seq: SeqNumber::new(seq),
            ack: SeqNumber::new(ack),
            flags: Flags::ACK,
            wnd: 4000,
            urgent: 0,
            payload_len: len,
            options_len: 0,
            ecn: Ecn::NotEct,
            ident: 0,
            timestamps: None,
            sack: SackBlocks::default(),
            mss: None,
            window_scale: None,
            sack_permitted: false,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        });
        self.packets.last_mut().expect("it was just pushed")
    }

    /// A watcher that has processed all packets.
    pub fn watched(&self) -> Watcher {
        let mut watcher = Watcher::new(1);
        for (number, packet) in (1..).zip(&self.packets) {
            watcher.handle_packet(number, packet);
        }
        watcher
    }

    /// Sender view of that side, with all rounds closed.
    pub fn sender_view(&self, side: Side) -> Box<SenderView> {
        let (sender_view, _) = self
            .watched()
            .followed(0)
            .finished_view(side)
            .expect("data");
        sender_view
    }

    /// Its requests and responses.
    pub fn exchange(&self) -> Exchange {
        self.watched().followed(0).exchange
    }
}

pub(crate) fn sack(left: u32, right: u32) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    let (left, right) = (SeqNumber::new(left), SeqNumber::new(right));
    blocks.try_push(SackBlock { left, right });
    blocks
}
