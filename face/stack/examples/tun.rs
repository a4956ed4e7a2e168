//! A server on a TUN device: the machine's kernel connects to the engine, which
//! answers. Requires root or user namespaces.
//!
//!     cargo run -p gigatcp-stack --features live --example tun

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use gigatcp_stack::live::{Namespace, Options, Stack, TunConfig, Wire};

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = IpAddr::from(Ipv4Addr::new(10, 0, 0, 1));
    let engine = IpAddr::from(Ipv4Addr::new(10, 0, 0, 2));
    let namespace = Namespace::new()?;
    let config = TunConfig {
        kernel: vec![(kernel, 24)],
        engine: vec![engine],
        ..TunConfig::default()
    };
    let stack = Stack::start(Wire::open_tun(&namespace, &config)?)?;
    let at = SocketAddr::new(engine, 8080);
    let listener = stack.listen(at, &Options::default())?;
    let server = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut line = [0; 64];
        let len = stream.read(&mut line)?;
        stream.write_all(b"the engine has read: ")?;
        stream.write_all(&line[..len])
    });

    let mut stream = namespace.run(|| TcpStream::connect(at))??;
    stream.write_all(b"hello from the kernel")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    println!("{answer}");
    server.join().expect("the server ends")?;
    Ok(())
}
