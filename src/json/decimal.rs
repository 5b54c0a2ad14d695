//! The value of a number whose text is of any length, in bounded memory.

/// A double is decided by its first 767 significant digits and by whether anything but zeros follows;
/// <https://www.exploringbinary.com/maximum-number-of-decimal-digits-in-binary-floating-point-numbers/>.
const DIGITS: usize = 800;

/// A JSON number read in pieces. Its [`value`](Decimal::value) is JavaScript's: the nearest double,
/// ties to even, `1e400` being infinite.
#[derive(Clone, Debug, Default)]
pub struct Decimal {
    negative: bool,
    /// Significant digits, as many as can matter.
    digits: String,
    /// Whether a digit other than zero was left off behind them.
    more: bool,
    /// The power of ten that `digits` counts.
    scale: i64,
    part: Part,
    exponent: i64,
    exponent_negative: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum Part {
    #[default]
    Whole,
    Fraction,
    Exponent,
}

impl Decimal {
    /// Take the next piece of a number that the scanner found to be one.
    pub fn push(&mut self, text: &[u8]) {
        for &byte in text {
            match (self.part, byte) {
                (Part::Whole, b'-') => self.negative = true,
                (_, b'.') => self.part = Part::Fraction,
                (_, b'e' | b'E') => self.part = Part::Exponent,
                (Part::Exponent, b'-') => self.exponent_negative = true,
                (Part::Exponent, b'0'..=b'9') => {
                    self.exponent = self.exponent.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
                }
                (part, b'0'..=b'9') => self.digit(byte, matches!(part, Part::Fraction)),
                _ => {}
            }
        }
    }

    fn digit(&mut self, byte: u8, fraction: bool) {
        if self.digits.len() == DIGITS {
            self.more |= byte != b'0';
            self.scale += i64::from(!fraction);
        } else {
            if byte != b'0' || !self.digits.is_empty() {
                self.digits.push(char::from(byte));
            }
            self.scale -= i64::from(fraction);
        }
    }

    /// The nearest double.
    pub fn value(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let exponent = if self.exponent_negative { -self.exponent } else { self.exponent };
        // Beyond this a number of 801 digits is infinite or zero, and stays so.
        let scale = self.scale.saturating_add(exponent).clamp(-5000, 5000) - i64::from(self.more);
        let digits = if self.digits.is_empty() { "0" } else { &self.digits };
        let more = if self.more { "1" } else { "" };
        format!("{sign}{digits}{more}e{scale}").parse().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> f64 {
        let mut decimal = Decimal::default();
        text.bytes().for_each(|b| decimal.push(&[b]));
        decimal.value()
    }

    #[test]
    fn values_are_the_ones_javascript_gives() {
        // Computed with node.
        assert_eq!(value("9007199254740993.0"), 9007199254740992.0);
        assert_eq!(value("2.2250738585072011e-308"), 2.225073858507201e-308);
        assert_eq!(value("1e400"), f64::INFINITY);
        assert_eq!(value("-1e99999999999999999999999"), f64::NEG_INFINITY);
        assert_eq!(value("0e99999999999"), 0.0);
        assert_eq!(value("5e-324"), 5e-324);
        assert_eq!(value("1.7976931348623159e308"), f64::INFINITY);
        assert!(value("-0").is_sign_negative());
        for one in ["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.0000000000000001", "0.99999999999999999"] {
            assert_eq!(value(one), 1.0, "{one}");
        }
        for other in ["1.1", "-1", "0.9999999999999999", "1.0000000000000002"] {
            assert_ne!(value(other), 1.0, "{other}");
        }
    }

    #[test]
    fn a_digit_far_behind_the_point_still_breaks_a_tie() {
        // 1 + 2^-53 is half way between two doubles and goes to the even one, 1; a hair more does not.
        let tie = "1.00000000000000011102230246251565404236316680908203125";
        assert_eq!(value(tie), 1.0);
        assert_eq!(value(&format!("{tie}{}", "0".repeat(2000))), 1.0);
        assert_eq!(value(&format!("{tie}{}1", "0".repeat(2000))), 1.0000000000000002);
    }

    #[test]
    fn zeros_before_and_behind_count_in_the_scale() {
        let zeros = "0".repeat(3000);
        assert_eq!(value(&format!("0.{zeros}1e3001")), 1.0);
        assert_eq!(value(&format!("1{zeros}e-3000")), 1.0);
        assert_eq!(value(&format!("1{zeros}.{zeros}e-3000")), 1.0);
        assert_eq!(value(&format!("1{zeros}")), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,4})?") {
            prop_assert_eq!(value(&text).to_bits(), text.parse::<f64>().unwrap().to_bits());
        }

        #[test]
        fn agrees_with_the_standard_library_on_long_texts(text in r"-?[1-9][0-9]{600,1200}(\.[0-9]{600,1200})?e-?[0-9]{3,4}") {
            prop_assert_eq!(value(&text).to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}
