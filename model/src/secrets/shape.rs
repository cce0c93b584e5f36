//! Secrets with a recognizable form, under any key.

use std::ops::Range;

use super::Reach;
use crate::text::parts;

/// Nothing but a token begins so. Blanks separate the beginnings.
const TOKEN_STARTS: &str = "\
    ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- AKIA ASIA AIza \
    ya29. sk_live_ sk_test_ rk_live_ rk_test_ whsec_ shpat_ shpss_ shpca_ dop_v1_ hvs. hvb. lin_api_ lin_oauth_ \
    ATATT3 figd_ figu_ sntrys_ sntryu_ tskey- AGE-SECRET-KEY- ntn_ PMAK- GOCSPX- sbp_ apify_api_ sk-ant- sk-proj- \
    sk-or- lsv2_ ctx7sk- nvapi- sq0atp- eyJ";
/// Prefixes of tokens if the rest is random enough, and otherwise of other names.
const PERHAPS_TOKEN_STARTS: &str =
    "sk- hf_ npm_ pypi- secret_ r8_ gsk_ tvly- pplx- xai- fc- dapi key- SG. pat_ api_ mcp_";
const SHORTEST_TOKEN: usize = 16;
const RANDOM_PART: usize = 10;
const SHORTEST_BASE64: usize = 12;
const LONGEST_BASE64: usize = 1024;

/// Tokens of known services.
pub(super) fn tokens(text: &str, reach: Reach) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let sure_starts: Vec<&str> = TOKEN_STARTS.split(' ').collect();
    let other_starts: Vec<&str> = PERHAPS_TOKEN_STARTS.split(' ').collect();
    for (start, _) in text.char_indices() {
        // Most characters are inside words, and this check is the cheapest.
        if !is_at_boundary(text, start) {
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let sure = sure_starts.iter().any(|beginning| rest.starts_with(beginning));
        if (!sure && !other_starts.iter().any(|beginning| rest.starts_with(beginning)))
            || found.last().is_some_and(|last| start < last.end)
        {
            continue;
        }
        let token = run(rest, &|c| c.is_ascii_alphanumeric() || "_-.~+=".contains(c));
        if token.len() >= SHORTEST_TOKEN && (sure || has_random_part(token)) {
            // An uncertain prefix of a token may also begin a name: `api_key=..`.
            let name = if sure || reach == Reach::Widest { 0 } else { name_of_value(token) };
            found.push(start + name..start + token.len());
        }
    }
    found
}

/// Returns the length of the name and its separator at the start of a token-like text.
fn name_of_value(token: &str) -> usize {
    match token.split_once('=') {
        Some((name, value)) if !value.trim_end_matches('=').is_empty() && !has_random_part(name) => name.len() + 1,
        _ => 0,
    }
}

/// Finds private keys in PEM.
pub(super) fn private_keys(text: &str) -> Vec<Range<usize>> {
    let key = |(start, begin): (usize, &str)| {
        let rest = text.get(start..)?;
        let label = rest.get(begin.len()..)?.split("-----").next()?;
        let (before, after) = rest.split_once("-----END ").unwrap_or((rest, ""));
        let end = after.find("-----").map(|dashes| before.len() + "-----END ".len() + dashes + 5);
        label.contains("PRIVATE KEY").then(|| start..start + end.unwrap_or(rest.len()))
    };
    text.match_indices("-----BEGIN ").filter_map(key).collect()
}

/// Finds `user:password` in base64.
pub(super) fn encoded_logins(text: &str) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    let mut found = Vec::new();
    for (start, word) in parts(text, &|c| !is_part(c)) {
        if is_login(word) {
            let padding = run(text.get(start + word.len()..).unwrap_or_default(), &|c| c == '=');
            found.push(start..start + word.len() + padding.len());
        } else {
            // A slash may be a part of it, or of a path.
            let logins = parts(word, &|c| c == '/').into_iter().filter(|(_, segment)| is_login(segment));
            found.extend(logins.map(|(at, segment)| start + at..start + at + segment.len()));
        }
    }
    found
}

/// Returns `true` if a part of a URL's path cannot have been thought up by a person.
pub(super) fn is_random(segment: &str) -> bool {
    let has = |class: fn(&u8) -> bool| segment.bytes().any(|b| class(&b));
    segment.len() >= 20
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-=~".contains(&b))
}

fn is_at_boundary(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    // Percent-encoded characters end in a letter or a digit: `%3Dghp_...`.
    let after_escape = before
        .len()
        .checked_sub(3)
        .and_then(|from| before.get(from..))
        .is_some_and(|end| end.starts_with('%') && end.bytes().skip(1).all(|b| b.is_ascii_hexdigit()));
    after_escape || !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

fn has_random_part(token: &str) -> bool {
    token
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|part| part.len() >= RANDOM_PART && part.bytes().any(|b| b.is_ascii_digit()))
}

/// Returns the longest beginning of `text` that consists of such characters.
pub(super) fn run<'t>(text: &'t str, of: &dyn Fn(char) -> bool) -> &'t str {
    text.get(..text.find(|c: char| !of(c)).unwrap_or(text.len())).unwrap_or_default()
}

fn is_login(word: &str) -> bool {
    if !(SHORTEST_BASE64..=LONGEST_BASE64).contains(&word.len()) {
        return false;
    }
    let decoded = decode(word).unwrap_or_default();
    decoded.split_once(':').is_some_and(|(user, password)| {
        let is_printable = decoded.chars().all(|c| c.is_alphanumeric() || c.is_ascii_graphic());
        is_printable && !user.is_empty() && !password.is_empty() && !password.starts_with("//")
    })
}

fn decode(word: &str) -> Option<String> {
    let mut bits = 0u32;
    let mut count = 0;
    let mut bytes = Vec::with_capacity(word.len() * 3 / 4);
    for byte in word.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns `true` if an argument is a flag, and not a value that begins with a dash.
pub(super) fn is_flag(argument: &str) -> bool {
    let name = argument.trim_start_matches('-');
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    let dashes = argument.len() - argument.trim_start_matches('-').len();
    let has = |class: fn(&u8) -> bool| name.bytes().any(|b| class(&b));
    let is_random = name.len() >= 16 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    (1..=2).contains(&dashes)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !is_random
}
