//! Snapshots with the overrides and the configuration of their servers.

use std::path::{Path, PathBuf};

use mcp_bindgen_codegen::{Bindings, Idle, IdlePattern, Options};
use mcp_bindgen_model::{
    Config, DiagnosticLevels, FileError, Overrides, Prefix, ServerConfig, Snapshot, is_server_name, printable,
    read_text,
};

use crate::args::{List, Selection, SnapshotOptions};
use crate::exit::{Failure, Result};
use crate::output::Output;
use crate::plan::adapted;
use crate::project;

/// A snapshot, with what bindings of it need to know.
pub(crate) struct Bound {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The snapshot with its overrides and the views of the configuration.
    pub(crate) snapshot: Snapshot,
    pub(crate) overrides: Option<Overrides>,
    pub(crate) options: Options,
    pub(crate) levels: DiagnosticLevels,
    /// Its server in the configuration.
    pub(crate) server: Option<ServerConfig>,
}

impl Bound {
    /// Reads a snapshot with this text as that of a server of the configuration.
    pub(crate) fn of(
        config: &Config,
        server: &str,
        options: Options,
        read: (String, Snapshot),
    ) -> Result<Self, Vec<FileError>> {
        let server = config.server(server).map_err(|error| vec![error])?;
        let bound = Self::of_file(config.snapshot_path(&server.name), Some(server), options, read)?;
        Ok(Self { levels: config.diagnostics.clone(), ..bound })
    }

    fn of_file(
        path: PathBuf,
        server: Option<&ServerConfig>,
        options: Options,
        (text, snapshot): (String, Snapshot),
    ) -> Result<Self, Vec<FileError>> {
        let (snapshot, overrides) = adapted(snapshot, &path, server)?;
        let (levels, server) = (DiagnosticLevels::default(), server.cloned());
        Ok(Self { path, text, snapshot, overrides, options, levels, server })
    }
}

/// Returns all that does not fit, as one failure.
pub(crate) fn misfits(faults: Vec<FileError>) -> Failure {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Failure::new(faults.join("\nerror: "))
}

/// Returns the snapshot of one server or of all, each with its own error. `file` is the path for the bindings, `prefix`
/// replaces the configured one.
pub(crate) fn read(
    config: Option<&Path>,
    source: &Selection,
    prefix: Option<&Prefix>,
    file: Option<&Path>,
    output: &mut Output,
) -> Result<Vec<Result<Bound>>> {
    let (mut config, mut read) = selected(config, source.server.as_slice(), &source.file, file, output)?;
    if let Some(prefix) = prefix {
        for bound in read.iter().flatten() {
            let server = config.servers.entry(bound.options.server_name().to_owned());
            server.and_modify(|server| server.prefix = prefix.clone());
        }
        for bound in read.iter_mut().flatten().filter(|bound| bound.server.is_some()) {
            bound.options = bound.options.clone().beside(&config);
        }
    }
    Ok(read)
}

/// Reads the bindings of any servers for `list`. Fails if its output file is one of the input files, which may not
/// exist.
pub(crate) fn listed(config: Option<&Path>, wanted: &List, output: &mut Output) -> Result<Vec<Result<Bound>>> {
    let (config, read) = selected(config, &wanted.servers, &wanted.file, None, output)?;
    let Some(file) = &wanted.output else { return Ok(read) };
    let snapshots =
        config.servers.keys().map(|server| config.snapshot_path(server)).chain(wanted.file.snapshot.clone());
    let inputs =
        snapshots.flat_map(|path| [(Overrides::beside(&path), "overrides of a snapshot"), (path, "a snapshot")]);
    let mut inputs = inputs.chain(config.path.clone().map(|path| (path, "the configuration")));
    let place = place_of(file);
    let Some((_, what)) = inputs.find(|(path, _)| place_of(path) == place) else { return Ok(read) };
    let error = FileError::new(format!("this is the path of {what}, and was not changed")).in_file(file);
    Err(error.with_help("choose another file with `-o`").into())
}

