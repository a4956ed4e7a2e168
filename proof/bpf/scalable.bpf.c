// SPDX-License-Identifier: GPL-2.0
/* Scalable TCP (Kelly 2003): a segment for each 100 acknowledged, an eighth less at a loss. */
#include "congestion.bpf.h"

#define MAX_ACKED 100

SEC("struct_ops")
__u32 BPF_PROG(scalable_ssthresh, struct sock *sk)
{
	__u32 window = tcp(sk)->snd_cwnd;

	return at_least_two(window - window / 8);
}

SEC("struct_ops")
void BPF_PROG(scalable_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);

	if (!is_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd < MAX_ACKED ? tp->snd_cwnd : MAX_ACKED, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(scalable_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scalable = {
	.ssthresh = (void *)scalable_ssthresh,
	.cong_avoid = (void *)scalable_avoid,
	.undo_cwnd = (void *)scalable_undo,
	.name = "bpf_scalable",
};
