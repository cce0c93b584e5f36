//! Keys with values inside a text: `KEY=value`, `Header: value`, query strings, connection strings, JSON.

use std::ops::Range;

use super::key::{self, Key};
use super::scan::Scan;
use super::{MASK, Reach, extent, shape};

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// A key in front of a separator.
struct Found<'t> {
    key: &'t str,
    /// `true` if the key is a flag: `--token`.
    is_flag: bool,
    in_quotes: bool,
    /// The character before the key, which decides how its value ends.
    before: Option<char>,
}

impl Scan<'_> {
    pub(super) fn pairs(&mut self) {
        let text = self.text;
        for (at, separator) in text.match_indices([':', '=']) {
            let Some(found) = key_before(text, at) else { continue };
            let Some(kind) = key::kind(found.key) else { continue };
            let Some(range) = value_after(text, at, &found) else { continue };
            let range = if separator == "=" { self.narrowed(range, &found) } else { range };
            let value = text.get(range.clone()).unwrap_or_default();
            let is_close = range.start == at + separator.len();
            if separator == ":" && is_close && !found.in_quotes && names_a_place(&found, kind, value) {
                continue;
            }
            let is_random = value.len() >= 6 && value.bytes().any(|b| b.is_ascii_digit()) && !value.contains(' ');
            if !self.is_prose || is_random {
                self.keyed(found.key, range);
            }
        }
    }

    /// Cuts off the words of a command line after a value. A literal value may include those words. It is cut only if a
    /// placeholder is the whole value, or if the rest must keep its meaning.
    fn narrowed(&self, widest: Range<usize>, found: &Found<'_>) -> Range<usize> {
        let before = self.text.get(..widest.start).unwrap_or_default();
        let value = self.text.get(widest.clone()).unwrap_or_default();
        if found.in_quotes || before.ends_with(QUOTES) {
            return widest;
        }
        let has_words = match found.before {
            Some(before) if QUOTES.contains(&before) || ",{[".contains(before) => false,
            _ if self.is_script => !extent::is_quoted(before),
            None => !(self.is_argument && found.is_flag),
            Some(before) => !(before.is_whitespace() || "?&#;(".contains(before)),
        };
        let narrow = extent::of(value, self.is_script);
        let is_placeholder = || value.get(narrow.clone()).is_some_and(|value| value.chars().all(|c| c == MASK));
        if has_words && (self.reach == Reach::Exact || is_placeholder()) {
            return widest.start + narrow.start..widest.start + narrow.end;
        }
        widest
    }
}

fn key_before(text: &str, separator: usize) -> Option<Found<'_>> {
    let (before, after) = (text.get(..separator)?, text.get(separator + 1..)?);
    // No separators: `a==1`, `a>=1`, `a::b`, `https://`.
    if before.ends_with(['=', '!', '<', '>', '~', ':']) || after.starts_with(['=', ':']) || after.starts_with("//") {
        return None;
    }
    let before = before.trim_end_matches([' ', '\t']);
    let unquoted = before.trim_end_matches(|c| QUOTES.contains(&c) || c == '\\');
    let in_quotes = unquoted.len() < before.len();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.%[]$".contains(c);
    let key = unquoted.get(unquoted.trim_end_matches(is_part).len()..).filter(|key| !key.is_empty())?;
    let mut rest = unquoted.get(..unquoted.len() - key.len())?;
    if in_quotes {
        rest = rest.trim_end_matches(|c| QUOTES.contains(&c) || c == '\\');
    }
    let nearest = rest.chars().next_back();
    let before = rest.trim_end_matches([' ', '\t']).chars().next_back().filter(|c| ";,&{".contains(*c)).or(nearest);
    Some(Found { key: key.trim_start_matches(['-', '.']), is_flag: key.starts_with('-'), in_quotes, before })
}

