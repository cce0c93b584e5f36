//! Finds literal secrets in a configuration, for everything that prints one.

mod extent;
mod key;
mod pairs;
mod scan;
mod shape;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::placeholder::{self, Placeholder, SecretRef};
use crate::printable;
use crate::side_by_side::in_order;
use crate::text::offset;

/// The position of a text in a server's configuration, which determines which parts are secrets: see
/// [`replace_secrets`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum ConfigField<'a> {
    /// The program of a child process.
    Command,
    /// An argument of the program. It is read with those before it: `--token`, `abc`.
    Argument {
        /// The program.
        command: &'a str,
        /// All its arguments.
        all: &'a [String],
        /// Which of them the text is.
        index: usize,
    },
    /// The folder that the program runs in.
    Folder,
    /// A folder that `isolation` shows.
    Shown,
    /// The address of a server: user and password, path and query.
    Url,
    /// The value of this key about the way to a URL: `ca`, `client_cert`, `proxy`.
    Network(&'static str),
    /// The value of this key of `auth`.
    Auth(&'static str),
    /// The value of the variable of this name.
    Env(&'a str),
    /// The value of the header of this name.
    Header(&'a str),
    /// The name of a variable or a header, in this table.
    Name(&'static str),
    /// Text that has no part in reaching the server, under this key.
    Note(&'static str),
}

/// Prints only the place, because arguments and misplaced names may hold secrets.
impl fmt::Debug for ConfigField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

impl<'a> ConfigField<'a> {
    /// Returns `true` if placeholders are expanded there.
    pub(crate) fn is_expanded(self) -> bool {
        !matches!(self, Self::Name(_) | Self::Note(_))
    }

    /// Returns the position for messages, without secrets and safe to print.
    ///
    /// ```
    /// assert_eq!(mcp_bindgen_model::ConfigField::Env("API_KEY").label(), "env `API_KEY`");
    /// ```
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Env(name) => format!("env `{}`", quoted(name)),
            Self::Header(name) => format!("header `{}`", quoted(name)),
            Self::Auth(key) => format!("`auth.{key}`"),
            _ => format!("`{}`", self.key().0),
        }
    }

    /// Returns the key in a server's table, and the name in its value.
    pub(crate) fn key(self) -> (&'a str, Option<&'a str>) {
        match self {
            Self::Command => ("command", None),
            Self::Argument { .. } => ("args", None),
            Self::Folder => ("cwd", None),
            Self::Shown => ("isolation", None),
            Self::Url => ("url", None),
            Self::Env(name) => ("env", Some(name)),
            Self::Header(name) => ("headers", Some(name)),
            Self::Auth(key) => ("auth", Some(key)),
            Self::Name(key) | Self::Note(key) | Self::Network(key) => (key, None),
        }
    }
}

/// A secret in a text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Secret {
    /// Its position in the text, in bytes.
    pub range: Range<usize>,
    /// The key or flag that it is the value of, or its kind.
    pub key: String,
    /// `true` for the default of a placeholder; the range then includes the `:-` before it.
    pub is_default: bool,
}

/// The byte that replaces every byte of a placeholder while a text is scanned.
const MASK: char = '\0';

/// The extent of a secret whose end is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Everything that may belong to the secret: hiding too much is safe.
    Widest,
    /// The value only, without the text around it: the rest must keep its meaning.
    Exact,
}

/// Returns the secrets that a text spells out, in order.
pub(crate) fn find(place: ConfigField<'_>, text: &str) -> Vec<Secret> {
    find_within(place, text, Reach::Widest)
}

/// Replaces exactly the secrets of a text, so that the rest keeps its meaning.
pub(crate) fn replace_exactly(
    place: ConfigField<'_>,
    text: &str,
    instead: &mut dyn FnMut(&Secret) -> String,
) -> String {
    let exact = find_within(place, text, Reach::Exact);
    let without = replace(text, &exact, &mut |secret| if secret.is_default { "" } else { "${A}" }.to_owned());
    // If a part still looks like a secret, the wider range is used.
    let secrets = if find(place, &without).is_empty() { exact } else { find(place, text) };
    replace(text, &secrets, instead)
}

fn find_within(place: ConfigField<'_>, text: &str, reach: Reach) -> Vec<Secret> {
    let placeholders = placeholder::find(text);
    let masked = mask(text, &placeholders);
    let candidates = merged(scan::candidates(place, &masked, reach));
    secrets_of(&masked, &placeholders, &candidates, &|key, default| !find(ConfigField::Env(key), default).is_empty())
}

/// Returns all literal parts of a text, secret or not, except for an authentication scheme.
pub(crate) fn find_literals(key: &str, text: &str) -> Vec<Secret> {
    let placeholders = placeholder::find(text);
    let masked = mask(text, &placeholders);
    let range = scan::after_scheme(&masked)..masked.len();
    let whole = Secret { range, key: key.to_owned(), is_default: false };
    secrets_of(&masked, &placeholders, &[whole], &|_, default| !default.is_empty())
}

/// Returns the text with something else in the places of its secrets.
pub(crate) fn replace(text: &str, secrets: &[Secret], replacement: &mut dyn FnMut(&Secret) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for secret in secrets {
        shown.push_str(text.get(from..secret.range.start).unwrap_or_default());
        shown.push_str(&replacement(secret));
        from = secret.range.end;
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    shown
}

/// Returns `true` if every value of a key is a secret: `password`, `apiKey`.
///
/// ```
/// assert!(mcp_bindgen_model::is_secret_key("client_secret") && !mcp_bindgen_model::is_secret_key("max_tokens"));
/// ```
pub fn is_secret_key(key: &str) -> bool {
    key::kind(key) == Some(key::Key::Secret)
}

/// Replaces everything in the text of a key that looks like a secret: by the key, by its form (`ghp_..`), or by the
/// words before it (`token=..`).
///
/// ```
/// let shown = mcp_bindgen_model::without_secrets("note", "log in with --token=8d0f2a4c6e80", "[redacted]");
/// assert_eq!(shown, "log in with --token=[redacted]");
/// ```
pub fn without_secrets<'t>(key: &str, text: &'t str, instead: &str) -> Cow<'t, str> {
    replace_secrets(ConfigField::Env(key), text, |_| instead.to_owned())
}

