// SPDX-License-Identifier: GPL-2.0
/* H-TCP (Leith, Shorten; draft-leith-tcp-htcp-06): steps that grow with the time since the last
 * congestion event, and a decrease to the ratio of the RTTs.
 *
 * Times are in milliseconds, shares in 1/128.
 */
#include "congestion.bpf.h"

#define SECOND 1000
#define SCALE 128
#define MIN_BETA 64
#define MAX_BETA 102
#define MAX_RTT_STEP 20
#define SHORT_RTT 10

struct htcp {
	__u64 last_congestion;
	__u64 since;
	__u32 acked;
	__u32 min_rtt;
	__u32 max_rtt;
	__u32 beta;
	/* Throughput, segments/s: smoothed, the largest of this cycle, that of the one before. */
	__u32 smoothed;
	__u32 largest;
	__u32 largest_before;
	__u32 adapts;
	__u32 recovers;
};

static __always_inline __u64 share_left(const struct htcp *law)
{
	return law->beta < MIN_BETA ? MIN_BETA : law->beta;
}

/* Segments that the window grows by in a round trip, in 1/128. */
static __always_inline __u64 alpha(const struct htcp *law, __u64 now)
{
	__u64 delta = now - law->last_congestion;
	__u64 factor = 1;

	if (delta > SECOND) {
		__u64 d = delta - SECOND;

		factor += (10 * d + (d / 2) * (d / 2) / SECOND) / SECOND;
	}
	if (law->min_rtt) {
		__u64 scale = 8 * SECOND / (law->min_rtt * 10);

		scale = scale < 4 ? 4 : scale > 80 ? 80 : scale;
		factor = 8 * factor / scale;
		if (!factor)
			factor = 1;
	}
	return 2 * factor * (SCALE - share_left(law));
}

static __always_inline void note_throughput(struct htcp *law, const struct tcp_sock *tp, __u32 acked,
					    __u8 state, __u64 now)
{
	if (state != OPEN && state != DISORDER) {
		law->acked = 0;
		law->since = now;
		return;
	}
	__u64 step = alpha(law, now) / SCALE;
	__u64 elapsed = now - law->since;

	if (!step)
		step = 1;
	law->acked += acked;
	if (law->acked + step < tp->snd_cwnd || !law->min_rtt || elapsed < law->min_rtt)
		return;
	__u64 sample = (__u64)law->acked * SECOND / elapsed;

	if ((now - law->last_congestion) / law->min_rtt <= 3) {
		law->smoothed = sample;
		law->largest = sample;
	} else {
		law->smoothed = (law->smoothed * 3 + sample) / 4;
		if (law->smoothed > law->largest)
			law->largest = law->smoothed;
	}
	law->acked = 0;
	law->since = now;
}

SEC("struct_ops")
void BPF_PROG(htcp_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *law = private(sk);
	__u8 state = BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
	__u64 now = now_ms();

	if (!law->last_congestion) {
		law->last_congestion = now;
		law->since = now;
	}
	if (sample->rtt_us > 0) {
		__u32 rtt = ((__u32)sample->rtt_us + 999) / 1000;

		if (!law->min_rtt || rtt < law->min_rtt)
			law->min_rtt = rtt;
		if (state == OPEN) {
			if (law->max_rtt < law->min_rtt)
				law->max_rtt = law->min_rtt;
			if (rtt > law->max_rtt && rtt <= law->max_rtt + MAX_RTT_STEP)
				law->max_rtt = rtt;
		}
	}
	note_throughput(law, tcp(sk), sample->pkts_acked, state, now);
}

static __always_inline void update_beta(struct htcp *law)
{
	__u64 now = law->largest;
	__u64 before = law->largest_before;

	law->largest_before = now;
	if (now * 5 < before * 4 || now * 5 > before * 6) {
		law->beta = MIN_BETA;
		law->adapts = 0;
	} else if (law->adapts && law->min_rtt > SHORT_RTT && law->max_rtt) {
		__u32 beta = law->min_rtt * SCALE / law->max_rtt;

		law->beta = beta < MIN_BETA ? MIN_BETA : beta > MAX_BETA ? MAX_BETA : beta;
	} else {
		law->beta = MIN_BETA;
		law->adapts = 1;
	}
}

SEC("struct_ops")
__u32 BPF_PROG(htcp_ssthresh, struct sock *sk)
{
	struct htcp *law = private(sk);

	update_beta(law);
	if (law->min_rtt && law->max_rtt > law->min_rtt)
		law->max_rtt = law->min_rtt + (law->max_rtt - law->min_rtt) * 95 / 100;
	law->last_congestion = now_ms();
	return at_least_two(tcp(sk)->snd_cwnd * share_left(law) / SCALE);
}

SEC("struct_ops")
void BPF_PROG(htcp_state, struct sock *sk, __u8 state)
{
	struct htcp *law = private(sk);

	if (state >= CWR) {
		law->recovers = 1;
	} else if (state == OPEN && law->recovers) {
		law->recovers = 0;
		law->last_congestion = now_ms();
	}
}

SEC("struct_ops")
void BPF_PROG(htcp_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct htcp *law = private(sk);
	struct tcp_sock *tp = tcp(sk);

	if (!is_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (acked)
		grow_by_share(tp, acked, alpha(law, now_ms()), SCALE);
}

SEC("struct_ops")
__u32 BPF_PROG(htcp_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops htcp = {
	.pkts_acked = (void *)htcp_acked,
	.ssthresh = (void *)htcp_ssthresh,
	.set_state = (void *)htcp_state,
	.cong_avoid = (void *)htcp_avoid,
	.undo_cwnd = (void *)htcp_undo,
	.name = "bpf_htcp",
};
