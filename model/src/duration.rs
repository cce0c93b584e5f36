//! Durations as people write them: `500ms`, `30s`, `2m`, `1h`.

use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Parses a duration: `500ms`, `30s`, `2m`, `1h`. Returns `None` unless the text is a positive whole number with a
/// unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let milliseconds = number.parse::<u64>().ok()?.checked_mul(*factor)?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

pub(crate) fn to_text(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{}s", duration.as_secs())
    } else {
        format!("{}ms", duration.as_millis())
    }
}
