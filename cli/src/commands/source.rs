//! The snapshots that `list` and `expand` read.

use std::path::{Path, PathBuf};

use mcp_codegen::Options;
use mcp_model::{Config, DiagnosticLevels, FileError, ServerConfig, Snapshot, is_server_name, read_text};

use crate::args::Source;
use crate::exit::Failure;
use crate::output::Output;
use crate::project;

/// A snapshot, with what bindings of it need to know.
pub(crate) struct Bound {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) snapshot: Snapshot,
    pub(crate) options: Options,
    pub(crate) levels: DiagnosticLevels,
}

/// The snapshot of one server or of all, each as it could be read.
pub(crate) fn read(
    config: Option<&Path>,
    source: &Source,
    output: &mut Output,
) -> Result<Vec<Result<Bound, Failure>>, Failure> {
    if let Some(path) = &source.snapshot {
        return Ok(vec![of_file(path, source.name.as_deref())]);
    }
    let config = project::load(config, output)?;
    let names: Vec<String> = source.server.iter().cloned().collect();
    let servers = project::servers(&config, &names)?;
    Ok(servers.iter().map(|server| of_server(&config, server)).collect())
}

fn of_server(config: &Config, server: &ServerConfig) -> Result<Bound, Failure> {
    let path = config.snapshot_path(&server.name);
    if !path.exists() {
        let error = FileError::new(format!("server `{}` has no snapshot", server.name))
            .in_file(path)
            .with_help(format!("run `mcp-bindgen sync {}`", server.name));
        return Err(error.into());
    }
    let (text, snapshot) = load(&path)?;
    let options = Options::for_server(server);
    if let Some(pattern) = options.unmatched(&snapshot).first() {
        let names = snapshot.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        let near = mcp_model::nearest(pattern, names);
        let error = FileError::new(format!("server `{}` has no tool that `{pattern}` in `tools` matches", server.name))
            .in_file(&path);
        let help = match near.first() {
            Some(near) => format!("did you mean `{}`?", mcp_model::printable(near)),
            None => "`mcp-bindgen sync` brings the snapshot up to date".to_owned(),
        };
        return Err(error.with_help(help).into());
    }
    Ok(Bound { path, text, snapshot, options, levels: config.diagnostics.clone() })
}

fn of_file(path: &Path, name: Option<&str>) -> Result<Bound, Failure> {
    let (text, snapshot) = load(path)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let name = match name {
        Some(name) if is_server_name(name) => name,
        Some(name) => return Err(Failure::usage(format!("`{name}` cannot be the name of a server"))),
        None => [snapshot.server.as_deref(), stem].into_iter().flatten().find(|name| is_server_name(name)).ok_or_else(
            || Failure::usage(format!("{} does not say whose snapshot it is: add `--server NAME`", path.display())),
        )?,
    };
    let options = Options::new(name);
    Ok(Bound { path: path.to_owned(), text, snapshot, options, levels: DiagnosticLevels::default() })
}

fn load(path: &Path) -> Result<(String, Snapshot), FileError> {
    let text = read_text(path)?;
    let snapshot = Snapshot::parse(&text).map_err(|error| error.in_file(path))?;
    Ok((text, snapshot))
}
