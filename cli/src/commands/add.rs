//! `add`: adds a server to `mcp.toml`, writes its snapshot, and prints the Rust code to use it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use mcp_bindgen_codegen::{Bindings, ToolBinding};
use mcp_bindgen_model::{Config, FileError, ServerConfig, Snapshot, is_secret_key, printable, without_secrets};
use mcp_bindgen_runtime::ClientOptions;
use serde_json::json;
use toml_edit::{InlineTable, Table, value};

use super::faults::shared_module;
use crate::changes::apply;
use crate::config_file::ConfigFile;
use crate::exit::{Exit, Failure, Result};
use crate::import::{in_capitals, put_list, relative};
use crate::output::Output;
use crate::report::counted;
use crate::source::{self, Bound};
use crate::text::{cut, sentence};
use crate::{args, live, project};

/// How many tools are shown.
const SHOWN: usize = 12;
/// The longest part of a tool's description that is shown, in columns.
const SENTENCE: usize = 80;
/// Shorter values are no secrets that a shell has filled in.
const SHORTEST_SECRET: usize = 8;

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Add, output: &mut Output) -> Result<Exit> {
    let name = wanted.name.as_str();
    project::check_name(name)?;
    let path = file(config)?;
    let table = table(wanted, &path, output)?;
    let shown = project::shown(&path);
    let (_, config) = with_server(ConfigFile::open(&path)?, name, &table)?;
    let server = config.server(name)?.clone();
    without_secret(&server, None)?;
    for warning in config.warnings.iter().filter(|warning| warning.server.as_deref() == Some(name)) {
        output.warning(&warning.to_string());
    }
    let snapshot = if wanted.no_sync {
        None
    } else {
        output.status("Asking", &format!("{name} what it offers"));
        let client = live::client_knowing(&config, &server, None, ClientOptions::new());
        let help = "nothing was written; use `--no-sync` to add it without connecting";
        let failed = |error| live::unconfigured_failure(error, &server).with_help(help);
        Some(live::snapshot(&client).await.map_err(failed)?)
    };
    // Read again, to keep other changes of the file.
    let (file, config) = with_server(ConfigFile::locked(&path)?, name, &table)?;
    let Some(snapshot) = snapshot else {
        file.save()?;
        output.status("Added", &format!("{name} to {shown}"));
        output.status("", &format!("run `mcp-bindgen sync {name}` before its bindings are built"));
        return output.done(&json!({ "format": 1, "server": name, "config": shown, "status": "added" }));
    };
    let snapshot_path = config.snapshot_path(name);
    // Overrides of an earlier server of this name may not fit: that is found before anything is written.
    let options = project::options(&config, name, None)?;
    let read = (snapshot.to_text(), snapshot.clone());
    let bound = Bound::of(&config, name, options, read).map_err(|faults| {
        let Failure { exit, message } = source::misfits(faults);
        Failure { exit, message: format!("{message}\n  = note: nothing was written") }
    })?;
    if let Some(FileError { message, help, .. }) = source::idle(&bound, name).into_iter().next() {
        // The line of the pattern is not written.
        return Err(FileError { help, ..FileError::new(message) }.into());
    }
    // The configuration is last, so that the snapshot that it names exists.
    apply([(&*snapshot_path, Some(snapshot.to_text().into())), (file.path(), Some(file.to_text().into()))])?;
    drop(file);
    output.status("Added", &format!("{name} to {shown}"));
    let snapshot_shown = project::shown(&snapshot_path);
    output.status("Wrote", &format!("{snapshot_shown} ({})", counted(snapshot.tools.len(), "tool")));
    let (tools, _) = Bindings::describe(&bound.snapshot, &bound.options);
    told(&snapshot, &tools, output);
    let lines = rust(name, &tools);
    let names: Vec<&str> = tools.iter().map(|tool| tool.tool.as_str()).collect();
    output.report(&json!({
        "format": 1, "server": name, "config": shown, "status": "added", "snapshot": snapshot_shown, "tools": names, "rust": lines,
    }))?;
    output.data(&lines.join("\n"))?;
    Ok(Exit::Done)
}

