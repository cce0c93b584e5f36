//! The servers that files describe. Missing or wrong parts are left out.

use mcp_bindgen_model::{Config, ServerConfig, Snapshot, printable};
use mcp_bindgen_schema::apply_views;
use serde_json::Value;

use super::shells::{QUOTABLE, is_plain};
use crate::text::{cut, one_line};

/// The maximum length of a candidate.
const LONGEST_CANDIDATE: usize = 256;
/// The maximum width of a description, in columns.
const HELP_COLUMNS: usize = 80;

/// Returns the names of the configured servers.
pub(super) fn servers(config: &Config) -> Vec<Offered> {
    config.servers.keys().filter(|name| is_harmless(name)).map(|name| (name.clone(), String::new())).collect()
}

/// Returns a server with its snapshot.
pub(super) fn snapshot(config: &Config, server: &str) -> Option<(ServerConfig, Snapshot)> {
    let found = config.servers.get(server)?.clone();
    let snapshot = Snapshot::load(config.snapshot_path(server)).ok()?;
    let snapshot = apply_views(&snapshot, &found).unwrap_or(snapshot);
    Some((found, snapshot))
}

/// A candidate, and its description.
pub(super) type Offered = (String, String);

/// Returns a name with its description, if it is safe for a shell.
pub(super) fn offered(name: &str, described: &Value) -> Option<Offered> {
    let help = short(described.get("description").and_then(Value::as_str).unwrap_or_default());
    is_harmless(name).then(|| (name.to_owned(), help))
}

/// Returns `true` if shells read a text as one plain word. They insert candidates unchanged into a line that is then
/// executed, so a server's name such as `$(..)` must not get there.
pub(super) fn is_harmless(text: &str) -> bool {
    is_word_of(text, is_plain)
}

/// Returns `true` if shells read a text as one word when quoted, and execute none of it when unquoted.
pub(super) fn is_quotable(text: &str) -> bool {
    is_word_of(text, |character| is_plain(character) || QUOTABLE.contains(character))
}

fn is_word_of(text: &str, may_stand: impl Fn(char) -> bool) -> bool {
    (1..=LONGEST_CANDIDATE).contains(&text.len()) && !text.starts_with('-') && text.chars().all(may_stand)
}

pub(super) fn short(text: &str) -> String {
    cut(&printable(&one_line(text)), HELP_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::{is_harmless, is_quotable};

    #[test]
    fn completion_candidates_cannot_run_code() {
        for fine in ["list_issues", "auth-method", "note:///", "a.b", "課題"] {
            assert!(is_harmless(fine) && is_quotable(fine), "{fine}");
        }
        for quoted in ["New York", "R&D", "none (yet)", "a;b"] {
            assert!(is_quotable(quoted) && !is_harmless(quoted), "{quoted}");
        }
        for odd in [
            "",
            "-rf",
            "$(touch x)",
            "`x`",
            "a\"b",
            "a\\b",
            "!!",
            "a\nb",
            "a\x0bb",
            "\x1b[2J",
            "~root",
            "a*",
            "\u{202e}x",
            "a'b",
        ] {
            assert!(!is_harmless(odd) && !is_quotable(odd), "{odd:?}");
        }
    }
}
