//! HTB of the emulator beside that of the kernel: the same classes and connections, once over a veth
//! pair with the kernel's queue, once over an emulated path. No packet leaves the namespaces.

mod site;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_emulate::{Addresses, EmulatorConfig, Side};
use gigatcp_linux::{Namespace, make_pair, socket};
use gigatcp_path::HopConfig;
use gigatcp_path::queue::{self, QueueConfig, Settings, Value};
use gigatcp_units::Rate;

use site::{say, start};

const PORT: u16 = 5001;
/// Device of the pair at both ends.
const WIRE: &str = "wire0";
/// Addresses of the ends of the pair.
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];
/// How long each combination of connections sends, and what of it is not measured.
const SENDING: Duration = Duration::from_secs(8);
const WARMING: Duration = Duration::from_secs(3);

/// A class: number of its parent, Mbit/s, DSCP of a leaf.
struct Class {
    parent: Option<u64>,
    rate: u64,
    ceil: u64,
    prio: u64,
    dscp: Option<u64>,
}

/// Two levels of inner classes. Leaves 4 and 6 borrow from 2, leaf 5 from 1; 6 comes after 4.
const CLASSES: [Class; 5] = [
    class(None, 20, 20, 0, None),
    class(Some(1), 12, 20, 0, None),
    class(Some(2), 8, 20, 0, Some(10)),
    class(Some(1), 8, 16, 0, Some(20)),
    class(Some(2), 4, 20, 1, None),
];
/// DSCP of the connections of each leaf.
const DSCPS: [u64; 3] = [10, 20, 0];
/// Leaves that send, and the Mbit/s of each with Ethernet headers: what is left by others goes to
/// the leaf with the lower priority first, and to equal ones by quanta, which are as the rates.
const COMBINATIONS: [([bool; 3], [f64; 3]); 4] = [
    ([true, true, true], [8.0, 8.0, 4.0]),
    ([true, false, true], [16.0, 0.0, 4.0]),
    ([false, true, true], [0.0, 8.0, 12.0]),
    ([false, true, false], [0.0, 16.0, 0.0]),
];

const fn class(parent: Option<u64>, rate: u64, ceil: u64, prio: u64, dscp: Option<u64>) -> Class {
    Class {
        parent,
        rate,
        ceil,
        prio,
        dscp,
    }
}

/// The classes as the emulator has them.
fn emulated() -> QueueConfig {
    let discipline = queue::find("htb").unwrap();
    let mbit = |mbit: u64| Value::Rate(Rate::from_bps(mbit * 1_000_000));
    let settings = |(class, number): (&Class, u64)| {
        let is_leaf = CLASSES.iter().all(|child| child.parent != Some(number));
        let values = [
            ("parent", class.parent.map(Value::Count)),
            ("rate", Some(mbit(class.rate))),
            ("ceil", Some(mbit(class.ceil))),
            ("prio", is_leaf.then_some(Value::Count(class.prio))),
            ("dscp", class.dscp.map(Value::Count)),
        ];
        let mut settings = Settings::new();
        for (name, value) in values {
            if let Some(value) = value {
                settings
                    .set(discipline.class_parameters, name, value)
                    .unwrap();
            }
        }
        settings
    };
    QueueConfig {
        discipline,
        classes: CLASSES.iter().zip(1..).map(settings).collect(),
        ..QueueConfig::default()
    }
}

