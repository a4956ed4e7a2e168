//! Schedule of elements: an indexed binary heap with one place per element.
//!
//! Elements are known from the start and each has at most one appointment. So an appointment is
//! moved in place (O(log n), n = number of elements), and a million packets in flight need a heap
//! of a few entries. Ties go to the element with the lower number, so that runs are reproducible.

use alloc::vec::Vec;

use gigatcp_units::Instant;

/// Time at which an element acts.
#[derive(Clone, Copy, Debug)]
struct ScheduledEvent {
    at: Instant,
    element: u32,
}

impl ScheduledEvent {
    #[inline]
    fn is_before(self, other: Self) -> bool {
        self.at < other.at || (self.at == other.at && self.element < other.element)
    }
}

/// Schedule of the elements, which are numbered from zero.
#[derive(Clone, Debug)]
pub struct EventSchedule {
    /// The next event of each element, as a binary heap.
    heap: Vec<ScheduledEvent>,
    /// Position of each element in `heap`.
    place: Vec<u32>,
}

impl EventSchedule {
    /// A schedule without appointments for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let at = Instant::FAR_FUTURE;
        let numbers = 0..elements as u32;
        Self {
            heap: numbers
                .clone()
                .map(|element| ScheduledEvent { at, element })
                .collect(),
            place: numbers.collect(),
        }
    }

    /// Enlarges the schedule to `elements` elements; new ones have no appointments.
    pub fn grow(&mut self, elements: usize) {
        for element in self.place.len()..elements {
            self.place.push(element as u32);
            self.heap.push(ScheduledEvent {
                at: Instant::FAR_FUTURE,
                element: element as u32,
            });
        }
    }

    /// Earliest appointment and its element; the far future if there is none.
    #[inline]
    pub fn first(&self) -> (Instant, usize) {
        match self.heap.first() {
            Some(first) => (first.at, first.element as usize),
            None => (Instant::FAR_FUTURE, 0),
        }
    }

    /// Appointment of `element`; the far future if it has none.
    #[inline]
    pub fn of(&self, element: usize) -> Instant {
        self.heap[self.place[element] as usize].at
    }

    /// Moves the appointment of `element`.
    #[inline(always)]
    pub fn set(&mut self, element: usize, at: Instant) {
        let place = self.place[element] as usize;
        let before = self.heap[place];
        if at < before.at {
            self.rise(place, ScheduledEvent { at, ..before });
        } else if at > before.at {
            self.sink(place, ScheduledEvent { at, ..before });
        }
        self.assert_invariants(element);
    }

    /// Asserts the heap order around `element`.
    fn assert_invariants(&self, element: usize) {
        let place = self.place[element] as usize;
        let own = self.heap[place];
        debug_assert!(
            own.element as usize == element,
            "{own:?} stands in the place of element {element}"
        );
        let above = place.checked_sub(1).map(|below| self.heap[below / 2]);
        debug_assert!(
            above.is_none_or(|above| above.is_before(own)),
            "{own:?} stands below {above:?}"
        );
        let below = [2 * place + 1, 2 * place + 2].map(|child| self.heap.get(child));
        debug_assert!(
            below.iter().flatten().all(|child| own.is_before(**child)),
            "{own:?} stands above {below:?}"
        );
    }

    /// Moves the appointment of `element` to `at` if it is later than that. An appointment that is
    /// too early costs less: its element finds that nothing is due, and moves it.
    #[inline]
    pub fn bring_forward(&mut self, element: usize, at: Instant) {
        let place = self.place[element] as usize;
        let before = self.heap[place];
        if at < before.at {
            self.rise(place, ScheduledEvent { at, ..before });
        }
        self.assert_invariants(element);
    }

    /// Whether `element` has no appointment.
    #[inline]
    pub fn is_free(&self, element: usize) -> bool {
        self.of(element) == Instant::FAR_FUTURE
    }

    #[inline]
    fn put(&mut self, place: usize, entry: ScheduledEvent) {
        self.heap[place] = entry;
        self.place[entry.element as usize] = place as u32;
    }

    /// Puts `entry` at `place` or above, moving later entries down.
    fn rise(&mut self, mut place: usize, entry: ScheduledEvent) {
        while place > 0 {
            let parent = (place - 1) / 2;
            let above = self.heap[parent];
            if above.is_before(entry) {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Puts `entry` at `place` or below, moving earlier entries up.
    #[inline(always)]
    fn sink(&mut self, mut place: usize, entry: ScheduledEvent) {
        loop {
            let mut child = 2 * place + 1;
            let Some(mut below) = self.heap.get(child).copied() else {
                break;
            };
            if let Some(right) = self.heap.get(child + 1).copied()
                && right.is_before(below)
            {
                below = right;
                child += 1;
            }
            if entry.is_before(below) {
                break;
            }
            self.put(place, below);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_appointment_is_brought_forward_and_never_put_off() {
        let mut appointments = EventSchedule::new(3);
        assert!(appointments.is_free(1));
        appointments.bring_forward(1, Instant::from_nanos(20));
        appointments.bring_forward(2, Instant::from_nanos(30));
        appointments.bring_forward(2, Instant::from_nanos(10));
        appointments.bring_forward(2, Instant::from_nanos(40));
        assert_eq!(appointments.first(), (Instant::from_nanos(10), 2));
        appointments.set(2, Instant::FAR_FUTURE);
        assert_eq!(appointments.first(), (Instant::from_nanos(20), 1));
        assert!(appointments.is_free(2) && !appointments.is_free(1));
    }

    #[test]
    fn of_no_elements_none_has_an_appointment() {
        assert_eq!(EventSchedule::new(0).first().0, Instant::FAR_FUTURE);
    }

    #[test]
    fn the_earliest_comes_first_and_ties_go_to_the_lower_number() {
        let mut appointments = EventSchedule::new(50);
        let mut random = 12345_u64;
        let mut times = alloc::vec![Instant::FAR_FUTURE; 50];
        for _ in 0..5000 {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let element = (random >> 40) as usize % 50;
            let at = Instant::from_nanos((random >> 50) % 20);
            appointments.set(element, at);
            times[element] = at;
            let first = (0..50).min_by_key(|&e| (times[e], e)).unwrap();
            assert_eq!(appointments.first(), (times[first], first));
            assert_eq!(appointments.of(element), at);
        }
    }
}
