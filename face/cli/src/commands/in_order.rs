//! Formats many items with several threads and writes the text in order.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// Number of items that a thread formats at a time.
const PIECE: usize = 1 << 14;

/// Formats `all` in pieces with `threads` threads and writes the text in order. `make` gets a piece
/// and the index of its first item.
pub(super) fn in_order<T: Sync, E>(
    all: &[T],
    threads: usize,
    make: impl Fn(usize, &[T]) -> String + Sync,
    mut put: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let make = &make;
    let pieces: Vec<(usize, &[T])> = (0..).step_by(PIECE).zip(all.chunks(PIECE)).collect();
    for some in pieces.chunks(threads.max(1)) {
        let texts: Vec<String> = match *some {
            [(first, piece)] => vec![make(first, piece)],
            _ => thread::scope(|scope| {
                let begun = some
                    .iter()
                    .map(|&(first, piece)| scope.spawn(move || make(first, piece)));
                let begun: Vec<_> = begun.collect();
                let joined = begun.into_iter().map(ScopedJoinHandle::join);
                joined
                    .map(|made| made.unwrap_or_else(|panic| resume_unwind(panic)))
                    .collect()
            }),
        };
        texts.iter().try_for_each(|text| put(text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_in_order_whatever_the_number_of_threads() {
        let all: Vec<usize> = (0..PIECE * 5 + 7).collect();
        for threads in [1, 2, 7] {
            let mut next = 0;
            let make = |first: usize, piece: &[usize]| {
                assert!(piece.iter().copied().eq(first..first + piece.len()));
                format!("{first} {}", piece.len())
            };
            let put = |text: &str| {
                let (first, len) = text.split_once(' ').unwrap();
                assert_eq!(first.parse(), Ok(next));
                next += len.parse::<usize>().unwrap();
                Ok::<(), ()>(())
            };
            in_order(&all, threads, make, put).unwrap();
            assert_eq!(next, all.len());
        }
    }
}
