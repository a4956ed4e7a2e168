//! Directory of labeled captures, for graders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::label::Label;

/// Capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the sending host.
    Sender,
    /// On the receiving host.
    Receiver,
    /// On the path.
    Middle,
    /// By `gigatcp emulate`, on the sending host's side.
    Emulate,
}

/// File names without the compression suffix.
const FILES: [(Place, &str); 4] = [
    (Place::Sender, "sender.pcap"),
    (Place::Receiver, "receiver.pcap"),
    (Place::Middle, "middle.pcap"),
    (Place::Emulate, "emulate.pcapng"),
];

impl Place {
    /// File name of this capture point.
    pub fn file(self) -> &'static str {
        let found = FILES.iter().find(|(place, _)| *place == self);
        found.map_or("", |(_, name)| name)
    }
}

/// Case in its directory.
#[derive(Clone, Debug)]
pub struct CaseDir {
    /// Directory of the case.
    pub at: PathBuf,
    /// Label of the case.
    pub label: Label,
    /// Captures, compressed (`.zst`) or not.
    pub captures: Vec<(Place, PathBuf)>,
}

/// Directory of cases.
#[derive(Clone, Copy, Debug)]
pub struct Corpus;

impl Corpus {
    /// Reads the labels of all cases in a directory, sorted by name.
    ///
    /// # Errors
    /// If the directory or a label cannot be read.
    pub fn open(at: &Path) -> io::Result<Vec<CaseDir>> {
        let mut cases = Vec::new();
        for entry in fs::read_dir(at)? {
            let at = entry?.path();
            if at.join("label.json").exists() {
                cases.push(CaseDir::open(&at)?);
            }
        }
        cases.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(cases)
    }
}

impl CaseDir {
    /// Reads one case.
    ///
    /// # Errors
    /// If its label cannot be read.
    pub fn open(at: &Path) -> io::Result<Self> {
        let path = at.join("label.json");
        let text = fs::read_to_string(&path)?;
        let label = serde_json::from_str(&text).map_err(|error| {
            let what = format!("{}: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        let mut captures = Vec::new();
        for (place, name) in FILES {
            for name in [format!("{name}.zst"), name.to_owned()] {
                let path = at.join(name);
                if path.exists() {
                    captures.push((place, path));
                    break;
                }
            }
        }
        Ok(Self {
            at: at.to_owned(),
            label,
            captures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_lists_cases_with_the_captures_that_are_there() {
        let at = std::env::temp_dir().join(format!("gigatcp-corpus-{}", std::process::id()));
        let case = at.join("full-7");
        fs::create_dir_all(&case).unwrap();
        fs::create_dir_all(at.join("unfinished")).unwrap();
        let label = Label {
            family: "full".into(),
            seed: 7,
            ..Label::default()
        };
        let text = serde_json::to_string(&label).unwrap();
        fs::write(case.join("label.json"), text).unwrap();
        fs::write(case.join("receiver.pcap.zst"), b"").unwrap();
        let cases = Corpus::open(&at).unwrap();
        fs::remove_dir_all(&at).unwrap();
        assert_eq!(cases.len(), 1);
        assert_eq!(cases[0].label.seed, 7);
        assert_eq!(
            cases[0].captures,
            [(Place::Receiver, case.join("receiver.pcap.zst"))]
        );
    }
}
