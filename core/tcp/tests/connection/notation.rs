//! Segments in the notation of tcpdump and packetdrill.
//!
//! > `P. 1:1001(1000) ack 1 win 500 <sack 2001:3001,TS val 7 ecr 3>`
//!
//! Numbers are relative to the initial sequence number of the side they
//! belong to: SYN stands at 0, the first octet of data at 1. Window fields are
//! given as they stand in the header, not scaled. `FO` asks for a Fast Open
//! cookie, `FO 0a0b0c0d` shows one; `FOEXP` is the experimental form. The flags
//! AE, CWR and ECE are `A`, `W` and `E`; `[ect0]`, `[ect1]` or `[ce]` in front is
//! the ECN field; `ECN e0b 1 ceb 0 e1b 1` is an AccECN option.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    AccEcn, AccEcnOrder, Ecn, FastOpenCookie, Flags, SackBlock, Segment, SeqNumber, Timestamps,
    UserTimeout, WireWindow,
};

/// The letters of the control bits, in the order they are written.
const LETTERS: [(Flags, char); 9] = [
    (Flags::FIN, 'F'),
    (Flags::SYN, 'S'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'W'),
    (Flags::AE, 'A'),
    (Flags::ACK, '.'),
];

/// The octets of a stream from offset 1 on: every place has its own octet, so
/// that misplaced data shows.
pub fn octets(from: u64, len: usize) -> Bytes {
    (0..len as u64)
        .map(|n| from.wrapping_add(n))
        .map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8)
        .collect::<Vec<u8>>()
        .into()
}

/// Offset of `seq` from `iss` as a signed number of 32 bits.
fn relative(seq: SeqNumber, iss: SeqNumber) -> i32 {
    seq.distance_from(iss)
}

fn absolute(offset: &str, iss: SeqNumber) -> SeqNumber {
    let offset: i64 = offset
        .parse()
        .unwrap_or_else(|_| panic!("no number: {offset}"));
    iss + offset as u32
}

/// Writes `segment`, sent by the side with `iss` to the side with `peer_iss`.
/// Window and timestamps only if `like`, the text it is compared with, speaks
/// of them.
pub fn write(segment: &Segment<Bytes>, iss: SeqNumber, peer_iss: SeqNumber, like: &str) -> String {
    let mut text = written_field(segment.ecn).to_string();
    let letters = LETTERS
        .iter()
        .filter(|(flag, _)| segment.flags.contains(*flag));
    text.extend(letters.map(|(_, letter)| *letter));
    let seq = relative(segment.seq, iss);
    let len = segment.payload.len() as i64;
    text += &format!(" {seq}:{}({len})", i64::from(seq) + len);
    if segment.flags.contains(Flags::ACK) {
        text += &format!(" ack {}", relative(segment.ack, peer_iss));
    }
    if segment.flags.contains(Flags::URG) {
        text += &format!(" urg {}", segment.urgent);
    }
    if like.contains("win ") {
        text += &format!(" win {}", segment.wnd.0);
    }
    let options = written_options(segment, peer_iss, like.contains("TS"));
    if !options.is_empty() {
        text += &format!(" <{}>", options.join(","));
    }
    text
}

fn written_options(
    segment: &Segment<Bytes>,
    peer_iss: SeqNumber,
    with_timestamps: bool,
) -> Vec<String> {
    let options = &segment.options;
    let mut all = Vec::new();
    all.extend(options.mss.map(|mss| format!("mss {mss}")));
    all.extend(options.sack_permitted.then(|| "sackOK".to_string()));
    let stamps = options.timestamps.filter(|_| with_timestamps);
    all.extend(stamps.map(|ts| format!("TS val {} ecr {}", ts.val, ts.ecr)));
    all.extend(options.window_scale.map(|shift| format!("wscale {shift}")));
    all.extend(
        options
            .user_timeout()
            .map(|uto| format!("uto {}", uto.seconds())),
    );
    all.extend(options.accecn.as_ref().map(written_accecn));
    all.extend(options.fast_open().as_ref().map(written_cookie));
    if !options.sack.is_empty() {
        let blocks = options.sack.as_slice().iter().map(|block| {
            let (left, right) = (
                relative(block.left, peer_iss),
                relative(block.right, peer_iss),
            );
            format!("{left}:{right}")
        });
        all.push(format!("sack {}", blocks.collect::<Vec<_>>().join(" ")));
    }
    all
}

/// The ECN field, unless it is empty.
fn written_field(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "",
        Ecn::Ect1 => "[ect1] ",
        Ecn::Ect0 => "[ect0] ",
        Ecn::Ce => "[ce] ",
    }
}

fn written_accecn(option: &AccEcn) -> String {
    let names = option.order().counts().map(|ecn| match ecn {
        Ecn::Ect0 => "e0b",
        Ecn::Ect1 => "e1b",
        _ => "ceb",
    });
    let fields = names.iter().zip(option.fields());
    let fields: Vec<String> = fields.map(|(name, n)| format!(" {name} {n}")).collect();
    format!("ECN{}", fields.concat())
}

