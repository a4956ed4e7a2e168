//! Axes of sweeps and series: parsing, expansion and error messages.

use gigatcp_plan::axis::{Amount, Axis, Condition, Expression, Setting};
use gigatcp_plan::template::canonical;
use gigatcp_plan::{NoFiles, Template, parse};

const PLAN: &str = r#"
name = "x"
path = { rate = "100 Mbit/s", rtt = "20 ms" }
flow = { duration = "1 s", window = "1 MB" }
"#;

fn labels(text: &str) -> Vec<String> {
    let axis = Axis::read(text).unwrap_or_else(|misread| panic!("{misread:?}"));
    axis.levels.into_iter().map(|level| level.label).collect()
}

fn values(text: &str) -> Vec<Vec<String>> {
    let text_of = |setting: &Setting| match setting {
        Setting::Text(text) => text.clone(),
        Setting::Computed(expression) => format!("= {}", expression.text()),
    };
    let levels = Axis::read(text).unwrap().levels.into_iter();
    let values = levels.map(|level| level.values.iter().map(text_of).collect());
    values.collect()
}

#[test]
fn levels_are_listed_or_a_range_of_four_significant_digits() {
    let rtt = labels("path.rtt=10ms, 20 ms");
    assert_eq!(rtt, ["10ms", "20 ms"]);
    let log = labels("path.rtt = 10..160 ms log 5");
    assert_eq!(log, ["10 ms", "20 ms", "40 ms", "80 ms", "160 ms"]);
    assert_eq!(labels("path.loss=1e-6..1e-4 log 5")[1], "3.162e-6");
    assert_eq!(labels("path.loss=0..0.1 linear 3"), ["0", "0.05", "0.1"]);
    let step = labels("path.rtt=10 ms..50 ms step 15 ms");
    assert_eq!(step, ["10 ms", "25 ms", "40 ms"]);
    // Rounding must not lose the last level: 3 * 0.1 is more than 0.3.
    assert_eq!(labels("path.loss=0..0.3 step 0.1").len(), 4);
    assert_eq!(labels("flow.window=1 kB..1 MB"), ["0.001 MB", "1 MB"]);
}

#[test]
fn levels_of_whole_numbers_are_whole() {
    let mtu = labels("sender.mtu=576..9000 log 4");
    assert_eq!(mtu, ["576", "1440", "3600", "9000"]);
    let setting = labels("sender.initial_window=1..10 linear 4");
    assert_eq!(setting, ["1", "4", "7", "10"]);
}

#[test]
fn keys_vary_together_with_one_value_or_one_each() {
    let mtu = values("sender.mtu+receiver.mtu=1500,9000");
    assert_eq!(mtu, [["1500", "1500"], ["9000", "9000"]]);
    let paths = values("path.rate+path.rtt=lan: (1 Gbit/s, 1 ms), (10 Mbit/s, 80 ms)");
    assert_eq!(paths, [["1 Gbit/s", "1 ms"], ["10 Mbit/s", "80 ms"]]);
    let paths = labels("path.rate+path.rtt=lan: (1 Gbit/s, 1 ms), (10 Mbit/s, 80 ms)");
    assert_eq!(paths, ["lan", "10 Mbit/s, 80 ms"]);
    let queues = values("path.queue='100 packets','fq_codel, 1000 packets'");
    assert_eq!(queues, [["100 packets"], ["fq_codel, 1000 packets"]]);
}

