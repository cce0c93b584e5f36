//! The ways to reach a server, and the words of its keys.

use std::collections::BTreeMap;

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