/// Names and values in turn: `e0b 1 ceb 0 e1b 1`, of which the tail may be
/// left out; the first name tells the order.
fn read_accecn(words: &[&str]) -> AccEcn {
    let order = match words.first() {
        Some(&"e1b") => AccEcnOrder::Ect1First,
        _ => AccEcnOrder::Ect0First,
    };
    let values = words.iter().skip(1).step_by(2);
    let values: Vec<u32> = values.map(|n| n.parse().unwrap()).collect();
    AccEcn::new(order, &values)
}

fn written_cookie(cookie: &FastOpenCookie) -> String {
    let name = if cookie.is_experimental() {
        "FOEXP"
    } else {
        "FO"
    };
    let octets = cookie.as_slice().iter().map(|octet| format!("{octet:02x}"));
    format!("{name} {}", octets.collect::<String>())
        .trim_end()
        .to_owned()
}

fn read_cookie(hex: &str) -> FastOpenCookie {
    let octets = (0..hex.len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16));
    let octets: Result<Vec<u8>, _> = octets.collect();
    FastOpenCookie::new(&octets.expect("hexadecimal")).expect("the length of a cookie")
}

/// Reads a segment that the side with `iss` sends to the side with
/// `peer_iss`. Without `win` the window field is `wnd`.
pub fn read(text: &str, iss: SeqNumber, peer_iss: SeqNumber, wnd: u16) -> Segment<Bytes> {
    let (head, options) = text.split_once(" <").unwrap_or((text, ""));
    let (field, head) = head.split_once("] ").unwrap_or(("", head));
    let mut words = head.split(' ');
    let mut segment = Segment {
        flags: read_flags(words.next().unwrap()),
        wnd: WireWindow(wnd),
        ecn: match field {
            "" => Ecn::NotEct,
            "[ect1" => Ecn::Ect1,
            "[ect0" => Ecn::Ect0,
            "[ce" => Ecn::Ce,
            _ => panic!("what is the field {field}]?"),
        },
        ..Segment::default()
    };
    let place = words.next().expect("seq:end(len)");
    let (start, rest) = place.split_once(':').expect("seq:end(len)");
    let (end, len) = rest
        .trim_end_matches(')')
        .split_once('(')
        .expect("seq:end(len)");
    let (start_offset, len): (i64, usize) = (start.parse().unwrap(), len.parse().unwrap());
    assert_eq!(
        end.parse::<i64>().unwrap(),
        start_offset + len as i64,
        "{text}"
    );
    segment.seq = absolute(start, iss);
    // Text on a SYN starts behind it.
    let behind = i64::from(segment.flags.contains(Flags::SYN));
    segment.payload = octets((start_offset + behind) as u64, len);
    while let Some(word) = words.next() {
        let value = words
            .next()
            .unwrap_or_else(|| panic!("{word} without value"));
        match word {
            "ack" => segment.ack = absolute(value, peer_iss),
            "urg" => segment.urgent = value.parse().unwrap(),
            "win" => segment.wnd = WireWindow(value.parse().unwrap()),
            _ => panic!("what is {word:?} in {text:?}?"),
        }
    }
    for option in options
        .trim_end_matches('>')
        .split(',')
        .filter(|o| !o.is_empty())
    {
        read_option(option, peer_iss, &mut segment);
    }
    segment
}

fn read_flags(letters: &str) -> Flags {
    letters.chars().fold(Flags::NONE, |flags, letter| {
        let known = LETTERS.iter().find(|(_, l)| *l == letter);
        flags | known.unwrap_or_else(|| panic!("no flag {letter}")).0
    })
}

fn read_option(option: &str, peer_iss: SeqNumber, segment: &mut Segment<Bytes>) {
    let words: Vec<&str> = option.split(' ').collect();
    let options = &mut segment.options;
    match words[..] {
        ["mss", mss] => options.mss = Some(mss.parse().unwrap()),
        ["sackOK"] => options.sack_permitted = true,
        ["uto", seconds] => {
            let seconds = seconds.parse().unwrap();
            options.set_user_timeout(Some(UserTimeout::from_seconds(seconds)));
        }
        ["wscale", shift] => options.window_scale = Some(shift.parse().unwrap()),
        ["TS", "val", val, "ecr", ecr] => {
            options.timestamps = Some(Timestamps {
                val: val.parse().unwrap(),
                ecr: ecr.parse().unwrap(),
            });
        }
        ["ECN", ref fields @ ..] => options.accecn = Some(read_accecn(fields)),
        ["FO"] => options.set_fast_open(Some(FastOpenCookie::REQUEST)),
        ["FO", cookie] => options.set_fast_open(Some(read_cookie(cookie))),
        ["FOEXP"] => options.set_fast_open(Some(FastOpenCookie::REQUEST.as_experimental())),
        ["FOEXP", cookie] => options.set_fast_open(Some(read_cookie(cookie).as_experimental())),
        ["sack", ref blocks @ ..] => {
            for block in blocks {
                let (left, right) = block.split_once(':').unwrap();
                assert!(options.sack.try_push(SackBlock {
                    left: absolute(left, peer_iss),
                    right: absolute(right, peer_iss),
                }));
            }
        }
        _ => panic!("what is the option {option:?}?"),
    }
}
