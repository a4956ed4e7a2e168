//! Programs that people use, over the simulated network: `docs/guide/net-crates.md` has their lines.

mod axum;
mod hyper;
mod kernel;
mod redis;
mod rustls;
mod tonic;
mod websocket;

const PAGE: &str = include_str!("../../../../docs/guide/net-crates.md");

const SOURCES: [&str; 6] = [
    include_str!("axum.rs"),
    include_str!("hyper.rs"),
    include_str!("redis.rs"),
    include_str!("rustls.rs"),
    include_str!("tonic.rs"),
    include_str!("websocket.rs"),
];

/// The lines of a text, without their indentation.
fn lines(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().to_owned() + "\n");
    lines.collect()
}

#[test]
fn page_has_lines_of_these_programs() {
    let blocks: Vec<&str> = PAGE.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 4);
    for block in blocks {
        let code = lines(block.split("```").next().unwrap());
        let is_tested = SOURCES.iter().any(|source| lines(source).contains(&code));
        assert!(is_tested, "not tested:\n{code}");
    }
}
