//! The line of parameters: versions, limits, both ways.

use gigatcp_protocol::nuttcp::error::Error;
use gigatcp_protocol::nuttcp::parameters::{Format, Parameters, Wanted};
use gigatcp_protocol::nuttcp::{Side, Version};
use gigatcp_units::Duration;
use proptest::prelude::*;

fn keys(line: &str) -> Vec<&str> {
    let fields = line.trim().split(',');
    fields
        .map(|field| field.split('=').next().expect("a key").trim())
        .collect()
}

/// The keys of later versions than the oldest, with the first version that has each.
const SINCE: [(&str, (u16, u16, u16)); 10] = [
    ("ssm", (6, 2, 1)),
    ("affinity", (6, 2, 6)),
    ("maxburst", (6, 2, 7)),
    ("do_jitter", (7, 0, 1)),
    ("do_owd", (7, 0, 1)),
    ("stride", (7, 1, 1)),
    ("multilink", (7, 1, 1)),
    ("group", (7, 2, 1)),
    ("srcport", (7, 3, 1)),
    ("iratesss", (8, 1, 1)),
];

fn version((major, minor, delta): (u16, u16, u16)) -> Version {
    Version::new(major, minor, delta)
}

#[test]
fn each_key_is_sent_from_its_first_version_on() {
    for (key, since) in SINCE {
        let has = |server: Version| {
            let line = Parameters::default().line(server).expect("a line");
            keys(&line).contains(&key)
        };
        let (major, minor, delta) = since;
        assert!(has(version(since)), "{key} at {since:?}");
        assert!(
            !has(Version::new(major, minor, delta - 1)),
            "{key} before {since:?}"
        );
        assert!(has(Version::OURS));
    }
}

#[test]
fn an_option_without_which_the_test_is_another_is_an_error_with_the_version_needed() {
    let parameters = Parameters {
        jitter: Wanted(Wanted::ALL),
        ..Parameters::default()
    };
    let error = parameters.line(Version::OLDEST).expect_err("an error");
    let text = "`do_jitter` needs nuttcp 7.0.1 or later, the server is 6.1.2";
    assert_eq!(error.to_string(), text);
}

#[test]
fn an_option_of_the_transmitter_is_no_concern_of_an_old_receiver() {
    let sender = Parameters {
        burst: 4,
        ..Parameters::default()
    };
    assert!(sender.line(Version::OLDEST).is_ok());
    let receiver = Parameters {
        client: Side::Receiver,
        ..sender
    };
    assert!(matches!(
        receiver.line(Version::OLDEST),
        Err(Error::Unsupported {
            key: "maxburst",
            ..
        })
    ));
}

/// A line as 8.2.2 sends it, and the parameters behind it.
const LATEST: &str = "buflen = 131072, nbuf = 500, win = 1048576, nstream = 4, rate = 100000, \
    port = 5961, trans = 0, braindead = 0, timeout = 2.500000, udp = 0, vers = 8.2.2, \
    interval = 1.000000, reverse = 0, format = 2112, traceroute = 0, irate = 1, \
    thirdparty = _NULL_ , multicast = 0 , ssm = 0 , datamss = 1448 , tos = B8 , nbuf_bytes = 0 , \
    rate_pps = 0 , nodelay = 1 , affinity = 3 , maxburst = 20 , do_jitter = 0 , do_owd = 0 , \
    stride = 16777216 , multilink = 1, group = _NULL_ , srcport = 4000, iratesss = 0\n";

#[test]
fn a_line_of_8_2_2_is_read() {
    let (read, client) = Parameters::read(LATEST).expect("parameters");
    assert_eq!(client, Version::OURS);
    let expected = Parameters {
        buffer_bytes: 131_072,
        buffers: Some(500),
        window_bytes: 1_048_576,
        streams: 4,
        rate_kbps: Some(100_000),
        port: 5961,
        client: Side::Receiver,
        time_limit: Duration::from_millis(2500),
        interval: Duration::from_secs(1),
        format: Format(2112),
        instantaneous: true,
        mss: 1448,
        tos: 0xb8,
        nodelay: true,
        burst: 20,
        ..Parameters::default()
    };
    assert_eq!(read, expected);
    assert_eq!(read.check(5000), Ok(()));
}

#[test]
fn unknown_keys_and_keys_after_the_clients_version_are_ignored() {
    let line = LATEST.replace("vers = 8.2.2", "vers = 6.1.2, gigatcp = 1");
    let (read, client) = Parameters::read(&line).expect("parameters");
    assert_eq!(client, Version::new(6, 1, 2));
    assert_eq!((read.mss, read.burst), (1448, 1));
}

