//! Decimal numbers, parsed and scaled exactly.

use alloc::format;

use super::error::{Failure, ParseErrorKind, Unfit};

/// A decimal number as written, not yet converted.
pub(super) struct Number<'a> {
    /// The whole text.
    pub(super) text: &'a str,
    /// Digits before the point.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    /// The power of ten, held within [`EXPONENT_LIMIT`].
    exponent: i64,
}

/// Limit of the exponent; larger powers of ten are effectively infinite. No memory holds the digits
/// that would bring such a number back into range.
const EXPONENT_LIMIT: i64 = 1 << 60;

impl<'a> Number<'a> {
    /// Parses the number at the front of `text`; returns it and its length in bytes.
    pub(super) fn scan(text: &'a str) -> Result<(Self, usize), Failure> {
        if text.is_empty() {
            return Err(Failure::new(ParseErrorKind::Empty, 0..0));
        }
        if text.starts_with(['-', '\u{2212}']) {
            return Err(Failure::new(ParseErrorKind::Negative, 0..first_token(text)));
        }
        let bad = || Failure::new(ParseErrorKind::NotANumber, 0..first_token(text));
        let whole = leading_digits(text);
        if whole.is_empty() {
            return Err(bad());
        }
        let mut len = whole.len();
        let mut fraction = "";
        if let Some(behind) = text[len..].strip_prefix('.') {
            fraction = leading_digits(behind);
            if fraction.is_empty() {
                return Err(bad());
            }
            len += 1 + fraction.len();
        }
        let (exponent, exponent_len) = scan_exponent(&text[len..]);
        len += exponent_len;
        if text[len..].chars().next().is_some_and(continues_a_number) {
            return Err(bad());
        }
        let number = Self {
            text: &text[..len],
            whole,
            fraction,
            exponent,
        };
        Ok((number, len))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits_from_the_right().all(|digit| digit == 0)
    }

    /// Number times `scale`, exactly.
    ///
    /// One pass of long multiplication from the right: digit times scale plus carry is the digit of
    /// the product at the same power of ten. Digits after the point must be zero, digits before it
    /// are added.
    pub(super) fn scaled(&self, scale: u64) -> Result<u64, Unfit> {
        let mut digits = self.digits_from_the_right();
        let mut power = self.exponent - self.fraction.len() as i64;
        let mut carry = 0u128;
        let mut sum = 0u128;
        let mut fraction = false;
        loop {
            let digit = digits.next();
            if digit.is_none() && carry == 0 {
                break;
            }
            carry += u128::from(digit.unwrap_or(0)) * u128::from(scale);
            let product_digit = carry % 10;
            carry /= 10;
            if product_digit != 0 {
                match u32::try_from(power) {
                    Err(_) if power < 0 => fraction = true,
                    // 10^19 is the last power of ten within 64 bits, and the
                    // sum of all digits up to there is within 128.
                    Ok(power @ 0..=19) => sum += product_digit * 10u128.pow(power),
                    _ => return Err(Unfit::TooLarge),
                }
            }
            power += 1;
        }
        match u64::try_from(sum) {
            Err(_) => Err(Unfit::TooLarge),
            Ok(below) if fraction => Err(Unfit::Fraction(below)),
            Ok(value) => Ok(value),
        }
    }

    /// Double nearest to the number times ten to the power of `power`.
    pub(super) fn as_f64(&self, power: i64) -> f64 {
        let exponent = self.exponent + power;
        let text = format!("{}.{}0e{exponent}", self.whole, self.fraction);
        // The text has the form that `f64` parses: this cannot fail, and the caller would reject
        // NaN.
        text.parse().unwrap_or(f64::NAN)
    }

    fn digits_from_the_right(&self) -> impl Iterator<Item = u8> + '_ {
        let digits = self.fraction.bytes().rev().chain(self.whole.bytes().rev());
        digits.map(|byte| byte - b'0')
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit());
    &text[..end.unwrap_or(text.len())]
}

/// Parses the exponent at the front of `text`; returns it and its length. No exponent is zero. An
/// `e` without digits is not an exponent but a (wrong) unit.
fn scan_exponent(text: &str) -> (i64, usize) {
    let Some(behind) = text.strip_prefix(['e', 'E']) else {
        return (0, 0);
    };
    let unsigned = behind.strip_prefix(['+', '-']).unwrap_or(behind);
    let digits = leading_digits(unsigned);
    if digits.is_empty() {
        return (0, 0);
    }
    // Digits that do not fit are far beyond the limit.
    let size = digits.parse().unwrap_or(EXPONENT_LIMIT).min(EXPONENT_LIMIT);
    let exponent = if behind.starts_with('-') { -size } else { size };
    (exponent, text.len() - unsigned.len() + digits.len())
}

/// Whether `c` directly after a number indicates an intended continuation. Examples: `1,5`,
/// `1_000`, `1.2.3`.
fn continues_a_number(c: char) -> bool {
    matches!(c, '.' | ',' | '_' | '\'' | '+' | '-') || c.is_numeric()
}

/// Length of the text up to the first space.
fn first_token(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn scaled(text: &str, scale: u64) -> Option<u64> {
        let (number, len) = Number::scan(text).ok()?;
        assert_eq!(len, text.len());
        number.scaled(scale).ok()
    }

    #[test]
    fn decimal_digits_are_scaled_without_rounding() {
        assert_eq!(scaled("8.56", 1_000_000_000), Some(8_560_000_000));
        assert_eq!(scaled("0.0009765625", 1024), Some(1));
        assert_eq!(scaled("18446744073709551615", 1), Some(u64::MAX));
        assert_eq!(scaled("1.5e3", 1), Some(1500));
        assert_eq!(scaled("15e-1", 2), Some(3));
        assert_eq!(scaled("000.000", 1), Some(0));
    }

    #[test]
    fn fifty_digits_behind_the_point_are_still_exact() {
        // 2^-50 of a PiB is one byte.
        let byte = "0.00000000000000088817841970012523233890533447265625";
        assert_eq!(scaled(byte, 1 << 50), Some(1));
        let more = String::from(byte) + "1";
        assert_eq!(scaled(&more, 1 << 50), None);
    }

    #[test]
    fn what_does_not_fit_is_told_apart() {
        let unfit = |text: &str| Number::scan(text).ok().and_then(|(n, _)| n.scaled(1).err());
        assert!(matches!(
            unfit("18446744073709551616"),
            Some(Unfit::TooLarge)
        ));
        assert!(matches!(
            unfit("1e999999999999999999999"),
            Some(Unfit::TooLarge)
        ));
        assert!(matches!(unfit("7.5"), Some(Unfit::Fraction(7))));
        assert!(matches!(
            unfit("1e-999999999999999999999"),
            Some(Unfit::Fraction(0))
        ));
        assert!(matches!(unfit("1e30"), Some(Unfit::TooLarge)));
        assert!(unfit("0e999999999999999999999").is_none());
    }

    #[test]
    fn a_million_digits_are_read_in_one_pass() {
        let zeros = "0".repeat(1_000_000);
        let one = zeros.clone() + "1." + &zeros;
        assert_eq!(scaled(&one, 7), Some(7));
        let long = "9".repeat(1_000_000);
        assert_eq!(scaled(&long, 7), None);
    }
}
