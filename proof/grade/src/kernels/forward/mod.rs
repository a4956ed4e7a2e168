//! A path between two interfaces in user space, for kernels that lack `netem`.
//!
//! Reads Ethernet frames from two packet sockets, passes them through [`way::Way`], and sends each
//! at its due time. Shares no code with the product: system calls are made here. Runs with
//! real-time priority as a separate process and sleeps between packets.

pub mod config;
pub mod counters;
pub mod way;
pub mod wire;

use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::RawFd;

use config::{PathConfig, Phase};
use counters::{Lateness, PathCounters};
use way::Way;

/// Buffer size for one super-segment.
const ROOM: usize = 80 * 1024;

/// Maximum packets read from a socket before deliveries are served.
const BATCH: usize = 64;

/// Maximum wait that is spent spinning.
const SPIN_NS: u64 = 15_000;

/// Maximum age of a packet on arrival; an older stamp is from another clock.
const OLDEST_NS: u64 = 200_000_000;

const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

fn set<T>(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length are those of `value`.
    check(unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// A packet socket on one interface; open until the process ends.
struct Port {
    fd: RawFd,
    buffer: Vec<u8>,
}

impl Port {
    fn open(interface: &str) -> io::Result<Self> {
        let name = CString::new(interface)?;
        // SAFETY: the name ends with a zero.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(io::Error::last_os_error());
        }
        let all = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain integers.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(all)) })?;
        let on: libc::c_int = 1;
        let room: libc::c_int = 64 << 20;
        set(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
        set(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &on)?;
        set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)?;
        set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room)?;
        set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
        // SAFETY: `sockaddr_ll` is integers; zero is a valid value of each.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = index as i32;
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: pointer and size are those of `address`.
        check(unsafe { libc::bind(fd, (&raw const address).cast(), size) })?;
        Ok(Self {
            fd,
            buffer: vec![0; ROOM],
        })
    }

    /// Reads one packet. Returns its length and arrival on the monotonic clock.
    fn read(&mut self, offset: u64) -> Option<(usize, u64)> {
        let mut part = libc::iovec {
            iov_base: self.buffer.as_mut_ptr().cast(),
            iov_len: self.buffer.len(),
        };
        let mut control = [0_u64; 16];
        // SAFETY: `msghdr` is integers and pointers; zero is a valid value of each.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        // SAFETY: all buffers outlive the call.
        let read = unsafe { libc::recvmsg(self.fd, &raw mut message, 0) };
        let length = usize::try_from(read)
            .ok()
            .filter(|read| *read > wire::VIRTIO)?;
        let now = now();
        let stamp = stamp(&message).map_or(now, |stamp| stamp.saturating_sub(offset));
        let is_sound = stamp <= now && now - stamp < OLDEST_NS;
        Some((length, if is_sound { stamp } else { now }))
    }

    fn send(&self, frame: &[u8]) -> bool {
        let header = [0_u8; wire::VIRTIO];
        let parts = [
            libc::iovec {
                iov_base: header.as_ptr().cast_mut().cast(),
                iov_len: header.len(),
            },
            libc::iovec {
                iov_base: frame.as_ptr().cast_mut().cast(),
                iov_len: frame.len(),
            },
        ];
        // SAFETY: both buffers outlive the call, which only reads them.
        unsafe { libc::writev(self.fd, parts.as_ptr(), 2) >= 0 }
    }

    /// Number of packets the socket dropped.
    fn drops(&self) -> u64 {
        // SAFETY: as above.
        let mut statistics: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut size = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: pointers and size are those of `statistics`.
        let done = unsafe {
            libc::getsockopt(
                self.fd,
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut size,
            )
        };
        if done == 0 {
            u64::from(statistics.tp_drops)
        } else {
            0
        }
    }
}

