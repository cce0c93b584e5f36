//! The parts of the machine that a child process may see, and the domains that it may reach.

use std::fmt;

use serde_json::Value;

use crate::FileError;
use crate::config::key::{Form, Key, key};
use crate::config::read::{Kind, Node, Reader};
use crate::config::table::{Change, ConfigValue, Field};
use crate::json_text::object;
use crate::secrets::{ConfigField, quoted};
use crate::setters::{adders, setters};

/// The parts of the machine that a child process may access. The runtime enforces this, or refuses to connect.
///
/// The server always has its own processes, devices, `/tmp`, `/var/tmp` and `/run`, no shared memory with others and
/// no privileges. Other things are only restricted if an option says so: without [`read`](Self::read) and
/// [`write`](Self::write) it can access the same files as this process.
///
/// ```
/// use mcp_bindgen_model::{Isolation, ServerConfig};
///
/// let server = ServerConfig::stdio("git", "mcp-server-git")
///     .isolation(Isolation::new().temp_home().no_network().read(["~/src"]).write(["./out"]));
/// assert_eq!(
///     server.to_json()["isolation"].to_string(),
///     r#"{"home":"temp","network":"none","read":["~/src"],"write":["./out"]}"#
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Isolation {
    /// `true` if an empty folder in memory replaces the home folder.
    pub temp_home: bool,
    /// `true` if the network is blocked, including this machine.
    pub no_network: bool,
    /// The domains that it may reach, by HTTP and HTTPS through a proxy, instead of the whole network: see
    /// [`Domain`](crate::Domain). Empty for no such limit.
    pub domains: Vec<String>,
    /// Folders and files that it may read. With this or `write`, it can access nothing else but the system's programs
    /// and libraries.
    pub read: Option<Vec<String>>,
    /// Folders and files that it may read and write.
    pub write: Option<Vec<String>>,
}

impl Isolation {
    /// Isolates processes, devices and temporary folders only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if it has no network but that of a proxy, if any.
    #[must_use]
    pub fn restricts_network(&self) -> bool {
        self.no_network || !self.domains.is_empty()
    }

    pub(crate) fn folders_mut(&mut self) -> Vec<&mut String> {
        self.read.iter_mut().chain(&mut self.write).flatten().collect()
    }
}

adders! {
    Isolation {
        /// Adds allowed domains, and blocks the rest of the network: `api.github.com`, `*.example.com`, `example.com:8443`.
        /// The server receives a proxy in `HTTPS_PROXY` and similar variables; programs that ignore it have no network.
        /// Private addresses are refused.
        domains(domains) => [domains];
        /// Adds readable folders and files. The server can then access only these, the system's programs and libraries, its
        /// own program, and the paths of [`write`](Self::write).
        read(folders) => [read.get_or_insert_default()];
        /// Adds folders and files that it may read and write; otherwise like [`read`](Self::read).
        write(folders) => [write.get_or_insert_default()];
    }
}

setters! {
    Isolation {
        /// Replaces the home folder with an empty one in memory, which disappears with the server.
        temp_home() { temp_home = true }
        /// Blocks the network, including this machine.
        no_network() { no_network = true }
    }
}

const KEYS: &[Key] = &[
    key("home", Form::Words(&["temp"]), "", "an empty home in memory, deleted when the server ends"),
    key(
        "network",
        Form::Either(&Form::Words(&["none"]), &Form::TEXTS),
        "",
        "no network, and no connections to this machine; or the domains that it may reach, and nothing else",
    )
    .page("#domains"),
    key("read", Form::TEXTS, "[]", "files and folders that the child can read"),
    key("write", Form::TEXTS, "[]", "files and folders that the child can read and write"),
];

/// The table is this project's in every kind of file, so an unknown key in it is always an error.
impl ConfigValue for Isolation {
    const FORM: Form = Form::Table(KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut isolation = Self::new();
        for node in reader.known(node, what, KEYS)? {
            let what = format!("`{}` in {what}", node.key);
            match (node.key.as_str(), &node.kind) {
                ("home", _) => isolation.temp_home = reader.word(node, &what, &["temp"])? == "temp",
                ("network", Kind::List(_)) => isolation.domains = domains(reader, node, &what)?,
                ("network", _) => isolation.no_network = reader.word(node, &what, &["none"])? == "none",
                ("read", _) => isolation.read = Option::read(reader, node, &what)?,
                _ => isolation.write = Option::read(reader, node, &what)?,
            }
        }
        Ok(isolation)
    }