#[test]
fn values_that_name_a_key_are_computed() {
    let computed = values("flow.window=0.5*bdp, 64 KiB, path.rate*path.rtt");
    assert_eq!(
        computed,
        [["= 0.5*bdp"], ["64 KiB"], ["= path.rate*path.rtt"]]
    );
    let value_of = |name: &str| match name {
        "path.rate" => Amount::read("80 Mbit/s"),
        "path.rtt" => Amount::read("20 ms"),
        _ => None,
    };
    let evaluated = |text: &str| -> Result<String, String> {
        let axis = Axis::read(&format!("flow.window={text}")).unwrap();
        let Setting::Computed(expression) = &axis.levels[0].values[0] else {
            panic!("{text} is not computed");
        };
        let expression: &Expression = expression;
        Ok(expression.evaluate(&value_of)?.text().unwrap_or_default())
    };
    assert_eq!(evaluated("2 * path.rate*path.rtt").unwrap(), "400000 B");
    assert_eq!(
        evaluated("path.rate*path.rtt + 64 KiB").unwrap(),
        "265536 B"
    );
    assert_eq!(
        evaluated("min(path.rate*path.rtt, 10 kB)").unwrap(),
        "10000 B"
    );
    assert_eq!(evaluated("path.rtt/2 - 1 ms").unwrap(), "9000000 ns");
    assert_eq!(
        evaluated("(path.rtt + 20 ms) * 100 Mbit/s").unwrap(),
        "500000 B"
    );
    assert!(
        evaluated("path.rtt + 64 KiB")
            .unwrap_err()
            .contains("dimensions")
    );
    assert!(
        evaluated("2 * bdp")
            .unwrap_err()
            .contains("`bdp` is not a quantity")
    );
    assert_eq!(evaluated("path.rtt * path.rtt").unwrap(), "");
}

#[test]
fn what_is_wrong_with_an_axis_is_said_where_it_is() {
    let wrong = |text: &str| {
        let misread = Axis::read(text).unwrap_err();
        let part = text.get(misread.span).unwrap_or("?").to_owned();
        (part, misread.why, misread.nearest.unwrap_or_default())
    };
    let (part, why, nearest) = wrong("path.rt=1 ms");
    assert_eq!((part.as_str(), nearest.as_str()), ("path.rt", "path.rtt"));
    assert!(why.contains("no such key"), "{why}");
    assert_eq!(wrong("rtt=1 ms").2, "path.rtt");
    assert_eq!(wrong("flow.congestion=cubic").2, "flow.congestion_control");
    assert_eq!(wrong("sender.sak=true").2, "sender.sack");
    assert!(wrong("path.rtt").1.contains("no `=`"));
    assert!(wrong("path.rtt=1 ms,,2 ms").1.contains("nothing"));
    assert!(wrong("path.rtt=1 ms,1 ms").1.contains("two levels"));
    assert!(
        wrong("path.rtt=9 ms..1 ms log 3")
            .1
            .contains("before it begins")
    );
    assert!(wrong("path.rtt=0 ms..1 ms log 3").1.contains("above 0"));
    assert!(wrong("path.rtt=1 ms..1 kB log 3").1.contains("two units"));
    assert!(
        wrong("path.rtt=1 ms..2 ms log x")
            .1
            .contains("whole number")
    );
    assert!(
        wrong("path.rate+path.rtt=(1 Gbit/s)")
            .1
            .contains("1 values for 2")
    );
    assert!(wrong("flow.window=2 bdp").1.contains("not a number"));
    assert!(wrong("flow.window=2 * (bdp").1.contains("`)` is missing"));
    assert!(wrong("seed=1,2").1.contains("no key that can vary"));
    assert!(wrong("path=1").1.contains("table"));
}

#[test]
fn hostile_axes_end_in_an_error_and_not_in_a_panic() {
    let deep = format!("flow.window={}bdp", "(".repeat(100_000));
    let wide = format!("path.rtt={}", "1..2,".repeat(1000));
    let texts = [
        &deep,
        &wide,
        "=",
        "",
        "+=",
        "path.rtt='",
        "path.rtt=1..2 log 9999999999",
    ];
    for text in texts {
        assert!(Axis::read(text).is_err(), "{}", &text[..text.len().min(40)]);
    }
}

#[test]
fn conditions_compare_quantities_and_words() {
    let text_of = |name: &str| match name {
        "path.rtt" => Some("20 ms".to_owned()),
        "flow.congestion_control" => Some("cubic".to_owned()),
        "bdp" => Some("250000 B".to_owned()),
        "flow.window" => Some("1 MB".to_owned()),
        _ => None,
    };
    let holds = |text: &str| {
        let all = Condition::read_all(text, 0).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        all.iter()
            .all(|condition| condition.holds(&text_of).unwrap())
    };
    assert!(holds("path.rtt=20ms and flow.congestion_control=cubic"));
    assert!(holds("path.rtt >= 0.02 s") && !holds("path.rtt > 20 ms"));
    assert!(holds("flow.congestion_control != bbr3"));
    assert!(holds("flow.window > 2*bdp") && !holds("flow.window > 4 * bdp"));
    assert!(!holds("path.loss = 0") && holds("path.loss != 0"));
    assert!(Condition::read_all("path.rtt", 0).is_err());
}

