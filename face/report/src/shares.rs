//! Percentages with one decimal that add up to exactly 100.0.
//!
//! Uses the largest remainder (Hamilton's method). Every share is rounded down to a tenth of a
//! percent, and the tenths missing to 100.0 go to the shares that lost most, the earlier one first.
//! No share is off by a tenth or more. Rounding each share separately often adds up to 99.9 or
//! 100.1.

/// Tenths of a percent in the whole.
const WHOLE: u128 = 1000;

/// Tenths of a percent of each of `parts`, adding up to 1000. All zero if the parts are.
pub fn permille(parts: &[u64]) -> Vec<u32> {
    let total: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    if total == 0 {
        return vec![0; parts.len()];
    }
    let scaled = |part: u64| u128::from(part) * WHOLE;
    let mut shares: Vec<u32> = parts
        .iter()
        .map(|&part| (scaled(part) / total) as u32)
        .collect();
    let given: u32 = shares.iter().sum();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(scaled(parts[index]) % total));
    for &index in order.iter().take(WHOLE as usize - given as usize) {
        shares[index] += 1;
    }
    shares
}

/// Formats tenths of a percent: `12.3`.
pub fn text(permille: u32) -> String {
    format!("{}.{}", permille / 10, permille % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_add_up_to_the_whole() {
        assert_eq!(permille(&[1, 1, 1]), [334, 333, 333]);
    }

    #[test]
    fn the_largest_remainder_gets_the_missing_tenth() {
        // 0.04, 0.05 and 99.91 %: rounded down to 0, 0 and 999 tenths, one tenth is missing; 0.1 of
        // a tenth is less than 0.5 of one.
        assert_eq!(permille(&[4, 5, 9991]), [0, 1, 999]);
    }

    #[test]
    fn nothing_at_all_is_all_zero() {
        assert_eq!(permille(&[0, 0]), [0, 0]);
        assert!(permille(&[]).is_empty());
    }

    #[test]
    fn any_parts_add_up_to_exactly_one_hundred_and_are_off_by_less_than_a_tenth() {
        let mut state: u64 = 2007;
        for count in 1..60 {
            let parts: Vec<u64> = (0..count)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    state >> (state % 60)
                })
                .collect();
            let total: f64 = parts.iter().map(|&part| part as f64).sum();
            let shares = permille(&parts);
            assert_eq!(shares.iter().sum::<u32>(), 1000);
            for (&part, &share) in parts.iter().zip(&shares) {
                let exact = part as f64 * 1000.0 / total;
                assert!((exact - f64::from(share)).abs() < 1.0 + 1e-6);
            }
        }
    }

    #[test]
    fn huge_parts_do_not_overflow() {
        assert_eq!(permille(&[u64::MAX, u64::MAX]), [500, 500]);
    }

    #[test]
    fn tenths_print_with_their_point() {
        assert_eq!(text(1000), "100.0");
        assert_eq!(text(7), "0.7");
    }
}
