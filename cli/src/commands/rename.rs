//! `rename`: another name for a server, its snapshot and its overrides.

use std::env;
use std::path::{Path, PathBuf};

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use mcp_bindgen_model::FileError;
use serde_json::json;

use super::edit;
use super::faults::shared_module;
use crate::args;
use crate::changes::{self, Changes};
use crate::config_file::ConfigFile;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::project;

pub(crate) fn run(config: Option<&Path>, wanted: &args::Rename, output: &mut Output) -> Result<Exit, Failure> {
    let (old, new) = (wanted.old.as_str(), wanted.name.as_str());
    project::check_name(new)?;
    let path = edit::target(config)?;
    let here = env::current_dir()?;
    let shown = |path: &Path| project::shown(path, &here);
    let mut file = ConfigFile::locked(&path)?;
    file.rename_server(old, new)?;
    let config = file.checked()?;
    if let Some(error) = shared_module(&config, &[new]) {
        return Err(error.into());
    }
    let mut changes = Changes::default();
    let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut others: Vec<PathBuf> = Vec::new();
    for (from, to) in edit::files(&config, old).into_iter().zip(edit::files(&config, new)) {
        let mut contents = changes::read(&from)?;
        if from.is_symlink() {
            let error = FileError::new("symbolic links are not moved").in_file(shown(&from));
            return Err(error.with_help("replace the link with its file, then rename").into());
        }
        if contents.take_if(|contents| !edit::is_of(contents, old)).is_some() {
            others.push(from.clone());
        }
        let contents = contents.map(|contents| of_server(contents, new));
        let known = changes::read(&to)?;
        // Equal contents are those of a run that was interrupted.
        if known.is_some() && known != contents {
            let error = FileError::new("the file already exists").in_file(shown(&to));
            return Err(error.with_help("delete it, or use another name").into());
        }
        if let Some(contents) = contents {
            changes.write(&to, contents);
            moved.push((from, to));
        }
    }
    // The configuration never names files that are not there.
    changes.write(file.path(), file.to_text());
    moved.iter().for_each(|(from, _)| changes.delete(from));
    changes.apply()?;
    drop(file);
    output.status("Renamed", &format!("{old} to {new} in {}", shown(&path)));
    for (from, to) in &moved {
        output.status("Moved", &format!("{} to {}", shown(from), shown(to)));
    }
    for other in &others {
        edit::tell_kept(&shown(other), old, output);
    }
    let next = format!("write `{new}` for `{old}` in `mcp_tools!` and templates; its bindings are named after it");
    output.status("Next", &next);
    let files: Vec<String> = moved.iter().map(|(_, to)| shown(to)).collect();
    output.report(&json!({
        "format": 1, "server": new, "was": old, "config": shown(&path), "status": "renamed", "files": files,
    }))?;
    Ok(Exit::Done)
}

/// The contents of a server's file under its new name: `server` of a snapshot is another then, and nothing else.
fn of_server(contents: Vec<u8>, name: &str) -> Vec<u8> {
    let renamed = |text: &str| {
        let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default()).ok()?;
        let ast::Value::Object(snapshot) = parsed.value? else { return None };
        let range = snapshot.get_string("server")?.range();
        Some(format!("{}{}{}", text.get(..range.start)?, json!(name), text.get(range.end..)?))
    };
    match std::str::from_utf8(&contents).ok().and_then(renamed) {
        Some(text) => text.into_bytes(),
        None => contents,
    }
}

#[cfg(test)]
mod tests {
    use super::of_server;

    #[test]
    fn only_the_name_of_a_snapshot_changes() {
        for (text, expected) in [
            ("{\r\n  \"server\" : \"a\", \"n\": 1.50\r\n}", "{\r\n  \"server\" : \"b\", \"n\": 1.50\r\n}"),
            ("{\"tools\": [{\"server\": \"a\"}]}", "{\"tools\": [{\"server\": \"a\"}]}"),
            ("{\"server\": {\"name\": \"a\"}}", "{\"server\": {\"name\": \"a\"}}"),
            ("{\"server\": \"a\"", "{\"server\": \"a\""),
        ] {
            assert_eq!(of_server(text.into(), "b"), expected.as_bytes(), "{text}");
        }
        assert_eq!(of_server(vec![0xff, 0xfe], "b"), [0xff, 0xfe]);
    }
}
