//! Application-limited cases: paced, with pauses, requests and responses, short ones.

use super::full::emulate;
use super::{Draft, Family, eager, family};
use crate::kernels::apps::{App, Ask, Socket, Stage};
use crate::kernels::proof::Proof;
use crate::kernels::spec::{Host, PORT, Role};

const RANGES: [[f64; 2]; 2] = [[20.0, 300.0], [1.0, 80.0]];

pub(super) const FAMILIES: &[Family] = &[
    family("app-paced", "application-limited", RANGES, 0.0, |draft| {
        let every = draft.draw.magnitude(0.002, 0.05);
        pieces(draft, every);
    }),
    family(
        "app-paced-emulate",
        "application-limited",
        RANGES,
        0.0,
        |draft| {
            let every = draft.draw.magnitude(0.005, 0.1);
            pieces(draft, every);
            emulate(draft, &["--queue=3 BDP".into()]);
        },
    ),
    family("app-pauses", "application-limited", RANGES, 0.0, |draft| {
        let every = draft.draw.magnitude(0.2, 0.8);
        draft.spec.seconds = 3.5;
        pieces(draft, every);
    }),
    family(
        "app-small-writes",
        "application-limited",
        RANGES,
        0.0,
        |draft| {
            let bytes = draft.draw.between(80.0, 1400.0);
            let share = draft.draw.between(0.01, 0.1);
            let every = (bytes * 8.0 / (draft.spec.rate_bps * share)).max(0.001);
            let nodelay = draft.draw.chance(0.5);
            write_pieces(draft, bytes as usize, every, nodelay);
        },
    ),
    family("app-iperf3", "application-limited", RANGES, 0.0, |draft| {
        let rate = draft.spec.rate_bps * draft.draw.between(0.1, 0.5);
        draft.bulk_by("iperf3");
        draft.client_option(format!("-b{}", rate as u64));
        draft.spec.offered_bps = rate;
        draft.proof(Proof::Offered(rate));
    }),
    family("keystrokes", "client-think-time", RANGES, 0.0, |draft| {
        draft.spec.tool = "keystrokes";
        draft.spec.seconds = 5.0;
        draft.spec.acceptable = vec!["application-limited"];
        let think = draft.draw.between(0.08, 0.3);
        let bytes = draft.draw.pick(&[36, 52, 68]);
        let response = draft.draw.pick(&[36, 52, 300, 1200]);
        let nodelay = true;
        ask(draft, [bytes, 0], response, [think, 0.0], nodelay);
        draft.proof(Proof::Waits("receiver"));
    }),
    family("client-think", "client-think-time", RANGES, 0.0, |draft| {
        let think = draft.spec.rtt_s * draft.draw.between(3.0, 10.0) + 0.02;
        let response = draft.draw.magnitude(200.0, 20_000.0) as usize;
        ask(draft, [200, 0], response, [think, 0.0], true);
        draft.proof(Proof::Waits("receiver"));
    }),
    family("server-think", "server-think-time", RANGES, 0.0, |draft| {
        let think = draft.spec.rtt_s * draft.draw.between(3.0, 10.0) + 0.02;
        let response = draft.draw.magnitude(200.0, 20_000.0) as usize;
        ask(draft, [200, 0], response, [0.0, think], true);
        draft.proof(Proof::Waits("sender"));
    }),
    family(
        "ping-pong",
        "request-response-rtt",
        [[20.0, 300.0], [5.0, 120.0]],
        0.0,
        |draft| {
            let response = draft.draw.magnitude(50.0, 4000.0) as usize;
            let request = draft.draw.pick(&[50, 200, 1000]);
            ask(draft, [request, 0], response, [0.0, 0.0], true);
            let rtt = draft.spec.rtt_s;
            draft.proof(Proof::RoundTrips(rtt));
        },
    ),
    family(
        "ping-pong-large",
        "request-response-rtt",
        [[100.0, 300.0], [20.0, 100.0]],
        0.0,
        |draft| {
            let response = (draft.bdp() * draft.draw.between(0.02, 0.15)).min(60_000.0);
            draft.spec.seconds = 4.0;
            ask(draft, [200, 0], response as usize, [0.0, 0.0], true);
            let rtt = draft.spec.rtt_s;
            draft.proof(Proof::RoundTrips(rtt));
        },
    ),
    family(
        "delayed-ack",
        "delayed-ack-stall",
        [[20.0, 300.0], [0.5, 15.0]],
        0.0,
        |draft| {
            let first = draft.draw.between(100.0, 1400.0) as usize;
            let second = draft.draw.between(100.0, 1400.0) as usize;
            let request = [first, second];
            let serve = App::Serve {
                port: PORT,
                socket: Socket::default(),
                request: first + second,
                response: 100,
                think_us: 0.0,
            };
            draft.app(Host::Receiver, Role::Server(PORT), serve);
            let ask = App::Ask(Ask {
                to: format!("@RECEIVER:{PORT}"),
                socket: Socket::default(),
                request,
                response: 100,
                think_us: 0.0,
                varies: false,
                seconds: 4.0,
            });
            draft.app(Host::Sender, Role::Main, ask);
            let rtt = draft.spec.rtt_s;
            draft.proof(Proof::Stalls(rtt));
        },
    ),
    family(
        "short-transfer",
        "cwnd-growth-limited",
        [[50.0, 400.0], [20.0, 120.0]],
        200.0,
        |draft| {
            let share = draft.draw.between(0.15, 0.7);
            let bytes = (draft.bdp() * share).max(60_000.0) as u64;
            draft.spec.seconds = 1.0;
            draft.queue(2.0);
            if draft.draw.chance(0.5) {
                draft.download(bytes);
            } else {
                let stage = Stage {
                    bytes,
                    ..eager(65_536)
                };
                let sockets = [Socket::default(), Socket::default()];
                draft.transfer(vec![stage], vec![eager(262_144)], sockets);
            }
            draft.proof(Proof::Growing);
        },
    ),
    family(
        "slow-start",
        "cwnd-growth-limited",
        [[150.0, 500.0], [100.0, 200.0]],
        600.0,
        |draft| {
            let first = draft.draw.pick(&[2_u32, 4, 10]);
            draft.spec.route = format!("initcwnd {first}");
            draft.set("tcp_rmem", "4096 16777216 33554432");
            let bytes = (draft.bdp() * draft.draw.between(0.5, 1.2)) as u64;
            let stage = Stage {
                bytes,
                ..eager(65_536)
            };
            draft.queue(2.0);
            draft.spec.seconds = 2.0;
            draft.transfer(vec![stage], vec![eager(262_144)], Default::default());
            draft.proof(Proof::Growing);
        },
    ),
    family(
        "avoidance",
        "cwnd-growth-limited",
        [[50.0, 300.0], [30.0, 120.0]],
        250.0,
        |draft| {
            draft.control("reno");
            let first = draft.draw.pick(&[8_u32, 16, 32]);
            draft.spec.first_threshold = first;
            draft.set("tcp_no_metrics_save", "0");
            draft.spec.seconds = 4.0;
            draft.proof(Proof::Growing);
        },
    ),
    family(
        "early-loss",
        "random-loss",
        [[50.0, 300.0], [40.0, 120.0]],
        300.0,
        |draft| {
            draft.control("reno");
            let at = draft.draw.between(15.0, 60.0) as u64;
            draft.forward().listed = vec![at];
            draft.spec.seconds = 4.0;
            draft.spec.acceptable = vec!["cwnd-growth-limited"];
            draft.proof(Proof::Lost(&["listed"]));
        },
    ),
    family(
        "app-paced-bbr",
        "application-limited",
        RANGES,
        0.0,
        |draft| {
            draft.control("bbr");
            let every = draft.draw.magnitude(0.002, 0.05);
            pieces(draft, every);
        },
    ),
    family(
        "short-bbr",
        "cwnd-growth-limited",
        [[50.0, 400.0], [20.0, 120.0]],
        200.0,
        |draft| {
            draft.control("bbr");
            let bytes = (draft.bdp() * draft.draw.between(0.15, 0.7)).max(60_000.0);
            draft.spec.seconds = 1.0;
            draft.set("tcp_rmem", "4096 4194304 33554432");
            draft.queue(2.0);
            draft.download(bytes as u64);
            draft.proof(Proof::Growing);
        },
    ),
];

