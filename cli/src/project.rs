//! The configuration that a command works on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use mcp_bindgen_codegen::{CODES, Options};
use mcp_bindgen_model::{Config, FileError, SecretRef, ServerConfig, is_server_name, matches_glob, printable};
use toml_edit::DocumentMut;

use crate::exit::{Failure, Result};
use crate::output::Output;
use crate::text::{did_you_mean, in_ticks};

/// The rule for names of servers, as messages give it.
pub(crate) const NAME_RULE: &str = "use 1 to 64 of a-z, 0-9, `-` and `_`, beginning with a letter or a digit";
const SERVERS_VARIABLE: &str = "MCP_SERVERS";
/// The configurations of servers; the first that exists counts.
pub(crate) const CONFIGURATIONS: [&str; 2] = ["mcp.toml", ".mcp.json"];

/// Loads the configuration, and prints its warnings. Servers of `MCP_SERVERS` precede those of a file.
pub(crate) fn load(explicit: Option<&Path>, output: &mut Output) -> Result<Config> {
    load_for(explicit, &[], output)
}

/// Loads the configuration for servers of these names, or for all if there are no names. Warnings about other servers
/// are omitted.
pub(crate) fn load_for(explicit: Option<&Path>, names: &[String], output: &mut Output) -> Result<Config> {
    let (config, strangers) = read(explicit)?;
    strangers.iter().for_each(|stranger| output.warning_once(&stranger.to_string()));
    let is_wanted = |server: &String| names.is_empty() || names.contains(server);
    for warning in config.warnings.iter().filter(|warning| warning.server.as_ref().is_none_or(is_wanted)) {
        output.warning_once(&warning.to_string());
    }
    Ok(config)
}

/// Reads the configuration, and returns it with the warnings about servers of `MCP_SERVERS` that its file does not have.
pub(crate) fn read(explicit: Option<&Path>) -> Result<(Config, Vec<FileError>)> {
    // CI often sets an unset variable to an empty value.
    let named = env::var(SERVERS_VARIABLE).ok().filter(|text| !text.trim().is_empty());
    let named = named.map(|text| Config::from_env_json(&text)).transpose()?;
    let Some(path) = find(explicit)? else {
        return Ok((named.ok_or_else(missing)?, Vec::new()));
    };
    let mut config = Config::load(&path)?;
    config.check_codes(&CODES.iter().map(|code| code.id).collect::<Vec<_>>())?;
    let Some(named) = named else { return Ok((config, Vec::new())) };
    let strangers = strangers(&config, &named, &path);
    config.warnings.extend(named.warnings);
    config.servers.extend(named.servers);
    Ok((config, strangers))
}

/// Returns the configuration to change: the one that is read, or a new one beside the crate.
pub(crate) fn target(explicit: Option<&Path>) -> Result<PathBuf> {
    let here = env::current_dir()?;
    let new = || seen_from(&crate_of(&here, None).unwrap_or_else(|| here.clone()).join("mcp.toml"), &here);
    Ok(find(explicit)?.unwrap_or_else(new))
}

/// Returns the error for a missing configuration.
pub(crate) fn missing() -> FileError {
    FileError::new("no mcp.toml or .mcp.json in this folder or above").with_help(
        "run `mcp-bindgen init` or `mcp-bindgen add` to create an mcp.toml, or specify a file with `--config`",
    )
}

/// Returns warnings about unknown names in the variable, because a misspelt name would otherwise be ignored silently.
fn strangers(config: &Config, named: &Config, path: &Path) -> Vec<FileError> {
    let known = || config.servers.keys().map(String::as_str);
    let unknown = named.servers.keys().filter(|name| !config.servers.contains_key(*name));
    let warning = |name: &String| {
        let error = FileError::new(format!("{SERVERS_VARIABLE} names `{name}`, which is not a server of the file"));
        let help = did_you_mean(name, known())
            .unwrap_or_else(|| format!("it replaces no server; the file has {}", in_ticks(known())));
        error.in_file(path).with_help(help)
    };
    unknown.map(warning).collect()
}

/// Returns the options for a server's bindings in the crate of a file, or of the current folder. Prefixed names also
/// require [`Options::beside`].
pub(crate) fn options(config: &Config, server: &str, file: Option<&Path>) -> Result<Options> {
    let server = config.server_with_defaults(server)?;
    let here = env::current_dir()?;
    let folder = crate_of(&here, file).or_else(|| server.folder.clone()).unwrap_or(here);
    Ok(Options::for_crate(&server, &folder))
}

/// Returns the folder of the crate that a file belongs to; without a file, of the current one.
pub(crate) fn crate_of(here: &Path, file: Option<&Path>) -> Option<PathBuf> {
    let start = file.map_or_else(|| here.to_owned(), |file| here.join(file));
    start.ancestors().find(|folder| folder.join("Cargo.toml").is_file()).map(Path::to_owned)
}

