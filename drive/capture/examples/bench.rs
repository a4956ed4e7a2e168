//! Benchmark workloads of `cargo xtask bench` that read captures, one per process.
//!
//!     cargo run --profile measure -p gigatcp-capture --example bench -- WORKLOAD[-PACKETS]
//!
//! | workload | what |
//! |---|---|
//! | `mapped` | every record of a mapped pcap file |
//! | `dissected` | the same, and the segment in each packet |
//! | `flows` | the same, and the analysis of each by `gigatcp-flows` |
//! | `streamed` | the records of the same file read as a stream |
//! | `pcapng` | the records of a mapped pcapng file |
//! | `gzip`, `zstd` | the records of packed pcap files, dissected |
//! | `text` | printed packets, a hundredth as many |
//! | `clean` | removes the files of that many packets |
//!
//! The file is created first if missing, in the system's directory for temporary files. It holds
//! one connection of full segments with an ACK per two segments. Each packet has timestamps and is
//! cut to 96 bytes, behind Ethernet and IPv4. Creating it is not measured. PACKETS is 8 million by
//! default.
//!
//! Prints one line of `key value` pairs: `wall_s`, `packets`, `ns_per_packet`,
//! `octets` of the file, and `sum`, which depends on every packet read. An
//! unknown workload is exit code 2.
//!
//! Expectation, computed before measuring: a record has about 97 bytes, so a core that reads 10
//! GB/s from memory gets one each 10 ns; all other work must overlap with that. A stream copies
//! each byte once more, which doubles the time at the same rate. The analysis (`flows`) compares a
//! key, advances two positions, and adds or removes a boundary of a ring. That is some 60 dependent
//! instructions, or 15 ns, in addition to the 15 ns for finding the segment.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use gigatcp_capture::CaptureReader;
use gigatcp_flows::{Connection, FlowTable, Observed, Side};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const WORKLOADS: [&str; 8] = [
    "mapped",
    "dissected",
    "flows",
    "streamed",
    "pcapng",
    "gzip",
    "zstd",
    "text",
];

fn main() -> Fallible<()> {
    let word = std::env::args().nth(1).unwrap_or_default();
    let (workload, packets) = match word.split_once('-') {
        Some((workload, packets)) => (workload, packets.parse()?),
        None => (&*word, 8_000_000),
    };
    if workload == "clean" {
        return clean(packets);
    }
    if !WORKLOADS.contains(&workload) {
        eprintln!(
            "bench: what is `{workload}`? known: {}",
            WORKLOADS.join(", ")
        );
        std::process::exit(2);
    }
    let path = file(workload, packets)?;
    let octets = fs::metadata(&path)?.len();
    let started = Instant::now();
    let mut reader = match workload {
        "streamed" => CaptureReader::from_reader(File::open(&path)?)?,
        _ => CaptureReader::open(&path)?,
    };
    let is_dissected = matches!(workload, "dissected" | "gzip" | "zstd" | "text");
    let sum = if workload == "flows" {
        analyse(&mut reader)?
    } else if is_dissected {
        dissect(&mut reader)?
    } else {
        read(&mut reader)?
    };
    let wall = started.elapsed().as_secs_f64();
    let read = reader.records();
    println!(
        "wall_s {wall} packets {read} ns_per_packet {} octets {octets} sum {sum}",
        wall * 1e9 / read as f64
    );
    Ok(())
}

/// Reads every record.
fn read(reader: &mut CaptureReader) -> Fallible<u64> {
    let mut sum = 0;
    while let Some(record) = reader.next_record()? {
        let time = record.time.map_or(0, |time| time.as_nanos());
        sum = time ^ (sum + u64::from(record.wire_len));
    }
    Ok(sum)
}

/// Reads every record and its segment.
fn dissect(reader: &mut CaptureReader) -> Fallible<u64> {
    let mut sum = 0;
    while let Some(record) = reader.next_record()? {
        let time = record.time.map_or(0, |time| time.as_nanos());
        if let Ok(segment) = record.dissect() {
            let val = segment.timestamps().map_or(0, |times| times.val);
            sum = time ^ (sum + u64::from(segment.seq.as_u32() ^ val ^ segment.payload_len));
        }
    }
    Ok(sum)
}

/// Reads every record and its segment, and analyzes it.
fn analyse(reader: &mut CaptureReader) -> Fallible<u64> {
    let mut table = FlowTable::new(1);
    let mut odd = 0;
    while let Some(record) = reader.next_record()? {
        let time = record.time.unwrap_or_default();
        if let Ok(segment) = record.dissect() {
            let verdict = table.handle_packet(&Observed::new(time, &segment));
            odd += u64::from(!verdict.kinds.is_empty());
        }
    }
    let sent = |found: &Connection| found.direction(Side::Client).unique_bytes();
    Ok(odd + table.connections().map(sent).sum::<u64>())
}

