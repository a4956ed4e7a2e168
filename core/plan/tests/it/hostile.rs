//! No input makes the reader panic, and every finding has a place in the text.

use gigatcp_plan::{Diagnostic, Diagnostics, Place, parse};
use proptest::prelude::*;

const PLANS: [&str; 4] = [
    include_str!("../../../../experiments/fink-slow-start/plan.toml"),
    include_str!("../../../../experiments/dumbbell/plan.toml"),
    include_str!("../../../../experiments/single-flow/plan.toml"),
    r#"
name = "all"
duration = "20 s"
[[path.forward]]
rate = "1 Gbit/s"
queue = "1 BDP"
loss = "0.1 %"
lose_packets = [1, 2]
reorder = 0.1
reorder_delay = "1 ms"
[[path.reverse]]
delay = "10 ms"
[sender]
sack = false
rto_min = "1 s"
cpu = { per_byte_copied = "450 ps" }
link = { packet_rate = "1000 packet/s" }
[[flow]]
count = 3
start_step = "1 s"
bytes = "1 GB"
slow_start = "limited"
[[flow]]
window = "1 MB"
[tester]
omit = "1 s"
[[series]]
name = "a"
[[series]]
name = "b"
fit_of = "a"
fitted = ["flow.window"]
set = { "flow.1.window" = "2 MB", sender.mtu = 9000 }
"#,
];

/// Fragments of plans, and text that breaks them.
const PIECES: [&str; 36] = [
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "#",
    "-",
    "1e999",
    "0x",
    "nan",
    "inf",
    "true",
    "99999999999999999999999999999999999999999999",
    "\"-1 s\"",
    "\"1 BDP\"",
    "2007-05-10",
    "\u{0}",
    "é",
    "\u{feff}",
    "name",
    "flow",
    "path.forward",
    "[[series]]\nname = \"a\"\n",
    "set",
    "\"1e400 Gbit/s\"",
    "\"%\"",
    "count = 10000\n",
    "\r\n",
];

fn check_place(findings: &Diagnostics, place: &Place) {
    let text = findings.text_of(place.source);
    assert!(
        text.get(place.span.clone()).is_some(),
        "{place:?} of {} bytes",
        text.len()
    );
    let (line, column) = findings.line_column_of(place);
    assert!(line >= 1 && column >= 1);
}

/// Reads it and checks that every finding can be printed.
fn read(bytes: &[u8], overrides: &[String]) {
    let findings = match parse("plan.toml", bytes, overrides) {
        Ok(plan) => {
            assert!(!plan.series.is_empty());
            for series in &plan.series {
                let run = &series.scenario;
                assert!(!run.flows.is_empty() && !run.forward.is_empty());
                assert!(
                    run.forward
                        .iter()
                        .chain(&run.reverse)
                        .all(|hop| hop.check().is_ok())
                );
            }
            plan.warnings
        }
        Err(findings) => {
            assert!(!findings.list.is_empty());
            findings
        }
    };
    for Diagnostic {
        place,
        related,
        message,
        ..
    } in &findings.list
    {
        check_place(&findings, place);
        related
            .iter()
            .for_each(|(place, _)| check_place(&findings, place));
        assert!(!message.is_empty());
    }
    let _ = findings.to_string();
}

/// Generates a change of a text: position, bytes removed, text inserted.
fn mutation() -> impl Strategy<Value = (prop::sample::Index, usize, &'static str)> {
    (
        any::<prop::sample::Index>(),
        0..20usize,
        prop::sample::select(&PIECES[..]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes, &[]);
    }

    #[test]
    fn any_text_and_override_are_read_without_panic(text in ".{0,200}", change in ".{0,60}") {
        read(text.as_bytes(), &[change]);
    }

    #[test]
    fn any_mixture_of_pieces_is_read_without_panic(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
    ) {
        read(pieces.concat().as_bytes(), &[]);
    }

    #[test]
    fn a_broken_plan_is_read_without_panic(
        plan in prop::sample::select(&PLANS[..]),
        mutations in prop::collection::vec(mutation(), 1..6),
    ) {
        let mut bytes = plan.as_bytes().to_vec();
        for (at, taken, put) in mutations {
            let start = at.index(bytes.len() + 1);
            let end = (start + taken).min(bytes.len());
            bytes.splice(start..end, put.bytes());
        }
        read(&bytes, &[]);
    }

    #[test]
    fn a_plan_with_any_override_is_read_without_panic(
        plan in prop::sample::select(&PLANS[..]),
        words in prop::collection::vec(prop::sample::select(&[
            "path", "forward", "flow", "sender", "cpu", "link", "series", "set", "0", "1", "a",
            "nuttcp", "rate", "window", "count", "name", "duration", "", "x",
        ][..]), 1..5),
        value in prop_oneof![prop::sample::select(&PIECES[..]).prop_map(str::to_owned), ".{0,20}"],
    ) {
        read(plan.as_bytes(), &[format!("{}={value}", words.join("."))]);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
    ] {
        read(text.as_bytes(), std::slice::from_ref(&text));
        read(PLANS[1].as_bytes(), &[text]);
    }
    read(
        PLANS[1].as_bytes(),
        &[format!("{}=1", "a.".repeat(100_000))],
    );
}

#[test]
fn a_plan_cannot_ask_for_more_flows_than_memory_holds() {
    let mut text = PLANS[1].to_owned() + "\n[[flow]]\nname = \"more\"\ncount = 9000\n";
    for n in 0..900 {
        text += &format!("[[series]]\nname = \"s{n}\"\n");
    }
    let findings = parse("p", text.as_bytes(), &[]).unwrap_err();
    assert!(
        findings.to_string().contains("all series together"),
        "{findings}"
    );
    let many = PLANS[1].to_owned() + "\n[[flow]]\ncount = 10000\n";
    let findings = parse("p", many.as_bytes(), &[]).unwrap_err();
    assert!(
        findings.to_string().contains("the plan has 10100 flows"),
        "{findings}"
    );
}

#[test]
fn thousands_of_mistakes_are_all_found_in_reasonable_time() {
    let lines: String = (0..20_000).map(|n| format!("key{n} = {n}\n")).collect();
    let findings = parse("p", lines.as_bytes(), &[]).unwrap_err();
    assert_eq!(findings.list.len(), 20_002);
}
