//! Captures of a case by `tcpdump`, and their processing afterward.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::RawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::corpus::Place;
use super::facts::CaptureFacts;
use super::process::{Running, Start, spawn};
use crate::draw::Draw;

/// Maximum delay of captured packets in the kernel before `tcpdump` sees them. libpcap's timeout
/// is 1 s. A capture ended sooner lacks its end.
pub const BLOCK: Duration = Duration::from_millis(1100);

/// A running `tcpdump`.
#[derive(Debug)]
pub struct Tap {
    place: Place,
    running: Running,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Tap {
    /// Starts capturing on an interface, into `at`, and waits until it does.
    ///
    /// # Errors
    /// If `tcpdump` does not start.
    pub fn start(
        place: Place,
        namespace: RawFd,
        interface: &str,
        at: &Path,
        is_nano: bool,
    ) -> Result<Self, String> {
        let precision = if is_nano { "nano" } else { "micro" };
        let mut command = Command::new("tcpdump");
        command.args([
            "-i", interface, "-s", "128", "-B", "32768", "-n", "-Z", "root",
        ]);
        command.arg(format!("--time-stamp-precision={precision}"));
        command.arg("-w").arg(at.join(place.file())).arg("ip");
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let start = Start {
            nice: -12,
            ..Start::default()
        };
        let mut child =
            spawn(&mut command, namespace, &start).map_err(|error| format!("tcpdump: {error}"))?;
        let stderr = child.stderr.take().ok_or("tcpdump has no stderr")?;
        let mut tap = Self {
            place,
            running: Running {
                child,
                name: "tcpdump".into(),
            },
            stderr: BufReader::new(stderr),
        };
        let mut line = String::new();
        while tap.stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.contains("listening on") {
                return Ok(tap);
            }
        }
        tap.running.wait(Duration::from_secs(1));
        Err(format!("tcpdump: {}", line.trim()))
    }

    /// Ends the capture and returns its packet counts.
    pub fn finish(mut self) -> (Place, CaptureFacts) {
        self.running.signal(libc::SIGINT);
        let mut facts = CaptureFacts::default();
        let mut line = String::new();
        while self.stderr.read_line(&mut line).is_ok_and(|read| read > 0) {
            let first = line.split_whitespace().next().unwrap_or_default();
            let number = first.parse().unwrap_or(0);
            if line.contains("packets captured") || line.contains("packet captured") {
                facts.packets = number;
            } else if line.contains("dropped by kernel") {
                facts.dropped = number;
            }
            line.clear();
        }
        self.running.wait(Duration::from_secs(5));
        (self.place, facts)
    }
}

/// Removes random packets of a classic pcap file. Returns the number removed.
///
/// # Errors
/// If the file cannot be read or written.
pub fn thin(path: &Path, probability: f64, seed: u64) -> std::io::Result<u64> {
    let bytes = fs::read(path)?;
    let mut kept = bytes.get(..24).unwrap_or_default().to_vec();
    let mut draw = Draw::new(seed);
    let (mut at, mut removed, mut number) = (24, 0, 0_u64);
    while let Some(header) = bytes.get(at..at + 16) {
        let length = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let end = (at + 16 + length).min(bytes.len());
        number += 1;
        // The handshake stays: a capture that begins late is a separate case.
        if number > 10 && draw.chance(probability) {
            removed += 1;
        } else {
            kept.extend_from_slice(&bytes[at..end]);
        }
        at = end;
    }
    fs::write(path, kept)?;
    Ok(removed)
}

/// Compresses a file and removes the original.
pub fn compress(path: &Path) -> Result<(), String> {
    let mut command = Command::new("zstd");
    command.args(["-q", "-8", "--rm", "-f"]).arg(path);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("zstd {}: {status}", path.display())),
        Err(error) => Err(format!("zstd: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_capture_is_one_that_lacks_as_many_packets_as_were_removed() {
        let at = std::env::temp_dir().join(format!("gigatcp-thin-{}", std::process::id()));
        let mut bytes = vec![0_u8; 24];
        for number in 0..1000_u32 {
            let length = 4 + number % 5;
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(&length.to_ne_bytes());
            bytes.extend_from_slice(&length.to_ne_bytes());
            bytes.resize(bytes.len() + length as usize, 7);
        }
        fs::write(&at, &bytes).unwrap();
        let removed = thin(&at, 0.1, 3).unwrap();
        let kept = fs::read(&at).unwrap();
        fs::remove_file(&at).unwrap();
        assert!((50..200).contains(&removed), "{removed}");
        let (mut position, mut count) = (24, 0);
        while let Some(header) = kept.get(position..position + 16) {
            position += 16 + u32::from_ne_bytes(header[8..12].try_into().unwrap()) as usize;
            count += 1;
        }
        assert_eq!(position, kept.len());
        assert_eq!(count + removed, 1000);
    }
}
