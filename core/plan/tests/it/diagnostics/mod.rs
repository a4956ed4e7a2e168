//! Every mistake is reported at its place, with a correction.

mod topology;

use gigatcp_plan::{Diagnostic, Diagnostics, Files, Severity, Source, parse, parse_with};

/// A plan in which only `lines` can be wrong.
fn plan_with(lines: &str) -> String {
    if lines.starts_with("path =") || lines.contains("[path") {
        return format!("name = \"x\"\n{lines}\n");
    }
    format!("name = \"x\"\npath = {{ rate = \"1 Gbit/s\", rtt = \"20 ms\" }}\n{lines}\n")
}

fn refused(text: &str) -> Diagnostics {
    match parse("plan.toml", text.as_bytes(), &[]) {
        Ok(_) => panic!("this is accepted:\n{text}"),
        Err(findings) => findings,
    }
}

/// Only finding, and the text at its place.
fn only(lines: &str) -> (Diagnostic, String) {
    let findings = refused(&plan_with(lines));
    let [finding] = &findings.list[..] else {
        panic!("not one finding:\n{findings}")
    };
    let place = &finding.place;
    let text = findings.text_of(place.source)[place.span.clone()].to_owned();
    (finding.clone(), text)
}

/// Asserts the place and the words of the only finding in `lines`.
#[track_caller]
fn assert_found(lines: &str, place: &str, words: &str) {
    let (finding, text) = only(lines);
    assert_eq!(text, place, "{finding:#?}");
    assert!(finding.message.contains(words), "{finding:#?}");
    assert!(
        finding.hint.is_some() || !finding.label.is_empty(),
        "{finding:#?}"
    );
}

#[track_caller]
fn assert_nearest(lines: &str, nearest: &str) {
    let (finding, _) = only(lines);
    assert_eq!(finding.nearest.as_deref(), Some(nearest), "{finding:#?}");
}

#[test]
fn unknown_keys_are_found_in_every_table() {
    assert_found("sed = 1", "sed", "is not a key of the top of the plan");
    assert_nearest("sed = 1", "seed");
    assert_nearest("[sender]\nmtuu = 1500", "mtu");
    assert_nearest("[sender]\nsac = true", "sack");
    assert_nearest(
        "[receiver.cpu]\nper_packet_recieved = \"1 us\"",
        "per_packet_received",
    );
    assert_nearest("[sender.link]\nqueu = \"1 packet\"", "queue");
    assert_nearest("[[flow]]\ncongestion = \"reno\"", "congestion_control");
    assert_nearest("[tester]\nintervall = \"1 s\"", "interval");
    assert_nearest("[record]\nsamples = \"1 s\"", "sample");
    assert_nearest("[[series]]\nname = \"a\"\nsets = {}", "set");
    assert_nearest(
        "path = { rate = \"1 Gbit/s\", rtt = \"0 s\", los = 0 }",
        "loss",
    );
}

#[test]
fn an_unknown_key_lists_the_known_ones_or_says_where_it_belongs() {
    let (finding, _) = only("[tester]\ncolour = 1");
    assert_eq!(finding.hint.unwrap(), "keys here: interval, omit");
    let (finding, _) = only("[tester]\nrtt = \"1 ms\"");
    assert_eq!(finding.hint.unwrap(), "`rtt` is a key of [path]");
}

#[test]
fn a_quantity_without_its_unit_or_with_another_is_refused() {
    assert_found("[flow]\nstart = 3", "3", "has no unit");
    assert_found("[flow]\nstart = 0.5", "0.5", "has no unit");
    assert_found("[flow]\nstart = \"3\"", "", "the unit is missing");
    assert_found("[flow]\nstart = \"3 sec\"", "sec", "not one of its units");
    assert_found(
        "[flow]\nwindow = \"60 Mbit/s\"",
        "Mbit/s",
        "not an amount of data",
    );
    assert_found("[flow]\nbytes = 1000", "1000", "has no unit");
    assert_found("[sender.link]\nrate = \"10 Gbps\"", "Gbps", "is not a rate");
    assert_nearest("[sender.link]\nrate = \"10 Gbps\"", "Gbit/s");
    assert_found(
        "[sender.link]\npacket_rate = \"3\"",
        "3",
        "the unit is missing",
    );
    assert_found(
        "[sender.link]\nqueue = \"3 apples\"",
        "apples",
        "not the room of a queue",
    );
    assert_found(
        "[sender.link]\nrate = \"1 Gbit/s\"\nmark_above = \"1 BDP\"",
        "BDP",
        "not a marking threshold",
    );
    assert_nearest("[sender.link]\nqueue = \"1 BDPs\"", "BDP");
    assert_nearest("[sender.link]\nqueue = \"10 pakets\"", "packets");
    assert_found(
        "[sender.cpu]\nper_byte_copied = \"450 pm\"",
        "450 pm",
        "another",
    );
}