/// Capture of a workload, created if missing.
fn file(workload: &str, packets: u64) -> Fallible<PathBuf> {
    let form = match workload {
        "mapped" | "dissected" | "flows" | "streamed" => "pcap",
        other => other,
    };
    let path = place(form, packets);
    if path.exists() {
        return Ok(path);
    }
    // Written under another name until complete.
    let making = path.with_extension(format!("making-{}", std::process::id()));
    make(form, packets, &making)?;
    fs::rename(&making, &path)?;
    Ok(path)
}

fn place(form: &str, packets: u64) -> PathBuf {
    std::env::temp_dir().join(format!("gigatcp-bench-{packets}.{form}"))
}

fn clean(packets: u64) -> Fallible<()> {
    for form in ["pcap", "pcapng", "gzip", "zstd", "text"] {
        let path = place(form, packets);
        if path.exists() {
            fs::remove_file(path)?;
        }
    }
    println!("wall_s 0 packets 0");
    Ok(())
}

fn make(form: &str, packets: u64, path: &Path) -> Fallible<()> {
    let out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    match form {
        "pcap" => pcap(out, packets)?.flush()?,
        "pcapng" => pcapng(out, packets)?.flush()?,
        "gzip" => {
            let level = flate2::Compression::fast();
            let packer = flate2::write::GzEncoder::new(out, level);
            pcap(packer, packets)?.finish()?.flush()?;
        }
        "zstd" => {
            let plain = pcap(Vec::new(), packets)?;
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress(&plain[..], out, level);
        }
        _ => text(out, packets / 100)?.flush()?,
    }
    Ok(())
}

/// Packet `number`, its captured length, and its length on the wire. Of three packets, two carry
/// data and one is an ACK.
fn packet(number: u64) -> ([u8; 96], usize, u32) {
    let is_ack = number % 3 == 2;
    let sent = ((number / 3) * 2 + number % 3) as u32;
    let (len, wire) = if is_ack { (66, 66) } else { (96, 1514) };
    let mut octets = [0; 96];
    octets[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    octets[16..18].copy_from_slice(&(wire as u16 - 14).to_be_bytes());
    octets[18..20].copy_from_slice(&(number as u16).to_be_bytes());
    octets[22..24].copy_from_slice(&[64, 6]);
    let ends: [u8; 8] = if is_ack {
        [10, 0, 0, 2, 10, 0, 0, 1]
    } else {
        [10, 0, 0, 1, 10, 0, 0, 2]
    };
    octets[26..34].copy_from_slice(&ends);
    let ports: [u8; 4] = if is_ack {
        [20, 81, 156, 64]
    } else {
        [156, 64, 20, 81]
    };
    octets[34..38].copy_from_slice(&ports);
    let position = sent.wrapping_mul(1448).to_be_bytes();
    octets[if is_ack { 42..46 } else { 38..42 }].copy_from_slice(&position);
    octets[46..50].copy_from_slice(&[0x80, 0x10, 1, 0xf6]);
    octets[54..58].copy_from_slice(&[1, 1, 8, 10]);
    octets[58..62].copy_from_slice(&((number / 1000) as u32).to_be_bytes());
    (octets, len, wire)
}

fn pcap<W: Write>(mut out: W, packets: u64) -> Fallible<W> {
    let mut head = [0_u32; 6];
    head[0] = 0xa1b2_c3d4;
    head[1] = 0x0004_0002;
    head[4..6].copy_from_slice(&[96, 1]);
    for word in head {
        out.write_all(&word.to_le_bytes())?;
    }
    for number in 0..packets {
        let (octets, len, wire) = packet(number);
        let second = (number / 1_000_000) as u32;
        for word in [second, (number % 1_000_000) as u32, len as u32, wire] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(&octets[..len])?;
    }
    Ok(out)
}

fn pcapng<W: Write>(mut out: W, packets: u64) -> Fallible<W> {
    let words = |out: &mut W, words: &[u32]| -> std::io::Result<()> {
        words
            .iter()
            .try_for_each(|word| out.write_all(&word.to_le_bytes()))
    };
    let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    words(&mut out, &section)?;
    words(&mut out, &[1, 20, 1, 96, 20])?;
    for number in 0..packets {
        let (octets, len, wire) = packet(number);
        let padded = len.next_multiple_of(4);
        let total = 32 + padded as u32;
        let ticks = [(number >> 32) as u32, number as u32];
        words(
            &mut out,
            &[6, total, 0, ticks[0], ticks[1], len as u32, wire],
        )?;
        out.write_all(&octets[..padded])?;
        words(&mut out, &[total])?;
    }
    Ok(out)
}

fn text<W: Write>(mut out: W, packets: u64) -> Fallible<W> {
    for number in 0..packets {
        let (second, fraction) = (number / 1_000_000 % 60, number % 1_000_000);
        let seq = 1 + number * 1448 % 1_000_000_000;
        writeln!(
            out,
            "12:00:{second:02}.{fraction:06} IP 10.0.0.1.40000 > 10.0.0.2.5201: Flags [.], \
             seq {seq}:{}, ack 1, win 502, options [nop,nop,TS val {number} ecr 7], length 1448",
            seq + 1448
        )?;
    }
    Ok(out)
}
