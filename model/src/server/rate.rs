//! Limits of calls in a time.

use std::fmt;
use std::time::Duration;

/// A number of calls in a time: `limit` of a server.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_bindgen_model::Rate;
///
/// let rate = Rate::parse("10/s").expect("it is a rate");
/// assert_eq!((rate.calls(), rate.period()), (10, Duration::from_secs(1)));
/// assert_eq!(Rate::parse("0/s"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    calls: u32,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
}

const UNITS: [(&str, Unit, u64); 3] = [("s", Unit::Second, 1), ("m", Unit::Minute, 60), ("h", Unit::Hour, 3600)];

impl Rate {
    /// Parses a rate: `10/s`, `100/m`, `1000/h`. Returns `None` unless the text is a positive whole number with a unit.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let (_, unit, _) = UNITS.into_iter().find(|(name, ..)| *name == unit)?;
        let is_number = calls.bytes().all(|byte| byte.is_ascii_digit());
        let calls = calls.parse().ok().filter(|calls| is_number && *calls > 0)?;
        Some(Self { calls, unit })
    }

    /// Returns the number of calls.
    #[must_use]
    pub const fn calls(self) -> u32 {
        self.calls
    }

    /// Returns the period in which that many calls are allowed.
    #[must_use]
    pub fn period(self) -> Duration {
        Duration::from_secs(self.parts().1)
    }

    fn parts(self) -> (&'static str, u64) {
        UNITS.into_iter().find(|(_, unit, _)| *unit == self.unit).map_or(("", 0), |(name, _, seconds)| (name, seconds))
    }
}

/// Prints the rate as written in a configuration.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.calls, self.parts().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_a_positive_number_with_a_unit() {
        for text in ["1/s", "60/m", "1000/h"] {
            assert_eq!(Rate::parse(text).map(|rate| rate.to_string()).as_deref(), Some(text));
        }
        for text in ["", "1", "/s", "0/s", "-1/s", "+1/s", "1.5/s", "1/d", "1/S", "1 /s", "1/ s", "99999999999/s"] {
            assert_eq!(Rate::parse(text), None, "{text}");
        }
    }
}
