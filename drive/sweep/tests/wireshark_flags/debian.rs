//! The captures in packages of Debian.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gigatcp_flows::{Correction, WiresharkFlag, WiresharkFlags};

use crate::reasons::{Disagreement, FLAGS_OF_OTHERS, REASONS};
use crate::{Said, names, ours, tshark};

/// A capture, and what both say of its frames.
struct Compared {
    name: String,
    frames: Vec<Frame>,
    /// TCP to one of us alone.
    alone: u64,
}

/// A frame in which both find TCP.
struct Frame {
    number: u64,
    ours: Said,
    theirs: WiresharkFlags,
}

/// All captures of a folder, and of those in it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

/// Every capture that has TCP; nothing where they or tshark are missing.
fn compare() -> Option<Vec<Compared>> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut paths = Vec::new();
    files(&target.join("debian-captures"), &mut paths);
    if paths.is_empty() {
        let line = "SKIPPED: no captures of Debian's packages in target/debian-captures, \
                    see `cargo xtask ci`\n";
        io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    let program = tshark::find()?;
    let compared = paths.iter().filter_map(|path| {
        let ours = ours(path);
        if ours.is_empty() {
            return None;
        }
        let mut theirs = tshark::flags(&program, path);
        let mut frames = Vec::new();
        let mut alone = 0;
        for (number, ours) in ours {
            match theirs.remove(&number) {
                Some(theirs) => frames.push(Frame {
                    number,
                    ours,
                    theirs,
                }),
                None => alone += 1,
            }
        }
        Some(Compared {
            name: path.file_name()?.to_string_lossy().into_owned(),
            frames,
            alone: alone + theirs.len() as u64,
        })
    });
    Some(compared.collect())
}

#[test]
fn packets_that_debian_has_have_the_flags_of_tshark_and_its_mistakes_have_reasons() {
    let Some(captures) = compare() else {
        return;
    };
    let (mut packets, mut alone, mut flagged) = (0, 0, 0);
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for capture in &captures {
        alone += capture.alone;
        for frame in &capture.frames {
            packets += 1;
            flagged += u64::from(!frame.theirs.is_empty());
            let (said, of_ours) = (names(frame.theirs), names(frame.ours.flags));
            let place = format!("{} frame {}", capture.name, frame.number);
            if said != of_ours {
                match FLAGS_OF_OTHERS.iter().find(|(_, fits)| fits(&capture.name)) {
                    Some((name, _)) => *reasons.entry(name).or_default() += 1,
                    None => {
                        unexplained.push(format!("{place}: tshark says [{said}], we [{of_ours}]"))
                    }
                }
            }
            for one in disagreements(&capture.name, frame) {
                match REASONS.iter().find(|(_, fits)| fits(&one)) {
                    Some((name, _)) => *reasons.entry(name).or_default() += 1,
                    None => unexplained.push(format!("{place}: {one:?}")),
                }
            }
        }
    }
    println!("{packets} packets, {flagged} with flags, {alone} of one of us alone; {reasons:#?}");
    for line in &unexplained {
        println!("{line}");
    }
    assert!(packets > 2000, "{packets}");
    assert_eq!(unexplained, [""; 0]);
}

/// Each flag that is wrong, and each kind that is not told.
fn disagreements<'a>(capture: &'a str, frame: &Frame) -> Vec<Disagreement<'a>> {
    let kinds = frame.ours.kinds;
    let Some(found) = Correction::of(frame.theirs, kinds) else {
        return Vec::new();
    };
    let of = |wrong: Option<WiresharkFlag>, missing| Disagreement {
        capture,
        wrong,
        missing,
        kinds,
        packet: frame.ours.observed,
    };
    let wrong = found.wrong.iter().map(|flag| of(Some(flag), None));
    let missing = found.instead.iter().map(|kind| of(None, Some(kind)));
    wrong.chain(missing).collect()
}

#[test]
fn every_disagreement_with_tshark_is_in_the_notes() {
    let notes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notes/tshark.md");
    let notes = fs::read_to_string(notes).unwrap();
    let flags = FLAGS_OF_OTHERS.iter().map(|(name, _)| *name);
    for name in flags.chain(REASONS.iter().map(|(name, _)| *name)) {
        assert!(notes.contains(&format!("`{name}`")), "{name}");
    }
}
