//! The configuration that a command works on.

use std::env;
use std::path::{Path, PathBuf};

use mcp_model::{Config, FileError, ServerConfig};

use crate::exit::Failure;
use crate::output::Output;

const SERVERS_VARIABLE: &str = "MCP_SERVERS";
/// What marks a folder as the one of a project.
const MARKS: [&str; 3] = ["mcp.toml", ".mcp.json", "Cargo.toml"];

/// Reads the configuration, and tells what in it is worth mending. Servers of `MCP_SERVERS` come before those of a file.
pub(crate) fn load(explicit: Option<&Path>, output: &mut Output) -> Result<Config, Failure> {
    let path = match explicit {
        Some(path) => Some(path.to_owned()),
        None => find()?,
    };
    let named = env::var(SERVERS_VARIABLE).ok().map(|text| Config::from_env_json(&text)).transpose()?;
    let config = match (path, named) {
        (Some(path), named) => {
            let mut config = Config::load(&path)?;
            if let Some(named) = named {
                config.servers.extend(named.servers);
                config.warnings.extend(named.warnings);
            }
            config
        }
        (None, Some(named)) => named,
        (None, None) => {
            let error = FileError::new("there is no mcp.toml and no .mcp.json here or above")
                .with_help("write an mcp.toml with a table `[servers.NAME]`, or name a file with `--config`");
            return Err(error.into());
        }
    };
    for warning in &config.warnings {
        output.warning(&warning.to_string());
    }
    Ok(config)
}

fn find() -> Result<Option<PathBuf>, Failure> {
    let here = env::current_dir()?;
    let folder = here.ancestors().find(|folder| MARKS.iter().any(|mark| folder.join(mark).is_file())).unwrap_or(&here);
    Ok(Config::find(folder).map(|path| shortened(&path, &here)))
}

/// The path as somebody in this folder would write it.
fn shortened(path: &Path, here: &Path) -> PathBuf {
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// The servers of these names, or all.
pub(crate) fn servers(config: &Config, names: &[String]) -> Result<Vec<ServerConfig>, Failure> {
    if names.is_empty() {
        if config.servers.is_empty() {
            return Err(Failure::new("no server is configured"));
        }
        return Ok(config.servers.values().cloned().collect());
    }
    let mut servers: Vec<ServerConfig> = Vec::new();
    for name in names {
        let server = config.server(name)?;
        if !servers.iter().any(|known| known.name == *name) {
            servers.push(server.clone());
        }
    }
    Ok(servers)
}