/// Returns the file with the server in it, and the resulting configuration.
fn with_server(mut file: ConfigFile, name: &str, table: &Table) -> Result<(ConfigFile, Config)> {
    file.add_server(name, table.clone())?;
    let config = file.config().map_err(|error| of_options(error, &file, name))?;
    match shared_module(&config, &[name]) {
        Some(error) => Err(error.into()),
        None => Ok((file, config)),
    }
}

/// Converts the error of a file that is not yet written. If the new server causes it, the message names the option.
fn of_options(error: FileError, file: &ConfigFile, name: &str) -> Failure {
    if ConfigFile::open(file.path()).is_ok_and(|before| before.config().is_err()) {
        return error.into();
    }
    let of_key = error.message.split_once(&format!("` of server `{name}`"));
    let message = match of_key.and_then(|(key, fact)| Some((key.strip_prefix('`')?, fact))) {
        Some(("args", fact)) => format!("`-- ARGS`{fact}"),
        Some(("headers", fact)) => format!("`--header`{fact}"),
        Some((key, fact)) => format!("`--{key}`{fact}"),
        None => error.message,
    };
    Failure::usage(FileError { help: error.help, ..FileError::new(message) }.to_string())
}

/// Returns the `mcp.toml` that the server goes into: that of the project, or one beside its crate.
pub(super) fn file(explicit: Option<&Path>) -> Result<PathBuf> {
    let path = project::target(explicit)?;
    if project::is_json(&path) {
        let help = format!("run `mcp-bindgen import --from {}` to copy its servers to an mcp.toml", path.display());
        return Err(Failure::new(project::not_ours(&path, &help)));
    }
    Ok(path)
}

/// Returns the table of the server, as a person would write it.
fn table(wanted: &args::Add, file: &Path, output: &mut Output) -> Result<Table> {
    let mut table = Table::new();
    let args::Source { npm, uvx, command, url } = &wanted.source;
    let command = command.as_ref().map(|command| rebased(command, file)).transpose()?;
    for (key, given) in [("npm", npm), ("uvx", uvx), ("command", &command), ("url", url)] {
        if let Some(given) = given {
            not_secret(&format!("--{key} "), (key, given))?;
            table.insert(key, value(given.as_str()));
        }
    }
    if url.is_some() && (!wanted.args.is_empty() || !wanted.env.is_empty() || !wanted.inherit_env.is_empty()) {
        return Err(Failure::usage("a server at a URL takes no arguments or environment; use `--header`"));
    }
    if url.is_none() && !wanted.header.is_empty() {
        return Err(Failure::usage("`--header` requires `--url`; use `--env` for a child process"));
    }
    for argument in &wanted.args {
        not_secret("-- ", ("args", argument))?;
    }
    put_list(&mut table, "args", &wanted.args);
    let env: Vec<_> = wanted.env.iter().map(|given| variable_of_environment(given)).collect::<Result<_, _>>()?;
    if let Some((name, _)) = env.iter().find(|(name, _)| wanted.inherit_env.contains(name)) {
        let message = format!("`{}` is set by both `--env` and `--inherit-env`", printable(name));
        return Err(Failure::usage(message).with_help("remove one of them"));
    }
    let headers: Vec<_> = wanted.header.iter().map(|given| header(given)).collect::<Result<_, _>>()?;
    env.iter().chain(&headers).for_each(|(key, text)| warn_of_filled_in(key, key, text, output));
    put_pairs(&mut table, "env", env, str::to_owned)?;
    wanted.inherit_env.iter().try_for_each(|name| check_inherited(name))?;
    once(wanted.inherit_env.iter().cloned())?;
    put_list(&mut table, "inherit_env", &wanted.inherit_env);
    put_pairs(&mut table, "headers", headers, str::to_ascii_lowercase)?;
    if wanted.tools.iter().any(String::is_empty) {
        return Err(Failure::usage("`--tools` is empty: expected tool names or patterns such as `list_*`"));
    }
    put_list(&mut table, "tools", &wanted.tools);
    Ok(table)
}

/// Rebases a command path, which is relative to the current folder, onto the folder of the file.
fn rebased(command: &str, file: &Path) -> Result<String> {
    let is_absolute = command.starts_with(['/', '\\', '~']) || command.get(1..2) == Some(":");
    // A name is searched on PATH.
    if is_absolute || command.starts_with("${") || !command.contains(['/', '\\']) {
        return Ok(command.to_owned());
    }
    let file = std::path::absolute(file)?;
    let folder = project::folder_of(&file);
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    Ok(match relative(&folder, &env::current_dir()?).as_str() {
        "." => command.to_owned(),
        way => format!("{way}/{}", command.strip_prefix("./").unwrap_or(command)),
    })
}