#[test]
fn negative_values_are_refused() {
    assert_found("seed = -1", "-1", "it is negative");
    assert_found("[flow]\nstart = \"-1 s\"", "-1", "it is negative");
    assert_found("[sender]\nmtu = -9000", "-9000", "it is negative");
    assert_found("[sender]\nack_every = -1", "-1", "takes a whole number");
    assert_found("[sender.link]\nloss = -0.1", "-0.1", "not within 0 and 1");
    assert_found(
        "[sender.link]\npacket_rate = \"-1 packet/s\"",
        "-1 packet/s",
        "negative",
    );
}

#[test]
fn absurd_values_are_refused() {
    assert_found("[sender]\nmtu = 67", "67", "below 68 bytes");
    assert_found("[sender]\nmtu = 65536", "65536", "above 65535 bytes");
    assert_found(
        "[sender]\nmtu = \"70 kB\"",
        "\"70 kB\"",
        "above 65535 bytes",
    );
    assert_found("[flow]\nwindow = \"2 GiB\"", "\"2 GiB\"", "above 1 GiB");
    assert_found("[flow]\nduration = \"25 h\"", "\"25 h\"", "above 24 h");
    assert_found("duration = \"0 s\"", "\"0 s\"", "below 1 ns");
    assert_found("[flow]\ncount = 10001", "10001", "above 10000");
    assert_found("[flow]\ncount = 0", "0", "below 1");
    assert_found("[tester]\ninterval = \"0 s\"", "\"0 s\"", "below 1 ns");
    assert_found("[record]\nsample = \"1 ns\"", "\"1 ns\"", "records");
    assert_found(
        "[sender.link]\nrate = \"0 bit/s\"",
        "\"0 bit/s\"",
        "below 1 bit/s",
    );
    assert_found("[sender.link]\nloss = 1.01", "1.01", "not within 0 and 1");
    assert_found(
        "[sender.link]\nloss = \"101 %\"",
        "101 %",
        "not from 0 to 1",
    );
    assert_found("[sender.link]\nloss = nan", "nan", "not within 0 and 1");
    assert_found(
        "[sender.link]\nqueue = \"0 packets\"",
        "\"0 packets\"",
        "nothing through",
    );
    assert_found(
        "[sender.link]\nqueue = \"1 kB\"",
        "\"1 kB\"",
        "less than one packet",
    );
    assert_found(
        "[sender.cpu]\nper_packet_sent = \"2 s\"",
        "\"2 s\"",
        "above 1 s",
    );
    assert_found(
        "[sender.cpu]\nper_byte_copied = \"2 s\"",
        "\"2 s\"",
        "above",
    );
    assert_found("[sender]\nack_every = 1001", "1001", "from 1 to 1000");
    assert_found(
        "seed = 18446744073709551616",
        "18446744073709551616",
        "too large",
    );
}

#[test]
fn a_zero_round_trip_time_is_fine_but_not_for_a_queue_of_one_bdp() {
    let text = "path = { rate = \"1 Gbit/s\", rtt = \"0 s\" }";
    assert!(parse("p", plan_with(text).as_bytes(), &[]).is_ok());
    let text = "path = { rate = \"1 Gbit/s\", rtt = \"0 s\", queue = \"1 BDP\" }";
    assert_found(text, "\"1 BDP\"", "less than one packet");
}

