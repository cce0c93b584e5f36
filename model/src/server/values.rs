//! The values that may hold placeholders and secrets, and what is done to all of them alike.

use std::collections::BTreeMap;

use super::{ServerConfig, Transport};
use crate::FileError;
use crate::placeholder::{self, Missing};
use crate::secrets::{self, Place};

impl ServerConfig {
    /// Puts values in the places of the placeholders, just before connecting, and makes relative paths absolute where the
    /// [folder](Self::folder) is known. `lookup` gives the value of an environment variable. The result still shows placeholders alone in `Debug` and in [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// Names the variable that is not set, and the server that needs it.
    pub fn expand(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, FileError> {
        let mut ready = self.map_values(&mut |place, value| {
            placeholder::expand(value, &lookup).map_err(|Missing { variable }| {
                FileError::new(format!(
                    "environment variable `{variable}` is not set; server `{}` needs it for {}",
                    self.name,
                    label(place)
                ))
                .with_help(format!("set `{variable}`, or give it a default: `${{{variable}:-...}}`"))
            })
        })?;
        ready.as_written = Some(Box::new(self.written().clone()));
        ready.resolve_paths();
        Ok(ready)
    }

    /// The configuration as somebody wrote it, before any placeholder was replaced.
    pub(super) fn written(&self) -> &Self {
        self.as_written.as_deref().unwrap_or(self)
    }

    /// The configuration with something else in the place of every secret that somebody wrote out.
    pub(super) fn hide_secrets(&self, replacement: &dyn Fn(Place<'_>, &str) -> String) -> Self {
        let hidden = self.written().map_values(&mut |place, value| {
            let hidden = secrets::hide(place, value, &|key| replacement(place, key));
            Ok::<_, std::convert::Infallible>(hidden.map_or_else(|| value.to_owned(), |(_, text)| text))
        });
        match hidden {
            Ok(hidden) => hidden,
        }
    }

    fn map_values<E>(&self, change: &mut dyn FnMut(Place<'_>, &str) -> Result<String, E>) -> Result<Self, E> {
        let transport = match &self.transport {
            Transport::Stdio { command, args, cwd } => {
                let mut previous = None;
                let mut changed = Vec::with_capacity(args.len());
                for argument in args {
                    changed.push(change(Place::Argument { previous }, argument)?);
                    previous = Some(argument.as_str());
                }
                Transport::Stdio {
                    command: change(Place::Command, command)?,
                    args: changed,
                    cwd: cwd.as_deref().map(|cwd| change(Place::Folder, cwd)).transpose()?,
                }
            }
            Transport::Http { url, headers } => {
                Transport::Http { url: change(Place::Url, url)?, headers: map_headers(headers, change)? }
            }
            Transport::Sse { url, headers } => {
                Transport::Sse { url: change(Place::Url, url)?, headers: map_headers(headers, change)? }
            }
        };
        let env = self
            .env
            .iter()
            .map(|(key, value)| Ok((key.clone(), change(Place::Env(key), value)?)))
            .collect::<Result<_, E>>()?;
        Ok(Self { transport, env, ..self.clone() })
    }
}

fn map_headers<E>(
    headers: &BTreeMap<String, String>,
    change: &mut dyn FnMut(Place<'_>, &str) -> Result<String, E>,
) -> Result<BTreeMap<String, String>, E> {
    headers.iter().map(|(key, value)| Ok((key.clone(), change(Place::Header(key), value)?))).collect()
}

fn label(place: Place<'_>) -> String {
    match place {
        Place::Command => "`command`".to_owned(),
        Place::Argument { .. } => "`args`".to_owned(),
        Place::Folder => "`cwd`".to_owned(),
        Place::Url => "`url`".to_owned(),
        Place::Env(key) => format!("env `{key}`"),
        Place::Header(key) => format!("header `{key}`"),
    }
}