/// Adds pairs with unique names to the table; `compared` normalizes the names for the comparison.
fn put_pairs(table: &mut Table, key: &str, pairs: Vec<(String, String)>, compared: fn(&str) -> String) -> Result<()> {
    once(pairs.iter().map(|(name, _)| compared(name)))?;
    if !pairs.is_empty() {
        table.insert(key, value(pairs.into_iter().collect::<InlineTable>()));
    }
    Ok(())
}

/// Refuses repeated names.
fn once(names: impl IntoIterator<Item = String>) -> Result<()> {
    let mut known = BTreeSet::new();
    match names.into_iter().find(|name| !known.insert(name.clone())) {
        Some(name) => Err(Failure::usage(format!("duplicate `{}`", printable(&name)))),
        None => Ok(()),
    }
}

/// Refuses a value, an invalid name and a secret in the place of the name of a variable.
fn check_inherited(name: &str) -> Result<()> {
    if let Some((name, _)) = name.split_once('=') {
        let message = format!("`--inherit-env {0}` takes no value; use `--env {0}=VALUE`", printable(name));
        return Err(Failure::usage(message));
    }
    check_variable(name, "expected `--inherit-env NAME`")?;
    let in_our_words = |_| secret("the value of `--inherit-env`", "write the name of the variable");
    not_secret("--inherit-env ", ("inherit_env", name)).map_err(in_our_words)
}

fn check_variable(name: &str, wanted: &str) -> Result<()> {
    if !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    Err(Failure::usage(format!("invalid variable name `{}`; {wanted}", printable(name))))
}

/// Parses `NAME=VALUE`, or the name of a variable to pass on.
fn variable_of_environment(given: &str) -> Result<(String, String)> {
    let (name, text) = match given.split_once('=') {
        Some((name, text)) => (name.trim(), text.trim().to_owned()),
        None => (given.trim(), format!("${{{}}}", given.trim())),
    };
    check_variable(name, "expected `--env NAME=VALUE`")?;
    not_secret("--env ", (name, &text))?;
    Ok((name.to_owned(), text))
}

/// Parses `NAME: VALUE`.
fn header(given: &str) -> Result<(String, String)> {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match given.split_once([':', '=']).map(|(name, text)| (name.trim(), text.trim())) {
        Some((name, text)) if !name.is_empty() && name.chars().all(is_of_token) => {
            not_secret("--header ", (name, text))?;
            Ok((name.to_owned(), text.to_owned()))
        }
        Some((name, _)) => Err(Failure::usage(format!("invalid header name `{}`", printable(name)))),
        // It may be the value alone.
        None => Err(Failure::usage("expected `--header NAME: VALUE`")),
    }
}

/// Refuses a plain secret, and shows the placeholder to write. The message does not repeat the secret.
fn not_secret(option: &str, (key, text): (&str, &str)) -> Result<()> {
    if text.is_empty() || text.contains("${") {
        return Ok(());
    }
    let filled_in = variable_of(text).filter(|_| is_secret_key(key));
    let is_keyed = ["--env ", "--header "].contains(&option);
    let own = || if is_keyed { variable(key) } else { "SECRET".to_owned() };
    let variable = filled_in.clone().unwrap_or_else(own);
    let placeholder = format!("${{{variable}}}");
    let shown = without_secrets(key, text, &placeholder);
    if shown == text && !is_secret_key(key) {
        return Ok(());
    }
    let shown = if shown == text { &placeholder } else { &*shown };
    let typed = printable(&match option {
        "--env " => format!("{option}'{key}={shown}'"),
        "--header " => format!("{option}'{key}: {shown}'"),
        _ => format!("{option}'{shown}'"),
    });
    let why = match filled_in {
        Some(_) => format!("the shell expanded `{variable}`: quote it, `{typed}`"),
        None => format!("use a placeholder, `{typed}`, and set the variable `{variable}`"),
    };
    Err(secret(&format!("the value of `{}`", printable(key)), &why))
}