/// Replaces the secrets in a text of a server's configuration. If a secret is the [default](Secret::is_default) of a
/// placeholder, an empty replacement removes the default.
///
/// ```
/// use mcp_bindgen_model::{ConfigField, replace_secrets};
///
/// let all = ["--header".to_owned(), "X-Api-Key: 8d0f2a4c6e80".to_owned()];
/// let field = ConfigField::Argument { command: "server", all: &all, index: 1 };
/// let shown = replace_secrets(field, &all[1], |secret| format!("${{{}}}", secret.key.replace('-', "_")));
/// assert_eq!(shown, "X-Api-Key: ${X_Api_Key}");
/// assert_eq!(replace_secrets(ConfigField::Url, "https://me:abc@h/mcp", |_| "..".to_owned()), "https://me:..@h/mcp");
/// ```
pub fn replace_secrets<'t>(
    field: ConfigField<'_>,
    text: &'t str,
    mut instead: impl FnMut(&Secret) -> String,
) -> Cow<'t, str> {
    let secrets = find(field, text);
    if secrets.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replace(text, &secrets, &mut instead)) }
}

/// Returns a text for messages: printable, with `<hidden>` in place of secrets.
pub(crate) fn quoted(text: &str) -> String {
    printable(&hide(text, &find(ConfigField::Command, text)))
}

/// Returns a text with `<hidden>` in place of secrets.
pub(crate) fn hide(text: &str, secrets: &[Secret]) -> String {
    replace(text, secrets, &mut |secret| if secret.is_default { ":-<hidden>" } else { "<hidden>" }.to_owned())
}

fn mask(text: &str, placeholders: &[Placeholder<'_>]) -> String {
    let mut masked = text.as_bytes().to_vec();
    for Placeholder { range, .. } in placeholders {
        masked.get_mut(range.clone()).unwrap_or_default().fill(MASK as u8);
    }
    String::from_utf8_lossy(&masked).into_owned()
}

/// Candidates in order, those that overlap as one.
fn merged(candidates: Vec<Secret>) -> Vec<Secret> {
    let mut merged: Vec<Secret> = Vec::new();
    for candidate in in_order(candidates, |candidate| candidate.range.start) {
        match merged.last_mut() {
            Some(last) if candidate.range.start < last.range.end => {
                last.range.end = last.range.end.max(candidate.range.end);
            }
            _ => merged.push(candidate),
        }
    }
    merged
}

/// Returns the secrets in candidates, which may have placeholders in them, and in the defaults of placeholders.
fn secrets_of(
    masked: &str,
    placeholders: &[Placeholder<'_>],
    candidates: &[Secret],
    is_secret_default: &dyn Fn(&str, &str) -> bool,
) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for candidate in candidates {
        for range in literals(masked, candidate) {
            secrets.push(Secret { range, ..candidate.clone() });
        }
    }
    for Placeholder { range, source, default } in placeholders {
        let Some(default) = default else { continue };
        let (SecretRef::Variable(name) | SecretRef::Keyring(name)) = source;
        let is_in_keyring = matches!(source, SecretRef::Keyring(_));
        let touches = |c: &&Secret| c.range.start <= range.start && range.end <= c.range.end;
        let key = candidates.iter().find(touches).map_or(name, |candidate| &candidate.key);
        if is_secret_default(key, default) || (is_in_keyring && !default.is_empty()) {
            let start = range.end - 1 - default.len() - ":-".len();
            secrets.push(Secret { range: start..range.end - 1, key: key.clone(), is_default: true });
        }
    }
    in_order(secrets, |secret| secret.range.start)
}

/// Returns the parts of a candidate beside its placeholders.
fn literals(masked: &str, candidate: &Secret) -> Vec<Range<usize>> {
    let text = masked.get(candidate.range.clone()).unwrap_or_default();
    let mixed = text.contains(MASK);
    let between = |c: char| c.is_whitespace() || ":/@,;.-_?&|=\"'()[]{}".contains(c);
    let is_label = |run: &str| key::has_scheme(&candidate.key) && run.trim_end_matches('"').ends_with('=');
    let mut literals = Vec::new();
    for run in text.split(MASK).map(str::trim) {
        if !run.is_empty() && !(mixed && (run.chars().all(between) || is_label(run))) {
            let start = candidate.range.start + offset(text, run);
            literals.push(start..start + run.len());
        }
    }
    literals
}

#[cfg(test)]
mod tests;
