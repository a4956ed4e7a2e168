//! Graphs of connections: their content, the files for xplot, and a page that is small, offline and
//! safe.

use crate::connection::{SIZE, Told, eventful};
use gigatcp_flows::{Kind, Side};
use gigatcp_report::graph::xplot::{Picture, Xplot};
use gigatcp_report::graph::{
    DiagnosisText, Effect, Graph, GraphBuilder, PAGE_BUDGET, Page, Plotted, Point, Span,
};
use gigatcp_units::Instant;
use gigatcp_wire::{Flags, SackBlock, SackBlocks, SeqNumber};
use proptest::prelude::*;

fn graph(told: &Told) -> Graph {
    let watched = told.watched().swap_remove(0);
    assert_eq!(watched.side, Side::Client);
    watched.graph
}

fn points(graph: &Graph) -> Vec<Point> {
    (0..graph.blocks().len())
        .flat_map(|block| graph.points_of(block).collect::<Vec<_>>())
        .collect()
}

#[test]
fn offsets_begin_at_the_first_octet_and_go_past_the_wrap() {
    let points = points(&graph(&eventful()));
    let data: Vec<(u64, u32)> = points
        .iter()
        .filter_map(|point| match point.effect {
            Effect::Data { start, len } if len > 1 => Some((start, len)),
            _ => None,
        })
        .collect();
    assert_eq!(data[0], (0, SIZE));
    assert_eq!(data[39], (39 * u64::from(SIZE), SIZE));
    assert_eq!(data[40], (10 * u64::from(SIZE), SIZE));
    assert_eq!(data.len(), 41);
}

#[test]
fn a_point_tells_what_its_packet_is() {
    let points = points(&graph(&eventful()));
    let again = points
        .iter()
        .find(|point| point.is_retransmission())
        .unwrap();
    assert!(again.is(Kind::SackRetransmission) || again.is(Kind::FastRetransmission));
    assert_eq!(again.at_ns, 24_100_000);
    let reports = points
        .iter()
        .filter(|point| matches!(point.effect, Effect::Ack { sack_len: 1, .. }));
    assert_eq!(reports.count(), 8);
    let closed = points.iter().find(|point| point.is(Kind::ZeroWindow));
    assert!(matches!(
        closed.unwrap().effect,
        Effect::Ack { window: 0, .. }
    ));
    let first_ack = points.iter().find_map(|point| match point.effect {
        Effect::Ack {
            ack,
            window,
            rtt_ns,
            ..
        } if ack > 0 => Some((ack, window, rtt_ns)),
        _ => None,
    });
    assert_eq!(first_ack, Some((u64::from(SIZE), 64_000, Some(10_000_000))));
    assert!(points[0].marks & Point::SYN != 0);
    let fin = points.iter().find(|point| point.marks & Point::FIN != 0);
    assert_eq!(fin.unwrap().end(), Some(40 * u64::from(SIZE) + 1));
}

#[test]
fn where_a_syn_is_missing_no_window_is_claimed() {
    let mut told = Told::open();
    told.packets.clear();
    let mut later = Told::open();
    later.data(11_000, 0);
    later.ack(21_000, SIZE);
    told.packets.extend(later.packets.split_off(2));
    let watched = told.watched().swap_remove(0);
    assert!(!watched.knows_windows);
}

#[test]
fn a_stream_that_is_next_to_nothing_is_not_drawn_and_both_of_a_dialogue_are() {
    assert_eq!(eventful().watched().len(), 1);
    let mut told = Told::open();
    for index in 0..20 {
        let us = 11_000 + u64::from(index) * 1_000;
        told.data(us, index * SIZE);
        told.ack(us + 500, (index + 1) * SIZE);
        let answer = told.packets.last_mut().unwrap();
        answer.payload_len = 100;
        answer.seq += index * 100;
    }
    let sides: Vec<Side> = told.watched().iter().map(|watched| watched.side).collect();
    assert_eq!(sides.len(), 2);
}

