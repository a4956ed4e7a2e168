//! Decodes `struct tcp_info` of `linux/tcp.h`, word by word.
//!
//! The structure only grows at its end, and the kernel returns the length that it filled in. Words
//! that an older kernel lacks are left out; those of a newer one are unknown here. The last four
//! words of Linux 6.18 (`tcpi_accecn_fail_mode` and what replaced it) changed their meaning one
//! release later and are left out too.

/// Size of the buffer in bytes: more than any kernel fills in.
pub const ROOM: usize = 512;

/// Names and widths in bytes from byte 8 on, in order. Every word is aligned to its width.
const WORDS: [(&str, usize); 58] = [
    ("tcpi_rto", 4),
    ("tcpi_ato", 4),
    ("tcpi_snd_mss", 4),
    ("tcpi_rcv_mss", 4),
    ("tcpi_unacked", 4),
    ("tcpi_sacked", 4),
    ("tcpi_lost", 4),
    ("tcpi_retrans", 4),
    ("tcpi_fackets", 4),
    ("tcpi_last_data_sent", 4),
    ("tcpi_last_ack_sent", 4),
    ("tcpi_last_data_recv", 4),
    ("tcpi_last_ack_recv", 4),
    ("tcpi_pmtu", 4),
    ("tcpi_rcv_ssthresh", 4),
    ("tcpi_rtt", 4),
    ("tcpi_rttvar", 4),
    ("tcpi_snd_ssthresh", 4),
    ("tcpi_snd_cwnd", 4),
    ("tcpi_advmss", 4),
    ("tcpi_reordering", 4),
    ("tcpi_rcv_rtt", 4),
    ("tcpi_rcv_space", 4),
    ("tcpi_total_retrans", 4),
    ("tcpi_pacing_rate", 8),
    ("tcpi_max_pacing_rate", 8),
    ("tcpi_bytes_acked", 8),
    ("tcpi_bytes_received", 8),
    ("tcpi_segs_out", 4),
    ("tcpi_segs_in", 4),
    ("tcpi_notsent_bytes", 4),
    ("tcpi_min_rtt", 4),
    ("tcpi_data_segs_in", 4),
    ("tcpi_data_segs_out", 4),
    ("tcpi_delivery_rate", 8),
    ("tcpi_busy_time", 8),
    ("tcpi_rwnd_limited", 8),
    ("tcpi_sndbuf_limited", 8),
    ("tcpi_delivered", 4),
    ("tcpi_delivered_ce", 4),
    ("tcpi_bytes_sent", 8),
    ("tcpi_bytes_retrans", 8),
    ("tcpi_dsack_dups", 4),
    ("tcpi_reord_seen", 4),
    ("tcpi_rcv_ooopack", 4),
    ("tcpi_snd_wnd", 4),
    ("tcpi_rcv_wnd", 4),
    ("tcpi_rehash", 4),
    ("tcpi_total_rto", 2),
    ("tcpi_total_rto_recoveries", 2),
    ("tcpi_total_rto_time", 4),
    ("tcpi_received_ce", 4),
    ("tcpi_delivered_e1_bytes", 4),
    ("tcpi_delivered_e0_bytes", 4),
    ("tcpi_delivered_ce_bytes", 4),
    ("tcpi_received_e1_bytes", 4),
    ("tcpi_received_e0_bytes", 4),
    ("tcpi_received_ce_bytes", 4),
];

/// Fields of the first eight bytes: name, byte, first bit, number of bits.
const HEAD: [(&str, usize, u8, u8); 10] = [
    ("tcpi_state", 0, 0, 8),
    ("tcpi_ca_state", 1, 0, 8),
    ("tcpi_retransmits", 2, 0, 8),
    ("tcpi_probes", 3, 0, 8),
    ("tcpi_backoff", 4, 0, 8),
    ("tcpi_options", 5, 0, 8),
    ("tcpi_snd_wscale", 6, 0, 4),
    ("tcpi_rcv_wscale", 6, 4, 4),
    ("tcpi_delivery_rate_app_limited", 7, 0, 1),
    ("tcpi_fastopen_client_fail", 7, 1, 2),
];

/// Every word in `octets`, as written by the kernel.
pub fn words(octets: &[u8]) -> Vec<(&'static str, i64)> {
    each(octets).collect()
}

