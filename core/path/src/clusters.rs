//! Kernel pool of clusters: buffers of one size for received and sent data.
//!
//! A BSD kernel keeps packets and socket buffers in *clusters* of `MCLBYTES` each; there are
//! `NMBCLUSTERS` of them. A packet of `n` bytes takes
//!
//! ```text
//! clusters = ceil(n / size), none if n < MINCLSIZE                      (1)
//! ```
//!
//! until the application has read its last byte; written data takes as many until it is
//! acknowledged. If no cluster is free, an arriving packet is dropped and a write waits. Small
//! packets are stored in mbufs, which are not counted. So ACKs and small pings pass even if the
//! pool is exhausted.
//!
//! Source: 4.4BSD and FreeBSD 2 to 4, `sys/mbuf.h`; Villamizar, FreeBSD kern/6032, 1998,
//! had 1024 clusters of 2048 bytes.

/// Bytes below which a packet needs no cluster: `MINCLSIZE` of FreeBSD 2 to 4.
const SMALL: u64 = 208;

/// Number and size of clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClustersConfig {
    /// Total number of clusters (`NMBCLUSTERS`).
    pub count: u32,
    /// Bytes per cluster (`MCLBYTES`).
    pub size: u32,
}

/// Pool of clusters of a host.
#[derive(Clone, Copy, Debug)]
pub struct ClusterPool {
    config: ClustersConfig,
    used: u32,
    max_used: u32,
}

impl ClusterPool {
    /// A pool with all clusters free.
    pub const fn new(config: ClustersConfig) -> Self {
        Self {
            config,
            used: 0,
            max_used: 0,
        }
    }

    /// Clusters that a packet takes, equation (1).
    pub fn of_packet(&self, ip_bytes: u64) -> u32 {
        match ip_bytes < SMALL {
            true => 0,
            false => self.of_buffer(ip_bytes),
        }
    }

    /// Clusters that `bytes` of a send buffer take.
    pub fn of_buffer(&self, bytes: u64) -> u32 {
        let clusters = bytes.div_ceil(u64::from(self.config.size.max(1)));
        u32::try_from(clusters).unwrap_or(u32::MAX)
    }

    /// Takes clusters, if there are enough; returns whether there were.
    #[must_use]
    pub fn take(&mut self, clusters: u32) -> bool {
        let used = self.used.saturating_add(clusters);
        let is_enough = used <= self.config.count || clusters == 0;
        if is_enough {
            self.used = used;
            self.max_used = self.max_used.max(used);
        }
        debug_assert!(
            self.used <= self.max_used && self.used <= self.config.count,
            "{} clusters are in use of {}, never more than {}",
            self.used,
            self.config.count,
            self.max_used
        );
        is_enough
    }

    /// Clusters to the pool.
    pub fn release(&mut self, clusters: u32) {
        debug_assert!(clusters <= self.used, "more clusters than were taken");
        self.used = self.used.saturating_sub(clusters);
    }

    /// Bytes that can be written into free clusters.
    pub fn free_bytes(&self) -> u64 {
        u64::from(self.config.count.saturating_sub(self.used)) * u64::from(self.config.size)
    }

    /// Clusters in use.
    pub const fn used(&self) -> u32 {
        self.used
    }

    /// Maximum number of clusters in use so far.
    pub const fn max_used(&self) -> u32 {
        self.max_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_fddi_takes_three_clusters_and_an_ack_none() {
        let pool = ClusterPool::new(ClustersConfig {
            count: 1024,
            size: 2048,
        });
        let sizes = [52, 207, 208, 2048, 2049, 4352];
        let taken = sizes.map(|size| pool.of_packet(size));
        assert_eq!(taken, [0, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn a_pool_gives_what_it_has_and_no_more() {
        let mut pool = ClusterPool::new(ClustersConfig {
            count: 4,
            size: 2048,
        });
        assert!(pool.take(3));
        assert!(!pool.take(2), "one is left");
        assert!(pool.take(0) && pool.take(1) && pool.take(0));
        assert_eq!((pool.free_bytes(), pool.max_used()), (0, 4));
        pool.release(3);
        assert_eq!((pool.free_bytes(), pool.used()), (3 * 2048, 1));
    }
}
