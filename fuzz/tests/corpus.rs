//! Replays the inputs found by the fuzzers, and some random octets.

use std::path::Path;

use gigatcp_fuzz::octets::Random;
use gigatcp_fuzz::{endpoint, engine, targets};

#[test]
fn every_input_of_the_corpora_is_survived() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in targets::ALL {
        let folder = corpora.join(target.name);
        let listing = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for entry in listing.flatten() {
            let octets = std::fs::read(entry.path()).expect("a file of the corpus");
            (target.feed)(&octets);
            count += 1;
        }
        assert!(count > 0, "{} has no corpus", target.name);
    }
}

#[test]
fn random_octets_are_survived() {
    let mut random = Random(1);
    let mut octets = vec![0; 4096];
    for round in 0..400 {
        random.fill(&mut octets);
        for target in targets::ALL {
            let most = 1 + round * 10;
            (target.feed)(&octets[..most.min(octets.len())]);
        }
    }
}

#[test]
fn random_choices_deliver_octets_that_are_compared() {
    let mut random = Random(7);
    let mut octets = vec![0; 2000];
    let mut delivered = 0;
    for _ in 0..40 {
        random.fill(&mut octets);
        delivered += engine::drive_with_octets(&octets).delivered;
    }
    assert!(delivered > 10_000, "{delivered} octets");
}

#[test]
fn two_endpoints_deliver_what_was_written_whatever_the_path_does_to_packets() {
    let mut random = Random(11);
    let mut octets = vec![0; 3000];
    let mut delivered = 0;
    for _ in 0..60 {
        random.fill(&mut octets);
        delivered += endpoint::drive(&octets);
    }
    assert!(delivered > 1_000_000, "{delivered} octets");
}
