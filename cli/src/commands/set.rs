//! `set`: keys of a server in `mcp.toml`.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use mcp_bindgen_model::Config;
use serde_json::json;
use toml_edit::{Key, Value};

use super::add::{warn_of_filled_in, without_secret};
use super::edit;
use crate::args;
use crate::config_file::{ConfigFile, set};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::project;
use crate::source;

/// The keys to set and to remove.
#[derive(Clone)]
struct Edits<'w> {
    server: &'w str,
    set: Vec<(Vec<Key>, Value)>,
    unset: Vec<Vec<Key>>,
}

pub(crate) fn run(config: Option<&Path>, wanted: &args::Set, output: &mut Output) -> Result<Exit, Failure> {
    let path = edit::target(config)?;
    let shown = project::shown(&path, &env::current_dir()?);
    let server = wanted.server.as_str();
    let edits = Edits::read(wanted)?.with_texts(&path)?;
    let (file, config) = edits.applied(ConfigFile::locked(&path)?)?;
    let known = file.before().unwrap_or_default();
    without_secret(config.server(server)?, known.servers.get(server))?;
    for (path, value) in &edits.set {
        if let ([table, key], Some(text)) = (path.as_slice(), value.as_str())
            && ["env", "headers"].contains(&table.get())
        {
            warn_of_filled_in(&name(path), key.get(), text, output);
        }
    }
    let status = if file.save()? { "changed" } else { "unchanged" };
    drop(file);
    let set: Vec<String> = edits.set.iter().map(|(path, _)| name(path)).collect();
    let unset: Vec<String> = edits.unset.iter().map(|path| name(path)).collect();
    let keys = set.iter().cloned().chain(unset.iter().map(|key| format!("no {key}"))).collect::<Vec<_>>().join(", ");
    output.status(if status == "changed" { "Changed" } else { "Unchanged" }, &format!("{server} in {shown}: {keys}"));
    let transport = |config: &Config| config.servers.get(server).map(|server| server.transport.clone());
    if known.servers.contains_key(server) && transport(&known) != transport(&config) {
        output.status("Next", &format!("mcp-bindgen sync {server}"));
    }
    // `check` reports a snapshot that cannot be read.
    if let Ok(bound) = source::bound(&config, server, None) {
        source::unusable(&bound, server).iter().for_each(|error| output.warning(&error.to_string()));
    }
    output.report(&json!({
        "format": 1, "server": server, "config": shown, "status": status, "set": set, "unset": unset,
    }))?;
    Ok(Exit::Done)
}

impl<'w> Edits<'w> {
    fn read(wanted: &'w args::Set) -> Result<Self, Failure> {
        let set: Vec<_> = wanted.keys.iter().map(|text| assignment(text)).collect::<Result<_, _>>()?;
        let unset = wanted.unset.iter().map(|text| {
            Key::parse(text).map_err(|_| {
                Failure::usage("invalid key for `--unset`\n  = help: `--unset timeout`, `--unset env.TOKEN`")
            })
        });
        let unset: Vec<_> = unset.collect::<Result<_, _>>()?;
        let mut known = BTreeSet::new();
        for path in set.iter().map(|(path, _)| path).chain(&unset) {
            if !known.insert(path.iter().map(Key::get).collect::<Vec<_>>()) {
                return Err(Failure::usage(format!("duplicate `{}`\n  = help: pass it once", name(path))));
            }
        }
        Ok(Self { server: &wanted.server, set, unset })
    }

    fn applied(&self, mut file: ConfigFile) -> Result<(ConfigFile, Config), Failure> {
        for path in &self.unset {
            if !file.unset(self.server, path)? {
                let (server, key) = (self.server, name(path));
                let message = format!("server `{server}` has no `{key}`\n  = note: nothing was written");
                return Err(Failure::new(message));
            }
        }
        let table = file.server(self.server)?;
        self.set.iter().try_for_each(|(path, value)| set(table, path, value.clone()))?;
        let config = file.checked()?;
        Ok((file, config))
    }

    /// Parses numbers, dates and booleans as text for keys that take text: `env.PORT=8080`.
    ///
    /// # Errors
    /// Fails if the value is invalid both as TOML and as text.
    fn with_texts(mut self, path: &Path) -> Result<Self, Failure> {
        let tried = |edits: &Self| edits.applied(ConfigFile::open(path)?);
        while let Err(failure) = tried(&self) {
            let is_mended =
                |edits: &Self| tried(edits).map_or_else(|other| subject(&other) != subject(&failure), |_| true);
            let mut candidates = (0..self.set.len()).filter_map(|index| self.with_text(index));
            self = candidates.find(is_mended).ok_or(failure)?;
        }
        Ok(self)
    }

    fn with_text(&self, index: usize) -> Option<Self> {
        let mut edits = self.clone();
        let (_, value) = edits.set.get_mut(index)?;
        if value.is_str() || value.is_array() || value.is_inline_table() {
            return None;
        }
        *value = value.clone().decorated("", "").to_string().into();
        Some(edits)
    }
}

/// Returns the subject of a failure: "`timeout` of server `github`".
fn subject(failure: &Failure) -> &str {
    failure.message.split(" must be ").next().unwrap_or_default()
}

/// Reads `KEY=VALUE`.
fn assignment(text: &str) -> Result<(Vec<Key>, Value), Failure> {
    let mut cuts = text.match_indices('=').filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
    // The value may be a secret.
    let (path, value) = cuts.find_map(|(key, value)| Some((Key::parse(key).ok()?, value))).ok_or_else(|| {
        Failure::usage("expected `KEY=VALUE`\n  = help: `timeout=60s`, `'tools=[\"list_*\"]'`, `'env.TOKEN=${TOKEN}'`")
    })?;
    let read = value.trim().parse().unwrap_or_else(|_| Value::from(value));
    Ok((path, read))
}

fn name(path: &[Key]) -> String {
    path.iter().map(|key| key.display_repr()).collect::<Vec<_>>().join(".")
}