#[test]
fn a_profile_of_a_system_warns_of_what_it_does_not_model() {
    let messages = |text: &str| {
        let plan = parse("p", plan_with(text).as_bytes(), &[]).expect("warnings only");
        let findings = plan.warnings.list.iter();
        let messages: Vec<String> = findings.map(|finding| finding.message.clone()).collect();
        messages.join("\n")
    };
    let linux = "[sender]\nprofile = \"linux-6.18\"\n";
    assert_eq!(messages(linux), "");
    for control in ["reno", "bbr", "cubic-linux"] {
        let text = format!("{linux}[flow]\ncongestion_control = \"{control}\"");
        assert_eq!(messages(&text), "", "{control}");
    }
    for (lines, words) in [
        (
            "[flow]\ncongestion_control = \"cubic\"",
            "`cubic`, which Linux has not",
        ),
        (
            "[flow]\ncongestion_control = \"bbr3\"",
            "`bbr3`, which Linux has not",
        ),
        (
            "[flow]\nslow_start = \"hystart++\"",
            "slow start, which Linux has not",
        ),
        (
            "[flow]\napplication = \"request-response\"",
            "delays ACKs by 40 ms always",
        ),
        (
            "[receiver]\nprofile = \"linux-6.18\"\nrings = { descriptors = 256 }",
            "`receive_offload`",
        ),
        ("[receiver]\nprofile = \"freebsd\"", "never compared"),
    ] {
        let found = messages(&format!("{linux}{lines}"));
        assert!(found.contains(words), "{lines}: {found}");
    }
    assert_eq!(messages("[flow]\ncongestion_control = \"cubic\""), "");
}

#[test]
fn a_flow_that_names_no_control_has_that_of_its_senders_profile() {
    let control = |lines: &str| {
        let plan = parse("p", plan_with(lines).as_bytes(), &[]).unwrap();
        plan.series[0].scenario.flows[0]
            .congestion
            .name()
            .to_owned()
    };
    assert_eq!(control(""), "cubic");
    assert_eq!(control("[sender]\nprofile = \"linux-6.18\""), "cubic-linux");
    assert_eq!(control("[receiver]\nprofile = \"linux-6.18\""), "cubic");
}

#[test]
fn marks_that_no_packet_can_get_are_found() {
    assert_found(
        "[sender.link]\nmark_above = \"1 ms\"",
        "mark_above",
        "without a rate nothing ever waits",
    );
    let found = |text: &str, message: &str| {
        let plan = parse("p", plan_with(text).as_bytes(), &[]).expect("warnings only");
        let findings = plan.warnings.list.iter();
        let messages: Vec<&str> = findings.map(|finding| finding.message.as_str()).collect();
        assert!(messages.iter().any(|m| m.contains(message)), "{messages:?}");
    };
    let link = "[sender.link]\nrate = \"1 Gbit/s\"\n";
    found(
        &format!("{link}queue = \"50 packets\"\nmark_above = \"50 packets\""),
        "full before it marks",
    );
    found(
        &format!("{link}mark = 0.1\necn_bleach = true"),
        "`mark` does nothing on a hop with `ecn_bleach`",
    );
    found(
        &format!("{link}icmp = false"),
        "`icmp` does nothing on a hop without `mtu`",
    );
    let marking = format!("{link}mark_above = \"50 packets\"");
    found(&marking, "no connection speaks ECN");
    found(
        &marking.replace("sender", "receiver"),
        "acknowledgments are not capable",
    );
    let asking = "[flow]\ncongestion_control = \"xcp\"";
    found(
        asking,
        "`xcp` asks routers, and no queue of the path is one",
    );
    let path = "path = { rate = \"1 Gbit/s\", rtt = \"20 ms\", queue = \"xcp, 1 BDP\" }";
    let plan = parse("p", plan_with(&format!("{path}\n{asking}")).as_bytes(), &[]).unwrap();
    assert_eq!(plan.warnings.list, [], "there is a router");
    let text = format!("[sender]\necn = \"accurate\"\n{marking}");
    let plan = parse("p", plan_with(&text).as_bytes(), &[]).unwrap();
    assert_eq!(plan.warnings.list, [], "nothing to warn of");
}

#[test]
fn a_setting_of_words_names_them_and_the_nearest() {
    assert_found(
        "[sender]\necn = \"acurate\"",
        "\"acurate\"",
        "not a word it takes",
    );
    assert_nearest("[sender]\necn = \"acurate\"", "\"accurate\"");
    assert_found("[sender]\necn = true", "true", "takes one of");
}