/// Parses an xplot file by the grammar of its manual only; returns its number of commands.
fn parse(text: &str) -> Result<usize, String> {
    let mut lines = text.lines();
    let types = lines.next().ok_or("no types")?;
    let types: Vec<&str> = types.split(' ').collect();
    let known = ["double", "signed", "unsigned", "timeval", "dtime"];
    if types.len() != 2 || types.iter().any(|name| !known.contains(name)) {
        return Err(format!("types {types:?}"));
    }
    let number = |kind: &str, token: &str| match kind {
        "timeval" => token.split_once('.').is_some_and(|(s, us)| {
            s.parse::<u64>().is_ok() && us.len() == 6 && us.parse::<u32>().is_ok()
        }),
        "signed" => token.parse::<i64>().is_ok(),
        _ => token.parse::<f64>().is_ok(),
    };
    let colours = [
        "white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink", "gray20",
    ];
    let points = [
        "x",
        ".",
        "dot",
        "+",
        "plus",
        "box",
        "diamond",
        "utick",
        "dtick",
        "ltick",
        "rtick",
        "htick",
        "vtick",
        "uarrow",
        "darrow",
        "larrow",
        "rarrow",
        "invisible",
    ];
    let texts = ["ctext", "atext", "btext", "ltext", "rtext"];
    let headings = ["title", "xlabel", "ylabel", "xunits", "yunits"];
    let mut commands = 0;
    while let Some(line) = lines.next() {
        if line.len() >= 1_000 {
            return Err("a line of 1000 octets".into());
        }
        let tokens: Vec<&str> = line.split([' ', '\t']).collect();
        let are_places = |tokens: &[&str]| {
            let kinds = types.iter().cycle();
            tokens
                .iter()
                .zip(kinds)
                .all(|(token, kind)| number(kind, token))
        };
        let is_right = match tokens[0] {
            "go" => {
                return lines
                    .next()
                    .map_or(Ok(commands), |_| Err("more after go".into()));
            }
            name if headings.contains(&name) => {
                tokens.len() == 1 && lines.next().is_some_and(|text| text.len() < 80)
            }
            name if colours.contains(&name) => tokens.len() == 1,
            name if points.contains(&name) => tokens.len() == 3 && are_places(&tokens[1..]),
            "line" | "dline" => tokens.len() == 5 && are_places(&tokens[1..]),
            name if texts.contains(&name) => {
                let text = lines.next().unwrap_or_default();
                tokens.len() == 3 && are_places(&tokens[1..]) && !text.is_empty() && text.len() < 80
            }
            _ => false,
        };
        if !is_right {
            return Err(format!("input format error: {line}"));
        }
        commands += 1;
    }
    Err("no go".into())
}

