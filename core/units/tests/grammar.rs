//! Grammar of quantities through its public interface.

use std::fmt::Display;
use std::str::FromStr;

use gigatcp_units::grammar::{
    ParseError, ParseErrorKind, human_bytes, human_duration, human_rate, parse_bytes,
    parse_duration, parse_octets, parse_probability, parse_rate, typed_bytes, typed_duration,
    typed_rate,
};
use gigatcp_units::{Bytes, Duration, Probability, Rate};
use proptest::prelude::*;

fn nanos(text: &str) -> u64 {
    text.parse::<Duration>().expect(text).as_nanos()
}

fn bytes(text: &str) -> u64 {
    text.parse::<Bytes>().expect(text).as_u64()
}

fn bps(text: &str) -> u64 {
    text.parse::<Rate>().expect(text).as_bps()
}

fn chance(text: &str) -> f64 {
    text.parse::<Probability>().expect(text).as_f64()
}

#[test]
fn durations_are_read_in_every_unit() {
    assert_eq!(nanos("10 ns"), 10);
    assert_eq!(nanos("250 us"), 250_000);
    assert_eq!(nanos("250 \u{b5}s"), 250_000);
    assert_eq!(nanos("250 \u{3bc}s"), 250_000);
    assert_eq!(nanos("80 ms"), 80_000_000);
    assert_eq!(nanos("1.5 s"), 1_500_000_000);
    assert_eq!(nanos("2 min"), 120_000_000_000);
    assert_eq!(nanos("1 h"), 3_600_000_000_000);
}

#[test]
fn amounts_are_read_in_decimal_and_binary_units() {
    assert_eq!(bytes("9000 B"), 9_000);
    assert_eq!(bytes("60 MB"), 60_000_000);
    assert_eq!(bytes("60 MiB"), 62_914_560);
    assert_eq!(bytes("64 KiB"), 65_536);
    assert_eq!(bytes("16 PiB"), 1 << 54);
    assert_eq!(bytes("1 PB"), 1_000_000_000_000_000);
}

#[test]
fn rates_are_read_in_every_unit() {
    assert_eq!(bps("10 Gbit/s"), 10_000_000_000);
    assert_eq!(bps("8.56 Gbit/s"), 8_560_000_000);
    assert_eq!(bps("100 kbit/s"), 100_000);
    assert_eq!(bps("89.2 Mbit/s"), 89_200_000);
    assert_eq!(bps("1.6 Tbit/s"), 1_600_000_000_000);
    assert_eq!(bps("1 bit/s"), 1);
}

#[test]
fn probabilities_are_read_as_number_percentage_and_share() {
    assert_eq!(chance("1e-5"), 1e-5);
    assert_eq!(chance("0"), 0.0);
    assert_eq!(chance("1"), 1.0);
    assert_eq!(chance("0.1 %"), 0.001);
    assert_eq!(chance("100%"), 1.0);
    assert_eq!(chance("1 in 10000"), 1e-4);
    assert_eq!(chance("2 in 3"), 2.0 / 3.0);
    assert_eq!(chance("0 in 7"), 0.0);
}

#[test]
fn the_space_before_the_unit_may_be_left_out_or_be_more() {
    assert_eq!(nanos("80ms"), 80_000_000);
    assert_eq!(nanos("  80 \t ms  "), 80_000_000);
    assert_eq!(bps("10Gbit/s"), 10_000_000_000);
    assert_eq!(bytes("1e3 kB"), 1_000_000);
}

#[test]
fn octets_alone_may_go_without_a_unit() {
    assert_eq!(parse_octets("1500"), Ok(Bytes::new(1_500)));
    assert_eq!(parse_octets("9000 B"), Ok(Bytes::new(9_000)));
    assert_eq!(parse_octets("9 kB"), Ok(Bytes::new(9_000)));
    let error = parse_octets("1500.5").expect_err("half an octet");
    assert_eq!(error.kind(), &ParseErrorKind::Fraction);
    let error = parse_bytes("1500").expect_err("a bare number");
    assert_eq!(error.kind(), &ParseErrorKind::MissingUnit);
}

