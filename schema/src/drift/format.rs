//! Strings that certainly match a format, whether or not a validator checks formats.

use super::version::Version;
use crate::normalize::SchemaId;

/// A format, a text of it, and how longer texts of it are made: any number of one character, up to `most`, between two texts.
struct Format {
    name: &'static str,
    sample: &'static str,
    before: &'static str,
    fill: char,
    after: &'static str,
    most: usize,
}

/// Creates a row of the table of formats. It has a name, a sample, the texts before and after a repeated character, and
/// the maximum count.
const fn format(
    name: &'static str,
    sample: &'static str,
    (before, fill, after, most): (&'static str, char, &'static str, usize),
) -> Format {
    Format { name, sample, before, fill, after, most }
}

/// The texts of a format are not made longer.
const FIXED: (&str, char, &str, usize) = ("", 'a', "", 0);
const LONG: usize = 100_000;
const URI: &str = "https://example.com/";

const FORMATS: &[Format] = &[
    format("date-time", "2026-01-02T03:04:05Z", ("2026-01-02T03:04:05.", '0', "Z", 9)),
    format("date", "2026-01-02", FIXED),
    format("time", "03:04:05Z", ("03:04:05.", '0', "Z", 9)),
    format("duration", "P1D", FIXED),
    format("email", "a@example.com", ("", 'a', "@example.com", 64)),
    format("idn-email", "a@example.com", ("", 'a', "@example.com", 64)),
    format("hostname", "example.com", ("", 'a', ".example.com", 63)),
    format("idn-hostname", "example.com", ("", 'a', ".example.com", 63)),
    format("ipv4", "192.0.2.1", FIXED),
    format("ipv6", "2001:db8::1", FIXED),
    format("uri", URI, (URI, 'a', "", LONG)),
    format("iri", URI, (URI, 'a', "", LONG)),
    format("uuid", "12345678-1234-4234-8234-123456789abc", FIXED),
];

fn known(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Returns the format that a schema names, in any dialect.
pub(super) fn named<'v>(version: &'v Version<'_>, schema: SchemaId) -> Option<&'v str> {
    version.document.schemas.source(schema)?.get("format")?.as_str()
}

/// Returns a text of a format.
pub(super) fn sample(name: &str) -> Option<&'static str> {
    known(name).map(|format| format.sample)
}

/// Returns a text of a format with `length` characters.
pub(super) fn of_length(name: &str, length: usize) -> Option<String> {
    let Format { before, fill, after, most, .. } = known(name)?;
    let count = length.checked_sub(before.len() + after.len()).filter(|count| (1..=*most).contains(count))?;
    Some(format!("{before}{}{after}", fill.to_string().repeat(count)))
}

/// Returns `true` or `false` only if that is certain: an empty text has none of these formats, and a sample has its
/// own.
pub(super) fn has(name: &str, text: &str) -> Option<bool> {
    let Some(format) = known(name) else { return Some(true) };
    let is_sure = text == format.sample || of_length(name, text.len()).as_deref() == Some(text);
    match text {
        "" => Some(false),
        _ => is_sure.then_some(true),
    }
}
