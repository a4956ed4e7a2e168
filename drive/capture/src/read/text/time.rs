//! Parses times printed by tcpdump: of the day (no option, `-tttt` with a date in front), seconds
//! since 1970 (`-tt`), since the previous packet (`-ttt`), since the first packet (`-ttttt`), or
//! none (`-t`).
//!
//! A time of day that goes back by more than twelve hours is on the next day. Times since the
//! previous packet have the form of times of day. They are recognized by a first time of zero and
//! by later times smaller than those before them. Local time is read as UTC, since the text has no
//! time zone.

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
/// Plain seconds above this are since 1970; it is three years.
const SINCE_1970: u64 = 100_000_000;

/// A printed time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Printed {
    /// Hours, minutes, seconds, as nanoseconds of the day or since another time.
    OfDay(u64),
    /// With a date, as nanoseconds since 1970.
    Dated(u64),
    /// Seconds, as nanoseconds since some time.
    Seconds(u64),
}

/// Parses the word at the end of `words`, and a date before it. Also returns the number of words
/// used.
pub fn read(words: &[&[u8]]) -> Option<(Printed, usize)> {
    let (last, before) = words.split_last()?;
    let word = str::from_utf8(last).ok()?;
    let (whole, fraction) = word.split_once('.')?;
    let fraction = read_fraction(fraction)?;
    let parts: Vec<&str> = whole.split(':').collect();
    match parts[..] {
        [hours, minutes, seconds] => {
            let (hours, minutes, seconds) = (
                two_digits(hours, 24)?,
                two_digits(minutes, 60)?,
                two_digits(seconds, 61)?,
            );
            let of_day = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
            Some(match before.last().and_then(|date| read_date(date)) {
                Some(days) => (Printed::Dated(days * DAY + of_day), 2),
                None => (Printed::OfDay(of_day), 1),
            })
        }
        // Shorter words are version numbers and prices.
        [seconds] if word.len() >= 8 => {
            let is_number = !seconds.is_empty() && seconds.bytes().all(|c| c.is_ascii_digit());
            let seconds: u64 = is_number.then(|| seconds.parse().ok())??;
            let nanos = seconds.checked_mul(SECOND)?.checked_add(fraction)?;
            Some((Printed::Seconds(nanos), 1))
        }
        _ => None,
    }
}

fn two_digits(word: &str, end: u64) -> Option<u64> {
    let is_short = (1..=2).contains(&word.len()) && word.bytes().all(|c| c.is_ascii_digit());
    let number = is_short.then(|| word.parse().ok())??;
    (number < end).then_some(number)
}

/// Converts the digits behind the point to nanoseconds.
fn read_fraction(digits: &str) -> Option<u64> {
    let is_fraction = (1..=9).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
    let number: u64 = is_fraction.then(|| digits.parse().ok())??;
    Some(number * 10_u64.pow(9 - digits.len() as u32))
}

/// Converts `2001-08-15` to days since 1970.
fn read_date(word: &[u8]) -> Option<u64> {
    let word = str::from_utf8(word).ok()?;
    let mut parts = word.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_date = parts.next().is_none()
        && (1970..2500).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day);
    // Days of the Gregorian calendar, counted in years that begin in March so
    // that the leap day is the last (H. Hinnant's `days_from_civil`).
    is_date.then(|| {
        let year = year - i64::from(month <= 2);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let era_day = year * 365 + year / 4 - year / 100 + year / 400 + of_year;
        (era_day - 719_468) as u64
    })
}

/// Converts printed times to times since 1970, or since the day began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calendar {
    /// Whether times are since the previous packet.
    pub are_deltas: bool,
    day: u64,
    last: Option<u64>,
    sum: u64,
}

