//! Folders with the configuration and the snapshots that the program is run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mcp_bindgen_model::{Snapshot, write_if_changed};
use mcp_samples::{Fallible, repository};
use serde_json::{Value, json};

use crate::rounds::timed;

/// As many tools as any list of the corpus has.
pub(crate) const LONG: usize = 2720;

/// A folder, and the program in it.
pub(crate) struct Project {
    program: PathBuf,
    folder: PathBuf,
}

impl Project {
    /// An empty folder.
    pub(crate) fn new(program: &Path, folder: PathBuf) -> Fallible<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self { program: program.to_owned(), folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Fallible<()> {
        write_if_changed(&self.folder.join(file), text.as_bytes())?;
        Ok(())
    }

    /// How long a run takes that ends with one of these codes.
    pub(crate) fn run(&self, arguments: &[&str], codes: &[i32]) -> Fallible<Duration> {
        timed(&mut self.command(arguments), codes)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder).env_remove("MCP_SERVERS");
        command
    }
}

/// A snapshot with tools of a usual sort.
pub(crate) fn long_list() -> String {
    let tool = |n: usize| {
        json!({
            "name": format!("tool_{n}"),
            "description": "Looks something up in a place. And more of it, which nobody reads to its end.",
            "inputSchema": {
                "type": "object",
                "required": ["owner", "repo"],
                "properties": {
                    "owner": {"type": "string", "description": "Whose it is"},
                    "repo": {"type": "string", "description": "Its name"},
                    "labels": {"type": "array", "items": {"type": "string"}},
                    "state": {"enum": ["open", "closed", "all"]},
                    "filter": {"type": "object", "properties": {"since": {"type": "string"}, "n": {"type": "integer"}}},
                },
            },
            "annotations": {"readOnlyHint": true},
        })
    };
    json!({ "tools": (0..LONG).map(tool).collect::<Value>() }).to_string()
}

/// How much is in a corpus.
pub(crate) struct Corpus {
    pub(crate) lists: usize,
    pub(crate) tools: usize,
}

/// Makes each list of the corpus the snapshot of a server, as `sync` would have written it. None where there is no corpus;
/// `MCP_BINDGEN_CORPUS` says where it is, if it is not beside the repository.
pub(crate) fn corpus(project: &Project) -> Fallible<Option<Corpus>> {
    let root = repository();
    let corpus = std::env::var_os("MCP_BINDGEN_CORPUS").map_or_else(|| root.join("../shared/corpus"), PathBuf::from);
    let folder = corpus.join("lists");
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Fallible<Vec<PathBuf>>>()?;
    paths.sort();
    let (mut config, mut tools) = (String::new(), 0);
    for (number, path) in paths.iter().enumerate() {
        let snapshot = Snapshot::load(path)?;
        tools += snapshot.tools.len();
        project.write(&format!("mcp/server-{number}.json"), &snapshot.to_text())?;
        config.push_str(&format!("[servers.server-{number}]\ncommand = \"x\"\n\n"));
    }
    project.write("mcp.toml", &config)?;
    Ok(Some(Corpus { lists: paths.len(), tools }))
}