fn xplot(graph: &Graph, picture: Picture, title: &str, spans: &[Span]) -> String {
    let xplot = Xplot {
        graph,
        title,
        first_at: Instant::from_nanos(1_000_000_000),
        knows_windows: true,
        spans,
    };
    let mut out = Vec::new();
    xplot.write(picture, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn span(name: &str) -> Span {
    Span {
        from_ns: 20_000_000,
        to_ns: 34_000_000,
        name: name.into(),
        text: "What there is to say.".into(),
    }
}

#[test]
fn every_picture_is_a_file_that_xplot_reads() {
    let graph = graph(&eventful());
    for picture in Picture::ALL {
        let text = xplot(&graph, picture, "a to b", &[span("random loss")]);
        let commands = parse(&text).unwrap_or_else(|error| panic!("{picture:?}: {error}"));
        assert!(commands > 5, "{picture:?}: {commands}");
    }
    let text = xplot(
        &graph,
        Picture::TimeSequence,
        "a to b",
        &[span("random loss")],
    );
    let has = |what: &str| text.contains(what);
    assert!(has("atext 1.024100 15928\nR\n"), "{text}");
    assert!(has("\nSYN\n") && has("\nFIN\n") && has("\nS\n") && has("\nZ\n"));
    assert!(has("btext 1.020000 0\nrandom loss\n"));
}

#[test]
fn names_of_strangers_do_not_break_an_xplot_file() {
    let evil = "a\nnew_plotter\n\u{202e}".repeat(50);
    let text = xplot(
        &graph(&eventful()),
        Picture::TimeSequence,
        &evil,
        &[span(&evil)],
    );
    let title = text.lines().nth(2).unwrap();
    assert_eq!(title.chars().count(), 79);
    assert!(!text.contains("\nnew_plotter"));
}

#[test]
fn a_graph_of_dull_blocks_is_drawn_for_xplot_in_a_line_each() {
    let graph = steady(300_000, 50_000);
    let text = xplot(&graph, Picture::TimeSequence, "a to b", &[]);
    parse(&text).unwrap();
    assert!(text.len() < 8_000_000, "{}", text.len());
    for picture in Picture::ALL {
        parse(&xplot(&graph, picture, "a to b", &[])).unwrap();
    }
}

/// Consecutive segments, each second one acknowledged, at unpredictable times.
fn steady(segments: u64, detail: usize) -> Graph {
    let mut builder = GraphBuilder::new(segments * 3 / 2, 1).with_detail_limit(detail);
    let mut random = 1_u64;
    let (mut at_ns, mut frame) = (0, 0);
    let mut add = |effect, passed: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        at_ns += passed + (random >> 56);
        frame += 1;
        builder.add(Point {
            frame,
            at_ns,
            marks: 0,
            effect,
        });
    };
    for index in 0..segments {
        add(
            Effect::Data {
                start: index * 1_448,
                len: 1_448,
            },
            1_000,
        );
        if index % 2 == 1 {
            let answer = Effect::Ack {
                ack: (index + 1).saturating_sub(100) * 1_448,
                window: 1 << 20,
                sack: Default::default(),
                sack_len: 0,
                rtt_ns: Some(100_000),
            };
            add(answer, 100);
        }
    }
    builder.finish()
}

fn page(graph: &Graph, name: &str) -> String {
    let plotted = |label: &str| Plotted {
        label: label.into(),
        facts: vec![(name.into(), name.into())],
        graph,
        knows_windows: true,
        spans: vec![span(name)],
        said: DiagnosisText {
            headline: name.into(),
            lines: Vec::new(),
            findings: vec![(name.into(), vec![name.into()])],
        },
        notes: vec![name.into()],
    };
    let page = Page {
        title: name.into(),
        about: name.into(),
        facts: vec![("Packets".into(), name.into())],
        graphs: vec![plotted(name)],
    };
    page.html(PAGE_BUDGET)
}

#[test]
fn a_million_segments_make_a_page_of_three_megabytes() {
    let page = page(&steady(1_000_000, 24 << 20), "a million");
    assert!(page.len() < 3_000_000, "{} octets", page.len());
    assert!(page.len() > 2_000_000, "{} octets", page.len());
}

#[test]
fn the_page_loads_nothing() {
    let page = page(&graph(&eventful()), "trace.pcap");
    assert!(page.len() < 100_000, "{} octets", page.len());
    assert!(page.contains("default-src 'none'"));
    for load in [
        "http://", "https://", "src=", "@import", "url(", "fetch(", "import(",
    ] {
        assert!(!page.contains(load), "the page has {load}");
    }
}

#[test]
fn hostile_names_stay_text_everywhere() {
    let evil =
        "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&<!--";
    let page = page(&graph(&eventful()), evil);
    assert!(!page.contains("<img"));
    assert!(!page.contains("<script>document"));
    // The data, encoded bytes included, and the renderer.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn an_empty_graph_is_still_a_page() {
    let page = page(&GraphBuilder::new(0, 1).finish(), "nothing");
    assert!(page.contains("</html>"));
}

#[test]
fn a_connection_that_is_reset_at_once_has_a_graph() {
    let mut told = Told::open();
    told.packets.truncate(1);
    told.server(100, 0, 0, &[], Flags::RST | Flags::ACK);
    let points = points(&graph(&told));
    assert_eq!(points.len(), 2);
    assert!(points[1].marks & Point::RST != 0);
}

/// A packet with arbitrary fields.
fn odd() -> impl Strategy<Value = (u64, bool, [u32; 5], u16, u16, u32)> {
    let numbers = prop_oneof![any::<[u32; 5]>(), Just([0; 5]), Just([u32::MAX; 5])];
    let len = prop_oneof![Just(0), 0_u32..3_000, any::<u32>()];
    (
        0..u64::MAX / 2_000,
        any::<bool>(),
        numbers,
        any::<u16>(),
        any::<u16>(),
        len,
    )
}

proptest! {
    #[test]
    fn nothing_that_a_capture_holds_breaks_a_graph(list in prop::collection::vec(odd(), 1..60)) {
        let mut told = Told::open();
        for (us, is_client, [seq, ack, left, right, _], wnd, flags, len) in list {
            told.ack(0, 0);
            let packet = told.packets.last_mut().unwrap();
            packet.at = Instant::from_nanos(us * 1_000);
            packet.seq = SeqNumber::new(seq);
            packet.ack = SeqNumber::new(ack);
            packet.wnd = wnd;
            packet.flags = Flags::from_bits(flags & 0xff);
            packet.payload_len = len;
            let mut sack = SackBlocks::default();
            let block = SackBlock { left: SeqNumber::new(left), right: SeqNumber::new(right) };
            sack.try_push(block);
            packet.sack = sack;
            if is_client {
                packet.endpoints = packet.endpoints.reversed();
                std::mem::swap(&mut packet.src_port, &mut packet.dst_port);
            }
        }
        for watched in told.watched() {
            let points = points(&watched.graph);
            prop_assert_eq!(points.len() as u64, watched.graph.points());
            for picture in Picture::ALL {
                let text = xplot(&watched.graph, picture, "odd", &[]);
                prop_assert!(parse(&text).is_ok(), "{:?}", parse(&text));
            }
            page(&watched.graph, "odd");
        }
    }
}