/// Returns the specified configuration, or that of the current folder, its crate or its workspace.
pub(crate) fn find(explicit: Option<&Path>) -> Result<Option<PathBuf>> {
    if let Some(path) = explicit {
        return Ok(Some(path.to_owned()));
    }
    let here = env::current_dir()?;
    for folder in here.ancestors() {
        match CONFIGURATIONS.iter().map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_ok()) {
            // A configuration further up must not be used instead.
            Some(path) if !path.is_file() => {
                is_missing(&seen_from(&path, &here))?;
                let what = if path.is_dir() { "a directory" } else { "not a readable file" };
                let error = FileError::new(format!("expected a file, found {what}")).in_file(seen_from(&path, &here));
                return Err(error.with_help("move it, or specify the configuration with `--config`").into());
            }
            None if !folder.join("Cargo.toml").is_file() => {}
            _ => return Ok(Config::find(folder).map(|path| seen_from(&path, &here))),
        }
    }
    Ok(None)
}

/// Returns `true` if there is no file at a path. If that is unknown, reading reports the reason.
///
/// # Errors
/// Fails for a broken link, in whose place nothing may be written.
pub(crate) fn is_missing(path: &Path) -> Result<bool, FileError> {
    match path.try_exists() {
        Ok(false) if path.is_symlink() => {
            let error = FileError::new("broken symbolic link").in_file(path);
            Err(error.with_help("create the target, or remove the link"))
        }
        exists => Ok(matches!(exists, Ok(false))),
    }
}

/// Fails if a server was renamed or removed in the meantime.
pub(crate) fn still_has(config: &Config, server: &str) -> Result<()> {
    // Servers of the variable need not be in the file.
    let path = config.path.as_ref().filter(|_| env::var_os(SERVERS_VARIABLE).is_none());
    match path.map(|path| (path, Config::load(path))) {
        Some((path, Ok(now))) if !now.servers.contains_key(server) => Err(Failure::new(format!(
            "server `{server}` is no longer in {}\n  = note: nothing was written",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses what cannot be the name of a server.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if is_server_name(name) {
        return Ok(());
    }
    let name = printable(name);
    Err(Failure::usage(format!("invalid server name `{name}`\n  = help: {NAME_RULE}")))
}

/// Returns the path relative to this folder, if it is inside.
pub(crate) fn seen_from(path: &Path, here: &Path) -> PathBuf {
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// Formats the path relative to the current folder, if it is inside.
pub(crate) fn shown(path: &Path) -> String {
    seen_from(path, &env::current_dir().unwrap_or_default()).display().to_string()
}

/// Writes a relative path as git and URLs do.
pub(crate) fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Returns `true` if a server cannot be reached without a value.
pub(crate) fn needs(server: &ServerConfig, secret: &SecretRef) -> bool {
    server.expand_with(|asked| (asked != secret).then(String::new)).is_err()
}

/// Returns the path in a folder, or the folders there whose names match a pattern, in order.
pub(crate) fn matching(folder: &Path, part: &str) -> Vec<PathBuf> {
    if !part.contains('*') {
        return vec![folder.join(part)];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_named = |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|name| matches_glob(part, name));
    let mut found: Vec<PathBuf> =
        entries.filter(is_named).map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

/// Parses a file of cargo, or returns `None` if it is unreadable.
pub(crate) fn cargo_file(path: &Path) -> Option<DocumentMut> {
    fs::read_to_string(path).ok()?.parse().ok()
}

/// Returns the message that a file of another program is never written.
pub(crate) fn not_ours(path: &Path, help: &str) -> String {
    let path = path.display();
    format!("{path} belongs to another program, and mcp-bindgen never writes it\n  = help: {help}")
}

/// Returns `true` for the configuration of another program, which is never written.
pub(crate) fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Returns the folder that a file is in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads the configuration, and returns it with its servers of these names, or all.
pub(crate) fn load_servers(
    explicit: Option<&Path>,
    names: &[String],
    output: &mut Output,
) -> Result<(Config, Vec<ServerConfig>)> {
    let config = load_for(explicit, names, output)?;
    let servers = servers(&config, names)?;
    Ok((config, servers))
}

/// Returns the servers of these names, or all.
pub(crate) fn servers(config: &Config, names: &[String]) -> Result<Vec<ServerConfig>> {
    if names.is_empty() {
        if config.servers.is_empty() {
            let error = FileError::new("no servers are configured").with_help(
                "run `mcp-bindgen add NAME --npm PACKAGE` to add one, or `mcp-bindgen import` to copy those of other \
                 programs",
            );
            return Err(FileError { path: config.path.clone(), ..error }.into());
        }
        return Ok(config.servers.values().cloned().collect());
    }
    let mut known = BTreeSet::new();
    let wanted = names.iter().filter(|name| known.insert(name.as_str()));
    wanted.map(|name| Ok(config.server(name)?.clone())).collect()
}