#[test]
fn a_series_with_axes_is_one_series_for_each_combination() {
    let text = format!(
        "{PLAN}\n[[series]]\nname = \"w{{1}}-{{#2}}\"\ntitle = \"{{1}}: {{=1}}\"\n\
         over = [\"flow.window = 4K: 4096 B, 1M: 1 MB\", \"path.rtt = 1..3 ms linear 3\"]\n\
         set = {{ \"path.loss\" = 0.1 }}\n"
    );
    let plan = parse("p", text.as_bytes(), &[]).unwrap_or_else(|wrong| panic!("{wrong}"));
    let names: Vec<&str> = plan
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["w4K-1", "w4K-2", "w4K-3", "w1M-1", "w1M-2", "w1M-3"]
    );
    let last = &plan.series[5];
    assert_eq!(last.title, "1M: 1 MB");
    assert_eq!(last.scenario.base_rtt().as_millis(), 3);
    let window = last.scenario.flows[0].send_buffer.unwrap();
    assert_eq!(window.as_u64(), 1_000_000);
    // The plan with the levels written out is the same.
    let out = format!(
        "{PLAN}\n[[series]]\nname = \"a\"\nset = {{ \"path.loss\" = 0.1, \
         \"flow.window\" = \"4096 B\", \"path.rtt\" = \"2 ms\" }}\n"
    );
    let out = parse("p", out.as_bytes(), &[]).unwrap();
    let both = [&plan.series[1], &out.series[0]].map(|series| format!("{:?}", series.scenario));
    assert_eq!(both[0], both[1]);
    let unknown = text.replace("path.rtt =", "path.rt =");
    let wrong = parse("p", unknown.as_bytes(), &[]).unwrap_err();
    let finding = wrong
        .list
        .iter()
        .find(|finding| finding.nearest.is_some())
        .unwrap();
    assert_eq!(finding.nearest.as_deref(), Some("path.rtt"));
    let place = &finding.place.span;
    assert_eq!(&unknown[place.clone()], "path.rt");
}

#[test]
fn a_cell_of_a_template_is_the_plan_with_the_same_overrides() {
    let base = ["flow.window=2 MB".to_owned()];
    let change = [
        "path.rtt=40ms".to_owned(),
        "flow.congestion_control=reno".to_owned(),
    ];
    let template = Template::read("p", PLAN.as_bytes(), &base, &NoFiles).unwrap();
    let cell = template.cell(0, &change, &NoFiles).unwrap();
    let all = [&base[..], &change[..]].concat();
    let plan = parse("p", PLAN.as_bytes(), &all).unwrap();
    let both = [&cell, &plan.series[0]].map(|series| format!("{series:?}"));
    assert_eq!(both[0], both[1]);
    assert_eq!(cell.scenario.bdp().unwrap().as_u64(), 500_000);
    let wrong = template
        .cell(0, &["path.rtt=40".to_owned()], &NoFiles)
        .unwrap_err();
    assert_eq!(wrong.text_of(wrong.list[0].place.source), "path.rtt=40");
}

#[test]
fn leaves_and_paths_name_the_same_places() {
    let text = "name = \"x\"\ntitle = \"y\"\npath = { rate = \"1 Gbit/s\", rtt = \"1ms\" }\n\
                [[flow]]\nwindow = \"1 MB\"\n[[flow]]\nname = \"b\"\n";
    let template = Template::read("p", text.as_bytes(), &[], &NoFiles).unwrap();
    let leaves = template.leaves(0);
    assert_eq!(leaves.get("flow.0.window").unwrap(), "1 MB");
    assert!(!leaves.contains_key("name") && !leaves.contains_key("title"));
    let both = template.paths(0, "flow.window");
    assert_eq!(both, ["flow.0.window", "flow.1.window"]);
    assert_eq!(template.paths(0, "flow.b.window"), ["flow.1.window"]);
    assert_eq!(template.paths(0, "sender.mtu"), ["sender.mtu"]);
    assert_eq!(canonical("10ms"), canonical("0.01 s"));
    assert_ne!(canonical("10 ms"), canonical("10 MB"));
    assert_ne!(canonical("10 ms"), canonical("0.01"));
}
