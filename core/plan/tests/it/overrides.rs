//! Overrides and series change the plan; overrides take precedence.

use gigatcp_plan::{Diagnostics, Plan, Scenario, Source, Stop, parse};
use gigatcp_units::{Bytes, Duration};

const PLAN: &str = r#"
name = "x"
path = { rate = "1 Gbit/s", rtt = "20 ms" }

[[flow]]
name = "one"
congestion_control = "reno"

[[flow]]
name = "two"
start = "1 s"

[[series]]
name = "a"

[[series]]
name = "b"
set = { "flow.congestion_control" = "reno", "flow.two.start" = "2 s", "path.rtt" = "40 ms" }

[[series]]
name = "c"
[series.set]
sender.mtu = 9000
sender.cpu = { per_packet_sent = "3 us" }
flow.0.window = "1 MB"
"#;

fn with(overrides: &[&str]) -> Result<Plan, Diagnostics> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    parse("plan.toml", PLAN.as_bytes(), &overrides)
}

fn runs(overrides: &[&str]) -> [Scenario; 3] {
    let plan = with(overrides).unwrap_or_else(|findings| panic!("{findings}"));
    let runs: Vec<Scenario> = plan
        .series
        .into_iter()
        .map(|series| series.scenario)
        .collect();
    runs.try_into().unwrap()
}

fn controls(run: &Scenario) -> Vec<&str> {
    run.flows
        .iter()
        .map(|flow| flow.congestion.name())
        .collect()
}

#[test]
fn a_series_changes_what_it_sets_and_nothing_else() {
    let [a, b, c] = runs(&[]);
    assert_eq!(controls(&a), ["reno", "cubic"]);
    assert_eq!(controls(&b), ["reno", "reno"]);
    assert_eq!(
        b.flows.iter().map(|flow| flow.start).max(),
        Some(Duration::from_secs(2))
    );
    assert_eq!(b.base_rtt(), Duration::from_millis(40));
    assert_eq!(a.base_rtt(), Duration::from_millis(20));
    assert_eq!(
        (a.sender.mtu, c.sender.mtu, c.receiver.mtu),
        (1500, 9000, 1500)
    );
    assert_eq!(c.sender.costs.per_packet_sent, Duration::from_micros(3));
    assert_eq!(c.flows[0].send_buffer, Some(Bytes::new(1_000_000)));
    assert_eq!(c.flows[1].send_buffer, None);
}

#[test]
fn an_override_wins_over_every_series() {
    let all = runs(&["flow.congestion_control=cubic-2.6.20", "path.rtt=5 ms"]);
    for run in &all {
        assert_eq!(controls(run), ["cubic-2.6.20", "cubic-2.6.20"]);
        assert_eq!(run.base_rtt(), Duration::from_millis(5));
    }
}

#[test]
fn an_override_picks_a_table_of_a_list_by_name_or_number() {
    let [a, ..] = runs(&["flow.two.congestion_control=reno", "flow.0.bytes=1 MB"]);
    assert_eq!(controls(&a), ["reno", "reno"]);
    assert_eq!(a.flows[0].stop, Stop::Bytes(Bytes::new(1_000_000)));
    assert_eq!(a.flows[1].stop, Stop::After(Duration::from_secs(10)));
}

#[test]
fn a_later_override_wins_over_an_earlier_one() {
    let plan = with(&["seed=3", "seed=4"]).unwrap();
    assert_eq!(plan.seed, 4);
}

#[test]
fn values_are_toml_or_else_text() {
    let cost = ["sender={ mtu = 9000, profile = 'linux-2.6.20' }"];
    assert_eq!(runs(&cost)[0].sender.profile.name, "linux-2.6.20");
    for spelling in [
        "path.rtt=5 ms",
        "path.rtt='5 ms'",
        "path.rtt = \"5 ms\" ",
        "path.rtt=5ms",
    ] {
        assert_eq!(
            runs(&[spelling])[0].base_rtt(),
            Duration::from_millis(5),
            "{spelling}"
        );
    }
    assert_eq!(runs(&["sender.mtu=9000"])[0].sender.mtu, 9000);
    assert!(!runs(&["sender.sack=false"])[0].sender.profile.recovery.sack);
    assert_eq!(with(&["title=a = b"]).unwrap().title, "a = b");
}

