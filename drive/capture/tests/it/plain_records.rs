//! Records returned in batches equal those returned one by one, and so do their notes.

use gigatcp_capture::{CaptureReader, Note};
use gigatcp_units::Instant;
use gigatcp_wire::link::LinkType;
use proptest::prelude::*;

type Seen = (u64, Instant, u32, LinkType, Vec<u8>);

/// Generates a file of records: clock step, length, bytes cut, and a corrupted header byte.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let record = (0_u8..40, 1_u32..90, 0_u32..9, 0_u8..60);
    let order = prop_oneof![4 => Just(true), 1 => Just(false)];
    (prop::collection::vec(record, 0..60), order, 0_usize..200).prop_map(
        |(records, is_little, missing)| {
            let put = |value: u32| {
                if is_little {
                    value.to_le_bytes()
                } else {
                    value.to_be_bytes()
                }
            };
            let mut octets = Vec::new();
            octets.extend(put(0xa1b2_c3d4));
            let version = if is_little { 0x0004_0002 } else { 0x0002_0004 };
            for word in [version, 0, 0, 96, 1] {
                octets.extend(put(word));
            }
            let mut second = 1_000_000;
            for (step, len, cut, harm) in records {
                match step {
                    0 => second -= 3,
                    1 => second += 1,
                    _ => {}
                }
                let at = octets.len();
                for word in [second, u32::from(step), len, len + cut] {
                    octets.extend(put(word));
                }
                octets.extend((0..len).map(|octet| octet as u8));
                if usize::from(harm) < 8 {
                    octets[at + 4 + usize::from(harm)] ^= 0x55;
                }
            }
            // The end may be missing.
            let whole = octets.len();
            octets.truncate(if missing < 60 {
                (whole - missing.min(whole)).max(24)
            } else {
                whole
            });
            octets
        },
    )
}

fn read(octets: &[u8], at_once: Option<u64>) -> (Vec<Seen>, Vec<Note>, u64, u64) {
    let mut reader = CaptureReader::from_octets(octets.to_vec()).expect("a capture");
    let mut seen: Vec<Seen> = Vec::new();
    loop {
        if let Some(refused) = at_once {
            reader.next_plain(|record| {
                // Some are left to the other function.
                let takes = record.number % refused != 0;
                if takes {
                    let octets = record.octets.to_vec();
                    seen.push((
                        record.number,
                        record.time,
                        record.wire_len,
                        record.link,
                        octets,
                    ));
                }
                takes
            });
        }
        let Some(record) = reader.next_record().expect("memory can be read") else {
            break;
        };
        let (time, octets) = (record.time.expect("pcap has times"), record.octets.to_vec());
        seen.push((record.number, time, record.wire_len, record.link, octets));
    }
    let notes = reader.notes().iter().cloned().collect();
    (seen, notes, reader.records(), reader.offset())
}

proptest! {
    #[test]
    fn many_at_once_are_the_same_as_one_by_one(octets in file(), refused in 2_u64..20) {
        prop_assert_eq!(read(&octets, Some(refused)), read(&octets, None));
    }
}