/// Refuses what only the whole configuration shows to be a secret, as an argument by the one before it. Secrets that the
/// server had before are let through.
pub(super) fn without_secret(server: &ServerConfig, before: Option<&ServerConfig>) -> Result<()> {
    let before = before.map(secrets).unwrap_or_default();
    let Some((place, key, _)) = secrets(server).into_iter().find(|secret| !before.contains(secret)) else {
        return Ok(());
    };
    let variable = variable(&key);
    let why = format!("use a placeholder, `'${{{variable}}}'`, and set the variable `{variable}`");
    Err(secret(&format!("the value of `{}` in {place}", printable(&key)), &why))
}

/// Returns the secrets that are written out: the place, the key and the value of each.
fn secrets(server: &ServerConfig) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let _ = server.replace_secrets(|field, text, secret| {
        let value = text.get(secret.range.clone()).unwrap_or_default();
        found.push((field.label(), secret.key.clone(), value.to_owned()));
        String::new()
    });
    found
}

fn secret(what: &str, why: &str) -> Failure {
    Failure::usage(format!(
        "{what} looks like a secret, which must not be stored in mcp.toml\n  = help: {why}\n  = note: nothing was \
         written; the value may be in your shell history"
    ))
}

/// Warns if a shell seems to have expanded an unquoted placeholder whose value is not a secret.
pub(super) fn warn_of_filled_in(name: &str, key: &str, text: &str, output: &mut Output) {
    let shown = printable(name);
    if text.is_empty() && is_secret_key(key) {
        let variable = variable(key);
        output.warning(&format!(
            "`{shown}` has no value; the shell may have expanded an unset variable\n  = help: quote the placeholder: \
             `'..${{{variable}}}'`"
        ));
    } else if let Some(variable) = variable_of(text) {
        output.warning(&format!(
            "`{shown}` is the current value of `{variable}`, and is stored in plain text\n  = help: for a \
             placeholder, quote it: `'{shown}=${{{variable}}}'`"
        ));
    }
}

/// Returns the variable that this long text is the value of.
fn variable_of(text: &str) -> Option<String> {
    let is_it = |known: &OsString| text.len() >= SHORTEST_SECRET && known.to_str() == Some(text);
    env::vars_os().find(|(_, known)| is_it(known)).and_then(|(name, _)| name.into_string().ok())
}

/// Returns the variable that a secret under this key could be in.
fn variable(key: &str) -> String {
    let name = in_capitals(key);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) { format!("SECRET_{name}") } else { name }
}

fn told(snapshot: &Snapshot, tools: &[ToolBinding], output: &mut Output) {
    let width = tools.iter().take(SHOWN).map(|tool| tool.tool.chars().count()).max().unwrap_or_default();
    for tool in tools.iter().take(SHOWN) {
        let said =
            snapshot.tools.get(tool.index).and_then(|tool| tool.get("description")?.as_str()).unwrap_or_default();
        let name = printable(&tool.tool);
        output.status("", format!("{name:<width$}  {}", cut(&sentence(said), SENTENCE)).trim_end());
    }
    if tools.len() > SHOWN {
        output.status("", &format!("and {}", counted(tools.len() - SHOWN, "more tool")));
    }
}

/// Shows the next steps in Rust, with the first tool for an example.
fn rust(server: &str, tools: &[ToolBinding]) -> Vec<String> {
    let mut lines = vec![format!("mcp_bindgen::mcp_tools!(\"{server}\");")];
    if let Some(tool) = tools.first() {
        let ToolBinding { module, client_type, method, params_type, .. } = tool;
        lines.push(format!("let client = {module}::{client_type}::connect().await?;"));
        lines.push(format!("let result = client.{method}({module}::{params_type}::new(/* .. */)).await?;"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_secrets_are_refused_and_not_printed() {
        for (key, text) in [
            ("GITHUB_TOKEN", "hunter2-hunter2"),
            ("X", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
            ("Authorization", "Bearer abcdefghijklmnop"),
        ] {
            let failure = not_secret("--env ", (key, text)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(!failure.message.contains(text) && failure.message.contains("${"), "{}", failure.message);
        }
        for (key, text) in [("GITHUB_TOKEN", "${GITHUB_TOKEN}"), ("LEVEL", "debug"), ("TOKEN", "")] {
            assert!(not_secret("--env ", (key, text)).is_ok(), "{key}");
        }
    }
}
