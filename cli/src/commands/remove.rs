//! `remove`: servers out of `mcp.toml`, with their snapshots and overrides.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::edit;
use crate::args;
use crate::changes::{self, Changes};
use crate::config_file::ConfigFile;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::project;
use crate::terminal;
use crate::text::in_ticks;

pub(crate) fn run(config: Option<&Path>, wanted: &args::Remove, output: &mut Output) -> Result<Exit, Failure> {
    let path = edit::target(config)?;
    let here = env::current_dir()?;
    let shown = |path: &Path| project::shown(path, &here);
    let mut names = wanted.servers.clone();
    names.sort();
    names.dedup();
    let (_, files, _) = without(ConfigFile::open(&path)?, &names)?;
    if !wanted.yes {
        let files: String = files.iter().map(|file| format!(", {}", shown(file))).collect();
        ask(&format!("Remove {} from {}{files}?", in_ticks(&names), shown(&path)))?;
    }
    // Read again, to keep other changes of the file.
    let (file, files, others) = without(ConfigFile::locked(&path)?, &names)?;
    let mut changes = Changes::default();
    // First the configuration: files that it does not name can be removed by hand.
    changes.write(file.path(), file.to_text());
    files.iter().for_each(|file| changes.delete(file));
    changes.apply()?;
    drop(file);
    output.status("Removed", &format!("{} from {}", names.join(", "), shown(&path)));
    for file in &files {
        output.status("Deleted", &shown(file));
    }
    for (file, name) in &others {
        edit::tell_kept(&shown(file), name, output);
    }
    output.status("Next", &format!("remove {} from `mcp_tools!` and templates", in_ticks(&names)));
    let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
    output.report(&json!({
        "format": 1, "servers": names, "config": shown(&path), "status": "removed", "deleted": files,
    }))?;
    Ok(Exit::Done)
}

/// A file that is not of the server in whose place it lies.
type Other = (PathBuf, String);

/// The file without the servers, the files of theirs, and others in the places of those.
fn without(mut file: ConfigFile, names: &[String]) -> Result<(ConfigFile, Vec<PathBuf>, Vec<Other>), Failure> {
    names.iter().try_for_each(|name| file.remove_server(name))?;
    let config = file.checked()?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (name, path) in names.iter().flat_map(|name| edit::files(&config, name).map(|path| (name, path))) {
        match changes::read(&path)? {
            Some(contents) if edit::is_of(&contents, name) => own.push(path),
            Some(_) => others.push((path, name.clone())),
            None => {}
        }
    }
    Ok((file, own, others))
}

fn ask(question: &str) -> Result<(), Failure> {
    match terminal::asked(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new("nothing was removed")),
        None => Err(Failure::usage(
            "cannot ask for confirmation without a terminal\n  = help: use `--yes` to remove without confirmation",
        )),
    }
}