/// An iterator over the words in `octets`, always in the same order.
pub fn each(octets: &[u8]) -> impl Iterator<Item = (&'static str, i64)> + '_ {
    let head = HEAD.iter().filter_map(|(name, at, shift, bits)| {
        let octet = octets.get(*at)?;
        // Bit-fields fill an octet from its low end on little-endian
        // machines and from its high end on others.
        let shift = if cfg!(target_endian = "big") {
            8 - shift - bits
        } else {
            *shift
        };
        let mask = ((1_u16 << bits) - 1) as u8;
        Some((*name, i64::from(octet >> shift & mask)))
    });
    let mut at = 8;
    let rest = WORDS.iter().map_while(move |(name, width)| {
        let word = octets.get(at..at + width)?;
        at += width;
        Some((*name, number(word)))
    });
    head.chain(rest)
}

/// Words of `SO_MEMINFO`, `linux/sock_diag.h`: bytes of memory, and a count of drops.
const MEMORY: [&str; 9] = [
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_RCVBUF",
    "SK_MEMINFO_WMEM_ALLOC",
    "SK_MEMINFO_SNDBUF",
    "SK_MEMINFO_FWD_ALLOC",
    "SK_MEMINFO_WMEM_QUEUED",
    "SK_MEMINFO_OPTMEM",
    "SK_MEMINFO_BACKLOG",
    "SK_MEMINFO_DROPS",
];

/// Every word of `SO_MEMINFO` in `octets`.
pub fn memory_words(octets: &[u8]) -> Vec<(&'static str, i64)> {
    each_of_memory(octets).collect()
}

/// An iterator over the words of `SO_MEMINFO`, always in the same order.
pub fn each_of_memory(octets: &[u8]) -> impl Iterator<Item = (&'static str, i64)> + '_ {
    let (words, _) = octets.as_chunks::<4>();
    let numbers = words.iter().map(|word| number(word));
    MEMORY.into_iter().zip(numbers)
}

/// An unsigned number in the machine's byte order. Rates of `!0` (unlimited) become the maximum.
fn number(word: &[u8]) -> i64 {
    let mut whole = [0_u8; 8];
    if cfg!(target_endian = "big") {
        whole[8 - word.len()..].copy_from_slice(word);
    } else {
        whole[..word.len()].copy_from_slice(word);
    }
    i64::try_from(u64::from_ne_bytes(whole)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_on_their_own_width_where_libc_has_them() {
        let mut at = 8;
        let mut places = Vec::new();
        for (name, width) in WORDS {
            assert_eq!(at % width, 0, "{name} at octet {at}");
            places.push((name, at));
            at += width;
        }
        let place = |name: &str| places.iter().find(|(n, _)| *n == name).unwrap().1;
        let known = [
            ("tcpi_rto", std::mem::offset_of!(libc::tcp_info, tcpi_rto)),
            ("tcpi_rtt", std::mem::offset_of!(libc::tcp_info, tcpi_rtt)),
            (
                "tcpi_snd_cwnd",
                std::mem::offset_of!(libc::tcp_info, tcpi_snd_cwnd),
            ),
            (
                "tcpi_total_retrans",
                std::mem::offset_of!(libc::tcp_info, tcpi_total_retrans),
            ),
        ];
        for (name, expected) in known {
            assert_eq!(place(name), expected, "{name}");
        }
        // linux/tcp.h of 6.18, computed by hand: 104 bytes to the first rate, 240 to the RTO
        // counters.
        assert_eq!(place("tcpi_pacing_rate"), 104);
        assert_eq!(place("tcpi_total_rto"), 240);
        assert_eq!(at, 276);
    }

    #[test]
    fn an_older_kernel_has_fewer_words_and_none_is_invented() {
        let mut octets = vec![0_u8; 104];
        octets[0] = 1;
        octets[6] = 0x7a;
        octets[8..12].copy_from_slice(&204_000_u32.to_ne_bytes());
        let words = words(&octets);
        assert_eq!(words.len(), HEAD.len() + 24);
        assert_eq!(words[0], ("tcpi_state", 1));
        assert!(words.contains(&("tcpi_rto", 204_000)));
        let scales = [words[6].1, words[7].1];
        if cfg!(target_endian = "little") {
            assert_eq!(scales, [0xa, 0x7]);
        }
    }

    #[test]
    fn no_octets_give_no_words() {
        assert_eq!(words(&[]), []);
    }
}
