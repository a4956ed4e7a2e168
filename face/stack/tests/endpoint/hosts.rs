//! Names, ports, listeners and the end of connections, between two hosts.

use std::net::SocketAddr;

use gigatcp_stack::{
    ByteCount, Bytes, Duration, Endpoint, EndpointEvent, Failure, Handle, Info, Instant, Profile,
    ReadError, State, TransportConfig, WriteError,
};
use gigatcp_stack::{ConnectError, ListenError};

use crate::network::{Network, Path, addresses};

fn network() -> Network {
    let path = Path {
        delay: Duration::from_millis(1),
        jitter: Duration::ZERO,
        loss: 0.0,
        duplication: 0.0,
    };
    Network::new(path, 0)
}

fn pass(network: &mut Network, time: Duration) {
    let until = network.now + time;
    while network.step_until(until) {}
}

fn second(network: &mut Network) {
    pass(network, Duration::from_secs(1));
}

fn at(host: usize, port: u16) -> SocketAddr {
    SocketAddr::new(addresses()[host], port)
}

/// A connection from port 4000 to port 80.
fn opened(network: &mut Network) -> [Handle; 2] {
    let config = TransportConfig::default();
    let now = network.now;
    // A second connection finds the listener of the first.
    let _ = network.hosts[1].listen(at(1, 80), config.clone());
    let client = network.hosts[0].connect_from(now, at(0, 4000), at(1, 80), config.clone());
    second(network);
    let server = network.hosts[1].accept(network.now, at(1, 80));
    [client.expect("the port is free"), server.expect("it came")]
}

fn events(network: &mut Network, host: usize) -> Vec<EndpointEvent> {
    std::iter::from_fn(|| network.hosts[host].poll_event()).collect()
}

/// Both sides close, `first` first, and release their handles.
fn close(network: &mut Network, handles: [Handle; 2], first: usize) {
    for end in [first, 1 - first] {
        network.hosts[end].close(network.now, handles[end]);
        pass(network, Duration::from_millis(100));
    }
}

#[test]
fn where_no_listener_is_a_connection_is_refused_and_a_segment_reset() {
    let mut network = network();
    let now = network.now;
    let config = TransportConfig::default();
    let handle = network.hosts[0]
        .connect(now, at(1, 81), config.clone())
        .unwrap();
    second(&mut network);
    let refused = Some(Failure::Refused);
    assert!(events(&mut network, 0).contains(&EndpointEvent::Closed(handle, refused)));
    assert_eq!(network.hosts[1].counters().resets, 1);
    let failed = ReadError::Failed(Failure::Refused);
    assert_eq!(network.hosts[0].read(now, handle, 1), Err(failed));
}

#[test]
fn what_is_for_another_address_gets_no_answer() {
    let mut network = network();
    let now = network.now;
    let elsewhere = "10.9.9.9:80".parse().unwrap();
    let config = TransportConfig::default();
    let handle = network.hosts[0]
        .connect(now, elsewhere, config.clone())
        .unwrap();
    second(&mut network);
    assert!(network.hosts[1].counters().not_ours > 0);
    assert_eq!(network.hosts[1].counters().resets, 0);
    let connection = network.hosts[0].connection(handle).unwrap();
    assert_eq!(connection.state(), State::SynSent);
}

#[test]
fn a_syn_opens_anew_where_the_server_is_in_time_wait() {
    let mut network = network();
    let handles = opened(&mut network);
    close(&mut network, handles, 1);
    assert_eq!(
        [
            network.hosts[0].counters().connections,
            network.hosts[1].counters().connections
        ],
        [0, 1]
    );
    let [_, server] = opened(&mut network);
    assert_eq!(
        network.hosts[1].counters().connections,
        1,
        "the old one is gone"
    );
    let connection = network.hosts[1].connection(server).unwrap();
    assert_eq!(connection.state(), State::Established);
}

#[test]
fn a_port_in_time_wait_is_taken_for_a_second_and_free_after_it() {
    let mut network = network();
    let handles = opened(&mut network);
    close(&mut network, handles, 0);
    assert_eq!(
        [
            network.hosts[0].counters().connections,
            network.hosts[1].counters().connections
        ],
        [1, 0]
    );
    let config = TransportConfig::default();
    let now = network.now;
    let taken = network.hosts[0].connect_from(now, at(0, 4000), at(1, 80), config.clone());
    assert_eq!(taken, Err(ConnectError::PortTaken));
    second(&mut network);
    let [client, _] = opened(&mut network);
    let connection = network.hosts[0].connection(client).unwrap();
    assert_eq!(connection.state(), State::Established);
    assert_eq!(
        network.hosts[0].counters().connections,
        1,
        "the old one is gone"
    );
}

