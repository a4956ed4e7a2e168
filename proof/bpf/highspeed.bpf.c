// SPDX-License-Identifier: GPL-2.0
/* HighSpeed TCP (RFC 3649): steps that grow with the window, by the formulas of its section 5.
 *
 * BPF has no floating point: logarithms and powers of two are in 1/65536.
 */
#include "congestion.bpf.h"

#define ONE 65536ULL
#define LOW_WINDOW 38
/* The decrease is constant from the last row of the table in appendix B on. */
#define LAST_ROW 94717
#define LOG2_LOW 343923ULL   /* log2 38 */
#define LOG2_RANGE 727050ULL /* log2 (83000/38) */
#define B_LOW 32768ULL       /* 0.5 */
#define B_RANGE 26214ULL     /* 0.5 - 0.1 */

struct highspeed {
	__u32 window;
	__u32 step;
};

/* log2 of w, from 1 to 2^31. Without branches: the verifier follows each of them. */
static __noinline __u64 log2_of(__u64 w)
{
	__u64 whole = 0;
	__u64 part = 0;
	__u64 x = w << 16;

	for (int step = 16; step > 0; step /= 2) {
		__u64 over = -(x >> (16 + step)) >> 63;

		x >>= over * step;
		whole += over * step;
	}
	for (int bit = 15; bit >= 0; bit--) {
		x = (x * x) >> 16;
		__u64 over = x >> 17;

		x >>= over;
		part |= over << bit;
	}
	return (whole << 16) + part;
}

/* 2^(1/2), 2^(1/4), ... in 1/65536. */
static const __u32 ROOTS[16] = {
	92682, 77936, 71468, 68438, 66971, 66250, 65892, 65714,
	65625, 65580, 65558, 65547, 65542, 65539, 65537, 65537,
};

/* 2 to the power of x. */
static __noinline __u64 exp2_of(__u64 x)
{
	__u64 y = ONE;

	for (int i = 0; i < 16; i++)
		y = y * (ONE + (x >> (15 - i) & 1) * (ROOTS[i] - ONE)) >> 16;
	return y << ((x >> 16) & 31);
}

/* Share that a loss takes of a window, in 1/65536. */
static __always_inline __u64 decrease(__u64 w)
{
	if (w <= LOW_WINDOW)
		return B_LOW;
	if (w > LAST_ROW)
		w = LAST_ROW;
	__u64 above = log2_of(w);

	above = above > LOG2_LOW ? above - LOG2_LOW : 0;
	return B_LOW - B_RANGE * above / LOG2_RANGE;
}

/* Segments that the window grows by in a round trip, in 1/65536. */
static __always_inline __u64 increase(__u64 w)
{
	__u64 b = decrease(w);
	__u64 power = exp2_of(log2_of(w) * 4 / 5);
	__u64 step = power * 78 / 1000 * (2 * b) / (2 * ONE - b);

	return step < ONE ? ONE : step;
}

SEC("struct_ops")
__u32 BPF_PROG(highspeed_ssthresh, struct sock *sk)
{
	__u64 window = tcp(sk)->snd_cwnd;

	return at_least_two(window - (window * decrease(window) >> 16));
}

SEC("struct_ops")
void BPF_PROG(highspeed_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct highspeed *law = private(sk);
	struct tcp_sock *tp = tcp(sk);

	if (!is_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (!acked)
		return;
	if (tp->snd_cwnd <= LOW_WINDOW) {
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
		return;
	}
	if (law->window != tp->snd_cwnd) {
		law->window = tp->snd_cwnd;
		law->step = increase(tp->snd_cwnd) >> 8;
	}
	grow_by_share(tp, acked, law->step, 256);
}

SEC("struct_ops")
__u32 BPF_PROG(highspeed_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops highspeed = {
	.ssthresh = (void *)highspeed_ssthresh,
	.cong_avoid = (void *)highspeed_avoid,
	.undo_cwnd = (void *)highspeed_undo,
	.name = "bpf_highspeed",
};
