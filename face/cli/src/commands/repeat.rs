//! Repetitions of measurements in real time: the loop of `test --until` and of `compare`.
//!
//! A round repeats each cell that is not decided, one after the other, so that a slow change of the
//! machine or the network meets all alike.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// What is repeated.
pub(crate) trait Cell {
    /// Whether it needs no further repetition.
    fn is_decided(&self) -> bool;

    /// Measures once more. Rounds are numbered from 1.
    fn repeat(&mut self, round: u32) -> Result<(), Failure>;
}

/// When the repetitions end, at the latest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) rounds: u32,
    /// Time for all cells. A repetition that is likely to exceed it does not begin.
    pub(crate) within: Option<Duration>,
}

/// Repeats the cells until all are decided, a bound is reached, or a signal has come.
pub(crate) fn repeat<C: Cell>(
    cells: &mut [C],
    bounds: Bounds,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let began = Instant::now();
    let mut longest = vec![Duration::ZERO; cells.len()];
    for round in 1..=bounds.rounds {
        let mut is_over = true;
        for (cell, longest) in cells.iter_mut().zip(&mut longest) {
            if interrupt.signal().is_some() {
                return Ok(());
            }
            let end = began.elapsed() + *longest;
            let is_late = bounds.within.is_some_and(|within| end > within);
            if cell.is_decided() || is_late {
                continue;
            }
            let repetition = Instant::now();
            cell.repeat(round)?;
            *longest = repetition.elapsed().max(*longest);
            is_over = false;
        }
        if is_over {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decided after a number of repetitions.
    struct Counter {
        rounds: Vec<u32>,
        enough: usize,
    }

    impl Cell for Counter {
        fn is_decided(&self) -> bool {
            self.rounds.len() >= self.enough
        }

        fn repeat(&mut self, round: u32) -> Result<(), Failure> {
            self.rounds.push(round);
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        }
    }

    fn repeated(enough: [usize; 2], rounds: u32, within: Option<Duration>) -> [Vec<u32>; 2] {
        let mut cells = enough.map(|enough| Counter {
            rounds: Vec::new(),
            enough,
        });
        let bounds = Bounds { rounds, within };
        repeat(&mut cells, bounds, &Interrupt::default()).unwrap();
        cells.map(|cell| cell.rounds)
    }

    #[test]
    fn decided_cell_is_left_out_of_later_rounds() {
        assert_eq!(repeated([1, 3], 10, None), [vec![1], vec![1, 2, 3]]);
        assert_eq!(repeated([9, 9], 2, None), [vec![1, 2], vec![1, 2]]);
    }

    #[test]
    fn repetition_that_would_exceed_the_time_does_not_begin() {
        let [first, second] = repeated([9, 9], 9, Some(Duration::from_millis(1)));
        assert!(first.len() <= 1 && second.len() <= 1);
    }
}