#[test]
fn ports_differ_and_what_cannot_be_opened_says_why() {
    let mut network = network();
    let (now, config) = (network.now, TransportConfig::default());
    let host = &mut network.hosts[0];
    let mut ports: Vec<u16> = (0..1000)
        .map(|_| {
            let handle = host.connect(now, at(1, 80), config.clone()).unwrap();
            host.addresses(handle).unwrap().0.port()
        })
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 1000);
    assert!(ports[0] >= 49_152);
    let mut from = |local, remote| host.connect_from(now, local, remote, config.clone()).err();
    let taken = at(0, ports[0]);
    assert_eq!(from(taken, at(1, 80)), Some(ConnectError::PortTaken));
    assert_eq!(from(taken, at(1, 81)), None, "another name");
    assert_eq!(from(at(0, 0), at(0, 80)), Some(ConnectError::NoHost));
    assert_eq!(from(at(0, 0), at(1, 0)), Some(ConnectError::NoHost));
    assert_eq!(from(at(1, 0), at(0, 80)), Some(ConnectError::NoAddress));
    let six = "[2001:db8::1]:80".parse().unwrap();
    assert_eq!(
        host.connect(now, six, config.clone()),
        Err(ConnectError::NoAddress)
    );
}

#[test]
fn endpoint_with_loopback_connects_to_its_own_address() {
    let now = Instant::ZERO;
    let own = "127.0.0.1".parse().unwrap();
    let mut host = Endpoint::new(now, [1; 16], [own]).with_loopback();
    let at = "127.0.0.1:80".parse().unwrap();
    host.listen(at, TransportConfig::default()).unwrap();
    let near = host.connect(now, at, TransportConfig::default()).unwrap();
    let pass_all = |host: &mut Endpoint| {
        while let Some((endpoints, segment)) = host.poll_transmit(now) {
            host.handle_segment(now, endpoints, segment);
        }
    };
    pass_all(&mut host);
    let far = host.accept(now, at).unwrap();
    host.write(now, near, &b"hello"[..]).unwrap();
    pass_all(&mut host);
    let mut buffer = [0; 9];
    assert_eq!(host.read_into(now, far, &mut buffer), Ok(5));
    assert_eq!(&buffer[..5], b"hello");
}

#[test]
fn a_listener_at_an_address_comes_before_the_one_at_any() {
    let mut network = network();
    let config = TransportConfig::default();
    let any = "0.0.0.0:80".parse().unwrap();
    let host = &mut network.hosts[1];
    assert_eq!(host.listen(any, config.clone()), Ok(()));
    assert_eq!(host.listen(any, config.clone()), Err(ListenError::Taken));
    assert_eq!(
        host.listen(at(1, 0), config.clone()),
        Err(ListenError::NoPort)
    );
    assert_eq!(
        host.listen(at(0, 80), config.clone()),
        Err(ListenError::NotLocal)
    );
    assert_eq!(host.listen(at(1, 80), config.clone()), Ok(()));
    for bound in [at(1, 80), any] {
        let now = network.now;
        network.hosts[0]
            .connect(now, at(1, 80), config.clone())
            .unwrap();
        second(&mut network);
        assert_eq!(events(&mut network, 1), [EndpointEvent::Acceptable(bound)]);
        assert!(network.hosts[1].unlisten(bound));
    }
}

#[test]
fn a_released_connection_has_no_calls_and_no_events_any_more() {
    let mut network = network();
    let [client, server] = opened(&mut network);
    let now = network.now;
    network.hosts[1].write(now, server, &b"late"[..]).unwrap();
    network.hosts[0].close(now, client);
    let host = &mut network.hosts[0];
    assert_eq!(
        host.write(now, client, Bytes::new()),
        Err(WriteError::Closed)
    );
    assert_eq!(host.read(now, client, 1), Err(ReadError::Closed));
    assert!(host.connection(client).is_none() && host.addresses(client).is_none());
    second(&mut network);
    assert_eq!(events(&mut network, 0), []);
    // The number is used again, the handle is another.
    let [again, _] = opened(&mut network);
    assert_ne!(again, client);
    assert!(network.hosts[0].connection(client).is_none());
}

#[test]
fn a_call_past_the_endpoint_has_its_events_too() {
    let mut network = network();
    let [client, server] = opened(&mut network);
    events(&mut network, 0);
    let now = network.now;
    let connection = network.hosts[0].connection_mut(client).unwrap();
    connection.abort(now);
    second(&mut network);
    let closed = |handle, failure| {
        [
            EndpointEvent::Readable(handle),
            EndpointEvent::Closed(handle, Some(failure)),
        ]
    };
    assert_eq!(events(&mut network, 0), closed(client, Failure::Aborted));
    let of_server = events(&mut network, 1);
    assert!(of_server.ends_with(&closed(server, Failure::Reset)));
}

#[test]
fn a_peer_that_never_closes_holds_a_released_connection_for_a_minute() {
    let mut network = network();
    let [client, server] = opened(&mut network);
    network.hosts[0].close(network.now, client);
    pass(&mut network, Duration::from_secs(59));
    assert_eq!(network.hosts[0].counters().connections, 1);
    pass(&mut network, Duration::from_secs(2));
    assert!(network.hosts[0].counters().connections == 0);
    // The reset went with it.
    let connection = network.hosts[1].connection(server).unwrap();
    assert_eq!(connection.failure(), Some(Failure::Reset));
}

