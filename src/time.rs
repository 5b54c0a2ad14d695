//! Instants: JavaScript's `Date` range and spelling, Hermes' epoch window, `--since`.
//!
//! No clock is read here; whoever needs "now" is given it.

use ::time::{Date, OffsetDateTime, format_description::well_known::Rfc3339};

/// The last instant a JavaScript `Date` can hold, in milliseconds either side of the epoch.
pub const DATE_LIMIT_MS: f64 = 8.64e15;

/// `Date.prototype.toISOString`: `2026-09-21T14:13:20.000Z`, years beyond four digits signed and six
/// wide. `None` where JavaScript throws. Fractions of a millisecond are cut toward zero.
pub fn iso_millis(ms: f64) -> Option<String> {
    let (date, day_ms) = date_of(ms)?;
    let (h, m, s, milli) = (day_ms / 3_600_000, day_ms / 60_000 % 60, day_ms / 1000 % 60, day_ms % 1000);
    Some(format!("{}T{h:02}:{m:02}:{s:02}.{milli:03}Z", spell(date)))
}

/// The UTC calendar day of an instant as `toISOString` spells it; `None` where JavaScript throws.
pub fn js_date(ms: f64) -> Option<String> {
    date_of(ms).map(|(date, _)| spell(date))
}

fn date_of(ms: f64) -> Option<(Date, i64)> {
    if !(-DATE_LIMIT_MS..=DATE_LIMIT_MS).contains(&ms) {
        return None;
    }
    let ms = ms.trunc() as i64;
    let days = i32::try_from(ms.div_euclid(86_400_000)).ok()?;
    const EPOCH_JULIAN_DAY: i32 = 2_440_588;
    Some((Date::from_julian_day(EPOCH_JULIAN_DAY.checked_add(days)?).ok()?, ms.rem_euclid(86_400_000)))
}

fn spell(date: Date) -> String {
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{}{:06}-{month:02}-{day:02}", if year < 0 { '-' } else { '+' }, year.abs()),
    }
}

/// Seconds since the epoch as Hermes trusts them: a number in 0 … 4,200,000,000; all else is missing
/// (rulings, "updatedAt").
pub fn in_window(seconds: f64) -> Option<f64> {
    (0.0..=4_200_000_000.0).contains(&seconds).then_some(seconds)
}

/// Epoch seconds to whole epoch milliseconds, rounded to the nearest.
pub fn to_millis(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

/// The moment `--since WHEN` names, in epoch seconds: `90d`, `12h`, `30m`, `45s` before `now`,
/// `YYYY-MM-DD` (midnight UTC) or an RFC 3339 time with its offset. The error says what would do.
pub fn parse_since(text: &str, now: f64) -> Result<f64, String> {
    let wrong = || format!("'{text}' is no time: give 90d, 12h, 30m, 45s, YYYY-MM-DD or an RFC 3339 time");
    let word = text.trim();
    if let Some((count, unit)) =
        word.char_indices().last().and_then(|(at, unit)| Some((word.get(..at)?, unit)))
        && !count.is_empty()
        && count.bytes().all(|b| b.is_ascii_digit())
    {
        let seconds = match unit {
            'd' => 86_400.0,
            'h' => 3_600.0,
            'm' => 60.0,
            's' => 1.0,
            _ => return Err(wrong()),
        };
        // Before the epoch is before everything a store holds.
        return count.parse::<i64>().map(|n| now - n as f64 * seconds).map_err(|_| wrong());
    }
    let moment = match word.len() {
        10 => {
            // A day is midnight of that day.
            OffsetDateTime::parse(&format!("{word}T00:00:00Z"), &Rfc3339)
        }
        _ => OffsetDateTime::parse(word, &Rfc3339),
    }
    .map_err(|_| wrong())?;
    Ok(moment.unix_timestamp() as f64 + f64::from(moment.nanosecond()) / 1e9)
}

/// The instant an RFC 3339 time names, in epoch milliseconds; a time without a zone is none.
pub fn parse_rfc3339(text: &str) -> Option<f64> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    // Nanoseconds since the epoch are more than a float can tell apart.
    Some(moment.unix_timestamp() as f64 * 1e3 + f64::from(moment.nanosecond()) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_is_not_lost_among_nanoseconds() {
        for ms in [2_167_931_875_250_i64, 1_774_855_108_586, 1, 0, -1, 253_402_300_799_999] {
            let text = iso_millis(ms as f64).unwrap();
            assert_eq!(parse_rfc3339(&text), Some(ms as f64), "{text}");
            if ms >= 0 {
                assert_eq!(parse_since(&text, 0.0), Ok(ms as f64 / 1e3), "{text}");
            }
        }
        assert_eq!(parse_rfc3339("2025-07-03T15:50:07.875917Z"), Some(1_751_557_807_875.917));
    }

    #[test]
    fn iso_is_javascripts() {
        // node 20: new Date(ms).toISOString()
        for (ms, text) in [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-0.5, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (1_759_968_000_000.0, "2025-10-09T00:00:00.000Z"),
            (1_709_208_000_999.9, "2024-02-29T12:00:00.999Z"),
            (8.64e15, "+275760-09-13T00:00:00.000Z"),
            (-8.64e15, "-271821-04-20T00:00:00.000Z"),
            (-62_198_755_200_000.0, "-000001-01-01T00:00:00.000Z"),
            (253_402_300_800_000.0, "+010000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_millis(ms).as_deref(), Some(text));
            assert_eq!(js_date(ms).as_deref(), text.split('T').next());
        }
        for ms in [8.64e15 + 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(iso_millis(ms), None);
        }
    }

    #[test]
    fn since_takes_what_the_ruling_lists() {
        let now = 1_790_000_000.0;
        for (word, expected) in [
            ("90d", now - 7_776_000.0),
            ("36h", now - 129_600.0),
            ("45m", now - 2_700.0),
            (" 30s ", now - 30.0),
            ("2024-02-29", 1_709_164_800.0),
            ("2024-02-29T12:00:00Z", 1_709_208_000.0),
            ("2024-02-29T13:00:00.5+01:00", 1_709_208_000.5),
        ] {
            assert_eq!(parse_since(word, now), Ok(expected), "{word}");
        }
        for word in [
            "",
            "words",
            "90",
            "90x",
            "d",
            "-1d",
            "1.5d",
            "2w",
            "90日",
            "2026-13-45",
            "2024-02-29T12:00:00",
            "99999999999999999999d",
        ] {
            assert!(parse_since(word, now).is_err(), "{word}");
        }
        assert!(parse_since("99999999999999d", now).is_ok_and(|t| t < 0.0), "a huge window is everything");
    }
}