#[test]
fn values_are_printed_exactly_with_the_fewest_digits() {
    let ns = |value| Duration::from_nanos(value).to_string();
    assert_eq!(ns(0), "0 s");
    assert_eq!(ns(100_000_000), "100 ms");
    assert_eq!(ns(1_500_000_000), "1.5 s");
    assert_eq!(ns(120_000_000_000), "2 min");
    assert_eq!(ns(60_000_000_000), "1 min");
    assert_eq!(ns(90_000_000_000), "90 s");
    assert_eq!(ns(1_500), "1.5 us");
    assert_eq!(ns(83_123_456), "83.123456 ms");
    assert_eq!(ns(u64::MAX), "18446744073.709551615 s");
    let b = |value| Bytes::new(value).to_string();
    assert_eq!(b(0), "0 B");
    assert_eq!(b(1_500), "1500 B");
    assert_eq!(b(1_448), "1448 B");
    assert_eq!(b(62_914_560), "60 MiB");
    assert_eq!(b(60_000_000), "60 MB");
    assert_eq!(b(9_000), "9000 B");
    assert_eq!(b(14_600), "14.6 kB");
    assert_eq!(b(1_572_864), "1.5 MiB");
    let r = |value| Rate::from_bps(value).to_string();
    assert_eq!(r(0), "0 bit/s");
    assert_eq!(r(8_560_000_000), "8.56 Gbit/s");
    assert_eq!(r(u64::MAX), "18446744.073709551615 Tbit/s");
    let p = |value| Probability::try_new(value).expect("0 to 1").to_string();
    assert_eq!(p(0.0), "0");
    assert_eq!(p(1e-5), "1e-5");
    assert_eq!(p(0.5), "0.5");
    assert_eq!(p(0.0477), "0.0477");
}

#[test]
fn printing_obeys_the_width_of_a_table() {
    assert_eq!(format!("{:>10}|", Duration::from_millis(80)), "     80 ms|");
    assert_eq!(format!("{:<10}|", Bytes::new(9_000)), "9000 B    |");
}

/// Fault in `text`: its kind and the marked slice.
fn wrong<T: FromStr<Err = ParseError> + std::fmt::Debug>(text: &str) -> (ParseErrorKind, &str) {
    let error = text.parse::<T>().expect_err(text);
    (error.kind().clone(), &text[error.span()])
}

#[test]
fn every_kind_of_mistake_is_told_apart_and_located() {
    use ParseErrorKind as Kind;
    assert_eq!(wrong::<Duration>("  "), (Kind::Empty, ""));
    assert_eq!(
        wrong::<Duration>(" banana ms"),
        (Kind::NotANumber, "banana")
    );
    assert_eq!(wrong::<Duration>("1,5 s"), (Kind::NotANumber, "1,5"));
    assert_eq!(wrong::<Duration>("1.5.2 s"), (Kind::NotANumber, "1.5.2"));
    assert_eq!(wrong::<Duration>("5. s"), (Kind::NotANumber, "5."));
    assert_eq!(wrong::<Duration>(".5 s"), (Kind::NotANumber, ".5"));
    assert_eq!(wrong::<Bytes>("1_000 B"), (Kind::NotANumber, "1_000"));
    assert_eq!(wrong::<Bytes>("１０ B"), (Kind::NotANumber, "１０"));
    assert_eq!(wrong::<Duration>("80"), (Kind::MissingUnit, ""));
    assert_eq!(wrong::<Duration>("0"), (Kind::MissingUnit, ""));
    assert_eq!(wrong::<Duration>("-80 ms"), (Kind::Negative, "-80"));
    assert_eq!(
        wrong::<Rate>("\u{2212}1 bit/s"),
        (Kind::Negative, "\u{2212}1")
    );
    assert_eq!(
        wrong::<Rate>("99999999 Tbit/s"),
        (Kind::TooLarge, "99999999")
    );
    assert_eq!(wrong::<Duration>(" 0.5 ns"), (Kind::Fraction, "0.5"));
    assert_eq!(wrong::<Probability>("1.5"), (Kind::OutOfRange, "1.5"));
    assert_eq!(wrong::<Probability>("101 %"), (Kind::OutOfRange, "101 %"));
    assert_eq!(wrong::<Probability>("3 in 2"), (Kind::OutOfRange, "3 in 2"));
    assert_eq!(wrong::<Probability>("0 in 0"), (Kind::OutOfRange, "0 in 0"));
    assert_eq!(wrong::<Probability>("1 in x"), (Kind::NotANumber, "x"));
    assert_eq!(wrong::<Probability>("1 in 2 s"), (Kind::NotANumber, "2 s"));
    assert_eq!(
        wrong::<Probability>("1 in "),
        (
            Kind::UnknownUnit {
                found: "in".into(),
                nearest: None
            },
            "in"
        )
    );
    assert_eq!(wrong::<Probability>("1.5 in 2"), (Kind::Fraction, "1.5"));
    assert_eq!(
        wrong::<Probability>("1 in 9007199254740993"),
        (Kind::TooLarge, "9007199254740993")
    );
    assert_eq!(wrong::<Probability>("1e-400"), (Kind::TooSmall, "1e-400"));
}

