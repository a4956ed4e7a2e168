//! Lookups of names, and the addresses in their answers.

use core::net::IpAddr;

use super::*;

const NAME: &[u8] = b"\x05files\x07example\x03net\x00";
const CLIENT: [u8; 4] = [192, 0, 2, 1];
const SERVER: [u8; 4] = [192, 0, 2, 53];

/// A packet of UDP with a message about [`NAME`]: flags, and the records of an answer.
fn message(ports: [u16; 2], flags: u16, records: &[&[u8]]) -> Vec<u8> {
    let counts = [0, 1, 0, records.len() as u8, 0, 0, 0, 0];
    let head = with(
        &[&[0x12, 0x34], &flags.to_be_bytes(), &counts, NAME],
        &[0, 1, 0, 1],
    );
    let octets = with(&[&head], &records.concat());
    let len = (octets.len() as u16 + 8).to_be_bytes();
    let ports = ports.map(u16::to_be_bytes).concat();
    let udp = with(&[&ports, &len, &[0, 0]], &octets);
    let total = (udp.len() as u16 + 20).to_be_bytes();
    let (src, dst) = if flags & 0x8000 == 0 {
        (CLIENT, SERVER)
    } else {
        (SERVER, CLIENT)
    };
    let front = [0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0];
    with(&[&front, &src, &dst], &udp)
}

fn read(octets: &[u8]) -> Option<NameMessage<'_>> {
    dissect_name_message(LinkType::RAW, octets, octets.len() as u32)
}

/// A record whose name points to the question: type, and data.
fn record(kind: u8, data: &[u8]) -> Vec<u8> {
    let head = [0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, data.len() as u8];
    with(&[&head], data)
}

#[test]
fn question_and_answer_name_the_host_that_asks_and_the_addresses() {
    let asked = message([40_000, 53], 0x0100, &[]);
    let question = read(&asked).expect("a question");
    assert_eq!(
        (question.client, question.is_answer, question.name),
        (CLIENT.into(), false, NAME)
    );

    let asked = Question {
        server: SERVER.into(),
        id: 0x1234,
        kind: 1,
    };
    assert_eq!(question.question, asked);

    // An alias, its address, and one of the other version.
    let alias = record(5, NAME);
    let (v4, v6) = (record(1, &SERVER), record(28, &[0x20; 16]));
    let told = message([53, 40_000], 0x8180, &[&alias, &v4, &v6]);
    let answer = read(&told).expect("an answer");
    assert_eq!(
        (answer.client, answer.is_answer, answer.name),
        (CLIENT.into(), true, NAME)
    );
    assert_eq!(answer.question, asked);
    let addresses: Vec<IpAddr> = answer.addresses().collect();
    assert_eq!(addresses, [IpAddr::from(SERVER), IpAddr::from([0x20; 16])]);

    for len in 0..told.len() {
        let cut = dissect_name_message(LinkType::RAW, &told[..len], told.len() as u32);
        let found = cut.map_or(0, |cut| cut.addresses().count());
        assert!(found <= 2, "{len} octets");
    }
}

#[test]
fn packet_on_another_port_or_with_a_broken_name_is_no_lookup() {
    assert_eq!(read(&message([40_000, 5_353], 0x0100, &[])), None);
    assert_eq!(
        read(&message([40_000, 53], 0x8180, &[])),
        None,
        "an answer to port 53"
    );
    assert_eq!(read(&message([40_000, 53], 0x2800, &[])), None, "an update");
    let mut broken = message([40_000, 53], 0x0100, &[]);
    broken[40] = 0x80;
    assert_eq!(read(&broken), None, "a label of 128 octets");
    assert_eq!(read(&ip_packet(V4)), None);
}