/// Returns `true` for places such as `token:latest`, `auth.example.com:8080`, `/run/token:/run/token`.
fn names_a_place(found: &Found<'_>, kind: Key, value: &str) -> bool {
    let is_version = value == "latest"
        || (value.contains('.') && value.trim_start_matches('v').bytes().all(|b| b.is_ascii_digit() || b == b'.'));
    let is_port = value.len() <= 5 && value.bytes().all(|b| b.is_ascii_digit());
    is_version
        || found.key.contains('.')
        || matches!(found.before, Some('/' | '\\' | '@'))
        || (is_port && kind == Key::SecretOrWord)
}

fn value_after(text: &str, separator: usize, found: &Found<'_>) -> Option<Range<usize>> {
    let after = text.get(separator + 1..)?;
    let value = after.trim_start_matches([' ', '\t']);
    let start = text.len() - value.len();
    let of_length = |length: usize| Some(start..start + length);
    // A text that is a single pair is value to its end.
    if found.before.is_none() && !found.in_quotes {
        let quote = value.chars().next().filter(|c| QUOTES.contains(c));
        let inside = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        return match inside {
            Some(inside) => Some(start + 1..start + 1 + inside.len()),
            None => of_length(value.len()),
        };
    }
    let slashes = shape::run(value, &|c| c == '\\');
    let opening = value.get(slashes.len()..).and_then(|rest| rest.chars().next());
    match opening {
        Some(quote) if QUOTES.contains(&quote) => {
            let inside = slashes.len() + 1;
            let rest = value.get(inside..)?;
            let length = closing(rest, slashes, quote).unwrap_or(rest.len());
            return Some(start + inside..start + inside + length);
        }
        Some('{') => return None,
        Some('[') => return of_length(value.find(']').map_or(value.len(), |end| end + 1)),
        _ => {}
    }
    let until = |ends: &dyn Fn(char) -> bool| of_length(value.find(ends).unwrap_or(value.len()));
    if found.in_quotes {
        return until(&|c| c.is_whitespace() || ",}]".contains(c));
    }
    match found.before {
        Some('?' | '&' | '#') => until(&|c| c.is_whitespace() || "&#\"'`<>".contains(c)),
        Some(';') => until(&|c| c == ';'),
        Some(',' | '{' | '(' | '[') => of_length(end_in_list(value)),
        Some(quote) if QUOTES.contains(&quote) => until(&|c| c == quote),
        Some('\n' | '\r') => until(&|c| c == '\n' || c == '\r'),
        Some(space) if space.is_whitespace() => {
            let is_line = text.get(separator..).is_some_and(|rest| rest.starts_with(':'));
            until(&|c| if is_line { c == '\n' } else { c.is_whitespace() })
        }
        _ => of_length(value.len()),
    }
}

/// Returns the quote that ends a text: as escaped as the one that began it.
fn closing(rest: &str, slashes: &str, quote: char) -> Option<usize> {
    rest.match_indices(quote).find_map(|(at, _)| {
        let before = rest.get(..at)?;
        let escapes = before.len() - before.trim_end_matches('\\').len();
        let ends = if slashes.is_empty() { escapes % 2 == 0 } else { escapes == slashes.len() };
        ends.then(|| at - if slashes.is_empty() { 0 } else { escapes })
    })
}

/// Returns the end of a value in a list: a comma ends it if another key follows.
fn end_in_list(value: &str) -> usize {
    let comma = value.match_indices(',').map(|(at, _)| at).find(|at| {
        let rest = value.get(at + 1..).unwrap_or_default().trim_start();
        let rest = rest.trim_start_matches(QUOTES);
        let key = shape::run(rest, &|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        let after = rest.get(key.len()..).unwrap_or_default().trim_start_matches(QUOTES).trim_start();
        !key.is_empty() && after.starts_with([':', '='])
    });
    let end = comma.unwrap_or(value.len());
    let value = value.get(..end).unwrap_or_default();
    value.trim_end_matches(|c: char| c.is_whitespace() || "})]".contains(c)).len()
}
