//! Tests of `gigatcp-capture` through its public interface, in one program: it is compiled and linked once.

mod captures;
mod connection;
#[path = "../independent_reader/mod.rs"]
mod independent_reader;
mod pcap_file_oracle;
mod plain_records;
mod read_pcap;
mod read_pcapng;
mod read_snoop;
mod read_text;
mod reading;
mod tshark;
mod tshark_reading;
mod tshark_tunnels;
