//! The captures in packages of Debian.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::correction::Correction;
use crate::flag::{WiresharkFlag, WiresharkFlags};
use crate::reasons::{Disagreement, REASONS};
use crate::{Said, debian_captures, ours, tshark};

/// A capture, with both results for its frames.
struct Compared {
    name: String,
    frames: Vec<Frame>,
    /// Frames in which only this analysis finds TCP.
    alone: u64,
}

/// A frame in which both find TCP.
struct Frame {
    number: u64,
    ours: Said,
    theirs: WiresharkFlags,
}

/// Compares every capture with TCP; `None` if the captures or tshark are missing.
fn compare() -> Option<Vec<Compared>> {
    let paths = debian_captures::all()?;
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
fn flags_of_tshark_agree_with_kinds_or_differ_for_a_listed_reason() {
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
            let place = format!("{} frame {}", capture.name, frame.number);
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

/// Each wrong flag, and each kind without a flag.
fn disagreements<'a>(capture: &'a str, frame: &Frame) -> Vec<Disagreement<'a>> {
    let kinds = frame.ours.kinds;
    let Some(found) = Correction::of(&frame.theirs, kinds) else {
        return Vec::new();
    };
    let of = |wrong: Option<WiresharkFlag>, missing| Disagreement {
        capture,
        wrong,
        missing,
        kinds,
        packet: frame.ours.observed,
    };
    let wrong = found.wrong.iter().map(|flag| of(Some(*flag), None));
    let missing = found.instead.iter().map(|kind| of(None, Some(*kind)));
    wrong.chain(missing).collect()
}

#[test]
fn every_disagreement_with_tshark_is_in_the_notes() {
    let notes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notes/tshark.md");
    let notes = fs::read_to_string(notes).unwrap();
    for (name, _) in REASONS {
        assert!(notes.contains(&format!("`{name}`")), "{name}");
    }
}