#[test]
fn unknown_names_come_with_the_nearest_known_one() {
    assert_found(
        "[flow]\ncongestion_control = \"cubix\"",
        "\"cubix\"",
        "no congestion control",
    );
    assert_nearest("[flow]\ncongestion_control = \"cubix\"", "\"cubic\"");
    assert_nearest(
        "[flow]\ncongestion_control = \"bic-2.6.2\"",
        "\"bic-2.6.20\"",
    );
    assert_nearest("[sender]\nprofile = \"linux\"", "\"linux-6.18\"");
    assert_nearest("[sender]\nprofile = \"linux-6\"", "\"linux-6.18\"");
    assert_nearest("[flow]\nslow_start = \"limitd\"", "\"limited\"");
    assert_nearest("[flow]\nslow_start = \"hystar\"", "\"hystart\"");
    assert_found("[flow]\nslow_start = \"none\"", "\"none\"", "no slow start");
}

#[test]
fn settings_of_a_profile_are_checked_by_their_own_rules() {
    assert_found("[sender]\nsack = \"yes\"", "\"yes\"", "takes true or false");
    assert_found("[sender]\nrto_min = 200", "200", "takes a time");
    assert_found(
        "[sender]\nrto_min = \"200\"",
        "\"200\"",
        "the unit is missing",
    );
    assert_found(
        "[sender]\nrto_min = \"2 min\"",
        "\"2 min\"",
        "takes a time from",
    );
    assert_found(
        "[receiver]\ndelayed_ack_timeout = \"1 s\"",
        "\"1 s\"",
        "MUST-40",
    );
    assert_found("[receiver]\nack_every = 1.5", "1.5", "takes a whole number");
}

#[test]
fn values_of_a_wrong_type_are_refused() {
    assert_found("title = 3", "3", "`title` cannot be a whole number");
    let claims = |value: &str| format!("fitted = []\nclaims = {value}");
    assert_found(&claims("\"E43\""), "\"E43\"", "cannot be text");
    assert_found(&claims("[43]"), "43", "cannot be a whole number");
    assert_found("flow = 3", "3", "where a table is wanted");
    assert_found("flow = [3]", "3", "where a table is wanted");
    assert_found("sender = []", "[]", "where a table is wanted");
    assert_found("seed = 1.5", "1.5", "cannot be a number");
    assert_found("seed = 2007-05-10", "2007-05-10", "cannot be a date");
    assert_found(
        "[record]\ntime_sequence = \"yes\"",
        "\"yes\"",
        "cannot be text",
    );
    assert_found(
        "[[series]]\nname = \"a\"\nset = 3",
        "3",
        "cannot be a whole number",
    );
    assert_found(
        "[sender.link]\nlose_packets = 3",
        "3",
        "cannot be a whole number",
    );
    assert_found(
        "[sender.link]\nlose_packets = [3, 3]",
        "3",
        "does not ascend",
    );
    assert_found(
        "[sender.link]\nlose_packets = [0]",
        "0",
        "counting begins at 1",
    );
}

#[test]
fn missing_keys_are_asked_for_where_they_belong() {
    let findings = refused("seed = 1\n[path]\nrate = \"1 Gbit/s\"\n[[series]]\n");
    let messages: Vec<_> = findings
        .list
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "`name` is missing from the top of the plan",
            "`rtt` is missing from [path]",
            "`name` is missing from [[series]]",
        ]
    );
    let findings = refused("name = \"x\"\n");
    assert!(
        findings.list[0].message.contains("`path` is missing"),
        "{findings}"
    );
    assert_eq!(findings.list.len(), 1);
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    assert_found(
        "[flow]\nbytes = \"1 GB\"\nduration = \"1 s\"",
        "duration",
        "cannot be combined with `bytes`",
    );
    let window = "[flow]\nwindow = \"1 MB\"\nsend_buffer = \"2 MB\"";
    assert_found(window, "send_buffer", "cannot be combined with `window`");
    assert_found(
        "[flow]\nmax_ssthresh = 100",
        "max_ssthresh",
        "limited slow start only",
    );
    assert_found(
        "[sender.link]\nreorder = 0.1",
        "reorder",
        "without `reorder_delay`",
    );
    assert_found(
        "[sender.link]\npolicer = \"8 Mbit/s\"",
        "policer",
        "without `policer_burst`",
    );
    assert_found(
        "duration = \"5 s\"\n[flow]\nstart = \"5 s\"",
        "\"5 s\"",
        "never runs",
    );
    assert_found(
        "duration = \"5 s\"\n[tester]\nomit = \"5 s\"",
        "\"5 s\"",
        "is not shorter than the run",
    );
    let hops = "[path]\nrtt = \"1 ms\"\n[[path.forward]]\n[[path.reverse]]";
    assert_found(hops, "rtt", "cannot be combined with `forward`");
    assert_found(
        "[[path.forward]]",
        "path",
        "no hops in the direction `reverse`",
    );
    let bdp = "[[path.forward]]\nqueue = \"1 BDP\"\n[[path.reverse]]";
    assert_found(bdp, "\"1 BDP\"", "needs a rate");
}

