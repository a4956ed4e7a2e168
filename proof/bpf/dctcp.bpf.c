// SPDX-License-Identifier: GPL-2.0
/* DCTCP (RFC 8257): a reduction in proportion to the share of marks, at the sender, and feedback of
 * each change of marking, at the receiver (section 3.2).
 *
 * DCTCP.Alpha is in 1/1048576.
 */
#include "congestion.bpf.h"

#define ONE (1U << 20)
#define GAIN_SHIFT 4
#define NEEDS_ECN 2
#define DEMAND_CWR 4

struct dctcp {
	__u32 alpha;
	__u32 window_end;
	__u32 delivered;
	__u32 delivered_ce;
	/* Receiver: RCV.NXT before the last packet, and whether that had a mark. */
	__u32 prior_rcv_nxt;
	__u32 was_marked;
};

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct dctcp *law = private(sk);
	struct tcp_sock *tp = tcp(sk);

	law->alpha = ONE;
	law->window_end = tp->snd_nxt;
	law->delivered = tp->delivered;
	law->delivered_ce = tp->delivered_ce;
	law->prior_rcv_nxt = tp->rcv_nxt;
}

SEC("struct_ops")
void BPF_PROG(dctcp_ack, struct sock *sk, __u32 flags)
{
	struct dctcp *law = private(sk);
	struct tcp_sock *tp = tcp(sk);

	/* Once for each window of data. */
	if ((__s32)(tp->snd_una - law->window_end) < 0)
		return;
	__u64 delivered = tp->delivered - law->delivered;
	__u64 marked = tp->delivered_ce - law->delivered_ce;

	if (delivered) {
		__u64 share = (marked << 20) / delivered;

		if (share > ONE)
			share = ONE;
		law->alpha -= (law->alpha + (1 << GAIN_SHIFT) - 1) >> GAIN_SHIFT;
		law->alpha += share >> GAIN_SHIFT;
	}
	law->window_end = tp->snd_nxt;
	law->delivered = tp->delivered;
	law->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *law = private(sk);
	__u64 window = tcp(sk)->snd_cwnd;

	return at_least_two(window - (window * law->alpha >> 21));
}

/* Loss counts as it does in Reno (section 3.5). */
static __always_inline void halve(struct tcp_sock *tp)
{
	tp->snd_ssthresh = at_least_two(tp->snd_cwnd / 2);
}

SEC("struct_ops")
void BPF_PROG(dctcp_state, struct sock *sk, __u8 state)
{
	if (state == RECOVERY)
		halve(tcp(sk));
}

SEC("struct_ops")
void BPF_PROG(dctcp_event, struct sock *sk, int event)
{
	struct dctcp *law = private(sk);
	struct tcp_sock *tp = tcp(sk);

	if (is_event(event, CA_EVENT_LOSS)) {
		halve(tp);
		return;
	}
	__u32 is_marked = is_event(event, CA_EVENT_ECN_IS_CE);

	if (!is_marked && !is_event(event, CA_EVENT_ECN_NO_CE))
		return;

	/* What came before is acknowledged as it was marked. */
	if (is_marked != law->was_marked) {
		if (law->was_marked)
			tp->ecn_flags |= DEMAND_CWR;
		bpf_tcp_send_ack(tp, law->prior_rcv_nxt);
	}
	law->was_marked = is_marked;
	law->prior_rcv_nxt = tp->rcv_nxt;
	if (is_marked)
		tp->ecn_flags |= DEMAND_CWR;
	else
		tp->ecn_flags &= ~DEMAND_CWR;
}

SEC("struct_ops")
void BPF_PROG(dctcp_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);

	if (!is_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_ack,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_state,
	.cwnd_event = (void *)dctcp_event,
	.cong_avoid = (void *)dctcp_avoid,
	.undo_cwnd = (void *)dctcp_undo,
	.flags = NEEDS_ECN,
	.name = "bpf_dctcp",
};
