//! Strings that certainly match a format, whether or not a validator checks formats.

use super::version::Version;
use crate::normalize::SchemaId;

/// A format: its name, a text of it, and how longer texts of it are made: up to a number of times one character, between
/// two texts.
type Format = (&'static str, &'static str, (&'static str, char, &'static str, usize));

/// The texts of a format are not made longer.
const FIXED: (&str, char, &str, usize) = ("", 'a', "", 0);
const LONG: usize = 100_000;
const URI: &str = "https://example.com/";

const FORMATS: &[Format] = &[
    ("date-time", "2026-01-02T03:04:05Z", ("2026-01-02T03:04:05.", '0', "Z", 9)),
    ("date", "2026-01-02", FIXED),
    ("time", "03:04:05Z", ("03:04:05.", '0', "Z", 9)),
    ("duration", "P1D", FIXED),
    ("email", "a@example.com", ("", 'a', "@example.com", 64)),
    ("idn-email", "a@example.com", ("", 'a', "@example.com", 64)),
    ("hostname", "example.com", ("", 'a', ".example.com", 63)),
    ("idn-hostname", "example.com", ("", 'a', ".example.com", 63)),
    ("ipv4", "192.0.2.1", FIXED),
    ("ipv6", "2001:db8::1", FIXED),
    ("uri", URI, (URI, 'a', "", LONG)),
    ("iri", URI, (URI, 'a', "", LONG)),
    ("uuid", "12345678-1234-4234-8234-123456789abc", FIXED),
];

fn known(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|(known, ..)| *known == name)
}

/// Returns the format that a schema names, in any dialect.
pub(super) fn named<'v>(version: &'v Version<'_>, schema: SchemaId) -> Option<&'v str> {
    version.document.schemas.source(schema)?.get("format")?.as_str()
}

/// Returns a text of a format.
pub(super) fn sample(name: &str) -> Option<&'static str> {
    known(name).map(|(_, sample, _)| *sample)
}

/// Returns a text of a format with `length` characters.
pub(super) fn of_length(name: &str, length: usize) -> Option<String> {
    let (_, _, (before, fill, after, most)) = known(name)?;
    let count = length.checked_sub(before.len() + after.len()).filter(|count| (1..=*most).contains(count))?;
    Some(format!("{before}{}{after}", fill.to_string().repeat(count)))
}

/// Returns `true` or `false` only if that is certain: an empty text has none of these formats, and a sample has its
/// own.
pub(super) fn has(name: &str, text: &str) -> Option<bool> {
    let Some((_, sample, _)) = known(name) else { return Some(true) };
    let is_sure = text == *sample || of_length(name, text.len()).as_deref() == Some(text);
    match text {
        "" => Some(false),
        _ => is_sure.then_some(true),
    }
}
