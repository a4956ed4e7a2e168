//! Uplink: lets commands behind the path reach the network of this machine.
//!
//! A pair of Ethernet devices connects the server's end to this machine. The machine
//! forwards over one of its interfaces and replaces the source address by its own
//! (masquerade, RFC 3022). The server's namespace translates addresses too, so that two
//! paths with the same addresses do not conflict.
//!
//! ```text
//! client 10.83.0.1 == path == server 10.83.0.2 | 10.84.x.2 -- 10.84.x.1 machine | IFACE
//! ```
//!
//! Requires root (a user namespace owns no interface of the machine), `ip`, and either
//! `nft` or `iptables`. A shell undoes the changes on the machine when its standard input
//! ends, so also after an error, Ctrl-C and `kill -9`. It is started before anything is
//! changed. If the shell is killed too, the next path of this user undoes them: the commands
//! are kept in a file.
//!
//! Out of scope: IPv6, connections from outside to the path, and firewalls that drop
//! forwarded packets; those need an additional rule.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use gigatcp_emulate::{Addresses, Emulator, Side};

use super::runtime;
use crate::failure::Failure;

/// The device at the server's end.
const INNER: &str = "uplink0";
/// The network of both ends of the path.
const PATH: &str = "10.83.0.0/24";
/// Programs that can set up network address translation.
const TOOLS: [&str; 2] = ["nft", "iptables"];

/// The uplink of a path, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Uplink {
    undoing: Child,
    /// The commands that undo it, locked while this process or the shell runs.
    _undo: File,
}

impl Drop for Uplink {
    fn drop(&mut self) {
        drop(self.undoing.stdin.take());
        let _ = self.undoing.wait();
    }
}

/// Names and addresses of an uplink.
struct Names {
    /// The machine's interface.
    interface: String,
    /// The device at the machine's end.
    outer: String,
    /// The table of `nft`.
    table: String,
    tool: &'static str,
    /// Addresses of the machine's and the server's end.
    ends: [String; 2],
}

/// Creates an uplink over `interface` of this machine.
pub(super) fn open(emulator: &Emulator, interface: &str) -> Result<Uplink, Failure> {
    let names = names(interface)?;
    let (undoing, undo) =
        begin_undoing(&names).map_err(|error| Failure::io("start `sh`", &error))?;
    // From here on dropping this undoes everything.
    let uplink = Uplink {
        undoing,
        _undo: undo,
    };
    let inside = |side, run: &(dyn Fn() -> Result<(), Failure> + Sync)| {
        let done = emulator.namespace(side).run(run);
        done.map_err(|error| Failure::caused(&error))?
    };
    let Names {
        outer, ends, tool, ..
    } = &names;
    let [machine, near] = ends;
    inside(Side::Server, &|| {
        let machines = std::process::id();
        ip(&format!(
            "link add {INNER} type veth peer name {outer} netns {machines}"
        ))?;
        ip(&format!("addr add {near}/30 dev {INNER}"))?;
        ip(&format!("link set {INNER} up"))
    })?;
    ip(&format!("addr add {machine}/30 dev {outer}"))?;
    ip(&format!("link set {outer} up"))?;
    inside(Side::Server, &|| {
        ip(&format!("route add default via {machine}"))?;
        forward("all")?;
        masquerade(tool, "gigatcp", PATH, INNER)
    })?;
    let gateway = Addresses::of(Side::Server).v4;
    inside(Side::Client, &|| {
        ip(&format!("route add default via {gateway}"))
    })?;
    forward(outer)?;
    forward(interface)?;
    masquerade(tool, &names.table, near, interface)?;
    Ok(uplink)
}

