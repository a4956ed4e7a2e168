//! A watch of real connections, recorded with made-up times and read again.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::End;

use super::*;
use crate::filter::Filter;
use crate::watch::Watch;

/// A connection of this process that is watched and recorded.
struct Test {
    stream: TcpStream,
    peer: TcpStream,
    watch: Watch,
    recorder: Recorder,
    folder: tempfile::TempDir,
}

/// Clock of the day at the monotonic clock's zero.
fn wall(seconds: u64) -> SystemTime {
    UNIX_EPOCH + StdDuration::from_secs(1_000_000 + seconds)
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn interval(from: u64, to: u64) -> Interval {
    Interval {
        from: wall(from),
        to: wall(to),
    }
}

impl Test {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        let filter = Filter::parse(&format!("dport {port}"), &|_| Vec::new()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("recording");
        let recorder = Recorder::open(&place, Duration::from_secs(1), at(1)).unwrap();
        Self {
            stream,
            peer,
            watch: Watch::new(filter).unwrap(),
            recorder,
            folder,
        }
    }

    /// Samples at a time of both clocks, after `bytes` were sent and acknowledged.
    fn sample(&mut self, bytes: usize, seconds: u64, wall: SystemTime) {
        if bytes > 0 {
            let target = self.acked() + bytes as u64;
            self.stream.write_all(&vec![1; bytes]).unwrap();
            self.peer.read_exact(&mut vec![0; bytes]).unwrap();
            // The last ACK may be delayed.
            while self.acked() < target {
                std::thread::sleep(StdDuration::from_millis(5));
            }
        }
        self.watch.sample(at(seconds)).unwrap();
        self.recorder
            .sample(&self.watch, at(seconds), wall)
            .unwrap();
    }

    /// Bytes that the peer acknowledged.
    fn acked(&self) -> u64 {
        let sampler = crate::sample::Sampler::default();
        let reading = sampler.read(&self.stream, Instant::ZERO).unwrap();
        reading.bytes_acked.unwrap().as_u64()
    }

    fn explain(&self, interval: Interval) -> Selection {
        let recording = Recording::open(&self.folder.path().join("recording")).unwrap();
        recording.explain(interval, &Filter::Any).unwrap()
    }
}

/// What moved in an interval, and in how long.
fn moved(selection: &Selection) -> Option<(u64, u64)> {
    let [connection] = &selection.connections[..] else {
        return None;
    };
    let diagnosis = &connection.diagnosis;
    let seconds = diagnosis.duration.as_nanos() / 1_000_000_000;
    Some((diagnosis.delivered.as_u64(), seconds))
}

#[test]
fn interval_has_what_moved_in_it_and_no_more() {
    let mut test = Test::new();
    for second in 1..=100 {
        test.sample(20_000, second, wall(second));
    }
    test.recorder.flush().unwrap();
    let selection = test.explain(interval(40, 50));
    assert_eq!(moved(&selection), Some((200_000, 10)));
    let [connection] = &selection.connections[..] else {
        panic!("one connection");
    };
    assert_eq!(connection.role, End::Sender);
    assert_eq!(connection.peer, test.stream.peer_addr().unwrap());
    assert_eq!(connection.owner.as_ref().unwrap().id, std::process::id());
    assert_eq!(connection.diagnosis.contradiction(), None);
    assert_eq!(moved(&test.explain(interval(1000, 2000))), None);
}

#[test]
fn idle_time_before_a_transfer_is_not_a_part_of_it() {
    let mut test = Test::new();
    for second in 1..=200 {
        let bytes = if second > 190 { 50_000 } else { 0 };
        test.sample(bytes, second, wall(second));
    }
    test.recorder.flush().unwrap();
    assert_eq!(moved(&test.explain(interval(0, 300))), Some((500_000, 10)));
}

#[test]
fn transfer_that_stands_still_is_explained_at_both_ends() {
    let mut test = Test::new();
    test.stream.set_nonblocking(true).unwrap();
    test.sample(0, 1, wall(1));
    // Nobody reads: the buffers fill, and then nothing moves.
    while test.stream.write(&[1; 65_536]).is_ok() {}
    std::thread::sleep(StdDuration::from_millis(300));
    for second in 2..=40 {
        std::thread::sleep(StdDuration::from_millis(20));
        test.sample(0, second, wall(second));
    }
    test.recorder.flush().unwrap();
    let selection = test.explain(interval(20, 30));
    assert_eq!(moved(&selection), Some((0, 10)));
    assert_eq!(selection.connections[0].role, End::Sender);
}

#[test]
fn connections_that_do_nothing_cost_nothing() {
    let mut test = Test::new();
    let hour = |test: &mut Test, from: u64| {
        for second in from..from + 3000 {
            test.sample(0, second, wall(second));
        }
        test.recorder.flush().unwrap();
        test.recorder.cost().written.as_u64()
    };
    let first = hour(&mut test, 1);
    // What remains is that the recorder was there, every 10 s.
    assert!(first < 30_000, "{first}");
    assert_eq!(test.recorder.cost().connections, 0);
}

#[test]
fn clock_that_jumps_back_and_a_suspend_keep_what_moved() {
    let mut test = Test::new();
    for second in 1..=30 {
        // An hour back after 10 s, a suspend of a day after 20 s.
        let day = match second {
            ..=10 => 10_000 + second,
            11..=20 => 6_400 + second,
            _ => 92_800 + second,
        };
        test.sample(20_000, second, wall(day));
    }
    test.recorder.flush().unwrap();
    for begin in [10_000, 6_410, 92_820] {
        let found = moved(&test.explain(interval(begin, begin + 10)));
        let (bytes, seconds) = found.unwrap();
        assert_eq!(bytes, 20_000 * seconds, "{begin}");
        assert!((9..=10).contains(&seconds), "{begin}: {seconds}");
    }
}

#[test]
fn socket_whose_cookie_is_used_again_is_another_connection() {
    let mut test = Test::new();
    test.sample(0, 1, wall(1));
    test.sample(20_000, 2, wall(2));
    let id = test.watch.connections()[0].id;
    // As if it had counted more before: its counters have started again.
    let connection = test.watch.connections.values_mut().next().unwrap();
    connection.moved = [0x7f; 24];
    test.sample(0, 3, wall(3));
    assert_eq!(test.watch.just_ended.len(), 1);
    assert_eq!(test.watch.connection(id).unwrap().total(), Bytes::ZERO);
    test.sample(30_000, 4, wall(4));
    test.sample(30_000, 5, wall(5));
    test.recorder.flush().unwrap();
    let found = test.explain(interval(0, 10));
    let delivered: u64 = found
        .connections
        .iter()
        .map(|connection| connection.diagnosis.delivered.as_u64())
        .sum();
    assert_eq!(delivered, 80_000);
}

#[test]
fn recording_cut_at_any_byte_or_damaged_is_read_up_to_there() {
    let mut test = Test::new();
    for second in 1..=60 {
        test.sample(20_000, second, wall(second));
    }
    test.recorder.flush().unwrap();
    let place = test.folder.path().join("recording/watch-00000001.gigatcp");
    let whole = fs::read(&place).unwrap();
    let mut before = 0;
    for length in (8..whole.len()).step_by(13) {
        fs::write(&place, &whole[..length]).unwrap();
        let selection = test.explain(interval(0, 100));
        let bytes = moved(&selection).map_or(0, |(bytes, _)| bytes);
        assert!(bytes >= before, "{length}: {bytes} after {before}");
        before = bytes;
    }
    assert!(before > 500_000, "{before}");
    for octet in (8..whole.len()).step_by(29) {
        let mut damaged = whole.clone();
        damaged[octet] ^= 0x55;
        fs::write(&place, &damaged).unwrap();
        let selection = test.explain(interval(0, 100));
        assert!(moved(&selection).is_none_or(|(bytes, _)| bytes < 1_200_000));
    }
}

#[test]
fn damaged_part_with_a_right_checksum_does_not_panic() {
    // Whoever may write to the directory can write anything.
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("watch-00000001.gigatcp");
    let mut state = 7_u64;
    for _ in 0..300 {
        let mut writer = format::PartWriter::new();
        let mut file = format::MAGIC.to_vec();
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        writer.add(
            &format::Record::Begin(format::Begin {
                boot: "x",
                monotonic_ns: u64::MAX - random(9),
                offset_ns: i64::MAX - random(9) as i64,
                buffers: [Some(u64::MAX); 4],
                words: vec!["tcpi_bytes_acked", "tcpi_bytes_received"],
            }),
            0,
        );
        for _ in 0..20 {
            let (index, before_ns) = (random(3) as u32, u64::MAX - random(3));
            let record = match random(5) {
                0 => format::Record::Sample {
                    after_ns: before_ns,
                    open: 1,
                    short: u32::MAX,
                },
                1 => format::Record::Held { index, before_ns },
                2 => format::Record::Ended { index },
                3 => format::Record::Open(format::Open {
                    cookie: random(2),
                    local: "[::1]:1".parse().unwrap(),
                    peer: "10.0.0.1:2".parse().unwrap(),
                    congestion: "\x1b",
                    process: 1,
                    process_name: "",
                    is_new: random(2) == 0,
                }),
                _ => format::Record::Reading(format::Change {
                    index,
                    before_ns: random(9),
                    places: vec![random(4) as u8, 255],
                    differences: vec![i64::MAX, i64::MIN, random(9) as i64],
                }),
            };
            writer.add(&record, i64::MAX);
        }
        file.extend(writer.part().unwrap());
        fs::write(&place, &file).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        let all = Interval {
            from: UNIX_EPOCH,
            to: recording.covered().unwrap().to,
        };
        recording.explain(all, &Filter::Any).unwrap();
    }
}

#[test]
fn killed_recorder_leaves_a_file_and_the_next_one_begins_another() {
    let mut test = Test::new();
    for second in 1..=20 {
        test.sample(20_000, second, wall(second));
    }
    test.recorder.flush().unwrap();
    let place = test.folder.path().join("recording");
    // A part that was being written.
    let mut file = OpenOptions::new()
        .append(true)
        .open(place.join("watch-00000001.gigatcp"))
        .unwrap();
    file.write_all(&[9; 100]).unwrap();
    // The lock ends with its process.
    test.recorder = {
        let elsewhere = test.folder.path().join("elsewhere");
        let other = Recorder::open(&elsewhere, Duration::from_secs(1), at(21)).unwrap();
        drop(std::mem::replace(&mut test.recorder, other));
        Recorder::open(&place, Duration::from_secs(1), at(21)).unwrap()
    };
    for second in 21..=40 {
        test.sample(20_000, second, wall(second));
    }
    test.recorder.flush().unwrap();
    let selection = test.explain(interval(0, 100));
    // The step between the two is that of one connection, whose counters went on.
    assert_eq!(moved(&selection), Some((39 * 20_000, 39)));
    assert_eq!(selection.damaged, [place.join("watch-00000001.gigatcp")]);
}

#[test]
fn directory_that_cannot_be_written_is_refused_at_once_and_one_that_is_removed_is_an_error() {
    let read_only = Recorder::open("/proc/self".as_ref(), Duration::from_secs(1), at(1));
    assert!(
        matches!(read_only, Err(Refused::System(_))),
        "{read_only:?}"
    );
    let mut test = Test::new();
    test.sample(20_000, 2, wall(2));
    fs::remove_dir_all(test.folder.path().join("recording")).unwrap();
    test.watch.sample(at(30)).unwrap();
    let sampled = test.recorder.sample(&test.watch, at(30), wall(30));
    let error = sampled.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    // It is tried again after 10 s, and goes on once that succeeds.
    assert!(test.recorder.is_paused(at(39)) && !test.recorder.is_paused(at(40)));
    fs::create_dir(test.folder.path().join("recording")).unwrap();
    test.sample(20_000, 41, wall(41));
    test.sample(20_000, 42, wall(42));
    test.recorder.flush().unwrap();
    assert_eq!(moved(&test.explain(interval(0, 100))), Some((20_000, 1)));
}
