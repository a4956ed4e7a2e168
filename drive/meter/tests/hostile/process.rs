//! A server in a process of its own, whose memory and threads nothing else uses.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Admission, NuttcpConfig, ServerConfig};

use super::common::{LOCALHOST, Running};

/// Maximum wait for something that happens soon.
const SOON: Duration = Duration::from_secs(20);

/// Serves until its input ends.
#[test]
#[ignore = "it is the server of other tests"]
fn server_in_a_process() {
    let server = Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        admission: Admission::default(),
        nuttcp: Some(NuttcpConfig {
            port: 0,
            ..NuttcpConfig::default()
        }),
        ..ServerConfig::default()
    });
    let nuttcp = server.nuttcp_at.expect("it is served");
    println!("\nports {} {}", server.at.port(), nuttcp.port());
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

/// A server in a process of its own.
pub struct Process {
    child: Child,
    pub at: SocketAddr,
    /// Its address for nuttcp's clients.
    pub nuttcp_at: SocketAddr,
}

impl Process {
    pub fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "process::server_in_a_process",
                "--ignored",
                "--nocapture",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut ports = lines.map_while(Result::ok).filter_map(|line| {
            let (port, nuttcp) = line.strip_prefix("ports ")?.split_once(' ')?;
            let at = |port: &str| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?)));
            Some((at(port)?, at(nuttcp)?))
        });
        let (at, nuttcp_at) = ports.next().expect("it says its ports");
        Self {
            child,
            at,
            nuttcp_at,
        }
    }

    /// Threads and descriptors of a server that serves nobody. Those that it keeps exist once both of
    /// its services have answered; those of that client have ended once nothing changes.
    pub fn idle(&self) -> (u64, usize) {
        for at in [self.at, self.nuttcp_at] {
            let mut client = TcpStream::connect(at).unwrap();
            client.write_all(&[b'x'; 37]).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let _ = std::io::copy(&mut client, &mut std::io::sink());
        }
        let mut idle = (self.threads(), self.descriptors());
        let mut same = 0;
        while same < 20 {
            std::thread::sleep(Duration::from_millis(5));
            let now = (self.threads(), self.descriptors());
            same = if now == idle { same + 1 } else { 0 };
            idle = now;
        }
        idle
    }

    /// A number of its status file, by its name there.
    fn status(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let number = value.and_then(|value| value.split_whitespace().next());
        number.expect("a number").parse().unwrap()
    }

    /// Resident memory, bytes.
    pub fn resident(&self) -> u64 {
        self.status("VmRSS:") << 10
    }

    /// Number of its threads.
    pub fn threads(&self) -> u64 {
        self.status("Threads:")
    }

    /// Number of its descriptors.
    pub fn descriptors(&self) -> usize {
        let listed = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        listed.unwrap().count()
    }

    /// Waits until a condition holds of it.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + SOON;
        while !holds(self) {
            let (threads, descriptors) = (self.threads(), self.descriptors());
            assert!(
                Instant::now() < deadline,
                "never {what}: {threads} threads, {descriptors} descriptors"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