/// Writes pieces: a share of the link's capacity in each interval of `every`.
fn pieces(draft: &mut Draft, every: f64) {
    let share = draft.draw.between(0.08, 0.4);
    let bytes = (draft.spec.rate_bps / 8.0 * every * share).max(1500.0);
    draft.queue(3.0);
    let burst = (bytes / 1400.0) as usize + 50;
    let forward = draft.forward();
    forward.queue_packets = forward.queue_packets.max(burst);
    write_pieces(draft, bytes as usize, every, false);
}

fn write_pieces(draft: &mut Draft, bytes: usize, every: f64, nodelay: bool) {
    let stage = Stage {
        seconds: draft.spec.seconds,
        every_us: every * 1e6,
        ..eager(bytes)
    };
    let socket = Socket {
        nodelay,
        ..Socket::default()
    };
    draft.transfer(
        vec![stage],
        vec![eager(262_144)],
        [socket, Socket::default()],
    );
    let rate = bytes as f64 * 8.0 / every;
    draft.spec.offered_bps = rate;
    draft.proof(Proof::Offered(rate));
}

/// Adds a client at the receiver that sends requests, and a server at the sender.
///
/// `think` holds the think times of client and server, in seconds.
pub(super) fn ask(
    draft: &mut Draft,
    request: [usize; 2],
    response: usize,
    think: [f64; 2],
    nodelay: bool,
) {
    let socket = Socket {
        nodelay,
        ..Socket::default()
    };
    let serve = App::Serve {
        port: PORT,
        socket: socket.clone(),
        request: request[0] + request[1],
        response,
        think_us: think[1] * 1e6,
    };
    draft.app(Host::Sender, Role::Server(PORT), serve);
    let varies = draft.spec.tool == "keystrokes";
    let seconds = draft.spec.seconds.max(3.0);
    let ask = App::Ask(Ask {
        to: format!("@SENDER:{PORT}"),
        socket,
        request,
        response,
        think_us: think[0] * 1e6,
        varies,
        seconds,
    });
    draft.app(Host::Receiver, Role::Main, ask);
}
