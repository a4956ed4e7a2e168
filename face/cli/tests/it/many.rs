//! Captures of very many connections, as JSON.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A capture (pcap, plain IPv4) of `connections` connections. Each has a handshake, data and its
/// acknowledgment.
fn many(connections: u32) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for index in 0..connections {
        let client = [10, (index >> 16) as u8, (index >> 8) as u8, index as u8];
        let (here, there) = ((client, 40_000), ([192, 0, 2, 1], 80));
        let at = index * 100;
        let mut put = |after, from, to, seq, ack, flags, data| {
            segment(&mut file, at + after, [from, to], [seq, ack], flags, data);
        };
        put(0, here, there, 1, 0, 0x02, 0);
        put(30, there, here, 9, 2, 0x12, 0);
        put(40, here, there, 2, 10, 0x18, 1_000);
        put(70, there, here, 10, 1_002, 0x10, 0);
    }
    file
}

/// Appends a record, in which the payload is cut off.
fn segment(
    file: &mut Vec<u8>,
    micros: u32,
    ends: [([u8; 4], u16); 2],
    numbers: [u32; 2],
    flags: u8,
    data: u16,
) {
    let [from, to] = ends;
    for word in [1_700_000_000 + micros / 1_000_000, micros % 1_000_000, 40] {
        file.extend(word.to_le_bytes());
    }
    file.extend(u32::from(40 + data).to_le_bytes());
    file.extend([0x45, 0]);
    file.extend((40 + data).to_be_bytes());
    file.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    file.extend(from.0);
    file.extend(to.0);
    file.extend(from.1.to_be_bytes());
    file.extend(to.1.to_be_bytes());
    for number in numbers {
        file.extend(number.to_be_bytes());
    }
    file.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
}

/// Output of the command, and its peak memory in KiB. The memory is read before the last bytes of
/// the output, so that the command has not ended.
fn printed(words: &[&str], folder: &Path) -> (Vec<u8>, u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut out = child.stdout.take().expect("its output");
    let (mut text, mut most) = (Vec::new(), 0);
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = out.read(&mut piece).expect("it is read");
        if read == 0 {
            break;
        }
        text.extend(&piece[..read]);
        most = peak(child.id()).unwrap_or(most);
    }
    assert!(child.wait().expect("it ends").success());
    (text, most)
}

/// Peak memory of a process, if the system provides it.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn json_of_very_many_connections_is_written_as_it_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let count = 20_000;
    fs::write(folder.path().join("many.pcap"), many(count)).expect("the capture is written");
    // The connections themselves are part of the number; their JSON would take 30 kB each.
    for (words, each_kib) in [
        (&["flows", "--json", "many.pcap"][..], 2),
        (&["why", "--json", "--all", "many.pcap"], 9),
    ] {
        let (text, most) = printed(words, folder.path());
        let room = 24 << 10;
        let limit = room + u64::from(count) * each_kib;
        assert!(most < limit, "{words:?}: {most} KiB of {limit}");
        // Parsed and written again, the text is the same: keys are sorted.
        let value: Value = serde_json::from_slice(&text).expect("it is JSON");
        let listed = value["captures"][0]["connections"].as_array();
        assert_eq!(listed.map(Vec::len), Some(count as usize));
        let again = serde_json::to_string_pretty(&value).expect("it is written");
        assert!(again.as_bytes() == &text[..text.len() - 1], "{words:?}");
    }
}

#[test]
fn of_a_thousand_short_connections_one_is_answered_and_the_rest_are_summed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("many.pcap"), many(1_000)).expect("the capture is written");
    let why = |words: &[&str]| {
        let words = [&["why", "many.pcap"], words].concat();
        String::from_utf8(printed(&words, folder.path()).0).expect("UTF-8")
    };
    let text = why(&[]);
    assert_eq!(text.matches("\n  Details   ").count(), 1, "{text}");
    assert!(text.lines().count() < 20, "{text}");
    let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let rest = "999 connections of less than 10 kB not shown (999 kB in all: connection-setup ";
    assert!(words.contains(rest), "{text}");
    assert!(words.ends_with("; -v lists them."), "{text}");
    let listed = why(&["-v"]);
    assert_eq!(listed.matches(" > 192.0.2.1:80\n").count(), 999);
}

#[test]
fn nothing_is_written_where_one_of_several_captures_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.pcap"), many(2)).expect("the capture is written");
    fs::write(folder.path().join("b.pcap"), "no capture").expect("a file");
    for command in ["flows", "why"] {
        for files in [
            ["a.pcap", "b.pcap", "a.pcap"],
            ["b.pcap", "a.pcap", "a.pcap"],
            ["a.pcap", "gone-b.pcap", "a.pcap"],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_gigatcp"))
                .args([command, "--json"])
                .args(files)
                .current_dir(folder.path())
                .output()
                .expect("the command starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains("b.pcap"), "{said}");
            assert!(output.stdout.is_empty());
        }
    }
}