#[test]
fn names_must_be_unique_and_fit_for_files() {
    let series =
        |second: &str| format!("[[series]]\nname = \"a\"\n[[series]]\nname = \"{second}\"");
    assert_found(&series("a"), "\"a\"", "two series are called `a`");
    assert_found(&series(""), "\"\"", "it is empty");
    assert_found(&series("a/b"), "\"a/b\"", "cannot name a file");
    assert_found(&series(".."), "\"..\"", "cannot name a file");
    let hops = "[[path.forward]]\nname = \"a\"\n[[path.reverse]]\nname = \"a\"";
    assert_found(hops, "\"a\"", "two hops are called `a`");
    let flows = "[[flow]]\nname = \"a\"\n[[flow]]\nname = \"a\"";
    assert_found(flows, "\"a\"", "two flows are called `a`");
}

#[test]
fn claims_without_a_declaration_of_fitted_inputs_are_refused() {
    let claims = "claims = [\"E43\"]";
    assert_found(claims, "claims", "does not declare its fitted inputs");
    let plan = |fitted: &str| plan_with(&format!("{claims}\nfitted = [{fitted}]"));
    let fitted = |text: String| {
        parse("p", text.as_bytes(), &[]).unwrap().series[0]
            .fitted
            .clone()
    };
    assert!(fitted(plan("")).is_empty());
    assert_eq!(fitted(plan("\"sender.cpu\"")), ["sender.cpu"]);
    assert_found(
        "fitted = [\"sedner.cpu\"]",
        "[\"sedner.cpu\"]",
        "no input that could be fitted",
    );
}

#[test]
fn a_fit_names_another_series_and_what_was_fitted() {
    let fit = |of: &str, fitted: &str| {
        format!(
            "[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\nfit_of = \"{of}\"\nfitted = [{fitted}]"
        )
    };
    let good = plan_with(&fit("a", "\"receiver.ack_every\""));
    assert!(
        parse("p", good.as_bytes(), &[])
            .unwrap()
            .warnings
            .list
            .is_empty()
    );
    assert_found(
        &fit("c", "\"receiver.ack_every\""),
        "\"c\"",
        "no series `c`",
    );
    assert_found(
        &fit("b", "\"receiver.ack_every\""),
        "\"b\"",
        "a fit of itself",
    );
    assert_found(
        &fit("a", "\"seed\""),
        "[\"seed\"]",
        "no input that could be fitted",
    );
    let silent = parse("p", plan_with(&fit("a", "")).as_bytes(), &[]).unwrap();
    assert!(
        silent.warnings.list[0]
            .message
            .contains("names no fitted input")
    );
}

#[test]
fn what_a_series_sets_is_checked_where_it_is_set() {
    let series = |set: &str| format!("[[series]]\nname = \"a\"\nset = {{ {set} }}");
    assert_found(
        &series("\"flow.congestion_control\" = \"x\""),
        "\"x\"",
        "no congestion control",
    );
    assert_found(
        &series("\"sender.mtuu\" = 1"),
        "\"sender.mtuu\"",
        "not a key",
    );
    assert_found(&series("seed = 1"), "seed", "a series cannot set `seed`");
    let unset = |key: &str| format!("[[series]]\nname = \"a\"\nunset = [\"{key}\"]");
    let typed = "\"path.los\"";
    assert_found(
        &unset("path.los"),
        typed,
        "the plan does not set `path.los`",
    );
    assert_nearest(&unset("path.rat"), "\"path.rate\"");
    assert_found(&unset("seed"), "\"seed\"", "a series cannot unset `seed`");
    assert_found(
        &series("\"path.rate.x\" = 1"),
        "\"path.rate.x\"",
        "has no keys",
    );
    assert_found(
        &series("\"path..rate\" = 1"),
        "\"path..rate\"",
        "not a dotted key",
    );
    let too_deep = format!("\"path{}\" = 1", ".a".repeat(100_000));
    let (finding, _) = only(&series(&too_deep));
    assert!(finding.message.contains("too deep") && finding.message.len() < 200);
}

