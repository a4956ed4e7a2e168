/* SPDX-License-Identifier: GPL-2.0 */
/* What congestion controls need of Linux' TCP, as CO-RE types: libbpf finds the members in the running
 * kernel by their names.
 *
 * A law has a struct tcp_congestion_ops in SEC(".struct_ops.link"). Its state is in private(),
 * which is zero at first. Windows are in segments.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	unsigned char skc_state;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	__u32 rcv_nxt;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 mss_cache;
	__u8 ecn_flags;
	__u8 is_cwnd_limited : 1;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	__u32 flags;
	char name[16];
};

#pragma clang attribute pop

/* Kernel functions of Reno. */
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define ESTABLISHED 1

enum ca_state { OPEN = 0, DISORDER = 1, CWR = 2, RECOVERY = 3, LOSS = 4 };

static __always_inline struct tcp_sock *tcp(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* Events of cwnd_event(), by the names that the running kernel has for them. */
enum tcp_ca_event { CA_EVENT_LOSS, CA_EVENT_ECN_NO_CE, CA_EVENT_ECN_IS_CE };

#define is_event(event, name) ((event) == (int)bpf_core_enum_value(enum tcp_ca_event, name))

/* State of the law, 104 bytes at most. */
static __always_inline void *private(const struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u64 now_ms(void)
{
	return bpf_ktime_get_ns() / 1000000;
}

static __always_inline __u32 at_least_two(__u64 window)
{
	return window < 2 ? 2 : window;
}

/* Whether the window may grow: the sender used all of it. */
static __always_inline bool is_used(const struct tcp_sock *tp)
{
	if (tp->snd_cwnd < tp->snd_ssthresh)
		return true;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Slow start; returns what is left of `acked` for congestion avoidance. */
static __always_inline __u32 slow_start(struct tcp_sock *tp, __u32 acked)
{
	return tp->snd_cwnd < tp->snd_ssthresh ? tcp_slow_start(tp, acked) : acked;
}

/* Grows by `share`/`scale` segments for each window acknowledged. */
static __always_inline void grow_by_share(struct tcp_sock *tp, __u32 acked, __u64 share, __u64 scale)
{
	__u64 window = tp->snd_cwnd;
	__u64 counted = tp->snd_cwnd_cnt + acked * share;
	__u64 grown = counted / (window * scale);

	tp->snd_cwnd_cnt = counted - grown * window * scale;
	tp->snd_cwnd = window + grown;
}

char _license[] SEC("license") = "GPL";
