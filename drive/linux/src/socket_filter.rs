//! Instructions of socket filters: classic BPF, which the kernel runs on each packet of a socket
//! ([`packets::attach_filter`](crate::packets::attach_filter)).
//!
//! Places are offsets in what the socket receives: from the IP header on, or from the frame's.

/// An instruction.
pub type Instruction = libc::sock_filter;

/// Maximum number of instructions of a program.
pub const MAX_INSTRUCTIONS: usize = libc::BPF_MAXINSNS as usize;

/// Widths of a load, in network byte order.
pub const BYTE: u32 = libc::BPF_B;
/// Two bytes.
pub const HALF: u32 = libc::BPF_H;
/// Four bytes.
pub const WORD: u32 = libc::BPF_W;

/// Loads a value at `place`.
pub const fn load(width: u32, place: u32) -> Instruction {
    statement(libc::BPF_LD | libc::BPF_ABS | width, place)
}

/// Loads a value `place` bytes behind [`set_base`].
pub const fn load_behind(width: u32, place: u32) -> Instruction {
    statement(libc::BPF_LD | libc::BPF_IND | width, place)
}

/// Sets the base of [`load_behind`] to the length of the IPv4 header at `place`.
pub const fn set_base(place: u32) -> Instruction {
    statement(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, place)
}

/// Loads the packet's EtherType, whatever the link layer.
pub const fn load_ether_type() -> Instruction {
    let place = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL).cast_unsigned();
    load(HALF, place)
}

/// Keeps the bits of the loaded value that `mask` has.
pub const fn and(mask: u32) -> Instruction {
    statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask)
}

/// Skips `if_equal` instructions if the loaded value is `value`, `otherwise` if it is not.
pub const fn equal(value: u32, if_equal: u8, otherwise: u8) -> Instruction {
    Instruction {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: if_equal,
        jf: otherwise,
        k: value,
    }
}

/// Skips `count` instructions.
pub const fn skip(count: usize) -> Instruction {
    statement(libc::BPF_JMP | libc::BPF_JA, count as u32)
}

/// Accepts the first `bytes` of the packet.
pub const fn accept(bytes: u32) -> Instruction {
    statement(libc::BPF_RET | libc::BPF_K, bytes)
}

/// Rejects the packet.
pub const REJECT: Instruction = accept(0);

const fn statement(code: u32, k: u32) -> Instruction {
    Instruction {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}
