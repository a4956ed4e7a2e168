//! What is said of captures, and of nothing else.

use gigatcp_analyze::{Capture, Diagnosis, Options, Source, diagnose_pairs};

use crate::draw::Draw;

/// A capture, as a file.
#[derive(Clone)]
pub struct Captured {
    pub octets: Vec<u8>,
    /// Chance that a packet of it is not looked at.
    pub loss: f64,
    /// Which ones.
    pub seed: u64,
}

impl Captured {
    /// All of it.
    pub const fn whole(octets: Vec<u8>) -> Self {
        Self {
            octets,
            loss: 0.0,
            seed: 0,
        }
    }
}

/// What is said of the capture alone.
pub fn diagnose(captured: Captured) -> Option<Diagnosis> {
    let capture = read(captured);
    capture.connections().diagnose(0)
}

/// What is said of the capture at the sender with that at the receiver.
pub fn diagnose_both(sender: Captured, receiver: Captured) -> Option<Diagnosis> {
    let captures = [read(sender), read(receiver)];
    let [near, far] = &captures;
    let options = Options::default();
    let pairs = diagnose_pairs([near, far], &[0], &options).expect("captures in memory");
    match pairs.into_iter().next() {
        Some(pair) => Some(pair.diagnosis),
        None => near.connections().diagnose(0),
    }
}

fn read(captured: Captured) -> Capture {
    let mut source = Source::bytes("capture", captured.octets.clone());
    if captured.loss > 0.0 {
        // A packet takes more octets of a file than this.
        let most = captured.octets.len() / 16;
        let mut draw = Draw::new(captured.seed);
        let is_kept: Vec<bool> = (0..most).map(|_| draw.unit() >= captured.loss).collect();
        source = source.keeping(move |number| {
            let index = number as usize - 1;
            is_kept.get(index).copied().unwrap_or(true)
        });
    }
    Capture::read(&source, &Options::default()).expect("a capture")
}
