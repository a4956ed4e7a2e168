//! Who acts next: a heap with one place per element.
//!
//! Elements are known from the start and each has at most one appointment, so
//! an appointment is moved in place (O(log n), n = number of elements) and a
//! simulation of a million packets in flight has a heap of a handful. Ties go
//! to the element with the lower number: runs are reproducible.

use gigatcp_units::Instant;

/// Appointments of a fixed number of elements.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Element numbers as a binary heap by (time, number).
    heap: Vec<u32>,
    /// Where each element stands in `heap`.
    place: Vec<u32>,
    /// Each element's appointment.
    time: Vec<Instant>,
}

impl Schedule {
    /// No appointments for `elements` elements.
    #[must_use]
    pub fn new(elements: usize) -> Self {
        let numbers = || (0..elements as u32).collect();
        Self {
            heap: numbers(),
            place: numbers(),
            time: vec![Instant::FAR_FUTURE; elements],
        }
    }

    /// The earliest appointment and whose it is.
    #[inline]
    #[must_use]
    pub fn next(&self) -> (Instant, usize) {
        let element = self.heap[0] as usize;
        (self.time[element], element)
    }

    /// Moves the appointment of `element`.
    #[inline]
    pub fn set(&mut self, element: usize, at: Instant) {
        let before = self.time[element];
        if at == before {
            return;
        }
        self.time[element] = at;
        let place = self.place[element] as usize;
        if at < before {
            self.rise(place);
        } else {
            self.sink(place);
        }
    }

    #[inline]
    fn key(&self, place: usize) -> (Instant, u32) {
        let element = self.heap[place];
        (self.time[element as usize], element)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.key(parent) <= self.key(place) {
                break;
            }
            self.swap(parent, place);
            place = parent;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            if left >= self.heap.len() {
                break;
            }
            let right = left + 1;
            let right_first = right < self.heap.len() && self.key(right) < self.key(left);
            let child = if right_first { right } else { left };
            if self.key(place) <= self.key(child) {
                break;
            }
            self.swap(place, child);
            place = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_ties_go_to_the_lower_number() {
        let mut schedule = Schedule::new(50);
        let mut random = 12345_u64;
        let mut times = vec![Instant::FAR_FUTURE; 50];
        for _ in 0..5000 {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let element = (random >> 40) as usize % 50;
            let at = Instant::from_nanos((random >> 50) % 20);
            schedule.set(element, at);
            times[element] = at;
            let first = (0..50).min_by_key(|&e| (times[e], e)).unwrap();
            assert_eq!(schedule.next(), (times[first], first));
        }
    }
}