#[test]
fn a_wrong_unit_is_answered_with_the_value_as_it_should_be_written() {
    let hint = |error: ParseError| error.hint();
    let rate = |text| parse_rate(text).map_err(hint).expect_err("a wrong unit");
    assert_eq!(rate("10G"), "did you mean `10 Gbit/s`?");
    assert_eq!(rate("100 Mbps"), "did you mean `100 Mbit/s`?");
    assert_eq!(rate("8.56 Gb/s"), "did you mean `8.56 Gbit/s`?");
    assert_eq!(rate("100 MB/s"), "did you mean `800 Mbit/s`?");
    assert_eq!(rate("1 MiB/s"), "did you mean `8.388608 Mbit/s`?");
    assert_eq!(rate("10 Gbti/s"), "did you mean `10 Gbit/s`?");
    assert_eq!(rate("10 bananas"), "write for example `10 Gbit/s`");
    let amount = |text| parse_bytes(text).map_err(hint).expect_err("a wrong unit");
    assert_eq!(amount("64K"), "did you mean `64 kB` or `64 KiB`?");
    assert_eq!(amount("60 mb"), "did you mean `60 MB` or `60 MiB`?");
    assert_eq!(amount("64 kib"), "did you mean `64 KiB`?");
    assert_eq!(amount("9000 bytes"), "did you mean `9000 B`?");
    let span = |text| {
        parse_duration(text)
            .map_err(hint)
            .expect_err("a wrong unit")
    };
    assert_eq!(span("20 sec"), "did you mean `20 s`?");
    assert_eq!(span("5 m"), "did you mean `5 min` or `5 ms`?");
    assert_eq!(span("1 day"), "did you mean `24 h`?");
    assert_eq!(span("80 MS"), "did you mean `80 ms`?");
    assert_eq!(
        span("80"),
        "write the unit behind the number, as in `80 ms`"
    );
    assert_eq!(
        span("0.3 ns"),
        "write `1 ns`, a whole number of nanoseconds"
    );
    assert_eq!(span("1e30 s"), "the most is `18446744073.709551615 s`");
    let p = |text| {
        parse_probability(text)
            .map_err(hint)
            .expect_err("a wrong unit")
    };
    assert_eq!(p("1 percent"), "did you mean `1 %`?");
}

