//! Strings that certainly match a format, whether or not a validator checks formats.

use super::version::Version;
use crate::normalize::SchemaId;

/// A format, a text of it, and how longer texts of it are made.
struct Format {
    name: &'static str,
    sample: &'static str,
    stretch: Option<Stretch>,
}

/// Any number of one character, up to `most`, between two texts.
struct Stretch {
    before: &'static str,
    fill: char,
    after: &'static str,
    most: usize,
}

const fn format(name: &'static str, sample: &'static str) -> Format {
    Format { name, sample, stretch: None }
}

const fn stretching(name: &'static str, sample: &'static str, stretch: Stretch) -> Format {
    Format { name, sample, stretch: Some(stretch) }
}

const fn between(before: &'static str, fill: char, after: &'static str, most: usize) -> Stretch {
    Stretch { before, fill, after, most }
}

const LONG: usize = 100_000;
const URI: &str = "https://example.com/";

const FORMATS: &[Format] = &[
    stretching("date-time", "2026-01-02T03:04:05Z", between("2026-01-02T03:04:05.", '0', "Z", 9)),
    format("date", "2026-01-02"),
    stretching("time", "03:04:05Z", between("03:04:05.", '0', "Z", 9)),
    format("duration", "P1D"),
    stretching("email", "a@example.com", between("", 'a', "@example.com", 64)),
    stretching("idn-email", "a@example.com", between("", 'a', "@example.com", 64)),
    stretching("hostname", "example.com", between("", 'a', ".example.com", 63)),
    stretching("idn-hostname", "example.com", between("", 'a', ".example.com", 63)),
    format("ipv4", "192.0.2.1"),
    format("ipv6", "2001:db8::1"),
    stretching("uri", URI, between(URI, 'a', "", LONG)),
    stretching("iri", URI, between(URI, 'a', "", LONG)),
    format("uuid", "12345678-1234-4234-8234-123456789abc"),
];

fn known(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format that a schema names, in any dialect.
pub(super) fn named<'v>(version: &'v Version<'_>, schema: SchemaId) -> Option<&'v str> {
    version.document.schemas.source(schema)?.get("format")?.as_str()
}

/// A text of a format.
pub(super) fn sample(name: &str) -> Option<&'static str> {
    known(name).map(|format| format.sample)
}

/// A text of a format with so many characters.
pub(super) fn of_length(name: &str, length: usize) -> Option<String> {
    let Stretch { before, fill, after, most } = known(name)?.stretch.as_ref()?;
    let count = length.checked_sub(before.len() + after.len()).filter(|count| (1..=*most).contains(count))?;
    Some(format!("{before}{}{after}", fill.to_string().repeat(count)))
}

/// Only what is sure: an empty text has none of these formats, and a sample has its own.
pub(super) fn has(name: &str, text: &str) -> Option<bool> {
    let Some(format) = known(name) else { return Some(true) };
    let is_sure = text == format.sample || of_length(name, text.len()).as_deref() == Some(text);
    match text {
        "" => Some(false),
        _ => is_sure.then_some(true),
    }
}
