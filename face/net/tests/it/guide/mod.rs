//! The code of `docs/guide/net.md`: it is compiled and run, and the page has the same text.

mod hosts;
mod mended;
mod naive;

const PAGE: &str = include_str!("../../../../../docs/guide/net.md");

/// The code of a file as the page has it: without its description and the attribute that expects
/// the failure.
fn code(file: &str) -> String {
    let lines = file
        .lines()
        .filter(|line| !line.starts_with("//!") && !line.starts_with("#[should_panic"));
    let text: Vec<&str> = lines.collect();
    text.join("\n").trim().to_owned()
}

#[test]
fn page_has_the_code_that_is_tested() {
    for file in [
        include_str!("naive.rs"),
        include_str!("mended.rs"),
        include_str!("hosts.rs"),
    ] {
        assert!(
            PAGE.contains(&code(file)),
            "not on the page:\n{}",
            code(file)
        );
    }
}

#[test]
fn failing_test_is_mended_within_60_lines() {
    let first = PAGE.find("```rust").unwrap();
    let mended = code(include_str!("mended.rs"));
    let end = PAGE.find(&mended).unwrap() + mended.len();
    let lines = PAGE[first..end].lines();
    let code: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    assert!(code.len() <= 120, "{} lines", code.len());
}
