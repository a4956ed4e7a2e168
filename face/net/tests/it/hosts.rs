//! Hosts: tasks, profiles, crash and restart.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use gigatcp_net::{Crash, Net, RunError, TcpListener, TcpStream, system_time};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

async fn greeting() -> io::Result<String> {
    let mut text = String::new();
    let mut stream = TcpStream::connect("server:80").await?;
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

#[test]
fn restarted_host_serves_again() {
    let net = Net::new(1);
    let boots = Rc::new(Cell::new(0));
    let counted = Rc::clone(&boots);
    net.host("server", move |_| {
        counted.set(counted.get() + 1);
        let boot = counted.get();
        async move {
            let listener = TcpListener::bind("0.0.0.0:80").await?;
            loop {
                let (mut stream, _) = listener.accept().await?;
                stream.write_all(format!("boot {boot}").as_bytes()).await?;
            }
            #[allow(unreachable_code)]
            io::Result::Ok(())
        }
    });
    net.client("client", |host| async move {
        let net = host.net();
        for (boot, crash) in [(1, Crash::Reset), (2, Crash::Vanish), (3, Crash::Vanish)] {
            assert_eq!(greeting().await?, format!("boot {boot}"));
            net.crash("server", crash);
            sleep(Duration::from_secs(1)).await;
            net.restart("server");
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(greeting().await?, "boot 4");
        io::Result::Ok(())
    });
    net.link("client", "server", "rtt=20ms");
    net.run().unwrap();
    assert_eq!(boots.get(), 4);
}

#[test]
fn tasks_of_a_crashed_host_end() {
    let net = Net::new(1);
    let ticks = Rc::new(Cell::new(0));
    let counted = Rc::clone(&ticks);
    net.host("server", move |_| {
        let counted = Rc::clone(&counted);
        async move {
            tokio::task::spawn_local(async move {
                loop {
                    sleep(Duration::from_secs(1)).await;
                    counted.set(counted.get() + 1);
                }
            });
            std::future::pending::<()>().await;
        }
    });
    net.client("client", |host| async move {
        sleep(Duration::from_millis(5500)).await;
        host.net().crash("server", Crash::Vanish);
        sleep(Duration::from_secs(100)).await;
    });
    net.run().unwrap();
    assert_eq!(ticks.get(), 5);
}

#[test]
fn spawned_tasks_are_on_the_host_of_their_parent() {
    let net = Net::new(1);
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(b"hello").await?;
        }
        #[allow(unreachable_code)]
        io::Result::Ok(())
    });
    net.client("client", |host| async move {
        assert_eq!(gigatcp_net::spawn(greeting()).await.unwrap()?, "hello");
        assert_eq!(
            tokio::spawn(host.scope(greeting())).await.unwrap()?,
            "hello"
        );
        let local = tokio::task::spawn_local(greeting());
        assert_eq!(local.await.unwrap()?, "hello");
        // A plain task has no host until it uses a socket, unless tokio tells who has spawned it.
        let plain = tokio::spawn(greeting()).await.unwrap();
        if cfg!(tokio_unstable) {
            assert_eq!(plain?, "hello");
        } else {
            let error = plain.unwrap_err();
            assert!(error.to_string().contains("gigatcp_net::spawn"), "{error}");
        }
        let stream = TcpStream::connect("server:80").await?;
        let learned = tokio::spawn(async move {
            stream.readable().await?;
            greeting().await
        });
        assert_eq!(learned.await.unwrap()?, "hello");
        io::Result::Ok(())
    });
    net.link("client", "server", "rtt=20ms");
    net.run().unwrap();
}

#[test]
fn profile_of_a_host_is_as_configured() {
    let net = Net::new(1);
    net.configure("client", "profile=linux-6.18 congestion_control=bbr");
    net.configure("server", "profile=freebsd mtu=1280");
    net.client("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        stream.write_all(&[1; 100_000]).await
    });
    net.client("client", |_| async {
        let mut stream = TcpStream::connect("server:80").await?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await?;
        // 1280 - 40, and timestamps on each segment.
        assert_eq!(stream.tcp_info()?.smss, 1228);
        io::Result::Ok(())
    });
    net.link("client", "server", "rtt=20ms");
    net.run().unwrap();
}

