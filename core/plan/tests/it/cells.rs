//! Cells of a question, their changes, and their addresses.

use std::collections::BTreeSet;

use gigatcp_plan::design::address::Addresses;
use gigatcp_plan::design::space::Memory;
use gigatcp_plan::design::{Cell, Question, QuestionError, Space};
use gigatcp_plan::{NoFiles, Sweep, Template};

const PLAN: &str = r#"
name = "x"
path = { rate = "100 Mbit/s", rtt = "20 ms" }
flow = { duration = "1 s", window = "1 MB" }
"#;

fn template(text: &str) -> Template {
    Template::read("p", text.as_bytes(), &[], &NoFiles).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

fn asked(over: &[&str]) -> Sweep {
    Sweep {
        over: texts(over),
        ..Sweep::default()
    }
}

fn space_of(plan: &str, sweep: &Sweep) -> Result<Space, QuestionError> {
    let template = template(plan);
    let question = Question::of(template.plan(), sweep, None);
    Space::new(template, &question, &[])
}

fn cells(space: &Space) -> Vec<Cell> {
    let memory = Memory::default();
    let cells = (0..space.count()).filter_map(|number| space.cell(number, &NoFiles, &memory));
    cells.collect()
}

fn changes(space: &Space) -> Vec<String> {
    cells(space)
        .iter()
        .map(|cell| cell.overrides().join(" "))
        .collect()
}

#[test]
fn a_factorial_has_every_combination_and_the_last_axis_varies_fastest() {
    let sweep = asked(&[
        "path.rtt=10ms,20ms",
        "flow.congestion_control=cubic,reno,bbr3",
    ]);
    let space = space_of(PLAN, &sweep).unwrap();
    let changes = changes(&space);
    assert_eq!(changes.len(), 6);
    assert_eq!(changes[1], "path.rtt=10ms flow.congestion_control=reno");
    assert_eq!(changes[3], "path.rtt=20ms flow.congestion_control=cubic");
}

#[test]
fn computed_levels_follow_the_other_axes_of_their_cell() {
    let sweep = asked(&["flow.window=2*bdp", "path.rtt=10 ms,40 ms"]);
    let changes = changes(&space_of(PLAN, &sweep).unwrap());
    assert_eq!(changes[0], "path.rtt=10 ms flow.window=250000 B");
    assert_eq!(changes[1], "path.rtt=40 ms flow.window=1000000 B");
    // A key that the plan sets, and one that it does not set.
    let sweep = asked(&["sender.buffer_limit=2*flow.window"]);
    assert_eq!(
        self::changes(&space_of(PLAN, &sweep).unwrap()),
        ["sender.buffer_limit=2000000 B"]
    );
    let sweep = asked(&["flow.window=8*path.forward.delay"]);
    let refused = cells(&space_of(PLAN, &sweep).unwrap())[0]
        .refused
        .clone()
        .unwrap();
    assert!(
        refused.contains("`path.forward.delay` is not a quantity"),
        "{refused}"
    );
}

#[test]
fn a_nested_axis_varies_where_its_condition_holds_and_nowhere_else() {
    let sweep = asked(&[
        "flow.congestion_control=cubic,reno",
        "flow.initial_ssthresh=10,20,30 when flow.congestion_control=cubic",
    ]);
    let space = space_of(PLAN, &sweep).unwrap();
    let cells = cells(&space);
    assert_eq!(cells.len(), 4);
    assert_eq!(cells[3].levels, [Some(1), None]);
    assert_eq!(cells[3].overrides(), ["flow.congestion_control=reno"]);
}

#[test]
fn excluded_combinations_are_no_cells() {
    let sweep = Sweep {
        exclude: texts(&[
            "path.rtt=10ms and flow.congestion_control=reno",
            "flow.window > 4*bdp",
        ]),
        ..asked(&[
            "path.rtt=10 ms,1 ms,20 ms",
            "flow.congestion_control=cubic,reno",
        ])
    };
    // At 1 ms four BDPs are 50 kB, and the window is 1 MB; at 10 ms they are 500 kB.
    let changes = changes(&space_of(PLAN, &sweep).unwrap());
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(changes.iter().all(|change| change.contains("20 ms")));
}

#[test]
fn series_of_a_plan_are_the_first_factor() {
    let plan = format!(
        "{PLAN}[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\nset = {{ \"path.loss\" = 0.1 }}\n"
    );
    let sweep = asked(&["path.rtt=10 ms,20 ms"]);
    let space = space_of(&plan, &sweep).unwrap();
    let cells = cells(&space);
    assert_eq!(space.factors()[0].name, "series");
    assert_eq!(
        cells.iter().map(|cell| cell.series).collect::<Vec<_>>(),
        [0, 0, 1, 1]
    );
    let template = template(&plan);
    let question = Question::of(template.plan(), &sweep, None);
    let one = Space::new(template, &question, &texts(&["b"])).unwrap();
    assert_eq!((one.count(), one.factors().len()), (2, 1));
}

#[test]
fn fractions_have_the_ends_of_each_axis() {
    let over = [
        "path.rtt=10..30 ms linear 3",
        "sender.sack=false,true",
        "sender.timestamps=false,true",
    ];
    let with = |design: &str| Sweep {
        design: Some(design.to_owned()),
        ..asked(&over)
    };
    let count = |design: &str| changes(&space_of(PLAN, &with(design)).unwrap()).len();
    assert_eq!((count("factorial"), count("fractional 3")), (12, 4));
    let half = changes(&space_of(PLAN, &with("fractional 3")).unwrap());
    assert_eq!(
        half[0],
        "path.rtt=10 ms sender.sack=false sender.timestamps=true"
    );
    assert_eq!(
        half[3],
        "path.rtt=30 ms sender.sack=true sender.timestamps=true"
    );
    for wrong in ["fraction", "fractional", "fractional 99"] {
        assert!(space_of(PLAN, &with(wrong)).is_err(), "{wrong}");
    }
    let near = space_of(PLAN, &with("factorail"))
        .unwrap_err()
        .error
        .nearest;
    assert_eq!(near.as_deref(), Some("factorial"));
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_place() {
    let refused = |over: &[&str]| space_of(PLAN, &asked(over)).unwrap_err();
    let one = refused(&["path.rtt=1 ms", "flow.windw=1 MB"]);
    assert_eq!(one.text, "flow.windw=1 MB");
    assert_eq!(one.error.nearest.as_deref(), Some("flow.window"));
    let twice = refused(&["flow.window=1 MB,2 MB", "path.rtt+flow.window=(1 ms, 3 MB)"]);
    assert!(twice.error.why.contains("is set by flow.window"), "{twice}");
    let large =
        ["path.rtt", "path.loss", "sender.mtu"].map(|key| format!("{key}=1000..60000 linear 999"));
    let large: Vec<&str> = large.iter().map(String::as_str).collect();
    assert!(refused(&large).error.why.contains("more than"));
}

#[test]
fn a_command_line_replaces_axes_over_the_same_keys_and_adds_others() {
    let plan = format!(
        "{PLAN}[sweep]\nover = [\"path.rtt=1 ms,2 ms\", \"flow.window=1 MB\"]\nrepeat = 3\n"
    );
    let template = template(&plan);
    let question = Question::of(
        template.plan(),
        &asked(&["path.rtt=5 ms", "path.loss=0,0.1"]),
        Some(9),
    );
    assert_eq!(
        question.over,
        ["flow.window=1 MB", "path.rtt=5 ms", "path.loss=0,0.1"]
    );
    assert_eq!((question.repeat, question.seed), (3, 9));
}

/// Addresses of all cells with a seed.
fn addresses(plan: &str, sweep: &Sweep, version: &str, seed: u64) -> Vec<u128> {
    let space = space_of(plan, sweep).unwrap();
    let mut addresses = Addresses::new(&space, version, &[]);
    let of = |cell: &Cell| {
        let plan = addresses.plan(&space, cell);
        addresses.with_seed(plan, seed)
    };
    cells(&space).iter().map(of).collect()
}

#[test]
fn the_same_plan_has_one_address_however_it_is_written() {
    let base = addresses(PLAN, &asked(&["path.rtt=10 ms,20 ms"]), "1", 1);
    // A value equal to the plan's is not a change.
    assert_eq!(addresses(PLAN, &asked(&[]), "1", 1), base[1..]);
    let spelled = PLAN
        .replace("\"20 ms\"", "\"10ms\"")
        .replace("name = \"x\"", "name = \"y\" # other");
    assert_eq!(addresses(&spelled, &asked(&[]), "1", 1), base[..1]);
    // The order of axes does not matter.
    let two = ["path.rtt=10 ms", "path.loss=0.1"];
    let turned = ["path.loss=10 %", "path.rtt=0.01 s"];
    assert_eq!(
        addresses(PLAN, &asked(&two), "1", 1),
        addresses(PLAN, &asked(&turned), "1", 1)
    );
}

#[test]
fn what_changes_a_run_changes_its_address() {
    let over = asked(&[
        "path.rtt=10 ms..1000 ms linear 400",
        "path.loss=0..0.1 linear 5",
    ]);
    let mut all: Vec<u128> = Vec::new();
    for (version, seed) in [("1", 1), ("1", 2), ("2", 1)] {
        all.extend(addresses(PLAN, &over, version, seed));
    }
    let other = PLAN.replace("1 MB", "2 MB");
    all.extend(addresses(&other, &over, "1", 1));
    let different: BTreeSet<u128> = all.iter().copied().collect();
    assert_eq!((all.len(), different.len()), (8000, 8000));
}

#[test]
fn a_batch_draws_once_for_all_cells_and_only_from_its_range_or_list() {
    let sweep = Sweep {
        draw: texts(&[
            "path.rtt=10 ms..30 ms",
            "flow.congestion_control=cubic,reno",
        ]),
        batches: Some(200),
        ..asked(&["flow.window=1 MB,2 MB"])
    };
    let space = space_of(PLAN, &sweep).unwrap();
    let cells = cells(&space);
    let (mut rtts, mut renos) = (Vec::new(), 0);
    for batch in 0..200 {
        let [a, b] = [&cells[0], &cells[1]].map(|cell| space.in_batch(cell, batch).overrides());
        assert_eq!(a[1..], b[1..], "both cells meet one batch");
        assert_eq!(a[1..], space.in_batch(&cells[0], batch).overrides()[1..]);
        let rtt = a[1].strip_prefix("path.rtt=").unwrap().strip_suffix(" ms");
        rtts.push(rtt.unwrap().parse::<f64>().unwrap());
        renos += usize::from(a[2] == "flow.congestion_control=reno");
    }
    let mean = rtts.iter().sum::<f64>() / 200.0;
    // Uniform over 20 ms: 0.41 ms of deviation of the mean; 200 coins: 7.
    assert!((18.5..21.5).contains(&mean), "{mean}");
    assert!(rtts.iter().all(|rtt| (10.0..=30.0).contains(rtt)));
    assert!((75..125).contains(&renos), "{renos}");
    for end in [10.0..12.0, 28.0..30.0] {
        let there = rtts.iter().filter(|rtt| end.contains(*rtt)).count();
        assert!((8..36).contains(&there), "{there} of 20 in {end:?}");
    }

    let refused = |draw: &str, batches| {
        let sweep = Sweep {
            draw: texts(&[draw]),
            batches: Some(batches),
            ..asked(&["flow.window=1 MB,2 MB"])
        };
        space_of(PLAN, &sweep).unwrap_err().error.why
    };
    assert!(refused("path.rtt=10 ms..30 ms", 1).contains("nothing varies"));
    assert!(refused("path.rtt=flow.window", 2).contains("no other key"));
    assert!(refused("flow.window=1 MB..2 MB", 2).contains("is set by"));
}

#[test]
fn level_that_no_cell_can_have_is_refused_with_its_key() {
    for (axes, key) in [
        (&["path.rtt=10ms,abc"][..], "abc"),
        (
            &["path.rtt=10ms", "flow.congestion_control=cubic,nope"],
            "nope",
        ),
        (&["path.rtt=-3ms,10ms"], "rtt"),
    ] {
        let space = space_of(PLAN, &asked(axes)).unwrap();
        let refused = space.check_levels(&NoFiles).unwrap_err().to_string();
        assert!(refused.contains(key), "{axes:?}: {refused}");
    }
}

#[test]
fn level_that_only_a_combination_refuses_is_no_error() {
    let axes = ["path.rtt=10ms,20ms", "flow.window=1 MB,64 kB"];
    let space = space_of(PLAN, &asked(&axes)).unwrap();
    assert!(space.check_levels(&NoFiles).is_ok());
    // Datagrams have no window: the plan refuses the application alone, and a cell does not.
    let plan = PLAN.replace(", window = \"1 MB\"", "");
    let axes = ["flow.application='datagrams, rate 1 Mbit/s',bulk"];
    let space = space_of(&plan, &asked(&axes)).unwrap();
    assert!(space.check_levels(&NoFiles).is_ok());
}