/// Reads the kernel's wall-clock timestamp from a message.
fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled in `message` and its control buffer.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let is_stamp = (*header).cmsg_level == libc::SOL_SOCKET
                && (*header).cmsg_type == libc::SCM_TIMESTAMPNS;
            if is_stamp {
                let data = libc::CMSG_DATA(header).cast::<libc::timespec>();
                let time = data.read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// `struct sched_attr` of `linux/sched/types.h`, its first version.
#[repr(C)]
struct Schedule {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Requests deadline or real-time priority; without the privilege it has no effect.
///
/// A deadline comes first. On a busy machine the kernel lets other programs run before
/// `SCHED_FIFO` ones for 50 ms per second, but not before earlier deadlines.
fn hurry() {
    let deadline = Schedule {
        size: size_of::<Schedule>() as u32,
        policy: libc::SCHED_DEADLINE as u32,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime_ns: 3_200_000,
        deadline_ns: 4_000_000,
        period_ns: 4_000_000,
    };
    let parameters = libc::sched_param { sched_priority: 50 };
    // SAFETY: both structures outlive the calls; the other arguments are integers.
    unsafe {
        if libc::syscall(libc::SYS_sched_setattr, 0, &raw const deadline, 0) < 0 {
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters);
        }
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// State of the running path.
struct Forwarder {
    ports: [Port; 2],
    ways: [Way; 2],
    phases: Vec<Phase>,
    late: Lateness,
    refused: u64,
}

impl Forwarder {
    fn new(config: &PathConfig) -> io::Result<Self> {
        let [near, far] = &config.interfaces;
        let mut phases = config.phases.clone();
        phases.sort_by(|a, b| b.at_s.total_cmp(&a.at_s));
        Ok(Self {
            ports: [Port::open(near)?, Port::open(far)?],
            ways: [
                Way::new(config.forward.clone(), config.seed ^ 0x51),
                Way::new(config.reverse.clone(), config.seed ^ 0xa3),
            ],
            phases,
            late: Lateness::default(),
            refused: 0,
        })
    }

    fn receive(&mut self) -> bool {
        let offset = clock(libc::CLOCK_REALTIME).wrapping_sub(now());
        let mut any = false;
        for side in 0..2 {
            for _ in 0..BATCH {
                let Some((length, at)) = self.ports[side].read(offset) else {
                    break;
                };
                any = true;
                let origin = self.ways[0].first_data();
                let way = &mut self.ways[side];
                let packet = &self.ports[side].buffer[..length];
                wire::frames(packet, |frame| way.handle(at, origin, frame));
            }
        }
        any
    }

    fn deliver(&mut self) {
        for side in 0..2 {
            while let Some((due, frame)) = self.ways[side].poll(now()) {
                self.late.add(now().saturating_sub(due));
                if !self.ports[1 - side].send(&frame) {
                    self.refused += 1;
                }
            }
        }
    }

    fn change(&mut self) {
        let Some(origin) = self.ways[0].first_data() else {
            return;
        };
        let since = now().saturating_sub(origin) as f64 / 1e9;
        while self.phases.last().is_some_and(|phase| phase.at_s <= since) {
            if let Some(phase) = self.phases.pop() {
                self.ways[0].reconfigure(phase.forward);
                self.ways[1].reconfigure(phase.reverse);
            }
        }
    }

    /// Waits for a packet, the next delivery or the end; `true` at the end.
    fn wait(&self) -> bool {
        let due = self.ways.iter().filter_map(Way::next_due).min();
        let wait = due.map_or(50_000_000, |due| due.saturating_sub(now()).min(50_000_000));
        if wait < SPIN_NS {
            return false;
        }
        let timeout = libc::timespec {
            tv_sec: 0,
            tv_nsec: wait as libc::c_long,
        };
        let watch = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut watched = [watch(0), watch(self.ports[0].fd), watch(self.ports[1].fd)];
        // SAFETY: pointer and count are those of `watched`; no signal mask.
        unsafe {
            libc::ppoll(
                watched.as_mut_ptr(),
                3,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        watched[0].revents != 0
    }

    fn counters(&self) -> PathCounters {
        PathCounters {
            forward: self.ways[0].counters(),
            reverse: self.ways[1].counters(),
            late_p50_us: self.late.quantile_us(0.5),
            late_p99_us: self.late.quantile_us(0.99),
            late_max_us: self.late.max_us(),
            socket_drops: self.ports.iter().map(Port::drops).sum(),
            refused: self.refused,
        }
    }
}

/// Forwards until stdin ends. Prints `ready` first and the counters last.
///
/// # Errors
/// If an interface cannot be opened or stdout written.
pub fn run(config: &PathConfig) -> io::Result<()> {
    let mut forwarder = Forwarder::new(config)?;
    hurry();
    println!("ready");
    io::stdout().flush()?;
    let mut is_over = false;
    while !is_over {
        while forwarder.receive() {
            forwarder.deliver();
        }
        forwarder.change();
        forwarder.deliver();
        is_over = forwarder.wait();
    }
    let counters = serde_json::to_string(&forwarder.counters())?;
    println!("{counters}");
    Ok(())
}
