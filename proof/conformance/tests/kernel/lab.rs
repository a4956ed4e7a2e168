//! Test network namespaces on the running kernel. Without the privilege to create one, each test
//! prints that with a hint and proves nothing.

use super::loud;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use gigatcp_conformance::kernel::{
    DEVICE, LOCAL_V4, LOCAL_V6, REMOTE_V4, REMOTE_V6, Sent, TestNetns, TestNetnsConfig, settings,
};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    Endpoints, Flags, IpHeader, Options, Segment, SeqNumber, WireWindow, append_packet,
    decode_packet,
};

const MS: i64 = 1_000_000;

/// Runs `work` in a test network namespace, or prints loudly why it cannot.
fn in_lab<T: Send>(work: impl FnOnce(&mut TestNetns) -> T + Send) -> Option<T> {
    match TestNetns::run(&TestNetnsConfig::default(), work) {
        Ok(done) => Some(done),
        Err(error) if error.is_missing_privilege() => {
            loud::skip(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A packet from the other end at `remote`, port 4000, to port 8080.
fn from_remote(remote: IpAddr, local: IpAddr, change: impl FnOnce(&mut Segment<Bytes>)) -> Vec<u8> {
    let mut segment = Segment {
        src_port: 4000,
        dst_port: 8080,
        wnd: WireWindow(1000),
        ..Segment::default()
    };
    change(&mut segment);
    let header = IpHeader::new(Endpoints::new(remote, local).unwrap());
    let mut octets = Vec::new();
    append_packet(&header, &segment, &mut octets).unwrap();
    octets
}

fn decoded(sent: Sent) -> Segment<Bytes> {
    let (_, segment) = decode_packet(&sent.octets).unwrap();
    segment.map_payload(Bytes::copy_from_slice)
}

/// Next TCP segment that the kernel sends within 100 ms.
fn next(lab: &mut TestNetns) -> (i64, Segment<Bytes>) {
    let until = lab.now_ns() + 100 * MS;
    let sent = lab.receive(until).unwrap().expect("the kernel answers");
    (sent.at_ns, decoded(sent))
}

fn shakes_hands(remote: IpAddr, local: IpAddr) {
    in_lab(|lab| {
        let listener = TcpListener::bind((local, 8080)).unwrap();
        lab.begin();
        lab.sleep_until_ns(20 * MS);
        let syn = from_remote(remote, local, |syn| {
            syn.flags = Flags::SYN;
            syn.seq = SeqNumber::new(u32::MAX - 5);
            syn.options = Options {
                mss: Some(1000),
                ..Options::default()
            };
        });
        lab.inject(&syn).unwrap();
        let (at, answer) = next(lab);
        assert!(
            (20 * MS..40 * MS).contains(&at),
            "the answer left when the SYN came: {at} ns"
        );
        assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
        assert_eq!(answer.ack, SeqNumber::new(u32::MAX - 4));
        let ack = from_remote(remote, local, |ack| {
            ack.flags = Flags::ACK;
            ack.seq = answer.ack;
            ack.ack = answer.seq + 1;
        });
        lab.inject(&ack).unwrap();
        let (stream, from) = listener.accept().unwrap();
        assert_eq!((from.ip(), from.port()), (remote, 4000));
        drop(stream);
        let (_, fin) = next(lab);
        assert_eq!(fin.flags, Flags::FIN | Flags::ACK);
    });
}

#[test]
fn the_kernel_shakes_hands_over_ipv4() {
    shakes_hands(REMOTE_V4.into(), LOCAL_V4.into());
}

#[test]
fn the_kernel_shakes_hands_over_ipv6() {
    shakes_hands(REMOTE_V6.into(), LOCAL_V6.into());
}

#[test]
fn the_kernel_repeats_its_syn_after_a_second() {
    in_lab(|lab| {
        lab.begin();
        let dial = || {
            let to = (IpAddr::from(REMOTE_V4), 8080).into();
            TcpStream::connect_timeout(&to, Duration::from_millis(1300))
        };
        // The thread is started inside, so it runs inside.
        let dialling = std::thread::spawn(dial);
        let (first_at, first) = next(lab);
        assert_eq!(first.flags.without(Flags::ECE | Flags::CWR), Flags::SYN);
        let until = lab.now_ns() + 1_200 * MS;
        let second = lab.receive(until).unwrap().expect("a second SYN");
        let waited = second.at_ns - first_at;
        assert!(
            (996 * MS..1_200 * MS).contains(&waited),
            "a second and the lateness of the timer wheel: {waited} ns"
        );
        assert_eq!(decoded(second).seq, first.seq);
        assert!(dialling.join().unwrap().is_err());
    });
}

#[test]
fn settings_and_devices_stay_inside() {
    let sack = settings::read("net.ipv4.tcp_sack").unwrap();
    let inside = in_lab(|_| {
        settings::write("net.ipv4.tcp_sack", "0").unwrap();
        let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        assert!(devices.contains(DEVICE), "{devices}");
        assert!(!devices.contains("eth"), "no way out: {devices}");
        settings::read("net.ipv4.tcp_sack").unwrap()
    });
    assert!(inside.is_none_or(|inside| inside == "0"));
    assert_eq!(settings::read("net.ipv4.tcp_sack").unwrap(), sack);
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    assert!(!devices.contains(DEVICE), "{devices}");
}

#[test]
fn two_laboratories_know_nothing_of_each_other() {
    in_lab(|_| {
        let _mine = TcpListener::bind((IpAddr::from(LOCAL_V4), 8080)).unwrap();
        let again = in_lab(|_| TcpListener::bind((IpAddr::from(LOCAL_V4), 8080)).map(drop));
        assert!(again.unwrap().is_ok(), "the port is free in the other one");
    });
}

#[test]
fn a_panic_inside_comes_out_and_leaves_nothing() {
    let panicked = std::panic::catch_unwind(|| {
        in_lab(|_| panic!("the work failed"));
    });
    let skipped = panicked.is_ok();
    if skipped {
        loud::say("SKIPPED, NOTHING PROVEN: no laboratory");
    }
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    assert!(!devices.contains(DEVICE), "{devices}");
}
