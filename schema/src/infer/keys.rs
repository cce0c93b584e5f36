//! Recognizes keys that are data.

/// Fewer hexadecimal digits may be a word.
const FEWEST_DIGITS: usize = 16;
/// How long the groups of a UUID are.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Returns `true` if a key looks like an id.
pub(super) fn is_id(key: &str) -> bool {
    is_whole_number(key) || is_uuid(key) || is_hash(key) || is_date(key) || is_path_or_address(key)
}

fn is_whole_number(key: &str) -> bool {
    let digits = key.strip_prefix('-').unwrap_or(key);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uuid(key: &str) -> bool {
    key.split('-').map(str::len).eq(UUID) && key.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Returns `true` for hexadecimal digits with at least one figure, which words do not have.
fn is_hash(key: &str) -> bool {
    let mut bytes = key.bytes();
    key.len() >= FEWEST_DIGITS
        && bytes.clone().all(|byte| byte.is_ascii_hexdigit())
        && bytes.any(|byte| byte.is_ascii_digit())
}

/// Returns `true` for a date like `2026-11-22`, with or without a time.
fn is_date(key: &str) -> bool {
    let form: String = key.chars().take(11).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    form.strip_prefix("0000-00-00").is_some_and(|rest| rest != "0")
}

/// Returns `true` for a path or an address; `@type` and `$ref` are keywords of formats.
fn is_path_or_address(key: &str) -> bool {
    key.contains('/') || key.char_indices().any(|(index, character)| character == '@' && index > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinguished_from_words() {
        for id in [
            "0",
            "-7",
            "10234",
            "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "2026-11-22",
            "2026-11-22T10:00:00Z",
            "src/lib.rs",
            "https://example.com/x",
            "a@example.com",
        ] {
            assert!(is_id(id), "{id}");
        }
        for word in [
            "",
            "-",
            "id",
            "p50",
            "h1",
            "@type",
            "$ref",
            "feedbeef",
            "x-2026-11-22",
            "2026-11-222",
            "24h",
            "deadbeefdeadbeef",
        ] {
            assert!(!is_id(word), "{word}");
        }
    }
}
