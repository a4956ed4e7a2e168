//! A small connection as seen at its sender: handshake, ten data segments of which two are lost,
//! SACK, one fast retransmission, one after a timeout, FIN.

use std::net::{Ipv4Addr, Ipv6Addr};

use gigatcp_capture::{CaptureError, InterfaceId, PcapngWriter};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{
    Endpoints, Flags, IpHeader, Options, Phantom, SackBlock, SackBlocks, Segment, SeqNumber,
    Timestamps, WireWindow,
};

/// Retransmissions in the connection.
pub const RETRANSMISSIONS: u64 = 2;
/// Packets in the connection: handshake 3, data 10 and 2 retransmissions, ACKs 10, close 3.
pub const PACKETS: u64 = 28;
/// Bytes of data in each data segment.
pub const SEGMENT_SIZE: u16 = 1448;

/// Initial sequence number of the side that sends data. It is near the end of the sequence space,
/// so that it wraps.
pub const CLIENT_ISS: SeqNumber = SeqNumber::new(u32::MAX - 3000);
const SERVER_ISS: SeqNumber = SeqNumber::new(7000);
const CLIENT_PORT: u16 = 40_001;
// A port of a protocol known to readers: dummy payload must not be read as that protocol.
const SERVER_PORT: u16 = 80;

pub const V4: Endpoints = Endpoints::V4 {
    src: Ipv4Addr::new(10, 0, 0, 1),
    dst: Ipv4Addr::new(10, 0, 1, 2),
};
pub const V6: Endpoints = Endpoints::V6 {
    src: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    dst: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 2),
};

/// The connection being written, with the state both ends need.
pub struct Connection<'a> {
    writer: &'a mut PcapngWriter<Vec<u8>>,
    view: InterfaceId,
    endpoints: Endpoints,
    now: Instant,
    ident: u16,
}

type Written = Result<(), CaptureError>;

impl<'a> Connection<'a> {
    pub fn new(
        writer: &'a mut PcapngWriter<Vec<u8>>,
        view: InterfaceId,
        endpoints: Endpoints,
    ) -> Self {
        let (now, ident) = (Instant::ZERO, 0);
        Self {
            writer,
            view,
            endpoints,
            now,
            ident,
        }
    }

    /// Writes the whole connection.
    pub fn write(mut self) -> Written {
        self.handshake()?;
        for index in 0..6 {
            self.data(index)?;
        }
        self.wait_ms(20);
        // Segment 2 is lost.
        self.acknowledge(1, &[])?;
        self.acknowledge(2, &[])?;
        for end in 4..=6 {
            self.acknowledge(2, &[(3, end)])?;
        }
        self.writer.comment_next("fast retransmission")?;
        self.data(2)?;
        self.wait_ms(20);
        self.acknowledge(6, &[])?;
        // Segment 9 is lost, and no later segment reveals it.
        for index in 6..10 {
            self.data(index)?;
        }
        self.wait_ms(20);
        for end in 7..=9 {
            self.acknowledge(end, &[])?;
        }
        self.wait_ms(300);
        self.writer.comment_next("retransmission after a timeout")?;
        self.data(9)?;
        self.wait_ms(20);
        self.acknowledge(10, &[])?;
        self.close()
    }

    fn handshake(&mut self) -> Written {
        let syn = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            ..self.timestamps()
        };
        self.send(
            Flags::SYN,
            CLIENT_ISS,
            SeqNumber::new(0),
            syn.clone(),
            Phantom::default(),
        )?;
        self.wait_ms(20);
        let syn = Options {
            timestamps: self.timestamps().timestamps,
            ..syn
        };
        self.receive(Flags::SYN | Flags::ACK, SERVER_ISS, CLIENT_ISS + 1, syn)?;
        self.send_control(Flags::ACK, CLIENT_ISS + 1, SERVER_ISS + 1)
    }

    fn data(&mut self, index: u32) -> Written {
        let offset = index * u32::from(SEGMENT_SIZE);
        let payload = Phantom {
            offset: offset.into(),
            len: SEGMENT_SIZE.into(),
        };
        let flags = Flags::ACK | Flags::PSH;
        let seq = CLIENT_ISS + 1 + offset;
        self.send(flags, seq, SERVER_ISS + 1, self.timestamps(), payload)
    }

    /// Writes an ACK of the segments before `next` and of those in `sacked`.
    fn acknowledge(&mut self, next: u32, sacked: &[(u32, u32)]) -> Written {
        let start_of = |index: u32| CLIENT_ISS + 1 + index * u32::from(SEGMENT_SIZE);
        let mut sack = SackBlocks::default();
        for &(first, end) in sacked {
            let (left, right) = (start_of(first), start_of(end));
            assert!(sack.try_push(SackBlock { left, right }));
        }
        let options = Options {
            sack,
            ..self.timestamps()
        };
        self.receive(Flags::ACK, SERVER_ISS + 1, start_of(next), options)
    }

    fn close(&mut self) -> Written {
        let end = CLIENT_ISS + 1 + 10 * u32::from(SEGMENT_SIZE);
        self.send_control(Flags::FIN | Flags::ACK, end, SERVER_ISS + 1)?;
        self.wait_ms(20);
        let options = self.timestamps();
        self.receive(Flags::FIN | Flags::ACK, SERVER_ISS + 1, end + 1, options)?;
        self.send_control(Flags::ACK, end + 1, SERVER_ISS + 2)
    }

    fn timestamps(&self) -> Options {
        let val = 1000 + (self.now.as_nanos() / 1_000_000) as u32;
        Options {
            timestamps: Some(Timestamps { val, ecr: 0 }),
            ..Options::default()
        }
    }

    fn wait_ms(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    fn send_control(&mut self, flags: Flags, seq: SeqNumber, ack: SeqNumber) -> Written {
        let options = self.timestamps();
        self.send(flags, seq, ack, options, Phantom::default())
    }

    fn send(
        &mut self,
        flags: Flags,
        seq: SeqNumber,
        ack: SeqNumber,
        options: Options,
        payload: Phantom,
    ) -> Written {
        let segment = Segment {
            src_port: CLIENT_PORT,
            dst_port: SERVER_PORT,
            seq,
            ack,
            flags,
            wnd: WireWindow(502),
            options,
            payload,
            ..Segment::default()
        };
        self.put(self.endpoints, &segment)
    }

    fn receive(
        &mut self,
        flags: Flags,
        seq: SeqNumber,
        ack: SeqNumber,
        options: Options,
    ) -> Written {
        let segment = Segment {
            src_port: SERVER_PORT,
            dst_port: CLIENT_PORT,
            seq,
            ack,
            flags,
            wnd: WireWindow(501),
            options,
            ..Segment::default()
        };
        self.put(self.endpoints.reversed(), &segment)
    }

    fn put(&mut self, endpoints: Endpoints, segment: &Segment<Phantom>) -> Written {
        let ip = IpHeader {
            ident: self.ident,
            ..IpHeader::new(endpoints)
        };
        self.writer
            .write_segment(self.view, self.now, &ip, segment)?;
        self.ident += 1;
        self.now += Duration::from_micros(12);
        Ok(())
    }
}
