// SPDX-License-Identifier: GPL-2.0
/* Westwood+ (Grieco, Mascolo 2004): a loss leaves the measured bandwidth times the minimum RTT. */
#include "congestion.bpf.h"

#define MIN_INTERVAL_US 50000

struct westwood {
	__u64 since_us;
	/* Segments/s in 1/1024. */
	__u64 filtered;
	__u64 estimate;
	__u32 delivered;
	__u32 rtt_us;
	__u32 min_rtt_us;
	/* After a timeout the minimum begins anew. */
	__u32 learns;
};

static __always_inline __u64 seven_eighths(__u64 old, __u64 new)
{
	return (old * 7 + new) / 8;
}

SEC("struct_ops")
void BPF_PROG(westwood_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *law = private(sk);
	struct tcp_sock *tp = tcp(sk);
	__u64 now = bpf_ktime_get_ns() / 1000;

	/* The handshake delivers no data. */
	if (sk->__sk_common.skc_state != ESTABLISHED)
		return;
	if (sample->rtt_us > 0) {
		law->rtt_us = sample->rtt_us;
		if (!law->min_rtt_us || law->learns || law->rtt_us < law->min_rtt_us)
			law->min_rtt_us = law->rtt_us;
		law->learns = 0;
	}
	if (!law->since_us) {
		law->since_us = now;
		law->delivered = tp->delivered - sample->pkts_acked;
	}
	__u64 elapsed = now - law->since_us;
	__u64 interval = law->rtt_us > MIN_INTERVAL_US ? law->rtt_us : MIN_INTERVAL_US;

	if (!law->rtt_us || elapsed <= interval)
		return;
	__u64 rate = (__u64)(tp->delivered - law->delivered) * 1024 * 1000000 / elapsed;

	if (!law->filtered && !law->estimate) {
		law->filtered = rate;
		law->estimate = rate;
	} else {
		law->filtered = seven_eighths(law->filtered, rate);
		law->estimate = seven_eighths(law->estimate, law->filtered);
	}
	law->since_us = now;
	law->delivered = tp->delivered;
}

SEC("struct_ops")
__u32 BPF_PROG(westwood_ssthresh, struct sock *sk)
{
	struct westwood *law = private(sk);

	return at_least_two(law->estimate * law->min_rtt_us / 1024 / 1000000);
}

SEC("struct_ops")
void BPF_PROG(westwood_state, struct sock *sk, __u8 state)
{
	struct westwood *law = private(sk);

	if (state == LOSS)
		law->learns = 1;
}

SEC("struct_ops")
void BPF_PROG(westwood_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);

	if (!is_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(westwood_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops westwood = {
	.pkts_acked = (void *)westwood_acked,
	.ssthresh = (void *)westwood_ssthresh,
	.set_state = (void *)westwood_state,
	.cong_avoid = (void *)westwood_avoid,
	.undo_cwnd = (void *)westwood_undo,
	.name = "bpf_westwood",
};