    fn to_json(&self) -> Value {
        let network = if self.no_network { Some("none".into()) } else { self.domains.member() };
        object(vec![
            ("home", self.temp_home.then(|| "temp".into())),
            ("network", network),
            ("read", self.read.member()),
            ("write", self.write.member()),
        ])
        .into()
    }

    fn change_texts(&mut self, _: ConfigField<'static>, change: &mut Change<'_>) {
        self.folders_mut().into_iter().for_each(|folder| *folder = change(ConfigField::Shown, folder));
    }
}

fn domains(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Vec<String>, FileError> {
    let domains = Vec::<String>::read(reader, node, what)?;
    if domains.is_empty() {
        return Err(reader.error(node.at, format!("{what} is empty")).with_help("write `\"none\"` for no network"));
    }
    for (domain, node) in domains.iter().zip(node.elements()) {
        if let Err(why) = Domain::parse(domain) {
            let message = format!("{what} contains `{}`, which is not a domain", quoted(domain));
            return Err(reader.error(node.at, message).with_help(why));
        }
    }
    Ok(domains)
}

/// A domain with its allowed ports: `api.github.com`, `*.example.com`, `example.com:8443`. The default ports are those
/// of HTTP and HTTPS, 80 and 443. `*.` matches one or more labels, but not zero.
///
/// ```
/// use mcp_bindgen_model::Domain;
///
/// let domain = Domain::parse("*.example.com")?;
/// assert!(domain.allows("api.example.com", 443) && domain.allows("a.b.example.com", 80));
/// assert!(!domain.allows("example.com", 443) && !domain.allows("api.example.com", 22));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// In lower case.
    name: String,
    /// `true` for a pattern that matches subdomains.
    is_wild: bool,
    port: Option<u16>,
}

impl Domain {
    /// Parses a domain.
    ///
    /// # Errors
    /// Fails if it is not a domain name: why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => {
                let why = format!("the port `{}` is not a number", crate::printable(port));
                (name, Some(port.parse().map_err(|_| why)?))
            }
            None => (text, None),
        };
        let is_wild = name.starts_with("*.");
        let name = name.strip_prefix("*.").unwrap_or(name);
        let is_label = |label: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(is_inner)
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        if name.contains('*') {
            return Err("`*` may only stand for the first label, as in `*.example.com`".to_owned());
        }
        if name.contains('/') {
            return Err("expected a domain without a path or `https://`".to_owned());
        }
        if !name.contains('.') || name.len() > 253 || !name.split('.').all(is_label) {
            return Err("expected a domain such as `api.example.com`, `*.example.com` or `example.com:8443`".to_owned());
        }
        if last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("addresses are not supported; use a domain name".to_owned());
        }
        Ok(Self { name: name.to_ascii_lowercase(), is_wild, port })
    }

    /// Returns `true` if a host, in lower case and without a dot at its end, may be reached at a port.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let is_named = match self.is_wild {
            true => host.strip_suffix(&*self.name).is_some_and(|above| above.len() > 1 && above.ends_with('.')),
            false => host == self.name,
        };
        is_named && self.port.map_or([80, 443].contains(&port), |only| only == port)
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_wild { "*." } else { "" })?;
        f.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_allows_itself_but_no_similar_host() {
        let allows = |domain: &str, host: &str, port| Domain::parse(domain).unwrap().allows(host, port);
        assert!(allows("API.github.com", "api.github.com", 443) && allows("x.org:8443", "x.org", 8443));
        assert!(!allows("x.org:8443", "x.org", 443) && !allows("x.org", "x.org", 22));
        for host in
            ["github.com", "evil-api.github.com", "api.github.com.evil.org", "sub.api.github.com", "apixgithub.com"]
        {
            assert!(!allows("api.github.com", host, 443), "{host}");
        }
        for host in ["example.com", "evilexample.com", "example.com.evil.org", ".example.com"] {
            assert!(!allows("*.example.com", host, 443), "{host}");
        }
    }

    #[test]
    fn invalid_domain_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "localhost",
            "10.0.0.1",
            "1.2.3.4:80",
            "https://x.org",
            "x.org/path",
            "x.*.org",
            "*x.org",
            "x..org",
            "x.org:http",
            "[::1]",
            "x org",
            "x.org:99999",
            "\u{430}pi.github.com",
        ] {
            assert!(Domain::parse(text).is_err(), "{text}");
        }
        for text in ["x.org", "*.x.org", "x.org:8443"] {
            assert_eq!(Domain::parse(text).unwrap().to_string(), text);
        }
    }
}