#[test]
fn error_of_a_program_ends_the_run_with_its_name() {
    let net = Net::new(1);
    net.host("server", |_| async { Err::<(), _>("no disk") });
    net.client("client", |_| std::future::pending::<()>());
    match net.run() {
        Err(RunError::Host { name, error }) => {
            assert_eq!(
                (name.as_str(), error.to_string().as_str()),
                ("server", "no disk")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[should_panic(expected = "assertion of a server")]
fn panic_of_a_program_is_the_panic_of_the_test() {
    let net = Net::new(1);
    net.host("server", |_| async {
        let start = tokio::time::Instant::now();
        sleep(Duration::from_secs(1)).await;
        assert!(start.elapsed().is_zero(), "assertion of a server");
    });
    net.client("client", |_| std::future::pending::<()>());
    let _ = net.run();
}

/// The error of a run with a server and a client, of which `configured` was configured before it,
/// and `late` in it.
fn run_configured(configured: &str, late: &str) -> Result<(), RunError> {
    let net = Net::new(1);
    net.configure(configured, "profile=freebsd");
    net.host("server", |_| std::future::pending::<()>());
    let late = late.to_owned();
    net.client("client", |host| async move {
        host.net().configure(&late, "mtu=9000")
    });
    net.run().map(drop)
}

#[test]
fn name_that_no_host_has_is_an_error_of_the_run_that_names_the_nearest() {
    run_configured("server", "client").unwrap();
    run_configured("test", "server").unwrap();
    for (configured, late) in [("servre", "server"), ("server", "servre")] {
        let error = run_configured(configured, late).unwrap_err();
        assert!(error.to_string().contains("`server`?"), "{error}");
    }
    let error = run_configured("database", "server").unwrap_err();
    assert!(
        error.to_string().contains("net.host(\"database\""),
        "{error}"
    );
}

#[test]
#[should_panic(expected = "no host is called `servre` (hint: `server`?)")]
fn link_of_a_name_that_no_host_has_names_the_nearest() {
    let net = Net::new(1);
    net.link("client", "server", "rtt=20ms");
    net.cut("client", "servre");
}

#[test]
#[should_panic(expected = "hosts here have no processor or card")]
fn configuration_that_would_do_nothing_is_refused() {
    Net::new(1).configure("server", "cpu.per_packet_sent=3us");
}

#[test]
fn buffer_of_a_host_is_that_of_both_directions() {
    let net = Net::new(1);
    net.configure("client", "buffer=50kB");
    net.host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        let (mut stream, _) = listener.accept().await?;
        stream.write_all(&[1; 1_000_000]).await
    });
    net.client("client", |_| async {
        let mut stream = TcpStream::connect("server:80").await?;
        stream.read_to_end(&mut Vec::new()).await
    });
    net.link("client", "server", "rate=1Gbit/s rtt=100ms");
    let report = net.run().unwrap();
    assert_eq!(
        report.connections[0].cause,
        Some("receive-window-limited"),
        "{report}"
    );
}

/// Seconds from `earlier` to `later`, negative if it is the earlier one.
fn seconds_between(earlier: SystemTime, later: SystemTime) -> f64 {
    match later.duration_since(earlier) {
        Ok(ahead) => ahead.as_secs_f64(),
        Err(error) => -error.duration().as_secs_f64(),
    }
}

#[test]
fn hosts_with_wrong_clocks_differ_in_the_time_of_day_alone() {
    let net = Net::new(1);
    net.set_clock("late", -0.3, 0.0);
    net.set_clock("fast", 2.0, 100.0);
    for (name, ahead, gained) in [("late", -0.3, 0.0), ("fast", 2.0, 0.01)] {
        net.client(name, async move |host| {
            // Each run begins at 2026-01-01.
            let right = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
            assert!((seconds_between(right, system_time()) - ahead).abs() < 1e-6);
            sleep(Duration::from_secs(100)).await;
            let now = seconds_between(right, system_time());
            assert!((now - 100.0 - ahead - gained).abs() < 1e-6, "{name}: {now}");
            host.net().set_clock(name, 0.0, 0.0);
            let now = seconds_between(right, system_time());
            assert!((now - 100.0).abs() < 1e-6, "{name}: {now}");
            io::Result::Ok(())
        });
    }
    net.run().unwrap();
}