/// Runs a command in the namespace of the calling thread; the reason if it fails.
fn run(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap())
        .args(words)
        .output()
        .map_err(|error| format!("{line}: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    output
        .status
        .success()
        .then_some(())
        .ok_or(format!("{line}: {error}"))
}

/// Gives the device of the calling thread's namespace the classes of the kernel.
fn configure_kernel() -> Result<(), String> {
    run(&format!(
        "tc qdisc add dev {WIRE} root handle 1: htb default 5"
    ))?;
    for (class, number) in CLASSES.iter().zip(1..) {
        let parent = class
            .parent
            .map_or("1:".into(), |parent| format!("1:{parent}"));
        let Class {
            rate, ceil, prio, ..
        } = class;
        run(&format!(
            "tc class add dev {WIRE} parent {parent} classid 1:{number} htb rate {rate}mbit \
             ceil {ceil}mbit prio {prio}"
        ))?;
        if let Some(dscp) = class.dscp {
            let tos = dscp << 2;
            run(&format!(
                "tc filter add dev {WIRE} parent 1: protocol ip prio 1 u32 match ip dsfield \
                 {tos:#04x} 0xfc flowid 1:{number}"
            ))?;
        }
    }
    Ok(())
}

/// Two namespaces with a pair of devices; the kernel's queue is at the first.
fn kernel() -> Result<[Namespace; 2], String> {
    let ends = [Namespace::new(), Namespace::new()].map(|end| end.map_err(|e| e.to_string()));
    let [here, there] = ends;
    let ends = [here?, there?];
    make_pair(&ends[0], &ends[1], WIRE).map_err(|error| error.to_string())?;
    for (end, address) in ends.iter().zip(ENDS) {
        let configure = || {
            run(&format!("ip address add {address}/24 dev {WIRE}"))?;
            run(&format!("ip link set {WIRE} up"))
        };
        end.run(configure).map_err(|error| error.to_string())??;
    }
    ends[0]
        .run(configure_kernel)
        .map_err(|error| error.to_string())??;
    Ok(ends)
}

/// Connections of some leaves at once; Mbit/s of each with IP, TCP and Ethernet headers.
fn measure(from: &Namespace, to: &Namespace, address: IpAddr, sends: [bool; 3]) -> [f64; 3] {
    let listener = to
        .run(|| TcpListener::bind((address, PORT)).unwrap())
        .unwrap();
    let mut rates = [0.0; 3];
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        for (leaf, dscp) in DSCPS
            .into_iter()
            .enumerate()
            .filter(|(leaf, _)| sends[*leaf])
        {
            let connect = || TcpStream::connect((address, PORT)).unwrap();
            let mut sender = from.run(connect).unwrap();
            let (mut receiver, _) = listener.accept().unwrap();
            let tos = u32::try_from(dscp << 2).unwrap().to_ne_bytes();
            socket::set_option(sender.as_raw_fd(), libc::IPPROTO_IP, libc::IP_TOS, &tos).unwrap();
            socket::set_congestion(&sender, "cubic").unwrap();
            scope.spawn(move || {
                let octets = vec![0; 65_536];
                while sender.write_all(&octets).is_ok() {}
            });
            let receive = move || {
                let (began, mut first, mut last) = (Instant::now(), None, (Duration::ZERO, 0));
                let mut buffer = vec![0; 65_536];
                let mut octets = 0_u64;
                while last.0 < SENDING {
                    octets += receiver.read(&mut buffer).unwrap() as u64;
                    last = (began.elapsed(), octets);
                    if last.0 >= WARMING {
                        first.get_or_insert(last);
                    }
                }
                let (warm_at, warm_bytes) = first.unwrap();
                // 14 + 20 + 32 bytes of headers for 1448 of data.
                let wire = (last.1 - warm_bytes) as f64 * 1514.0 / 1448.0;
                wire * 8e-6 / (last.0 - warm_at).as_secs_f64()
            };
            receivers.push((leaf, scope.spawn(receive)));
        }
        for (leaf, receiver) in receivers {
            rates[leaf] = receiver.join().unwrap();
        }
    });
    rates
}

/// Each rate is within 2 % of the other's and of what the classes promise.
#[test]
fn rates_of_classes_and_what_they_borrow_are_those_of_the_kernel() {
    let ends = match kernel() {
        Ok(ends) => ends,
        Err(reason) => {
            say(&format!("SKIPPED, NOTHING PROVEN: {reason}"));
            return;
        }
    };
    let config = EmulatorConfig {
        forward: vec![HopConfig {
            name: "forward".into(),
            queue: emulated(),
            ..HopConfig::default()
        }],
        ..EmulatorConfig::default()
    };
    let Some(emulator) = start(&config) else {
        return;
    };
    for (sends, promised) in COMBINATIONS {
        let kernel = measure(&ends[0], &ends[1], ENDS[1].into(), sends);
        let [client, server] = [Side::Client, Side::Server].map(|side| emulator.namespace(side));
        let address = Addresses::of(Side::Server).v4.into();
        let emulated = measure(client, server, address, sends);
        say(&format!(
            "Mbit/s: kernel {kernel:.2?}, emulated {emulated:.2?}"
        ));
        for leaf in 0..3 {
            for (got, expected) in [(emulated, kernel), (emulated, promised)] {
                let error = (got[leaf] - expected[leaf]).abs();
                assert!(error <= 0.02 * expected[leaf], "{emulated:?}, {expected:?}");
            }
        }
    }
}
