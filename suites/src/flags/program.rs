//! The same through the command line itself: what `call --dry-run` says that it would send, and what a server gets.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcp_bindgen_schema::flags::Flags;
use mcp_samples::Fallible;
use mcp_samples::corpus::List;
use serde_json::{Map, Value};

use crate::flags::{Report, own_options};

/// Lists of more tools take long in a debug build, and say no more.
const MOST_TOOLS: usize = 150;
/// Systems take words of so many bytes at most.
const LONGEST_WORD: usize = 100_000;

/// The command line, and the server that it is to call.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) server: PathBuf,
}

impl Program {
    /// Calls every tool of so many of the lists, spread over all.
    pub(crate) fn judge(&self, lists: &[List], count: usize, corpus: &Path, report: &mut Report) -> Fallible<()> {
        let fit: Vec<&List> = lists.iter().filter(|list| list.snapshot.tools.len() <= MOST_TOOLS).collect();
        let step = (fit.len() / count.max(1)).max(1);
        for list in fit.into_iter().step_by(step).take(count) {
            let folder = tempfile::tempdir()?;
            let args = [Path::new("--replay"), &corpus.join(format!("lists/{}.json", list.name))];
            let config = format!("[servers.s]\ncommand = {:?}\nargs = {args:?}\n", self.server);
            mcp_bindgen_model::write_if_changed(&folder.path().join("mcp.toml"), config.as_bytes())?;
            self.run(folder.path(), ["sync", "s"])?;
            let mut seen = HashSet::new();
            for (index, value) in
                crate::flags::longest_values(list, |json| json.len() < LONGEST_WORD && !json.contains("\\u0000"))?
            {
                let tool = list.tool_name(index);
                // Of two tools of one name the first is called.
                if !seen.insert(tool) || tool.is_empty() {
                    continue;
                }
                let schema = list.schema(index, mcp_bindgen_schema::Role::Input).cloned().unwrap_or_default();
                let words = Flags::new(&schema, own_options()).print(&value);
                report.called += 1;
                let judged = self.shows(folder.path(), tool, &words, &value);
                if let Err(what) = judged.and_then(|()| self.sends(folder.path(), tool, &words, &value)) {
                    report.fail(|| format!("{} / {tool}: {words:?}\n  {what}", list.name));
                }
            }
            report.called_lists += 1;
        }
        Ok(())
    }

    /// Checks that a dry run prints this value.
    fn shows(&self, folder: &Path, tool: &str, words: &[String], value: &Map<String, Value>) -> Result<(), String> {
        let call = ["call", "--dry-run", "s", "--", tool].into_iter().chain(words.iter().map(String::as_str));
        let request = self.run(folder, call)?;
        let is_it = request.pointer("/params/name").and_then(Value::as_str) == Some(tool)
            && request.pointer("/params/arguments").and_then(Value::as_object) == Some(value);
        if is_it { Ok(()) } else { Err(format!("would become {request}")) }
    }

    /// The server gets this value.
    fn sends(&self, folder: &Path, tool: &str, words: &[String], value: &Map<String, Value>) -> Result<(), String> {
        let call = ["call", "s", "--", tool].into_iter().chain(words.iter().map(String::as_str));
        let got = self.run(folder, call)?;
        if got.as_object() == Some(value) { Ok(()) } else { Err(format!("became {got}")) }
    }

    fn run<'w>(&self, folder: &Path, words: impl IntoIterator<Item = &'w str>) -> Result<Value, String> {
        let mut command = Command::new(&self.path);
        command.current_dir(folder).env_remove("MCP_SERVERS").stdin(Stdio::null());
        let output = command.args(words).output().map_err(|error| error.to_string())?;
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(format!("{}: {}", output.status, said()));
        }
        if output.stdout.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {}", said()))
    }
}