impl Calendar {
    /// Next packet's time in nanoseconds.
    pub fn next(&mut self, printed: Printed) -> u64 {
        let (Printed::OfDay(nanos) | Printed::Seconds(nanos) | Printed::Dated(nanos)) = printed;
        if self.are_deltas {
            self.sum = self.sum.saturating_add(nanos);
            return self.sum;
        }
        if !matches!(printed, Printed::OfDay(_)) {
            return nanos;
        }
        if let Some(last) = self.last.replace(nanos)
            && last > nanos
            && last - nanos > DAY / 2
        {
            self.day += 1;
        }
        self.day * DAY + nanos
    }

    /// Whether the times from a text's first are each since the previous one.
    pub fn look_like_deltas(times: &[Printed]) -> bool {
        let nanos = times.iter().map(|time| match time {
            Printed::OfDay(nanos) => Some(*nanos),
            Printed::Seconds(nanos) if *nanos < SINCE_1970 * SECOND => Some(*nanos),
            _ => None,
        });
        let Some(nanos) = nanos.collect::<Option<Vec<u64>>>() else {
            return false;
        };
        // Captures on several cores go back a little; times since another packet as much as forward.
        let sum = |from: usize, to: usize| -> u128 {
            let steps = nanos
                .windows(2)
                .map(|pair| pair[to].saturating_sub(pair[from]));
            steps.map(u128::from).sum()
        };
        nanos.first() == Some(&0) && sum(1, 0) * 2 > sum(0, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Option<(Printed, usize)> {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        read(&words)
    }

    #[test]
    fn times_are_read_in_every_form() {
        let of_day = Printed::OfDay(86_063 * SECOND + 817_524_000);
        assert_eq!(one("23:54:23.817524"), Some((of_day, 1)));
        assert_eq!(one("word 23:54:23.817524"), Some((of_day, 1)));
        // 2001-08-15 is day 11549.
        let dated = Printed::Dated(11_549 * DAY + 86_063 * SECOND + 817_524_000);
        assert_eq!(one("2001-08-15 23:54:23.817524"), Some((dated, 2)));
        let leap = Printed::Dated(11_016 * DAY + 1);
        assert_eq!(one("2000-02-29 00:00:00.000000001"), Some((leap, 2)));
        let epoch = Printed::Seconds(997_919_663_817_524_000);
        assert_eq!(one("997919663.817524"), Some((epoch, 1)));
        for text in [
            "3.14",
            "23:54",
            "25:00:00.1",
            "10.0.0.2.1072",
            "1.2345678901",
            "a.000000",
        ] {
            assert_eq!(one(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_ends_at_midnight_and_a_step_back_does_not_end_it() {
        let mut calendar = Calendar::default();
        let hour = 3600 * SECOND;
        let times = [23 * hour, 23 * hour - 5, hour, 2 * hour];
        let read = times.map(|time| calendar.next(Printed::OfDay(time)));
        assert_eq!(read, [23 * hour, 23 * hour - 5, 25 * hour, 26 * hour]);
    }

    #[test]
    fn times_since_the_packet_before_are_known_by_a_zero_and_a_smaller_one() {
        let times = |nanos: &[u64]| -> Vec<Printed> {
            nanos.iter().map(|nanos| Printed::OfDay(*nanos)).collect()
        };
        assert!(Calendar::look_like_deltas(&times(&[0, 500, 20])));
        assert!(!Calendar::look_like_deltas(&times(&[0, 20, 500])));
        assert!(!Calendar::look_like_deltas(&times(&[7, 500, 20])));
        let rising: Vec<u64> = (0..30)
            .map(|step| step * 100 - step % 10 / 9 * 101)
            .collect();
        assert!(!Calendar::look_like_deltas(&times(&rising)));
        assert!(!Calendar::look_like_deltas(&times(&[
            0, 90, 80, 190, 180, 280
        ])));
        assert!(!Calendar::look_like_deltas(&[]));
        let mut calendar = Calendar {
            are_deltas: true,
            ..Calendar::default()
        };
        let read = [0, 500, 20].map(|time| calendar.next(Printed::OfDay(time)));
        assert_eq!(read, [0, 500, 520]);
    }
}
