//! The code of `docs/guide/net.md`: it is compiled and run, and the page has the same text.

mod fixed;
mod hosts;
mod naive;
mod project;

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

/// The part of the fixed test that differs from the failing one, apart from one line.
fn changed() -> String {
    let fixed = code(include_str!("fixed.rs"));
    let (changed, test) = fixed.split_once("#[gigatcp_net::test").unwrap();
    let line = "        assert_eq!(increment(&socket, expected).await?, expected);";
    assert!(test.contains(line) && PAGE.contains(line));
    changed.trim().to_owned()
}

#[test]
fn page_has_the_code_that_is_tested() {
    let naive = code(include_str!("naive.rs"));
    let hosts = code(include_str!("hosts.rs"));
    for code in [naive, changed(), hosts] {
        assert!(PAGE.contains(&code), "not on the page:\n{code}");
    }
}

#[test]
fn failing_test_and_its_correction_take_60_lines() {
    let both = code(include_str!("naive.rs")) + "\n" + &changed();
    let lines = both.lines().filter(|line| !line.trim().is_empty());
    assert!(lines.count() < 60);
}
