//! The texts that may hold placeholders and secrets, and what is done to all of them alike.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use super::{ServerConfig, Transport};
use crate::FileError;
use crate::placeholder::{self, Missing, Placeholder, SecretRef};
use crate::secrets::{self, ConfigField, Secret, is_secret_key};

/// What the names of the variables begin with that stand for secrets in bindings. They are like no other's, so that no
/// variable that happens to be set is sent to a server.
pub(super) const LEFT_OUT: &str = "MCP_SECRET_";

impl ServerConfig {
    /// Puts values in the places of the placeholders, just before connecting, and makes relative paths absolute where the
    /// [folder](Self::folder) is known. `lookup` gives the value of an environment variable; of a keyring, nothing is
    /// known. The result still shows placeholders alone in `Debug` and in [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// Names the variable that is not set, and the server that needs it.
    pub fn expand(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, FileError> {
        self.expand_with(|secret| match secret {
            SecretRef::Variable(name) => lookup(name),
            SecretRef::Keyring(_) => None,
        })
    }

    /// As [`expand`](Self::expand), with placeholders of every kind.
    ///
    /// # Errors
    /// Names what is not there, and the server that needs it.
    pub fn expand_with(&self, lookup: impl Fn(&SecretRef) -> Option<String>) -> Result<Self, FileError> {
        let mut ready = self.map_texts(&mut |place, text| {
            if !place.is_expanded() {
                return Ok(text.to_owned());
            }
            placeholder::expand(text, &lookup).map_err(|Missing(secret)| self.missing(&place.label(), &secret))
        })?;
        ready.as_written = Some(Box::new(self.written().clone()));
        ready.resolve_paths();
        Ok(ready)
    }

    /// What the placeholders stand for, each once, in order of their names.
    pub fn placeholders(&self) -> Vec<SecretRef> {
        let mut found = BTreeSet::new();
        let seen = self.map_texts(&mut |place, text| {
            if place.is_expanded() {
                found.extend(placeholder::find(text).iter().map(Placeholder::stands_for));
            }
            Ok::<_, Infallible>(String::new())
        });
        match seen {
            Ok(_) => found.into_iter().collect(),
        }
    }

    /// The configuration as somebody wrote it, before any placeholder was replaced.
    pub(super) fn written(&self) -> &Self {
        self.as_written.as_deref().unwrap_or(self)
    }

    fn missing(&self, place: &str, secret: &SecretRef) -> FileError {
        let name = &self.name;
        let SecretRef::Variable(variable) = secret else {
            return FileError::new(format!("nothing is kept as `{secret}`; server `{name}` needs it for {place}"))
                .with_help("put it into the keyring under that name and the service `mcp-bindgen`");
        };
        if variable.starts_with(LEFT_OUT) {
            return FileError::new(format!(
                "{place} of server `{name}` was a secret written out, which bindings do not carry"
            ))
            .with_help(format!(
                "write a placeholder in the configuration and make the bindings anew, set `{variable}`, or name the \
                 server in `MCP_SERVERS`"
            ));
        }
        FileError::new(format!("environment variable `{variable}` is not set; server `{name}` needs it for {place}"))
            .with_help(if is_secret_key(variable) {
                format!("set `{variable}`")
            } else {
                format!("set `{variable}`, or give it a default: `${{{variable}:-...}}`")
            })
    }

    /// The values that look like secrets: what nothing that leaves the program should repeat. Of a configuration that
    /// was [expanded](Self::expand), these are the real ones.
    ///
    /// ```
    /// use mcp_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("git", "mcp-server-git").args(["--token=abc", "--port=80"]).env("PASSWORD", "${P}");
    /// assert_eq!(server.secrets(), ["abc"]);
    /// assert_eq!(server.expand(|_| Some("hunter2".to_owned()))?.secrets(), ["abc", "hunter2"]);
    /// # Ok::<(), mcp_model::FileError>(())
    /// ```
    pub fn secrets(&self) -> Vec<String> {
        let mut values = Vec::new();
        self.each_secret(&mut |_, text, secret| {
            let value = text.get(secret.range.clone()).unwrap_or_default();
            values.push(if secret.is_default { value.trim_start_matches(":-") } else { value }.to_owned());
        });
        values
    }

    /// The configuration as it was written, with something else in the place of every secret in it: of one that is the
    /// [default](Secret::is_default) of a placeholder, the `:-` before it as well. `instead` gets the whole text that the
    /// secret stands in.
    ///
    /// ```
    /// use mcp_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("git", "mcp-server-git").args(["--token=abc"]).env("PASSWORD", "hunter2");
    /// let server = server.replace_secrets(|_, _, secret| format!("${{{}}}", secret.key.to_uppercase()));
    /// assert_eq!(server, ServerConfig::stdio("git", "mcp-server-git").args(["--token=${TOKEN}"]).env("PASSWORD", "${PASSWORD}"));
    /// ```
    #[must_use]
    pub fn replace_secrets(&self, mut instead: impl FnMut(ConfigField<'_>, &str, &Secret) -> String) -> Self {
        let replaced = self.written().map_texts(&mut |place, text| {
            Ok::<_, Infallible>(secrets::replace(text, &secrets::find(place, text), |secret| {
                instead(place, text, secret)
            }))
        });
        match replaced {
            Ok(replaced) => replaced,
        }
    }

    /// As [`replace_secrets`](Self::replace_secrets), with nothing but the secrets replaced: what follows one in a command
    /// line, or names it, stays. Where that is not certain, more is taken for the secret, and never less.
    ///
    /// ```
    /// use mcp_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("a", "sh").args(["-c", "API_KEY=abc; exec server"]);
    /// let server = server.replace_secrets_exactly(|_, _, secret| format!("${{{}}}", secret.key));
    /// assert_eq!(server, ServerConfig::stdio("a", "sh").args(["-c", "API_KEY=${API_KEY}; exec server"]));
    /// ```
    #[must_use]
    pub fn replace_secrets_exactly(&self, mut instead: impl FnMut(ConfigField<'_>, &str, &Secret) -> String) -> Self {
        let replaced = self.written().map_texts(&mut |place, text| {
            Ok::<_, Infallible>(secrets::replace_exactly(place, text, |secret| instead(place, text, secret)))
        });
        match replaced {
            Ok(replaced) => replaced,
        }
    }

    pub(crate) fn each_secret(&self, see: &mut dyn FnMut(ConfigField<'_>, &str, &Secret)) {
        let seen = self.map_texts(&mut |place, text| {
            secrets::find(place, text).iter().for_each(|secret| see(place, text, secret));
            Ok::<_, Infallible>(String::new())
        });
        match seen {
            Ok(_) => {}
        }
    }

    /// The configuration as it was written, with something else in the place of every secret in it.
    pub(super) fn hide_secrets(&self, replacement: &mut dyn FnMut(ConfigField<'_>, &Secret) -> String) -> Self {
        self.replace_secrets(|place, _, secret| replacement(place, secret))
    }

    fn map_texts<E>(&self, change: &mut dyn FnMut(ConfigField<'_>, &str) -> Result<String, E>) -> Result<Self, E> {
        let transport = match &self.transport {
            Transport::Stdio { command, args, cwd } => Transport::Stdio {
                args: args
                    .iter()
                    .enumerate()
                    .map(|(index, argument)| change(ConfigField::Argument { command, all: args, index }, argument))
                    .collect::<Result<_, E>>()?,
                command: change(ConfigField::Command, command)?,
                cwd: cwd.as_deref().map(|cwd| change(ConfigField::Folder, cwd)).transpose()?,
            },
            Transport::Http { url, headers } => {
                Transport::Http { url: change(ConfigField::Url, url)?, headers: map_headers(headers, change)? }
            }
            Transport::Sse { url, headers } => {
                Transport::Sse { url: change(ConfigField::Url, url)?, headers: map_headers(headers, change)? }
            }
        };
        let env = map_entries(&self.env, |name, value| {
            Ok((change(ConfigField::Name("env"), name)?, change(ConfigField::Env(name), value)?))
        })?;
        let isolation = self.isolation.as_ref();
        let isolation = isolation.map(|isolation| isolation.map_folders(|folder| change(ConfigField::Shown, folder)));
        let mut notes = |key, texts: &[String]| -> Result<Vec<String>, E> {
            texts.iter().map(|text| change(ConfigField::Note(key), text)).collect()
        };
        Ok(Self {
            transport,
            env,
            isolation: isolation.transpose()?,
            inherit_env: notes("inherit_env", &self.inherit_env)?,
            tools: self.tools.as_deref().map(|tools| notes("tools", tools)).transpose()?,
            exclude: notes("exclude", &self.exclude)?,
            approve: notes("approve", &self.approve)?,
            remote_use: notes("remote_use", &self.remote_use)?,
            rust: self.rust.map_texts(|text| change(ConfigField::Note("rust"), text))?,
            description: self
                .description
                .as_deref()
                .map(|description| change(ConfigField::Note("description"), description))
                .transpose()?,
            ..self.clone()
        })
    }
}

fn map_headers<E>(
    headers: &BTreeMap<String, String>,
    change: &mut dyn FnMut(ConfigField<'_>, &str) -> Result<String, E>,
) -> Result<BTreeMap<String, String>, E> {
    map_entries(headers, |name, value| {
        Ok((change(ConfigField::Name("headers"), name)?, change(ConfigField::Header(name), value)?))
    })
}

fn map_entries<E>(
    entries: &BTreeMap<String, String>,
    mut change: impl FnMut(&str, &str) -> Result<(String, String), E>,
) -> Result<BTreeMap<String, String>, E> {
    entries.iter().map(|(name, value)| change(name, value)).collect()
}
