//! The ways to reach a server, and the values of its keys.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::FileError;
use crate::config::key::Form;
use crate::config::read::{Kind, Node, Reader, TextForm, suggestion};
use crate::config::table::ConfigValue;
use crate::words::words;

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The folder it runs in.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// The older HTTP with server-sent events.
    Sse {
        /// The endpoint of the event stream.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// The prefix of the names in a server's bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Prefix {
    /// The server's name.
    #[default]
    ServerName,
    /// Nothing.
    None,
    /// This.
    Named(String),
}

impl Prefix {
    /// Creates a prefix from a word that names can begin with: an ASCII letter, followed by letters, digits, `_` and
    /// `-`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let can_begin = word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        can_begin.then(|| Self::Named(word.to_owned()))
    }
}

impl ConfigValue for Prefix {
    const FORM: Form = Form::Plain(r#"{"type":["string","boolean"],"not":{"const":true}}"#);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let error = match &node.kind {
            Kind::Bool(false) => return Ok(Self::None),
            Kind::Text(text) => match Self::named(text) {
                Some(prefix) => return Ok(prefix),
                None => reader.error(node.at, format!("{what} is not a valid prefix")),
            },
            _ => reader.wrong_type(node, what, "a string or `false`"),
        };
        Err(error.with_help("use a word as the prefix, or `prefix = false` for none"))
    }

    fn to_json(&self) -> Value {
        if let Self::Named(prefix) = self { prefix.as_str().into() } else { false.into() }
    }
}

words! {
    /// The parts of a bound tool that may not change.
    pub enum Pin {
        /// The parts that calls and results depend on: the name and the meaning of the schemas.
        #[default]
        Schema = "schema",
        /// Everything that its bindings know of it, to the word: also title, description, hints, and the texts in its schemas.
        All = "all",
    }
}

words! {
    /// The permission for builds to connect to servers.
    pub enum Live {
        /// Builds connect if the variable `MCP_BINDGEN_LIVE` asks for it.
        #[default]
        Ask = "ask",
        /// Never connects, whatever the environment contains.
        Never = "never",
    }
}

words! {
    /// The backend for the types of a server's bindings.
    pub enum Types {
        /// The generator's own translation, which loses nothing.
        #[default]
        Native = "native",
        /// typify, for its validated newtypes; needs feature `typify`. It drops empty arrays and some `null`s.
        Typify = "typify",
    }
}

/// Returns `true` for valid names of servers: `^[a-z0-9][a-z0-9_-]{0,63}$`.
pub fn is_server_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=64).contains(&name.len()) && name.starts_with(first) && name.chars().all(|c| first(c) || c == '_' || c == '-')
}

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
    /// The name of the unit, and its length in seconds.
    unit: (&'static str, u64),
}

impl Rate {
    /// Parses a rate: `10/s`, `100/m`, `1000/h`. Returns `None` unless the text is a positive whole number with a unit.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (calls, unit) = text.split_once('/')?;
        let unit = *[("s", 1), ("m", 60), ("h", 3600)].iter().find(|(name, _)| *name == unit)?;
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
        Duration::from_secs(self.unit.1)
    }
}

/// Prints the rate as written in a configuration.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.calls, self.unit.0)
    }
}

impl ConfigValue for Rate {
    const FORM: Form = Form::Plain(r#"{"type":"string","pattern":"^0*[1-9][0-9]*/[smh]$"}"#);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let help = "write a whole number above zero with a time: \"10/s\", \"100/m\" or \"1000/h\"";
        reader.parsed(node, what, TextForm { name: "a rate", example: "10/s", help }, Self::parse)
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }
}

/// A source for the values of `${NAME}`: `secrets` of a server or of `[defaults]`.
///
/// ```
/// use mcp_bindgen_model::{SecretStore, ServerConfig};
///
/// let server = ServerConfig::stdio("git", "mcp-server-git")
///     .env("TOKEN", "${GIT_TOKEN}")
///     .secret_stores([SecretStore::Keyring, SecretStore::Dotenv(".env".to_owned())]);
/// assert_eq!(server.to_json()["secrets"], serde_json::json!(["keyring", "dotenv:.env"]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecretStore {
    /// `env`: the environment of this process.
    Env,
    /// `keyring`: the keyring of the operating system, with service `mcp-bindgen` and the name as the user.
    Keyring,
    /// `dotenv:PATH`: a file of lines `NAME=value`, relative to the configuration file. Its values are not exported. A
    /// missing file has none.
    Dotenv(String),
}

impl SecretStore {
    /// The words that a store can begin with.
    pub(crate) const WORDS: &[&str] = &["env", "keyring", "dotenv:.env"];

    /// Parses a store as it is written in a configuration.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("dotenv:").map(str::trim)) {
            ("env", _) => Some(Self::Env),
            ("keyring", _) => Some(Self::Keyring),
            (_, Some(path)) if !path.is_empty() => Some(Self::Dotenv(path.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env => f.write_str("env"),
            Self::Keyring => f.write_str("keyring"),
            Self::Dotenv(path) => write!(f, "dotenv:{path}"),
        }
    }
}

impl ConfigValue for Vec<SecretStore> {
    const FORM: Form = Form::Plain(
        r#"{"type":"array","minItems":1,"items":{"anyOf":[{"enum":["env","keyring"]},{"type":"string","pattern":"^dotenv:."}]}}"#,
    );

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let nodes = reader.list(node, what, "an array of strings")?;
        if nodes.is_empty() {
            let help = suggestion("", SecretStore::WORDS, "expected some of");
            return Err(reader.error(node.at, format!("{what} is empty")).with_help(help));
        }
        let store = |node: &Node| {
            let what = format!("every element of {what}");
            let text = reader.text(node, &what)?;
            SecretStore::parse(text).ok_or_else(|| reader.unknown_word(node, &what, text, SecretStore::WORDS))
        };
        nodes.iter().map(store).collect()
    }

    fn to_json(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }
}

/// Returns `true` for a URL of HTTP, or a text that begins with a placeholder and may become one.
pub(crate) fn may_be_url(text: &str) -> bool {
    ["http://", "https://", "${"].iter().any(|start| text.starts_with(start))
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
