//! Days of the calendar, in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A calendar day, written `2027-01-31`.
///
/// ```
/// use mcp_bindgen_model::Date;
///
/// assert!(Date::parse("2027-01-31") < Date::parse("2027-02-01"));
/// assert_eq!(Date::parse("2027-02-29"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Parses four digits, two digits and two digits with `-` between them; `None` for a day that does not exist.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part = parts.next()?;
            let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse::<u16>().ok()).flatten()
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 => 28 + u16::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let is_day = parts.next().is_none() && (1..=days).contains(&day);
        is_day.then_some(Self { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })
    }

    /// Returns the current day in UTC.
    #[must_use]
    pub fn today() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self::after_epoch(seconds / 86_400)
    }

    /// Returns the date `days` days after 1970-01-01, computed with years that begin in March.
    fn after_epoch(days: u64) -> Self {
        let days = days.min(2_932_896) + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = era * 400 + year + u64::from(month <= 2);
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let small = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
        Self { year: u16::try_from(year).unwrap_or(u16::MAX), month: small(month), day: small(day) }
    }
}

/// Returns a time in UTC as RFC 3339 has it, with milliseconds.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let time = UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
/// assert_eq!(mcp_bindgen_model::utc_timestamp(time), "2023-11-14T22:13:20.123Z");
/// ```
#[must_use]
pub fn utc_timestamp(time: SystemTime) -> String {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (time.as_secs(), time.subsec_millis());
    let of_day = seconds % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z", Date::after_epoch(seconds / 86_400))
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_computed_through_leap_years() {
        for (days, text) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_819, "2027-01-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(Date::after_epoch(days).to_string(), text);
            assert_eq!(Date::parse(text), Some(Date::after_epoch(days)));
        }
        assert!(Date::today() > Date::after_epoch(20_000));
    }

    #[test]
    fn malformed_dates_are_rejected() {
        for text in
            ["", "2027", "2027-1-01", "2027-01-1", "2027-13-01", "2027-00-01", "2027-04-31", "2027-01-00", "2100-02-29"]
        {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        for text in ["2027-01-01-", "2027-01-01T00:00:00Z", "+027-01-01", " 2027-01-01", "20270101"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }
}