/// Chooses names and addresses, or reports what is missing.
fn names(interface: &str) -> Result<Names, Failure> {
    let nothing = |failure: Failure| failure.effect("nothing was run");
    let known: Vec<String> = fs::read_dir("/sys/class/net")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    // Another network namespace may use the same device names.
    let configured = Path::new("/proc/sys/net/ipv4/conf").join(interface);
    if !configured.is_dir() || interface.contains('/') {
        return Err(nothing(
            Failure::new(format!("this machine has no interface `{interface}`"))
                .hint(format!("`--uplink` is one of: {}", known.join(", "))),
        ));
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !map.split_whitespace().eq(["0", "0", "4294967295"]) {
        return Err(nothing(
            Failure::new("`--uplink` changes how this machine forwards, which needs root")
                .hint("begin it with `sudo`, or leave `--uplink` out"),
        ));
    }
    let status = |tool: &str, word: &str| {
        let mut command = Command::new(tool);
        command.arg(word).stdout(Stdio::null());
        command.stderr(Stdio::null()).status()
    };
    if status("ip", "-V").is_err() {
        return Err(nothing(
            Failure::new("there is no `ip` on this machine").hint("install iproute2"),
        ));
    }
    let is_there = |tool: &&str| status(tool, "--version").is_ok_and(|exit| exit.success());
    let Some(tool) = TOOLS.into_iter().find(is_there) else {
        return Err(nothing(
            Failure::new("there is neither `nft` nor `iptables` on this machine")
                .hint("install nftables"),
        ));
    };
    let number = std::process::id();
    // A network of four addresses for each of 16384 paths.
    let place = (number % 16_384) * 4;
    let end = |host: u32| format!("10.84.{}.{}", place >> 8, (place & 255) + host);
    Ok(Names {
        interface: interface.to_owned(),
        outer: format!("gt{number}"),
        table: format!("gigatcp_{number}"),
        tool,
        ends: [end(1), end(2)],
    })
}

/// Extension of the file with the commands that undo an uplink.
const UNDO: &str = "undo";

/// Undoes the uplinks of this network namespace whose processes were all killed, shells included;
/// returns how many.
pub(super) fn undo_orphans() -> u64 {
    let mut undone = 0;
    for place in runtime::files(UNDO) {
        let orphan = OpenOptions::new().read(true).open(&place);
        // The process and its shell hold a lock while one of them runs.
        if let Ok(file) = orphan
            && file.try_lock().is_ok()
        {
            let _ = Command::new("/bin/sh")
                .arg(&place)
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .status();
            // The script ends with the removal of its file.
            undone += u64::from(!place.exists());
        }
    }
    undone
}

/// Commands that undo an uplink, if it is in the network namespace that runs them, and remove the
/// file of the commands.
fn undo_script(names: &Names, place: &Path) -> io::Result<String> {
    let Names {
        interface,
        outer,
        table,
        tool,
        ends: [_, near],
    } = names;
    let setting = format!("/proc/sys/net/ipv4/conf/{interface}/forwarding");
    let before = fs::read_to_string(&setting)?;
    let namespace = fs::read_link("/proc/self/ns/net")?;
    let rule = format!("POSTROUTING -s {near} -o {interface} -j MASQUERADE");
    let (find, untranslate) = match *tool {
        "nft" => (
            format!("nft list table ip {table}"),
            format!("nft delete table ip {table}"),
        ),
        _ => (
            format!("iptables -t nat -C {rule}"),
            format!("iptables -t nat -D {rule}"),
        ),
    };
    // Without the rules or the device nothing was changed, or the machine was started anew.
    Ok(format!(
        "[ \"$(readlink /proc/self/ns/net)\" = '{}' ] || exit 0\n\
         if {find} || ip link show {outer}; then\n\
         {untranslate}\n\
         echo {} > '{setting}'\n\
         ip link del {outer}\n\
         fi > /dev/null\n\
         rm -f '{}'\n",
        namespace.display(),
        before.trim(),
        place.display()
    ))
}

/// Starts a shell that undoes everything when its input ends, however this process ends. If the
/// shell is killed too, the next path undoes it.
fn begin_undoing(names: &Names) -> io::Result<(Child, File)> {
    let place = runtime::make_file(&names.table, UNDO)?;
    let script = undo_script(names, &place)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&place)?;
    file.lock()?;
    file.write_all(script.as_bytes())?;
    let script =
        format!("trap '' INT TERM HUP; cat > /dev/null; exec 2> /dev/null; {{ {script} }}; :");
    let shell = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        // Not written to: the shell holds the lock of the file.
        .stdout(file.try_clone()?)
        // Keeps a Ctrl-C from the shell: it is for the command.
        .process_group(0)
        .spawn()?;
    Ok((shell, file))
}

/// Translates the address of packets from `source` that leave through `device`.
fn masquerade(tool: &str, table: &str, source: &str, device: &str) -> Result<(), Failure> {
    match tool {
        "nft" => {
            let rules = format!(
                "add table ip {table}; \
                 add chain ip {table} out {{ type nat hook postrouting priority 100; }}; \
                 add rule ip {table} out ip saddr {source} oifname \"{device}\" masquerade"
            );
            run("nft", &[&rules])
        }
        _ => {
            let rule = format!("-t nat -A POSTROUTING -s {source} -o {device} -j MASQUERADE");
            run("iptables", &rule.split(' ').collect::<Vec<_>>())
        }
    }
}

/// Enables forwarding of packets that arrive on a device.
fn forward(device: &str) -> Result<(), Failure> {
    let setting = format!("/proc/sys/net/ipv4/conf/{device}/forwarding");
    let written = fs::write(&setting, "1");
    written.map_err(|error| Failure::io(&format!("write {setting}"), &error))
}

fn ip(words: &str) -> Result<(), Failure> {
    run("ip", &words.split(' ').collect::<Vec<_>>())
}

fn run(program: &str, words: &[&str]) -> Result<(), Failure> {
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::io(&format!("start `{program}`"), &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(
        Failure::new(format!("`{program} {}`: {said}", words.join(" ")))
            .effect("there is no way out; nothing was run"),
    )
}