#[test]
fn a_mistake_in_the_common_part_is_found_once() {
    let series: String = (0..50)
        .map(|n| format!("[[series]]\nname = \"s{n}\"\n"))
        .collect();
    assert_found(&format!("{series}[sender]\nmtu = 1"), "1", "below 68");
}

#[test]
fn all_mistakes_are_found_in_the_order_of_their_places() {
    let text = "nme = \"x\"\nseed = -1\n[path]\nrate = 3\nrtt = \"80\"\n[sender]\nmtu = 1\n";
    let findings = refused(text);
    let lines: Vec<usize> = findings
        .list
        .iter()
        .map(|finding| findings.line_column_of(&finding.place).0)
        .collect();
    assert_eq!(lines, [1, 1, 2, 4, 5, 7]);
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_places() {
    let findings = refused("name = \"x\"\nrate = 10 Gbit/s\nrtt = \"80 ms\nx\n");
    let found: Vec<_> = findings
        .list
        .iter()
        .map(|finding| {
            (
                findings.line_column_of(&finding.place),
                finding.hint.as_deref(),
            )
        })
        .collect();
    assert_eq!(found[0], ((2, 8), Some("rate = \"10 Gbit/s\"")));
    assert_eq!(found[1].0.0, 3);
    assert!(
        refused("name = \"a\"\nname = \"b\"").list[0]
            .message
            .contains("duplicate key")
    );
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_line_and_column() {
    let findings = parse("p", b"name = \"x\"\ntitle = \"\xc3\xa9\xff\"\n", &[]).unwrap_err();
    let [finding] = &findings.list[..] else {
        panic!("{findings}")
    };
    assert_eq!(
        finding.message,
        "byte 0xff at line 2, column 11 is not UTF-8"
    );
    assert_eq!(&findings.text[finding.place.span.clone()], "\u{fffd}");
    assert_eq!(findings.line_column_of(&finding.place), (2, 11));
}

#[test]
fn a_supply_has_an_amount_and_an_interval_and_losses_end_after_they_begin() {
    assert_found(
        "[flow]\nsupply = \"1 kB\"",
        "supply",
        "does nothing without `supply_every`",
    );
    assert_found(
        "[flow]\nsupply_until = \"1 s\"",
        "supply_until",
        "no effect without `supply`",
    );
    assert_found(
        "[sender.link]\nloss = 0.1\nloss_from = \"2 s\"\nloss_until = \"2 s\"",
        "\"2 s\"",
        "last no time",
    );
}

#[test]
fn warnings_come_with_a_plan() {
    let warning = |lines: &str| {
        let plan = parse("plan.toml", plan_with(lines).as_bytes(), &[])
            .unwrap_or_else(|findings| panic!("{findings}"));
        assert_eq!(plan.warnings.list.len(), 1, "{}", plan.warnings);
        assert_eq!(plan.warnings.list[0].severity, Severity::Warning);
        plan.warnings.to_string()
    };
    assert!(warning("duration = \"5 s\"\n[flow]\nduration = \"9 s\"").contains("cut off at 5 s"));
    assert!(warning("[receiver]\nack_every_later = 3").contains("ack_every_switch is set"));
    assert!(warning("[flow]\nsend_buffer = \"1 kB\"").contains("full-sized segment"));
    assert!(warning("[flow]\nstart_step = \"1 s\"").contains("does nothing for one flow"));
    assert!(warning("[sender.link]\nloss = 1").contains("every packet is lost"));
    assert!(warning("[sender.link]\nloss_from = \"1 s\"").contains("no effect on a hop"));
    let idle = "[sender.cpu]\nqueue_cached = \"1 MiB\"";
    assert!(warning(idle).contains("unless per_byte_queued is more than nothing"));
    let zero = format!("{idle}\nper_byte_queued = \"0 s\"");
    assert!(warning(&zero).contains("unless per_byte_queued is more than nothing"));
}

#[test]
fn an_ethernet_is_the_whole_path_short_and_its_packets_fit() {
    assert_found(
        "path = { ethernet = {}, rate = \"1 Gbit/s\" }",
        "rate",
        "cannot be combined with `ethernet`",
    );
    assert_found(
        "path = { ethernet = { delay = \"25 us\" } }",
        "\"25 us\"",
        "short enough for a collision to be heard in 512 bit times",
    );
    assert_found(
        "path = { ethernet = { rate = \"100 Mbit/s\", delay = \"3 us\" } }",
        "\"3 us\"",
        "short enough",
    );
    assert_found(
        "path = { ethernet = {} }\nsender = { mtu = 9000 }",
        "ethernet",
        "an MTU of 9000 bytes does not fit",
    );
    assert_nearest("path = { ethernet = { dela = \"1 us\" } }", "delay");
}

#[test]
fn a_buffer_that_the_host_will_not_grant_is_said_with_its_cost() {
    let text = plan_with("[sender]\nbuffer_limit = \"1 MB\"\n[flow]\nwindow = \"60 MB\"");
    let plan = parse("p", text.as_bytes(), &[]).unwrap();
    let [warning] = &plan.warnings.list[..] else {
        panic!("{}", plan.warnings)
    };
    assert_eq!(
        warning.message,
        "the sender grants 1 MB of the requested buffer of 60 MB"
    );
    assert_eq!(
        warning.effect.as_deref(),
        Some("1 MB per round trip of 20 ms carry 400 Mbit/s, 60 MB would carry 24.0 Gbit/s")
    );
    assert_eq!(
        warning.hint.as_deref(),
        Some("sender.buffer_limit = \"60 MB\"")
    );
    // The plan does not set the default, so there is no warning.
    let text = plan_with("[sender]\nbuffer_limit = \"1 MB\"");
    assert!(
        parse("p", text.as_bytes(), &[])
            .unwrap()
            .warnings
            .list
            .is_empty()
    );
}

#[test]
fn places_within_escaped_and_long_texts_are_those_of_the_whole_value() {
    let (_, text) = only("[flow]\nstart = \"3 s\\u0065c\"");
    assert_eq!(text, "\"3 s\\u0065c\"");
    let (_, text) = only("[flow]\nstart = '''3 sec'''");
    assert_eq!(text, "'''3 sec'''");
    let (finding, _) = only(&format!("name2 = \"{}\"", "x".repeat(10_000)));
    assert!(finding.message.len() < 200);
}

#[test]
fn the_one_line_form_names_file_line_and_column() {
    let findings = parse("p.toml", b"name = 3\n", &["path.rtt=3".to_owned()]).unwrap_err();
    let text = findings.to_string();
    assert!(
        text.contains("p.toml:1:8: error: `name` cannot be a whole number"),
        "{text}"
    );
    assert!(
        text.contains("--set 1:1:10: error: `rtt` has no unit"),
        "{text}"
    );
    assert_eq!(findings.name_of(Source::Override(0)), "--set 1");
}

#[test]
fn links_below_the_smallest_segment_are_found() {
    let hop = |mtu: u16, more: &str| {
        format!("path = {{ forward = {{ mtu = {mtu} }}, reverse = {{}} }}\n{more}")
    };
    let warnings = |lines: &str| {
        let plan = parse("p", format!("name = \"p\"\n{lines}").as_bytes(), &[]);
        let warnings = plan.unwrap().warnings.list;
        let messages = warnings.into_iter().map(|warning| warning.message);
        messages.collect::<Vec<_>>()
    };
    // 20 + 20 + 48.
    let [finding] = &warnings(&hop(87, ""))[..] else {
        panic!("no warning, or several")
    };
    assert!(finding.contains("packets of 88"), "{finding}");
    assert!(warnings(&hop(88, "")).is_empty());
    assert!(warnings(&hop(68, "sender = { mss_min = 28 }")).is_empty());
    assert!(warnings(&hop(68, "sender = { mtu = 68 }")).is_empty());
    let freebsd = warnings(&hop(215, "sender = { profile = \"freebsd\" }"));
    assert!(
        freebsd
            .iter()
            .any(|finding| finding.contains("packets of 256"))
    );
}

#[test]
fn what_ipv6_cannot_do_with_is_told() {
    let least = "less than IPv6 can do with";
    assert_found("ip = \"ipv6\"\nsender = { mtu = 1279 }", "\"ipv6\"", least);
    assert_found("ip = \"ipv5\"", "\"ipv5\"", "no version of IP");
}

/// Asserts the only finding in a bottleneck with `lines`.
#[track_caller]
fn assert_link(lines: &str, place: &str, words: &str) {
    let path = format!("[path]\nrate = \"1 Gbit/s\"\nrtt = \"20 ms\"\n{lines}");
    assert_found(&path, place, words);
}

#[test]
fn a_queue_that_cannot_be_is_found_at_its_part() {
    assert_link("queue = \"fq_codle\"", "fq_codle", "neither the room");
    assert_nearest(
        "path = { rate = \"1 Gbit/s\", rtt = \"1 ms\", queue = \"fq_codle\" }",
        "fq_codel",
    );
    assert_link(
        "queue = \"codel, tarket 5 ms\"",
        "tarket 5 ms",
        "no such setting",
    );
    assert_link("queue = \"codel, target 5\"", "target 5", "takes a time");
    assert_link(
        "queue = \"0 packets, codel\"",
        "\"0 packets, codel\"",
        "lets nothing through",
    );
    let (unqueued, place) = only("[[path.forward]]\nqueue = \"codel\"\n[[path.reverse]]");
    assert!(
        unqueued.message.contains("nothing ever waits"),
        "{unqueued:#?}"
    );
    assert_eq!(place, "\"codel\"");
}

#[test]
fn links_that_change_in_no_way_that_can_be_are_refused() {
    assert_link(
        "rate_schedule = \"5 s: 1 Mbit/s, 2 s: 2 Mbit/s\"",
        "2 s: 2 Mbit/s",
        "not after",
    );
    assert_link("delay_schedule = \"every 5 s\"", "every 5 s", "no moment");
    assert_link("jitter = \"normal\"", "normal", "no time");
    assert_link("loss_burst = \"0.01\"", "0.01", "no colon");
    assert_link("shaper = \"80 Mbit/s\"", "shaper", "does nothing without");
    assert_link("aggregate = 64", "aggregate", "does nothing without");
    assert_link("corrupt = 2", "2", "not within 0 and 1");
    assert_link("corrupt_packets = [0]", "0", "counting begins at 1");
    assert_link("ack_filter = \"ever 4\"", "ever 4", "no ACK filter");
    assert_link("ack_filter = \"every 0\"", "every 0", "every how many");
    assert_link("middlebox = \"mss 1400, no sak\"", "no sak", "of that name");
    assert_link(
        "middlebox = \"window_scale 15\"",
        "window_scale 15",
        "0 to 14",
    );
    let (unqueued, place) = only("[[path.forward]]\nack_filter = \"queue\"\n[[path.reverse]]");
    assert!(
        unqueued.message.contains("nothing ever waits"),
        "{unqueued:#?}"
    );
    assert_eq!(place, "\"queue\"");
    let (unrated, _) =
        only("[[path.forward]]\nrate_schedule = \"5 s: 1 Mbit/s\"\n[[path.reverse]]");
    assert!(unrated.message.contains("needs a `rate`"), "{unrated:#?}");
}

#[test]
fn a_trace_that_goes_nowhere_is_refused_with_its_line() {
    struct Texts(&'static str);
    impl Files for Texts {
        fn read(&self, name: &str) -> Result<String, String> {
            match name {
                "a.trace" => Ok(self.0.to_owned()),
                _ => Err("it is not there".to_owned()),
            }
        }
    }
    let refused = |file: &str, text: &'static str| {
        let plan = format!("name = \"x\"\n[path]\nrtt = \"20 ms\"\nrate_trace = \"{file}\"\n");
        let plan = parse_with("p", plan.as_bytes(), &[], &Texts(text));
        plan.map(drop).unwrap_err().to_string()
    };
    assert!(refused("a.trace", "").contains("is empty"));
    assert!(refused("a.trace", "5\n4\n").contains("line 2 of the trace goes back"));
    assert!(refused("a.trace", "0\n").contains("takes no time"));
    assert!(refused("b.trace", "").contains("it is not there"));
    assert_found(
        "[path]\nrate = \"1 Gbit/s\"\nrtt = \"1 ms\"\nrate_trace = \"a\"",
        "rate_trace",
        "cannot be combined with `rate`",
    );
}

#[test]
fn applications_are_read_with_their_settings() {
    assert_found(
        "flow = { application = \"request-respons\" }",
        "request-respons",
        "no such application",
    );
    assert_found(
        "flow = { application = \"on-off\", bytes = \"1 MB\" }",
        "bytes",
        "cannot be combined with `application`",
    );
}