/// Returns the snapshots of servers and their configuration, or the snapshot of a file, which has none.
fn selected(
    config: Option<&Path>,
    servers: &[String],
    snapshot: &SnapshotOptions,
    file: Option<&Path>,
    output: &mut Output,
) -> Result<(Config, Vec<Result<Bound>>)> {
    let Some(path) = &snapshot.snapshot else {
        let config = project::load(config, output)?;
        let servers = project::servers(&config, servers)?;
        let read = servers.iter().map(|server| of_server(&config, &server.name, file)).collect();
        return Ok((config, read));
    };
    if config.is_some() {
        return Err(Failure::usage("`--snapshot` does not use a configuration: remove `--config`"));
    }
    Ok((Config::default(), vec![of_file(path, snapshot.name.as_deref())]))
}

/// Returns the canonical path of a file, even if it does not exist.
fn place_of(file: &Path) -> PathBuf {
    let in_folder = |folder: PathBuf| folder.join(file.file_name().unwrap_or_default());
    let missing = |_| project::folder_of(file).canonicalize().map(in_folder);
    file.canonicalize().or_else(missing).unwrap_or_else(|_| file.to_owned())
}

/// Returns the snapshot of a server, whose configuration can be obeyed.
pub(crate) fn of_server(config: &Config, server: &str, file: Option<&Path>) -> Result<Bound> {
    let path = config.snapshot_path(server);
    if matches!(path.try_exists(), Ok(false)) {
        let error = FileError::new(format!("server `{server}` has no snapshot"))
            .in_file(path)
            .with_help(format!("run `mcp-bindgen sync {server}`"));
        return Err(error.into());
    }
    let bound = bound(config, server, file)?;
    match unusable(&bound, server).into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(bound),
    }
}

/// Returns the snapshot of a server, whatever its patterns do.
pub(crate) fn bound(config: &Config, server: &str, file: Option<&Path>) -> Result<Bound> {
    let options = project::options(config, server, file)?.beside(config);
    let loaded = load(&config.snapshot_path(server)).map_err(|error| match error.help {
        None => error.with_help(format!("run `mcp-bindgen sync {server}` to write it again")),
        Some(_) => error,
    })?;
    Bound::of(config, server, options, loaded).map_err(misfits)
}

/// Returns the errors of patterns of the configuration that do nothing, and of rules that cannot hold.
pub(crate) fn unusable(bound: &Bound, server: &str) -> Vec<FileError> {
    let faults = Bindings::faults(&bound.snapshot, &bound.options).into_iter().map(|fault| fault.error);
    idle(bound, server).into_iter().chain(faults).collect()
}

/// Checks before calls that every pattern of a server has an effect on the tools of its snapshot: a misspelled pattern of `approve`
/// or of a policy would allow calls. Without a readable snapshot there is nothing to check.
pub(crate) fn check_patterns(config: &Config, server: &str) -> Result<()> {
    let path = config.snapshot_path(server);
    let Some(bound) = path.exists().then(|| bound(config, server, None).ok()).flatten() else { return Ok(()) };
    idle(&bound, server).into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}

/// Returns the errors of patterns of the configuration that do nothing.
pub(crate) fn idle(bound: &Bound, server: &str) -> Vec<FileError> {
    let error = |idle: IdlePattern| {
        let message = match idle.reason {
            Idle::NoTool => {
                let (key, pattern) = (idle.key, printable(&idle.pattern));
                format!("no tool of server `{server}` matches `{pattern}` in `{key}`")
            }
            _ => format!("in `{}` of server `{server}`: {idle}", idle.key),
        };
        idle.error(message, &bound.path)
    };
    bound.options.idle_patterns(&bound.snapshot).into_iter().map(error).collect()
}

fn of_file(path: &Path, name: Option<&str>) -> Result<Bound> {
    let (text, snapshot) = load(path)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    name.map_or(Ok(()), project::check_name)?;
    let names = [name, snapshot.server.as_deref(), stem];
    let name = names.into_iter().flatten().find(|name| is_server_name(name));
    let missing = || Failure::usage(format!("{} has no server name: add `--server NAME`", path.display()));
    let name = name.ok_or_else(missing)?;
    Bound::of_file(path.to_owned(), None, Options::new(name), (text, snapshot)).map_err(misfits)
}

/// Returns a snapshot as the server's, without its overrides.
pub(crate) fn load(path: &Path) -> Result<(String, Snapshot), FileError> {
    let text = read_text(path)?;
    let snapshot = Snapshot::parse(&text).map_err(|error| error.in_file(path))?;
    Ok((text, snapshot))
}