#[test]
fn a_key_that_the_clients_version_has_must_be_there() {
    let line = LATEST.replace(" , srcport = 4000", "");
    let error = Parameters::read(&line).expect_err("an error");
    let text = "read parameters without `srcport`, expected it from nuttcp 7.3.1 or later";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_value_that_cannot_be_is_named_with_what_can_be() {
    for (from, to, key) in [
        ("buflen = 131072", "buflen = -1", "buflen"),
        ("nbuf = 500", "nbuf = 0", "nbuf"),
        ("win = 1048576", "win = -5", "win"),
        ("win = 1048576", "win = 4294967296", "win"),
        ("nstream = 4", "nstream = x", "nstream"),
        ("port = 5961", "port = 70000", "port"),
        ("timeout = 2.500000", "timeout = inf", "timeout"),
        ("timeout = 2.500000", "timeout = nan", "timeout"),
        ("interval = 1.000000", "interval = -1", "interval"),
        ("tos = B8", "tos = 1B8", "tos"),
        ("maxburst = 20", "maxburst = 0", "maxburst"),
        ("thirdparty = _NULL_", "thirdparty = host", "thirdparty"),
        ("traceroute = 0", "traceroute = 1", "traceroute"),
        ("multicast = 0", "multicast = 4", "multicast"),
        ("group = _NULL_", "group = 232.1.1.1", "group"),
        ("vers = 8.2.2", "vers = eight", "vers"),
        ("vers = 8.2.2", "vers = 5.5.5", "vers"),
    ] {
        let error = Parameters::read(&LATEST.replace(from, to)).expect_err(to);
        assert!(
            matches!(error, Error::Parameter { key: found, .. } if found == key),
            "{error}"
        );
    }
}

#[test]
fn a_server_holds_clients_to_its_limits() {
    let usual = Parameters::default;
    for (what, parameters) in [
        (
            "buflen",
            Parameters {
                buffer_bytes: 1 << 31,
                ..usual()
            },
        ),
        (
            "buflen",
            Parameters {
                buffer_bytes: 0,
                ..usual()
            },
        ),
        (
            "buflen",
            Parameters {
                udp: true,
                buffer_bytes: 4,
                ..usual()
            },
        ),
        (
            "buflen",
            Parameters {
                udp: true,
                buffer_bytes: 65_508,
                ..usual()
            },
        ),
        (
            "nstream",
            Parameters {
                streams: 129,
                ..usual()
            },
        ),
        (
            "nstream",
            Parameters {
                streams: 0,
                ..usual()
            },
        ),
        (
            "interval",
            Parameters {
                interval: Duration::from_micros(999),
                ..usual()
            },
        ),
        (
            "port",
            Parameters {
                port: 1023,
                ..usual()
            },
        ),
        (
            "port",
            Parameters {
                port: 65_535,
                streams: 2,
                ..usual()
            },
        ),
        (
            "port",
            Parameters {
                port: 4999,
                streams: 2,
                ..usual()
            },
        ),
        (
            "reverse",
            Parameters {
                udp: true,
                buffer_bytes: 1000,
                flipped: true,
                ..usual()
            },
        ),
        (
            "do_jitter",
            Parameters {
                jitter: Wanted(1),
                ..usual()
            },
        ),
        (
            "format",
            Parameters {
                format: Format(0x4),
                ..usual()
            },
        ),
    ] {
        let error = parameters.check(5000).expect_err(what);
        assert!(error.to_string().contains(what), "{what}: {error}");
    }
    assert_eq!(usual().check(5000), Ok(()));
}

fn any_parameters() -> impl Strategy<Value = Parameters> {
    let numbers = (
        1..70_000u32,
        any::<u64>(),
        0..1u32 << 31,
        1..=128u16,
        1..=u64::MAX,
    );
    let bits = (any::<u32>(), any::<u16>(), any::<u8>(), any::<u32>());
    (numbers, bits, 0..1_000_000_000u64).prop_map(|(n, b, us)| {
        let (flags, port, byte, word) = b;
        let flag = |bit: u32| flags >> bit & 1 == 1;
        Parameters {
            buffer_bytes: n.0,
            buffers: Some(n.1 | 1).filter(|of| *of != 0x7fff_ffff),
            window_bytes: n.2,
            streams: n.3,
            rate_kbps: Some(n.4).filter(|of| *of != 0xffff_ffff),
            port,
            client: if flag(0) {
                Side::Receiver
            } else {
                Side::Transmitter
            },
            time_limit: Duration::from_micros(us),
            udp: flag(2),
            interval: Duration::from_micros(us / 7),
            flipped: flag(3),
            format: Format(word),
            instantaneous: flag(5),
            mss: word,
            tos: byte,
            nodelay: flag(8),
            burst: word | 1,
            jitter: Wanted(word % 16),
            private: flag(12),
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_for_our_version_is_read_back(parameters in any_parameters()) {
        let line = parameters.line(Version::OURS).expect("a line");
        let (read, client) = Parameters::read(&line).expect("parameters");
        prop_assert_eq!(client, Version::OURS);
        prop_assert_eq!(read, parameters);
    }

    #[test]
    fn any_line_is_read_or_refused(line in "\\PC{0,300}") {
        let _ = Parameters::read(&line);
    }

    #[test]
    fn any_value_is_read_or_refused(at in 0..40usize, value in "\\PC{0,20}") {
        let mut fields: Vec<String> = LATEST.split(',').map(str::to_owned).collect();
        let at = at % fields.len();
        let key = fields[at].split('=').next().expect("a key").to_owned();
        fields[at] = format!("{key}= {value}");
        if let Ok((parameters, _)) = Parameters::read(&fields.join(",")) {
            let _ = parameters.check(5000);
        }
    }
}
