//! Reads a capture with an independent reader: tshark, the command-line Wireshark.
//!
//! For tests: a capture that only its own writer can read proves nothing. tshark is searched on
//! `PATH`. If it is missing, every function returns `None`, and a test prints that it was skipped
//! and why.
//!
//! Payload is read as plain data on all ports, since dummy payload on the port of a known protocol
//! would count as malformed. The relevant settings are passed to tshark; the user's own preferences
//! apply to the rest.
//!
//! tshark infers retransmissions and reordering from times and sequence numbers. Its inference is
//! right for plain losses, but not always.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::InterfaceId;

/// tshark's counts of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TsharkCounts {
    /// Packets in all.
    pub packets: u64,
    /// Malformed packets, without those cut by a snap length.
    pub malformed: u64,
    /// Packets with a wrong IPv4 or TCP checksum. The TCP checksum of a cut packet is not verified.
    pub bad_checksum: u64,
    /// Segments classified as retransmissions, fast and spurious ones included.
    pub retransmissions: u64,
    /// Segments classified as out of order. A retransmission within milliseconds of its loss may be
    /// among them.
    pub out_of_order: u64,
}

/// Why an installed tshark gave no result.
#[derive(Debug)]
pub enum ReaderError {
    /// The program could not be run.
    Run {
        /// The program.
        program: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The program refused the capture.
    Refused {
        /// The capture.
        capture: PathBuf,
        /// Error output of the program.
        complaint: String,
    },
    /// The program's output is not what was expected.
    Answer {
        /// The line that was not understood.
        line: String,
    },
}

impl fmt::Display for ReaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { program, .. } => write!(f, "cannot run {}", program.display()),
            Self::Refused { capture, complaint } => {
                write!(f, "tshark refused {}: {complaint}", capture.display())
            }
            Self::Answer { line } => write!(f, "tshark's line is not understood: {line:?}"),
        }
    }
}

impl std::error::Error for ReaderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Run { source, .. } => Some(source),
            Self::Refused { .. } | Self::Answer { .. } => None,
        }
    }
}

/// Returns the path of tshark, if it is installed.
#[must_use]
pub fn find_tshark() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(format!("tshark{}", env::consts::EXE_SUFFIX)))
        .find(|program| program.is_file())
}

/// Counts the packets of the file `capture` with tshark. `None` if tshark is missing.
///
/// If the capture has several capture points, every second sighting of a packet counts as a
/// retransmission. Use [`count_view_with_tshark`] for a single capture point.
///
/// # Errors
/// [`ReaderError`].
pub fn count_with_tshark(capture: &Path) -> Result<Option<TsharkCounts>, ReaderError> {
    let Some(program) = find_tshark() else {
        return Ok(None);
    };
    let mut command = counting_command(&program, capture.as_os_str().to_owned());
    let output = command
        .output()
        .map_err(|source| ReaderError::Run { program, source })?;
    counts_from(&output, capture).map(Some)
}

/// Counts the packets of one interface of the file `capture` with tshark. `None` if tshark is
/// missing.
///
/// # Errors
/// [`ReaderError`].
pub fn count_view_with_tshark(
    capture: &Path,
    view: InterfaceId,
) -> Result<Option<TsharkCounts>, ReaderError> {
    let Some(program) = find_tshark() else {
        return Ok(None);
    };
    // A filter hides packets but does not exclude them from the analysis. One tshark therefore
    // extracts the interface and a second one counts.
    let run_error = |source| ReaderError::Run {
        program: program.clone(),
        source,
    };
    let mut cutter = Command::new(&program)
        .args(["-n", "-r"])
        .arg(capture)
        .args(["-Y", &format!("frame.interface_id == {}", view.index())])
        .args(["-w", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(run_error)?;
    let cut = cutter.stdout.take().expect("its output is piped");
    let counted = counting_command(&program, "-".into()).stdin(cut).output();
    let cutter = cutter.wait_with_output().map_err(run_error)?;
    if !cutter.status.success() {
        return Err(refusal(&cutter, capture));
    }
    counts_from(&counted.map_err(run_error)?, capture).map(Some)
}

/// Returns a command that prints one line per packet. It has the fields of [`PacketLine`],
/// separated by `;`.
fn counting_command(program: &Path, capture: OsString) -> Command {
    let mut command = Command::new(program);
    command.arg("-n").arg("-r").arg(capture);
    for setting in [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "tcp.analyze_sequence_numbers:TRUE",
        "tcp.desegment_tcp_streams:FALSE",
        "tcp.try_heuristic_first:FALSE",
    ] {
        command.args(["-o", setting]);
    }
    command.args([
        "-d",
        "tcp.port==0-65535,data",
        "-T",
        "fields",
        "-E",
        "separator=;",
    ]);
    for field in [
        "_ws.malformed",
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.analysis.retransmission",
        "tcp.analysis.out_of_order",
    ] {
        command.args(["-e", field]);
    }
    command.stdin(Stdio::null());
    command
}

fn refusal(output: &Output, capture: &Path) -> ReaderError {
    ReaderError::Refused {
        capture: capture.to_owned(),
        complaint: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    }
}

fn counts_from(output: &Output, capture: &Path) -> Result<TsharkCounts, ReaderError> {
    if !output.status.success() {
        return Err(refusal(output, capture));
    }
    let mut counts = TsharkCounts::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        counts.add_line(line)?;
    }
    Ok(counts)
}

impl TsharkCounts {
    fn add_line(&mut self, line: &str) -> Result<(), ReaderError> {
        let fields: Vec<&str> = line.split(';').collect();
        let [
            malformed,
            ip_checksum,
            tcp_checksum,
            retransmission,
            out_of_order,
        ] = fields[..]
        else {
            return Err(ReaderError::Answer {
                line: line.to_owned(),
            });
        };
        // Wireshark's checksum states: 0 bad, 1 good, 2 unverified.
        let is_bad = |status: &str| status.split(',').any(|status| status == "0");
        self.packets += 1;
        self.malformed += u64::from(!malformed.is_empty());
        self.bad_checksum += u64::from(is_bad(ip_checksum) || is_bad(tcp_checksum));
        self.retransmissions += u64::from(!retransmission.is_empty());
        self.out_of_order += u64::from(!out_of_order.is_empty());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_their_fields() {
        let mut counts = TsharkCounts::default();
        for line in [";1;1;;", "Malformed;1;2;;", ";0;1;1;", ";;0;;1", ";1;2;;"] {
            counts.add_line(line).unwrap();
        }
        let expected = TsharkCounts {
            packets: 5,
            malformed: 1,
            bad_checksum: 2,
            retransmissions: 1,
            out_of_order: 1,
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_line_of_another_shape_is_an_error_that_shows_it() {
        let error = TsharkCounts::default().add_line("nonsense").unwrap_err();
        assert_eq!(
            error.to_string(),
            "tshark's line is not understood: \"nonsense\""
        );
    }
}