#[test]
fn a_writer_that_found_no_room_hears_of_it_when_a_third_of_the_memory_is_free() {
    const REQUESTED: u64 = 60_000;
    // Linux doubles what is requested.
    const CAPACITY: u64 = 2 * REQUESTED;
    let mut network = network();
    let config = TransportConfig {
        profile: Profile::LINUX_6_18,
        send_buffer: Some(gigatcp_stack::ByteCount::new(REQUESTED)),
        ..TransportConfig::default()
    };
    let now = network.now;
    network.hosts[1].listen(at(1, 80), config.clone()).unwrap();
    let client = network.hosts[0]
        .connect(now, at(1, 80), config.clone())
        .unwrap();
    second(&mut network);
    let now = network.now;
    let written = network.hosts[0].write(now, client, vec![0; 200_000]);
    assert!(written.unwrap() as u64 > CAPACITY / 2, "{written:?}");
    events(&mut network, 0);
    while events(&mut network, 0) != [EndpointEvent::Writable(client)] {
        assert!(network.step());
    }
    let queued = network.hosts[0].connection(client).unwrap().send_queue();
    assert!(queued <= CAPACITY * 2 / 3, "{queued}");
}

/// State of the client once connected, for the first connection of a host and for the second.
fn first_and_second(shares: bool) -> [Info; 2] {
    let path = Path {
        delay: Duration::from_millis(40),
        jitter: Duration::from_millis(20),
        loss: 0.02,
        duplication: 0.0,
    };
    let mut network = Network::new(path, 3);
    let profile = Profile::MODERN.with(|p| p.opening.shares_path_metrics = shares);
    let config = TransportConfig::default().with_profile(profile);
    network.hosts[1].listen(at(1, 80), config.clone()).unwrap();
    let begun = [(); 2].map(|()| {
        let now = network.now;
        let client = network.hosts[0]
            .connect(now, at(1, 80), config.clone())
            .expect("a port is free");
        while network.hosts[0].connection(client).unwrap().state() == State::SynSent {
            assert!(network.step(), "both hosts are silent");
        }
        let info = network.hosts[0].connection(client).unwrap().info();
        let mut left = Bytes::from(vec![7; 400_000]);
        let mut server = None;
        while !left.is_empty() {
            if let Ok(taken) = network.hosts[0].write(network.now, client, left.clone()) {
                drop(left.split_to(taken));
            }
            assert!(network.step(), "both hosts are silent");
            server = server.or_else(|| network.hosts[1].accept(network.now, at(1, 80)));
            let Some(server) = server else { continue };
            while let Ok(Some(_)) = network.hosts[1].read(network.now, server, usize::MAX) {}
        }
        network.hosts[0].shutdown(network.now, client);
        for _ in 0..20 {
            second(&mut network);
            while let Ok(Some(_)) = network.hosts[1].read(network.now, server.unwrap(), 1 << 20) {}
        }
        network.hosts[1].close(network.now, server.unwrap());
        second(&mut network);
        network.hosts[0].close(network.now, client);
        second(&mut network);
        info
    });
    assert_eq!(network.hosts[1].counters().connections, 0);
    begun
}

#[test]
fn second_connection_to_an_address_begins_with_what_the_first_measured() {
    let [first, second] = first_and_second(true);
    assert_eq!(first.ssthresh, ByteCount::MAX);
    assert!(second.ssthresh < ByteCount::MAX, "the first lost segments");
    // The first sample alone would make RTTVAR half of SRTT.
    assert_eq!(first.rttvar, first.srtt.map(|srtt| srtt / 2));
    assert!(second.rttvar < second.srtt.map(|srtt| srtt / 2));
}

#[test]
fn second_connection_begins_anew_where_the_profile_does_not_share() {
    let [_, second] = first_and_second(false);
    assert_eq!(second.ssthresh, ByteCount::MAX);
    assert_eq!(second.rttvar, second.srtt.map(|srtt| srtt / 2));
}

#[test]
fn a_connection_to_a_silent_address_ends_when_the_guide_says() {
    for (profile, seconds) in [(Profile::MODERN, 247), (Profile::LINUX_6_18, 131)] {
        let mut now = Instant::ZERO;
        let mut host = Endpoint::new(now, [1; 16], [addresses()[0]]);
        let config = TransportConfig::default().with_profile(profile);
        let stream = host.connect(now, at(1, 80), config).unwrap();
        while host.poll_transmit(now).is_some() {}
        while let Some(due) = host.poll_timeout() {
            now = due;
            host.handle_timeout(now);
            while host.poll_transmit(now).is_some() {}
        }
        let closed = EndpointEvent::Closed(stream, Some(Failure::TimedOut));
        assert!(std::iter::from_fn(|| host.poll_event()).any(|event| event == closed));
        assert_eq!(now.as_nanos() / 1_000_000_000, seconds);
    }
}