#[test]
fn options_accept_units_of_other_tools_that_have_one_meaning() {
    let rate = |text| typed_rate(text).expect(text).as_bps();
    for ten_gigabits in ["10G", "10g", "10 Gbit", "10Gbps", "10 Gb/s", "10 Gbit/s"] {
        assert_eq!(rate(ten_gigabits), 10_000_000_000, "{ten_gigabits}");
    }
    assert_eq!(rate("100mbit"), 100_000_000);
    assert_eq!(rate("1.5M"), 1_500_000);
    assert_eq!(rate("100 MB/s"), 800_000_000);
    assert_eq!(rate("100MBps"), 800_000_000);
    assert_eq!(rate("1 MiB/s"), 8_388_608);
    let amount = |text| typed_bytes(text).expect(text).as_u64();
    for sixty_four_kibibytes in ["64K", "64k", "64 KiB", "64kib", "64Ki"] {
        assert_eq!(
            amount(sixty_four_kibibytes),
            65_536,
            "{sixty_four_kibibytes}"
        );
    }
    assert_eq!(amount("1.5M"), 1_572_864);
    assert_eq!(amount("1G"), 1 << 30);
    assert_eq!(amount("60 MB"), 60_000_000);
    assert_eq!(amount("9000 bytes"), 9_000);
    let nanos = |text| typed_duration(text).expect(text).as_nanos();
    assert_eq!(nanos("20sec"), 20_000_000_000);
    assert_eq!(nanos("80msec"), 80_000_000);
}

#[test]
fn options_refuse_units_with_two_meanings_and_numbers_without_a_unit() {
    for text in ["100MB", "10Gi", "10Gibit", "1000", "10 bananas", "10m/s"] {
        let error = typed_rate(text).expect_err(text);
        assert_eq!(Some(error), parse_rate(text).err(), "{text}");
    }
    for text in ["64KB", "64 kb", "60 mb", "65536", "64 bananas"] {
        let error = typed_bytes(text).expect_err(text);
        assert_eq!(Some(error), parse_bytes(text).err(), "{text}");
    }
    for text in ["5m", "80", "1 fortnight"] {
        let error = typed_duration(text).expect_err(text);
        assert_eq!(Some(error), parse_duration(text).err(), "{text}");
    }
}

#[test]
fn the_nearest_unit_is_part_of_the_kind() {
    let error = parse_rate("10G").expect_err("no unit of rate");
    let ParseErrorKind::UnknownUnit { found, nearest } = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!((found.as_str(), *nearest), ("G", Some("Gbit/s")));
}

#[test]
fn an_error_is_a_plain_sentence() {
    let said = |error: ParseError| error.to_string();
    assert_eq!(
        parse_rate("10G")
            .map_err(said)
            .expect_err("no unit of rate"),
        "`10G` is not a rate: `G` is not one of its units; valid is a number with bit/s, \
         kbit/s, Mbit/s, Gbit/s or Tbit/s, as in `10 Gbit/s`"
    );
    assert_eq!(
        parse_duration("").map_err(said).expect_err("empty"),
        "nothing is given where a duration should be; valid is a number with ns, us, ms, s, \
         min or h, as in `80 ms`"
    );
    assert_eq!(
        parse_octets("x").map_err(said).expect_err("not a number"),
        "`x` is not a number of bytes: it is not written as a plain number; valid is a whole \
         number, alone or with B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB or PiB, as in `1500`"
    );
}

#[test]
fn hostile_text_is_shortened_and_escaped_in_messages() {
    let error = parse_rate(&("1 ".to_owned() + &"z\n".repeat(100_000))).expect_err("hostile");
    assert!(error.to_string().len() < 400, "{error}");
    assert!(!error.to_string().contains('\n'));
    let digits = "9".repeat(100_000);
    let error = parse_rate(&(digits + "G")).expect_err("hostile");
    assert!(error.to_string().len() < 400, "{error}");
    assert!(error.hint().len() < 200);
}

/// Checks that a printed value reads back as the same value.
fn round_trip<T>(value: T) -> Result<(), TestCaseError>
where
    T: FromStr<Err = ParseError> + Display + PartialEq + std::fmt::Debug,
{
    let text = value.to_string();
    let read = text
        .parse::<T>()
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(read, value, "printed as {}", text);
    Ok(())
}

