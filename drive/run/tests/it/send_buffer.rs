//! A send buffer that counts packets' memory limits a sender as the kernel's does.
//!
//! The kernel's figures: Linux 6.18, CUBIC, `gigatcp emulate --rtt 10ms --rate 10G`, one socket
//! with SO_SNDBUF that writes continuously for 4 s.

use gigatcp_run::Job;

const PLAN: &str = r#"
name = "send-buffer"
seed = 1

[path]
rate = "10 Gbit/s"
rtt = "10 ms"

[sender]
profile = "linux-6.18"

[flow]
congestion_control = "cubic"
duration = "2 s"
send_buffer = "BUFFER"

[[series]]
name = "one"
"#;

/// Goodput in Mbit/s.
fn goodput(buffer: &str) -> f64 {
    goodput_of(&PLAN.replace("BUFFER", buffer))
}

fn goodput_of(plan: &str) -> f64 {
    let plan = gigatcp_plan::parse("plan.toml", plan.as_bytes(), &[]).expect("a valid plan");
    let records = Job::of(plan).records().expect("a run");
    records[0].flows[0].goodput_bps / 1e6
}

#[test]
fn a_small_buffer_carries_what_the_kernels_carries() {
    // SO_SNDBUF as requested, half of what getsockopt reports, and Mbit/s.
    for (buffer, of_kernel) in [("10 kB", 49.9), ("60 kB", 98.4)] {
        let ours = goodput(buffer);
        let ratio = ours / of_kernel;
        assert!((0.95..1.05).contains(&ratio), "{buffer}: {ours:.1} Mbit/s");
    }
}

#[test]
fn a_buffer_of_a_megabyte_is_no_more_than_that_in_flight() {
    // The kernel carries 733; 1 MB per 10 ms is 800.
    let ours = goodput("500 kB");
    assert!((500.0..800.0).contains(&ours), "{ours:.1} Mbit/s");
}

#[test]
fn a_host_with_a_processor_has_no_more_in_flight_than_its_buffer() {
    let plan = PLAN.replace("BUFFER", "500 kB");
    for coalesce in ["1 us", "20 us", "100 us"] {
        let host = format!("profile = \"linux-6.18\"\ncoalesce = \"{coalesce}\"");
        let ours = goodput_of(&plan.replace("profile = \"linux-6.18\"", &host));
        assert!(
            (500.0..850.0).contains(&ours),
            "{coalesce}: {ours:.1} Mbit/s"
        );
    }
}