#[test]
fn an_override_can_change_a_series_itself() {
    let plan = with(&["series.b.title=other", "series.b.set.path.rtt=7 ms"]).unwrap();
    assert_eq!(plan.series[1].title, "other");
    assert_eq!(plan.series[1].scenario.base_rtt(), Duration::from_millis(7));
}

#[test]
fn an_override_makes_the_tables_it_needs() {
    let text = "name = \"x\"\npath = { rate = \"1 Gbit/s\", rtt = \"20 ms\" }\n";
    let overrides = ["flow.window=1 MB", "sender.link.rate=10 Gbit/s"].map(str::to_owned);
    let plan = parse("p", text.as_bytes(), &overrides).unwrap();
    let run = &plan.series[0].scenario;
    assert_eq!(run.flows[0].receive_buffer, Some(Bytes::new(1_000_000)));
    assert!(run.sender.link.is_some());
}

#[track_caller]
fn assert_refused(text: &str, place: &str, words: &str) {
    let findings = with(&["seed=1", text]).map(|_| ()).unwrap_err();
    let [finding] = &findings.list[..] else {
        panic!("{findings}")
    };
    assert_eq!(finding.place.source, Source::Override(1));
    assert_eq!(&text[finding.place.span.clone()], place);
    assert!(finding.message.contains(words), "{findings}");
}

#[test]
fn a_wrong_override_is_refused_at_its_place() {
    assert_refused(
        "flow.congestion_control=cubix",
        "cubix",
        "no congestion control `cubix`",
    );
    assert_refused("path.rtt = 5 sec", "sec", "not one of its units");
    assert_refused("sender.mtu=  1", "1", "below 68");
    assert_refused("sendr.mtu=9000", "sendr.mtu", "`sendr` is not a key");
    assert_refused("seed", "seed", "is not KEY=VALUE");
    assert_refused("", "", "is not KEY=VALUE");
    assert_refused("=3", "", "not a dotted key");
    assert_refused("path.=3", "path.", "not a dotted key");
    assert_refused("flow.7.bytes=1 MB", "flow.7.bytes", "`flow.7` is not a key");
    assert_refused("name.x=1", "name.x", "has no keys");
    assert_refused("path.rate=", "", "nothing is given");
}

#[test]
fn a_series_does_without_what_it_unsets() {
    let text = r#"
name = "x"
path = { rate = "1 Gbit/s", rtt = "20 ms", loss = 1e-3 }
[[flow]]
name = "a"
window = "1 MB"
[[flow]]
name = "b"
window = "2 MB"
[[series]]
name = "all"
[[series]]
name = "lossless"
unset = ["path.loss", "flow.b.window"]
[[series]]
name = "other-path"
unset = ["path"]
set = { path = { rate = "2 Gbit/s", rtt = "1 ms" } }
[[series]]
name = "no-windows"
unset = ["flow.window"]
"#;
    let plan = gigatcp_plan::parse("plan.toml", text.as_bytes(), &[]).expect("a valid plan");
    let [all, lossless, other, none] = &plan.series[..] else {
        panic!("four series")
    };
    let windows = |series: &gigatcp_plan::Series| -> Vec<bool> {
        let flows = series.scenario.flows.iter();
        flows.map(|flow| flow.receive_buffer.is_some()).collect()
    };
    let losses = |series: &gigatcp_plan::Series| series.scenario.forward[0].loss.len();
    assert_eq!((losses(all), windows(all)), (1, vec![true, true]));
    assert_eq!(
        (losses(lossless), windows(lossless)),
        (0, vec![true, false])
    );
    assert_eq!(losses(other), 0);
    assert_eq!(windows(none), [false, false]);
}