/// Generates numbers of every size, most of them round.
fn any_size() -> impl Strategy<Value = u64> {
    let round = (0u64..10_000, 0u32..16).prop_map(|(n, e)| n.saturating_mul(10u64.pow(e)));
    let binary = (0u64..10_000, 0u32..54).prop_map(|(n, e)| n.saturating_mul(1 << e));
    let minutes = (0u64..10_000).prop_map(|n| n * 30_000_000_000);
    let any = (any::<u64>(), 0u32..64).prop_map(|(n, shift)| n >> shift);
    prop_oneof![round, binary, minutes, any, Just(u64::MAX)]
}

/// Whether `rounded` is within half a percent of `value`.
fn close(rounded: u64, value: u64) -> bool {
    rounded.abs_diff(value) as f64 <= value as f64 * 0.005
}

proptest! {
    // A failing case deserves a separate test, not a regression file.
    #![proptest_config(ProptestConfig {
        cases: 4096,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_duration_is_read_as_it_was_printed(value in any_size()) {
        round_trip(Duration::from_nanos(value))?;
    }

    #[test]
    fn every_amount_is_read_as_it_was_printed(value in any_size()) {
        round_trip(Bytes::new(value))?;
        let text = Bytes::new(value).to_string();
        prop_assert_eq!(parse_octets(&text), Ok(Bytes::new(value)));
        prop_assert_eq!(parse_octets(&value.to_string()), Ok(Bytes::new(value)));
    }

    #[test]
    fn every_rate_is_read_as_it_was_printed(value in any_size()) {
        round_trip(Rate::from_bps(value))?;
    }

    #[test]
    fn every_probability_is_read_as_it_was_printed(p in prop_oneof![
        0.0f64..=1.0,
        // Every bit pattern up to that of one, including denormals.
        (0u64..=1.0f64.to_bits()).prop_map(f64::from_bits),
    ]) {
        round_trip(Probability::try_new(p).expect("0 to 1"))?;
    }

    #[test]
    fn a_printed_value_never_has_more_digits_than_its_plain_form(value in any_size()) {
        prop_assume!(value > 0);
        let digits = |text: String| text.chars().filter(char::is_ascii_digit).count();
        let plain = digits(value.to_string());
        prop_assert!(digits(Bytes::new(value).to_string()) <= plain);
        prop_assert!(digits(Rate::from_bps(value).to_string()) <= plain);
        prop_assert!(digits(Duration::from_nanos(value).to_string()) <= plain);
    }

    #[test]
    fn rounded_values_read_back_within_half_a_percent(value in any_size()) {
        // The largest values may be rounded up beyond the range of the type.
        let value = value / 2;
        let span: Duration = human_duration(Duration::from_nanos(value)).parse().expect("valid");
        prop_assert!(close(span.as_nanos(), value));
        let rate: Rate = human_rate(Rate::from_bps(value)).parse().expect("valid");
        prop_assert!(close(rate.as_bps(), value));
        let amount: Bytes = human_bytes(Bytes::new(value)).parse().expect("valid");
        prop_assert!(close(amount.as_u64(), value));
    }

    #[test]
    fn no_text_makes_reading_panic_and_every_error_points_into_it(text in prop_oneof![
        any::<String>(),
        "[ 0-9.eE+-]{0,40}[ %a-zA-Zµ/]{0,12}",
        "[0-9]{1,400}\\.[0-9]{1,400} (PiB|h|ms|Gbit/s|B)",
        "[0-9]{1,3}(e|E)-?[0-9]{1,40} ?(B|s|%|bit/s)?",
    ]) {
        let errors = [
            parse_duration(&text).err(),
            parse_bytes(&text).err(),
            parse_octets(&text).err(),
            parse_rate(&text).err(),
            parse_probability(&text).err(),
            typed_duration(&text).err(),
            typed_bytes(&text).err(),
            typed_rate(&text).err(),
        ];
        for error in errors.into_iter().flatten() {
            prop_assert!(text.get(error.span()).is_some(), "{error:?}");
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(!error.hint().is_empty());
        }
    }
}
