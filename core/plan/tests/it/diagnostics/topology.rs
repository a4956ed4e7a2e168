//! Nodes, links, media and routes.

use super::{assert_found, refused};

/// Asserts the only finding in a plan of links and flows.
#[track_caller]
fn assert_topology(lines: &str, place: &str, words: &str) {
    let findings = refused(&format!("name = \"x\"\n{lines}\n"));
    let [finding] = &findings.list[..] else {
        panic!("not one finding:\n{findings}")
    };
    let place_of = &finding.place;
    let text = &findings.text_of(place_of.source)[place_of.span.clone()];
    assert_eq!(text, place, "{finding:#?}");
    assert!(finding.message.contains(words), "{finding:#?}");
}

const LINKS: &str = "link = [{ from = \"a\", to = \"r\" }, { from = \"r\", to = \"b\" }, \
     { from = \"c\", to = \"d\" }]\n";

#[test]
fn routes_that_do_not_arrive_loops_and_own_peers_are_found() {
    let with = |flow: &str| format!("{LINKS}flow = {{ {flow} }}");
    let no_way = with("from = \"a\", to = \"d\"");
    assert_topology(&no_way, "to", "no links lead from `a` to `d`");
    let own_peer = with("from = \"a\", to = \"a\"");
    assert_topology(&own_peer, "\"a\"", "its own peer");
    let around = with("from = \"a\", to = \"b\", via = [\"b\", \"r\"]");
    assert_topology(&around, "via", "comes to `r` twice");
    let unknown = with("from = \"a\", to = \"bb\"");
    assert_topology(&unknown, "\"bb\"", "no node `bb`");
}

#[test]
fn links_that_join_nothing_or_have_the_same_name_are_found() {
    let flow = "flow = { from = \"a\", to = \"b\" }";
    let itself =
        format!("{LINKS}{flow}").replace("from = \"c\", to = \"d\"", "from = \"c\", to = \"c\"");
    assert_topology(&itself, "\"c\"", "to itself");
    let twice = format!("{LINKS}{flow}").replace(
        "from = \"c\", to = \"d\"",
        "from = \"a\", to = \"r\", one_way = true",
    );
    assert_topology(
        &twice,
        "{ from = \"a\", to = \"r\", one_way = true }",
        "two links are called `a-r`",
    );
    let both = format!("path = {{ rate = \"1 Gbit/s\", rtt = \"1 ms\" }}\n{LINKS}{flow}");
    assert_topology(&both, "path", "cannot be combined with `link`");
    assert_found(
        "flow = { from = \"a\" }",
        "from",
        "no meaning in a plan without [[link]]",
    );
}

#[test]
fn acks_that_take_another_way_are_checked_as_data_are() {
    let with = |flow: &str| format!("{LINKS}flow = {{ from = \"a\", to = \"b\", {flow} }}");
    let around = with("via_reverse = [\"a\", \"r\"]");
    assert_topology(&around, "via_reverse", "the reverse route is a loop");
    let no_way = with("via_reverse = [\"d\"]");
    assert_topology(&no_way, "via_reverse", "no links lead from `b` to `d`");
    let unknown = with("via_reverse = [\"q\"]");
    assert_topology(&unknown, "[\"q\"]", "no node `q`");
    assert_found(
        "flow = { via_reverse = [] }",
        "via_reverse",
        "no meaning in a plan without [[link]]",
    );
}

#[test]
fn an_ethernet_among_links_needs_its_nodes_once_each_and_nothing_else() {
    let flow = "flow = { from = \"a\", to = \"b\" }";
    let with = |link: &str| {
        let direct = "{ from = \"a\", to = \"b\", name = \"direct\" }";
        format!("link = [{{ {link} }}, {direct}]\n{flow}")
    };
    let alone = with("nodes = [\"a\"], ethernet = {}");
    assert_topology(&alone, "[\"a\"]", "joins two nodes or more");
    let twice = with("nodes = [\"a\", \"b\", \"a\"], ethernet = {}");
    let nodes = "[\"a\", \"b\", \"a\"]";
    assert_topology(&twice, nodes, "`a` is on the Ethernet twice");
    let rate = with("nodes = [\"a\", \"b\"], ethernet = {}, rate = \"1 Gbit/s\"");
    assert_topology(&rate, "rate", "cannot be combined with `ethernet`");
    let bare = with("nodes = [\"a\", \"b\"]");
    assert_topology(&bare, "{ nodes = [\"a\", \"b\"] }", "`ethernet` is missing");
    let no_nodes = with("ethernet = {}");
    assert_topology(&no_nodes, "{ ethernet = {} }", "`nodes` is missing");
    let long = with("nodes = [\"a\", \"b\"], ethernet = { delay = \"25 us\" }");
    assert_topology(&long, "\"25 us\"", "512 bit times");
    let named = with("name = \"direct\", nodes = [\"a\", \"b\"], ethernet = {}");
    assert_topology(&named, "\"direct\"", "two links are called `direct`");
}
